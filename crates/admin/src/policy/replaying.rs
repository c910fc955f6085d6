//! Recorded decisions, as a policy can make them again.

use std::{collections::HashSet, sync::Arc};

use act::ActError;
use ledger::record::Action;
use model::{ActionId, DecisionCode, DecisionSource, EventType, Status, Timestamp};
use policy::{Call, NotReplayable, Record, Recorded};

use crate::{DecisionEvent, OrgView, PolicyError};

/// How many events are read at once.
const PAGE: usize = 1_000;

/// What was decided, in the order in which it was committed.
#[derive(Debug, Clone)]
pub struct History {
    /// The decisions, and what was given back to budgets.
    pub records: Vec<Record>,
    /// Whether more was decided after the last of them.
    pub has_more: bool,
}

impl OrgView<'_> {
    /// Up to this many decisions that were made from this moment on, oldest first.
    pub async fn recorded_decisions(
        &self,
        since: Option<Timestamp>,
        most: usize,
    ) -> Result<History, PolicyError> {
        let store = &self.admin.parts.store;
        let org = store.org(self.org).await?.ok_or(ActError::NotFound("org"))?;
        let mut history = History { records: Vec::new(), has_more: false };
        let (mut seen, mut after) = (HashSet::new(), 0);
        loop {
            let page = store.decisions(self.org, (since, after), PAGE).await?;
            let Some(last) = page.last() else { return Ok(history) };
            after = last.seq;
            for event in page {
                if seen.len() >= most && !seen.contains(&event.action.id) {
                    history.has_more = true;
                    return Ok(history);
                }
                history.records.extend(record(event, &mut seen, &org.time_zone));
            }
        }
    }
}

/// What an event means to a replay: a decision the first time that its action is told of,
/// what is given back when the action then ends without having run.
fn record(event: DecisionEvent, seen: &mut HashSet<ActionId>, zone: &str) -> Option<Record> {
    let DecisionEvent { kind, action, args, .. } = event;
    if seen.insert(action.id) {
        let call = recorded_call(&action, args, zone);
        return Some(Record::Decided(Box::new(Recorded {
            action: action.id.to_string(),
            call,
            outcome: action.decision.outcome,
            code: action.decision.code,
        })));
    }
    // What was witnessed has run, unless it certainly was not applied.
    let ran = kind == EventType::ActionWitnessed && action.status != Status::Failed;
    (!ran).then(|| Record::Released { action: action.id.to_string() })
}

/// The call of an action as the policy saw it, with the arguments that were kept of it.
pub fn recorded_call(
    action: &Action,
    args: Option<serde_json::Value>,
    zone: &str,
) -> Result<Call, NotReplayable> {
    let decision = &action.decision;
    let by_policy = match decision.source {
        DecisionSource::Stop => false,
        DecisionSource::Builtin => decision.code == Some(DecisionCode::PolicyUnavailable),
        DecisionSource::Rule | DecisionSource::Default | DecisionSource::Budget => true,
    };
    if !by_policy {
        return Err(NotReplayable::NotByPolicy);
    }
    let args = args.ok_or(NotReplayable::PayloadPruned)?;
    Ok(action.call(Arc::new(args), zone))
}
