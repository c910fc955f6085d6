//! The texts that a user of the product reads: pages, mails, messages, the API reference and the docs.
//! What is code in them is blanked, so that lines keep their numbers.

use super::literals::literals;
use super::rust::is_sql;
use super::tree::{File, Tree};

/// A text.
#[derive(Debug)]
pub(crate) struct Text<'a> {
    /// The file that holds it.
    pub(crate) path: &'a str,
    /// The number of its first line.
    pub(crate) line: usize,
    /// What it says.
    pub(crate) content: String,
}

/// Markdown that keeps what was written in its time, or that is code.
const NO_PROSE: [&str; 3] = ["CHANGELOG.md", "docs/decisions/", "/src/"];

/// Code for tests, and the deeds whose texts are in the published vectors.
const NO_PRODUCT: [&str; 3] =
    ["crates/testkit/", "crates/store-postgres/src/testing.rs", "crates/deed/src/specimen.rs"];

/// How the texts of a file are found.
type Reader = fn(&File) -> Vec<Text<'_>>;

/// Every text of the tree.
pub(crate) fn texts(tree: &Tree) -> Vec<Text<'_>> {
    tree.files()
        .iter()
        .filter_map(|file| Some((file, reader(file)?)))
        .flat_map(|(file, read)| read(file))
        .collect()
}

fn reader(file: &File) -> Option<Reader> {
    let path = file.path.as_str();
    let (folder, _) = file.folder_and_stem();
    if path.starts_with("web/mail/") || is_page(file) {
        Some(whole)
    } else if folder == "web/assets" && file.has_ending("js") {
        Some(quoted)
    } else if file.has_ending("md") && !NO_PROSE.iter().any(|it| path.contains(it)) {
        Some(prose)
    } else if folder == "crates/http-api/api" {
        Some(described)
    } else if is_product(file) {
        Some(said)
    } else {
        None
    }
}

fn is_page(file: &File) -> bool {
    let folders = ["web/pages/", "docs/verifiers/page.html", "crates/"];
    file.has_ending("html")
        && !file.path.contains("/tests/")
        && folders.iter().any(|it| file.path.starts_with(it))
}

fn is_product(file: &File) -> bool {
    let path = file.path.as_str();
    let is_source = path.starts_with("crates/") && path.contains("/src/") && file.has_ending("rs");
    is_source && !file.is_test() && !NO_PRODUCT.iter().any(|it| path.starts_with(it))
}

fn text(file: &File, line: usize, content: String) -> Text<'_> {
    Text { path: &file.path, line, content }
}

/// All of the file, as of a template.
fn whole(file: &File) -> Vec<Text<'_>> {
    vec![text(file, 1, file.text.clone())]
}

/// The prose of a page of the docs.
fn prose(file: &File) -> Vec<Text<'_>> {
    let mut is_code = false;
    let lines = file.text.lines().map(|line| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        if is_code || is_fence { String::new() } else { line.to_owned() }
    });
    let lines = lines.collect::<Vec<_>>().join("\n");
    vec![text(file, 1, without_code(&lines, ('`', '`')))]
}

/// The texts of the API description: its lines without the names of members.
fn described(file: &File) -> Vec<Text<'_>> {
    let lines = file.text.lines().map(|line| {
        let words = line.split(' ').filter(|word| !word.ends_with(':'));
        let words = words.collect::<Vec<_>>().join(" ");
        if line.trim_start().starts_with("required: [") { String::new() } else { words }
    });
    let lines = lines.collect::<Vec<_>>().join("\n");
    vec![text(file, 1, without_code(&lines, ('`', '`')))]
}

/// The string literals of a script that have more than one word.
fn quoted(file: &File) -> Vec<Text<'_>> {
    let mut found = Vec::new();
    for (number, line) in file.lines() {
        for quote in ['"', '`'] {
            let inside = line.split(quote).skip(1).step_by(2).filter(|it| it.contains(' '));
            found.extend(inside.map(|it| text(file, number, without_code(it, ('{', '}')))));
        }
    }
    found
}

/// The string literals of Rust that have more than one word and are no SQL, and the help texts of the
/// command line.
fn said(file: &File) -> Vec<Text<'_>> {
    let product = file.text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let said = |it: &str| without_code(&without_code(it, ('`', '`')), ('{', '}'));
    let literals = literals(product).into_iter();
    let literals = literals.filter(|it| it.text.contains(' ') && !is_sql(it.text));
    let mut found: Vec<_> = literals.map(|it| text(file, it.line, said(it.text))).collect();
    if file.path.starts_with("crates/server/src/cli") {
        let helps = (1..).zip(product.lines());
        let helps = helps.filter(|(_, line)| line.trim_start().starts_with("///"));
        found.extend(helps.map(|(number, line)| text(file, number, said(line))));
    }
    found
}

/// The text with a mark in place of what is between the two characters in a paragraph.
fn without_code(text: &str, (opens, closes): (char, char)) -> String {
    let mut rest = text;
    let mut kept = String::new();
    while let Some((before, after)) = rest.split_once(opens) {
        kept.push_str(before);
        kept.push('`');
        let inside = after.split_once(closes).filter(|(code, _)| !code.contains("\n\n"));
        let (code, after) = inside.unwrap_or(("", after));
        kept.extend(code.chars().filter(|letter| *letter == '\n'));
        rest = after;
    }
    kept + rest
}
