//! What a schema violation says to people: the place, and what would have been accepted.
//!
//! The offending value itself is never repeated, since errors are logged where values are not.

use jsonschema::{ValidationError, error::TypeKind, error::ValidationErrorKind as Kind};
use serde_json::Value;

/// The place as a JSON pointer and the sentence about it.
pub(super) fn of(error: &ValidationError<'_>) -> (String, String) {
    let at = error.instance_path().to_string();
    let place = if at.is_empty() { "/".to_owned() } else { at };
    (place, message(error))
}

fn message(error: &ValidationError<'_>) -> String {
    match error.kind() {
        Kind::Type { kind } => format!("expected {}", types(kind)),
        Kind::Required { property } => format!("the member `{}` is missing", bare(property)),
        Kind::AdditionalProperties { unexpected } | Kind::UnevaluatedProperties { unexpected } => {
            unknown_members(unexpected)
        }
        Kind::Enum { options } => format!("expected one of {}", list(options)),
        Kind::Constant { expected_value } => format!("expected `{expected_value}`"),
        Kind::Minimum { limit } => format!("expected at least {limit}"),
        Kind::Maximum { limit } => format!("expected at most {limit}"),
        Kind::ExclusiveMinimum { limit } => format!("expected more than {limit}"),
        Kind::ExclusiveMaximum { limit } => format!("expected less than {limit}"),
        Kind::MultipleOf { multiple_of } => format!("expected a multiple of {multiple_of}"),
        Kind::MinLength { limit } => format!("expected at least {limit} characters"),
        Kind::MaxLength { limit } => format!("expected at most {limit} characters"),
        Kind::MinItems { limit } => format!("expected at least {limit} items"),
        Kind::MaxItems { limit } => format!("expected at most {limit} items"),
        Kind::MinProperties { limit } => format!("expected at least {limit} members"),
        Kind::MaxProperties { limit } => format!("expected at most {limit} members"),
        Kind::FalseSchema => "the schema accepts no value here".to_owned(),
        Kind::UniqueItems => "expected items that all differ".to_owned(),
        Kind::Pattern { pattern } => format!("expected a text that matches `{pattern}`"),
        Kind::Format { format } => format!("expected a text of the format `{format}`"),
        _ => format!("expected a value that matches the schema's `{}`", error.kind().keyword()),
    }
}

fn types(kind: &TypeKind) -> String {
    match kind {
        TypeKind::Single(one) => format!("a value of type `{one}`"),
        TypeKind::Multiple(many) => {
            let words: Vec<_> = many.iter().map(|one| format!("`{one}`")).collect();
            format!("a value of one of the types {}", words.join(", "))
        }
    }
}

fn unknown_members(names: &[String]) -> String {
    let names: Vec<String> = names
        .iter()
        .map(|name| format!("`{}`", name.chars().take(64).collect::<String>()))
        .collect();
    format!("the schema has no property {}", names.join(", "))
}

fn list(options: &Value) -> String {
    match options {
        Value::Array(options) => options
            .iter()
            .map(|option| format!("`{}`", bare(option)))
            .collect::<Vec<_>>()
            .join(", "),
        other => format!("`{other}`"),
    }
}

fn bare(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
