//! Checkpoints are thinned, and every proof is as good as before.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use crypto::Secret;
use deed::{Checkpoint, tree::verify_consistency};
use ledger::{Changes, LogNo};
use model::Timestamp;
use records::{CheckStatus, LogStore, OrgLog, Records, SignedCheckpoint};
use store_postgres::{
    ArchiveError, Earnest, PostgresStore, Settings, Thinned, testing::TestDatabase,
    thin_checkpoints,
};
use testkit::{Draft, Scribe};

use super::{checked, records};
use crate::world::store;

const HOUR: Duration = Duration::from_hours(1);
const DAY: Duration = Duration::from_hours(24);

/// A log of sixty days with a deed and a checkpoint every twenty minutes of each fifth day, and of
/// the last two.
struct Old {
    database: TestDatabase,
    store: Arc<PostgresStore>,
    records: Records,
    scribe: Scribe,
}

impl Old {
    async fn new() -> Option<Self> {
        let (database, store) = store().await?;
        let today = Scribe::created(1599, &*store).await.now;
        let mut scribe = Scribe::new(1600, today.before(DAY * 60));
        let changes = vec![Changes::from(scribe.org_row())];
        scribe.append(&*store, changes).await.unwrap();
        let records = records(&store, &scribe);
        for age in (0..=60).rev().filter(|age| age % 5 == 0 || *age < 2) {
            for step in 0..72 {
                let at = today.before(DAY * age) + HOUR / 3 * step;
                if at > today {
                    break;
                }
                scribe.now = at;
                let deeds = vec![scribe.deed(None)];
                scribe.append(&*store, Draft { deeds, ..Draft::default() }).await.unwrap();
                let head = store.head(scribe.org).await.unwrap().unwrap();
                // Signed at that time, as it would have been.
                let head = records::LogHead { now: at, ..head };
                records.sign(scribe.org, &head).await.unwrap();
            }
        }
        Some(Self { database, store, records, scribe })
    }

    async fn kept(&self) -> Vec<SignedCheckpoint> {
        let log = OrgLog { org: self.scribe.org, no: LogNo::FIRST };
        self.store.checkpoints(log, 0..1 << 30).await.unwrap()
    }

    async fn thin(&self, earnest: Earnest) -> Thinned {
        let owner = Settings::new(Secret::new(self.database.owner_url()));
        let thinned = thin_checkpoints(&owner, None, earnest).await.unwrap();
        let mine = |thinned: &&Thinned| thinned.org == self.scribe.org;
        *thinned.iter().find(mine).unwrap()
    }

    /// Has the log checked against this checkpoint, as a client would have it done.
    async fn check(&self, note: &str) -> CheckStatus {
        let note = Some(note.to_owned());
        checked((&self.store, &self.records), &self.scribe, note).await.status
    }

    /// Proves that the log grew from this checkpoint.
    async fn prove(&self, note: &str) {
        let keys = self.scribe.sealer().registered();
        let old = Checkpoint::open_with(note, &keys).unwrap().tree;
        let now = self.records.checkpoint(self.scribe.org, None).await.unwrap();
        let new = Checkpoint::open_with(&now.note, &keys).unwrap().tree;
        let sizes = (old.size, Some(new.size));
        let path = self.records.growth(self.scribe.org, None, sizes).await.unwrap().path;
        assert!(verify_consistency(&old, &new, &path), "from {}", old.size);
    }
}

/// The hour and the day of a moment, as numbers.
fn spans(at: Timestamp) -> (u128, u128) {
    let since = at.since(Timestamp::EPOCH);
    (since.as_nanos() / HOUR.as_nanos(), since.as_nanos() / DAY.as_nanos())
}

#[tokio::test]
async fn checkpoints_are_thinned_and_what_each_of_them_said_can_still_be_proved() {
    let Some(old) = Old::new().await else { return };
    let before = old.kept().await;
    let now = old.scribe.now;
    // One of an old day that would go is what somebody asked to have the log held against.
    let asked = &before[100];
    assert_eq!(old.check(&asked.note).await, CheckStatus::Passed);

    let told = old.thin(Earnest::Tell).await;
    assert_eq!(told.had, before.len() as u64);
    assert_eq!(old.kept().await, before, "only told");
    assert_eq!(old.thin(Earnest::Do).await, told);
    let kept = old.kept().await;
    assert_eq!(kept.len() as u64, told.had - told.gone);
    assert!(kept.iter().all(|row| before.contains(row)), "what stays stays as it is");

    let is = |size: u64| kept.iter().any(|row| row.size == size);
    assert!(is(before[0].size) && is(before.last().unwrap().size) && is(asked.size));
    let (mut hours, mut days) = (BTreeSet::new(), BTreeSet::new());
    for row in &kept {
        let (age, (hour, day)) = (now.since(row.signed_at), spans(row.signed_at));
        let is_named = [before[0].size, asked.size].contains(&row.size);
        if age > DAY * 31 && !is_named {
            assert!(days.insert(day), "two of one day: {}", row.signed_at);
        } else if age > DAY + HOUR && age < DAY * 30 {
            assert!(hours.insert(hour), "two of one hour: {}", row.signed_at);
        }
    }
    // No day and no hour lost its last one, and of the last day nothing went.
    for row in &before {
        let (age, (hour, day)) = (now.since(row.signed_at), spans(row.signed_at));
        let has = |same: &dyn Fn((u128, u128)) -> bool| {
            kept.iter().any(|kept| same(spans(kept.signed_at)) && kept.size >= row.size)
        };
        assert!(has(&|span| span.1 == day), "nothing is left of {}", row.signed_at);
        assert!(age > DAY * 30 || has(&|span| span.0 == hour), "nothing of {}", row.signed_at);
        assert!(age > DAY || is(row.size), "{} is too young", row.signed_at);
    }

    for row in &before {
        // Whoever kept a copy of one that went has as much as before.
        old.prove(&row.note).await;
    }
    let gone = before.iter().find(|row| !is(row.size)).unwrap();
    assert_eq!(old.check(&gone.note).await, CheckStatus::Passed, "as is what somebody kept");
    assert_eq!(old.thin(Earnest::Do).await.gone, 0, "twice is once");
}

#[tokio::test]
async fn only_the_owner_thins_and_only_orgs_that_are_there() {
    let Some((database, store)) = store().await else { return };
    let scribe = Scribe::created(1601, &*store).await;
    let serving = Settings::new(Secret::new(database.url()));
    let refused = thin_checkpoints(&serving, None, Earnest::Do).await.unwrap_err();
    assert!(matches!(refused, ArchiveError::Failed { .. }), "{refused}");
    let owner = Settings::new(Secret::new(database.owner_url()));
    let nobody = Scribe::new(1602, scribe.now).org;
    let refused = thin_checkpoints(&owner, Some(nobody), Earnest::Do).await.unwrap_err();
    assert!(matches!(refused, ArchiveError::NoSuchOrg(_)), "{refused}");
    let named = thin_checkpoints(&owner, Some(scribe.org), Earnest::Do).await.unwrap();
    assert_eq!(named, [Thinned { org: scribe.org, had: 0, gone: 0 }]);
}
