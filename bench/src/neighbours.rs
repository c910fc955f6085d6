//! What bad neighbours cost a quiet org: its rate beside each of them, as a share of its rate alone.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use http::StatusCode;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    task::JoinSet,
};

use crate::{
    Failure,
    client::Client,
    gate::{Ground, start},
    load::{self, Kind},
    options::{Options, Scale, Size},
};

/// The connections of the quiet org.
const QUIET: usize = 4;
/// How long refusals fill the history that is searched.
const FILLING: Size<Duration> =
    Size { full: Duration::from_secs(30), smoke: Duration::from_millis(500) };
/// How long a neighbour is at it before the quiet org is measured beside it.
const WARM: Size<Duration> =
    Size { full: Duration::from_secs(2), smoke: Duration::from_millis(200) };
/// How long whoever was sent away waits before the next try, as `Retry-After` says.
const TRIED_AGAIN_AFTER: Duration = Duration::from_secs(1);

/// Lets no call through, each of which the org's edge would run.
const REFUSING: &str = "schema: 1\ndefault: { outcome: deny, reason: \"Nothing is allowed.\" }\n";
/// Takes as many steps for each call as a policy may take.
const HEAVY: &str = r#"schema: 1
default: { outcome: deny, reason: "Nothing is allowed." }
rules:
  - { id: heavy, match: "files.*", when: "args.a.all(x, args.b.all(y, x + y > 0))", outcome: allow }
"#;

/// An org with an agent, and a key of it.
struct Org {
    id: String,
    key: String,
}

/// What strains the service.
#[derive(Debug, Clone, Copy)]
enum Neighbour {
    Searches,
    HeavyPolicies,
    PolicyTests,
    SlowBodies,
    LargeCalls,
}

impl Neighbour {
    const ALL: [Self; 5] = [
        Self::Searches,
        Self::HeavyPolicies,
        Self::PolicyTests,
        Self::SlowBodies,
        Self::LargeCalls,
    ];

    /// How many there are of it, of each org.
    fn count(self, scale: Scale) -> usize {
        let full = match self {
            Self::Searches => 200,
            Self::HeavyPolicies => 64,
            Self::PolicyTests => 100,
            Self::SlowBodies => 1_000,
            Self::LargeCalls => 256,
        };
        Size { full, smoke: full / 32 }.at(scale)
    }

    /// What so many are called in the table.
    fn name(self, count: usize) -> String {
        match self {
            Self::Searches => format!("{count} searches of one agent's key"),
            Self::HeavyPolicies => {
                format!("two orgs with policies at their limit, {count} connections each")
            }
            Self::PolicyTests => format!("{count} tests of policies of one org"),
            Self::SlowBodies => format!("{count} bodies of one key that do not end"),
            Self::LargeCalls => format!("{count} connections with arguments of 250 KB"),
        }
    }
}

/// Everything that the neighbours need.
struct Street {
    ground: Ground,
    quiet: Org,
    heavy: [Org; 2],
    /// Of the org whose history is long.
    agent_key: String,
    org_key: String,
}

/// Measures the quiet org alone and beside each neighbour, in turns, and prints a table.
pub(crate) async fn run(options: Options) -> Result<(), Failure> {
    let street = Street::new(start(&options).await?, options.scale).await?;
    println!(
        "| neighbour | without it, per second | with it | share | p99 without | p99 with | health | memory |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    for neighbour in Neighbour::ALL {
        let count = neighbour.count(options.scale);
        let alone = street.quiet_rate(options.span).await?;
        let over = Arc::new(AtomicBool::new(false));
        let mut nuisance = street.nuisance((neighbour, count), &over).await?;
        tokio::time::sleep(WARM.at(options.scale)).await;
        let beside = street.quiet_rate(options.span).await?;
        let health = street.health().await?;
        let memory = street.ground.service.memory_now()? / 1024;
        over.store(true, Ordering::Relaxed);
        nuisance.abort_all();
        while nuisance.join_next().await.is_some() {}
        println!(
            "| {} | {:.0} | {:.0} | {:.2} | {:.0} ms | {:.0} ms | {health} | {memory} MiB |",
            neighbour.name(count),
            alone.0,
            beside.0,
            beside.0 / alone.0,
            alone.1.as_secs_f64() * 1e3,
            beside.1.as_secs_f64() * 1e3,
        );
    }
    println!("\nPeak memory of the service: {} MiB.", street.ground.service.peak_memory()?);
    street.ground.service.stop().await?;
    std::fs::remove_dir_all(&street.ground.folder)?;
    Ok(())
}

impl Street {
    async fn new(ground: Ground, scale: Scale) -> Result<Self, Failure> {
        let org = async |name, policy| -> Result<Org, Failure> {
            let id = ground.demo.made(&["org", "create", name]).await?;
            ground.demo.activate(policy, Some(&id)).await?;
            let agent = ground.demo.made(&["agent", "create", name, "--org", &id]).await?;
            let key = ground.demo.made(&["key", "create", "--agent", &agent, "--org", &id]).await?;
            Ok(Org { id, key })
        };
        let quiet = org("quiet", REFUSING).await?;
        let heavy = [org("heavy-one", HEAVY).await?, org("heavy-two", HEAVY).await?];
        let agent_key = ground.demo.key()?;
        let org_key =
            ground.demo.made(&["key", "create", "--org-admin", "--org", &heavy[0].id]).await?;
        let host = [ground.service.host.clone()];
        load::run(Kind::Refusal, &host, &agent_key, 64, FILLING.at(scale)).await?;
        Ok(Self { ground, quiet, heavy, agent_key, org_key })
    }

