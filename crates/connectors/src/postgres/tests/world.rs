//! One throwaway database with its own roles, governed by a connector.

use std::{collections::BTreeMap, net::SocketAddr, sync::Arc, time::Duration};

use crypto::{Secret, SystemEntropy, sha256, vault::Ring};
use egress::{Egress, PrivateNetworks, Rules};
use model::{ActionId, ConnectorId, Entropy, Mint, OrgId, Outcome, Timestamp};
use serde_json::{Value, json};
use testkit::eventually::until;
use tokio_postgres::{Client, NoTls, config::Host};
use tool::{Run, Settled, Tool};

use crate::{
    Blueprint, BuildError, Connector, Credential, Deps, Registry, Revision, build,
    postgres::{KIND, Owner, Witness, apply_setup, hex},
};

/// The time of a call where a test is about no limit.
pub(crate) const LIMIT: Duration = Duration::from_secs(20);

/// What every database here holds.
const SCHEMA: &str = "
    create type mood as enum ('happy', 'sad');
    create domain positive as int4 check (value > 0);
    create table items (id int primary key, label text not null, stock int not null default 0);
    insert into items select n, 'item ' || n, n from generate_series(1, 5) n";

/// A governed database.
pub(crate) struct World {
    pub(crate) blueprint: Blueprint,
    pub(crate) deps: Deps,
    /// A superuser's connection to the database.
    pub(crate) admin: Client,
    pub(crate) superuser: Owner,
    pub(crate) address: SocketAddr,
    name: String,
}

struct Server {
    host: String,
    port: u16,
    superuser: Owner,
}

impl World {
    /// A database with the items of [`SCHEMA`], set up, whose connector has these tools;
    /// nothing when no server is named, which is said in one line.
    pub(crate) async fn new(tools: Value) -> Option<Self> {
        let world = Self::bare(tools).await?;
        apply(&world).await;
        Some(world)
    }

    /// The same, without the governed schema.
    pub(crate) async fn bare(tools: Value) -> Option<Self> {
        let server = server()?;
        let mut bytes = [0; 6];
        SystemEntropy::new().fill(&mut bytes);
        let name = format!("t{}", hex(&bytes));
        let maker = connect(&server, "postgres").await;
        maker.batch_execute(&format!("create database {name}")).await.unwrap();
        let admin = connect(&server, &name).await;
        admin.batch_execute(SCHEMA).await.unwrap();
        let address = format!("{}:{}", server.host, server.port).parse().unwrap();
        let blueprint = blueprint((&server.host, server.port), &name, tools);
        Some(Self {
            blueprint,
            deps: deps(PrivateNetworks::Allowed),
            admin,
            superuser: server.superuser,
            address,
            name,
        })
    }

    pub(crate) async fn build(&self) -> Result<Arc<dyn Connector>, BuildError> {
        build(&self.blueprint, &self.deps).await
    }

    /// The connector as nobody has accepted it.
    pub(crate) async fn build_anew(&self) -> Arc<dyn Connector> {
        let blueprint = Blueprint { tools: BTreeMap::new(), ..self.blueprint.clone() };
        build(&blueprint, &self.deps).await.unwrap()
    }

    /// One tool of the connector.
    pub(crate) async fn tool(&self, name: &str) -> Arc<dyn Tool> {
        let connector = self.build().await.unwrap();
        let name = format!("shop.{name}");
        let tools = connector.tools();
        tools.into_iter().find(|tool| tool.definition().name.as_str() == name).unwrap()
    }

    /// Runs a tool as a new action.
    pub(crate) async fn call(&self, name: &str, args: Value) -> Outcome {
        self.run(&*self.tool(name).await, action(), args, LIMIT).await
    }

    pub(crate) async fn run(
        &self,
        tool: &dyn Tool,
        action: ActionId,
        args: Value,
        time_limit: Duration,
    ) -> Outcome {
        let request_digest = sha256(crypto::json::canonical(&args));
        let place = tool.place();
        let run = Run {
            org: self.blueprint.org,
            action,
            request_digest,
            args: &args,
            place: place.as_deref(),
            level: tool.definition().required_level,
            time_limit,
        };
        tool.run(run).await
    }

