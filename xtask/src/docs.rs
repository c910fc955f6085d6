//! `cargo xtask docs`: writes or compares the generated pages of docs/. The binary prints each; the page
//! of the vocabulary ends with the table of terms, and the picture of the crates is made from the layers.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::failure::{Failure, Result};
use crate::layers;
use crate::process;
use crate::tidy;
use crate::workspace::{Build, Workspace};

/// The generated pages: what the binary calls each, and the file that holds it.
const PAGES: [(&str, &str); 6] = [
    ("routes", "docs/routes.md"),
    ("errors", "docs/errors.md"),
    ("metrics", "docs/metrics.md"),
    ("settings", "docs/settings.md"),
    ("states", "docs/states.md"),
    (VOCABULARY, "docs/vocabulary.md"),
];

/// The page with the picture of the crates, which stands between these two lines.
const PICTURED: &str = "docs/architecture.md";
const BEGIN: &str = "<!-- the crates by layer, written by `cargo xtask docs` -->\n";
const END: &str = "<!-- end of the crates by layer -->\n";

/// The page that ends with the table of terms, and what precedes that table.
const VOCABULARY: &str = "vocabulary";
const TERMS: &str = "\n## Terms\n\nThe terms of the texts that a user reads: pages, mails, messages, the API \
                     reference and these docs. `cargo xtask tidy` refuses what is listed on the right \
                     outside of code.\n\n";

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
///
/// What they are printed by is built as named.
pub(crate) fn run(workspace: &Workspace, pages: Pages, build: Build) -> Result<()> {
    let mut stale = 0;
    let binary = workspace.build_service(build)?;
    let printed = PAGES.into_iter().map(|(name, file)| (file, print_page(&binary, name)));
    for (file, page) in printed.chain([(PICTURED, with_picture(workspace))]) {
        let (page, path) = (page?, workspace.root().join(file));
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

/// The page about the architecture with the picture as it is now.
fn with_picture(workspace: &Workspace) -> Result<String> {
    let path = workspace.root().join(PICTURED);
    let page = fs::read_to_string(&path).map_err(Failure::on("read", &path))?;
    let parts = page
        .split_once(BEGIN)
        .and_then(|(before, rest)| rest.split_once(END).map(|(_, after)| (before, after)));
    let (before, after) = parts.ok_or_else(|| {
        Failure::because(format!("`{PICTURED}` has no place for the picture of the crates"))
    })?;
    Ok(format!("{before}{BEGIN}```text\n{}```\n{END}{after}", layers::drawn()))
}

fn print_page(binary: &Path, name: &str) -> Result<String> {
    let mut command = Command::new(binary);
    let output = process::capture(command.args(["internal-docs", name]))?;
    let page = String::from_utf8(output.stdout).unwrap_or_default();
    if output.status.success() && !page.is_empty() {
        let terms =
            if name == VOCABULARY { TERMS.to_owned() + &tidy::terms() } else { String::new() };
        return Ok(page + &terms);
    }
    Err(Failure::because(format!(
        "`chancery internal-docs {name}` printed no page: {}",
        String::from_utf8_lossy(&output.stderr).trim()
    )))
}
