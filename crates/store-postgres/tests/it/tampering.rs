//! A stored log in which somebody with the database changed one thing: a check of the log finds it,
//! whatever it is, and says what it is.

use std::sync::Arc;

use deed::{Actor, Amended, Content, Disclosure, KeySet, LogOrigin, specimen};
use ledger::{Changes, DeedEntry, Ledger, LogNo, Parts};
use model::{CheckId, OrgId};
use records::{ChainCheck, CheckStatus, CheckStore, LogStore, OrgLog, Problem, Records};
use store_postgres::{PostgresStore, testing::TestDatabase};
use testkit::{Draft, OnTokio, Scribe, sample};
use tokio_postgres::Client;

use crate::world::store;

/// More than a tile, so that there is a node of the tree.
const SIZE: u64 = 260;
/// The places whose rows are changed: one deed of each kind, the ends of the tile and of the log.
const PLACES: [u64; 5] = [0, 1, 2, 256, 259];

/// What is done to the row of a deed at `$1`, and what the check says of it there.
#[rustfmt::skip]
const DEED: &[(&str, &str, Problem)] = &[
    ("org_id",           "update deed set org_id = gen_random_uuid() where seq = $1", Problem::Gap),
    ("seq",              "update deed set seq = seq + 100000 where seq = $1", Problem::Tree),
    ("id",               "update deed set id = gen_random_uuid() where seq = $1", Problem::Row),
    ("kind",             "update deed set kind = case kind when 'admin' then 'action' else 'admin' end where seq = $1", Problem::Row),
    ("agent_id",         "update deed set agent_id = gen_random_uuid() where seq = $1", Problem::Row),
    ("action_id",        "update deed set action_id = gen_random_uuid() where seq = $1", Problem::Row),
    ("issued_at, later", "update deed set issued_at = issued_at + interval '1 ms' where seq = $1", Problem::Row),
    ("issued_at",        "update deed set issued_at = issued_at - interval '1 ms' where seq = $1", Problem::Row),
    ("body, first",      "update deed set body = overlay(body placing '[' from 1) where seq = $1", Problem::Digest),
    ("body, middle",     "update deed set body = overlay(body placing case substr(body, 300, 1) when 'a' then 'b' else 'a' end from 300) where seq = $1", Problem::Digest),
    ("body, last",       "update deed set body = overlay(body placing ']' from length(body)) where seq = $1", Problem::Digest),
    ("body, empty",      "update deed set body = '' where seq = $1", Problem::Digest),
    ("body and digest",  "update deed set body = replace(body, '\"livemode\":', '\"livemode\": '), digest = sha256(convert_to(replace(body, '\"livemode\":', '\"livemode\": '), 'UTF8')) where seq = $1", Problem::BodyMissing),
    ("digest",           "update deed set digest = set_byte(digest, 31, get_byte(digest, 31) # 1) where seq = $1", Problem::Digest),
    ("signature, R",     "update deed set signature = set_byte(signature, 0, get_byte(signature, 0) # 1) where seq = $1", Problem::Signature),
    ("signature, S",     "update deed set signature = set_byte(signature, 63, get_byte(signature, 63) # 128) where seq = $1", Problem::Signature),
    ("signature, other", "update deed set signature = (select signature from deed as other where other.seq = 100) where seq = $1", Problem::Signature),
    ("key_id",           "update deed set key_id = 'another' where seq = $1", Problem::Row),
    ("deleted",          "delete from deed where seq = $1", Problem::Gap),
    ("another's body",   "update deed set (body, digest, signature) = (select body, digest, signature from deed as other where other.seq = 100) where seq = $1", Problem::Row),
    ("swapped",          "update deed set seq = 99999 where seq = $1;
                          update deed set seq = $1 where seq = ($1 + 1) % 260;
                          update deed set seq = ($1 + 1) % 260 where seq = 99999", Problem::Row),
    ("doubled",          "insert into deed select org_id, 260, gen_random_uuid(), kind, agent_id, action_id, issued_at, body, digest, signature, key_id
                          from deed where seq = $1", Problem::Tree),
];

/// What is done to the rest of the log, and what the check says.
#[rustfmt::skip]
const BESIDE: &[(&str, &str, Problem)] = &[
    ("log_node.org_id",           "update log_node set org_id = gen_random_uuid()", Problem::Tree),
    ("log_node.level",            "update log_node set level = 2", Problem::Tree),
    ("log_node.level, too high",  "update log_node set level = 9", Problem::Tree),
    ("log_node.index",            "update log_node set index = 1", Problem::Tree),
    ("log_node.hash",             "update log_node set hash = set_byte(hash, 0, get_byte(hash, 0) # 1)", Problem::Tree),
    ("log_node, deleted",         "delete from log_node", Problem::Tree),
    ("log_node, doubled",         "insert into log_node select org_id, level, 1, hash from log_node", Problem::Tree),
    ("log_node, doubled far off", "insert into log_node select org_id, level, 77777, hash from log_node", Problem::Tree),
    ("org_head.org_id",           "update org_head set org_id = gen_random_uuid()", Problem::Tree),
    ("org_head.log",              "update org_head set log = replace(log, 'test.example', 'else.example')", Problem::Tree),
    ("org_head.size, smaller",    "update org_head set size = 258", Problem::Tree),
    ("org_head.size, larger",     "update org_head set size = 264", Problem::Gap),
    ("org_head.size, unreadable", "update org_head set size = 259", Problem::Tree),
    ("org_head.last_digest",      "update org_head set last_digest = set_byte(last_digest, 9, get_byte(last_digest, 9) # 1)", Problem::Tree),
    ("org_head.frontier",         "update org_head set frontier = set_byte(frontier, 0, get_byte(frontier, 0) # 1)", Problem::Tree),
    ("org_head.frontier, last",   "update org_head set frontier = set_byte(frontier, 63, get_byte(frontier, 63) # 1)", Problem::Tree),
    ("org_head.frontier, cut",    "update org_head set frontier = substr(frontier, 1, 32)", Problem::Tree),
    ("org_head.issued_at",        "update org_head set issued_at = issued_at + interval '1 ms'", Problem::Row),
    ("org_head, deleted",         "delete from org_head", Problem::Tree),
    ("the tail is cut",           "delete from deed where seq >= 258; update org_head set size = 258", Problem::CheckpointMismatch),
    ("checkpoint.size",           "update checkpoint set size = size + 1 where size = 256", Problem::CheckpointMismatch),
    ("checkpoint.size, larger",   "update checkpoint set size = 300 where size = 260", Problem::CheckpointMismatch),
    ("checkpoint.root",           "update checkpoint set root = set_byte(root, 31, get_byte(root, 31) # 1) where size = 256", Problem::CheckpointMismatch),
    ("checkpoint.note",           "update checkpoint set note = overlay(note placing 'x' from 3) where size = 4", Problem::CheckpointMismatch),
    ("checkpoint.note, signature","update checkpoint set note = overlay(note placing case substr(note, length(note) - 9, 1) when 'a' then 'b' else 'a' end from length(note) - 9) where size = 260", Problem::CheckpointMismatch),
    ("checkpoint.note, another's","update checkpoint set note = (select note from checkpoint as other where other.size = 4) where size = 256", Problem::CheckpointMismatch),
    ("checkpoint.signed_at",      "update checkpoint set signed_at = signed_at - interval '1 day' where size = 256", Problem::CheckpointMismatch),
    ("checkpoint.signed_at, late","update checkpoint set signed_at = signed_at + interval '1 day' where size = 4", Problem::CheckpointMismatch),
    ("checkpoint, doubled",       "insert into checkpoint select org_id, 100, root, note, signed_at from checkpoint where size = 4", Problem::CheckpointMismatch),
    ("action.agent_id",           "update action set agent_id = gen_random_uuid()", Problem::Row),
    ("both agents",               "update action set agent_id = org_id; update deed set agent_id = org_id where agent_id is not null", Problem::Row),
];

/// Nothing here must outlast a crash; and whoever changes a log may change what hangs on it.
const HURRY: &str = "
    do $$ begin
        execute format('alter database %I set synchronous_commit = off', current_database());
    end $$;
    set synchronous_commit = off;
    set session_replication_role = replica";

/// A log of which copies are kept.
struct Stored {
    _database: TestDatabase,
    owner: Client,
    store: Arc<PostgresStore>,
    records: Records,
    keys: Arc<KeySet>,
    scribe: Scribe,
    log: LogOrigin,
}

/// An action's deed as an entry of a turn, and the rows that it needs.
fn acted(scribe: &Scribe) -> (Changes, DeedEntry) {
    let mint = scribe.mint();
    let (draft, disclosures) = specimen::action(&mint).unwrap();
    let (Content::Action(content), Actor::Agent(acting)) = (&draft.content, &draft.actor) else {
        panic!("the specimen is no agent's action");
    };
    let agent = ledger::record::Agent { id: *acting, ..scribe.agent("acting") };
    let begun =
        ledger::record::Action { id: content.id, ..sample::action(&agent, content.request, &mint) };
    let (agent_id, action) = (Some(agent.id), Some(content.id));
    let changes =
        Changes::from_iter([Changes::from(agent), sample::begun(begun, Vec::<Disclosure>::new())]);
    (changes, DeedEntry { draft, disclosures, agent: agent_id, action })
}

impl Stored {
    /// Makes a log of one deed of each kind and many more, with checkpoints of some sizes.
    async fn new() -> Option<Self> {
        let (database, store) = store().await?;
        let owner = database.owner().await;
        owner.batch_execute(HURRY).await.unwrap();
        let mut scribe = Scribe::created(900, &*store).await;
        let sealer = scribe.sealer();
        let keys = sealer.registered();
        let ledger = Ledger::new(Parts {
            store: Arc::clone(&store) as _,
            sealer,
            clock: Arc::new(testkit::ManualClock::at(scribe.now)),
            entropy: Arc::new(testkit::SeededEntropy::new(901)),
            spawn: Arc::new(OnTokio),
            log_host: "test.example".to_owned(),
        })
        .unwrap();
        let records = Records::new(Arc::clone(&store) as _, ledger);
        let (changes, entry) = acted(&scribe);
        let (agent, action) = (entry.agent, entry.action);
        let deeds = vec![scribe.deed(None), entry];
        let draft = Draft { changes, deeds, ..Draft::default() };
        let turn = scribe.append(&*store, draft).await.unwrap();
        let first = &turn.deeds[1].sealed;
        let amends = Amended { id: first.id, digest: first.digest, seq: first.seq };
        let subject = deed::Subject::action(action.unwrap());
        let (draft, disclosures) = specimen::amendment(&scribe.mint(), amends, subject).unwrap();
        let late = DeedEntry { draft, disclosures, agent, action };
        let batches = [(1, vec![late]), (1, vec![]), (252, vec![]), (4, vec![])];
        for (more, mut deeds) in batches {
            deeds.extend((deeds.len()..more).map(|_| scribe.deed(None)));
            scribe.append(&*store, Draft { deeds, ..Draft::default() }).await.unwrap();
            records.checkpoint(scribe.org, None).await.unwrap();
        }
        for table in TABLES {
            owner
                .batch_execute(&format!("create table kept_{table} as table {table}"))
                .await
                .unwrap();
        }
        let log = store.head(scribe.org).await.unwrap().unwrap().chain.log().clone();
        Some(Self { _database: database, owner, store, records, keys, scribe, log })
    }

    async fn run(&self, sql: &str) {
        let done = self.owner.batch_execute(sql).await;
        done.unwrap_or_else(|error| panic!("`{sql}`: {error:?}"));
    }

    /// Puts everything back as it was sealed.
    async fn mend(&self) {
        // Only what differs is written: the rows of many changes would pile up.
        let mend = |table| {
            format!(
                "delete from {table} where not exists
                     (select from kept_{table} as kept where kept::text = {table}::text);
                 insert into {table} select kept.* from kept_{table} as kept where not exists
                     (select from {table} where {table}::text = kept::text);"
            )
        };
        self.run(&TABLES.map(mend).concat()).await;
    }

    /// Has these places of the log checked and returns what is wrong.
    async fn check(&self, (from_seq, end_seq): (u64, u64)) -> Option<(u64, Problem)> {
        let id = self.scribe.mint().id(CheckId::from_uuid);
        let org: OrgId = self.scribe.org;
        let check = ChainCheck {
            id,
            org,
            created_at: self.scribe.now,
            status: CheckStatus::Queued,
            log: Some(self.log.clone()),
            from_seq,
            end_seq,
            checkpoint: None,
            checked: 0,
            archived: 0,
            finished_at: None,
            first_bad: None,
        };
        self.store.ask_check(&check).await.unwrap();
        let done = self.records.do_check(&self.keys).await.unwrap().unwrap();
        assert!(done.finished_at.is_some());
        let is_bad = done.first_bad.is_some();
        assert_eq!(done.status, if is_bad { CheckStatus::Failed } else { CheckStatus::Passed });
        done.first_bad.map(|fault| (fault.seq, fault.problem))
    }
}

/// The tables that a log is made of, and the one that its deeds' columns lean on.
const TABLES: [&str; 5] = ["deed", "log_node", "org_head", "checkpoint", "action"];

#[tokio::test]
async fn whatever_column_of_a_stored_log_is_changed_its_check_says_so() {
    let Some(stored) = Stored::new().await else { return };
    let head = stored.store.head(stored.scribe.org).await.unwrap().unwrap();
    assert_eq!(head.chain.size(), SIZE);
    assert_eq!(stored.check((0, SIZE)).await, None, "as it was sealed");
    for (what, sql, problem) in DEED {
        for place in PLACES {
            stored.run(&sql.replace("$1", &place.to_string())).await;
            // Its neighbours are enough to find it.
            let part = (place.saturating_sub(1), (place + 2).min(SIZE));
            let found = stored.check(part).await;
            let (seq, said) = found.unwrap_or_else(|| panic!("{what} of {place} was not found"));
            assert_eq!(said, *problem, "{what} of {place}, found at {seq}");
            assert!(seq == place || *problem == Problem::Tree, "{what} of {place}, found at {seq}");
            stored.mend().await;
        }
    }
    let mut wrong = Vec::new();
    for (what, sql, problem) in BESIDE {
        stored.run(sql).await;
        let found = stored.check((0, SIZE)).await;
        if found.map(|(_, said)| said) != Some(*problem) {
            wrong.push(format!("{what}: {found:?}"));
        }
        stored.mend().await;
    }
    assert_eq!(wrong, Vec::<String>::new());
    assert_eq!(stored.check((0, SIZE)).await, None, "mended");
}

#[tokio::test]
async fn every_byte_of_a_kept_checkpoint_counts() {
    let Some(stored) = Stored::new().await else { return };
    let org = stored.scribe.org;
    let kept =
        stored.store.checkpoints(OrgLog { org, no: LogNo::FIRST }, 0..SIZE + 1).await.unwrap();
    let sizes: Vec<_> = kept.iter().map(|kept| kept.size).collect();
    assert_eq!(sizes, [3, 4, 256, 260]);
    let note = &kept[3].note;
    // In characters: the dash of a note is one of them.
    for (place, char) in (1..).zip(note.chars()) {
        let other = if char == 'a' { 'b' } else { 'a' };
        let changed = format!("overlay(note placing '{other}' from {place})");
        let sql = format!("update checkpoint set note = {changed} where size = {SIZE}");
        stored.run(&sql).await;
        let found = stored.check((SIZE - 1, SIZE)).await;
        assert_eq!(found, Some((SIZE - 1, Problem::CheckpointMismatch)), "character {place}");
        stored.run("delete from checkpoint; insert into checkpoint table kept_checkpoint").await;
    }
}
