//! A new log in place of one that lost deeds: what an operator does once a database was put back.

use deed::{Checkpoint, Recovered, tree::TreeHead};
use ledger::{Needs, Snapshot};
use model::LogId;

use crate::{
    ChangeError, Changed, InOrg,
    by::Reason,
    change::{Act, Record},
};

impl InOrg<'_> {
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
            let base = at.base().ok_or(ChangeError::NotFound("org"))?;
            let chain = &base.head.chain;
            if *chain.log() != known.log {
                return Err(ChangeError::Conflict("the org has another log by now"));
            }
            let stands = TreeHead { size: chain.size(), root: chain.root() };
            Ok(record.log_recovered(&Recovered::of(&stands, &known)))
        };
        let act = Act { by: self.by, reason, needs: Needs::default(), decide };
        self.admin.parts.ledger.open_log(self.org, act).await?
    }
}
