//! A record of half a year, some of which is moved to partitions of the past.

use std::{sync::Arc, time::Duration};

use deed::{
    Actor, Amended, Content, specimen,
    tree::{leaf_hash, verify_consistency, verify_inclusion},
};
use gate::{ActionStore, Filter};
use ledger::{
    Changes, DeedEntry, LogNo, PlacedDeed,
    record::{Action, Agent},
};
use model::{EventType, Timestamp};
use records::{
    DeedFilter, DeedRow, DeedStore, Entry, EntryFilter, EntryStore, Fault, LogStore, OrgLog,
    Records, SignedCheckpoint, Walked, Window, consistency, inclusion,
};
use serde_json::json;
use store_postgres::{
    ArchiveError, Earnest, INVARIANTS, Moved, Part, PostgresStore, Settings, look,
    move_to_the_past, testing::TestDatabase,
};
use testkit::{Draft, Scribe, sample};
use tokio_postgres::Client;

use super::{checked, records};
use crate::world::{patient, store};

pub(super) const NOTHING: Vec<String> = Vec::new();
const RUNBOOK: &str = include_str!("../../../../../docs/runbook.md");
pub(super) const DAY: Duration = Duration::from_hours(24);
/// How many deeds there are: three full tiles and some more.
pub(super) const SIZE: u64 = 800;
/// How many of them are in tiles that may move.
pub(super) const OLD: u64 = 768;

/// A record of half a year.
pub(super) struct Old {
    pub(super) database: TestDatabase,
    pub(super) owner: Client,
    pub(super) store: Arc<PostgresStore>,
    pub(super) records: Records,
    pub(super) scribe: Scribe,
    /// When the turns were.
    pub(super) times: Vec<Timestamp>,
}

/// All that can be read of a record.
#[derive(Debug, PartialEq)]
pub(super) struct Read {
    pub(super) deeds: Vec<DeedRow>,
    pub(super) entries: Vec<Entry>,
    pub(super) actions: Vec<Action>,
    of_agent: Vec<Action>,
    of_tool: Vec<Action>,
    about: Vec<(bool, usize, usize)>,
}

impl Read {
    /// What differs; nothing when every byte is the same.
    pub(super) fn differs(&self, other: &Self) -> Vec<String> {
        let of = |read: &Self| {
            [
                format!("{:#?}", read.deeds),
                format!("{:#?}", read.entries),
                format!("{:#?}", read.actions),
                format!("{:#?}", (&read.of_agent, &read.of_tool)),
                format!("{:?}", read.about),
            ]
        };
        let pairs = of(self).into_iter().zip(of(other));
        let lines = |(one, two): (String, String)| {
            let at = one.lines().zip(two.lines()).position(|(one, two)| one != two)?;
            let show = |text: &str| text.lines().skip(at).take(3).collect::<Vec<_>>().join("\n");
            Some(format!("line {at}: {}\n{}", show(&one), show(&two)))
        };
        pairs.filter(|(one, two)| one != two).map(|pair| lines(pair).unwrap_or_default()).collect()
    }
}

impl Old {
    pub(super) async fn new(seed: u64) -> Option<Self> {
        let (database, store) = store().await?;
        let today = Scribe::created(seed - 1, &*store).await.now;
        let mut scribe = Scribe::new(seed, today.before(DAY * 180));
        let agents: Vec<Agent> = ["Anna", "Bert"].map(|name| scribe.agent(name)).to_vec();
        let mut changes = vec![Changes::from(scribe.org_row())];
        changes.extend(agents.iter().cloned().map(Changes::from));
        scribe.append(&*store, changes).await.unwrap();
        let records = records(&store, &scribe);
        let (mut times, mut seq, mut first) = (Vec::new(), 0, None);
        for turn in 0..16 {
            scribe.now = today.before(DAY * (180 - 9 * turn));
            times.push(scribe.now);
            let mut draft = Draft::default();
            for no in 0..50 {
                let entry = match no % 2 {
                    0 if turn == 15 && no == 40 => amending(&scribe, first.as_ref().unwrap()),
                    0 => scribe.deed(None),
                    _ => acted(&scribe, &agents[no % 3 % 2], &mut draft.changes),
                };
                draft.events.push(told(&scribe, &entry, seq));
                if entry.action.is_some() {
                    draft.events.push(scribe.event(entry.action));
                }
                draft.deeds.push(entry);
                seq += 1;
            }
            let turn = scribe.append(&*store, draft).await.unwrap();
            first.get_or_insert(turn.deeds.into_iter().nth(1).unwrap());
            let head = store.head(scribe.org).await.unwrap().unwrap();
            let head = records::LogHead { now: scribe.now, ..head };
            records.sign(scribe.org, &head).await.unwrap();
        }
        assert_eq!(seq, SIZE);
        let owner = database.owner().await;
        Some(Self { database, owner, store, records, scribe, times })
    }

