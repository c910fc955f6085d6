//! A tool's argument schema: compiled once, checked at every call, answered in sentences.
//!
//! Schemas may come from strangers, so their size and depth are bounded before they are compiled,
//! patterns run on a linear engine, and no reference leaves the schema.

mod applied;
pub(crate) mod pattern;
mod sentence;

use std::fmt;

use jsonschema::{
    Draft, PatternOptions, ValidationError, Validator, error::ValidationErrorKind as Kind,
};
use serde_json::Value;

const MAX_DEPTH: usize = 64;

/// A compiled argument schema.
pub struct ArgsSchema(Validator);

impl fmt::Debug for ArgsSchema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ArgsSchema")
    }
}

/// A schema that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BadSchema(String);

impl BadSchema {
    pub(crate) fn of(message: impl Into<String>) -> Self {
        Self(message.into())
    }
}

impl ArgsSchema {
    /// The longest schema, as JSON.
    pub(crate) const MAX_BYTES: usize = 64 * 1024;
    /// The longest schema that was translated from another's, as JSON.
    pub(crate) const MAX_TRANSLATED_BYTES: usize = 256 * 1024;

    /// The schema, ready to check values.
    pub fn compile(schema: &Value) -> Result<Self, BadSchema> {
        is_small(schema, Self::MAX_BYTES)?;
        Self::build(schema)
    }

    /// The schema, ready to check values, where it was translated from a description of somebody
    /// else. It may be longer; in turn, what its references multiply is bounded. A schema with other
    /// references than a translated one has is held to the bounds of any schema.
    pub(crate) fn compile_translated(schema: &Value) -> Result<Self, BadSchema> {
        if !applied::is_countable(schema) {
            return Self::compile(schema);
        }
        is_small(schema, Self::MAX_TRANSLATED_BYTES)?;
        applied::bounded(schema).map_err(BadSchema)?;
        Self::build(schema)
    }

    fn build(schema: &Value) -> Result<Self, BadSchema> {
        let compiled = jsonschema::options()
            .with_draft(Draft::Draft202012)
            .with_pattern_options(PatternOptions::regex())
            .should_validate_formats(true)
            .should_ignore_unknown_formats(false)
            .offline()
            .build(schema);
        compiled
            .map(Self)
            .map_err(|error| BadSchema(format!("the schema is wrong: {}", why(&error))))
    }

    /// Checks the value; the error names the first place that does not fit and what would have
    /// been accepted there.
    pub fn check(&self, value: &Value) -> Result<(), String> {
        self.0.validate(value).map_err(|error| {
            let (at, message) = sentence::of(&error);
            format!("{at}: {message}")
        })
    }

    /// Every place that does not fit, as a JSON pointer and a sentence.
    pub fn findings(&self, value: &Value) -> Vec<(String, String)> {
        self.0.iter_errors(value).map(|error| sentence::of(&error)).collect()
    }
}

/// Why a schema does not compile. What the library says of a pattern names neither the construct nor
/// what is wrong with it.
fn why(error: &ValidationError<'_>) -> String {
    match (error.kind(), error.instance().as_str()) {
        (Kind::Format { format }, Some(text)) if format == "regex" => {
            let fault = pattern::fault(text).unwrap_or("is not one that the matcher can read");
            format!("the pattern `{}` {fault}", pattern::shown(text))
        }
        _ => error.to_string(),
    }
}

fn is_small(schema: &Value, most: usize) -> Result<(), BadSchema> {
    if depth_exceeds(schema, MAX_DEPTH) {
        return Err(BadSchema(format!("expected a schema of at most {MAX_DEPTH} levels")));
    }
    if schema.to_string().len() > most {
        return Err(BadSchema(format!("expected a schema of at most {most} bytes")));
    }
    Ok(())
}

fn depth_exceeds(value: &Value, levels: usize) -> bool {
    let Some(below) = levels.checked_sub(1) else {
        return matches!(value, Value::Array(_) | Value::Object(_));
    };
    match value {
        Value::Array(items) => items.iter().any(|item| depth_exceeds(item, below)),
        Value::Object(members) => members.values().any(|member| depth_exceeds(member, below)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}
