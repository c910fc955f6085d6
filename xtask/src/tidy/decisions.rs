//! The rules about the pages of decisions.

use std::collections::BTreeMap;

use super::tree::{File, Tree};

/// The folder of the pages.
const FOLDER: &str = "docs/decisions";

/// The page that lists them.
const LIST: &str = "docs/decisions/README.md";

/// The files of the folder that are no decisions.
const OTHERS: [&str; 2] = [LIST, "docs/decisions/dependencies.md"];

/// The most words that a paragraph or an item of a list may have.
const LONGEST: usize = 100;

/// No two decisions have one number.
pub(crate) fn decisions_are_numbered_once(tree: &Tree) -> Vec<String> {
    let mut numbers: BTreeMap<&str, &str> = BTreeMap::new();
    let mut found = Vec::new();
    for file in tree.under(FOLDER) {
        let stem = file.folder_and_stem().1;
        let Some((number, _)) = stem.split_once('-').filter(|(number, _)| is_number(number)) else {
            continue;
        };
        if let Some(other) = numbers.insert(number, &file.path) {
            found.push(format!("{}: has the number of {other}; take the next", file.path));
        }
    }
    found
}

/// Every decision has its row in the list and every row its page, in the order of their numbers.
pub(crate) fn decisions_are_listed(tree: &Tree) -> Vec<String> {
    let rows = tree.file(LIST).map(rows).unwrap_or_default();
    let listed = |page: &&File| rows.iter().any(|row| is_at(page, row.name));
    let mut found: Vec<String> = pages(tree)
        .filter(|page| !listed(page))
        .map(|page| format!("{}: add its row to {LIST}", page.path))
        .collect();
    let mut before = "";
    for Row { line, number, name } in rows {
        if !pages(tree).any(|page| is_at(page, name)) {
            found.push(format!("{LIST}:{line}: there is no page `{name}`"));
        } else if number_of(name) != number {
            found.push(format!("{LIST}:{line}: `{name}` has another number than {number}"));
        }
        if name <= before {
            found.push(format!(
                "{LIST}:{line}: `{name}` comes after `{before}`; one row each, by number"
            ));
        }
        before = name;
    }
    found
}

/// A paragraph of a decision, or an item of a list, has one subject and not too many words.
pub(crate) fn paragraphs_of_decisions_are_short(tree: &Tree) -> Vec<String> {
    let long = |page: &File| {
        let passages = passages(page).into_iter().filter(|passage| passage.words > LONGEST);
        let line = |Passage { line, words }| {
            format!("{}:{line}: {words} words; split it by subject, {LONGEST} at most", page.path)
        };
        passages.map(line).collect::<Vec<_>>()
    };
    pages(tree).flat_map(long).collect()
}

fn pages(tree: &Tree) -> impl Iterator<Item = &File> {
    tree.under(FOLDER).filter(|file| file.has_ending("md") && !OTHERS.contains(&file.path.as_str()))
}

fn is_at(page: &File, name: &str) -> bool {
    page.path.strip_prefix(FOLDER).and_then(|path| path.strip_prefix('/')) == Some(name)
}

/// A row of the list: `| [number](name) | …`.
struct Row<'a> {
    line: usize,
    number: &'a str,
    name: &'a str,
}

fn rows(list: &File) -> Vec<Row<'_>> {
    list.lines().filter_map(|(line, text)| row(line, text)).collect()
}

fn row(line: usize, text: &str) -> Option<Row<'_>> {
    let (number, rest) = text.strip_prefix("| [")?.split_once("](")?;
    let (name, _) = rest.split_once(") |")?;
    Some(Row { line, number, name })
}

/// The number that begins the name of a page, without its zeros.
fn number_of(name: &str) -> &str {
    name.split('-').next().unwrap_or_default().trim_start_matches('0')
}

/// A paragraph, or an item of a list as far as the next item.
struct Passage {
    line: usize,
    words: usize,
}

/// What stands on the page outside headings, tables and blocks of code.
fn passages(page: &File) -> Vec<Passage> {
    let mut found: Vec<Passage> = Vec::new();
    let (mut in_code, mut apart) = (false, true);
    for (line, text) in page.lines() {
        let trimmed = text.trim();
        let is_fence = trimmed.starts_with("```");
        in_code ^= is_fence;
        if trimmed.is_empty() || is_fence || in_code || trimmed.starts_with(['#', '|']) {
            apart = true;
            continue;
        }
        let item = after_marker(trimmed);
        let words = item.unwrap_or(trimmed).split_whitespace().count();
        let is_indented = text.starts_with(' ');
        match found.last_mut() {
            Some(last) if item.is_none() && (!apart || is_indented) => {
                last.words += words;
            }
            _ => found.push(Passage { line, words }),
        }
        apart = false;
    }
    found
}

/// The text of an item behind its marker, `-`, `*`, `+` or a number with a dot; nothing where the
/// line begins no item.
fn after_marker(text: &str) -> Option<&str> {
    let (marker, rest) = text.split_once(' ')?;
    let is_numbered = marker.strip_suffix('.').is_some_and(is_number);
    (is_numbered || ["-", "*", "+"].contains(&marker)).then_some(rest)
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|character| character.is_ascii_digit())
}