    /// Says that the payloads of everything are gone.
    pub(super) async fn prune(&self) {
        let sql = "update org set record =
            jsonb_set(record::jsonb, '{pruned_to}', '1000000')::text";
        self.run(sql).await;
    }

    pub(super) async fn run(&self, sql: &str) {
        let done = self.owner.batch_execute(sql).await;
        done.unwrap_or_else(|error| panic!("`{sql}`: {error:?}"));
    }

    pub(super) async fn count(&self, sql: &str) -> u64 {
        self.owner.query_one(sql, &[]).await.unwrap().get::<_, i64>(0).unsigned_abs()
    }

    pub(super) fn settings(&self) -> Settings {
        patient(&self.database.owner_url())
    }

    pub(super) async fn moved(&self, earnest: Earnest) -> Result<Moved, ArchiveError> {
        let before = (Some(self.scribe.org), *self.times.last().unwrap() + DAY);
        let moved = move_to_the_past(&self.settings(), before, earnest).await?;
        assert_eq!(moved.len(), 1);
        Ok(moved[0])
    }

    /// Runs the statements of the runbook that follow these words, on this partition.
    pub(super) async fn as_told(&self, words: &str, part: &str) {
        let (_, rest) = RUNBOOK.split_once(words).unwrap();
        let (_, rest) = rest.split_once("```sql\n").unwrap();
        let (sql, _) = rest.split_once("```").unwrap();
        assert!(sql.contains("2025_11"));
        self.run(&sql.replace("2025_11", part)).await;
    }

    pub(super) async fn parts(&self) -> Vec<Part> {
        self.store.parts().await.unwrap()
    }

    pub(super) async fn read(&self) -> Read {
        let (org, store) = (self.scribe.org, &*self.store);
        let all = Window { places: (0, u64::MAX >> 1), limit: 10_000 };
        let list = async |filter: Filter| {
            ActionStore::list(store, org, &filter, None, 1_000).await.unwrap().actions
        };
        let actions = list(Filter::default()).await;
        let agent = actions.last().map(|action| action.agent.id);
        let mut about = Vec::new();
        for action in actions.iter().step_by(29) {
            assert_eq!(store.action(org, action.id).await.unwrap().as_ref(), Some(action));
            let detail = store.detail(org, action.id).await.unwrap().unwrap();
            let deeds = store.deeds_about(org, action.id).await.unwrap();
            assert_eq!(detail.deeds.len(), deeds.len());
            about.push((detail.action == *action, detail.events.len(), deeds.len()));
        }
        let mut entries = store.entries(org, &EntryFilter::default(), all).await.unwrap();
        // What tells of the checks in between is no part of what is compared.
        let checks = [EventType::ChainCheckPassed, EventType::ChainBroken];
        entries.retain(|entry| !checks.contains(&entry.event.kind));
        Read {
            deeds: DeedStore::deeds(store, org, &DeedFilter::default(), all).await.unwrap(),
            entries,
            of_agent: list(Filter { agent, ..Filter::default() }).await,
            of_tool: list(Filter { text: Some("read".to_owned()), ..Filter::default() }).await,
            actions,
            about,
        }
    }

