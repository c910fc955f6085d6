//! The walk through all logs beside a store that fails.

use std::sync::Arc;

use admin::{Candidate, ConnectorCheck, KnownTools, NewAgent, NewOrg, UnfitError};
use async_trait::async_trait;
use futures_util::future::join_all;
use records::{Position, Records, Walked};
use testkit::{Fixture, Operator};

const READ: &str = "read the deeds of a log";

struct NoConnectors;

#[async_trait]
impl ConnectorCheck for NoConnectors {
    async fn check(&self, _: Candidate<'_>) -> Result<KnownTools, UnfitError> {
        Ok(KnownTools::new())
    }
}

struct World {
    fixture: Fixture,
    records: Records,
    at: Position,
}

impl World {
    /// So many orgs, each with more deeds than one step looks at.
    async fn with_orgs(orgs: usize) -> Self {
        let fixture = Fixture::new(41);
        let admin = fixture.admin(Arc::new(NoConnectors));
        for number in 0..orgs {
            let new = NewOrg { name: format!("Acme {number}"), time_zone: "UTC".to_owned() };
            let org = admin.operate(&Operator).create_org(new).await.unwrap().org.id;
            let operator = admin.operate(&Operator).org(org);
            let agents = (0..300).map(|number| NewAgent::named(format!("agent-{number}")));
            join_all(agents.map(|agent| operator.create_agent(agent))).await;
        }
        let records = Records::new(fixture.store.clone(), fixture.ledger.clone());
        Self { fixture, records, at: Position::default() }
    }

    /// One step of the walk; nothing for one that failed.
    async fn step(&mut self) -> Option<Walked> {
        self.records.walk_on(&mut self.at, &self.fixture.sealer.registered()).await.ok()
    }

    /// How many steps a walk has up to its end, and how it ends.
    async fn walk(&mut self) -> (usize, Walked) {
        let mut steps = 0;
        loop {
            steps += 1;
            if let Some(end @ (Walked::Through | Walked::Partly)) = self.step().await {
                return (steps, end);
            }
        }
    }
}

#[tokio::test]
async fn a_read_that_fails_costs_the_walk_no_more_than_its_own_step() {
    let mut world = World::with_orgs(2).await;
    let (steps, end) = world.walk().await;
    assert!(steps >= 4 && end == Walked::Through, "{steps} steps, {end:?}");

    for before in 0..steps {
        for _ in 0..before {
            assert_eq!(world.step().await, Some(Walked::On));
        }
        world.fixture.store.fail_next(READ, 9);
        for _ in 0..9 {
            assert_eq!(world.step().await, None);
        }
        assert_eq!(world.walk().await, (steps - before, Walked::Through), "after {before} steps");
    }
}

#[tokio::test]
async fn a_log_that_cannot_be_read_at_all_is_passed_over_and_told_of() {
    let mut world = World::with_orgs(2).await;
    let (whole, _) = world.walk().await;
    world.fixture.store.fail_next(READ, 10);
    for _ in 0..10 {
        assert_eq!(world.step().await, None);
    }
    let (steps, end) = world.walk().await;
    assert_eq!((steps, end), (whole / 2, Walked::Partly), "the other org's log was looked at");
    assert_eq!(world.walk().await, (whole, Walked::Through));
}
