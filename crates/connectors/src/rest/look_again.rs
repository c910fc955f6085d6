//! How a write is looked at again: another operation is asked, by the same guarded way, and what it
//! says is put beside what the call and its answer say. The comparing is the witness's.

use std::{collections::BTreeMap, sync::Arc};

use model::{
    ExecutionErrorCode as Code, Fault, Field, ReadBack as Read, ReadBackGap as Gap, Resource,
};
use serde_json::{Map, Value};
use tokio::time::Instant;
use tool::{Claim, Reading};
use upstream::{Answer, UpstreamError};

use super::{
    RestTool, Standing,
    entry::{Comparison, Entry, ReadBack, Source},
    run::{Answered, NoAnswer},
};

/// What of a resource is compared with what, and who reads it.
#[derive(Debug)]
pub(super) struct LookAgain {
    by: Arc<RestTool>,
    args: BTreeMap<String, Source>,
    compare: Vec<Comparison>,
}

impl LookAgain {
    /// How the tool declares that it is looked at again, if it does.
    pub(super) fn of(entry: &Entry, reads: &BTreeMap<&str, Arc<RestTool>>) -> Option<Self> {
        let ReadBack { operation, args, compare } = entry.read_back.clone()?;
        let by = Arc::clone(reads.get(&*operation)?);
        Some(Self { by, args, compare })
    }

    /// What the API says now of what was claimed.
    pub(super) async fn look(&self, claim: Claim<'_>, until: Instant) -> Reading {
        // What nobody has accepted proves nothing.
        if self.by.standing == Standing::Unaccepted {
            return unread(Gap::NotOffered);
        }
        let Some(args) = self.key(claim) else { return unread(Gap::NoKey) };
        let Ok(rendered) = self.by.operation.render(&args) else { return unread(Gap::NoKey) };
        match self.by.ask(rendered, None, until).await {
            Ok(answer) => self.read(claim, &answer),
            Err(NoAnswer::Unproven(fault)) => unproven(&fault),
            Err(NoAnswer::Upstream(error)) => unanswered(&error),
        }
    }

    /// The arguments by which the resource is found; nothing where the claim does not hold them.
    fn key(&self, claim: Claim<'_>) -> Option<Value> {
        let mut args = Map::new();
        for (name, source) in &self.args {
            match told(source, claim) {
                Told::Value(value) => {
                    args.insert(name.clone(), value.clone());
                }
                Told::Omitted if !self.by.entry.requires(name) => {}
                Told::Omitted | Told::Untold => return None,
            }
        }
        let args = Value::Object(args);
        self.by.args.check(&args).ok().map(|()| args)
    }

    fn read(&self, claim: Claim<'_>, answer: &Answer) -> Reading {
        let status = answer.status.as_u16();
        let is_success = self.by.answered(status) == Answered::Success;
        match (is_success, status) {
            (true, _) => match self.by.result(answer) {
                Ok(found) => resource(Resource::There(self.fields(claim, &found))),
                Err(_) => unread(Gap::Unreadable),
            },
            (false, 404 | 410) => resource(Resource::NotThere),
            (false, 401 | 403) => unread(Gap::Denied),
            // An API that fails, or has too much to do, may answer the next time.
            (false, _) => Reading::Unreachable,
        }
    }

    /// Each compared field; a call that leaves an argument out says nothing of that field.
    fn fields(&self, claim: Claim<'_>, found: &Value) -> Vec<Field> {
        let field = |comparison: &Comparison| {
            let told = match told(&comparison.with, claim) {
                Told::Value(value) => Some(value.clone()),
                Told::Untold => None,
                Told::Omitted => return None,
            };
            let found = found.pointer(&comparison.read).cloned();
            Some(Field { place: comparison.read.clone(), told, found })
        };
        self.compare.iter().filter_map(field).collect()
    }
}

/// What a claim says at one place.
enum Told<'a> {
    Value(&'a Value),
    /// The call left the argument out.
    Omitted,
    /// The answer has no such place.
    Untold,
}

fn told<'a>(source: &'a Source, claim: Claim<'a>) -> Told<'a> {
    match source {
        Source::Arg(name) => claim.args.get(name).map_or(Told::Omitted, Told::Value),
        Source::Result(place) => {
            let found = claim.result.and_then(|result| result.pointer(place));
            found.map_or(Told::Untold, Told::Value)
        }
        Source::Value(value) => Told::Value(value),
    }
}

fn resource(resource: Resource) -> Reading {
    Reading::Done(Read::Resource(resource))
}

fn unread(gap: Gap) -> Reading {
    Reading::Done(Read::Unread(gap))
}

/// What it means that nobody can say who asks.
fn unproven(fault: &Fault) -> Reading {
    let is = |code: Code| fault.code == code.into();
    if is(Code::ConnectorAuthFailed) || is(Code::EgressRefused) {
        unread(Gap::Denied)
    } else if is(Code::ToolTimeout) {
        unread(Gap::Timeout)
    } else {
        Reading::Unreachable
    }
}

fn unanswered(error: &UpstreamError) -> Reading {
    match error {
        UpstreamError::Refused(_) => unread(Gap::Denied),
        UpstreamError::Late { .. } => unread(Gap::Timeout),
        UpstreamError::Unreachable(_)
        | UpstreamError::Tls { .. }
        | UpstreamError::Broken { .. } => Reading::Unreachable,
    }
}
