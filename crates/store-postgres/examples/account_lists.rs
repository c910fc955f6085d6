//! Measures the lists of agents, keys, used intents, members and sessions at 100,000 rows each,
//! beside the read of one agent by its id: `cargo xtask bench lists`. The rows are made by SQL
//! statements; each list is asked for its first page and for one in the middle.
#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a program that measures: it prints, stops at the first fault, and looks at the clock"
)]

use std::time::{Duration, Instant};

use admin::{AccountStore, AgentList, AgentPlace, MemberStore};
use crypto::Secret;
use gate::{ActionStore, IntentFilter};
use ledger::{Changes, record::Holder};
use model::{ActionId, AgentId, AgentStatus, KeyId, MemberId, OrgId, SessionId, Timestamp, UserId};
use people::{IDLE, store::PeopleStore};
use store_postgres::{PostgresStore, Settings, testing::TestDatabase};
use testkit::{Scribe, sample};
use tokio_postgres::Client;
use uuid::Uuid;

const PAGE: usize = 20;
/// When the first row was made, 2025-06-01; one follows every second.
const FIRST: i64 = 1_748_736_000_000;

/// The id of the row of this number, in every table.
fn id(number: i64) -> Uuid {
    const NONE: Uuid = Uuid::from_u128(0x0190_0000_0000_7000_8000_0000_0000_0000);
    Uuid::from_u128(NONE.as_u128() + u128::try_from(number).unwrap())
}

/// When the row of this number was made.
fn made(number: i64) -> Timestamp {
    Timestamp::from_unix_millis(FIRST + number * 1000)
}

/// How many rows there are of each kind, and how often each list is asked for.
#[derive(Clone, Copy)]
struct Size {
    rows: i64,
    rounds: usize,
}

impl Size {
    /// What figures need, or with `--smoke` only what shows that every list is answered.
    fn asked() -> Self {
        if std::env::args().any(|argument| argument == "--smoke") {
            return Self { rows: 1_000, rounds: 1 };
        }
        Self { rows: 100_000, rounds: 400 }
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let Some(database) = TestDatabase::new().await else { return };
    let mut settings = Settings::new(Secret::new(database.url()));
    settings.deadline = Duration::from_secs(20);
    let store = PostgresStore::new(&settings).unwrap();
    let lists = Lists::seeded(store, &database.owner().await, Size::asked()).await;
    println!("| list | shown | p50 ms | p99 ms | read by id: p50 | p99 | p50 / p50 |");
    println!("|---|---|---|---|---|---|---|");
    for (name, list) in LISTS {
        lists.measure(name, *list).await;
    }
}

/// What is listed.
#[derive(Clone, Copy)]
enum List {
    Agents { status: Option<AgentStatus>, named: Option<&'static str>, middle: bool },
    Keys { middle: bool },
    OrgKeys { middle: bool },
    Intents { of_agent: bool, middle: bool },
    Members { middle: bool },
    Sessions { middle: bool },
}

const NEWEST: List = List::Agents { status: None, named: None, middle: false };
const STOPPED: List =
    List::Agents { status: Some(AgentStatus::Stopped), named: None, middle: false };

const LISTS: &[(&str, List)] = &[
    ("agents", NEWEST),
    ("agents, in the middle", List::Agents { status: None, named: None, middle: true }),
    ("agents, stopped: none", STOPPED),
    (
        "agents, by the beginning of the name",
        List::Agents { status: None, named: Some("agent-7"), middle: false },
    ),
    ("keys of one agent", List::Keys { middle: false }),
    ("keys of one agent, in the middle", List::Keys { middle: true }),
    ("keys of the org's own", List::OrgKeys { middle: false }),
    ("keys of the org's own, in the middle", List::OrgKeys { middle: true }),
    ("used intents", List::Intents { of_agent: false, middle: false }),
    ("used intents, in the middle", List::Intents { of_agent: false, middle: true }),
    ("used intents of one agent: few", List::Intents { of_agent: true, middle: false }),
    ("members", List::Members { middle: false }),
    ("members, in the middle", List::Members { middle: true }),
    ("sessions of one person", List::Sessions { middle: false }),
    ("sessions of one person, in the middle", List::Sessions { middle: true }),
];

/// A store with many rows of each kind in one org.
struct Lists {
    store: PostgresStore,
    org: OrgId,
    agent: AgentId,
    size: Size,
}

impl Lists {
    async fn seeded(store: PostgresStore, owner: &Client, size: Size) -> Self {
        let rows = size.rows;
        let mut scribe = Scribe::created(1, &store).await;
        let agent = scribe.agent("first");
        let key = sample::api_key(scribe.org, Holder::Agent(agent.id), &scribe.mint());
        let [agent_record, key_record] =
            [serde_json::to_string(&agent), serde_json::to_string(&key)].map(Result::unwrap);
        scribe.append(&store, vec![Changes::from(agent.clone())]).await.unwrap();
        let (org, holder) = (*scribe.org.as_uuid(), *agent.id.as_uuid());
        owner.execute(AGENTS, &[&org, &agent_record, &rows, &FIRST]).await.unwrap();
        owner.execute(KEYS, &[&org, &holder, &key_record, &rows, &FIRST]).await.unwrap();
        let own = sample::api_key(scribe.org, Holder::Org, &scribe.mint());
        let own_record = serde_json::to_string(&own).unwrap();
        owner.execute(ORG_KEYS, &[&org, &own_record, &rows, &FIRST]).await.unwrap();
        owner.execute(INTENTS, &[&org, &holder, &rows, &FIRST]).await.unwrap();
        owner.execute(PEOPLE, &[&rows]).await.unwrap();
        owner.execute(MEMBERS, &[&org, &rows, &FIRST]).await.unwrap();
        owner.execute(SESSIONS, &[&id(1), &rows]).await.unwrap();
        owner.batch_execute("vacuum analyze").await.unwrap();
        Self { store, org: scribe.org, agent: agent.id, size }
    }

