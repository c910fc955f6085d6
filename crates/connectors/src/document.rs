//! Reading a connector's config from a file: YAML or JSON, into one plain value.
//!
//! Only the part of YAML that JSON has too: no anchors, aliases, tags, merge keys or second
//! documents. What the value means is each connector kind's affair, whose schema it is held to.

use crypto::json;
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_saphyr::{Options, options::DuplicateKeyPolicy, options::MergeKeyPolicy};

use crate::{ArgsSchema, Finding};

/// The longest config that is read.
const MAX_BYTES: usize = 1 << 20;
const MAX_NODES: usize = 100_000;

/// A text that is no config.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the connector file could not be read: {0}")]
pub struct BadDocument(String);

/// The value that the text holds.
pub fn read_config(text: &str) -> Result<Value, BadDocument> {
    if text.len() > MAX_BYTES {
        return Err(BadDocument(format!("expected at most {MAX_BYTES} bytes")));
    }
    let value = if text.trim_start().starts_with('{') {
        parse(text)?
    } else {
        let value: Value = serde_saphyr::from_str_with_options(text, strict())
            .map_err(|error| BadDocument(error.without_snippet().to_string()))?;
        // Numbers and depth are held to what a digest keeps exactly.
        parse(&value.to_string())?
    };
    if value.is_object() { Ok(value) } else { Err(BadDocument("expected a mapping".to_owned())) }
}

/// The config in its kind's own form. The published schema comes first: its findings name every unknown
/// or missing key at once.
pub(crate) fn read_shape<T: DeserializeOwned>(
    config: &Value,
    schema: &str,
) -> Result<T, Vec<Finding>> {
    let one = |message: String| vec![Finding::new("/", message)];
    let schema: Value = serde_json::from_str(schema).map_err(|e| one(e.to_string()))?;
    let schema = ArgsSchema::compile(&schema).map_err(|error| one(error.to_string()))?;
    let findings = schema.findings(config);
    if !findings.is_empty() {
        return Err(findings.into_iter().map(|(at, message)| Finding::new(at, message)).collect());
    }
    if json::is_out_of_range(config) {
        return Err(one("a number lies outside ±(2^53−1)".to_owned()));
    }
    T::deserialize(config).map_err(|error| one(error.to_string()))
}

fn parse(text: &str) -> Result<Value, BadDocument> {
    json::parse(text.as_bytes()).map_err(|error| BadDocument(error.to_string()))
}

fn strict() -> Options {
    serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_anchors: 0,
            max_aliases: 0,
            max_merge_keys: 0,
            max_documents: 1,
            max_depth: json::MAX_DEPTH,
            max_nodes: MAX_NODES,
        },
        duplicate_keys: DuplicateKeyPolicy::Error,
        merge_keys: MergeKeyPolicy::Error,
        strict_booleans: true,
        strict_indentation: true,
        with_snippet: false,
    }
}
