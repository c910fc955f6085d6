//! Measures each filter of the list at a million actions of one org, beside the read of one action
//! by its id: `cargo xtask bench lists`. The actions are made by one SQL statement; each filter is
//! asked for what is common, for what occurs once, long ago, and for what never occurs.
#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a program that measures: it prints, stops at the first fault, and looks at the clock"
)]

use std::time::{Duration, Instant};

use crypto::Secret;
use gate::{ActionStore, Filter, ShadowDiffers};
use ledger::Changes;
use model::{ActionId, AgentId, DecisionOutcome, DeedId, Level, OrgId, State, Timestamp, Verdict};
use serde_json::json;
use store_postgres::{PostgresStore, Settings, testing::TestDatabase};
use testkit::{Scribe, sample};
use uuid::Uuid;

/// The first action's moment, 2025-06-01; one follows every 10 s.
const FIRST: i64 = 1_748_736_000_000;
const APART: i64 = 10_000;

/// How many actions there are, and how often each filter is asked for.
#[derive(Clone, Copy)]
struct Size {
    actions: i64,
    rounds: usize,
}

impl Size {
    /// What figures need, or with `--smoke` only what shows that every filter is answered.
    fn asked() -> Self {
        if std::env::args().any(|argument| argument == "--smoke") {
            return Self { actions: 1_000, rounds: 1 };
        }
        Self { actions: 1_000_000, rounds: 400 }
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let Some(database) = TestDatabase::new().await else { return };
    let size = Size::asked();
    let mut settings = Settings::new(Secret::new(database.url()));
    settings.deadline = Duration::from_secs(20);
    let store = PostgresStore::new(&settings).unwrap();
    let mut scribe = Scribe::created(1, &store).await;
    let agents: Vec<_> = (0..51).map(|number| scribe.agent(&format!("agent-{number}"))).collect();
    let ids: Vec<_> = agents.iter().map(|agent| *agent.id.as_uuid()).collect();
    let (request, _) = sample::request(&json!({}), &scribe.mint());
    let action = sample::action(agents.first().unwrap(), request, &scribe.mint());
    let action = sample::sealed(&action, scribe.mint().id(DeedId::from_uuid));
    let record = serde_json::to_string(&action).unwrap();
    scribe.append(&store, agents.into_iter().map(Changes::from).collect::<Vec<_>>()).await.unwrap();
    let filters = filters(&ids, size.actions);
    // Every statement is prepared on the empty table, as it is in an org's first hour.
    for (_, filter) in &filters {
        store.list(scribe.org, filter, None, 20).await.unwrap();
    }
    let owner = database.owner().await;
    let org = *scribe.org.as_uuid();
    owner.execute(SEED, &[&org, &ids, &record, &size.actions, &FIRST, &APART]).await.unwrap();
    owner.batch_execute("vacuum analyze action").await.unwrap();
    // What is measured is the way to the rows, not the disk: the table is in memory first.
    owner.batch_execute("select count(record) from action").await.unwrap();
    println!("| filter | shown | p50 ms | p99 ms | read by id: p50 | p99 | p99 / p99 |");
    println!("|---|---|---|---|---|---|---|");
    for (name, filter) in &filters {
        measure(&store, scribe.org, (name, filter), size).await;
    }
}

/// Reads by the filter and by an id in turns, and prints a row of the table.
async fn measure(store: &PostgresStore, org: OrgId, (name, filter): (&str, &Filter), size: Size) {
    let (mut lists, mut reads, mut shown) = (Vec::new(), Vec::new(), 0);
    for round in 0..size.rounds + 20 {
        let begun = Instant::now();
        let page = store.list(org, filter, None, 20).await.unwrap();
        let listed = begun.elapsed();
        let number = i64::try_from(round).unwrap() * 7_919 % size.actions;
        let begun = Instant::now();
        store.action(org, id(number)).await.unwrap().unwrap();
        let read = begun.elapsed();
        // The first rounds warm the caches.
        if round >= 20 {
            lists.push(listed);
            reads.push(read);
        }
        shown = page.actions.len();
    }
    lists.sort_unstable();
    reads.sort_unstable();
    let [list50, list99, read50, read99] = [(&lists, 50), (&lists, 99), (&reads, 50), (&reads, 99)]
        .map(|(times, percent)| {
            let at = times.len() * percent / 100;
            times.get(at).map_or(0.0, |time| time.as_secs_f64() * 1e3)
        });
    let ratio = list99 / read99;
    println!(
        "| {name} | {shown} | {list50:.2} | {list99:.2} | {read50:.2} | {read99:.2} | {ratio:.1} |"
    );
}

/// The id of the action of this number.
fn id(number: i64) -> ActionId {
    let millis = u128::try_from(FIRST + number * APART).unwrap();
    let low = (0x7000_u128 << 64) | (0x8000_u128 << 48) | u128::try_from(number).unwrap();
    ActionId::from_uuid(Uuid::from_u128(millis << 80 | low))
}

/// Every filter of the list, and some combinations.
fn filters(agents: &[Uuid], actions: i64) -> Vec<(&'static str, Filter)> {
    let every = Filter::default;
    let agent = |at: usize| AgentId::from_uuid(agents.get(at).copied().unwrap_or_default());
    let tool = |glob: &str| Filter { tool: Some(policy::Glob::parse(glob).unwrap()), ..every() };
    let text = |text: &str| Filter { text: Some(text.to_owned()), ..every() };
    let person = |name: &str| Filter { on_behalf_of: Some(name.to_owned()), ..every() };
    let state = |state| Filter { states: vec![state], ..every() };
    let decided = |outcome| Filter { decisions: vec![outcome], ..every() };
    let verdict = |verdict| Filter { verdicts: vec![verdict], ..every() };
    let level = |level| Filter { levels: vec![level], ..every() };
    let of = |at| Filter { agent: Some(agent(at)), ..every() };
    let at = |number: i64| Some(Timestamp::from_unix_millis(FIRST + number * APART));
    let half = actions / 2;
    vec![
        ("none", every()),
        ("agent: one of 50", of(7)),
        ("agent: one action", of(50)),
        ("agent: never", of(99)),
        ("tool: exact", tool("shop.tool-7")),
        ("tool: exact, once", tool("rare.once")),
        ("tool: exact, never", tool("rare.never")),
        ("tool: `shop.*`, most", tool("shop.*")),
        ("tool: `*tool-3*`, a quarter of the names", tool("*tool-3*")),
        ("tool: `*.once`, once", tool("*.once")),
        ("tool: `*nothing*`, never", tool("*nothing*")),
        ("state: sealed", state(State::Sealed)),
        ("state: pending_approval", state(State::PendingApproval)),
        ("state: executing, once", state(State::Executing)),
        ("state: cancelled, never", state(State::Cancelled)),
        (
            "state: all but sealed",
            Filter {
                states: State::ALL.iter().copied().filter(|one| *one != State::Sealed).collect(),
                ..every()
            },
        ),
        ("decision: allow", decided(DecisionOutcome::Allow)),
        ("decision: deny", decided(DecisionOutcome::Deny)),
        ("decision: require_approval", decided(DecisionOutcome::RequireApproval)),
        ("decision: all three", Filter { decisions: DecisionOutcome::ALL.to_vec(), ..every() }),
        ("verdict: VERIFIED", verdict(Verdict::Verified)),
        ("verdict: UNVERIFIABLE", verdict(Verdict::Unverifiable)),
        ("verdict: MISMATCH, once", verdict(Verdict::Mismatch)),
        ("level: L0", level(Level::L0)),
        ("level: L1", level(Level::L1)),
        ("level: L2, never", level(Level::L2)),
        ("on_behalf_of: one of few", person("person-3")),
        ("on_behalf_of: once", person("once")),
        ("on_behalf_of: never", person("never")),
        (
            "created_at: a day, in the middle",
            Filter { from: at(half), to: at(half + 8_640), ..every() },
        ),
        ("created_at: before all", Filter { to: at(0), ..every() }),
        ("q: in most tools", text("shop")),
        ("q: in an error", text("connector")),
        ("q: in an error, once", text("undo_conf")),
        ("q: never", text("nothing at all")),
        ("shadow_differs", Filter { shadow_differs: Some(ShadowDiffers), ..every() }),
        ("agent and tool, 2 % and 4 %", Filter { agent: Some(agent(7)), ..tool("shop.tool-7") }),
        (
            "agent and verdict MISMATCH",
            Filter { agent: Some(agent(7)), ..verdict(Verdict::Mismatch) },
        ),
        ("agent and tool that never meet", Filter { agent: Some(agent(7)), ..tool("shop.tool-5") }),
        ("agent and `q` that never meet", Filter { agent: Some(agent(7)), ..text("tool-5") }),
        (
            "deny and VERIFIED, which exclude each other",
            Filter { decisions: vec![DecisionOutcome::Deny], ..verdict(Verdict::Verified) },
        ),
    ]
}

// One agent in 50 is as busy as the next, but the last has one action; tools are used unevenly; the
// agent of number 7 never uses the tool of number 5.
const SEED: &str = "
    insert into action
        (org_id, id, created_at, agent_id, tool, mode, state, status, on_behalf_of, outcome,
         shadow_outcome, approval_status, approval_expires_at, execution_status, error_code,
         verdict, level, deed_id, record)
    select $1, id, at, ($2::uuid[])[case when n = 1 then 51 else n % 50 + 1 end], tool, 'gateway',
        state, case state when 'pending_approval' then state when 'executing' then 'processing'
            else case when outcome = 'deny' then 'denied' when failed then 'failed'
            else 'executed' end end,
        case when n = 2 then 'once' when n % 10 = 0 then 'person-' || n / 10 % 5 end, outcome,
        case when n % 200 = 0 then 'require_approval' else outcome end,
        case when state = 'pending_approval' then 'pending' end,
        case when state = 'pending_approval' then at + interval '1 day' end,
        case when state = 'executing' then 'running' when ran and failed then 'failed'
            when ran then 'succeeded' end,
        case when n = 3 then 'undo_conflict' when ran and failed
            then (array['tool_error', 'connector_unreachable', 'lock_timeout'])[n / 100 % 3 + 1] end,
        case when ran then case when n = 4 then 'MISMATCH' when n % 3 = 0 then 'UNVERIFIABLE'
            else 'VERIFIED' end end,
        case when ran then case when n % 3 = 0 then 'L0' else 'L1' end end,
        case when state = 'sealed' then id end, $3::text
    from (
        select *, state = 'sealed' and outcome <> 'deny' as ran, n % 100 = 53 as failed
        from (
            select n, to_timestamp(($5::bigint + n * $6::bigint) / 1000.0) as at,
                (lpad(to_hex($5::bigint + n * $6::bigint), 12, '0') || '70008000'
                    || lpad(to_hex(n), 12, '0'))::uuid as id,
                case when n = 5 then 'rare.once' when n % 50 = 7 and tool = 5 then 'shop.tool-6'
                    else 'shop.tool-' || tool end as tool,
                case when n = 6 then 'executing' when n % 20011 = 8 then 'pending_approval'
                    else 'sealed' end as state,
                case when n % 20011 = 8 then 'require_approval' when n % 100 < 8 and n > 8 then 'deny'
                    when n % 100 < 10 and n > 8 then 'require_approval' else 'allow' end as outcome
            from (
                select n, least(n * 48271 % 65537 % 40, n * 69621 % 65521 % 40) as tool
                from generate_series(0, $4::bigint - 1) as n
            ) as numbered
        ) as drawn
    ) as made";
