//! The Gate under closed-loop load at 1, 8 and 64 connections, beside `pgbench`.

use std::{env, path::PathBuf, time::Duration};

use tokio_postgres::NoTls;

use crate::{
    Failure,
    load::{self, Kind},
    peer::Peer,
    service::Demo,
    table::{self, Row},
};

const CONNECTIONS: [usize; 3] = [1, 8, 64];

/// What the benchmark takes.
pub(crate) struct Options {
    span: Duration,
    port: u16,
}

impl Options {
    /// Reads `--seconds N` and `--port N`.
    pub(crate) fn read(mut arguments: impl Iterator<Item = String>) -> Result<Self, Failure> {
        let mut options = Self { span: Duration::from_secs(10), port: 28_180 };
        while let Some(name) = arguments.next() {
            let value = arguments.next().ok_or_else(|| format!("`{name}` needs a number"))?;
            match name.as_str() {
                "--seconds" => options.span = Duration::from_secs(value.parse()?),
                "--port" => options.port = value.parse()?,
                _ => return Err(format!("`{name}` is neither --seconds nor --port").into()),
            }
        }
        Ok(options)
    }
}

/// Runs everything and prints one table.
pub(crate) async fn run(options: Options) -> Result<(), Failure> {
    let setting = |name| env::var(name).map_err(|_| format!("{name} is not set"));
    let (binary, url) = (setting("CHANCERY_BIN")?, setting("CHANCERY_TEST_POSTGRES")?);
    let folder = env::temp_dir().join(format!("chancery-bench-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let demo = Demo::new(PathBuf::from(binary), folder.join("service"));
    let service = demo.up(&url, options.port).await?;
    let peer = Peer::new(PathBuf::from(setting("CHANCERY_PG_BIN")?), &url, folder.clone()).await?;
    let key = demo.key()?;
    let hosts = [service.host.clone()];
    let turns = Turns::of(&demo).await?;
    table::head();
    for connections in CONNECTIONS {
        let rate = peer.rate(connections, options.span).await?;
        table::peer(connections, rate);
        for kind in Kind::ALL {
            let before = turns.committed().await?;
            let measured = load::run(kind, &hosts, &key, connections, options.span).await?;
            let commits = Some(turns.committed().await? - before);
            let name = kind.name();
            Row { name, kind, connections, measured: &measured, commits, peer: rate }.print();
        }
    }
    let second = demo.second(options.port + 1).await?;
    let both = [service.host.clone(), second.host.clone()];
    let rate = peer.rate(64, options.span).await?;
    table::peer(64, rate);
    for kind in Kind::ALL {
        let measured = load::run(kind, &both, &key, 64, options.span).await?;
        let name = &format!("{}, two processes", kind.name());
        Row { name, kind, connections: 64, measured: &measured, commits: None, peer: rate }.print();
    }
    table::end(service.peak_memory()?);
    second.stop().await?;
    service.stop().await?;
    std::fs::remove_dir_all(&folder)?;
    Ok(())
}

/// Counts what the control database committed.
struct Turns(tokio_postgres::Client);

impl Turns {
    async fn of(demo: &Demo) -> Result<Self, Failure> {
        let (control, connection) = tokio_postgres::connect(&demo.database()?, NoTls).await?;
        tokio::spawn(connection);
        Ok(Self(control))
    }

    /// Returns the turns so far, of all orgs together; each is one commit.
    async fn committed(&self) -> Result<i64, Failure> {
        let query = "select sum(version)::bigint from org_head";
        Ok(self.0.query_one(query, &[]).await?.get(0))
    }
}
