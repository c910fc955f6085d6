//! A house: one service with a control database and a governed shop of its own, made with the
//! operator's verbs, and everything that tests need to look at it from outside.
//!
//! Nothing here knows the service's insides: it starts the binary, speaks HTTP, and reads both
//! databases.

mod browser;
mod caller;
mod cluster;
mod guard;
mod judge;
mod pooler;
mod postgres;
mod programs;
mod raw;
mod records;
mod service;
mod site;
mod stream;
mod verbs;
mod wire;

use std::{
    fs,
    io::Write,
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU32, Ordering},
};

use serde_json::{Value, json};
use tokio::sync::OnceCell;

pub use browser::{Browser, invited};
pub use caller::{Answer, Caller, Request, call};
pub use cluster::{Cluster, Database};
pub use pooler::{PoolMode, Pooler};
pub use postgres::{OwnPostgres, free_port};
pub use programs::{number, program, root, search_path, unix_seconds};
pub use raw::exchange;
pub use records::{Deed, lines};
pub use service::{Faketime, Service, Start};
pub use site::{Site, binaries};
pub use stream::{Message, Stream};
pub use verbs::{VAULT_KEY, Verbs};
pub use wire::Wire;

/// The policy that every house begins with.
pub const POLICY: &str = include_str!("house/policy.yaml");
/// The file of a house's seal keys.
const SEAL_KEY: &str = "seal.pem";
/// The connector of tools that the shop has no use for: slow ones, failing ones, large results.
const LAB: &str = include_str!("house/lab.yaml");

/// What a house is made of.
#[derive(Debug, Clone, Copy)]
pub struct Plan<'a> {
    /// Where its control database is.
    pub control: &'a Site,
    /// Where its governed database is.
    pub governed: &'a Site,
    /// Its settings file, in YAML.
    pub settings: &'a str,
}

/// One service's databases, keys and org.
#[derive(Debug)]
pub struct House {
    /// The control database.
    pub control: Database,
    /// The governed database.
    pub governed: Database,
    /// Its only org.
    pub org: String,
    /// The verbs of `chancery`, on this house.
    pub verbs: Verbs,
    folder: PathBuf,
}

/// An agent and its key.
#[derive(Debug, Clone)]
pub struct Agent {
    /// Its id.
    pub id: String,
    /// The text of its key.
    pub key: String,
}

/// A house that runs for the whole test run and that many tests use, each with agents of its own.
#[derive(Debug)]
pub struct SharedHouse {
    /// Its service.
    pub service: Service,
    /// The house.
    pub house: House,
}

impl House {
    /// Makes a house on the common cluster; nothing when the run has none.
    pub async fn new(settings: &str) -> Option<Self> {
        let site = Site::common().await?;
        Some(Self::build(Plan { control: site, governed: site, settings }).await)
    }

    /// Makes a house.
    pub async fn build(plan: Plan<'_>) -> Self {
        let name = name();
        let folder = std::env::temp_dir().join(&name);
        fs::create_dir_all(&folder).unwrap();
        let control = plan.control.control(&name).await;
        let governed = plan.governed.shop(&name).await;
        let verbs = Verbs::new(&folder, &control, plan.settings);
        write_secret(&folder.join(SEAL_KEY), &plan.control.seal_key);
        let house = Self { control, governed, org: plan.control.org.clone(), verbs, folder };
        let shop = connectors::read_config(connectors::SHOP_CONNECTOR).unwrap();
        house.connect("shop", &house.pointed(shop)).await;
        house.connect("lab", &house.lab()).await;
        house
    }

    /// The folder that holds the house's files.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Makes an agent with a key.
    pub async fn agent(&self, name: &str) -> Agent {
        let id = first_word(&self.verbs.run(&["agent", "create", name, "--org", &self.org]).await);
        let key = self.verbs.run(&["key", "create", "--agent", &id, "--org", &self.org]).await;
        Agent { id, key: first_word(&key) }
    }

    /// Makes a key of the org itself and returns its text.
    pub async fn org_key(&self) -> String {
        first_word(&self.verbs.run(&["key", "create", "--org-admin", "--org", &self.org]).await)
    }

    /// Lets this document decide.
    pub async fn activate(&self, name: &str, policy: &str) {
        let file = self.write(&format!("{name}.yaml"), policy);
        let file = file.to_str().unwrap();
        let words = [
            "policy", "activate", file, "--new", "--yes", "--reason", "A test.", "--org", &self.org,
        ];
        self.verbs.run(&words).await;
    }

    /// The config of the lab, pointed at the governed database.
    pub fn lab(&self) -> Value {
        self.pointed(connectors::read_config(LAB).unwrap())
    }

    fn pointed(&self, mut config: Value) -> Value {
        config["host"] = json!(self.governed.cluster.host);
        config["port"] = json!(self.governed.cluster.port);
        config["database"] = json!(self.governed.name);
        config
    }

    /// Makes a connector of this config.
    pub async fn connect(&self, name: &str, config: &Value) {
        let config = self.write(&format!("{name}.json"), &config.to_string());
        let credential = self.write("credential.json", &site::credential().to_string());
        let (config, credential) = (config.to_str().unwrap(), credential.to_str().unwrap());
        let words = ["connector", "create", config, "--credential", credential, "--org", &self.org];
        self.verbs.run(&words).await;
    }

    /// Starts the service.
    pub async fn serve(&self) -> Service {
        self.start(Start::Plain).await
    }

    /// Starts a service in this way.
    pub async fn start(&self, start: Start<'_>) -> Service {
        Service::start(&self.verbs, start).await
    }

    /// Stops or starts an agent.
    pub async fn tell(&self, verb: &str, agent: &Agent) {
        let words = ["agent", verb, &agent.id, "--reason", "A test.", "--org", &self.org];
        self.verbs.run(&words).await;
    }

    /// Stops or starts the whole org.
    pub async fn tell_all(&self, verb: &str) {
        self.verbs.run(&["org", verb, "--reason", "A test.", "--org", &self.org]).await;
    }

    /// Writes a file of the house and returns its path.
    pub fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.folder.join(name);
        fs::write(&path, text).unwrap();
        path
    }
}

impl Drop for House {
    fn drop(&mut self) {
        // What cannot be removed lies in the system's folder of temporary files.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

impl SharedHouse {
    /// The shared house; nothing when the run has no cluster.
    pub async fn get() -> Option<&'static Self> {
        static SHARED: OnceCell<Option<SharedHouse>> = OnceCell::const_new();
        let made = SHARED.get_or_init(|| async {
            let house = House::new("gate: { max_result_bytes: 65536 }\n").await?;
            let service = house.serve().await;
            Some(Self { service, house })
        });
        made.await.as_ref()
    }

    /// Makes an agent and returns a caller with its key.
    pub async fn caller(&self) -> Caller {
        let agent = self.house.agent(&name()).await;
        self.service.caller(&agent.key)
    }
}

/// A name that nothing else of this run has.
pub fn name() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("house-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

/// Writes a new file that only its owner may read, as the operator's verb does.
fn write_secret(path: &Path, bytes: &[u8]) {
    let mut file =
        fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path).unwrap();
    file.write_all(bytes).unwrap();
}

fn first_word(text: &str) -> String {
    text.split_whitespace().next().unwrap_or_default().to_owned()
}
