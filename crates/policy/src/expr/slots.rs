//! Numbers the fields of the arguments that expressions read, so that a decision looks each up once
//! however many rules ask for it.

use std::collections::BTreeMap;

use super::ast::{Access, Expr, Kind};

/// The most numbered paths; further ones are looked up each time.
pub(crate) const MAX_SLOTS: usize = 32;

/// The numbered paths of one policy.
#[derive(Debug, Default)]
pub(crate) struct Slots(BTreeMap<Box<[Box<str>]>, usize>);

impl Slots {
    /// Puts numbered paths in the place of the expression's chains of plain fields.
    pub(crate) fn number(&mut self, expr: &mut Expr) {
        let path = path(expr).filter(|path| !path.is_empty());
        let Some(path) = path.map(Vec::into_boxed_slice) else {
            expr.parts_mut().into_iter().for_each(|part| self.number(part));
            return;
        };
        let next = self.0.len();
        let slot = match self.0.get(&path) {
            Some(slot) => *slot,
            None if next < MAX_SLOTS => next,
            None => return,
        };
        self.0.insert(path.clone(), slot);
        let chain = Box::new(expr.clone());
        expr.kind = Kind::Path { slot, path, chain };
    }
}

/// The names from the arguments to here, when there is nothing else on the way.
fn path(expr: &Expr) -> Option<Vec<Box<str>>> {
    match &expr.kind {
        Kind::Args => Some(Vec::new()),
        Kind::Field { of, name, access: Access::Must } => {
            let mut names = path(of)?;
            names.push(name.clone());
            Some(names)
        }
        _ => None,
    }
}
