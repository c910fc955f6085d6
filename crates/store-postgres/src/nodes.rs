//! Questions to every org, of a database that keeps orgs on several nodes of which some may be away.
//!
//! Such a question goes to all orgs at once. Where it fails because a node does not answer, it is put to
//! the orgs of one node after the other, and the answers of those that are there count.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use ledger::StoreDown;
use model::OrgId;
use tokio::time::Instant;
use tokio_postgres::{Row, error::SqlState};
use uuid::Uuid;

use crate::{
    PostgresStore,
    database::{Call, Database},
    fault::Fault,
    rows::Cells,
};

/// The orgs that a question is put to, as its first value; null means all of them.
pub(crate) type Orgs = Option<Vec<Uuid>>;

/// What came back of a question to every org.
#[derive(Debug, Default)]
pub(crate) struct Reached {
    pub(crate) rows: Vec<Row>,
    /// The orgs on nodes that did not answer.
    pub(crate) unreached: Vec<OrgId>,
    /// Why the question to all failed, where no node answered.
    pub(crate) failed: Option<StoreDown>,
}

impl Reached {
    /// The answers, if there are any.
    fn by_any(self) -> Result<Self, StoreDown> {
        match self.failed {
            Some(down) => Err(down),
            None => Ok(self),
        }
    }
}

/// The orgs of each node.
pub(crate) type OrgsOfNodes = Arc<Vec<Vec<Uuid>>>;

/// What is known of the nodes of a database.
#[derive(Debug, Clone, Default)]
enum Known {
    /// It was not asked yet.
    #[default]
    Nothing,
    /// It has one.
    OneNode,
    /// The orgs of each, as they were told at this moment.
    Nodes(Instant, OrgsOfNodes),
}

/// What a database last said of its nodes.
#[derive(Debug, Default)]
pub(crate) struct NodeCache(Mutex<Known>);

impl NodeCache {
    fn known(&self) -> Known {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn keep(&self, known: Known) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = known;
    }
}

/// How long it is remembered which orgs are on which node. Orgs that are made meanwhile are reached
/// again once the node is.
const KNOWN_FOR: Duration = Duration::from_secs(10);

/// Every org that a table on every node names: by its name, its keys or its members.
pub(crate) const KNOWN: &str = "
    select org_id from org_name
    union select org_id from api_key_org
    union select org_id from membership";

const HAS_CITUS: &str =
    "select exists (select from pg_extension where extname = 'citus') as has_citus";

/// Citus keeps the place of each part of a table in its catalogue; of several copies one will do.
pub(crate) const PLACES: &str = "
    select array_agg(placed.org_id) as orgs
    from (
        select asked.org_id, min(placement.groupid) as node
        from unnest($1::uuid[]) as asked (org_id)
        join pg_dist_placement as placement
            on placement.shardid = get_shard_id_for_distribution_column('org', asked.org_id)
        group by asked.org_id
    ) as placed
    group by placed.node";

