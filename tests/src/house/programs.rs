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

/// The number that a variable holds; the usual one without it.
pub fn number(variable: &str, usual: u64) -> u64 {
    std::env::var(variable).map_or(usual, |text| text.parse().unwrap())
}

/// Where this run finds programs.
pub fn search_path() -> String {
    std::env::var("PATH").unwrap_or_default()
}

/// The seconds since 1970 by this machine's clock.
pub fn unix_seconds() -> i64 {
    let now = std::time::UNIX_EPOCH.elapsed().unwrap().as_secs();
    i64::try_from(now).unwrap()
}
