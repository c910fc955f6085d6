//! Closed-loop load: each connection sends its next call when the last one was answered.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::{Failure, client::Client};

/// What the load consists of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A call authorised for the edge, and its report.
    ProxyPair,
    /// A one-row update that the service runs.
    GatewayUpdate,
    /// A call that a rule denies.
    Refusal,
}

impl Kind {
    pub(crate) const ALL: [Self; 3] = [Self::ProxyPair, Self::GatewayUpdate, Self::Refusal];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::ProxyPair => "proxy pair",
            Self::GatewayUpdate => "gateway update",
            Self::Refusal => "refusal",
        }
    }

    /// Returns the load of this name.
    pub(crate) fn named(name: &str) -> Result<Self, Failure> {
        let found = Self::ALL.into_iter().find(|kind| kind.name() == name);
        let names = Self::ALL.map(Self::name).join("`, `");
        found.ok_or_else(|| format!("`{name}` is no load: expected one of `{names}`").into())
    }

    /// Returns the least share of the peer's rate at 64 connections that is good enough.
    pub(crate) fn aim(self) -> f64 {
        match self {
            Self::ProxyPair => 0.5,
            Self::GatewayUpdate => 0.3,
            Self::Refusal => 0.8,
        }
    }
}

/// What a load came to.
pub(crate) struct Measured {
    pub(crate) actions: usize,
    pub(crate) span: Duration,
    // Invariant: sorted.
    latencies: Vec<Duration>,
}

impl Measured {
    pub(crate) fn rate(&self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^52")]
        let actions = self.actions as f64;
        actions / self.span.as_secs_f64()
    }

    pub(crate) fn percentile(&self, hundredths: usize) -> Duration {
        let last = self.latencies.len().saturating_sub(1);
        self.latencies.get(last * hundredths / 100).copied().unwrap_or_default()
    }
}

/// Runs the load over this many connections, spread over the hosts, for this long.
pub(crate) async fn run(
    kind: Kind,
    hosts: &[String],
    key: &str,
    connections: usize,
    span: Duration,
) -> Result<Measured, Failure> {
    let over = Arc::new(AtomicBool::new(false));
    let mut tasks = Vec::new();
    for (number, host) in (0..connections).zip(hosts.iter().cycle()) {
        let client = Client::connect(host, key).await?;
        tasks.push(tokio::spawn(connection(kind, client, number, Arc::clone(&over))));
    }
    let started = Instant::now();
    tokio::time::sleep(span).await;
    over.store(true, Ordering::Relaxed);
    let mut latencies = Vec::new();
    for task in tasks {
        latencies.extend(task.await??);
    }
    let span = started.elapsed();
    latencies.sort_unstable();
    Ok(Measured { actions: latencies.len(), span, latencies })
}

async fn connection(
    kind: Kind,
    mut client: Client,
    number: usize,
    over: Arc<AtomicBool>,
) -> Result<Vec<Duration>, Failure> {
    let mut latencies = Vec::new();
    let mut turn = number;
    while !over.load(Ordering::Relaxed) {
        let started = Instant::now();
        once(kind, &mut client, turn).await?;
        latencies.push(started.elapsed());
        turn = turn.wrapping_add(64);
    }
    Ok(latencies)
}

async fn once(kind: Kind, client: &mut Client, turn: usize) -> Result<(), Failure> {
    match kind {
        Kind::ProxyPair => {
            let call = json!({
                "tool": "mail.send",
                "args": { "to": "somebody", "text": "x".repeat(400), "number": turn },
                "mode": "proxy",
                "connector_type": "mcp",
            });
            let action = expect(client, "/v1/actions", &call, 200, "authorized").await?;
            let path = action["next_action"]["report_url"].as_str().unwrap_or_default().to_owned();
            let at = action["created_at"].clone();
            let report = json!({
                "status": "succeeded",
                "started_at": at,
                "finished_at": at,
                "result": { "sent": true, "number": turn },
            });
            expect(client, &path, &report, 200, "executed").await?;
        }
        Kind::GatewayUpdate => {
            let status = if turn.is_multiple_of(2) { "paid" } else { "shipped" };
            let call = json!({
                "tool": "shop.orders.update_status",
                "args": { "order": turn % 4_000 + 1, "status": status },
                "wait": 25,
            });
            expect(client, "/v1/actions", &call, 200, "executed").await?;
        }
        Kind::Refusal => {
            let call = json!({
                "tool": "shop.orders.delete",
                "args": { "order": turn % 4_000 + 1 },
            });
            expect(client, "/v1/actions", &call, 403, "denied").await?;
        }
    }
    Ok(())
}

/// Posts and returns the action of the answer, which must have this HTTP and action status.
async fn expect(
    client: &mut Client,
    path: &str,
    body: &Value,
    http: u16,
    status: &str,
) -> Result<Value, Failure> {
    let (code, bytes) = client.post(path, body).await?;
    let answer: Value = serde_json::from_slice(&bytes)?;
    let action = if code.is_success() { &answer } else { &answer["error"]["action"] };
    if code.as_u16() == http && action["status"] == status {
        return Ok(action.clone());
    }
    Err(format!("{path} answered {code} {answer}, expected {http} {status}").into())
}
