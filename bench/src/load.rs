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
    /// The three others, and 10 % calls that a second client waits for.
    Mixed,
}

impl Kind {
    /// The loads that each consist of one thing.
    pub(crate) const PLAIN: [Self; 3] = [Self::ProxyPair, Self::GatewayUpdate, Self::Refusal];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::ProxyPair => "proxy pair",
            Self::GatewayUpdate => "gateway update",
            Self::Refusal => "refusal",
            Self::Mixed => "mixed",
        }
    }

    /// The load of this name.
    pub(crate) fn named(name: &str) -> Result<Self, Failure> {
        let all = [Self::ProxyPair, Self::GatewayUpdate, Self::Refusal, Self::Mixed];
        let found = all.into_iter().find(|kind| kind.name() == name);
        let names = all.map(Self::name).join("`, `");
        found.ok_or_else(|| format!("`{name}` is no load: expected one of `{names}`").into())
    }

    /// The least share of the peer's rate at 64 connections that is good enough.
    pub(crate) fn aim(self) -> Option<f64> {
        match self {
            Self::ProxyPair => Some(0.5),
            Self::GatewayUpdate => Some(0.3),
            Self::Refusal => Some(0.8),
            Self::Mixed => None,
        }
    }

    /// What a connection does in this round.
    fn at(self, round: usize) -> Option<Self> {
        match (self, round % 10) {
            (Self::Mixed, 0) => None,
            (Self::Mixed, 1..=4) => Some(Self::ProxyPair),
            (Self::Mixed, 5..=7) => Some(Self::GatewayUpdate),
            (Self::Mixed, _) => Some(Self::Refusal),
            (Self::ProxyPair | Self::GatewayUpdate | Self::Refusal, _) => Some(self),
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
        let clients = [Client::connect(host, key).await?, Client::connect(host, key).await?];
        tasks.push(tokio::spawn(connection(kind, clients, number, Arc::clone(&over))));
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
    [mut client, mut second]: [Client; 2],
    number: usize,
    over: Arc<AtomicBool>,
) -> Result<Vec<Duration>, Failure> {
    let mut latencies = Vec::new();
    let mut turn = number;
    while !over.load(Ordering::Relaxed) {
        let started = Instant::now();
        match kind.at(number + latencies.len()) {
            Some(kind) => once(kind, &mut client, turn).await?,
            None => awaited(&mut client, &mut second, turn).await?,
        }
        latencies.push(started.elapsed());
        turn = turn.wrapping_add(64);
    }
    Ok(latencies)
}

/// Has a call authorised for the edge.
pub(crate) async fn authorised(client: &mut Client, turn: usize) -> Result<Value, Failure> {
    let call = json!({
        "tool": "mail.send",
        "args": { "to": "somebody", "text": "x".repeat(400), "number": turn },
        "mode": "proxy",
        "connector_type": "mcp",
    });
    expect(client, "/v1/actions", &call, 200, "authorized").await
}

async fn report(client: &mut Client, action: &Value, turn: usize) -> Result<(), Failure> {
    let path = action["next_action"]["report_url"].as_str().unwrap_or_default();
    let at = &action["created_at"];
    let report = json!({
        "status": "succeeded",
        "started_at": at,
        "finished_at": at,
        "result": { "sent": true, "number": turn },
    });
    expect(client, path, &report, 200, "executed").await.map(|_| ())
}

/// Reports a call while another client waits for its end.
async fn awaited(client: &mut Client, second: &mut Client, turn: usize) -> Result<(), Failure> {
    let action = authorised(client, turn).await?;
    let path = format!("/v1/actions/{}?wait=25", action["id"].as_str().unwrap_or_default());
    let (seen, reported) = tokio::join!(second.get(&path), report(client, &action, turn));
    reported?;
    let (code, bytes) = seen?;
    let seen: Value = serde_json::from_slice(&bytes)?;
    if seen["status"] == "executed" {
        return Ok(());
    }
    Err(format!("{path} answered {code} {seen}, expected executed").into())
}

/// Makes one call of a load that consists of one thing, and waits for its end.
pub(crate) async fn once(kind: Kind, client: &mut Client, turn: usize) -> Result<(), Failure> {
    match kind {
        Kind::ProxyPair | Kind::Mixed => {
            let action = authorised(client, turn).await?;
            report(client, &action, turn).await?;
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
pub(crate) async fn expect(
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
