//! Appends a turn: every statement of its transaction is sent at once, the commit included.
//!
//! Nothing waits for an answer in between, so what must stop the commit has to fail inside the
//! database. A statement that must have changed something therefore ends in `select 1 / count`,
//! which divides by zero (22012) when it did not; an error aborts the transaction, and the commit
//! that follows it rolls back.

mod actions;
mod counters;
mod evidence;
mod head;
mod held;
mod intents;
mod people;
mod policies;
mod pruned;
mod reports;
mod rules;
mod small;
mod webhooks;

use std::time::Duration;

use ledger::{AppendError, Changes, StoreDown, Turn};
use model::Timestamp;
use tokio_postgres::{Row, error::SqlState};

use crate::{
    PostgresStore,
    database::{Call, Unanswered},
    fault::Fault,
    pipeline::{Answers, Reach},
    rows::Cells,
};

const ATTEMPT: &str = "append a turn";
const BEGIN: &str = "begin isolation level read committed";
const READY: &str = "get a connection ready for a turn";

/// One statement of the transaction.
pub(crate) struct Step<'a> {
    call: Call<'a>,
    guards: Guards,
}

/// What it means that a statement found its row taken or not there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Guards {
    /// Somebody else wrote first.
    Race,
    /// The turn is wrong in itself.
    Rows,
    /// The commit: whether it took place is not known.
    Commit,
}

impl<'a> Step<'a> {
    fn race(call: Call<'a>) -> Self {
        Self { call, guards: Guards::Race }
    }

    fn rows(call: Call<'a>) -> Self {
        Self { call, guards: Guards::Rows }
    }
}

impl PostgresStore {
    pub(crate) async fn append_turn(&self, turn: &Turn) -> Result<Timestamp, AppendError> {
        let begin = Step::rows(Call::new(BEGIN));
        let (calls, guards) = sent(turn, (Some(begin), self.lease))?;
        let session = self.database.session(&calls).await.map_err(|fault| fault.down(READY))?;
        failpoint::hit("append.unsent").map_err(injected)?;
        let answered = session.send(&calls).await;
        let answers = answered.map_err(|unanswered| error(unanswered, &guards))?;
        failpoint::hit("append.unanswered")
            .map_err(|point| AppendError::InDoubt(injected(point)))?;
        // The turn is committed, so an answer that cannot be read leaves only its time unknown.
        store_time(&answers).map_err(|fault| AppendError::InDoubt(fault.down(ATTEMPT)))
    }
}

/// The calls of a turn's transaction, and what each guards; refused where a row has no form.
fn sent<'a>(
    turn: &'a Turn,
    (begin, lease): (Option<Step<'a>>, Duration),
) -> Result<(Vec<Call<'a>>, Vec<Guards>), AppendError> {
    let steps = steps(turn, lease).map_err(|fault| AppendError::Refused(fault.down(ATTEMPT)))?;
    Ok(begin.into_iter().chain(steps).map(|step| (step.call, step.guards)).unzip())
}

