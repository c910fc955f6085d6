//! Parameters of types that are not in the table, and what to write instead.
//!
//! What such a type's input function takes is not known here. Those that hold dates and times also
//! take words such as `today`, which would mean something else when the call runs than when it was
//! decided.

use tokio_postgres::types::{Kind, Type};

use super::Codec;
use crate::postgres::quote;

/// Why no argument can be of this type, and what the statement can say instead of `$name`; nothing
/// for a type of the table.
pub(in crate::postgres) fn why_unfit(name: &str, ty: &Type) -> Option<String> {
    Codec::of(ty).is_opaque().then(|| {
        let written = in_sql(ty);
        let instead = match (ty.kind(), holds_time(ty)) {
            (Kind::Range(bound), true) => {
                let bound = in_sql(bound);
                format!("pass its bounds, as `{written}($from::{bound}, $to::{bound})`")
            }
            _ if *ty == Type::TIMETZ => format!("write `${name}::time::timetz`"),
            (_, true) => "pass the dates and times in it as arguments of their own".to_owned(),
            // A text that is cast to `bit` loses all but its first bit.
            _ if *ty == Type::BIT => format!("write `${name}::text::varbit`"),
            _ if *ty == Type::BIT_ARRAY => format!("write `${name}::text[]::varbit[]`"),
            (Kind::Array(member), false) => {
                format!("write `${name}::text[]::{}[]`", in_sql(member))
            }
            (_, false) => format!("write `${name}::text::{written}`"),
        };
        format!("no argument can be of the type `{written}` of `${name}`: {instead}")
    })
}

/// The type as a statement may name it, quoted where it must be.
fn in_sql(ty: &Type) -> String {
    let plain = |name: &str| {
        name.starts_with(|first: char| first.is_ascii_lowercase() || first == '_')
            && name
                .bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
    };
    let word = |name: &str| if plain(name) { name.to_owned() } else { quote(name) };
    match ty.schema() {
        // Unquoted, the word is another type.
        "pg_catalog" if *ty == Type::CHAR => quote(ty.name()),
        "pg_catalog" => ty.name().to_owned(),
        schema => format!("{}.{}", word(schema), word(ty.name())),
    }
}

/// The type by its name, as pins keep it.
pub(in crate::postgres) fn type_name(ty: &Type) -> String {
    match ty.schema() {
        "pg_catalog" => ty.name().to_owned(),
        schema => format!("{schema}.{}", ty.name()),
    }
}

/// Whether a date or a time may stand in a value of the type.
fn holds_time(ty: &Type) -> bool {
    match ty.kind() {
        // Of a multirange that somebody made, the server's catalogue is not asked what it holds.
        Kind::Simple if ty.schema() != "pg_catalog" && ty.name().contains("range") => true,
        Kind::Array(inner) | Kind::Range(inner) | Kind::Multirange(inner) | Kind::Domain(inner) => {
            holds_time(inner)
        }
        Kind::Composite(fields) => fields.iter().any(|field| holds_time(field.type_())),
        _ => TIMES.contains(ty),
    }
}

const TIMES: &[Type] = &[Type::DATE, Type::TIME, Type::TIMETZ, Type::TIMESTAMP, Type::TIMESTAMPTZ];
