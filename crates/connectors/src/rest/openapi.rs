//! An OpenAPI 3.0 or 3.1 description as operations that tools can call.
//!
//! Nothing outside the document is looked up. What cannot be served is told with its reason, never
//! guessed at.

mod document;
mod operation;
mod schema;

pub(super) use document::Description;

use super::entry::{Called, Said};
use crate::{ArgsSchema, Finding};

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
    /// What of it cannot be used.
    without: Vec<LeftOut>,
    /// How many parts its schema has.
    parts: usize,
}

impl Operation {
    /// Its method and path.
    pub(super) fn key(&self) -> &str {
        &self.key
    }

    /// What of it cannot be used.
    pub(super) fn without(&self) -> &[LeftOut] {
        &self.without
    }

    /// How many parts its schema has.
    pub(super) fn parts(&self) -> usize {
        self.parts
    }

    /// The operation, where a matcher can hold its arguments; else why it cannot. The matcher is not
    /// kept: whoever serves the operation makes one.
    pub(super) fn matched(self) -> Result<Self, String> {
        match ArgsSchema::compile(&self.called.args) {
            Ok(_) => Ok(self),
            Err(error) => Err(error.to_string()),
        }
    }

    /// How it is called, and what the description says of it.
    pub(super) fn into_parts(self) -> (Called, Said) {
        (self.called, self.said)
    }
}

/// The operations of a description, each read when it is asked for, or why it cannot be served. Whether
/// a matcher can hold its arguments is left to whoever asks.
pub(super) fn operations(
    description: &Description,
) -> Result<impl Iterator<Item = Result<Operation, LeftOut>>, Finding> {
    let places = description.places()?.into_iter();
    Ok(places.map(move |place| {
        let read = description.at(&place);
        read.map_err(|reason| LeftOut { operation: place.key(), reason })
    }))
}

/// Every operation of a description that can be served, and what cannot.
pub(super) fn every_operation(
    description: &Description,
) -> Result<(Vec<Operation>, Vec<LeftOut>), Finding> {
    let (mut served, mut left_out) = (Vec::new(), Vec::new());
    for operation in operations(description)? {
        let matched = operation.and_then(|operation| {
            let key = operation.key().to_owned();
            operation.matched().map_err(|reason| LeftOut { operation: key, reason })
        });
        match matched {
            Ok(operation) => {
                left_out.extend(operation.without().iter().cloned());
                served.push(operation);
            }
            Err(left) => left_out.push(left),
        }
    }
    Ok((served, left_out))
}