/// The statements of the turn's transaction behind its begin, in order. What the turn does not
/// touch is left out.
fn steps(turn: &Turn, lease: Duration) -> Result<Vec<Step<'_>>, Fault> {
    let mut steps = Vec::new();
    // Every family is named here, so that a new one does not compile until it is kept.
    let Changes {
        orgs,
        agents,
        keys,
        policies,
        versions,
        active,
        activations,
        policy_tests,
        connectors,
        renames,
        new_actions,
        actions,
        idempotency_keys,
        budgets,
        settings,
        accepted_tools,
        intent_keys,
        members,
        invites,
        proposals,
        used_intents,
        invite_mails,
        approval_mails,
        webhook_mails,
        reports,
        pruned,
        webhooks: endpoints,
        webhook_sends,
    } = &turn.changes;
    // What other rows point at comes before them.
    let mut rows = small::accounts(turn.org, (orgs, agents, keys, connectors))?;
    rows.extend(people::steps(turn.org, (members, invites, invite_mails)));
    let renamed = renames.iter().flat_map(|row| small::renamed(turn.org, row));
    rows.extend(renamed.map(Step::rows));
    rows.extend(settings.iter().map(|row| Step::rows(small::settings(row))));
    for row in intent_keys {
        rows.push(Step::rows(small::intent_keys(turn.org, row)?));
    }
    rows.extend(policies::steps(turn.org, (policies, versions, policy_tests)));
    rows.extend(policies::proposals(turn.org, proposals)?);
    rows.extend(policies::activations(turn.org, (active, activations)));
    // The org must be there before its head, and the head moves before everything else.
    match turn.expected {
        None => {
            steps.extend(rows);
            steps.push(head::made(turn));
            // Of two that make one org at once the second has lost by now.
            steps.extend(orgs.iter().map(|org| Step::rows(small::org_name(org))));
        }
        Some(expected) => {
            steps.push(head::moved(turn, expected));
            steps.extend(turn.closes.iter().map(|closed| head::closed(turn, closed)));
            steps.extend(rows);
        }
    }
    steps.extend(actions::steps(turn, (new_actions, actions), lease)?);
    steps.extend(counters::steps(turn, (idempotency_keys, budgets, accepted_tools)));
    steps.extend((!used_intents.is_empty()).then(|| intents::step(turn.org, used_intents)));
    steps.extend(reports::steps(turn.org, reports));
    steps.extend(pruned::steps(turn.org, pruned));
    steps.extend(evidence::steps(turn, new_actions));
    for row in endpoints {
        steps.extend(webhooks::endpoints(turn, row)?);
    }
    steps.extend(webhook_sends.iter().filter_map(|row| webhooks::send(turn, row)).flatten());
    steps.extend(approval_mails.iter().map(|row| people::approval_mail(turn.org, row)));
    steps.extend(webhook_mails.iter().map(|row| people::webhook_mail(turn.org, row)));
    steps.push(head::turn(turn));
    // What is inserted into a distributed table cannot bring the time back itself.
    steps.push(Step::rows(Call::new("select clock_timestamp() as clock")));
    steps.push(Step { call: Call::new("commit"), guards: Guards::Commit });
    Ok(steps)
}

/// What a failed transaction means for its turn.
fn error(unanswered: Unanswered, guards: &[Guards]) -> AppendError {
    let failed = match unanswered {
        Unanswered::Failed(failed) => failed,
        Unanswered::Unsent(fault) => return AppendError::Down(fault.down(READY)),
        Unanswered::Late(fault) => return AppendError::InDoubt(fault.down(ATTEMPT)),
    };
    let guards = guards.get(failed.at).copied().unwrap_or(Guards::Commit);
    let is_closed = failed.error.is_closed();
    let fault = Fault::from(failed.error);
    match (failed.reach, &fault) {
        (_, Fault::Refused { code, .. }) => refused(guards, &code.clone(), fault),
        (Reach::Whole, _) => AppendError::InDoubt(fault.down(ATTEMPT)),
        // The commit never went out. What cannot be sent over a connection that works is a value
        // that PostgreSQL has no form for.
        (Reach::CutOff, _) if is_closed => AppendError::Down(fault.down(ATTEMPT)),
        (Reach::CutOff, _) => AppendError::Refused(fault.down(ATTEMPT)),
    }
}

/// What an error that PostgreSQL answered means. One before the commit's own answer
/// proves that the transaction was aborted.
fn refused(guards: Guards, code: &SqlState, fault: Fault) -> AppendError {
    let taken = *code == SqlState::UNIQUE_VIOLATION || *code == SqlState::DIVISION_BY_ZERO;
    let class = code.code().get(..2).unwrap_or_default();
    let down = fault.down(ATTEMPT);
    match (guards, class) {
        (Guards::Commit, _) => AppendError::InDoubt(down),
        (Guards::Race, _) if taken => AppendError::Lost,
        // A head that was held for too long was given to somebody else.
        (_, _) if *code == SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT => AppendError::Lost,
        // 40: a deadlock, which ends when one of the two decides anew.
        (_, "40") => AppendError::Lost,
        // 22: a value out of range, 23: a constraint, 54: too large for a limit.
        (_, "22" | "23" | "54") => AppendError::Refused(down),
        (_, _) => AppendError::Down(down),
    }
}

/// The database's time, which was asked for last before the commit.
fn store_time(answers: &Answers) -> Result<Timestamp, Fault> {
    let before_commit = answers.iter().rev().nth(1);
    match before_commit.and_then(|rows: &Vec<Row>| rows.first()) {
        Some(row) => Cells::of("the clock", row).moment("clock"),
        None => Err(Fault::Broken("the time was not returned".to_owned())),
    }
}

fn injected(_: failpoint::Injected) -> StoreDown {
    Fault::Broken("an error was injected".to_owned()).down(ATTEMPT)
}

#[cfg(test)]
mod tests;
