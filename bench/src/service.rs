//! The service under load: a demo made by `chancery up`, and a second process on the same org.

use std::{
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use serde_json::Value;
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::TcpStream,
    process::{Child, Command},
    time::timeout,
};
use tokio_postgres::NoTls;

use crate::Failure;

/// The policy of the runs: the demo's budgets would end them.
const POLICY: &str = r#"schema: 1
default: { outcome: deny, reason: "No rule allows this call." }
rules:
  - { id: keep-orders, match: shop.orders.delete, outcome: deny, reason: "Orders are kept." }
  - { id: status, match: shop.orders.update_status, when: "args.order > 0", outcome: allow }
  - { id: mail, match: "mail.*", outcome: allow }
"#;
/// How many keys one agent may have.
const OF_ONE_AGENT: usize = 8;
const READY: Duration = Duration::from_mins(2);

/// One process of the service.
pub(crate) struct Service {
    process: Child,
    pub(crate) host: String,
}

/// The demo's folder: its settings and its agent's key.
pub(crate) struct Demo {
    binary: PathBuf,
    folder: PathBuf,
}

impl Demo {
    pub(crate) fn new(binary: PathBuf, folder: PathBuf) -> Self {
        Self { binary, folder }
    }

    /// Makes the demo, whose writes are witnessed by this, and serves it.
    pub(crate) async fn up(
        &self,
        (postgres, witness): (&str, &str),
        port: u16,
    ) -> Result<Service, Failure> {
        let mut command = Command::new(&self.binary);
        command.arg("up").arg("--data-dir").arg(&self.folder).args([
            "--postgres-url",
            postgres,
            "--port",
            &port.to_string(),
            "--fresh",
            "--witness",
            witness,
        ]);
        let service = Service::start(command, port).await?;
        self.activate(POLICY, None).await?;
        Ok(service)
    }

    /// Serves the org from a process of its own, with these settings beside the demo's.
    pub(crate) async fn serve(&self, port: u16, yaml: Option<&str>) -> Result<Service, Failure> {
        let mut command = Command::new(&self.binary);
        command.envs(self.settings()?);
        command.env("SERVICE_LISTEN", format!("127.0.0.1:{port}"));
        if let Some(yaml) = yaml {
            let file = self.folder.join("bench-service.yaml");
            std::fs::write(&file, yaml)?;
            command.arg("--config").arg(file);
        }
        command.arg("serve");
        Service::start(command, port).await
    }

    /// Makes so many keys, of as many further agents of the demo's org as they take.
    pub(crate) async fn keys(&self, count: usize) -> Result<Vec<String>, Failure> {
        let mut keys = Vec::new();
        for number in 0..count.div_ceil(OF_ONE_AGENT) {
            let agent = self.made(&["agent", "create", &format!("bench-{number}")]).await?;
            for _ in keys.len()..count.min(keys.len() + OF_ONE_AGENT) {
                keys.push(self.made(&["key", "create", "--agent", &agent]).await?);
            }
        }
        Ok(keys)
    }

    /// Connects to the control database as its owner.
    pub(crate) async fn control(&self) -> Result<tokio_postgres::Client, Failure> {
        let (client, connection) = tokio_postgres::connect(&self.database()?, NoTls).await?;
        tokio::spawn(connection);
        Ok(client)
    }

    /// The demo agent's key.
    pub(crate) fn key(&self) -> Result<String, Failure> {
        Ok(self.kept()?["key"].as_str().ok_or("agent.json holds no key")?.to_owned())
    }

    fn kept(&self) -> Result<Value, Failure> {
        Ok(serde_json::from_slice(&std::fs::read(self.folder.join("agent.json"))?)?)
    }

    /// The URL of the control database.
    fn database(&self) -> Result<String, Failure> {
        let settings = self.settings()?;
        let url = settings.into_iter().find(|(name, _)| name == "SERVICE_MIGRATE_DATABASE_URL");
        Ok(url.ok_or("service.env names no database")?.1)
    }

