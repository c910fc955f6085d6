//! The names in a query or a form, as servers read them.
//!
//! A name says what is set, and servers differ in how they read one: `user[role]` and `user.role` are a
//! part of `user` to many of them; some look past blanks and brackets before a name, ignore its case, or
//! take `.` and a blank for `_`. No member is written under a name that any of them may take for that of
//! another, which has a schema of its own.

use std::collections::{BTreeMap, BTreeSet};

use super::{config::METHOD_MEMBER, percent::decoded};

/// What is between the segments of a key: no name has it.
const BETWEEN: char = '\0';

/// Names that are described.
#[derive(Debug, Clone)]
pub(super) struct Names {
    exact: BTreeSet<String>,
    /// The names by their keys, and by their keys as PHP reads them.
    keys: BTreeMap<String, String>,
    joined: BTreeMap<String, String>,
}

impl Names {
    pub(super) fn of<'a>(names: impl Iterator<Item = &'a str>) -> Self {
        let names: BTreeSet<String> = names.map(str::to_owned).collect();
        let by = |key: fn(&str) -> String| names.iter().map(|it| (key(it), it.clone())).collect();
        let (keys, joined) = (by(key), by(joined));
        Self { exact: names, keys, joined }
    }

    /// The described name that servers may take another name for, as a whole, as a part of it, or as
    /// what it is a part of.
    pub(super) fn read_as(&self, name: &str) -> Option<&str> {
        if self.exact.contains(name) {
            return None;
        }
        let key = key(name);
        let mut ends = key.match_indices(BETWEEN).map(|(end, _)| end).chain([key.len()]);
        let whole = ends.find_map(|end| self.keys.get(key.get(..end)?));
        let of_php = || self.joined.get(&joined(name));
        let part = || {
            let start = format!("{key}{BETWEEN}");
            let next = self.keys.range(start.clone()..).next();
            next.filter(|(other, _)| other.starts_with(&start)).map(|(_, name)| name)
        };
        whole.or_else(of_php).or_else(part).map(String::as_str)
    }

    /// The pairs of `own`, none of which has the name of another parameter or member: `filter[role]` of
    /// the object `filter` would be read as the parameter of that name.
    pub(super) fn no_other(&self, pairs: Vec<String>, own: &str) -> Result<Vec<String>, String> {
        let names = pairs.iter().filter_map(|pair| Some(decoded(pair.split_once('=')?.0)));
        let mut others = names.filter(|name| name != own).filter_map(|it| self.keys.get(&key(&it)));
        match others.find(|name| *name != own) {
            None => Ok(pairs),
            Some(other) => {
                Err(format!("no member that is written as `{other}`, which is another argument"))
            }
        }
    }
}

/// Whether some frameworks may take a member of this name for the method of the request.
pub(super) fn is_override(name: &str) -> bool {
    let of_php: String =
        name.trim_start().chars().map(|it| if it == '.' { '_' } else { it }).collect();
    [name, &of_php].into_iter().any(|name| key(name).split(BETWEEN).next() == Some(METHOD_MEMBER))
}

/// The segments of a name in small letters, whatever parts them.
fn key(name: &str) -> String {
    let segments = name.split(|it: char| matches!(it, '[' | ']' | '.') || it.is_whitespace());
    let segments = segments.filter(|segment| !segment.is_empty()).map(str::to_lowercase);
    segments.collect::<Vec<_>>().join(&BETWEEN.to_string())
}

/// The name as PHP reads one with `.`, a blank or a bracket that is not closed.
fn joined(name: &str) -> String {
    key(name).replace(BETWEEN, "_")
}
