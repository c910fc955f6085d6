//! Where the tools of a config come from: a list that somebody wrote, or operations of a description.

use serde::Deserialize;
use serde_json::Value;

use super::{
    super::{
        entry::{Called, Said},
        openapi::{self, Description, LeftOut},
    },
    MOST_PARTS, Written,
};
use crate::Finding;

/// The longest description that a config has in it, as JSON.
const LONGEST_DESCRIPTION: usize = 1 << 20;
/// The most parts of schemas that are read until a connector's tools are found.
const MOST_READ: usize = 5 * MOST_PARTS;

/// An operation, what is said of it, and its place in the config.
pub(super) struct Candidate {
    pub(super) at: String,
    pub(super) called: Called,
    pub(super) said: Said,
    /// What of the operation cannot be used.
    pub(super) without: Vec<LeftOut>,
    /// How many parts its schema has that come from a description.
    pub(super) parts: usize,
}

/// Where the tools come from.
pub(super) enum Origin<'a> {
    /// They are written by hand.
    ByHand(&'a [Value]),
    /// They are these operations of a description, or every one that can be served.
    Described(Description, Option<&'a [Value]>),
}

/// What tools are to be made of, each read when it is asked for, or why none can be made of it.
pub(super) type Candidates<'a> = Box<dyn Iterator<Item = Result<Candidate, LeftOut>> + 'a>;

impl<'a> Origin<'a> {
    pub(super) fn of(written: &'a Written) -> Result<Self, Finding> {
        match (&written.openapi, &written.tools, &written.operations) {
            (None, Some(tools), None) => Ok(Self::ByHand(tools)),
            (Some(described), None, operations) => {
                Ok(Self::Described(description(described)?, operations.as_deref()))
            }
            (Some(_), Some(_), _) | (None, None, _) | (None, Some(_), Some(_)) => {
                let message = "expected either `openapi`, with or without `operations`, or `tools`";
                Err(Finding::new("/", message))
            }
        }
    }

    /// Whether somebody chose what tools are made of.
    pub(super) fn is_chosen(&self) -> bool {
        match self {
            Self::ByHand(_) | Self::Described(_, Some(_)) => true,
            Self::Described(_, None) => false,
        }
    }

    /// Whether all was read that may be.
    pub(super) fn is_spent(&self) -> bool {
        match self {
            Self::ByHand(_) => false,
            Self::Described(description, _) => description.is_spent(),
        }
    }

    /// The operations that tools are to be made of.
    pub(super) fn candidates(&self) -> Result<Candidates<'_>, Vec<Finding>> {
        match self {
            Self::ByHand(tools) => {
                let tools = tools.iter().enumerate().map(|(at, tool)| by_hand(at, tool));
                let tools: Vec<_> = tools.collect::<Result<_, _>>().map_err(|it| vec![it])?;
                Ok(Box::new(tools.into_iter().map(Ok)))
            }
            Self::Described(description, None) => {
                let found = openapi::operations(description).map_err(|it| vec![it])?;
                Ok(Box::new(found.map(|operation| operation.map(described))))
            }
            Self::Described(description, Some(operations)) => {
                let chosen = chosen(description, operations)?;
                Ok(Box::new(chosen.into_iter().map(Ok)))
            }
        }
    }
}

/// The description in a config. As a document it may be no longer than as a text, whose length the
/// schema bounds.
fn description(written: &Value) -> Result<Description, Finding> {
    if !written.is_string() && written.to_string().len() > LONGEST_DESCRIPTION {
        let message = format!(
            "expected at most {LONGEST_DESCRIPTION} bytes; `convert` makes a tool list from a \
             longer description"
        );
        return Err(Finding::new("/openapi", message));
    }
    Ok(Description::read(written)?.within(MOST_READ))
}

/// An operation of a whole description.
fn described(operation: openapi::Operation) -> Candidate {
    let at = format!("/openapi ({})", operation.key());
    let (without, parts) = (operation.without().to_vec(), operation.parts());
    let (called, said) = operation.into_parts();
    Candidate { at, called, said, without, parts }
}

fn by_hand(at: usize, tool: &Value) -> Result<Candidate, Finding> {
    let at = format!("/tools/{at}");
    let wrong = |error: serde_json::Error| Finding::new(&*at, error.to_string());
    let mut called = tool.clone();
    if let Some(members) = called.as_object_mut() {
        members.retain(|key, _| ["method", "path", "args", "parameters", "body"].contains(&&**key));
    }
    let called = Called::deserialize(called).map_err(wrong)?;
    let said = Said::deserialize(tool).map_err(wrong)?;
    Ok(Candidate { at, called, said, without: Vec::new(), parts: 0 })
}

/// The operations that the config names, with what it says of each.
fn chosen(description: &Description, operations: &[Value]) -> Result<Vec<Candidate>, Vec<Finding>> {
    let (mut candidates, mut findings) = (Vec::new(), Vec::new());
    for (at, choice) in operations.iter().enumerate() {
        let at = format!("/operations/{at}");
        let wanted = choice.get("operation").and_then(Value::as_str).unwrap_or_default();
        match (description.operation(wanted), Said::deserialize(choice)) {
            (Ok(operation), Ok(said)) => {
                let Candidate { called, said: told, without, parts, .. } = described(operation);
                let said = Said {
                    name: said.name.or(told.name),
                    title: said.title.or(told.title),
                    description: said.description.or(told.description),
                    ..said
                };
                candidates.push(Candidate { at, called, said, without, parts });
            }
            (Err(reason), _) => {
                findings.push(Finding::new(format!("{at}/operation"), reason));
            }
            (Ok(_), Err(error)) => findings.push(Finding::new(at, error.to_string())),
        }
    }
    if findings.is_empty() { Ok(candidates) } else { Err(findings) }
}