    fn settings(&self) -> Result<Vec<(String, String)>, Failure> {
        let text = std::fs::read_to_string(self.folder.join("service.env"))?;
        let pairs = text.lines().filter_map(|line| line.split_once('='));
        let unquoted = |value: &str| value.trim_matches(['\'', '"']).to_owned();
        Ok(pairs.map(|(name, value)| (name.to_owned(), unquoted(value))).collect())
    }

    /// Activates a policy of this org, or of the demo's.
    pub(crate) async fn activate(&self, policy: &str, org: Option<&str>) -> Result<(), Failure> {
        let file = self.folder.join("bench.yaml");
        std::fs::write(&file, policy)?;
        let status = Command::new(&self.binary)
            .args(["policy", "activate", "--new", "--yes", "--reason", "benchmark"])
            .arg(&file)
            .args(org.into_iter().flat_map(|org| ["--org", org]))
            .envs(self.settings()?)
            .stdout(Stdio::null())
            .status()
            .await?;
        if status.success() { Ok(()) } else { Err("the policy was not activated".into()) }
    }

    /// What a verb made: the first word that it prints.
    pub(crate) async fn made(&self, words: &[&str]) -> Result<String, Failure> {
        let mut command = Command::new(&self.binary);
        command.args(words).envs(self.settings()?).stdin(Stdio::null()).stderr(Stdio::null());
        let output = command.output().await?;
        if !output.status.success() {
            return Err(
                format!("`chancery {}` ended with {}", words.join(" "), output.status).into()
            );
        }
        let text = String::from_utf8(output.stdout)?;
        let word = text.split_whitespace().next().map(str::to_owned);
        word.ok_or_else(|| format!("`chancery {}` made nothing", words.join(" ")).into())
    }
}

impl Service {
    /// Starts the process and waits until it serves.
    async fn start(mut command: Command, port: u16) -> Result<Self, Failure> {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).kill_on_drop(true);
        let mut process = command.spawn()?;
        let output = process.stdout.take().ok_or("the service has no output")?;
        // What the service prints must be read, or it would wait for a reader in the end.
        let reading = tokio::spawn(async move {
            let mut lines = BufReader::new(output).lines();
            while let Ok(Some(_)) = lines.next_line().await {}
        });
        let host = format!("127.0.0.1:{port}");
        let ready = async {
            // The port is taken long before anything is served there.
            while !matches!(timeout(Duration::from_secs(1), healthy(&host)).await, Ok(Ok(true))) {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        tokio::select! {
            status = process.wait() => Err(format!("the service ended: {}", status?).into()),
            outcome = timeout(READY, ready) => {
                outcome.map_err(|_| "the service did not serve in two minutes")?;
                drop(reading);
                Ok(Self { process, host })
            }
        }
    }

    /// The most memory that the process ever held, in MiB.
    pub(crate) fn peak_memory(&self) -> Result<u64, Failure> {
        Ok(self.memory("VmHWM:")? / 1024)
    }

    /// The memory that the process holds now, in KiB.
    pub(crate) fn memory_now(&self) -> Result<u64, Failure> {
        self.memory("VmRSS:")
    }

    /// The process's id.
    pub(crate) fn id(&self) -> Result<u32, Failure> {
        self.process.id().ok_or_else(|| "the service has ended".into())
    }

    fn told(&self, file: &str) -> Result<String, Failure> {
        Ok(std::fs::read_to_string(Path::new("/proc").join(self.id()?.to_string()).join(file))?)
    }

    fn memory(&self, what: &str) -> Result<u64, Failure> {
        let status = self.told("status")?;
        let line = status.lines().find_map(|line| line.strip_prefix(what));
        let kib = line.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok());
        kib.ok_or_else(|| format!("the kernel told no {what}").into())
    }

    /// Stops the process.
    pub(crate) async fn stop(mut self) -> Result<(), Failure> {
        self.process.kill().await?;
        Ok(())
    }
}

/// Whether the service says that it is well.
async fn healthy(host: &str) -> Result<bool, Failure> {
    let mut stream = TcpStream::connect(host).await?;
    let request = format!("GET /v1/health HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await?;
    Ok(answer.starts_with(b"HTTP/1.1 200"))
}
