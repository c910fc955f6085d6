//! The PostgreSQL cluster that a demo is made on, as a superuser sees it: two databases, the
//! control database and the governed shop, and the roles of the service.
//!
//! What is made here bears a mark, from the moment that it has its name. What has one of these names
//! and no mark is somebody else's: nothing is made or dropped beside it.

use crypto::Secret;
use model::causes;
use postgres_protocol::password::scram_sha_256;
use tokio_postgres::{Client, Config, NoTls, config::Host};

use super::folder::Secrets;
use crate::exit::Failure;

/// The control database.
pub(super) const CONTROL: &str = "chancery";
/// The governed database.
pub(super) const SHOP: &str = "shop";
/// The role that owns the control database's schema.
pub(super) const MIGRATOR: &str = "chancery_migrator";
/// The role that the service logs in as.
pub(super) const APP: &str = "chancery_app";
/// The roles that the shop's tools log in as, and who reads its change log.
const TOOLS: [&str; 3] = ["svc_conn", "svc_read", "svc_decoder"];
/// The comment on everything that `up` makes in a cluster.
const MARK: &str = "made by chancery up; chancery up --fresh drops it";

/// A cluster and a superuser's login.
#[derive(Debug)]
pub(super) struct Cluster {
    config: Config,
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) user: String,
    pub(super) password: Secret<String>,
}

impl Cluster {
    /// The cluster at this address.
    pub(super) fn at(url: &str) -> Result<Self, Failure> {
        let expected = || {
            Failure::usage(
                "`--postgres-url`: expected a superuser's address over TCP, such as \
                 `postgres://postgres:password@127.0.0.1:5432/postgres`",
            )
        };
        let config: Config = url.parse().map_err(|_| expected())?;
        let (Some(Host::Tcp(host)), Some(user)) = (config.get_hosts().first(), config.get_user())
        else {
            return Err(expected());
        };
        let (host, user) = (host.clone(), user.to_owned());
        let port = config.get_ports().first().copied().unwrap_or(5432);
        let password = config.get_password().unwrap_or_default();
        let password = Secret::new(String::from_utf8_lossy(password).into_owned());
        Ok(Self { config, host, port, user, password })
    }

    /// The address of a database of this cluster for one of its roles.
    pub(super) fn url(&self, role: &str, password: &Secret<String>, database: &str) -> String {
        let host =
            if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        format!("postgres://{role}:{}@{host}:{}/{database}", password.expose(), self.port)
    }

    /// Whether the control database is there; refuses a cluster in which something of a demo's name
    /// is not a demo's.
    pub(super) async fn is_made(&self) -> Result<bool, Failure> {
        let client = self.connect(None).await?;
        self.refuse_strangers(&client).await?;
        self.has(&client, CONTROL).await
    }

    /// Drops both databases, and whoever is connected to them, if `up` made them.
    pub(super) async fn drop_databases(&self) -> Result<(), Failure> {
        let client = self.connect(None).await?;
        self.refuse_strangers(&client).await?;
        for database in [CONTROL, SHOP] {
            let drop = format!("drop database if exists {database} with (force)");
            self.run(&client, &drop).await?;
        }
        Ok(())
    }

    /// Makes what is missing of the databases and the roles of the control database.
    pub(super) async fn make(&self, secrets: &Secrets) -> Result<(), Failure> {
        let client = self.connect(None).await?;
        self.refuse_strangers(&client).await?;
        for role in [MIGRATOR, APP].into_iter().chain(TOOLS) {
            let role = format!(
                "do $$ begin
                     if not exists (select from pg_roles where rolname = '{role}') then
                         create role {role} login;
                         comment on role {role} is '{MARK}';
                     end if;
                 end $$"
            );
            self.run(&client, &role).await?;
        }
        for (role, password) in [(MIGRATOR, &secrets.migrator), (APP, &secrets.app)] {
            // The server is told a verifier, so that no log of it ever holds the password.
            let verifier = scram_sha_256(password.expose().as_bytes());
            self.run(&client, &format!("alter role {role} login password '{verifier}'")).await?;
        }
        for (database, owner) in [(CONTROL, MIGRATOR), (SHOP, self.user.as_str())] {
            if !self.has(&client, database).await? {
                self.make_database(&client, database, owner).await?;
            }
        }
        // The roles of tools live in the same cluster and have no business here.
        let closed = format!(
            "revoke connect on database {CONTROL} from public;
             grant connect on database {CONTROL} to {APP}"
        );
        self.run(&client, &closed).await
    }

