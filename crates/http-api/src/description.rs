//! The machine-readable description of this interface (OpenAPI 3.1), as YAML and as JSON.
//!
//! It is written by hand, in one file for each area below `api`, which `build.rs` joins. Tests hold
//! it against the route table, and responses and its own examples against what is answered.

mod published;
#[cfg(any(test, feature = "validator"))]
mod validator;

pub use published::TEXT;
pub(crate) use published::{DescriptionError, JSON, Made, Published, YAML, document, unshown};
#[cfg(any(test, feature = "validator"))]
pub use validator::{Fault, Given, Validator};
