//! Finds the rules of one tool that may hold by looking their guards' values up, instead of asking
//! every rule.

use std::collections::{BTreeMap, HashMap};

use crate::expr::{Guard, Key, Operand, Plain, Scope, Value};

/// The most values that are looked up; the guards of further ones are asked one by one.
const MAX_OPERANDS: usize = 15;

/// The rules of one tool by what their guards compare.
#[derive(Debug)]
pub(super) struct Index {
    /// Rules that are always looked at.
    always: Vec<usize>,
    // Invariant: at most `MAX_OPERANDS`, so that a walk needs no allocation.
    operands: Vec<Postings>,
}

/// The rules whose guards compare one operand.
#[derive(Debug)]
struct Postings {
    operand: Operand,
    /// All of them, for when the operand is missing.
    all: Vec<usize>,
    texts: HashMap<Box<str>, Vec<usize>>,
    plain: HashMap<Plain, Vec<usize>>,
}

impl Index {
    /// Returns the index of these rules, which are places in the document in order.
    pub(super) fn new(rules: &[usize], guards: &[Option<Guard>]) -> Self {
        let mut always = Vec::new();
        let mut groups: BTreeMap<&Operand, Vec<(usize, &Guard)>> = BTreeMap::new();
        for place in rules.iter().copied() {
            match guards.get(place).and_then(Option::as_ref) {
                Some(guard) => groups.entry(&guard.operand).or_default().push((place, guard)),
                None => always.push(place),
            }
        }
        let mut groups: Vec<_> = groups.into_iter().collect();
        groups.sort_by_key(|(_, rules)| std::cmp::Reverse(rules.len()));
        let rest = groups.split_off(groups.len().min(MAX_OPERANDS));
        always.extend(rest.into_iter().flat_map(|(_, rules)| rules).map(|(place, _)| place));
        always.sort_unstable();
        let operands =
            groups.into_iter().map(|(operand, rules)| Postings::new(operand, &rules)).collect();
        Self { always, operands }
    }

    /// Calls `visit` with the rules that may hold, in order, until it returns something.
    pub(super) fn walk<'s, T>(
        &self,
        scope: &'s Scope<'s>,
        visit: &mut impl FnMut(usize) -> Option<T>,
    ) -> Option<T> {
        let mut lists: [&[usize]; MAX_OPERANDS + 1] = [&[]; MAX_OPERANDS + 1];
        let found = self.operands.iter().map(|postings| postings.find(scope));
        for (list, rules) in lists.iter_mut().zip([self.always.as_slice()].into_iter().chain(found))
        {
            *list = rules;
        }
        let lists = lists.get_mut(..=self.operands.len())?;
        loop {
            // Each rule stands in one list, and every list is in order.
            let next = lists
                .iter_mut()
                .filter(|list| !list.is_empty())
                .min_by_key(|list| list.first().copied())?;
            let (place, rest) = next.split_first()?;
            *next = rest;
            if let Some(result) = visit(*place) {
                return Some(result);
            }
        }
    }
}

impl Postings {
    fn new(operand: &Operand, rules: &[(usize, &Guard)]) -> Self {
        let mut postings = Self {
            operand: operand.clone(),
            all: rules.iter().map(|(place, _)| *place).collect(),
            texts: HashMap::new(),
            plain: HashMap::new(),
        };
        for (place, guard) in rules {
            for key in &guard.keys {
                let list = match key {
                    Key::Text(text) => postings.texts.entry(text.clone()).or_default(),
                    Key::Plain(plain) => postings.plain.entry(*plain).or_default(),
                };
                // A guard may list one value twice.
                if list.last() != Some(place) {
                    list.push(*place);
                }
            }
        }
        postings
    }

    fn find<'s>(&self, scope: &'s Scope<'s>) -> &[usize] {
        let found = match self.operand.value(scope) {
            None => Some(&self.all),
            Some(Value::Text(text)) => self.texts.get(&*text),
            Some(value) => Plain::of(&value).and_then(|plain| self.plain.get(&plain)),
        };
        found.map_or(&[], Vec::as_slice)
    }
}
