//! `internal-docs`: prints generated pages for the repository's `docs` folder.

mod states;

use std::fmt::Write;

use crate::{cli::Page, exit::Exit, metrics, print, settings};

pub(super) fn print(page: Page) -> Exit {
    let text = match page {
        Page::Settings => settings::settings_markdown(),
        Page::Routes => http_api::routes_markdown(),
        Page::Errors => http_api::errors_markdown(),
        Page::Metrics => metrics::metrics_markdown(),
        Page::Vocabulary => vocabulary_markdown(),
        Page::States => states::states_markdown(),
    };
    print::line(text.trim_end());
    Exit::Ok
}

fn vocabulary_markdown() -> String {
    let mut page = String::from(
        "# Vocabulary\n\nEnumerations of the service and their values. Generated from \
         `crates/model/src/vocabulary/`; do not edit this page.\n\n| Enumeration | Values \
         |\n|---|---|\n",
    );
    for list in model::lists() {
        let words: Vec<_> = list.words.iter().map(|word| format!("`{word}`")).collect();
        // Writing to a string cannot fail.
        let _ = writeln!(page, "| {} | {} |", list.name, words.join(" "));
    }
    page
}
