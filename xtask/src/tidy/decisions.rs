//! The rules about the pages of decisions.

use std::collections::BTreeMap;

use super::tree::Tree;

/// No two decisions have one number.
pub(crate) fn decisions_are_numbered_once(tree: &Tree) -> Vec<String> {
    let mut numbers: BTreeMap<&str, &str> = BTreeMap::new();
    let mut found = Vec::new();
    for file in tree.under("docs/decisions") {
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

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|character| character.is_ascii_digit())
}
