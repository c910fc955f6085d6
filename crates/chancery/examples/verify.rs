//! Checks a file of deeds offline, as an auditor does: the deeds in the form that the service hands
//! them out, one a line, and the keys that it publishes.
//!
//! `cargo run -p chancery --example verify -- deeds.jsonl keys.json` checks files; without them
//! the example makes a log of its own, checks it, and shows that a changed one is found.

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::{env, error::Error, fs};

use chancery::{
    deed::{KeySet, Trust, verify},
    memory::{FnTool, Office},
    model::SideEffect,
};
use serde_json::json;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let files: Vec<String> = env::args().skip(1).collect();
    let (log, trust) = match files.as_slice() {
        [deeds, keys] => (fs::read(deeds)?, KeySet::parse(&fs::read(keys)?)?.into()),
        _ => own_log().await?,
    };
    println!("as it is: {}", verdict(&log, &trust));
    // Every deed has a time; one digit of the last one is exchanged.
    let mut changed = String::from_utf8(log)?;
    if let Some(at) = changed.rfind("\"issued_at\":\"2") {
        changed.replace_range(at + 13..at + 14, "3");
        println!("one digit changed: {}", verdict(changed.as_bytes(), &trust));
    }
    Ok(())
}

/// What was found, whether it is valid or not.
fn verdict(log: &[u8], trust: &Trust) -> String {
    match verify(log, trust) {
        Ok(verified) => verified.report().to_string(),
        Err(report) => report.to_string(),
    }
}

async fn own_log() -> Result<(Vec<u8>, Trust), Box<dyn Error>> {
    let ping = FnTool::new("host.ping", SideEffect::Read, |_| Ok(json!({ "up": true })))?;
    let office = Office::open("{ schema: 1, default: { outcome: allow } }", vec![ping]).await?;
    let agent = office.agent("watcher").await?;
    office.call(&agent, "host.ping", json!({})).await?;
    Ok((office.log()?, office.trust()))
}
