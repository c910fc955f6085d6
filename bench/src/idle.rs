//! What orgs cost a service that has nothing more to do for them: its memory before their one action
//! each, right after, and minute by minute until ten have passed.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use serde_json::json;

use crate::{
    Failure,
    client::Client,
    gate::{Ground, start},
    load::{Kind, expect, once},
    options::{Options, Size},
    service::Demo,
};

/// At once: verbs of the operator that make orgs, each with a process of its own.
const MAKERS: usize = 4;
/// How long it is looked at, and how often.
const MINUTES: Size<u64> = Size { full: 10, smoke: 1 };
const MINUTE: Size<Duration> =
    Size { full: Duration::from_mins(1), smoke: Duration::from_millis(100) };

/// Makes the orgs and their keys, has one call of each sealed, and prints the service's memory.
pub(crate) async fn run(options: Options) -> Result<(), Failure> {
    let Ground { folder, demo, service } = start(&options).await?;
    let demo = Arc::new(demo);
    let keys = keys(&demo, options.orgs).await?;
    // What making them cost is no part of it.
    service.stop().await?;
    let service = demo.serve(options.port, None).await?;
    // The service has met an org before it is measured.
    once(Kind::Refusal, &mut Client::connect(&service.host, &demo.key()?).await?, 0).await?;
    let before = service.memory_now()?;
    for key in &keys {
        call(&service.host, key).await?;
    }
    println!(
        "| minutes after one action in each of {} orgs | memory above that before |",
        keys.len()
    );
    println!("|---|---|");
    for minute in 0..=MINUTES.at(options.scale) {
        let more = service.memory_now()?.saturating_sub(before);
        println!("| {minute} | {more} KiB |");
        tokio::time::sleep(MINUTE.at(options.scale)).await;
    }
    println!(
        "\nThe aim is less than 10,240 KiB after ten minutes. Before, the service held {} MiB.",
        before / 1024
    );
    service.stop().await?;
    std::fs::remove_dir_all(&folder)?;
    Ok(())
}

/// A key of an agent of each of so many new orgs.
async fn keys(demo: &Arc<Demo>, orgs: usize) -> Result<Vec<String>, Failure> {
    let next = Arc::new(AtomicUsize::new(0));
    let mut tasks = Vec::new();
    for _ in 0..MAKERS {
        let (demo, next) = (Arc::clone(demo), Arc::clone(&next));
        tasks.push(tokio::spawn(async move {
            let mut keys = Vec::new();
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= orgs {
                    return Ok::<_, Failure>(keys);
                }
                let org = demo.made(&["org", "create", &format!("idle-{number}")]).await?;
                let agent = demo.made(&["agent", "create", "idle", "--org", &org]).await?;
                keys.push(demo.made(&["key", "create", "--agent", &agent, "--org", &org]).await?);
            }
        }));
    }
    let mut keys = Vec::new();
    for task in tasks {
        keys.extend(task.await??);
    }
    Ok(keys)
}

/// A call that waits for a person, as any does in an org without a policy, and is cancelled: its deed is
/// sealed.
async fn call(host: &str, key: &str) -> Result<(), Failure> {
    let call =
        json!({ "tool": "files.list", "args": {}, "mode": "proxy", "connector_type": "mcp" });
    let mut client = Client::connect(host, key).await?;
    let action = expect(&mut client, "/v1/actions", &call, 202, "pending_approval").await?;
    let path = format!("/v1/actions/{}/cancel", action["id"].as_str().unwrap_or_default());
    expect(&mut client, &path, &json!({}), 200, "cancelled").await.map(|_| ())
}