    pub(crate) async fn settle(&self, tool: &dyn Tool, action: ActionId) -> Settled {
        tool.settle(self.blueprint.org, action, tool.place().as_deref()).await
    }

    /// The major version of the server.
    pub(crate) async fn major(&self) -> i64 {
        self.count("select current_setting('server_version_num')::int8 / 10000").await
    }

    /// One number that the superuser asks for.
    pub(crate) async fn count(&self, sql: &str) -> i64 {
        self.admin.query_one(sql, &[]).await.unwrap().get(0)
    }

    /// Waits until a backend of the database sleeps in a statement.
    pub(crate) async fn until_asleep(&self, asleep: bool) {
        let sql = "select count(*) from pg_stat_activity
            where datname = current_database() and wait_event = 'PgSleep'";
        let is_so = async || (self.count(sql).await > 0) == asleep;
        until("a backend sleeps, or none does any more", is_so).await;
    }

    /// Closes every connection of the connector from the server's side.
    pub(crate) async fn close_connections(&self) {
        let sql = "select count(pg_terminate_backend(pid, 60000)) from pg_stat_activity
            where datname = current_database() and pid <> pg_backend_pid()";
        self.count(sql).await;
    }

    /// Drops the database and its roles.
    pub(crate) async fn end(self) {
        let Self { admin, name, .. } = self;
        drop(admin);
        let maker = connect(&server().unwrap(), "postgres").await;
        maker.batch_execute(&format!("drop database {name} with (force)")).await.unwrap();
        for role in ["conn", "read", "decoder", "owner", "dba"] {
            let drop_role = format!("drop role if exists {name}_{role}");
            maker.batch_execute(&drop_role).await.unwrap();
        }
    }
}

impl World {
    /// The database's owner, who is no superuser and may do what these words say.
    pub(crate) async fn owned(&self, powers: &str) -> Owner {
        let name = &self.name;
        let sql = format!(
            "create role {name}_dba login password 'dba' {powers};
            alter database {name} owner to {name}_dba;
            alter table items owner to {name}_dba"
        );
        self.admin.batch_execute(&sql).await.unwrap();
        Owner { user: format!("{name}_dba"), password: Secret::new("dba".to_owned()) }
    }
}

/// Sets the governed schema up.
pub(crate) async fn apply(world: &World) {
    let (deps, owner) = (&world.deps, &world.superuser);
    apply_setup(&world.blueprint, deps, owner, Witness::Wanted).await.unwrap();
}

/// The connector of a database.
pub(crate) fn blueprint(at: (&str, u16), name: &str, tools: Value) -> Blueprint {
    Blueprint {
        org: id(OrgId::from_uuid),
        id: id(ConnectorId::from_uuid),
        name: "shop".parse().unwrap(),
        kind: KIND.to_owned(),
        revision: 1,
        config: config(at, name, tools),
        credential: credential(),
        tools: BTreeMap::new(),
    }
}

fn config((host, port): (&str, u16), name: &str, tools: Value) -> Value {
    json!({
        "host": host,
        "port": port,
        "database": name,
        "user": format!("{name}_conn"),
        "read_user": format!("{name}_read"),
        "decoder_user": format!("{name}_decoder"),
        "owner": format!("{name}_owner"),
        "tls": {"mode": "disable"},
        "read_tables": ["items"],
        "tools": tools,
    })
}

fn credential() -> Credential {
    let fields = ["conn_password", "read_password", "decoder_password"];
    let fields = fields.map(|field| (field.to_owned(), Secret::new(format!("{field} of a test"))));
    Credential::new(BTreeMap::from(fields))
}

