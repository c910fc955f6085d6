//! The names under `$defs` of what references lead to.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::Role;

/// A reference and what its target is for.
pub(super) type Wanted = (String, Role);

/// The names that were given, and what still has to be carried over.
#[derive(Debug, Default)]
pub(super) struct Definitions {
    names: BTreeMap<Wanted, String>,
    taken: BTreeSet<String>,
    /// For each name that several want, the number that is tried next.
    numbers: BTreeMap<String, usize>,
    waiting: VecDeque<(Wanted, String)>,
}

impl Definitions {
    /// The name of what the reference leads to. Its target waits to be carried over once.
    pub(super) fn name(&mut self, wanted: Wanted) -> String {
        if let Some(name) = self.names.get(&wanted) {
            return name.clone();
        }
        let name = self.free(&wanted.0);
        self.names.insert(wanted.clone(), name.clone());
        self.waiting.push_back((wanted, name.clone()));
        name
    }

    /// The next target that waits, with its name.
    pub(super) fn next(&mut self) -> Option<(Wanted, String)> {
        self.waiting.pop_front()
    }

    /// A name of letters that no other reference has.
    fn free(&mut self, reference: &str) -> String {
        let last = reference.rsplit('/').next().unwrap_or_default();
        let plain =
            |it: char| if it.is_ascii_alphanumeric() || "._-".contains(it) { it } else { '_' };
        let name: String = last.chars().map(plain).collect();
        if self.taken.insert(name.clone()) {
            return name;
        }
        // Numbers that were tried before are taken for good.
        let number = self.numbers.entry(name.clone()).or_insert(2);
        loop {
            let numbered = format!("{name}_{number}");
            *number += 1;
            if self.taken.insert(numbered.clone()) {
                return numbered;
            }
        }
    }
}
