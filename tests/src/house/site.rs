//! A cluster that houses can be built on: roles, a template of the control database with an org and its
//! policy, and a template of the governed shop.

use std::{env, fs, path::PathBuf};

use serde_json::{Value, json};
use tokio::sync::OnceCell;

use super::{LAB, POLICY, SEAL_KEY, Verbs, cluster::Cluster, cluster::Database, first_word};

/// The roles of the control database and their passwords.
pub(super) const MIGRATOR: (&str, &str) = ("house_migrator", "migrator-password");
/// The role that the service logs in as.
pub(super) const APP: (&str, &str) = ("house_app", "app-password");

/// What the shop's tables lack: things that tests look for.
const LAB_TABLES: &str = include_str!("lab.sql");

/// The binaries under test.
#[derive(Debug, Clone)]
pub struct Binaries {
    /// As it is shipped.
    pub plain: PathBuf,
    /// With failpoints compiled in, if there is one.
    pub failpoints: Option<PathBuf>,
}

/// A cluster that houses can be built on.
#[derive(Debug, Clone)]
pub struct Site {
    /// The cluster.
    pub cluster: Cluster,
    /// The org that every control database here begins with.
    pub(super) org: String,
    /// The file of the keys that seal its record.
    pub(super) seal_key: Vec<u8>,
}

/// The binaries that the environment names; none says so once and skips the test.
pub fn binaries() -> Option<Binaries> {
    let plain = env::var_os("CHANCERY_BIN")?.into();
    Some(Binaries { plain, failpoints: env::var_os("CHANCERY_FAILPOINT_BIN").map(PathBuf::from) })
}

/// What a connector of the governed database logs in with.
pub(super) fn credential() -> Value {
    json!({ "conn_password": "conn-password", "read_password": "read-password" })
}

impl Site {
    /// The cluster of this run; nothing when the environment names none.
    pub async fn common() -> Option<&'static Self> {
        static COMMON: OnceCell<Option<Site>> = OnceCell::const_new();
        let found = COMMON.get_or_init(|| async {
            let (Ok(url), Some(_)) = (env::var("CHANCERY_TEST_POSTGRES"), binaries()) else {
                eprintln!(
                    "left out: end-to-end tests need `CHANCERY_TEST_POSTGRES` and `CHANCERY_BIN`; \
                     `cargo xtask test` sets both"
                );
                return None;
            };
            Some(Self::prepare(Cluster::at(&url)).await)
        });
        found.await.as_ref()
    }

    /// Makes roles and templates on a cluster.
    pub async fn prepare(cluster: Cluster) -> Self {
        for (role, password) in [MIGRATOR, APP] {
            let made = format!(
                "do $$ begin
                     if not exists (select from pg_roles where rolname = '{role}') then
                         create role {role} login password '{password}';
                     end if;
                 end $$"
            );
            cluster.run(&made).await;
        }
        let (control, shop) = (template(&cluster, "control"), template(&cluster, "shop"));
        for (template, owner) in [(&control, MIGRATOR.0), (&shop, cluster.user.as_str())] {
            let name = &template.name;
            cluster.run(&format!("drop database if exists {name}")).await;
            cluster.run(&format!("create database {name} owner {owner}")).await;
        }
        shop.run(connectors::SHOP_SEED).await;
        shop.run(LAB_TABLES).await;
        govern(&shop).await;
        let (org, seal_key) = furnish(&control).await;
        Self { cluster, org, seal_key }
    }

    /// The same, by another way to its cluster.
    pub fn reached_at(&self, cluster: Cluster) -> Self {
        Self { cluster, ..self.clone() }
    }

    /// A control database in which the org has its policy and no connector yet: a connector names the
    /// database that it governs, which is another one in every house.
    pub async fn control(&self, name: &str) -> Database {
        let database = self.copy("control", name, MIGRATOR.0).await;
        let app = APP.0;
        let sql = format!("grant connect on database \"{}\" to {app}", database.name);
        self.cluster.run(&sql).await;
        database
    }

    /// A shop that is ready to be governed.
    pub async fn shop(&self, name: &str) -> Database {
        self.copy("shop", name, &self.cluster.user).await
    }

    async fn copy(&self, template: &str, name: &str, owner: &str) -> Database {
        // One copy at a time: a template must have no visitors while it is copied.
        static COPYING: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());
        let copy = format!("{name}-{template}");
        let template = self::template(&self.cluster, template).name;
        let sql = format!("create database \"{copy}\" template {template} owner \"{owner}\"");
        let _copying = COPYING.lock().await;
        self.cluster.run(&sql).await;
        self.cluster.database(&copy)
    }
}

/// Several runs may use one cluster, so that the name holds the process.
fn template(cluster: &Cluster, of: &str) -> Database {
    cluster.database(&format!("template_{of}_{}", std::process::id()))
}

/// Gives a control database the service's schema and an org with a policy, and returns the org and the
/// file of the keys that seal its record.
async fn furnish(control: &Database) -> (String, Vec<u8>) {
    let folder = env::temp_dir().join(super::name());
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("house.yaml"), POLICY).unwrap();
    let verbs = Verbs::new(&folder, control, "");
    verbs.run(&["migrate", "--role", APP.0]).await;
    verbs.run(&["keys", "new", "--out", SEAL_KEY]).await;
    let org = first_word(&verbs.run(&["org", "create", "house"]).await);
    let activate = ["policy", "activate", "house.yaml", "--new", "--yes", "--reason", "A test."];
    verbs.run(&[activate.as_slice(), &["--org", &org]].concat()).await;
    let seal_key = fs::read(folder.join(SEAL_KEY)).unwrap();
    fs::remove_dir_all(folder).unwrap();
    (org, seal_key)
}

/// Applies the governed schema with the operator's verb, for both connectors of a house.
async fn govern(shop: &Database) {
    let folder = env::temp_dir().join(super::name());
    fs::create_dir_all(&folder).unwrap();
    let write = |name: &str, text: &str| fs::write(folder.join(name), text).unwrap();
    write("credential.json", &credential().to_string());
    write("password", &shop.cluster.password);
    let verbs = Verbs::new(&folder, shop, "");
    for (name, config) in [("shop", connectors::SHOP_CONNECTOR), ("lab", LAB)] {
        let mut config = connectors::read_config(config).unwrap();
        config["host"] = json!(shop.cluster.host);
        config["port"] = json!(shop.cluster.port);
        config["database"] = json!(shop.name);
        write(&format!("{name}.json"), &config.to_string());
        let file = format!("{name}.json");
        let setup = ["connector", "setup", &file, "--credential", "credential.json"];
        let apply = ["--apply", &shop.cluster.user, "--password-file", "password"];
        verbs.run(&[setup.as_slice(), &apply].concat()).await;
    }
    fs::remove_dir_all(folder).unwrap();
}
