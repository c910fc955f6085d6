//! The description in the forms that are served.

use std::sync::LazyLock;

use bytes::Bytes;
use http::HeaderValue;
use minijinja::Value;

/// The description as it was written, and as it is served.
pub const TEXT: &str = include_str!(concat!(env!("OUT_DIR"), "/openapi.yaml"));

/// The description cannot be shown in another form. Tests show it in each, so this is not seen.
#[derive(Debug, thiserror::Error)]
#[error("the description has no other form: {0}")]
pub(crate) struct DescriptionError(String);

/// Bytes that do not change while the process lives, and their entity tag.
#[derive(Debug)]
pub(crate) struct Published {
    /// The bytes.
    pub(crate) body: Bytes,
    /// The tag.
    pub(crate) etag: HeaderValue,
}

impl Published {
    pub(crate) fn new(body: impl Into<Bytes>) -> Result<Self, DescriptionError> {
        let body = body.into();
        let etag = HeaderValue::from_str(&format!("\"{}\"", crypto::sha256(&body)));
        Ok(Self { body, etag: etag.map_err(unshown)? })
    }
}

/// A form of the description that is made once, when it is asked for first.
pub(crate) type Made<T> = LazyLock<Result<T, DescriptionError>>;

/// The description as it was written.
pub(crate) static YAML: Made<Published> = LazyLock::new(|| Published::new(TEXT));

/// The description as JSON, its members in the order in which they are written.
pub(crate) static JSON: Made<Published> = LazyLock::new(|| {
    let text = serde_json::to_string_pretty(&document()?).map_err(unshown)?;
    Published::new(text + "\n")
});

pub(crate) fn document() -> Result<Value, DescriptionError> {
    serde_saphyr::from_str(TEXT).map_err(unshown)
}

pub(crate) fn unshown(error: impl std::fmt::Display) -> DescriptionError {
    DescriptionError(error.to_string())
}
