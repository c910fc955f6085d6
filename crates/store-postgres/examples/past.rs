//! Measures what an action takes in the tables that turns write to, and in partitions of the past:
//! makes so many sealed actions (100,000 unless the first argument says another number) with a deed
//! and three events each, moves them, and prints the sizes.
//!
//! `CHANCERY_TEST_POSTGRES=postgres://postgres@localhost/postgres cargo run --release -p store-postgres
//! --example past`
#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a program that measures: it prints, stops at the first fault, and looks at the clock"
)]

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use crypto::Secret;
use deed::{Actor, Content, specimen};
use ledger::{
    Changes, DeedEntry,
    record::{Action, Agent},
};
use model::EventType;
use serde_json::json;
use store_postgres::{Earnest, PostgresStore, Settings, move_to_the_past, testing::TestDatabase};
use testkit::{Draft, Scribe, sample};
use tokio_postgres::Client;

const DAY: Duration = Duration::from_hours(24);
/// How many actions a turn of this record has.
const A_TURN: u64 = 200;

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let Some(database) = TestDatabase::new().await else { return };
    let many = std::env::args().nth(1).map_or(100_000, |many| many.parse().unwrap());
    let store = PostgresStore::new(&Settings::new(Secret::new(database.url()))).unwrap();
    let today = Scribe::created(1, &store).await.now;
    let mut scribe = Scribe::new(2, today.before(DAY * 200));
    let agent = scribe.agent("busy");
    let rows = vec![Changes::from(scribe.org_row()), Changes::from(agent.clone())];
    scribe.append(&store, rows).await.unwrap();
    for turn in 0..many / A_TURN {
        scribe.now = today.before(DAY * 200)
            + DAY * 150 * u32::try_from(turn).unwrap() / u32::try_from(many / A_TURN).unwrap();
        let mut draft = Draft::default();
        let first = turn * A_TURN;
        (first..first + A_TURN).for_each(|seq| add(&scribe, &agent, seq, &mut draft));
        scribe.append(&store, draft).await.unwrap();
    }
    let owner = database.owner().await;
    let pruned =
        "update org set record = jsonb_set(record::jsonb, '{pruned_to}', '1000000000')::text";
    owner.batch_execute(pruned).await.unwrap();
    owner.batch_execute("vacuum full analyze action, deed, event").await.unwrap();
    println!("| what | bytes an action |\n|---|---|");
    for table in ["action", "deed", "event"] {
        print(&owner, many, (&format!("`{table}`"), &format!("select '{table}'::regclass"))).await;
    }
    let begun = Instant::now();
    let settings = Settings::new(Secret::new(database.owner_url()));
    let until = (Some(scribe.org), today.before(DAY * 33));
    let moved = move_to_the_past(&settings, until, Earnest::Do).await.unwrap();
    let took = begun.elapsed().as_secs_f64();
    let deeds = moved.first().map_or(0, |moved| moved.deeds);
    for table in ["action", "deed", "event"] {
        let of = format!("`{table}_*`");
        let found =
            format!("select inhrelid from pg_inherits where inhparent = '{table}'::regclass");
        print(&owner, many, (&of, &found)).await;
    }
    print(&owner, many, ("`past_tile`", "select 'past_tile'::regclass")).await;
    println!("\nmoved {deeds} of {many} deeds in {took:.0} s");
}

async fn print(owner: &Client, many: u64, (what, of): (&str, &str)) {
    let sql = format!(
        "select sum(pg_total_relation_size(found.oid))::bigint as bytes from ({of}) as found (oid)"
    );
    let bytes: i64 = owner.query_one(&sql, &[]).await.unwrap().get("bytes");
    println!("| {what} | {} |", bytes.unsigned_abs() / many);
}

/// Adds an action that ran, with its deed and its events.
fn add(scribe: &Scribe, agent: &Agent, seq: u64, draft: &mut Draft) {
    let mint = scribe.mint();
    let (sealing, _) = specimen::action(&mint).unwrap();
    let sealing = deed::Draft { actor: Actor::Agent(agent.id), ..sealing };
    let Content::Action(content) = &sealing.content else { return };
    let id = content.id;
    let begun = Action { id, ..sample::action(agent, content.request, &mint) };
    let ended = Changes::from(Arc::new(sample::sealed(&begun, sealing.id)));
    let before = std::mem::take(&mut draft.changes);
    draft.changes = [before, sample::begun(begun, Vec::new()), ended].into_iter().collect();
    let object = json!({ "object": "deed", "id": sealing.id, "seq": seq });
    let of = |kind, object| event::Draft { kind, object, ..scribe.event(Some(id)) };
    let thin = json!({ "object": "action", "id": id, "status": "executed", "tool": "shop.refund" });
    draft.events.push(of(EventType::ActionCreated, thin.clone()));
    draft.events.push(of(EventType::ActionWitnessed, thin));
    draft.events.push(of(EventType::DeedSealed, object));
    draft.deeds.push(DeedEntry {
        agent: Some(agent.id),
        action: Some(id),
        disclosures: Vec::new(),
        draft: sealing,
    });
}
