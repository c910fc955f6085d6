//! Programs of others that tests run, and where the checkout is.

use std::path::{Path, PathBuf};

/// The program that a variable names, or tells that a test is left out.
pub fn program(variable: &str) -> Option<PathBuf> {
    let named = std::env::var_os(variable).map(PathBuf::from);
    if named.is_none() {
        eprintln!("`{variable}` is not set: a test is left out");
    }
    named
}

/// The folder of the checkout.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}
