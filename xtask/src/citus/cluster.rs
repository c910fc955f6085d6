//! A Citus cluster of three servers on this machine, which goes when the run ends.

use super::psql::Psql;
use super::{DATABASE, ROLE};
use crate::failure::{Failure, Result};
use crate::pg::{Checkpoints, Cluster, Launcher, Place};

/// How many shards each table is cut into: a statement of as many tasks asks every one.
pub(super) const SHARDS: u32 = 8;

/// What makes a server a node. Nodes of one machine need no TLS between them, which Citus would
/// otherwise demand.
pub(super) const SETTINGS: &str = "\
shared_preload_libraries = 'citus'
max_prepared_transactions = 64
citus.shard_count = 8
citus.node_conninfo = 'sslmode=prefer'
citus.local_hostname = '127.0.0.1'
";

/// A coordinator and two workers.
#[derive(Debug)]
pub(super) struct Nodes {
    coordinator: Cluster,
    /// They serve as long as this is there.
    _workers: [Cluster; 2],
}

impl Nodes {
    /// Starts the servers and joins them.
    pub(super) fn start(launcher: &Launcher, psql: &Psql, place: &Place) -> Result<Self> {
        let node = launcher.with_settings(SETTINGS);
        let start = || node.throwaway(place, Checkpoints::Rare);
        let coordinator = start()?;
        let workers = [start()?, start()?];
        let all = [&coordinator].into_iter().chain(&workers);
        for server in all {
            prepare(psql, server, coordinator.password())?;
            let url = server.url_of("postgres", coordinator.password(), DATABASE);
            psql.ask(&url, &["create extension citus"]).map_err(|failure| {
                Failure::because(format!(
                    "the installation in `{}` has no extension `citus` that can be made: {failure}",
                    launcher.folder().display()
                ))
            })?;
        }
        let [first, second] = &workers;
        let join = [
            format!("select citus_set_coordinator_host('127.0.0.1', {})", coordinator.port()),
            format!("select citus_add_node('127.0.0.1', {})", first.port()),
            format!("select citus_add_node('127.0.0.1', {})", second.port()),
        ];
        let nodes = Self { coordinator, _workers: workers };
        psql.ask(&nodes.url_of_owner(), &join.each_ref().map(String::as_str))?;
        Ok(nodes)
    }

    /// The URL under which this role reaches the database at the coordinator.
    pub(super) fn url_of(&self, role: &str, password: &str) -> String {
        self.coordinator.url_of(role, password, DATABASE)
    }

    /// The same for the role that owns everything.
    pub(super) fn url_of_owner(&self) -> String {
        self.url_of("postgres", self.coordinator.password())
    }

    /// What runs there.
    pub(super) fn versions(&self, psql: &Psql) -> Result<String> {
        let sql = "select citus_version() || '; PostgreSQL ' || current_setting('server_version')";
        psql.ask(&self.url_of_owner(), &[sql])
    }
}

/// Gives a node what Citus does not bring to it. The superuser has one password on all, since Citus
/// copies the coordinator's.
fn prepare(psql: &Psql, server: &Cluster, password: &str) -> Result<()> {
    let (role, of_role) = ROLE;
    server.let_log_in(&format!(
        "127.0.0.1:*:*:postgres:{password}\n127.0.0.1:*:*:{role}:{of_role}\n"
    ))?;
    make_role_and_database(psql, &server.url())?;
    psql.ask(&server.url(), &[&format!("alter role postgres password '{password}'")]).map(drop)
}

/// Makes the service's role and a database that it may connect to.
pub(super) fn make_role_and_database(psql: &Psql, superuser: &str) -> Result<()> {
    let (role, password) = ROLE;
    let made = [
        format!("create role {role} login password '{password}'"),
        format!("create database {DATABASE}"),
        format!("grant connect on database {DATABASE} to {role}"),
    ];
    psql.ask(superuser, &made.each_ref().map(String::as_str)).map(drop)
}