    /// Proves many deeds and every kept checkpoint.
    pub(super) async fn prove(&self, digests: &[(u64, model::Digest)], kept: &[SignedCheckpoint]) {
        let log = OrgLog { org: self.scribe.org, no: LogNo::FIRST };
        let head = self.store.head(log.org).await.unwrap().unwrap().chain;
        let now = deed::tree::TreeHead { size: head.size(), root: head.root() };
        for (seq, digest) in digests {
            let path = inclusion(&*self.store, log, (*seq, now.size)).await.unwrap();
            assert!(verify_inclusion(leaf_hash(digest.as_bytes()), *seq, &path, &now), "{seq}");
        }
        for kept in kept {
            let old = deed::tree::TreeHead { size: kept.size, root: kept.root };
            let path = consistency(&*self.store, log, (kept.size, now.size)).await.unwrap();
            assert!(verify_consistency(&old, &now, &path), "from {}", kept.size);
        }
    }

    /// How many deeds a check of the whole log looked at, and what is wrong. A check that went through
    /// says how many it left out.
    pub(super) async fn check(&self) -> (u64, Option<Fault>) {
        let done = checked((&self.store, &self.records), &self.scribe, None).await;
        let is_whole = done.checked + done.archived == SIZE;
        assert!(is_whole || done.first_bad.is_some(), "{done:?}");
        (done.checked, done.first_bad)
    }

    /// Walks through all logs once, and says whether any is told to be broken.
    pub(super) async fn walk(&self) -> bool {
        let keys = self.scribe.sealer().registered();
        let mut at = records::Position::default();
        while self.records.walk_on(&mut at, &keys).await.unwrap() == Walked::On {}
        !self.records.faults().is_empty()
    }

    /// The invariants that do not hold.
    pub(super) async fn broken(&self) -> Vec<String> {
        let found = look(&self.settings(), &[]).await.unwrap();
        assert_eq!(found.findings.len(), INVARIANTS.len());
        let broken = found.findings.into_iter().filter(|finding| finding.violations > 0);
        // Keys are of the sealer alone here, and turns are written by hand: the one amendment stands in
        // no action.
        broken
            .filter(|finding| !["deed-key", "amendments"].contains(&finding.invariant.name))
            .map(|finding| format!("{}: {:?}", finding.invariant.name, finding.first))
            .collect()
    }
}

/// The deed of an action that ran, and the rows that it needs.
fn acted(scribe: &Scribe, agent: &Agent, changes: &mut Changes) -> DeedEntry {
    let mint = scribe.mint();
    let (draft, _) = specimen::action(&mint).unwrap();
    let draft = deed::Draft { actor: Actor::Agent(agent.id), ..draft };
    let Content::Action(content) = &draft.content else { panic!("the specimen is no action") };
    let begun = sample::action(agent, content.request, &mint);
    let begun = Action { id: content.id, ..begun };
    let ended = sample::sealed(&begun, draft.id);
    let begun = sample::begun(begun, Vec::new());
    *changes =
        [std::mem::take(changes), begun, Changes::from(Arc::new(ended))].into_iter().collect();
    DeedEntry { action: Some(content.id), agent: Some(agent.id), disclosures: Vec::new(), draft }
}

/// A late deed about the action of an early one.
fn amending(scribe: &Scribe, early: &PlacedDeed) -> DeedEntry {
    let PlacedDeed { sealed, agent, action, .. } = early;
    let amends = Amended { id: sealed.id, digest: sealed.digest, seq: sealed.seq };
    let subject = deed::Subject::action(action.unwrap());
    let (draft, _) = specimen::amendment(&scribe.mint(), amends, subject).unwrap();
    DeedEntry { draft, disclosures: Vec::new(), agent: *agent, action: *action }
}

/// The event that a deed was sealed.
fn told(scribe: &Scribe, entry: &DeedEntry, seq: u64) -> event::Draft {
    event::Draft {
        kind: EventType::DeedSealed,
        object: json!({ "object": "deed", "id": entry.draft.id, "seq": seq }),
        ..scribe.event(entry.action)
    }
}
