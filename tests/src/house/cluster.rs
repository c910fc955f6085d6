//! A PostgreSQL cluster as its superuser sees it, and databases of it.

use tokio::task::JoinHandle;
use tokio_postgres::{Client, Config, NoTls, config::Host};

/// A running cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cluster {
    /// Where it listens.
    pub host: String,
    /// At which port.
    pub port: u16,
    /// The superuser.
    pub user: String,
    /// The superuser's password.
    pub password: String,
}

/// A database of a cluster.
#[derive(Debug, Clone)]
pub struct Database {
    /// The cluster.
    pub cluster: Cluster,
    /// The database's name.
    pub name: String,
}

impl Cluster {
    /// The cluster at a superuser's address.
    pub fn at(url: &str) -> Self {
        let config: Config = url.parse().unwrap();
        let Some(Host::Tcp(host)) = config.get_hosts().first() else {
            panic!("expected an address over TCP")
        };
        let password = config.get_password().unwrap_or_default();
        Self {
            host: host.clone(),
            port: config.get_ports().first().copied().unwrap_or(5432),
            user: config.get_user().unwrap().to_owned(),
            password: String::from_utf8(password.to_vec()).unwrap(),
        }
    }

    /// A database of the cluster.
    pub fn database(&self, name: &str) -> Database {
        Database { cluster: self.clone(), name: name.to_owned() }
    }

    /// Runs statements in the cluster's own database.
    pub async fn run(&self, sql: &str) {
        self.database("postgres").run(sql).await;
    }
}

impl Database {
    /// The database's address for a role.
    pub fn url(&self, role: &str, password: &str) -> String {
        let Cluster { host, port, .. } = &self.cluster;
        format!("postgres://{role}:{password}@{host}:{port}/{}", self.name)
    }

    /// The database's address for the superuser.
    pub fn superuser_url(&self) -> String {
        self.url(&self.cluster.user, &self.cluster.password)
    }

    /// A superuser's connection.
    pub async fn client(&self) -> Client {
        self.connect().await.0
    }

    /// Runs statements. The connection has ended when this returns, so that the database can be a
    /// template at once.
    pub async fn run(&self, sql: &str) {
        let (client, connection) = self.connect().await;
        client.batch_execute(sql).await.unwrap();
        drop(client);
        connection.await.unwrap();
    }

    async fn connect(&self) -> (Client, JoinHandle<()>) {
        let (client, connection) =
            tokio_postgres::connect(&self.superuser_url(), NoTls).await.unwrap();
        // It ends with the client, or with the cluster that a test stops.
        (client, tokio::spawn(async move { drop(connection.await) }))
    }

    /// The one number that a query gives.
    pub async fn count(&self, sql: &str) -> i64 {
        self.client().await.query_one(sql, &[]).await.unwrap().get(0)
    }
}
