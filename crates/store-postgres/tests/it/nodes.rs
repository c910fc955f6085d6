//! A database on two nodes, one of which is away: what is asked of all orgs is answered by those that can
//! be reached. Two rules of PostgreSQL's own stand in for the nodes.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use admin::AccountStore as _;
use delivery::DeliveryStore as _;
use evidence::{EvidenceStore as _, Of};
use gate::{ActionStore as _, FigureStore as _, HeldLease, Sweep};
use ledger::{AppendError, Changes, LedgerStore as _, record::Action};
use model::{CheckId, OrgId};
use people::store::PeopleStore as _;
use records::{ChainCheck, CheckStatus, CheckStore as _, LogStore as _};
use store_postgres::{PostgresStore, Survey, look, testing::TestDatabase};
use testkit::{Scribe, sample};
use tokio_postgres::Client;

use crate::world::{settings, store};

const TWO_NODES: &str = include_str!("two_nodes.sql");
const WORK: &str = include_str!("nodes/work.sql");

/// A record of several orgs on each node.
struct World {
    database: TestDatabase,
    store: Arc<PostgresStore>,
    owner: Client,
    scribes: Vec<Scribe>,
}

impl World {
    async fn new() -> Option<Self> {
        let (database, store) = store().await?;
        let owner = database.owner().await;
        owner.batch_execute(TWO_NODES).await.unwrap();
        let mut world = Self { database, store, owner, scribes: Vec::new() };
        for seed in 0.. {
            let scribe = Scribe::created(seed, &*world.store).await;
            world.scribes.push(scribe);
            if world.orgs_of(0).len() > 1 && world.orgs_of(1).len() > 1 {
                break;
            }
        }
        Some(world)
    }

    async fn takes_away(&self, node: usize) {
        let node = i32::try_from(node).unwrap();
        self.owner.execute("insert into node_away values ($1, false)", &[&node]).await.unwrap();
    }

    async fn brings_back(&self) {
        self.owner.execute("delete from node_away", &[]).await.unwrap();
    }

    /// The orgs of a node, in order.
    fn orgs_of(&self, node: usize) -> Vec<OrgId> {
        let orgs = self.scribes.iter().map(|scribe| scribe.org);
        sorted(orgs.filter(|org| node_of(*org) == node).collect())
    }
}

fn node_of(org: OrgId) -> usize {
    usize::from(org.as_uuid().as_bytes()[15] % 2)
}

fn sorted(mut orgs: Vec<OrgId>) -> Vec<OrgId> {
    orgs.sort();
    orgs
}

/// A new action of a new agent of this name, and what begins it.
async fn acts(store: &PostgresStore, scribe: &mut Scribe, name: &str) -> Action {
    let agent = scribe.agent(name);
    scribe.append(store, vec![Changes::from(agent.clone())]).await.unwrap();
    let (request, _) = sample::request(&serde_json::json!({}), &scribe.mint());
    sample::action(&agent, request, &scribe.mint())
}

/// What every question to all orgs finds of each.
async fn work(world: &mut World) {
    for scribe in &mut world.scribes {
        let store = &*world.store;
        let reported = acts(store, scribe, "reports").await;
        let reported = sample::authorized(&reported, scribe.now);
        let waiting = acts(store, scribe, "waits").await;
        let waiting = sample::waiting(&waiting, scribe.now, &scribe.mint());
        let running = acts(store, scribe, "runs").await;
        let begun = [reported, waiting, running].map(|action| sample::begun(action, vec![]));
        scribe.append(store, Vec::from(begun)).await.unwrap();
        let check = ChainCheck {
            id: scribe.mint().id(CheckId::from_uuid),
            org: scribe.org,
            created_at: scribe.now,
            status: CheckStatus::Queued,
            log: None,
            from_seq: 0,
            end_seq: 1,
            checkpoint: None,
            checked: 0,
            archived: 0,
            finished_at: None,
            first_bad: None,
        };
        store.ask_check(&check).await.unwrap();
    }
    world.owner.batch_execute(WORK).await.unwrap();
    let over = "
        update action set lease_until = date_trunc('milliseconds', now() - interval '1 second')
        where lease_until is not null";
    world.owner.batch_execute(over).await.unwrap();
}

