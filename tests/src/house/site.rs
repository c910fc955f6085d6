//! A cluster that houses can be built on: roles, a template of the control database with the
//! service's schema, and a template of the governed shop.

use std::{env, path::PathBuf};

use serde_json::{Value, json};
use tokio::sync::OnceCell;

use super::{LAB, Verbs, cluster::Cluster, cluster::Database};

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
#[derive(Debug)]
pub struct Site {
    /// The cluster.
    pub cluster: Cluster,
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
        let site = Self { cluster };
        let (control, shop) = (site.template("control"), site.template("shop"));
        for (template, owner) in [(&control, MIGRATOR.0), (&shop, site.cluster.user.as_str())] {
            let name = &template.name;
            site.cluster.run(&format!("drop database if exists {name}")).await;
            site.cluster.run(&format!("create database {name} owner {owner}")).await;
        }
        site.migrate(&control).await;
        shop.run(connectors::SHOP_SEED).await;
        shop.run(LAB_TABLES).await;
        site.govern(&shop).await;
        site
    }

    /// A control database with the service's schema and nothing in it.
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
        let (copy, template) = (format!("{name}-{template}"), self.template(template).name);
        let sql = format!("create database \"{copy}\" template {template} owner \"{owner}\"");
        let _copying = COPYING.lock().await;
        self.cluster.run(&sql).await;
        self.cluster.database(&copy)
    }

    /// Several runs may use one cluster, so that the name holds the process.
    fn template(&self, of: &str) -> Database {
        self.cluster.database(&format!("template_{of}_{}", std::process::id()))
    }

    async fn migrate(&self, control: &Database) {
        let folder = env::temp_dir().join(super::name());
        std::fs::create_dir_all(&folder).unwrap();
        Verbs::new(&folder, control, "").run(&["migrate", "--role", APP.0]).await;
        std::fs::remove_dir_all(folder).unwrap();
    }

    /// Applies the governed schema with the operator's verb, for both connectors of a house.
    async fn govern(&self, shop: &Database) {
        let folder = env::temp_dir().join(super::name());
        std::fs::create_dir_all(&folder).unwrap();
        let write = |name: &str, text: &str| std::fs::write(folder.join(name), text).unwrap();
        write("credential.json", &credential().to_string());
        write("password", &self.cluster.password);
        let verbs = Verbs::new(&folder, shop, "");
        for (name, config) in [("shop", connectors::SHOP_CONNECTOR), ("lab", LAB)] {
            let mut config = connectors::read_config(config).unwrap();
            config["host"] = json!(self.cluster.host);
            config["port"] = json!(self.cluster.port);
            config["database"] = json!(shop.name);
            write(&format!("{name}.json"), &config.to_string());
            let file = format!("{name}.json");
            let user = &self.cluster.user;
            let setup = ["connector", "setup", &file, "--credential", "credential.json"];
            let apply = ["--apply", user, "--password-file", "password"];
            verbs.run(&[setup.as_slice(), &apply].concat()).await;
        }
        std::fs::remove_dir_all(folder).unwrap();
    }
}
