//! Names of tools: one rule without memory, so that a description gives the same names in whatever order
//! it is read.

use std::collections::BTreeMap;

use crypto::sha256;

use super::document::Place;

/// The longest name below the connector's.
const MAX_NAME: usize = 64;
/// The digits of the hash at the end of a name that was cut.
const DIGITS: usize = 8;

/// The name of the tool for an operation that is called this: each run of characters that no name has
/// becomes one `_`. A longer name is cut, and ends in a hash of the whole.
pub(super) fn tool_name(called: &str) -> String {
    let mut name = String::new();
    let mut in_run = false;
    for letter in called.chars() {
        let is_kept = letter.is_ascii_alphanumeric() || "._/-".contains(letter);
        if is_kept {
            name.push(letter);
        } else if !in_run {
            name.push('_');
        }
        in_run = !is_kept;
    }
    if name.len() <= MAX_NAME {
        return name;
    }
    let hash = sha256(called).to_string();
    let digits = hash.rsplit(':').next().unwrap_or_default().chars().take(DIGITS);
    let start = name.chars().take(MAX_NAME - DIGITS - 1);
    start.chain(std::iter::once('_')).chain(digits).collect()
}

/// Why none of these operations becomes a tool: their tools would share a name. By method and path.
pub(super) fn clashes<'a>(places: impl Iterator<Item = &'a Place>) -> BTreeMap<String, String> {
    let mut named: BTreeMap<String, Vec<&Place>> = BTreeMap::new();
    for place in places.filter(|place| place.is_served) {
        named.entry(place.tool_name()).or_default().push(place);
    }
    let mut clashes = BTreeMap::new();
    for (name, places) in named {
        let [first, second, rest @ ..] = places.as_slice() else { continue };
        let more =
            if rest.is_empty() { String::new() } else { format!(" and {} more", rest.len()) };
        for place in &places {
            let other = if place.key() == first.key() { second } else { first };
            let reason = format!(
                "its name `{name}` is also the name of `{}`{more}: choose one of them, or give it a \
                 `name` in `operations`",
                other.called(),
            );
            clashes.insert(place.key(), reason);
        }
    }
    clashes
}
