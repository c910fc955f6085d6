//! Which rules and budgets a tool has, kept per tool: agents call the same few tools again and
//! again, and most rules are about others.

mod index;

use std::{
    collections::HashMap,
    sync::{
        Arc, OnceLock, PoisonError, RwLock,
        atomic::{AtomicUsize, Ordering},
    },
};

use crate::{
    document::{Document, Rule},
    expr::{Branch, Guard, Key, Operand, Scope, guards},
};
use index::Index;

#[cfg(test)]
mod tests;

/// The most tools that one of the two generations keeps; names may be chosen by agents.
const GENERATION: usize = 2_048;
/// Up to so many rules, looking at each is as fast as an index.
const FEW: usize = 16;
/// A tool's index is built once it has been called so often.
const OFTEN: usize = 4;

/// What is known of the tools that were called lately.
#[derive(Debug)]
pub(crate) struct Tools {
    /// The guard of each rule, in the document's order.
    guards: Vec<Option<Guard>>,
    recent: RwLock<Recent>,
}

/// Tools called since the last change of generation, and those of the one before.
#[derive(Debug, Default)]
struct Recent {
    young: HashMap<Box<str>, Arc<Candidates>>,
    old: HashMap<Box<str>, Arc<Candidates>>,
}

/// The rules and budgets that cover one tool.
#[derive(Debug)]
pub(crate) struct Candidates {
    /// Places in the document, in order; nothing after the first rule without a condition.
    rules: Vec<usize>,
    /// Places in the document, in order.
    pub(crate) budgets: Vec<usize>,
    calls: AtomicUsize,
    index: OnceLock<Index>,
}

impl Tools {
    /// The tools of a document, none of them known yet.
    pub(crate) fn new(document: &Document) -> Self {
        let conditions = document.rules.iter().map(|rule| rule.when.as_ref());
        let guards: Vec<Vec<Guard>> =
            conditions.map(|when| when.map_or_else(Vec::new, |when| guards(when.expr()))).collect();
        Self { guards: rarest(guards), recent: RwLock::default() }
    }

    /// The rules and budgets that cover the tool.
    pub(crate) fn candidates(&self, document: &Document, tool: &str) -> Arc<Candidates> {
        let recent = self.recent.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = recent.young.get(tool) {
            return Arc::clone(found);
        }
        let old = recent.old.get(tool).map(Arc::clone);
        drop(recent);
        let found = old.unwrap_or_else(|| Arc::new(Candidates::find(document, tool)));
        let mut recent = self.recent.write().unwrap_or_else(PoisonError::into_inner);
        if recent.young.len() >= GENERATION {
            recent.old = std::mem::take(&mut recent.young);
        }
        recent.young.insert(tool.into(), Arc::clone(&found));
        found
    }

    /// Calls `visit` with the rules that may hold, in order, until it returns something.
    ///
    /// A rule is left out only when its guard is definitely false.
    pub(crate) fn walk<'p, 's, T>(
        &self,
        document: &'p Document,
        (candidates, scope): (&Candidates, &'s Scope<'s>),
        mut visit: impl FnMut(usize, &'p Rule) -> Option<T>,
    ) -> Option<T> {
        let mut look = |place: usize| {
            let guard = self.guards.get(place).and_then(Option::as_ref);
            if guard.is_some_and(|guard| guard.rules_out(scope)) {
                return None;
            }
            document.rules.get(place).and_then(|rule| visit(place, rule))
        };
        match candidates.index(&self.guards) {
            Some(index) => index.walk(scope, &mut look),
            None => candidates.rules.iter().copied().find_map(look),
        }
    }
}

impl Candidates {
    fn find(document: &Document, tool: &str) -> Self {
        let mut rules = Vec::new();
        for (place, rule) in document.rules.iter().enumerate() {
            if rule.covers(tool) {
                rules.push(place);
                if rule.when.is_none() {
                    break;
                }
            }
        }
        let budgets = document.budgets.iter().enumerate();
        let budgets = budgets.filter(|(_, budget)| budget.covers(tool)).map(|(place, _)| place);
        Self {
            rules,
            budgets: budgets.collect(),
            calls: AtomicUsize::new(0),
            index: OnceLock::new(),
        }
    }

    /// The place of the first rule that covers the tool.
    pub(crate) fn first(&self) -> Option<usize> {
        self.rules.first().copied()
    }

    /// The index once the tool has been called often enough to be worth one.
    fn index(&self, guards: &[Option<Guard>]) -> Option<&Index> {
        if self.rules.len() <= FEW {
            return None;
        }
        if let Some(index) = self.index.get() {
            return Some(index);
        }
        let is_often = self.calls.fetch_add(1, Ordering::Relaxed) >= OFTEN;
        is_often.then(|| self.index.get_or_init(|| Index::new(&self.rules, guards)))
    }
}

/// Chooses for each rule the guard that the fewest other rules share.
///
/// The choice is the policy's, not a tool's: a decision must not depend on what was called before.
fn rarest(guards: Vec<Vec<Guard>>) -> Vec<Option<Guard>> {
    let mut shared: HashMap<(Operand, Key), usize> = HashMap::new();
    for (branch, key) in guards.iter().flatten().flat_map(keys) {
        *shared.entry((branch.operand.clone(), key.clone())).or_default() += 1;
    }
    let crowd = |guard: &Guard| -> usize {
        let keys = keys(guard);
        keys.map(|(branch, key)| {
            shared.get(&(branch.operand.clone(), key.clone())).copied().unwrap_or_default()
        })
        .sum()
    };
    guards.into_iter().map(|guards| guards.into_iter().min_by_key(crowd)).collect()
}

fn keys(guard: &Guard) -> impl Iterator<Item = (&Branch, &Key)> {
    guard.branches.iter().flat_map(|branch| branch.keys.iter().map(move |key| (branch, key)))
}
