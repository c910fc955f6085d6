//! What orgs cost a service that has nothing more to do for them: its memory before their one action
//! each, right after, and minute by minute until ten have passed.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use http::StatusCode;
use serde_json::json;

use crate::{
    Failure,
    client::Client,
    gate::{Ground, Options, start},
    service::Demo,
};

/// At once: verbs of the operator that make orgs, each with a process of its own.
const MAKERS: usize = 4;
const MINUTES: u64 = 10;

/// Makes the orgs and their keys, has one call of each sealed, and prints the service's memory.
pub(crate) async fn run(options: Options) -> Result<(), Failure> {
    let Ground { folder, demo, service } = start(&options).await?;
    let demo = Arc::new(demo);
    let keys = keys(&demo, options.orgs).await?;
    // What making them cost is no part of it.
    service.stop().await?;
    let service = demo.serve(options.port, None).await?;
    call(&service.host, &demo.key()?).await?;
    let before = service.memory_now()?;
    for key in &keys {
        call(&service.host, key).await?;
    }
    println!(
        "| minutes after one action in each of {} orgs | memory above that before |",
        keys.len()
    );
    println!("|---|---|");
    for minute in 0..=MINUTES {
        let more = service.memory_now()?.saturating_sub(before);
        println!("| {minute} | {more} KiB |");
        tokio::time::sleep(Duration::from_mins(1)).await;
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

/// A call that is decided and sealed: nobody serves its tool.
async fn call(host: &str, key: &str) -> Result<(), Failure> {
    let call =
        json!({ "tool": "files.list", "args": {}, "mode": "proxy", "connector_type": "mcp" });
    let (status, answer) = Client::connect(host, key).await?.post("/v1/actions", &call).await?;
    if status == StatusCode::NOT_FOUND {
        return Ok(());
    }
    Err(format!("a call of a tool that nobody serves was answered {status} {answer:?}").into())
}