/// The orgs of what is due, which is asked for one by one, so that every answer but the last is cut off.
async fn due(store: &PostgresStore, sweep: Sweep) -> Vec<OrgId> {
    let (mut found, mut after) = (Vec::new(), None);
    loop {
        let due = store.due(sweep, after, 1).await.unwrap();
        let Some(last) = due.last() else { return found };
        assert_eq!(due.len(), 1);
        found.push(last.org);
        after = Some(last.place());
    }
}

/// What each question to all orgs finds now, by its name.
async fn answers(world: &World) -> BTreeMap<&'static str, Vec<OrgId>> {
    let store = &*world.store;
    let orgs_in = async |sql: &str| {
        let rows = world.owner.query(sql, &[]).await.unwrap();
        rows.iter().map(|row| OrgId::from_uuid(row.get(0))).collect::<Vec<_>>()
    };
    let mut checks = Vec::new();
    while let Some(check) = store.take_check().await.unwrap() {
        checks.push(check.org);
    }
    store.sweep_deliveries(Duration::from_secs(1), 99).await.unwrap();
    let closed = "select org_id from webhook_lane where not is_open and due_at is null";
    let swept = orgs_in(closed).await;
    let reset = "update webhook_lane set due_at = now() where not is_open;
        update chain_check set status = 'queued'";
    world.owner.batch_execute(reset).await.unwrap();
    let counted = store.count_up(None, 99, 99).await.unwrap();
    assert!(counted.failed.is_none(), "{counted:?}");
    let marked = orgs_in("delete from tally_mark returning org_id").await;
    let waiting = store.waiting_endpoints((false, Duration::from_secs(1)), 99).await.unwrap();
    let logs = store.logs().await.unwrap();
    let voids = store.voiding(99).await.unwrap();
    let own = |of: Of| of.org;
    let found = BTreeMap::from([
        ("reports", due(store, Sweep::Reports).await),
        ("approvals", due(store, Sweep::Approvals).await),
        ("takeovers", due(store, Sweep::Takeovers).await),
        ("evidence", due(store, Sweep::Evidence).await),
        ("voids", voids.iter().map(|voiding| voiding.org).collect()),
        ("chain checks", checks),
        ("closed endpoints", swept),
        ("counts", marked),
        ("endpoints", waiting.iter().map(|(org, _)| *org).collect()),
        ("logs", logs.sizes.iter().map(|log| log.of.org).collect()),
        ("change logs", store.followed_logs().await.unwrap().into_iter().map(own).collect()),
        ("kept change logs", store.kept_logs().await.unwrap().into_iter().map(own).collect()),
        ("orgs", store.orgs().await.unwrap().found.iter().map(|org| org.id).collect()),
    ]);
    found.into_iter().map(|(name, orgs)| (name, sorted(orgs))).collect()
}

#[tokio::test]
async fn what_is_asked_of_all_orgs_is_answered_by_those_that_can_be_reached() {
    let Some(mut world) = World::new().await else { return };
    work(&mut world).await;
    let store = Arc::clone(&world.store);
    let is_so = async |there: &[OrgId], lost: &[OrgId]| {
        for (name, orgs) in answers(&world).await {
            assert_eq!(orgs, there, "{name}");
        }
        let (orgs, logs) = (store.orgs().await.unwrap(), store.logs().await.unwrap());
        assert_eq!((&*sorted(orgs.unreached), &*sorted(logs.unreached)), (lost, lost));
        let (unreached, is_reached) = (lost.len(), true);
        let survey = Survey { is_ahead: false, unreached, is_reached };
        assert_eq!(store.survey().await.unwrap(), survey);
        let secrets = store.sealed_secrets(&[]).await.unwrap();
        assert_eq!(secrets.unknown_credentials, there.len() as u64);
        assert_eq!(secrets.unreached_orgs, lost.len() as u64);
        let parts = store.parts().await.unwrap();
        assert_eq!(parts.iter().map(|part| part.deeds).sum::<u64>(), 256 * there.len() as u64);
        assert!(store.has_open_lanes().await.unwrap());
    };
    let (first, second) = (world.orgs_of(0), world.orgs_of(1));
    let all = sorted([first.clone(), second.clone()].concat());
    is_so(&all, &[]).await;
    for (node, lost, there) in [(0, &first, &second), (1, &second, &first)] {
        world.takes_away(node).await;
        is_so(there, lost).await;
        world.brings_back().await;
    }
    is_so(&all, &[]).await;

    world.takes_away(0).await;
    world.takes_away(1).await;
    let down = store.logs().await.unwrap_err();
    assert!(format!("{:?}", down.source).contains("08006"), "{down:?}");
    let nobody = Survey { is_ahead: false, unreached: all.len(), is_reached: false };
    assert_eq!(store.survey().await.unwrap(), nobody);
}

