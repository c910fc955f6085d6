//! Where the tools of a config come from: a list that somebody wrote, or operations of a description.

use std::collections::BTreeSet;

use serde::Deserialize;
use serde_json::Value;

use super::{
    super::{
        entry::{Called, Said},
        openapi::{self, Choice, Description, LeftOut, Place},
    },
    MOST_PARTS, Written,
};
use crate::Finding;

/// The longest description that a config has in it, as JSON.
const LONGEST_DESCRIPTION: usize = 1 << 20;
/// The most parts of schemas that are read until a connector's tools are found.
const MOST_READ: usize = 5 * MOST_PARTS;
/// The members of a tool that say what is called.
const CALLED: [&str; 6] = ["method", "path", "args", "parameters", "body", "operation"];

/// An operation, what is said of it, and its place in the config.
pub(super) struct Candidate {
    pub(super) at: String,
    pub(super) called: Called,
    pub(super) said: Said,
    /// The parts of the operation that no call can use.
    pub(super) without: Vec<LeftOut>,
    /// How many parts its schema has that come from a description.
    pub(super) parts: usize,
    /// Whether the config names it: what does not fit is a finding then, and else is left out.
    pub(super) must_fit: bool,
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
                let found = openapi::operations(description);
                Ok(Box::new(found.map(|operation| operation.map(described))))
            }
            Self::Described(description, Some(operations)) => chosen(description, operations),
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
    Candidate { at, called, said, without, parts, must_fit: false }
}

fn by_hand(at: usize, tool: &Value) -> Result<Candidate, Finding> {
    let at = format!("/tools/{at}");
    let wrong = |error: serde_json::Error| Finding::new(&*at, error.to_string());
    let mut called = tool.clone();
    if let Some(members) = called.as_object_mut() {
        members.retain(|key, _| CALLED.contains(&&**key));
    }
    let called = Called::deserialize(called).map_err(wrong)?;
    let said = Said::deserialize(tool).map_err(wrong)?;
    Ok(Candidate { at, called, said, without: Vec::new(), parts: 0, must_fit: true })
}

/// The operations that the config chooses, with what it says of each. Those of a tag are read when they
/// are needed.
fn chosen<'a>(
    description: &'a Description,
    operations: &[Value],
) -> Result<Candidates<'a>, Vec<Finding>> {
    let mut candidates: Vec<Candidates<'a>> = Vec::new();
    let mut findings = Vec::new();
    // An operation that is named has what is said of it, whatever tags it has.
    let named = operations.iter().filter_map(|choice| choice.get("operation")?.as_str());
    let named = named.filter_map(|wanted| description.place(wanted).ok());
    let mut taken: BTreeSet<String> = named.map(Place::key).collect();
    let mut tagged = Vec::new();
    for (at, choice) in operations.iter().enumerate() {
        let at = format!("/operations/{at}");
        let Some(tag) = choice.get("tag").and_then(Value::as_str) else {
            match named_by(description, choice, &at) {
                Ok(candidate) => candidates.push(Box::new(std::iter::once(Ok(candidate)))),
                Err(finding) => findings.push(finding),
            }
            continue;
        };
        match openapi::chosen(description, Choice::Tag(tag)) {
            Ok(places) => tagged.extend(places.into_iter().filter(|it| taken.insert(it.key()))),
            Err(reason) => findings.push(Finding::new(format!("{at}/tag"), reason)),
        }
    }
    let tagged = openapi::of_places(description, tagged.into_iter());
    candidates.push(Box::new(tagged.map(|operation| operation.map(described))));
    if findings.is_empty() { Ok(Box::new(candidates.into_iter().flatten())) } else { Err(findings) }
}

/// The one operation that a choice names.
fn named_by(description: &Description, choice: &Value, at: &str) -> Result<Candidate, Finding> {
    let wanted = choice.get("operation").and_then(Value::as_str).unwrap_or_default();
    let operation = description.operation(wanted);
    let operation = operation.map_err(|reason| Finding::new(format!("{at}/operation"), reason))?;
    let said = Said::deserialize(choice);
    let said = said.map_err(|error| Finding::new(at, error.to_string()))?;
    let Candidate { called, said: default, without, parts, .. } = described(operation);
    let said = Said {
        name: said.name.or(default.name),
        title: said.title.or(default.title),
        description: said.description.or(default.description),
        ..said
    };
    Ok(Candidate { at: at.to_owned(), called, said, without, parts, must_fit: true })
}
