//! Whose the transactions of one read are.

use std::collections::{BTreeMap, BTreeSet};

use decoder::{
    Frame,
    attribution::{Attribution, Claim, Forgery, MarkerKey, MarkerKind, Site},
};
use model::{ActionId, Timestamp};

use crate::{Began, EvidenceStore, FollowError, Images, Of, StoredFrame, frame_of};

/// What a read brought, counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// Changes of rows.
    pub changes: u64,
    /// Transactions of actions.
    pub attributed: u64,
    /// Transactions that changed governed tables past the service.
    pub unattributed: u64,
    /// Transactions that pass for the service's and are not.
    pub forged: u64,
    /// Transactions that changed the ledger.
    pub tampered: u64,
    /// Beats.
    pub beats: u64,
}

/// The transactions as they are kept, and what they are together.
#[derive(Debug)]
pub(crate) struct Judged {
    pub(crate) frames: Vec<StoredFrame>,
    pub(crate) tally: Tally,
    /// When the last beat among them was committed.
    pub(crate) beat_at: Option<Timestamp>,
}

/// Judges each in order: a second transaction of one action is seen though both came in one read.
pub(crate) async fn judge(
    (store, images): (&dyn EvidenceStore, &Images),
    (of, keys): (Of, &[MarkerKey]),
    began: &Began,
    frames: &[Frame],
) -> Result<Judged, FollowError> {
    let site = Site { connector: of.connector, system: &began.system, keys };
    let mut judged = Judged { frames: Vec::new(), tally: Tally::default(), beat_at: None };
    let claims: Vec<_> = frames.iter().map(|frame| Claim::of(frame, &site)).collect();
    let named: BTreeSet<ActionId> = claims.iter().filter_map(Claim::action).collect();
    let mut known =
        if named.is_empty() { BTreeMap::new() } else { store.known(of, &named).await? };
    for (frame, claim) in frames.iter().zip(claims) {
        let claimed = claim.action();
        let of_claimed = claimed.and_then(|action| known.get_mut(&action));
        let attribution = claim.judge(of.connector, of_claimed.as_deref());
        if let (Attribution::Action { .. }, Some(taken)) = (&attribution, of_claimed) {
            taken.framed = true;
        }
        if let Some(foreign) = judged.note(frame, &attribution) {
            let whole = frame_of(frame, began, foreign);
            let (kept, images) = images.seal(of, whole)?;
            judged.frames.push(StoredFrame {
                attribution,
                claimed,
                xid: frame.xid,
                committed_at: frame.committed_at,
                frame: kept,
                images,
            });
        }
    }
    Ok(judged)
}

impl Judged {
    /// Counts a transaction. Of one that is to be kept, tells how many messages stand in it that only the
    /// service may write, and which it did not.
    fn note(&mut self, frame: &Frame, attribution: &Attribution) -> Option<u64> {
        let tally = &mut self.tally;
        tally.changes = tally.changes.saturating_add(frame.change_count);
        match attribution {
            Attribution::Action { anomalies, .. } => {
                tally.attributed += 1;
                // One message is the marker.
                let others = frame.message_count.saturating_sub(1);
                return Some(if anomalies.is_empty() { 0 } else { others });
            }
            Attribution::Service { kind, anomalies } => {
                if *kind == MarkerKind::Heartbeat {
                    tally.beats += 1;
                    self.beat_at = self.beat_at.max(Some(frame.committed_at));
                }
                // A beat that is nothing else tells nothing that would be worth keeping.
                let is_plain = anomalies.is_empty() && !frame.touches_governed_tables();
                return (!is_plain).then(|| frame.message_count.saturating_sub(1));
            }
            Attribution::Unattributed if !frame.touches_governed_tables() => return None,
            // Another connector to the same database, which is no business of this one's log but for
            // what it writes to the same tables.
            Attribution::Forged(Forgery::OtherConnector) if !frame.touches_governed_tables() => {
                return None;
            }
            Attribution::Unattributed | Attribution::Forged(Forgery::OtherConnector) => {
                tally.unattributed += 1;
            }
            Attribution::Forged(_) => tally.forged += 1,
            Attribution::LedgerTampered(_) => tally.tampered += 1,
        }
        Some(frame.message_count)
    }
}
