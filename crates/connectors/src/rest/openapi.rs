//! An OpenAPI 3.0 or 3.1 description as operations that tools can call.
//!
//! Nothing outside the document is looked up. What cannot be served is listed with its reason, never
//! guessed.

mod body;
mod document;
mod flat;
mod kinds;
mod names;
mod operation;
mod parameters;
mod schema;

pub(super) use document::{Description, Place};

use self::names::clashes;
use super::{
    config,
    entry::{Called, Said},
};

/// The most operations that are looked at.
const MOST_OPERATIONS: usize = 5_000;

/// What of a description no tool can use, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LeftOut {
    /// The operation, or a part of it.
    pub(super) operation: String,
    /// Why.
    pub(super) reason: String,
}

/// One operation that can be served.
#[derive(Debug, Clone)]
pub(super) struct Operation {
    key: String,
    called: Called,
    said: Said,
    /// The parts that no call can use.
    without: Vec<LeftOut>,
    /// How many parts its schema has.
    parts: usize,
}

impl Operation {
    /// Its method and path.
    pub(super) fn key(&self) -> &str {
        &self.key
    }

    /// The parts that no call can use.
    pub(super) fn without(&self) -> &[LeftOut] {
        &self.without
    }

    /// The name of its tool.
    pub(super) fn name(&self) -> &str {
        self.said.name.as_deref().unwrap_or_default()
    }

    /// How many parts its schema has.
    pub(super) fn parts(&self) -> usize {
        self.parts
    }

    /// How it is called, and what the description says of it.
    pub(super) fn into_parts(self) -> (Called, Said) {
        (self.called, self.said)
    }
}

/// The beginning of a text of a description, as a reason quotes it: one text may be in very many.
fn excerpt(text: &str) -> String {
    const MOST: usize = 100;
    text.chars().take(MOST).collect()
}

/// Which operations of a description somebody wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice<'a> {
    /// The one with this `operationId`, or with this method and path.
    Operation(&'a str),
    /// Every one that has this tag and can be served.
    Tag(&'a str),
}

/// An operation that can be served, or why it is left out.
pub(super) type Chosen = Result<Operation, LeftOut>;

/// The operations of a description, each read when it is needed, or why it cannot be served. Whether
/// a config can have its tool is left to the caller.
pub(super) fn operations(description: &Description) -> impl Iterator<Item = Chosen> {
    let unread = description.unread().iter().cloned().map(Err);
    unread.chain(of_places(description, description.places().iter()))
}

/// Every operation of a description that can be served, and what cannot.
pub(super) fn every_operation(description: &Description) -> (Vec<Operation>, Vec<LeftOut>) {
    sorted(operations(description).map(accepted))
}

/// The operations that a choice names; on failure, why it names none.
pub(super) fn chosen<'d>(
    description: &'d Description,
    choice: Choice<'_>,
) -> Result<Vec<&'d Place>, String> {
    match choice {
        Choice::Operation(wanted) => Ok(vec![description.place(wanted)?]),
        Choice::Tag(tag) => {
            let tagged: Vec<_> = description.tagged(tag).collect();
            let error = || format!("no operation of the description has the tag `{tag}`");
            if tagged.is_empty() { Err(error()) } else { Ok(tagged) }
        }
    }
}

/// The operations at these places, those left out whose tools would share a name.
pub(super) fn of_places<'d>(
    description: &'d Description,
    places: impl Iterator<Item = &'d Place> + Clone,
) -> impl Iterator<Item = Chosen> {
    let clashes = clashes(places.clone());
    places.map(move |place| match clashes.get(&place.key()) {
        Some(reason) => Err(LeftOut { operation: place.key(), reason: reason.clone() }),
        None => read(description, place),
    })
}

/// The operation at this place, or why it cannot be served.
pub(super) fn read(description: &Description, place: &Place) -> Chosen {
    description.at(place).map_err(|reason| LeftOut { operation: place.key(), reason })
}

/// The operation, where a config can have its tool.
pub(super) fn accepted(operation: Chosen) -> Chosen {
    let operation = operation?;
    match config::fault(operation.called.clone(), operation.said.clone()) {
        None => Ok(operation),
        Some(reason) => Err(LeftOut { operation: operation.key, reason }),
    }
}

/// Those that are served and what is not.
pub(super) fn sorted(operations: impl Iterator<Item = Chosen>) -> (Vec<Operation>, Vec<LeftOut>) {
    let (mut served, mut left_out) = (Vec::new(), Vec::new());
    for operation in operations {
        match operation {
            Ok(operation) => {
                left_out.extend(operation.without().iter().cloned());
                served.push(operation);
            }
            Err(left) => left_out.push(left),
        }
    }
    (served, left_out)
}