/// The service's side, with or without private networks.
pub(crate) fn deps(private_networks: PrivateNetworks) -> Deps {
    let ring = Secret::new("AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=".to_owned());
    Deps {
        egress: Egress::new(Rules { private_networks, ..Rules::default() }).unwrap(),
        vault: Arc::new(Ring::parse(&ring).unwrap()),
        entropy: Arc::new(SystemEntropy::new()),
    }
}

/// A new action.
pub(crate) fn action() -> ActionId {
    id(ActionId::from_uuid)
}

fn id<T>(make: fn(uuid::Uuid) -> T) -> T {
    Mint::new(Timestamp::from_unix_millis(1_790_000_000_000), &SystemEntropy::new()).id(make)
}

#[expect(
    clippy::disallowed_methods,
    reason = "tests are told where a server is by the environment"
)]
fn server() -> Option<Server> {
    let Ok(url) = std::env::var("CHANCERY_TEST_POSTGRES") else {
        println!("left out: CHANCERY_TEST_POSTGRES names no server");
        return None;
    };
    let config: tokio_postgres::Config = url.parse().unwrap();
    let Some(Host::Tcp(host)) = config.get_hosts().first() else {
        panic!("CHANCERY_TEST_POSTGRES names no host");
    };
    let password = String::from_utf8(config.get_password().unwrap_or_default().to_vec()).unwrap();
    Some(Server {
        host: host.clone(),
        port: config.get_ports().first().copied().unwrap_or(5432),
        superuser: Owner {
            user: config.get_user().unwrap_or("postgres").to_owned(),
            password: Secret::new(password),
        },
    })
}

async fn connect(server: &Server, database: &str) -> Client {
    let mut config = tokio_postgres::Config::new();
    config
        .host(&server.host)
        .port(server.port)
        .user(&server.superuser.user)
        .password(server.superuser.password.expose())
        .dbname(database);
    let (client, connection) = config.connect(NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

/// The entry of a read tool.
pub(crate) fn read_tool(name: &str, sql: &str, args: Value, returns: &str) -> Value {
    json!({
        "name": name, "title": "T", "description": "D", "side_effect": "read", "sql": sql,
        "args": {"type": "object", "additionalProperties": false, "properties": args},
        "returns": returns, "max_rows": 3,
    })
}

/// The entry of a tool that may change two items in a call.
pub(crate) fn write_tool(name: &str, sql: &str, args: Value, returns: &str) -> Value {
    let mut tool = read_tool(name, sql, args, returns);
    tool["side_effect"] = json!("write");
    tool["footprint"] = json!({"tables": {"items": ["insert", "update", "delete"]}, "max_rows": 2});
    tool
}

/// The result of a run that succeeded.
pub(crate) fn result(outcome: Outcome) -> Value {
    match outcome {
        Outcome::Succeeded { result, .. } => result,
        other => panic!("{other:?}"),
    }
}

/// The message of a run that failed with this code.
pub(crate) fn failed(outcome: Outcome, code: &str) -> String {
    match outcome {
        Outcome::Failed(fault) if fault.code.as_str() == code => fault.message,
        other => panic!("expected the failure {code}, got {other:?}"),
    }
}

/// The message of a run whose outcome is unknown.
pub(crate) fn unknown(outcome: Outcome, code: &str) -> String {
    match outcome {
        Outcome::Unknown(fault) if fault.code.as_str() == code => fault.message,
        other => panic!("expected the unknown outcome {code}, got {other:?}"),
    }
}

/// The connector that the registry has of this blueprint.
pub(crate) async fn connector_of(
    registry: &Registry,
    blueprint: &Blueprint,
) -> Result<Arc<dyn Connector>, BuildError> {
    registry.get_or_build(revision_of(blueprint), || blueprint.clone()).await
}

/// What the registry keeps the connector by.
pub(crate) fn revision_of(blueprint: &Blueprint) -> Revision<'_> {
    let Blueprint { org, id, name, revision, .. } = blueprint;
    Revision { org: *org, id: *id, name, revision: *revision }
}