    /// The rate of the quiet org's refusals, and their p99. What is not refused is no answer.
    async fn quiet_rate(&self, span: Duration) -> Result<(f64, Duration), Failure> {
        let (host, key) = (&self.ground.service.host, &self.quiet.key);
        let mut tasks = JoinSet::new();
        for _ in 0..QUIET {
            let mut client = Client::connect(host, key).await?;
            tasks.spawn(async move {
                let (begun, mut latencies) = (Instant::now(), Vec::new());
                while begun.elapsed() < span {
                    let sent = Instant::now();
                    let (code, _) = client.post("/v1/actions", &files_read(json!({}))).await?;
                    if code == StatusCode::FORBIDDEN {
                        latencies.push(sent.elapsed());
                    }
                }
                Ok::<_, Failure>(latencies)
            });
        }
        let mut latencies = Vec::new();
        while let Some(ended) = tasks.join_next().await {
            latencies.extend(ended??);
        }
        latencies.sort_unstable();
        let p99 = latencies.get(latencies.len() * 99 / 100).copied().unwrap_or_default();
        #[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^52")]
        let count = latencies.len() as f64;
        Ok((count / span.as_secs_f64(), p99))
    }

    async fn health(&self) -> Result<String, Failure> {
        let mut client = Client::connect(&self.ground.service.host, &self.quiet.key).await?;
        let (_, body) = client.get("/v1/health").await?;
        let health: Value = serde_json::from_slice(&body)?;
        Ok(health["status"].as_str().unwrap_or("none").to_owned())
    }

    async fn nuisance(
        &self,
        (neighbour, count): (Neighbour, usize),
        over: &Arc<AtomicBool>,
    ) -> Result<JoinSet<()>, Failure> {
        let host = &self.ground.service.host;
        let mut tasks = JoinSet::new();
        let numbers: Value = (1..=200).collect();
        let heavy = files_read(json!({ "a": numbers, "b": numbers }));
        let large = files_read(json!({ "text": "x".repeat(250_000) }));
        match neighbour {
            Neighbour::Searches => {
                for _ in 0..count {
                    let client = Client::connect(host, &self.agent_key).await?;
                    tasks.spawn(repeats(client, "/v1/ledger?q=zzzzzz", None, Arc::clone(over)));
                }
            }
            Neighbour::HeavyPolicies => {
                for org in self.heavy.iter().cycle().take(2 * count) {
                    let client = Client::connect(host, &org.key).await?;
                    let call = Some(heavy.clone());
                    tasks.spawn(repeats(client, "/v1/actions", call, Arc::clone(over)));
                }
            }
            Neighbour::PolicyTests => {
                let suite = suite(&heavy["args"]).to_string();
                let suite = json!({ "document": HEAVY, "suite": suite });
                for _ in 0..count {
                    let client = Client::connect(host, &self.org_key).await?;
                    let test = Some(suite.clone());
                    tasks.spawn(repeats(client, "/v1/policies/test", test, Arc::clone(over)));
                }
            }
            Neighbour::SlowBodies => {
                for _ in 0..count {
                    tasks.spawn(never_ends(host.clone(), self.agent_key.clone()));
                }
            }
            Neighbour::LargeCalls => {
                for _ in 0..count {
                    let client = Client::connect(host, &self.agent_key).await?;
                    let call = Some(large.clone());
                    tasks.spawn(repeats(client, "/v1/actions", call, Arc::clone(over)));
                }
            }
        }
        Ok(tasks)
    }
}

/// A call that an edge would run if it were allowed.
fn files_read(args: Value) -> Value {
    let mut call = json!({ "tool": "files.read", "mode": "proxy", "connector_type": "mcp" });
    call["args"] = args;
    call
}

/// Tests that decide on as many calls as a suite may have.
fn suite(args: &Value) -> Value {
    json!({
        "now": "2026-10-01T12:00:00Z",
        "agents": { "bot": {} },
        "calls": { "heavy": { "tool": "files.read", "args": args } },
        "cases": [{
            "agent": "bot",
            "call": "heavy",
            "steps": [{ "repeat": 9_999, "expect": {} }],
        }],
    })
}

/// Asks the same again and again, whatever is answered.
async fn repeats(
    mut client: Client,
    path: &'static str,
    body: Option<Value>,
    over: Arc<AtomicBool>,
) {
    while !over.load(Ordering::Relaxed) {
        let answer = match &body {
            Some(body) => client.post(path, body).await,
            None => client.get(path).await,
        };
        match answer {
            Ok((code, _)) if code == StatusCode::TOO_MANY_REQUESTS || code.is_server_error() => {
                tokio::time::sleep(TRIED_AGAIN_AFTER).await;
            }
            Ok(_) => {}
            Err(_) => return,
        }
    }
}

/// Sends all of a body but its end, and again when it was sent away.
async fn never_ends(host: String, key: String) {
    let head = format!(
        "POST /v1/actions HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer {key}\r\n\
         content-type: application/json\r\ncontent-length: 300000\r\n\r\n"
    );
    loop {
        if let Ok(mut stream) = TcpStream::connect(&host).await {
            let body = vec![b' '; 299_999];
            let _ = stream.write_all(head.as_bytes()).await;
            let _ = stream.write_all(&body).await;
            let _ = stream.read(&mut [0; 1024]).await;
        }
        tokio::time::sleep(TRIED_AGAIN_AFTER).await;
    }
}
