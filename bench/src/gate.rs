//! The Gate under closed-loop load at 1, 8, 32 and 64 connections, on one process and on several, beside `pgbench`.

use std::{env, path::PathBuf, time::Duration};

use crate::{
    Failure,
    computed::{Processes, parent},
    load::{self, Kind},
    options::{Options, Size},
    peer::Peer,
    service::{Demo, Service},
    streams::Streams,
    table::{self, Row},
};

const CONNECTIONS: Size<&[usize]> = Size { full: &[1, 8, 32, 64], smoke: &[1, 8] };
/// How many processes share an org, and on how many connections they are called.
const PROCESSES: Size<&[u16]> = Size { full: &[2, 4], smoke: &[2] };
const SHARED: Size<&[usize]> = Size { full: &[8, 32, 64], smoke: &[8] };
/// More than the keys of one agent hold open.
const STREAMS: Size<usize> = Size { full: 1_000, smoke: 80 };

/// A demo that is served, to be put under load.
pub(crate) struct Ground {
    pub(crate) folder: PathBuf,
    pub(crate) demo: Demo,
    pub(crate) service: Service,
}

/// Makes and serves a demo on the PostgreSQL that the environment names.
pub(crate) async fn start(options: &Options) -> Result<Ground, Failure> {
    start_witnessed(options, "report").await
}

/// Makes and serves a demo whose writes are witnessed by this: `report` or `log`.
pub(crate) async fn start_witnessed(options: &Options, witness: &str) -> Result<Ground, Failure> {
    let (binary, url) = (setting("CHANCERY_BIN")?, setting("CHANCERY_TEST_POSTGRES")?);
    let folder = env::temp_dir().join(format!("chancery-bench-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let demo = Demo::new(PathBuf::from(binary), folder.join("service"));
    let service = demo.up((&url, witness), options.port).await?;
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
    let scales = Scales { control: ground.demo.control().await?, key: ground.demo.key()? };
    table::head();
    for (connections, kinds) in runs(&options) {
        let rate = peer.rate(connections, options.span).await?;
        table::peer(connections, rate);
        for kind in kinds {
            let load = Load { name: kind.name(), kind, connections, span: options.span };
            scales.weigh(load, &[&ground.service], rate).await?;
        }
    }
    let streams = match (options.only, options.processes) {
        (None | Some(Kind::Mixed), None) => Some(mixed(&ground, (&peer, &scales), &options).await?),
        _ => None,
    };
    let shared = match (options.only, options.processes) {
        (_, Some(processes)) => vec![processes],
        (None, None) => PROCESSES.at(options.scale).to_vec(),
        (Some(_), None) => Vec::new(),
    };
    for processes in shared {
        several_processes(&ground, (&peer, &scales), (&options, processes)).await?;
    }
    table::end(ground.service.peak_memory()?, streams);
    ground.service.stop().await?;
    std::fs::remove_dir_all(&ground.folder)?;
    Ok(())
}

/// The loads on one process: each on how many connections, and of what.
fn runs(options: &Options) -> Vec<(usize, Vec<Kind>)> {
    match options.only {
        _ if options.processes.is_some() => Vec::new(),
        Some(Kind::Mixed) => Vec::new(),
        Some(kind) => vec![(64, vec![kind])],
        None => {
            let connections = CONNECTIONS.at(options.scale).iter();
            connections.map(|connections| (*connections, Kind::PLAIN.to_vec())).collect()
        }
    }
}

/// Runs the mixed load while streams are open, and returns the memory of one of them in KiB.
async fn mixed(
    ground: &Ground,
    (peer, scales): (&Peer, &Scales),
    options: &Options,
) -> Result<u64, Failure> {
    let count = STREAMS.at(options.scale);
    let keys = ground.demo.keys(Streams::keys_for(count)).await?;
    let before = ground.service.memory_now()?;
    let mut streams = Streams::open(&ground.service.host, &keys, count).await?;
    let of_streams = ground.service.memory_now()?.saturating_sub(before);
    let rate = peer.rate(64, options.span).await?;
    table::peer(64, rate);
    let (name, kind) = (format!("mixed, 10 % waits, {count} streams"), Kind::Mixed);
    let load = Load { name: &name, kind, connections: 64, span: options.span };
    scales.weigh(load, &[&ground.service], rate).await?;
    if streams.count() != count {
        return Err(format!("only {} of {count} streams stayed open", streams.count()).into());
    }
    Ok(of_streams / count as u64)
}

/// Runs the loads against so many processes that serve the same org.
async fn several_processes(
    ground: &Ground,
    (peer, scales): (&Peer, &Scales),
    (options, processes): (&Options, u16),
) -> Result<(), Failure> {
    let mut others = Vec::new();
    for number in 1..processes {
        others.push(ground.demo.serve(options.port + number, None).await?);
    }
    let services: Vec<_> = std::iter::once(&ground.service).chain(&others).collect();
    for &connections in SHARED.at(options.scale) {
        let rate = peer.rate(connections, options.span).await?;
        table::peer(connections, rate);
        for kind in Kind::PLAIN {
            let name = &format!("{}, {processes} processes", kind.name());
            let load = Load { name, kind, connections, span: options.span };
            scales.weigh(load, &services, rate).await?;
        }
    }
    for other in others {
        other.stop().await?;
    }
    Ok(())
}

/// A load to be measured.
struct Load<'a> {
    name: &'a str,
    kind: Kind,
    connections: usize,
    span: Duration,
}

/// What a load is measured with: the control database, and the agent's key.
struct Scales {
    control: tokio_postgres::Client,
    key: String,
}

impl Scales {
    /// Runs a load against these processes, and prints its row.
    async fn weigh(&self, load: Load<'_>, on: &[&Service], peer: f64) -> Result<(), Failure> {
        let Load { name, kind, connections, span } = load;
        let hosts: Vec<_> = on.iter().map(|service| service.host.clone()).collect();
        let services = on.iter().map(|service| service.id()).collect::<Result<_, _>>()?;
        let processes = Processes { services, postgres: self.postgres().await? };
        let (commits, computed) = (self.committed().await?, processes.computed()?);
        let measured = &load::run(kind, &hosts, &self.key, connections, span).await?;
        let computed = processes.computed()?.since(computed);
        let commits = self.committed().await? - commits;
        Row { name, kind, connections, measured, commits, computed, peer }.print();
        Ok(())
    }

    /// The turns so far, of all orgs together; each is one commit of the control database.
    async fn committed(&self) -> Result<i64, Failure> {
        let query = "select sum(version)::bigint from org_head";
        Ok(self.control.query_one(query, &[]).await?.get(0))
    }

    /// PostgreSQL's first process, which started the one that answers.
    async fn postgres(&self) -> Result<u32, Failure> {
        let own: i32 = self.control.query_one("select pg_backend_pid()", &[]).await?.get(0);
        parent(u32::try_from(own)?)
    }
}
