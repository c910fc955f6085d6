//! Deeds alone: sealed through turns of the ledger into PostgreSQL, written, verified and proved,
//! each beside what it is to be compared with.

use std::{
    env, fmt,
    path::PathBuf,
    sync::{Arc, Mutex},
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use crypto::{Secret, SystemEntropy};
use deed::{
    Actor, Body, ChainHead, Content, DEED_TYPE, Draft, Ending, Envelope, Intent, IntentStatus,
    KeySet, SealKey, SealKeys, Sealed, Sealer, Subject, pae, specimen, tree,
    verify::{Trust, verify},
};
use ledger::{Changes, DeedEntry, Entry, Ledger, Needs, Request, Snapshot, record::Org};
use model::{
    ActionId, AgentId, Clock, DecisionOutcome, DeedId, IntentMode, Level, Mint, OrgId, Timestamp,
    WitnessMethod,
};
use store_postgres::{PostgresStore, Settings, testing::TestDatabase};
use tokio::task::JoinSet;
use tokio_postgres::{Client, types::ToSql};

use crate::{
    Failure,
    options::{Scale, Size},
    peer::Peer,
};

/// How many deeds are sealed and verified.
const DEEDS: Size<usize> = Size { full: 10_000, smoke: 512 };
/// How many callers wait at once, so that a turn finds 256 while the one before commits.
const CALLERS: usize = 512;
/// Too few for the verifier to start a thread for.
const ONE_CORE: usize = 32;
/// The tree that proofs are measured in.
const TREE: Size<Proved> = Size {
    full: Proved { leaves: 1_000_000, leaf: 777_777, older: 654_321 },
    smoke: Proved { leaves: 1_000, leaf: 777, older: 654 },
};
/// How long the peer is measured.
const PEER: Size<Duration> = Size { full: Duration::from_secs(5), smoke: Duration::from_secs(1) };

/// What of a tree is proved.
#[derive(Debug, Clone, Copy)]
struct Proved {
    leaves: u64,
    /// The place of a leaf that is in it.
    leaf: u64,
    /// The size of a tree that it grew from.
    older: u64,
}

/// Runs everything and prints one table.
pub(crate) async fn run(scale: Scale) -> Result<(), Failure> {
    println!("| what | figure | compared with | ratio | aim |");
    println!("|---|---|---|---|---|");
    let log = Log::new(DEEDS.at(scale))?;
    let (whole, _) = specimen::action(&Mint::new(SystemClock.now(), &SystemEntropy::new()))
        .ok_or("no specimen")?;
    let whole = log.sealed(1, &whole)?;
    writing("canonical bytes of a typical deed", &log.deeds[0], scale)?;
    writing("canonical bytes of a deed with every member", &whole[0], scale)?;
    verifying("verify a typical deed", &log.sealer, &log.deeds)?;
    proving(scale)?;
    sealing(log, scale).await
}

fn row(what: &str, figure: &str, beside: &str, ratio: &str) {
    println!("| {what} | {figure} | {beside} | {ratio} |");
}

/// A sealer, and a log of typical deeds that it sealed.
struct Log {
    sealer: Sealer,
    draft: Draft,
    deeds: Vec<Sealed>,
}

impl Log {
    fn new(deeds: usize) -> Result<Self, Failure> {
        let (entropy, now) = (SystemEntropy::new(), SystemClock.now());
        let mint = Mint::new(now, &entropy);
        let keys = SealKeys::from_pem(SealKeys::generate_pem(&entropy).expose())?;
        let registered =
            keys.keys().map(|(purpose, key)| SealKey::new(*key.public(), purpose, now));
        let registered = KeySet::new(registered.collect())?;
        let sealer = Sealer::new(keys, registered);
        let (draft, _) = specimen::action(&mint).ok_or("no specimen")?;
        let draft = Draft { content: typical(draft.content), ..draft };
        let mut log = Self { sealer, draft, deeds: Vec::new() };
        log.deeds = log.sealed(deeds, &log.draft)?;
        Ok(log)
    }

    /// Returns so many deeds of this draft as a log of their own.
    fn sealed(&self, count: usize, draft: &Draft) -> Result<Vec<Sealed>, Failure> {
        let entropy = SystemEntropy::new();
        let mint = Mint::new(SystemClock.now(), &entropy);
        let mut head = ChainHead::genesis(specimen::log(&mint).ok_or("no log")?);
        let drafts = (0..count).map(|_| another(draft, &mint)).collect();
        Ok(self.sealer.seal_all(&mut head, drafts, specimen::org(&mint), mint.now())?)
    }
}

/// The content of a write that a rule allowed and that ran, as most deeds are: nobody was
/// asked, nothing was charged, and only the report tells of it.
fn typical(content: Content) -> Content {
    let Content::Action(mut action) = content else { return content };
    (action.approval, action.cost, action.undo) = (None, None, None);
    (action.client, action.on_behalf_of) = (None, None);
    action.intent = Intent { mode: IntentMode::Off, status: IntentStatus::Absent, jws: None };
    action.decision.outcome = DecisionOutcome::Allow;
    (action.decision.code, action.decision.reason, action.decision.shadow) = (None, None, None);
    if let Ending::Ran(run) = &mut action.ending {
        (run.witness.level, run.witness.required_level) = (Level::L0, Level::L0);
        run.witness.method = WitnessMethod::Reported;
        run.witness.sources = Vec::new();
    }
    Content::Action(action)
}

/// The shortest of several runs, each of so many repetitions, for one repetition.
pub(crate) fn best(repetitions: u32, mut work: impl FnMut()) -> Duration {
    let run = |work: &mut dyn FnMut()| {
        let begun = Instant::now();
        (0..repetitions).for_each(|_| work());
        begun.elapsed() / repetitions
    };
    (0..7).map(|_| run(&mut work)).min().unwrap_or_default()
}

/// So many repetitions of what a smoke test does once.
fn repetitions(full: u32, scale: Scale) -> u32 {
    Size { full, smoke: 1 }.at(scale)
}

pub(crate) fn micros(time: Duration) -> String {
    format!("{:.2} µs", time.as_secs_f64() * 1e6)
}

pub(crate) fn ratio(one: Duration, other: Duration) -> f64 {
    one.as_secs_f64() / other.as_secs_f64()
}

fn writing(what: &str, deed: &Sealed, scale: Scale) -> Result<(), Failure> {
    let (often, few) = (repetitions(2_000, scale), repetitions(500, scale));
    let text = &deed.body;
    let body = Body::read(text.as_bytes())?;
    let value = serde_json::to_value(&body)?;
    let ours = best(often, || drop(std::hint::black_box(body.write())));
    let general =
        best(few, || drop(std::hint::black_box(crypto::json::canonical_generally(&value))));
    let whole = best(few, || {
        let value = serde_json::to_value(&body).unwrap_or_default();
        drop(std::hint::black_box(crypto::json::canonical_generally(&value)));
    });
    let what = format!("{what}, {} bytes", text.len());
    let beside = format!("serde_json_canonicalizer: {}", micros(general));
    row(&what, &micros(ours), &beside, &format!("{:.1} x faster | 8 x", ratio(general, ours)));
    let beside = format!("the same from the type: {}", micros(whole));
    row("", &micros(ours), &beside, &format!("{:.1} x faster |", ratio(whole, ours)));
    Ok(())
}

fn verifying(what: &str, sealer: &Sealer, deeds: &[Sealed]) -> Result<(), Failure> {
    let line = |deed: &Sealed| {
        let envelope = Envelope::new(DEED_TYPE, &deed.body, (&deed.key_id, &deed.signature));
        serde_json::to_string(&envelope).map(|text| text + "\n")
    };
    let lines = deeds.iter().map(line).collect::<Result<Vec<_>, _>>()?;
    let registered = sealer.registered();
    let trust = Trust { keys: Some(registered.as_ref().clone()), ..Trust::default() };
    let key = registered.find(&deeds[0].key_id).ok_or("no key")?;
    let frames: Vec<_> = deeds.iter().map(|deed| pae(DEED_TYPE, deed.body.as_bytes())).collect();
    let bare = best(1, || {
        let mut pairs = frames.iter().zip(deeds);
        assert!(pairs.all(|(frame, deed)| key.public.verifies(frame, &deed.signature)));
    });
    let holds = |text: &String| verify(text.as_bytes(), &trust).is_ok();
    let parts: Vec<_> = lines.chunks(ONE_CORE).map(<[String]>::concat).collect();
    let one = best(1, || assert!(parts.iter().all(holds)));
    let all = lines.concat();
    let many = best(1, || assert!(holds(&all)));
    let [bare, one, many] = [bare, one, many].map(|time| time / count(deeds));
    let beside = format!("bare Ed25519 of the same: {}", micros(bare));
    let share = format!("{:.2} x | 1.3 x", ratio(one, bare));
    row(&format!("{what}, one core"), &micros(one), &beside, &share);
    let cores = std::thread::available_parallelism()?;
    let what = format!("{what}, {} in one run on {cores} cores", deeds.len());
    row(&what, &micros(many), &beside, &format!("{:.2} x |", ratio(many, bare)));
    Ok(())
}

fn count(deeds: &[Sealed]) -> u32 {
    u32::try_from(deeds.len()).unwrap_or(u32::MAX)
}

fn proving(scale: Scale) -> Result<(), Failure> {
    let (Proved { leaves, leaf: place, older }, often) = (TREE.at(scale), repetitions(500, scale));
    let digests = (0..leaves).map(|place| crypto::sha256(place.to_be_bytes()));
    let whole = tree::Tree::of(digests);
    let root = |size| whole.root_at(size).ok_or("no root");
    let head = tree::TreeHead { size: leaves, root: root(leaves)? };
    let proof = tree::inclusion(&whole, place, leaves).ok_or("no proof")?;
    let leaf = tree::leaf_hash(crypto::sha256(place.to_be_bytes()).as_bytes());
    let made = best(often, || drop(std::hint::black_box(tree::inclusion(&whole, place, leaves))));
    let shown = best(often, || assert!(tree::verify_inclusion(leaf, place, &proof, &head)));
    let bytes = |path: &[model::Digest]| path.len() * 32;
    let what = format!("inclusion proof in {leaves} deeds, {} bytes", bytes(&proof));
    row(&what, &micros(made), &format!("checked in {}", micros(shown)), "|");
    let old = tree::TreeHead { size: older, root: root(older)? };
    let path = tree::consistency(&whole, old.size, leaves).ok_or("no proof")?;
    let made =
        best(often, || drop(std::hint::black_box(tree::consistency(&whole, old.size, leaves))));
    let shown = best(often, || assert!(tree::verify_consistency(&old, &head, &path)));
    let what = format!("consistency proof from {} deeds, {} bytes", old.size, bytes(&path));
    row(&what, &micros(made), &format!("checked in {}", micros(shown)), "|");
    Ok(())
}

async fn sealing(log: Log, scale: Scale) -> Result<(), Failure> {
    let setting = |name| env::var(name).map_err(|_| format!("{name} is not set"));
    let database = TestDatabase::new().await.ok_or("CHANCERY_TEST_POSTGRES is not set")?;
    let store = Arc::new(PostgresStore::new(&Settings::new(Secret::new(database.url())))?);
    let org = specimen::org(&Mint::new(SystemClock.now(), &SystemEntropy::new()));
    let Log { sealer, draft, deeds } = log;
    let ledger = Ledger::new(ledger::Parts {
        store,
        sealer: Arc::new(sealer),
        clock: Arc::new(SystemClock),
        entropy: Arc::new(SystemEntropy::new()),
        spawn: Arc::new(Tokio),
        log_host: "bench.example".to_owned(),
    })?;
    seal(&ledger, (org, &draft), CALLERS * 2).await?;
    let sealed = seal(&ledger, (org, &draft), deeds.len()).await?;
    let client = database.owner().await;
    let stored = storage(&client, i64::try_from(deeds.len() + CALLERS * 2)?).await?;
    let plain = plain(&client, &deeds).await?;
    let folder = env::temp_dir().join(format!("chancery-bench-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let url = setting("CHANCERY_TEST_POSTGRES")?;
    let peer = Peer::new(PathBuf::from(setting("CHANCERY_PG_BIN")?), &url, folder).await?;
    let peer = peer.rate(64, PEER.at(scale)).await?;
    let per_second = |span: Duration| f64::from(count(&deeds)) / span.as_secs_f64();
    let (rate, beside) = (per_second(sealed), per_second(plain));
    let what = "seal through turns of 256 into PostgreSQL";
    let plainly = format!("`insert … unnest` of the same rows: {beside:.0}/s");
    row(what, &format!("{rate:.0}/s"), &plainly, &format!("{:.2} x | 0.6 x", rate / beside));
    let pgbench = format!("pgbench, one row, 64 connections: {peer:.0}/s");
    row("", &format!("{rate:.0}/s"), &pgbench, &format!("{:.2} x |", rate / peer));
    row("stored for a deed, with its event and indexes", &format!("{stored} bytes"), "", "|");
    Ok(())
}

/// Has so many deeds sealed by callers that wait for each, and returns how long that took.
async fn seal(
    ledger: &Ledger,
    (org, draft): (OrgId, &Draft),
    deeds: usize,
) -> Result<Duration, Failure> {
    let (left, begun) = (Arc::new(Mutex::new(deeds)), Instant::now());
    let mut callers = JoinSet::new();
    for _ in 0..CALLERS {
        let (ledger, draft, left) = (ledger.clone(), draft.clone(), Arc::clone(&left));
        callers.spawn(async move {
            while take(&left) {
                ledger.enter(org, Seal(draft.clone())).await?;
            }
            Ok::<_, ledger::LedgerError>(())
        });
    }
    while let Some(done) = callers.join_next().await {
        done??;
    }
    Ok(begun.elapsed())
}

fn take(left: &Mutex<usize>) -> bool {
    let mut left = left.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let any = *left > 0;
    *left = left.saturating_sub(1);
    any
}

/// The draft of a deed about another action.
fn another(draft: &Draft, mint: &Mint<'_>) -> Draft {
    let mut draft = Draft { id: mint.id(DeedId::from_uuid), ..draft.clone() };
    if let Content::Action(action) = &mut draft.content {
        action.id = mint.id(ActionId::from_uuid);
        draft.subject = Subject::action(action.id);
    }
    draft
}

/// Returns whose stream a deed is on and which action it is about.
fn about(draft: &Draft) -> (Option<AgentId>, Option<ActionId>) {
    let agent = match draft.actor {
        Actor::Agent(agent) => Some(agent),
        Actor::ApiKey(_) | Actor::User(_) | Actor::System(_) => None,
    };
    let action = match &draft.content {
        Content::Action(action) => Some(action.id),
        Content::Admin(_) | Content::Amendment(_) => None,
    };
    (agent, action)
}

/// One deed, and the org with the first.
struct Seal(Draft);

impl Request for Seal {
    type Answer = ();

    fn needs(&self, _: &Snapshot) -> Needs {
        Needs::default()
    }

    fn decide(&self, at: &Snapshot, mint: &Mint<'_>) -> (Entry, ()) {
        let draft = another(&self.0, mint);
        let (agent, action) = about(&draft);
        let deeds = vec![DeedEntry { draft, disclosures: Vec::new(), agent, action }];
        let found = at.org().is_none().then(|| Changes::from(org(at.org_id(), mint.now())));
        (Entry { changes: found.into_iter().collect(), deeds, ..Entry::default() }, ())
    }
}

fn org(id: OrgId, now: Timestamp) -> Org {
    Org {
        id,
        name: "Bench".to_owned(),
        time_zone: "UTC".to_owned(),
        pro: false,
        stop: None,
        voids: None,
        voided: None,
        retention_days: ledger::record::RETENTION_DAYS,
        pruned_to: 0,
        keys_made: 0,
        invites_made: 0,
        created_at: now,
    }
}

/// The bytes that the database holds for one deed.
async fn storage(client: &Client, deeds: i64) -> Result<i64, Failure> {
    let sql = "select (pg_total_relation_size('deed') + pg_total_relation_size('event')
        + pg_total_relation_size('log_node'))::bigint";
    let bytes: i64 = client.query_one(sql, &[]).await?.get(0);
    Ok(bytes / deeds)
}

/// Inserts the same rows as they are, 256 a transaction, and returns how long that took.
async fn plain(client: &Client, deeds: &[Sealed]) -> Result<Duration, Failure> {
    client
        .batch_execute(
            "create table plain_deed (like deed including all);
             create table plain_event (like event including all);",
        )
        .await?;
    let insert = client
        .prepare(
            "with deeds as (
                insert into plain_deed (org_id, seq, id, kind, agent_id, action_id, issued_at, body,
                    digest, signature, key_id)
                select $1, seq, id, 'action', $9, action_id, now(), body, digest, signature, $2
                from unnest($3::bigint[], $4::uuid[], $5::text[], $6::bytea[], $7::bytea[],
                    $10::uuid[]) as row (seq, id, body, digest, signature, action_id)
                returning seq, id, action_id)
            insert into plain_event
                (org_id, seq, id, kind, created_at, livemode, agent_id, action_id, data)
            select $1, seq + 1, id, 'deed.sealed', now(), true, $9, action_id, $8 from deeds",
        )
        .await?;
    let data = format!("{{\"id\":\"{}\",\"object\":\"deed\"}}", deeds[0].id);
    let org = *deeds[0].id.as_uuid();
    let begun = Instant::now();
    for batch in deeds.chunks(256) {
        let seqs =
            batch.iter().map(|deed| i64::try_from(deed.seq)).collect::<Result<Vec<_>, _>>()?;
        let ids: Vec<_> = batch.iter().map(|deed| *deed.id.as_uuid()).collect();
        let bodies: Vec<_> = batch.iter().map(|deed| deed.body.as_str()).collect();
        let digests: Vec<_> = batch.iter().map(|deed| deed.digest.as_bytes().as_slice()).collect();
        let signatures: Vec<_> = batch.iter().map(|deed| deed.signature.as_slice()).collect();
        let key = deeds[0].key_id.as_str();
        // Whose ids these are makes no difference to their cost.
        let (agent, actions) = (org, &ids);
        let row: [&(dyn ToSql + Sync); 10] =
            [&org, &key, &seqs, &ids, &bodies, &digests, &signatures, &data, &agent, actions];
        client.execute(&insert, &row).await?;
    }
    Ok(begun.elapsed())
}

/// The machine's clock.
struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp::from_unix_millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
    }
}

/// Starts the ledger's tasks.
struct Tokio;

impl fmt::Debug for Tokio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tokio")
    }
}

impl ledger::Spawn for Tokio {
    fn spawn(&self, task: futures_util::future::BoxFuture<'static, ()>) {
        tokio::spawn(task);
    }
}
