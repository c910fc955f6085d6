//! Forgets what was kept of change logs long enough.
//!
//! That is the store's business alone: it goes on where no log is read, be it that an operator switched that
//! off or holds it still, since what was kept before does not become younger by that.

use std::{sync::Arc, time::Duration};

use evidence::{EvidenceStore, KeptFor};
use ledger::StoreDown;
use model::causes;
use tokio::sync::watch;

use crate::workers::Pulse;

const FORGET_EVERY: Duration = Duration::from_mins(10);
const FORGOTTEN_AT_ONCE: usize = 1_000;
/// How long transactions are kept that are no action's.
const STRANGERS_KEPT: Duration = Duration::from_hours(30 * 24);

/// Forgets the transactions of actions that were kept for so long, and all others in their time.
pub(in crate::workers) async fn forgetting(
    (store, retention): (Arc<dyn EvidenceStore>, Duration),
    stopped: watch::Receiver<()>,
) {
    let mut pulse = Pulse::new(FORGET_EVERY, stopped);
    let kept_for = KeptFor { own: retention, others: STRANGERS_KEPT };
    while pulse.next().await.is_some() {
        // What is cut short goes on with the next start.
        if let Some(Err(error)) = pulse.round(forget(&*store, kept_for)).await {
            tracing::warn!(error = causes(&error), "old transactions were not removed");
        }
    }
}

/// Forgets what was kept long enough of every log, be it read any more or not.
async fn forget(store: &dyn EvidenceStore, kept_for: KeptFor) -> Result<(), StoreDown> {
    for of in store.kept_logs().await? {
        while store.forget(of, kept_for, FORGOTTEN_AT_ONCE).await? >= FORGOTTEN_AT_ONCE {}
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use evidence::{Began, Following, FrameRecord, Held, Of, Step, StoredFrame, Written};
    use model::{ActionId, Clock as _, Digest, LogFrame, LogSource, Lsn};
    use serde_json::json;
    use store_memory::MemoryStore;
    use tokio::time::{sleep, timeout};

    use super::*;
    use crate::clock::SystemClock;

    fn of() -> Of {
        Of {
            org: "org_01h2xcejqtf2nbrexx3vqjhp41".parse().unwrap(),
            connector: "con_01h2xcejqtf2nbrexx3vqjhp41".parse().unwrap(),
        }
    }

    /// A transaction of the action, or one that only passes for it.
    fn frame(action: ActionId, is_own: bool) -> StoredFrame {
        let source = LogSource {
            epoch: 1,
            system: "7301".to_owned(),
            commit_lsn: Lsn(if is_own { 10 } else { 20 }),
            end_lsn: Lsn(30),
            digest: Digest::from_bytes([1; 32]),
        };
        let (tables, changes, change_count) = Default::default();
        let (repeats, foreign_markers) = (0, 0);
        let frame = LogFrame { source, tables, changes, change_count, repeats, foreign_markers };
        let at = SystemClock.now();
        let mut record = json!({ "claimed": action, "xid": 7, "committed_at": at, "frame": frame });
        if is_own {
            record["attribution"] = json!("attributed");
            record["action"] = json!(action);
            record["kind"] = json!("act");
        } else {
            record["attribution"] = json!("forged");
            record["why"] = json!("replayed");
        }
        serde_json::from_value::<FrameRecord>(record).unwrap().with(None)
    }

    #[tokio::test]
    async fn what_was_kept_long_enough_is_forgotten_though_nobody_reads_a_log() {
        let store: Arc<dyn EvidenceStore> = Arc::new(MemoryStore::new(Arc::new(SystemClock)));
        let now = SystemClock.now();
        let Held::Yes(lease, _) = store.hold_log(of(), "gone", (now, now)).await.unwrap() else {
            panic!("nobody has it");
        };
        let action = "act_01h2xcejqtf2nbrexx3vqjhp41".parse().unwrap();
        let began = Began {
            epoch: 1,
            system: "7301".to_owned(),
            timeline: 1,
            published: Digest::from_bytes([2; 32]),
            from_xid: 700,
        };
        let (read_to, confirmable) = (Lsn(30), Lsn(30));
        let (broken, beat_at, at, makes_slot) = (None, None, now, false);
        let following = Following { began, read_to, confirmable, broken, beat_at, at, makes_slot };
        let frames = vec![frame(action, true), frame(action, false)];
        let step = Step { following, frames: frames.clone(), gap: None };
        assert_eq!(store.write(of(), lease.token, &step).await.unwrap(), Written::Yes);

        let (ends, stopped) = watch::channel(());
        let forgets = tokio::spawn(forgetting((Arc::clone(&store), Duration::ZERO), stopped));
        let left = async || store.frames_of(of(), action).await.unwrap();
        let waited = async {
            while left().await.len() > 1 {
                sleep(Duration::from_millis(5)).await;
            }
        };
        timeout(Duration::from_secs(10), waited).await.expect("it is forgotten");
        assert_eq!(left().await, frames[1..], "what is no action's is kept for longer");
        drop(ends);
        timeout(Duration::from_secs(10), forgets).await.expect("it ends").unwrap();
    }
}
