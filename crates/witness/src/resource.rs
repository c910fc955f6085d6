//! L1 of an API: what it says of the resource that the report is about, when it is asked once more.
//!
//! An API tells of no transactions, so a read proves what stands there now and not who made it so: the
//! tool's declaration names the fields that only its own calls change. Where the API says that there is
//! no such resource, a call that says it made or changed one is found out; one that removes may well
//! have removed it, which is no proof of anything.

use crypto::json::{Exact, canonical};
use model::{Field, Outcome, Resource, SideEffect, WitnessReason as Reason};
use serde_json::{Map, Value, json};

use crate::{Evidence, Found, Source};

/// One compared field, and how what was told and what was read agree.
#[derive(Debug, Clone)]
pub(crate) struct FieldFinding {
    pub(crate) place: String,
    told: Option<Value>,
    found: Option<Value>,
    /// Why it is no better; nothing where both agree.
    pub(crate) reason: Option<Reason>,
}

/// Holds what the API says against what the call and its report say.
pub(crate) fn check(evidence: &Evidence<'_>, resource: &Resource, found: &mut Found) {
    found.sources.push(Source::ReadBack { evidence: evidence_of(resource) });
    found.problems.check("resource_read");
    match evidence.outcome {
        Outcome::Succeeded { .. } => {}
        // Nobody says that there is a resource.
        Outcome::Failed(_) => return found.problems.add(Reason::ReadbackNotOffered),
        Outcome::Applied | Outcome::Unknown(_) => {
            return found.problems.add(Reason::NothingReported);
        }
    }
    match resource {
        Resource::NotThere if evidence.side_effect == Some(SideEffect::Destructive) => {
            found.problems.add(Reason::ReadbackUnreadable);
        }
        Resource::NotThere => found.problems.add(Reason::NotThere),
        Resource::There(fields) => {
            found.problems.add_if(fields.is_empty(), Reason::NothingReported);
            found.problems.check("fields_agree");
            for field in fields {
                let finding = FieldFinding::of(field);
                if let Some(reason) = finding.reason {
                    found.problems.add(reason);
                }
                found.fields.push(finding);
            }
        }
    }
}

impl FieldFinding {
    fn of(field: &Field) -> Self {
        let reason = match (&field.told, &field.found) {
            (None, _) => Some(Reason::NothingReported),
            // What is not told is not another value: the API may leave out what it knows.
            (Some(_), None) => Some(Reason::ReadbackUnreadable),
            (Some(told), Some(found)) => (!is_same(told, found)).then_some(Reason::ValueDiffers),
        };
        let Field { place, told, found } = field.clone();
        Self { place, told, found, reason }
    }
}

/// Whether both are one JSON value, digit for digit.
fn is_same(one: &Value, other: &Value) -> bool {
    let exact = |value: &Value| Exact::from(value.clone());
    exact(one).canonical().text() == exact(other).canonical().text()
}

/// The field as the detail has it.
pub(crate) fn shown(field: &FieldFinding) -> Value {
    let mut members = Map::new();
    members.insert("place".to_owned(), json!(field.place));
    add("expected", field.told.as_ref(), &mut members);
    add("observed", field.found.as_ref(), &mut members);
    let result = field.reason.map_or("pass", Reason::as_str);
    members.insert("result".to_owned(), json!(result));
    Value::Object(members)
}

/// What was read, without what the call says of it.
fn evidence_of(resource: &Resource) -> Value {
    match resource {
        Resource::NotThere => json!({ "there": false }),
        Resource::There(fields) => {
            let one = |field: &Field| {
                let mut members = Map::new();
                members.insert("place".to_owned(), json!(field.place));
                add("found", field.found.as_ref(), &mut members);
                Value::Object(members)
            };
            json!({ "there": true, "fields": fields.iter().map(one).collect::<Vec<_>>() })
        }
    }
}

/// Adds the value, or its digest where it is long, or nothing where there is none.
fn add(name: &str, value: Option<&Value>, members: &mut Map<String, Value>) {
    let Some(value) = value else { return };
    let text = canonical(value);
    if text.len() <= LONGEST_SHOWN {
        members.insert(name.to_owned(), value.clone());
    } else {
        members.insert(format!("{name}_digest"), json!(crypto::sha256(text)));
    }
}

/// The longest value that is shown itself, in bytes of its canonical form.
const LONGEST_SHOWN: usize = 1024;
