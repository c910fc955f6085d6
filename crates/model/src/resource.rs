//! What an API says of the resource that a write was about, when it is asked once more.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

/// What a read operation of the API said after the write.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Resource {
    /// What it says at each place that is to be compared.
    There(Vec<Field>),
    /// That there is no such resource.
    NotThere,
}

/// A value of a resource, as the call tells it and as it was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Field {
    /// Its place in what was read, as a JSON pointer.
    pub place: String,
    /// What the call or its report says that stands there; absent where neither says it, which is
    /// not null.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub told: Option<Value>,
    /// What stands there; absent where what was read has no such place.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub found: Option<Value>,
}

/// A value that is there, null among them.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}
