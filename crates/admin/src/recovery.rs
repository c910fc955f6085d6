//! A new log in place of one that lost deeds: what an operator does once a database was put back.

use act::{Act, ActError, Changed, Fact, Reason, Record};
use deed::{Checkpoint, Recovered, Subject, tree::TreeHead};
use ledger::Snapshot;
use model::{EventType, LogId};
use serde_json::json;

use crate::{ChangeError, OrgChange};

impl OrgChange<'_> {
    /// Closes the org's log as it stands and opens another, whose first deed tells of the loss.
    ///
    /// `known` is a checkpoint that the log does not hold. Whether it does is for whoever asks to
    /// find out; the log that it speaks of must still be the org's open one.
    pub async fn recover_log(
        &self,
        known: Checkpoint,
        reason: Option<&str>,
    ) -> Result<Changed<LogId>, ChangeError> {
        let reason = reason.map(Reason::parse).transpose()?;
        let decide = move |at: &Snapshot, record: &mut Record<'_>| {
            let base = at.base().ok_or(ActError::NotFound("org"))?;
            let chain = &base.head.chain;
            if *chain.log() != known.log {
                return Err(ActError::Conflict("the org already has another log"));
            }
            let stands = TreeHead { size: chain.size(), root: chain.root() };
            Ok(log_recovered(record, &Recovered::of(&stands, &known)))
        };
        let act = Act::new(self.by, decide).because(reason);
        Ok(act.enter_opening_log(&self.admin.parts.ledger, self.org).await?)
    }
}

/// Adds the first deed of a log that replaces another, which closes with this turn.
fn log_recovered(record: &mut Record<'_>, told: &Recovered) -> Changed<LogId> {
    let log = record.open_log();
    let deed = record.seal(Fact {
        data: told.data(),
        ..Fact::new(
            EventType::LogRecovered,
            Subject::log(log),
            json!({ "object": "log", "id": log }),
        )
    });
    Changed { object: log, deed }
}
