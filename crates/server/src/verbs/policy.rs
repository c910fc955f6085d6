//! `policy`: works on policy documents in files.

use std::path::Path;

use crate::{
    exit::{Exit, Failure},
    print,
};

pub(super) fn lint(file: &Path) -> Result<Exit, Failure> {
    let text = super::read_text(file)?;
    match policy::Policy::compile(&text) {
        Ok(policy) => {
            print::line(format!("{}: no errors; digest {}", file.display(), policy.digest()));
            Ok(Exit::Ok)
        }
        Err(invalid) => {
            for finding in &invalid.findings {
                print::line(format!("{}:{finding}", file.display()));
            }
            Ok(Exit::FoundBad)
        }
    }
}