    /// Reads a page and returns how much it shows.
    async fn page(&self, list: List) -> usize {
        let (store, org, half) = (&self.store, self.org, self.size.rows / 2);
        let behind = |middle: bool| middle.then(|| (made(half), id(half)));
        match list {
            List::Agents { status, named, middle } => {
                let after = behind(middle).map(|(created_at, id)| AgentPlace {
                    created_at,
                    name: String::new(),
                    id: AgentId::from_uuid(id),
                });
                let named = named.map(str::to_owned);
                let asked = AgentList { status, archived: false, named, after };
                store.agents(org, &asked, PAGE).await.unwrap().len()
            }
            List::Keys { middle } => {
                let after = behind(middle).map(|(at, id)| (at, KeyId::from_uuid(id)));
                store.keys_of(org, Holder::Agent(self.agent), after, PAGE).await.unwrap().len()
            }
            List::OrgKeys { middle } => {
                let after = behind(middle).map(|(at, _)| (at, KeyId::from_uuid(Uuid::max())));
                store.keys_of(org, Holder::Org, after, PAGE).await.unwrap().len()
            }
            List::Intents { of_agent, middle } => {
                let filter = IntentFilter {
                    agent: of_agent.then_some(self.agent),
                    ..IntentFilter::default()
                };
                let after = behind(middle).map(|(_, id)| ActionId::from_uuid(id));
                store.used_intents(org, &filter, after, PAGE).await.unwrap().len()
            }
            List::Members { middle } => {
                let after = behind(middle).map(|(at, id)| (at, MemberId::from_uuid(id)));
                store.members(org, after, PAGE).await.unwrap().len()
            }
            List::Sessions { middle } => {
                let below = behind(middle).map(|(_, id)| SessionId::from_uuid(id));
                let user = UserId::from_uuid(id(1));
                store.sessions(user.into(), IDLE, below, PAGE).await.unwrap().len()
            }
        }
    }

    /// Reads the list and an agent by its id in turns, and prints a row of the table.
    async fn measure(&self, name: &str, list: List) {
        let (mut pages, mut reads, mut shown) = (Vec::new(), Vec::new(), 0);
        for round in 0..self.size.rounds + 20 {
            let begun = Instant::now();
            shown = self.page(list).await;
            let listed = begun.elapsed();
            let begun = Instant::now();
            self.store.agent(self.org, self.agent).await.unwrap().unwrap();
            // The first rounds warm the caches.
            if round >= 20 {
                pages.push(listed);
                reads.push(begun.elapsed());
            }
        }
        let [page50, page99, read50, read99] =
            [(&pages, 50), (&pages, 99), (&reads, 50), (&reads, 99)].map(|(times, percent)| {
                let mut times = times.clone();
                times.sort_unstable();
                times.get(times.len() * percent / 100).map_or(0.0, |time| time.as_secs_f64() * 1e3)
            });
        println!(
            "| {name} | {shown} | {page50:.2} | {page99:.2} | {read50:.2} | {read99:.2} | {:.1} |",
            page50 / read50
        );
    }
}

const AGENTS: &str = "
    insert into agent (org_id, id, name, created_at, record)
    select $1, ('01900000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, 'agent-' || n,
        to_timestamp(($4::bigint + n * 1000) / 1000.0), $2::text
    from generate_series(1, $3::bigint) as n";
const KEYS: &str = "
    insert into api_key (org_id, id, agent_id, created_at, record)
    select $1, ('01900000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, $2,
        to_timestamp(($5::bigint + n * 1000) / 1000.0), $3::text
    from generate_series(1, $4::bigint) as n";
const ORG_KEYS: &str = "
    insert into api_key (org_id, id, created_at, record)
    select $1, ('01900000-0000-7000-8001-' || lpad(to_hex(n), 12, '0'))::uuid,
        to_timestamp(($4::bigint + n * 1000) / 1000.0), $2::text
    from generate_series(1, $3::bigint) as n";
// One in a thousand is the first agent's.
const INTENTS: &str = "
    insert into used_intent
        (org_id, action_id, agent_id, kid, digest, nonce, issued_at, expires_at, used_at)
    select $1, id, case when n % 1000 = 0 then $2 else id end, 'kid', sha256('x'), sha256('x'), at,
        at + interval '1 minute', at
    from (select n, ('01900000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid as id,
            to_timestamp(($4::bigint + n * 1000) / 1000.0) as at
        from generate_series(1, $3::bigint) as n) as numbered";
const PEOPLE: &str = "
    insert into person (user_id, address, created_at)
    select ('01900000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid,
        'person-' || n || '@example.com', now()
    from generate_series(1, $1::bigint) as n";
const MEMBERS: &str = "
    insert into member (org_id, id, user_id, role, can_approve, joined_at, revision)
    select $1, id, id, 'viewer', false, to_timestamp(($3::bigint + n * 1000) / 1000.0), 1
    from (select n, ('01900000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid as id
        from generate_series(1, $2::bigint) as n) as numbered";
const SESSIONS: &str = "
    insert into session (id, user_id, mac, created_at, authenticated_at, last_seen_at, expires_at,
        network, browser)
    select id, $1, sha256(uuid_send(id)), now(), now(), now(), now() + interval '7 days',
        '203.0.113.0/24', 'Firefox'
    from (select ('01900000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid as id
        from generate_series(1, $2::bigint) as n) as numbered";
