//! Retention: payloads that were kept long enough are removed for good, and the org's log says so.
//!
//! Payloads go in the order of the log, one turn a batch: what opens the commitments is deleted,
//! the actions are marked, the org remembers how far it came, and an admin deed tells which part
//! of the log that was. The deeds themselves stay and still verify.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use act::{ActError, By, Fact, Record};
use ledger::{
    LogNo, Needs, Place, Snapshot, StoreDown,
    record::{Action, Org, Pruned, ReportChange},
};
use model::{ActionId, EventType, Level, OrgId, Timestamp};
use serde_json::json;

use crate::{
    ChangeError, Deployment, Logged, OrgChange, org,
    settings::{days_of, settings_of},
};

/// How many deeds one batch looks at, and how many rows of a kind one sweep removes at once.
const BATCH: usize = 256;
const DAY: Duration = Duration::from_hours(24);

/// What a batch came to.
enum Step {
    /// The payloads of so many actions are gone.
    Removed(usize),
    /// There were none to remove up to this place.
    Nothing(Place),
    /// All that is left is younger.
    Done,
}

impl Deployment<'_> {
    /// Removes the payloads that each org has kept long enough, and rows that mean nothing any
    /// more; returns of how many actions the payloads went. One org's trouble keeps no other's.
    pub async fn prune(&self) -> Result<usize, StoreDown> {
        let mut actions = 0;
        for org in self.admin.parts.store.orgs().await?.found {
            match self.prune_org(org.id).await {
                Ok(pruned) => actions += pruned,
                Err(error) => tracing::warn!(org = %org.id, %error, "payloads were not pruned"),
            }
            if let Err(error) = self.sweep_out(org.id).await {
                tracing::warn!(org = %org.id, %error, "rows that are no longer needed were not removed");
            }
        }
        Ok(actions)
    }

    async fn sweep_out(&self, org: OrgId) -> Result<(), StoreDown> {
        while self.admin.parts.store.sweep_out(org, BATCH).await? >= BATCH {}
        Ok(())
    }

    /// Removes the payloads that the org has kept long enough, and returns of how many actions.
    async fn prune_org(&self, org: OrgId) -> Result<usize, ChangeError> {
        let (mut from, mut actions) = (Place::of(LogNo::FIRST, 0), 0);
        loop {
            match self.prune_batch(org, from).await? {
                Step::Removed(pruned) => actions += pruned,
                Step::Nothing(to) => from = to,
                Step::Done => return Ok(actions),
            }
        }
    }

    async fn prune_batch(&self, org: OrgId, from: Place) -> Result<Step, ChangeError> {
        let looked = self.admin.parts.ledger.look_at(org, settings_of(org)).await;
        let snapshot = looked.map_err(|down| ActError::Ledger(down.into()))?;
        let Some(row) = snapshot.org() else { return Ok(Step::Done) };
        let days = days_of(row, &snapshot);
        let from = from.max(Place::from_u64(row.pruned_to));
        let read = self.admin.parts.store.logged(org, from, BATCH).await;
        let read = read.map_err(|down| ActError::Ledger(down.into()))?;
        // What one deed tells of is a part of one log.
        let log = read.first().map(|first| first.place.log());
        let fits =
            |deed: &Logged| is_ripe(deed, days, snapshot.now()) && Some(deed.place.log()) == log;
        let ripe: Vec<Logged> = read.into_iter().take_while(fits).collect();
        let Some(last) = ripe.last() else { return Ok(Step::Done) };
        if ripe.iter().all(|deed| deed.action.is_none()) {
            return Ok(Step::Nothing(last.place.after()));
        }
        let actions = ripe.iter().filter_map(|deed| deed.action).collect();
        let needs = Needs { actions, ..settings_of(org) };
        let pruning = OrgChange { admin: self.admin, org, by: By::Service };
        let _ = failpoint::hit("retention.chosen");
        let pruned = pruning.turn(needs, None, move |at, record| Ok(remove(&ripe, at, record)));
        pruned.await.map(Step::Removed)
    }
}

fn is_ripe(deed: &Logged, days: u16, now: Timestamp) -> bool {
    deed.issued_at <= now.before(DAY * u32::from(days))
}

/// Removes the payloads that these deeds commit to, as far as the org at this turn wants it and
/// nobody else did meanwhile; returns of how many actions.
fn remove(ripe: &[Logged], at: &Snapshot, record: &mut Record<'_>) -> usize {
    let Some(org) = at.org() else { return 0 };
    let (pruned_to, days) = (Place::from_u64(org.pruned_to), days_of(org, at));
    let fits = |deed: &&Logged| deed.place >= pruned_to && is_ripe(deed, days, at.now());
    let ripe: Vec<&Logged> = ripe.iter().filter(fits).collect();
    let about: Vec<&Logged> = ripe.iter().copied().filter(|deed| deed.action.is_some()).collect();
    let (Some(last), Some(first), Some(end)) = (ripe.last(), about.first(), about.last()) else {
        return 0;
    };
    let actions: BTreeSet<ActionId> = about.iter().filter_map(|deed| deed.action).collect();
    for action in actions.iter().filter_map(|id| at.action(*id)) {
        if action.required_level == Level::L2 {
            // What the log is compared with is of the payload too; no evidence is awaited any more.
            record.write(ReportChange::Removed(action.id));
        }
        if action.payload_pruned_at.is_none() {
            let pruned = Action { payload_pruned_at: Some(record.now()), ..Action::clone(action) };
            record.write(Arc::new(pruned));
        }
    }
    let count = actions.len();
    let present = at.base().map(|base| base.head.log_no);
    pruned(record, org.id, present, (first.place, end.place, count));
    record.write(Pruned {
        actions: actions.into_iter().collect(),
        deeds: about.iter().map(|deed| deed.deed).collect(),
    });
    record.write(Org { pruned_to: last.place.after().as_u64(), ..org.clone() });
    count
}

/// Adds the deed that payloads were removed: of so many actions, whose deeds stand between these
/// two places of one log.
fn pruned(
    record: &mut Record<'_>,
    org: OrgId,
    present: Option<LogNo>,
    (from, to, count): (Place, Place, usize),
) {
    let mut data =
        vec![("from_seq", json!(from.seq())), ("to_seq", json!(to.seq())), ("count", json!(count))];
    if present.is_some_and(|present| present != from.log()) {
        data.push(("log_no", json!(from.log().get())));
    }
    record.seal(Fact { data, ..org::fact(EventType::RetentionPruned, org) });
}
