//! What change logs say, in memory.

use std::collections::{BTreeMap, BTreeSet};

use async_trait::async_trait;
use decoder::attribution::{Attribution, Known};
use evidence::{
    EvidenceStore, Following, Gap, Held, KeptFor, Lease, Of, Step, StoredFrame, Written,
};
use ledger::{StoreDown, record::Connector};
use model::{ActionId, Lsn, Timestamp};

use crate::MemoryStore;

/// What is kept of every log.
pub(crate) type Logs = BTreeMap<Of, Log>;

/// What is kept of one log.
#[derive(Default)]
pub(crate) struct Log {
    lease: Option<(String, Lease)>,
    following: Option<Following>,
    /// In the order in which they were read, each with the moment at which it was.
    frames: Vec<(Timestamp, StoredFrame)>,
    /// The latest first.
    gaps: Vec<Gap>,
}

impl Log {
    /// Whether its slot may stand: somebody held it, and did not give it up since. One that was held and
    /// never read may have a slot all the same.
    pub(crate) fn may_have_slot(&self) -> bool {
        self.lease.is_some() && self.following.as_ref().is_none_or(|it| !it.is_given_up())
    }
}

fn is_wanted(connector: &Connector) -> bool {
    connector.witness.is_some() && connector.archived_at.is_none()
}

fn is_own(frame: &StoredFrame) -> bool {
    matches!(frame.attribution, Attribution::Action { .. })
}

#[async_trait]
impl EvidenceStore for MemoryStore {
    async fn followed_logs(&self) -> Result<Vec<Of>, StoreDown> {
        let kept = self.reach("look which change logs are read")?;
        let connectors = kept.orgs.values().flat_map(|rows| rows.connectors.values());
        let wanted = connectors.filter(|it| is_wanted(it));
        let wanted = wanted.map(|it| Of { org: it.org, connector: it.id });
        let open = kept.logs.iter().filter(|(_, log)| log.may_have_slot());
        let every: BTreeSet<_> = wanted.chain(open.map(|(of, _)| *of)).collect();
        Ok(every.into_iter().collect())
    }

    async fn is_wanted(&self, of: Of) -> Result<bool, StoreDown> {
        let kept = self.reach("look whether a change log is read")?;
        let row = kept.orgs.get(&of.org).and_then(|rows| rows.connectors.get(&of.connector));
        Ok(row.is_some_and(is_wanted))
    }

    async fn kept_logs(&self) -> Result<Vec<Of>, StoreDown> {
        let kept = self.reach("look which change logs are kept")?;
        Ok(kept.logs.keys().copied().collect())
    }

    async fn hold_log(
        &self,
        of: Of,
        holder: &str,
        (now, until): (Timestamp, Timestamp),
    ) -> Result<Held, StoreDown> {
        let mut kept = self.reach("hold a change log")?;
        let log = kept.logs.entry(of).or_default();
        let token = match &log.lease {
            Some((other, lease)) if other == holder => lease.token,
            Some((_, lease)) if lease.until > now => return Ok(Held::No { until: lease.until }),
            Some((_, lease)) => lease.token.saturating_add(1),
            None => 1,
        };
        let lease = Lease { token, until };
        log.lease = Some((holder.to_owned(), lease));
        Ok(Held::Yes(lease, log.following.clone()))
    }

    async fn write(&self, of: Of, token: u64, step: &Step) -> Result<Written, StoreDown> {
        let mut kept = self.reach("keep what a change log says")?;
        let log = kept.logs.entry(of).or_default();
        if log.lease.as_ref().is_none_or(|(_, lease)| lease.token != token) {
            return Ok(Written::Fenced);
        }
        let at = self.clock.now();
        log.following = Some(step.following.clone());
        log.frames.extend(step.frames.iter().map(|frame| (at, frame.clone())));
        log.gaps.splice(0..0, step.gap.clone());
        Ok(Written::Yes)
    }

    async fn known(
        &self,
        of: Of,
        actions: &BTreeSet<ActionId>,
    ) -> Result<BTreeMap<ActionId, Known>, StoreDown> {
        let kept = self.reach("read the actions of transactions")?;
        let logs = kept.logs.iter().filter(|(other, _)| other.org == of.org);
        let all = logs.flat_map(|(_, log)| &log.frames).map(|(_, frame)| frame);
        let framed: BTreeSet<_> =
            all.filter(|frame| is_own(frame)).filter_map(|frame| frame.claimed).collect();
        let Some(rows) = kept.orgs.get(&of.org) else { return Ok(BTreeMap::new()) };
        let found = actions.iter().filter_map(|id| {
            let action = &rows.actions.get(id)?.action;
            Some((*id, evidence::known(action, framed.contains(id))?))
        });
        Ok(found.collect())
    }

    async fn following(&self, of: Of) -> Result<Option<Following>, StoreDown> {
        let kept = self.reach("read how far a change log is")?;
        Ok(kept.logs.get(&of).and_then(|log| log.following.clone()))
    }

    async fn frames_of(&self, of: Of, action: ActionId) -> Result<Vec<StoredFrame>, StoreDown> {
        let kept = self.reach("read an action's transactions")?;
        let frames = kept.logs.get(&of).into_iter().flat_map(|log| &log.frames);
        let claims = frames.filter(|(_, frame)| frame.claimed == Some(action));
        Ok(claims.map(|(_, frame)| frame.clone()).collect())
    }

    async fn own_frames(
        &self,
        of: Of,
        epoch: u64,
        behind: Lsn,
        limit: usize,
    ) -> Result<Vec<(Lsn, ActionId)>, StoreDown> {
        let kept = self.reach("read the transactions of actions")?;
        let frames = kept.logs.get(&of).into_iter().flat_map(|log| &log.frames);
        let own = frames.map(|(_, frame)| frame).filter(|frame| is_own(frame));
        let places = own.filter_map(|frame| Some((frame.frame.source.clone(), frame.claimed?)));
        let found = places.filter(|(at, _)| at.epoch == epoch && at.commit_lsn > behind);
        let mut found: Vec<_> = found.map(|(at, action)| (at.commit_lsn, action)).collect();
        found.sort_by_key(|(at, _)| *at);
        found.truncate(limit);
        Ok(found)
    }

    async fn gaps(&self, of: Of, limit: usize) -> Result<Vec<Gap>, StoreDown> {
        let kept = self.reach("read where a change log broke off")?;
        let gaps = kept.logs.get(&of).into_iter().flat_map(|log| &log.gaps);
        Ok(gaps.take(limit).cloned().collect())
    }

    async fn forget(&self, of: Of, kept_for: KeptFor, limit: usize) -> Result<usize, StoreDown> {
        let mut kept = self.reach("forget old transactions")?;
        let now = self.clock.now();
        let Some(log) = kept.logs.get_mut(&of) else { return Ok(0) };
        let mut forgotten = 0;
        log.frames.retain(|(at, frame)| {
            let span = if is_own(frame) { kept_for.own } else { kept_for.others };
            let goes = *at + span <= now && forgotten < limit;
            forgotten += usize::from(goes);
            !goes
        });
        Ok(forgotten)
    }
}
