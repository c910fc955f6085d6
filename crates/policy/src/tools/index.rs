//! Finds the rules of one tool that may hold by looking their guards' values up, instead of asking
//! every rule.

use std::collections::{BTreeMap, HashMap};

use crate::expr::{Branch, Guard, Key, Operand, Plain, Scope, Value};

/// The most lists that one walk merges; the guards of further rules are asked one by one.
const MAX_LISTS: usize = 24;

/// The rules of one tool by what their guards compare.
#[derive(Debug)]
pub(super) struct Index {
    /// Rules that are always looked at.
    always: Vec<usize>,
    // Invariant: all of them together find less than `MAX_LISTS` lists, so that a walk needs no
    // allocation.
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
    starts: Affixes,
    ends: Affixes,
    /// Those that ask how a text starts or ends, for when the value is none.
    of_texts: Vec<usize>,
}

/// Rules by how a text must start or end, by the length of that in bytes.
#[derive(Debug, Default)]
struct Affixes(BTreeMap<usize, HashMap<Box<str>, Vec<usize>>>);

/// Lists of rules, each in the document's order.
struct Lists<'i> {
    lists: [&'i [usize]; MAX_LISTS],
    len: usize,
}

impl Index {
    /// The index of these rules, which are places in the document in order.
    pub(super) fn new(rules: &[usize], guards: &[Option<Guard>]) -> Self {
        let guard = |place: usize| guards.get(place).and_then(Option::as_ref);
        let mut dropped: Vec<&Operand> = Vec::new();
        loop {
            let mut always = Vec::new();
            let mut operands: BTreeMap<&Operand, Postings> = BTreeMap::new();
            for place in rules.iter().copied() {
                let branches = guard(place).map(|guard| guard.branches.as_slice());
                let is_listed = branches.is_some_and(|branches| {
                    !branches.iter().any(|branch| dropped.contains(&&branch.operand))
                });
                if !is_listed {
                    always.push(place);
                    continue;
                }
                for branch in branches.unwrap_or_default() {
                    let postings = operands.entry(&branch.operand);
                    postings.or_insert_with(|| Postings::new(&branch.operand)).add(place, branch);
                }
            }
            let lists: usize = operands.values().map(Postings::most_lists).sum();
            let smallest = operands.values().min_by_key(|postings| postings.all.len());
            // The operand that the fewest rules compare is the least loss.
            let least = smallest.map(|postings| postings.operand.clone());
            match least.filter(|_| lists >= MAX_LISTS) {
                None => return Self { always, operands: operands.into_values().collect() },
                Some(least) => {
                    dropped.extend(operands.keys().copied().filter(|known| **known == least));
                }
            }
        }
    }

    /// Calls `visit` with the rules that may hold, in order, until it returns something.
    pub(super) fn walk<'s, T>(
        &self,
        scope: &'s Scope<'s>,
        visit: &mut impl FnMut(usize) -> Option<T>,
    ) -> Option<T> {
        let mut lists = Lists { lists: [&[]; MAX_LISTS], len: 0 };
        lists.push(Some(&self.always));
        for postings in &self.operands {
            postings.find(scope, &mut lists);
        }
        while let Some(place) = lists.next() {
            if let Some(result) = visit(place) {
                return Some(result);
            }
        }
        None
    }
}

impl<'i> Lists<'i> {
    fn push(&mut self, list: Option<&'i Vec<usize>>) {
        if let (Some(place), Some(list)) = (self.lists.get_mut(self.len), list)
            && !list.is_empty()
        {
            *place = list;
            self.len += 1;
        }
    }

    /// The lowest place and takes it from every list that begins with it.
    fn next(&mut self) -> Option<usize> {
        let lists = self.lists.get_mut(..self.len)?;
        let next = lists.iter().filter_map(|list| list.first().copied()).min()?;
        for list in lists {
            if let Some((first, rest)) = list.split_first()
                && *first == next
            {
                *list = rest;
            }
        }
        Some(next)
    }
}

impl Postings {
    fn new(operand: &Operand) -> Self {
        Self {
            operand: operand.clone(),
            all: Vec::new(),
            texts: HashMap::new(),
            plain: HashMap::new(),
            starts: Affixes::default(),
            ends: Affixes::default(),
            of_texts: Vec::new(),
        }
    }

    fn add(&mut self, place: usize, branch: &Branch) {
        add(&mut self.all, place);
        for key in &branch.keys {
            match key {
                Key::Text(text) => add(self.texts.entry(text.clone()).or_default(), place),
                Key::Plain(plain) => add(self.plain.entry(*plain).or_default(), place),
                Key::Start(text) => {
                    add(&mut self.of_texts, place);
                    add(self.starts.entry(text), place);
                }
                Key::End(text) => {
                    add(&mut self.of_texts, place);
                    add(self.ends.entry(text), place);
                }
            }
        }
    }

    /// How many lists one look may find.
    fn most_lists(&self) -> usize {
        (1 + self.starts.0.len() + self.ends.0.len()).max(2)
    }

    fn find<'i, 's>(&'i self, scope: &'s Scope<'s>, lists: &mut Lists<'i>) {
        match self.operand.value(scope) {
            None => lists.push(Some(&self.all)),
            Some(Value::Text(text)) => {
                lists.push(self.texts.get(&*text));
                for (len, starts) in &self.starts.0 {
                    lists.push(text.get(..*len).and_then(|start| starts.get(start)));
                }
                for (len, ends) in &self.ends.0 {
                    let end = text.len().checked_sub(*len).and_then(|from| text.get(from..));
                    lists.push(end.and_then(|end| ends.get(end)));
                }
            }
            Some(value) => {
                lists.push(Plain::of(&value).and_then(|plain| self.plain.get(&plain)));
                lists.push(Some(&self.of_texts));
            }
        }
    }
}

impl Affixes {
    fn entry(&mut self, text: &str) -> &mut Vec<usize> {
        self.0.entry(text.len()).or_default().entry(text.into()).or_default()
    }
}

/// Adds the place once: a guard may list one value twice.
fn add(list: &mut Vec<usize>, place: usize) {
    if list.last() != Some(&place) {
        list.push(place);
    }
}