impl Database {
    /// The answers of all orgs that can be reached; an error where none can.
    pub(crate) async fn ask_every_org<'a>(
        &self,
        attempt: &'static str,
        question: impl Fn(Orgs) -> Call<'a>,
    ) -> Result<Reached, StoreDown> {
        self.reach_every_org(attempt, question, None).await?.by_any()
    }

    /// The same of a question that may take this long, with the server's own limit set to it.
    pub(crate) async fn ask_every_org_at_leisure<'a>(
        &self,
        attempt: &'static str,
        question: impl Fn(Orgs) -> Call<'a>,
        limit: Duration,
    ) -> Result<Reached, StoreDown> {
        self.reach_every_org(attempt, question, Some(limit)).await?.by_any()
    }

    /// The answers of all orgs that can be reached, and which cannot, be it all of them.
    pub(crate) async fn reach_every_org<'a>(
        &self,
        attempt: &'static str,
        question: impl Fn(Orgs) -> Call<'a>,
        limit: Option<Duration>,
    ) -> Result<Reached, StoreDown> {
        let down = match self.put(attempt, question(None), limit).await {
            Ok(rows) => return Ok(Reached { rows, ..Reached::default() }),
            Err(down) => down,
        };
        // Of a database with one node, its own error is the one that counts.
        let Some(nodes) = self.nodes_behind(attempt, &down).await else { return Err(down) };
        let (mut reached, mut answers) = (Reached::default(), 0_usize);
        for orgs in nodes.iter() {
            match self.put(attempt, question(Some(orgs.clone())), limit).await {
                Ok(rows) => {
                    answers += 1;
                    reached.rows.extend(rows);
                }
                Err(failed) if is_of_a_node(&failed) => {
                    reached.unreached.extend(orgs.iter().copied().map(OrgId::from_uuid));
                }
                Err(failed) => return Err(failed),
            }
        }
        reached.failed = (answers == 0).then_some(down);
        Ok(reached)
    }

    /// The orgs of each node, where a node that does not answer may be the reason of this failure.
    pub(crate) async fn nodes_behind(
        &self,
        attempt: &'static str,
        down: &StoreDown,
    ) -> Option<OrgsOfNodes> {
        if !is_of_a_node(down) {
            return None;
        }
        self.nodes(attempt).await.ok().flatten()
    }

    async fn put(
        &self,
        attempt: &'static str,
        call: Call<'_>,
        limit: Option<Duration>,
    ) -> Result<Vec<Row>, StoreDown> {
        match limit {
            Some(limit) => self.query_with_timeout(attempt, call, limit).await,
            None => self.ask_one(attempt, call).await,
        }
    }

    /// The orgs of each node, `None` of a database that has one.
    async fn nodes(&self, attempt: &'static str) -> Result<Option<OrgsOfNodes>, StoreDown> {
        match self.nodes.known() {
            Known::OneNode => return Ok(None),
            Known::Nodes(at, nodes) if at.elapsed() < KNOWN_FOR => return Ok(Some(nodes)),
            Known::Nodes(..) | Known::Nothing => {}
        }
        let nodes = self.told_nodes(attempt).await?;
        let told = nodes.clone().map(|nodes| Known::Nodes(Instant::now(), nodes));
        self.nodes.keep(told.unwrap_or(Known::OneNode));
        Ok(nodes)
    }

    async fn told_nodes(&self, attempt: &'static str) -> Result<Option<OrgsOfNodes>, StoreDown> {
        let has_citus = |row| Cells::of("pg_extension", row).get::<bool>("has_citus");
        let rows = self.ask_one(attempt, Call::new(HAS_CITUS)).await?;
        let found = rows.first().map(has_citus).transpose().map_err(|fault| fault.down(attempt))?;
        if found != Some(true) {
            return Ok(None);
        }
        let org = |row| Cells::of("org_name", row).get::<Uuid>("org_id");
        let rows = self.ask_one(attempt, Call::new(KNOWN)).await?;
        let orgs = rows.iter().map(org).collect::<Result<Vec<_>, _>>();
        let orgs = orgs.map_err(|fault| fault.down(attempt))?;
        let of_node = |row| Cells::of("pg_dist_placement", row).get::<Vec<Uuid>>("orgs");
        let rows = self.ask_one(attempt, Call::new(PLACES).with(orgs)).await?;
        let nodes = rows.iter().map(of_node).collect::<Result<Vec<_>, _>>();
        Ok(Some(Arc::new(nodes.map_err(|fault| fault.down(attempt))?)))
    }
}

impl PostgresStore {
    /// What every org that can be reached answers, each row read in this way.
    pub(crate) async fn all_orgs<'a, T>(
        &self,
        attempt: &'static str,
        question: impl Fn(Orgs) -> Call<'a> + Send + Sync,
        read: impl Fn(&Row) -> Result<T, Fault> + Send + Sync,
    ) -> Result<Vec<T>, StoreDown> {
        let Reached { rows, .. } = self.database.ask_every_org(attempt, question).await?;
        rows.iter().map(read).collect::<Result<_, _>>().map_err(|fault| fault.down(attempt))
    }
}

/// Whether a node that does not answer may be the reason of this failure: the database says so, or it
/// waited until the time of the statement, or that of the caller, was over.
pub(crate) fn is_of_a_node(down: &StoreDown) -> bool {
    match down.source.downcast_ref() {
        Some(Fault::Late(_)) => true,
        Some(Fault::Refused { code, .. }) => *code == SqlState::QUERY_CANCELED || is_away(code),
        Some(_) | None => false,
    }
}

/// Whether an error that the database answered says that a connection of its own failed (class 08) or
/// ended.
pub(crate) fn is_away(code: &SqlState) -> bool {
    const ENDED: [SqlState; 3] =
        [SqlState::ADMIN_SHUTDOWN, SqlState::CRASH_SHUTDOWN, SqlState::CANNOT_CONNECT_NOW];
    code.code().starts_with("08") || ENDED.contains(code)
}
