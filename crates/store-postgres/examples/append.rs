//! Measures appends against plain inserts of the same size: `CHANCERY_TEST_POSTGRES=… cargo run
//! --release --example append`. One org, one connection, one turn after the other.
#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a program that measures: it prints, stops at the first fault, and looks at the clock"
)]

use std::time::{Duration, Instant};

use crypto::Secret;
use ledger::{Changes, LedgerStore, Turn, record::Action};
use model::DeedId;
use serde_json::json;
use store_postgres::{PostgresStore, Settings, testing::TestDatabase};
use testkit::{Draft, Scribe, sample};

const BATCHES: [usize; 3] = [1, 64, 256];
/// How many actions are measured at each size, at least.
const ACTIONS: usize = 2_048;

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let Some(database) = TestDatabase::new().await else { return };
    let store = PostgresStore::new(&Settings::new(Secret::new(database.url()))).unwrap();
    let mut seed = 1;
    println!("what                    batch  turns/s  actions/s  p50 ms  p99 ms");
    for batch in BATCHES {
        seed += 1;
        let mut scribe = Scribe::created(seed, &store).await;
        let (begins, ends) = turns(&mut scribe, batch);
        // The first turn of each kind prepares its statements.
        let (first_begin, begins) = begins.split_first().unwrap();
        let (first_end, ends) = ends.split_first().unwrap();
        store.append(first_begin).await.unwrap();
        report("begin", batch, &append(&store, begins).await);
        store.append(first_end).await.unwrap();
        report("end, with deed", batch, &append(&store, ends).await);
        report("plain insert", batch, &plain(&database, batch).await);
    }
}

/// Returns turns that begin actions, and turns that end the same actions with their deeds.
fn turns(scribe: &mut Scribe, batch: usize) -> (Vec<Turn>, Vec<Turn>) {
    let count = ACTIONS.div_ceil(batch) + 1;
    let agent = scribe.agent("busy");
    let mut drafts: Vec<(Draft, Vec<Action>)> = Vec::new();
    for turn in 0..count {
        drafts.push(begin(scribe, &agent, turn, batch));
    }
    let (begins, actions): (Vec<_>, Vec<_>) = drafts.into_iter().unzip();
    let begins = begins.into_iter().map(|draft| write(scribe, draft)).collect();
    let ends = actions.iter().map(|actions| end(scribe, actions)).collect::<Vec<_>>();
    let ends = ends.into_iter().map(|draft| write(scribe, draft)).collect();
    (begins, ends)
}

fn write(scribe: &mut Scribe, draft: Draft) -> Turn {
    let turn = scribe.turn(draft);
    scribe.went(&turn);
    turn
}

fn begin(
    scribe: &Scribe,
    agent: &ledger::record::Agent,
    turn: usize,
    batch: usize,
) -> (Draft, Vec<Action>) {
    let (mut draft, mut actions) = (Draft::default(), Vec::new());
    let mint = scribe.mint();
    for number in 0..batch {
        let args = json!({ "note": "x".repeat(1_000), "number": number });
        let (request, disclosure) = sample::request(&args, &mint);
        let action = sample::action(agent, request, &mint);
        let key = format!("{turn}/{number}");
        let until = scribe.now + Duration::from_hours(24);
        draft.changes.extend(Changes::from(sample::idempotency_key(&action, &key, until)));
        draft.changes.extend(sample::begun(action.clone(), vec![disclosure]));
        draft.events.push(scribe.event(Some(action.id)));
        actions.push(action);
    }
    (draft, actions)
}

fn end(scribe: &Scribe, actions: &[Action]) -> Draft {
    let mut draft = Draft::default();
    for action in actions {
        let ended = sample::sealed(action, scribe.mint().id(DeedId::from_uuid));
        draft.changes.extend(sample::moved(ended));
        draft.deeds.push(scribe.deed(Some(action.id)));
        draft.events.extend([scribe.event(Some(action.id)), scribe.event(Some(action.id))]);
    }
    draft
}

async fn append(store: &PostgresStore, turns: &[Turn]) -> Vec<Duration> {
    let mut times = Vec::new();
    for turn in turns {
        let begun = Instant::now();
        store.append(turn).await.unwrap();
        times.push(begun.elapsed());
    }
    times
}

/// Inserts rows of about the size of a begun action with its disclosure, in one statement a time.
async fn plain(database: &TestDatabase, batch: usize) -> Vec<Duration> {
    let client = database.owner().await;
    let sql = "create table if not exists plain (id bigint primary key, body text not null)";
    client.batch_execute(sql).await.unwrap();
    client.batch_execute("truncate plain").await.unwrap();
    let sql = "insert into plain select * from unnest($1::bigint[], $2::text[])";
    let insert = client.prepare(sql).await.unwrap();
    let body = "x".repeat(3_000);
    let mut times = Vec::new();
    for turn in 0..ACTIONS.div_ceil(batch) {
        let ids: Vec<i64> =
            (0..batch).map(|number| i64::try_from(turn * batch + number).unwrap()).collect();
        let bodies = vec![body.as_str(); batch];
        let begun = Instant::now();
        client.execute(&insert, &[&ids, &bodies]).await.unwrap();
        times.push(begun.elapsed());
    }
    times
}

fn report(what: &str, batch: usize, times: &[Duration]) {
    let mut sorted = times.to_vec();
    sorted.sort_unstable();
    let at = |percent: usize| {
        let place = (sorted.len() * percent / 100).min(sorted.len() - 1);
        sorted.get(place).map_or(0.0, |time| time.as_secs_f64() * 1_000.0)
    };
    let total: Duration = times.iter().sum();
    let turns = f64::from(u32::try_from(times.len()).unwrap()) / total.as_secs_f64();
    let actions = turns * f64::from(u32::try_from(batch).unwrap());
    println!("{what:<22} {batch:>6} {turns:>8.0} {actions:>10.0} {:>7.2} {:>7.2}", at(50), at(99));
}
