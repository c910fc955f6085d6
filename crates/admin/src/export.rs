//! That an org's history was read out.

use deed::Subject;
use ledger::Needs;
use model::{EventType, Timestamp};
use serde_json::json;

use crate::{ChangeError, Changed, InOrg, change::Fact};

impl InOrg<'_> {
    /// Seals that the history of this time was read out.
    pub async fn ledger_exported(
        &self,
        (from, to): (Option<Timestamp>, Option<Timestamp>),
    ) -> Result<Changed<()>, ChangeError> {
        let exported = self.turn(Needs::default(), None, move |at, record| {
            let deed = record.seal(Fact {
                event: EventType::LedgerExported,
                subject: Subject::org(at.org_id()),
                before: None,
                after: None,
                data: vec![("from", json!(from)), ("to", json!(to))],
                object: json!({ "object": "org", "id": at.org_id() }),
            });
            Ok(Changed { object: (), deed })
        });
        exported.await
    }
}
