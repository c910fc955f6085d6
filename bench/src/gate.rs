//! The Gate under closed-loop load at 1, 8 and 64 connections, beside `pgbench`.

use std::{env, path::PathBuf, time::Duration};

use crate::{
    Failure,
    load::{self, Kind},
    peer::Peer,
    service::{Demo, Service},
    streams::Streams,
    table::{self, Row},
};

const CONNECTIONS: [usize; 3] = [1, 8, 64];
const STREAMS: usize = 1_000;

/// What the benchmark takes.
pub(crate) struct Options {
    pub(crate) span: Duration,
    pub(crate) port: u16,
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
            Some(Kind::Mixed) => Vec::new(),
            Some(kind) => vec![(64, vec![kind])],
            None => CONNECTIONS.map(|connections| (connections, Kind::PLAIN.to_vec())).to_vec(),
        }
    }
}

/// A demo that is served, to be put under load.
pub(crate) struct Ground {
    pub(crate) folder: PathBuf,
    pub(crate) demo: Demo,
    pub(crate) service: Service,
}

/// Makes and serves a demo on the PostgreSQL that the environment names.
pub(crate) async fn start(options: &Options) -> Result<Ground, Failure> {
    let (binary, url) = (setting("CHANCERY_BIN")?, setting("CHANCERY_TEST_POSTGRES")?);
    let folder = env::temp_dir().join(format!("chancery-bench-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let demo = Demo::new(PathBuf::from(binary), folder.join("service"));
    let service = demo.up(&url, options.port).await?;
    Ok(Ground { folder, demo, service })
}

fn setting(name: &str) -> Result<String, Failure> {
    env::var(name).map_err(|_| format!("{name} is not set").into())
}

/// Runs everything and prints one table.
pub(crate) async fn run(options: Options) -> Result<(), Failure> {
    let ground = start(&options).await?;
    let (bin, url) = (setting("CHANCERY_PG_BIN")?, setting("CHANCERY_TEST_POSTGRES")?);
    let peer = Peer::new(PathBuf::from(bin), &url, ground.folder.clone()).await?;
    let hosts = [ground.service.host.clone()];
    let (key, turns) = (ground.demo.key()?, Turns(ground.demo.control().await?));
    table::head();
    for (connections, kinds) in options.runs() {
        let rate = peer.rate(connections, options.span).await?;
        table::peer(connections, rate);
        for kind in kinds {
            let (before, computed) = (turns.committed().await?, ground.service.computed()?);
            let measured = load::run(kind, &hosts, &key, connections, options.span).await?;
            let commits = Some(turns.committed().await? - before);
            let computed = Some(ground.service.computed()?.saturating_sub(computed));
            let (name, measured) = (kind.name(), &measured);
            Row { name, kind, connections, measured, commits, computed, peer: rate }.print();
        }
    }
    let streams = match options.only {
        None | Some(Kind::Mixed) => Some(mixed(&ground, &peer, &options).await?),
        Some(Kind::ProxyPair | Kind::GatewayUpdate | Kind::Refusal) => None,
    };
    if options.only.is_none() {
        for processes in [2, 4] {
            several_processes(&ground, &peer, (&options, processes)).await?;
        }
    }
    table::end(ground.service.peak_memory()?, streams);
    ground.service.stop().await?;
    std::fs::remove_dir_all(&ground.folder)?;
    Ok(())
}

/// Runs the mixed load while streams are open, and returns the memory of one of them in KiB.
async fn mixed(ground: &Ground, peer: &Peer, options: &Options) -> Result<u64, Failure> {
    let (key, hosts) = (ground.demo.key()?, [ground.service.host.clone()]);
    let keys = ground.demo.keys(Streams::keys_for(STREAMS)).await?;
    let before = ground.service.memory_now()?;
    let mut streams = Streams::open(&ground.service.host, &keys, STREAMS).await?;
    let of_streams = ground.service.memory_now()?.saturating_sub(before);
    let rate = peer.rate(64, options.span).await?;
    table::peer(64, rate);
    let computed = ground.service.computed()?;
    let measured = &load::run(Kind::Mixed, &hosts, &key, 64, options.span).await?;
    let computed = Some(ground.service.computed()?.saturating_sub(computed));
    if streams.count() != STREAMS {
        return Err(format!("only {} of {STREAMS} streams stayed open", streams.count()).into());
    }
    let name = "mixed, 10 % waits, 1,000 streams";
    let (kind, connections, commits) = (Kind::Mixed, 64, None);
    Row { name, kind, connections, measured, commits, computed, peer: rate }.print();
    Ok(of_streams / STREAMS as u64)
}

/// Runs the loads against so many processes that serve the same org.
async fn several_processes(
    ground: &Ground,
    peer: &Peer,
    (options, processes): (&Options, u16),
) -> Result<(), Failure> {
    let (key, mut others) = (ground.demo.key()?, Vec::new());
    for number in 1..processes {
        others.push(ground.demo.serve(options.port + number, None).await?);
    }
    let hosts = std::iter::once(&ground.service).chain(&others);
    let hosts: Vec<_> = hosts.map(|service| service.host.clone()).collect();
    let rate = peer.rate(64, options.span).await?;
    table::peer(64, rate);
    for kind in Kind::PLAIN {
        let measured = &load::run(kind, &hosts, &key, 64, options.span).await?;
        let name = &format!("{}, {processes} processes", kind.name());
        let (connections, commits, computed) = (64, None, None);
        Row { name, kind, connections, measured, commits, computed, peer: rate }.print();
    }
    for other in others {
        other.stop().await?;
    }
    Ok(())
}

/// Counts what the control database committed.
struct Turns(tokio_postgres::Client);

impl Turns {
    /// The turns so far, of all orgs together; each is one commit.
    async fn committed(&self) -> Result<i64, Failure> {
        let query = "select sum(version)::bigint from org_head";
        Ok(self.0.query_one(query, &[]).await?.get(0))
    }
}
