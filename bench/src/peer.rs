//! The peer: `pgbench` inserting one row of an action's size per transaction, fsync on.

use std::{path::PathBuf, process::Stdio, time::Duration};

use tokio::process::Command;

use crate::Failure;

/// A database of its own for the peer.
pub(crate) struct Peer {
    pgbench: PathBuf,
    url: String,
    script: PathBuf,
}

impl Peer {
    /// Makes the peer's table and script.
    pub(crate) async fn new(bin: PathBuf, url: &str, folder: PathBuf) -> Result<Self, Failure> {
        let (client, connection) = tokio_postgres::connect(url, tokio_postgres::NoTls).await?;
        let driven = tokio::spawn(connection);
        let table = "create table if not exists peer \
                     (id bigint not null, at timestamptz not null, body text not null)";
        client.batch_execute(table).await?;
        drop(client);
        driven.await??;
        let script = folder.join("peer.sql");
        // An action's record, its deed and its events are about this long together.
        let insert = "\\set id random(1, 1000000000)\n\
                      insert into peer values (:id, now(), repeat('x', 4000));\n";
        std::fs::write(&script, insert)?;
        Ok(Self { pgbench: bin.join("pgbench"), url: url.to_owned(), script })
    }

    /// The transactions per second at this many connections.
    pub(crate) async fn rate(&self, connections: usize, span: Duration) -> Result<f64, Failure> {
        let output = Command::new(&self.pgbench)
            .args(["--no-vacuum", "--protocol=prepared", "--jobs=1"])
            .arg(format!("--client={connections}"))
            .arg(format!("--time={}", span.as_secs().max(1)))
            .arg("--file")
            .arg(&self.script)
            .arg(&self.url)
            .stdin(Stdio::null())
            .output()
            .await?;
        let told = String::from_utf8_lossy(&output.stdout);
        let rate = told.lines().find_map(|line| line.strip_prefix("tps = "));
        let rate = rate.and_then(|line| line.split_whitespace().next()?.parse().ok());
        rate.ok_or_else(|| {
            format!("pgbench told no rate: {}", String::from_utf8_lossy(&output.stderr)).into()
        })
    }
}