    /// Fills the shop; what is there already stays.
    pub(super) async fn fill_shop(&self) -> Result<(), Failure> {
        self.run_in_shop(connectors::SHOP_SEED).await
    }

    /// Runs a script in the shop, as its owner.
    pub(super) async fn run_in_shop(&self, script: &str) -> Result<(), Failure> {
        let client = self.connect(Some(SHOP)).await?;
        self.run(&client, script).await
    }

    /// Makes a database under another name, marks it, and only then gives it its name: a run that
    /// is killed in between leaves nothing that a later one would take for somebody else's.
    async fn make_database(&self, client: &Client, name: &str, owner: &str) -> Result<(), Failure> {
        let making = format!("chancery_up_{}", std::process::id());
        for step in [
            format!("create database {making} owner \"{owner}\""),
            format!("comment on database {making} is '{MARK}'"),
            format!("alter database {making} rename to {name}"),
        ] {
            self.run(client, &step).await?;
        }
        Ok(())
    }

    /// Refuses a cluster that has, under a name of the demo's, what `up` did not make.
    async fn refuse_strangers(&self, client: &Client) -> Result<(), Failure> {
        let named = "select 'database ' || datname
                     from pg_database
                     where datname = any ($1)
                       and shobj_description(oid, 'pg_database') is distinct from $3
                     union all
                     select 'role ' || rolname
                     from pg_roles
                     where rolname = any ($2)
                       and shobj_description(oid, 'pg_authid') is distinct from $3
                     order by 1";
        let roles = [MIGRATOR, APP].into_iter().chain(TOOLS).collect::<Vec<_>>();
        let rows = client
            .query(named, &[&[CONTROL, SHOP].as_slice(), &roles, &MARK])
            .await
            .map_err(|error| refused(&error))?;
        let strangers: Result<Vec<String>, _> = rows.iter().map(|row| row.try_get(0)).collect();
        let strangers = strangers.map_err(|error| refused(&error))?;
        if strangers.is_empty() { Ok(()) } else { Err(not_ours(&strangers)) }
    }

    async fn connect(&self, database: Option<&str>) -> Result<Client, Failure> {
        let mut config = self.config.clone();
        config.connect_timeout(std::time::Duration::from_secs(5)).application_name("chancery up");
        if let Some(database) = database {
            config.dbname(database);
        }
        let (client, connection) = config.connect(NoTls).await.map_err(|error| {
            Failure::internal(format!(
                "could not reach PostgreSQL at `{}:{}`: {}; is it running, and is the address in \
                 `--postgres-url` right?",
                self.host,
                self.port,
                causes(&error)
            ))
        })?;
        tokio::spawn(connection);
        Ok(client)
    }

    async fn has(&self, client: &Client, database: &str) -> Result<bool, Failure> {
        let sql = "select exists (select from pg_database where datname = $1)";
        let row = client.query_one(sql, &[&database]).await.map_err(|error| refused(&error))?;
        row.try_get(0).map_err(|error| refused(&error))
    }

    async fn run(&self, client: &Client, sql: &str) -> Result<(), Failure> {
        client.batch_execute(sql).await.map_err(|error| refused(&error))
    }
}

fn not_ours(strangers: &[String]) -> Failure {
    let hand_over: Vec<_> = strangers
        .iter()
        .map(|stranger| format!("\n  comment on {stranger} is '{MARK}';"))
        .collect();
    Failure::usage(format!(
        "the cluster has objects that `up` did not create: {}. They were not changed. Use another \
         cluster: `cargo xtask up` starts one of its own, and a new one with `--fresh`. If these \
         objects are left over from an earlier demo and may be lost, run this as a superuser to \
         mark them as objects of `up`, and run it again with `--fresh`:{}",
        strangers.join(", "),
        hand_over.concat()
    ))
}

fn refused(error: &tokio_postgres::Error) -> Failure {
    Failure::internal(format!(
        "PostgreSQL refused to create the demo's databases: {}",
        causes(error)
    ))
}
