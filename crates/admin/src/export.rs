//! That an org's history was read out.

use act::{Act, Changed, Fact, MayView, Record};
use ledger::Snapshot;
use model::{EventType, Timestamp};
use serde_json::json;

use crate::{Admin, ChangeError, org};

impl Admin {
    /// Seals that this caller read out the history of this time. Whoever may read may be named
    /// in it: the deed tells of them and changes nothing that they could have meant to change.
    pub async fn ledger_exported(
        &self,
        caller: &impl MayView,
        (from, to): (Option<Timestamp>, Option<Timestamp>),
    ) -> Result<Changed<()>, ChangeError> {
        let seal = move |at: &Snapshot, record: &mut Record<'_>| {
            let deed = record.seal(Fact {
                data: vec![("from", json!(from)), ("to", json!(to))],
                ..org::fact(EventType::LedgerExported, at.org_id())
            });
            Ok::<_, ChangeError>(Changed { object: (), deed })
        };
        Act::new(caller.by(), seal).of_a_reader().enter(&self.parts.ledger, caller.org()).await
    }
}
