//! Reads a form exactly as it is written: every member there, by name, in its one spelling.
//!
//! What serde derives takes more than it writes: lists for objects, a missing member for null. So
//! what was read is written again and compared.

use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

/// What the value is, or says why it is nothing of the kind.
pub(crate) fn from_value<T: Serialize + DeserializeOwned>(value: Value) -> Result<T, String> {
    let form: T = serde_json::from_value(value.clone()).map_err(|error| error.to_string())?;
    if serde_json::to_value(&form).is_ok_and(|written| written == value) {
        Ok(form)
    } else {
        Err("a member is missing, or is not in its one form".to_owned())
    }
}
