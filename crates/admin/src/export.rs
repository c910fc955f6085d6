//! That an org's history was read out.

use act::{Changed, Fact};
use ledger::Needs;
use model::{EventType, Timestamp};
use serde_json::json;

use crate::{ChangeError, OrgChange, org};

impl OrgChange<'_> {
    /// Seals that the history of this time was read out.
    pub async fn ledger_exported(
        &self,
        (from, to): (Option<Timestamp>, Option<Timestamp>),
    ) -> Result<Changed<()>, ChangeError> {
        let exported = self.turn(Needs::default(), None, move |at, record| {
            let deed = record.seal(Fact {
                data: vec![("from", json!(from)), ("to", json!(to))],
                ..org::fact(EventType::LedgerExported, at.org_id())
            });
            Ok(Changed { object: (), deed })
        });
        exported.await
    }
}
