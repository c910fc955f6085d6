//! Values of results as the database's output functions write them, for comparing with what its change
//! log or a read-back tells.

use base64::{Engine, engine::general_purpose::STANDARD};
use model::{TextForm, Told};
use serde_json::Value;

use super::Codec;
use crate::postgres::hex;

/// The value as the database would print it, under the settings that every transaction pins.
pub(in crate::postgres) fn told(codec: &Codec, value: &Value) -> Told {
    if value.is_null() {
        return Told { text: None, form: TextForm::Exact };
    }
    let plain = match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let (text, form) = match codec {
        Codec::Bool => {
            (if *value == Value::Bool(true) { "t" } else { "f" }.to_owned(), TextForm::Exact)
        }
        Codec::Small | Codec::Oid | Codec::Big | Codec::Text | Codec::Uuid | Codec::Date => {
            (plain, TextForm::Exact)
        }
        Codec::Numeric | Codec::Float4 | Codec::Float8 => (plain, TextForm::Number),
        Codec::Bytes => match STANDARD.decode(&plain) {
            Ok(bytes) => (format!("\\x{}", hex(&bytes)), TextForm::Exact),
            Err(_) => (plain, TextForm::Unclear),
        },
        Codec::Time => (without_zeros(&plain), TextForm::Exact),
        Codec::Timestamp => (moment(&plain, ""), TextForm::Exact),
        Codec::TimestampTz => (moment(&plain, "+00"), TextForm::Exact),
        Codec::Json | Codec::Jsonb => (value.to_string(), TextForm::Json),
        // Nobody prints those but the database.
        Codec::Array(_) | Codec::Opaque => (value.to_string(), TextForm::Unclear),
    };
    Told { text: Some(text), form }
}

/// `2024-01-31T13:37:00.500000Z` as `2024-01-31 13:37:00.5+00`; infinity is itself.
fn moment(text: &str, offset: &str) -> String {
    let Some((date, rest)) = text.split_once('T') else { return text.to_owned() };
    let (rest, era) = rest.strip_suffix(" BC").map_or((rest, ""), |rest| (rest, " BC"));
    let time = rest.strip_suffix('Z').unwrap_or(rest);
    format!("{date} {}{offset}{era}", without_zeros(time))
}

fn without_zeros(time: &str) -> String {
    match time.split_once('.') {
        Some((whole, fraction)) => match fraction.trim_end_matches('0') {
            "" => whole.to_owned(),
            fraction => format!("{whole}.{fraction}"),
        },
        None => time.to_owned(),
    }
}
