//! Names of tools: one rule without memory, so that a description gives the same names in whatever order
//! it is read.

use std::collections::BTreeMap;

use crypto::sha256;

use super::{LeftOut, document::Place};

/// The longest name below the connector's.
const MAX_NAME: usize = 64;
/// How many digits of a hash stand for the rest of a longer one.
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

/// The operations of these whose tools would share a name, each with its reason.
pub(super) fn clashes<'a>(places: impl Iterator<Item = &'a Place>) -> BTreeMap<String, LeftOut> {
    let mut named: BTreeMap<String, Vec<&Place>> = BTreeMap::new();
    for place in places {
        named.entry(place.tool_name()).or_default().push(place);
    }
    let mut clashes = BTreeMap::new();
    for (name, places) in named.iter().filter(|(_, places)| places.len() > 1) {
        for place in places {
            let others = places.iter().filter(|other| other.key() != place.key());
            let others: Vec<_> = others.map(|other| format!("`{}`", other.called())).collect();
            let reason = format!(
                "its name `{name}` is also the name of {}: expected a `name` for it among the chosen \
                 operations",
                others.join(" and ")
            );
            clashes.insert(place.key(), LeftOut { operation: place.key(), reason });
        }
    }
    clashes
}
