//! The machine-readable description of this interface (OpenAPI 3.1), exactly as it is served.
//!
//! It is written by hand; tests hold it against the route table, and responses against it.

/// The description.
pub const TEXT: &str = include_str!("../api/openapi.yaml");

#[cfg(any(test, feature = "validator"))]
mod validator;

#[cfg(any(test, feature = "validator"))]
pub use validator::{Fault, Given, Validator};
