//! The Gate under closed-loop load at 1, 8 and 64 connections, beside `pgbench`.

use std::{env, path::PathBuf, time::Duration};

use tokio_postgres::NoTls;

use crate::{
    Failure,
    load::{self, Kind},
    peer::Peer,
    service::{Demo, Service},
    table::{self, Row},
};

const CONNECTIONS: [usize; 3] = [1, 8, 64];

/// What the benchmark takes.
pub(crate) struct Options {
    span: Duration,
    port: u16,
    // One load at 64 connections, for a look at what it spends its time on.
    only: Option<Kind>,
}

impl Options {
    /// Reads `--seconds N`, `--port N` and `--only LOAD`.
    pub(crate) fn read(mut arguments: impl Iterator<Item = String>) -> Result<Self, Failure> {
        let mut options = Self { span: Duration::from_secs(10), port: 28_180, only: None };
        while let Some(name) = arguments.next() {
            let value = arguments.next().ok_or_else(|| format!("`{name}` needs a value"))?;
            match name.as_str() {
                "--seconds" => options.span = Duration::from_secs(value.parse()?),
                "--port" => options.port = value.parse()?,
                "--only" => options.only = Some(Kind::named(&value)?),
                _ => return Err(format!("`{name}` is none of --seconds, --port, --only").into()),
            }
        }
        Ok(options)
    }

    fn runs(&self) -> Vec<(usize, Vec<Kind>)> {
        match self.only {
            Some(kind) => vec![(64, vec![kind])],
            None => CONNECTIONS.map(|connections| (connections, Kind::ALL.to_vec())).to_vec(),
        }
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
    for (connections, kinds) in options.runs() {
        let rate = peer.rate(connections, options.span).await?;
        table::peer(connections, rate);
        for kind in kinds {
            let before = turns.committed().await?;
            let measured = load::run(kind, &hosts, &key, connections, options.span).await?;
            let commits = Some(turns.committed().await? - before);
            let name = kind.name();
            Row { name, kind, connections, measured: &measured, commits, peer: rate }.print();
        }
    }
    if options.only.is_none() {
        two_processes(&demo, &service, &peer, &options).await?;
    }
    table::end(service.peak_memory()?);
    service.stop().await?;
    std::fs::remove_dir_all(&folder)?;
    Ok(())
}

/// Runs the loads against two processes that serve the same org.
async fn two_processes(
    demo: &Demo,
    service: &Service,
    peer: &Peer,
    options: &Options,
) -> Result<(), Failure> {
    let (key, second) = (demo.key()?, demo.second(options.port + 1).await?);
    let both = [service.host.clone(), second.host.clone()];
    let rate = peer.rate(64, options.span).await?;
    table::peer(64, rate);
    for kind in Kind::ALL {
        let measured = load::run(kind, &both, &key, 64, options.span).await?;
        let name = &format!("{}, two processes", kind.name());
        Row { name, kind, connections: 64, measured: &measured, commits: None, peer: rate }.print();
    }
    second.stop().await
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
