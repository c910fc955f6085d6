//! A PostgreSQL database for one test: a clone of a template that has the schema of this build.
//!
//! The server is the one that `CHANCERY_TEST_POSTGRES` names, as its superuser. The template is
//! made once per schema and stays; clones are dropped with their test.
//!
//! Only tests use this module; it fails by panicking, as they do.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking, and this is the inside of tests"
)]

use std::sync::Once;

use crypto::{Secret, SystemEntropy};
use model::Entropy;
use tokio_postgres::{Client, NoTls};

use crate::{GRANTS, MIGRATIONS, Settings, migrate};

const VARIABLE: &str = "CHANCERY_TEST_POSTGRES";
/// The role that the service has in tests. It may do what it may do in earnest, and no more.
const ROLE: &str = "chancery_test";
const PASSWORD: &str = "chancery";
/// The lock under which role and template are made.
const LOCK: i64 = 731_904_112;

/// The statements that claim a mail about a question, and a question to write about: of a holder, so
/// many, for so many seconds, behind this org.
pub const CLAIMS: [&str; 2] =
    [crate::mails::questions::CLAIM, crate::mails::questions::CLAIM_UNADDRESSED];

/// A database of its own for one test, dropped with this value.
#[derive(Debug)]
pub struct TestDatabase {
    name: String,
    server: Address,
}

impl TestDatabase {
    /// A database with the schema of this build and nothing in it; none, and a line that
    /// says so, when no server is named.
    pub async fn new() -> Option<Self> {
        let server = Address::of_environment()?;
        let client = connect(&server.text()).await;
        let template = template(&client, &server).await;
        let name = fresh_name("chancery_test");
        run(&client, &format!("create database {name} template {template}")).await;
        Some(Self { name, server })
    }

    /// A database with nothing in it at all.
    pub async fn empty() -> Option<Self> {
        let server = Address::of_environment()?;
        let client = connect(&server.text()).await;
        make_role(&client).await;
        let name = fresh_name("chancery_test");
        run(&client, &format!("create database {name}")).await;
        Some(Self { name, server })
    }

    /// The address as the service's role.
    pub fn url(&self) -> String {
        self.server.of(&self.name).by(ROLE, PASSWORD).text()
    }

    /// The address as the role that owns everything.
    pub fn owner_url(&self) -> String {
        self.server.of(&self.name).text()
    }

    /// The name of the service's role.
    pub fn role(&self) -> &'static str {
        ROLE
    }

    /// A connection as the role that owns everything.
    pub async fn owner(&self) -> Client {
        connect(&self.owner_url()).await
    }
}

impl Drop for TestDatabase {
    fn drop(&mut self) {
        let (address, sql) =
            (self.server.text(), format!("drop database if exists {} with (force)", self.name));
        // A destructor cannot wait on the runtime that it is called from. What cannot be dropped
        // goes with the cluster.
        let dropping = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            let Ok(runtime) = runtime else { return };
            runtime.block_on(async {
                if let Ok((client, connection)) = tokio_postgres::connect(&address, NoTls).await {
                    tokio::spawn(connection);
                    let _ = client.batch_execute(&sql).await;
                }
            });
        });
        let _ = dropping.join();
    }
}

/// A database's address in its parts.
#[derive(Debug, Clone)]
struct Address {
    user: String,
    host: String,
    database: String,
    parameters: String,
}

impl Address {
    #[expect(
        clippy::disallowed_methods,
        clippy::print_stdout,
        reason = "the run tells its tests where PostgreSQL is, and a person what was left out"
    )]
    fn of_environment() -> Option<Self> {
        static TOLD: Once = Once::new();
        let Ok(text) = std::env::var(VARIABLE) else {
            TOLD.call_once(|| {
                println!("`{VARIABLE}` is not set: tests on PostgreSQL are left out");
            });
            return None;
        };
        Some(Self::parse(&text))
    }

    fn parse(text: &str) -> Self {
        let (_, rest) = text.split_once("://").unwrap();
        let (rest, parameters) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, database) = rest.split_once('/').unwrap_or((rest, "postgres"));
        let (user, host) = authority.rsplit_once('@').unwrap_or(("postgres", authority));
        Self {
            user: user.to_owned(),
            host: host.to_owned(),
            database: database.to_owned(),
            parameters: parameters.to_owned(),
        }
    }

    fn of(&self, database: &str) -> Self {
        Self { database: database.to_owned(), ..self.clone() }
    }

    fn by(&self, role: &str, password: &str) -> Self {
        Self { user: format!("{role}:{password}"), ..self.clone() }
    }

    fn text(&self) -> String {
        let Self { user, host, database, parameters } = self;
        let mark = if parameters.is_empty() { "" } else { "?" };
        format!("postgres://{user}@{host}/{database}{mark}{parameters}")
    }
}

/// The name of the template, which is there.
async fn template(client: &Client, server: &Address) -> String {
    let schema: String = MIGRATIONS
        .iter()
        .map(|migration| migration.digest().to_string())
        .chain(GRANTS.iter().map(|grant| format!("{}: {}", grant.table, grant.privileges)))
        .collect();
    let digest = crypto::sha256(schema);
    let digest = digest.to_string();
    let short: String = digest.chars().skip("sha256:".len()).take(16).collect();
    let name = format!("chancery_template_{short}");
    run(client, &format!("select pg_advisory_lock({LOCK})")).await;
    let sql = "select from pg_database where datname = $1";
    if client.query_opt(sql, &[&name]).await.unwrap().is_none() {
        make_template(client, server, &name).await;
    }
    run(client, &format!("select pg_advisory_unlock({LOCK})")).await;
    name
}

/// Makes the template beside its place, so that a run that is killed leaves no half of one.
async fn make_template(client: &Client, server: &Address, name: &str) {
    let making = format!("{name}_making");
    make_role(client).await;
    run(client, &format!("drop database if exists {making} with (force)")).await;
    run(client, &format!("create database {making}")).await;
    let settings = Settings::new(Secret::new(server.of(&making).text()));
    migrate(&settings, ROLE).await.unwrap();
    // The migration's connection may take a moment to be gone.
    let sql = "select pg_terminate_backend(pid) from pg_stat_activity where datname = $1";
    client.query(sql, &[&making]).await.unwrap();
    run(client, &format!("alter database {making} rename to {name}")).await;
}

async fn make_role(client: &Client) {
    let sql = "select from pg_roles where rolname = $1";
    if client.query_opt(sql, &[&ROLE]).await.unwrap().is_none() {
        // Another process may have made it since; that it is there is all that counts.
        let _ =
            client.batch_execute(&format!("create role {ROLE} login password '{PASSWORD}'")).await;
    }
}

async fn connect(address: &str) -> Client {
    let (client, connection) = tokio_postgres::connect(address, NoTls)
        .await
        .unwrap_or_else(|error| panic!("`{VARIABLE}` names no server that answers: {error}"));
    tokio::spawn(connection);
    client
}

async fn run(client: &Client, sql: &str) {
    client.batch_execute(sql).await.unwrap_or_else(|error| panic!("`{sql}`: {error}"));
}

fn fresh_name(prefix: &str) -> String {
    let mut bytes = [0; 8];
    SystemEntropy::new().fill(&mut bytes);
    format!("{prefix}_{:016x}", u64::from_be_bytes(bytes))
}