#[tokio::test]
async fn a_node_that_answers_nothing_is_given_up() {
    let Some(world) = World::new().await else { return };
    let mut settings = settings(&world.database);
    settings.deadline = Duration::from_secs(3);
    let impatient = PostgresStore::new(&settings).unwrap();
    assert_eq!(impatient.logs().await.unwrap().unreached, []);
    world.owner.execute("insert into node_away values (1, true)", &[]).await.unwrap();
    let logs = impatient.logs().await.unwrap();
    assert_eq!(sorted(logs.unreached), world.orgs_of(1));
    assert_eq!(sorted(logs.sizes.iter().map(|log| log.of.org).collect()), world.orgs_of(0));
}

#[tokio::test]
async fn a_node_that_is_away_keeps_the_orgs_of_others_from_nothing() {
    let Some(mut world) = World::new().await else { return };
    let mut held = Vec::new();
    for scribe in &mut world.scribes {
        let action = acts(&world.store, scribe, "runs").await;
        let lease = action.lease.clone().unwrap();
        held.push(HeldLease { org: scribe.org, action: action.id, lease });
        scribe.append(&*world.store, vec![sample::begun(action, vec![])]).await.unwrap();
    }
    assert_eq!(world.store.renew(&held).await.unwrap().renewed.len(), held.len());
    world.takes_away(1).await;
    let store = Arc::clone(&world.store);
    for scribe in &mut world.scribes {
        let agent = scribe.agent("new");
        let turn = scribe.turn(vec![Changes::from(agent)]);
        let appended = store.append(&turn).await;
        if node_of(scribe.org) == 0 {
            appended.unwrap();
        } else {
            assert!(matches!(appended, Err(AppendError::Down(_))), "{appended:?}");
            assert!(store.logs().await.unwrap().of(scribe.org).is_err());
        }
    }
    let renewed = store.renew(&held).await.unwrap().renewed;
    assert_eq!(sorted(renewed.iter().map(|it| it.org).collect()), world.orgs_of(0));

    let looked = look(&settings(&world.database), &[]).await.unwrap();
    assert_eq!(sorted(looked.unreached), world.orgs_of(1));
    assert!(looked.findings.iter().all(|finding| finding.violations == 0));
    world.brings_back().await;
    assert_eq!(look(&settings(&world.database), &[]).await.unwrap().unreached, []);
}

#[tokio::test]
async fn an_error_of_a_database_with_one_node_is_its_own() {
    let Some((database, store)) = store().await else { return };
    let _scribe = Scribe::created(1, &*store).await;
    let owner = database.owner().await;
    let fails = "
        create function fails(org uuid) returns boolean language plpgsql as
            $$ begin raise exception 'as if' using errcode = '08006'; end $$;
        alter table org_head enable row level security;
        create policy fails on org_head using (fails(org_id))";
    owner.batch_execute(fails).await.unwrap();
    let down = store.survey().await.unwrap_err();
    assert!(format!("{:?}", down.source).contains("as if"), "{down:?}");
}

#[tokio::test]
async fn a_transaction_that_a_deadlock_rolled_back_is_tried_once_more() {
    let Some((database, store)) = store().await else { return };
    let owner = database.owner().await;
    // As often as the table says, writing somebody fails as a deadlock does.
    let fails = "
        create table deadlocks (count integer);
        create sequence deadlock;
        grant select on deadlocks to public;
        grant usage on deadlock to public;
        create function fails() returns trigger language plpgsql as $$ begin
            if nextval('deadlock') <= (select max(count) from deadlocks) then
                raise exception 'deadlock detected' using errcode = '40P01';
            end if;
            return new;
        end $$;
        create trigger fails before insert on sign_in_count for each row execute function fails()";
    owner.batch_execute(fails).await.unwrap();
    let count = async || store.count(&[1; 32], Duration::from_mins(1)).await;
    let set = async |count: i32| {
        owner.execute("insert into deadlocks values ($1)", &[&count]).await.unwrap();
    };
    set(1).await;
    assert_eq!(count().await.unwrap().0, 1);
    set(4).await;
    let down = count().await.unwrap_err();
    assert!(format!("{:?}", down.source).contains("40P01"), "{down:?}");
    assert_eq!(count().await.unwrap().0, 2);
}
