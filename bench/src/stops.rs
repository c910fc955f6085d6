//! What a Stop takes: of one agent beside any other change of it, in turns, and of a whole org of which
//! thousands of calls wait for a person.

use std::time::{Duration, Instant};

use http::StatusCode;
use serde_json::{Value, json};

use crate::{
    Failure,
    client::Client,
    gate::{Ground, start},
    options::{Options, Size},
};

/// How many calls wait.
pub(crate) const WAITING: Size<usize> = Size { full: 10_000, smoke: 100 };
/// On so many connections they are sent.
const SENDERS: usize = 32;
/// How often one agent is stopped.
const ROUNDS: Size<u32> = Size { full: 500, smoke: 2 };
/// A Stop of everything is answered within this.
const AIM: Duration = Duration::from_secs(2);

/// A policy under which every mail waits for a person.
pub(crate) const ASKING: &str = r#"schema: 1
default: { outcome: deny, reason: "No rule allows this call." }
rules:
  - { id: ask, match: "mail.*", outcome: require_approval, reason: "A person looks at each." }
"#;

/// Measures and prints both.
pub(crate) async fn run(options: Options) -> Result<(), Failure> {
    let Ground { folder, demo, service } = start(&options).await?;
    demo.activate(ASKING, None).await?;
    let org = demo.made(&["key", "create", "--org-admin"]).await?;
    let idle = demo.made(&["agent", "create", "idle"]).await?;
    let mut client = Client::connect(&service.host, &org).await?;
    one(&mut client, &idle, ROUNDS.at(options.scale)).await?;

    hold_all(&service.host, &demo.key()?, WAITING.at(options.scale)).await?;
    let control = demo.control().await?;
    let left = async || -> Result<i64, Failure> {
        let open = "select count(*) from action where state = 'pending_approval'";
        Ok(control.query_one(open, &[]).await?.get(0))
    };
    let before = left().await?;
    let began = Instant::now();
    let reason = json!({ "reason": "A benchmark." });
    done(&mut client, "/v1/org/stop", &reason).await?;
    let answered = began.elapsed();
    while left().await? > 0 {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let ended = began.elapsed();
    println!("\n| Stop of an org while {before} calls wait | span |\n|---|---|");
    println!("| answered: nothing starts from here on | {answered:.2?} (aim {AIM:?}) |");
    println!("| every call that waited is denied and sealed | {ended:.2?} |");
    service.stop().await?;
    std::fs::remove_dir_all(&folder)?;
    Ok(())
}

/// Stops, starts and renames one agent, over and over.
async fn one(client: &mut Client, agent: &str, rounds: u32) -> Result<(), Failure> {
    let path = |verb: &str| format!("/v1/agents/{agent}{verb}");
    let reason = json!({ "reason": "A benchmark." });
    let (mut stops, mut changes) = (Vec::new(), Vec::new());
    for round in 0..rounds {
        let began = Instant::now();
        done(client, &path("/stop"), &reason).await?;
        stops.push(began.elapsed());
        done(client, &path("/start"), &reason).await?;
        let began = Instant::now();
        done(client, &path(""), &json!({ "labels": { "round": round.to_string() } })).await?;
        changes.push(began.elapsed());
    }
    println!("| {rounds} times | p50 | p99 | p99 x a change |\n|---|---|---|---|");
    let peer = percentile(&mut changes, 99);
    for (name, spans) in [("a change of labels", &mut changes), ("Stop of the agent", &mut stops)] {
        let (middle, tail) = (percentile(spans, 50), percentile(spans, 99));
        let ratio = tail.as_secs_f64() / peer.as_secs_f64();
        println!("| {name} | {middle:.2?} | {tail:.2?} | {ratio:.2} |");
    }
    Ok(())
}

/// The span that so many of a hundred are not above.
pub(crate) fn percentile(spans: &mut [Duration], hundredths: usize) -> Duration {
    spans.sort_unstable();
    spans.get(spans.len().saturating_sub(1) * hundredths / 100).copied().unwrap_or_default()
}

/// Sends so many calls that wait.
pub(crate) async fn hold_all(host: &str, key: &str, waiting: usize) -> Result<(), Failure> {
    let sender = |sender| {
        tokio::spawn(hold(host.to_owned(), key.to_owned(), (sender..waiting).step_by(SENDERS)))
    };
    let senders: Vec<_> = (0..SENDERS).map(sender).collect();
    for sender in senders {
        sender.await??;
    }
    Ok(())
}

/// Sends one sender's part of the calls that wait.
async fn hold(
    host: String,
    key: String,
    numbers: impl Iterator<Item = usize>,
) -> Result<(), Failure> {
    let mut client = Client::connect(&host, &key).await?;
    for number in numbers {
        let call = json!({
            "tool": "mail.send",
            "args": { "to": "somebody", "text": "x".repeat(400), "number": number },
            "mode": "proxy",
            "connector_type": "mcp",
            "wait": 0,
        });
        let (status, bytes) = client.post("/v1/actions", &call).await?;
        let held: Value = serde_json::from_slice(&bytes)?;
        if held["status"] != "pending_approval" {
            return Err(format!("a call was answered {status} {held}").into());
        }
    }
    Ok(())
}

async fn done(client: &mut Client, path: &str, body: &Value) -> Result<(), Failure> {
    let (status, answer) = client.post(path, body).await?;
    if status == StatusCode::OK {
        return Ok(());
    }
    Err(format!("{path} was answered {status} {answer:?}").into())
}
