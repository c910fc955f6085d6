//! `cargo xtask docs`: the pages of docs/ that the code itself tells. The binary prints each; this
//! writes or compares them.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::failure::{Failure, Result};
use crate::process;
use crate::workspace::{Build, Workspace};

/// The generated pages: what the binary calls each, and the file that holds it.
const PAGES: [(&str, &str); 5] = [
    ("routes", "docs/routes.md"),
    ("errors", "docs/errors.md"),
    ("metrics", "docs/metrics.md"),
    ("settings", "docs/settings.md"),
    ("vocabulary", "docs/vocabulary.md"),
];

/// What is done with a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pages {
    /// Written.
    Write,
    /// Compared with the file.
    Compare,
}

impl From<bool> for Pages {
    fn from(check: bool) -> Self {
        if check { Self::Compare } else { Self::Write }
    }
}

/// Writes every page, or fails when a file differs from its page.
pub(crate) fn run(workspace: &Workspace, pages: Pages) -> Result<()> {
    let binary = workspace.build_service(Build::Plain)?;
    let mut stale = 0;
    for (name, file) in PAGES {
        let page = print_page(&binary, name)?;
        let path = workspace.root().join(file);
        match pages {
            Pages::Write => fs::write(&path, page).map_err(Failure::on("write", &path))?,
            Pages::Compare if fs::read_to_string(&path).is_ok_and(|text| text == page) => {}
            Pages::Compare => {
                println!("{file}: out of date; run `cargo xtask docs`");
                stale += 1;
            }
        }
    }
    if stale == 0 { Ok(()) } else { Err(Failure::Findings { check: "docs", count: stale }) }
}

fn print_page(binary: &Path, name: &str) -> Result<String> {
    let mut command = Command::new(binary);
    let output = process::capture(command.args(["internal-docs", name]))?;
    let page = String::from_utf8(output.stdout).unwrap_or_default();
    if output.status.success() && !page.is_empty() {
        return Ok(page);
    }
    Err(Failure::because(format!(
        "`chancery internal-docs {name}` printed no page: {}",
        String::from_utf8_lossy(&output.stderr).trim()
    )))
}
