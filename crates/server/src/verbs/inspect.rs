//! `inspect`: prints what a deed says. It checks nothing; `verify` does.

use std::path::Path;

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::Value;

use crate::{
    exit::{Exit, Failure},
    print,
};

pub(super) fn run(file: &Path) -> Result<Exit, Failure> {
    let (body, disclosures) = read(&super::input(file)?).map_err(|NoDeed| {
        let file = file.display();
        Failure::malformed(format!(
            "`{file}`: expected one deed, in its API form or as a DSSE envelope"
        ))
    })?;
    print::line(serde_json::to_string_pretty(&body).map_err(Failure::internal)?);
    for disclosure in disclosures {
        print::line(format!("disclosed: {disclosure}"));
    }
    print::line("not verified; run `chancery verify` to verify it");
    Ok(Exit::Ok)
}

/// The input is not one deed.
struct NoDeed;

/// The signed body and the texts that open its commitments.
///
/// The body is taken from the payload, which is what the signature is over, and not from the copy
/// that stands beside it.
fn read(input: &[u8]) -> Result<(Value, Vec<String>), NoDeed> {
    let form = crypto::json::parse(input).map_err(|_| NoDeed)?;
    let decoded = |text: &str| STANDARD.decode(text).ok();
    let payload = form.get("payload").and_then(Value::as_str).and_then(decoded);
    let body = crypto::json::parse(&payload.ok_or(NoDeed)?).map_err(|_| NoDeed)?;
    let disclosures = form.get("disclosures").and_then(Value::as_array);
    let text = |value: &Value| {
        let bytes = value.as_str().and_then(decoded).ok_or(NoDeed)?;
        String::from_utf8(bytes).map_err(|_| NoDeed)
    };
    let disclosures = disclosures.into_iter().flatten().map(text).collect::<Result<_, _>>()?;
    Ok((body, disclosures))
}
