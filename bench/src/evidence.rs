//! What evidence costs: a change log read by itself, the ledger row and the marker of a governed write beside
//! the bare write, a call whose evidence is the log beside one that has none, and a follower that has nothing
//! to read.

use std::{
    env,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use tokio_postgres::{Config, NoTls};

use crate::{
    Failure, change_log,
    client::Client,
    computed::{Processes, parent},
    gate::{Ground, start_witnessed},
    load::{Kind, once},
    options::{Options, Size},
    stops::percentile,
};

/// Writers of one database at once.
const WRITERS: usize = 8;
/// Each way is measured so often, in turns with the other.
const ROUNDS: u32 = 5;
/// How many times as long a write may take with its ledger row and its marker.
const MOST_TIMES: f64 = 1.7;
/// How long nothing happens, and how much of a core a follower may take meanwhile.
const QUIET: Size<Duration> =
    Size { full: Duration::from_secs(30), smoke: Duration::from_millis(300) };
const LEAST_QUIET: f64 = 0.01;
const POLICY: &str = r#"schema: 1
default: { outcome: deny, reason: "No rule allows this call." }
rules:
  - { id: status, match: shop.orders.update_status, when: "args.order > 0", outcome: allow }
"#;
const WRITE: &str = "update public.orders set status = $2 where id = $1";
/// As the connector begins a write: a row, and a marker of the usual length.
const BEGIN: &str = "
    select service.begin_action($1, 'org_bench', 'shop.orders.update_status',
        repeat('d', 71), repeat('n', 32), repeat('m', 43), repeat('k', 300))";

/// Measures and prints all of it.
pub(crate) async fn run(options: Options) -> Result<(), Failure> {
    let (url, programs) = (env::var("CHANCERY_TEST_POSTGRES")?, env::var("CHANCERY_PG_BIN")?);
    change_log::run(&url, &PathBuf::from(programs), options.scale).await?;
    let (reported, quiet) = measured(&options, "report").await?;
    added(&url, options.span).await?;
    let (logged, followed) = measured(&options, "log").await?;
    let millis = |span: Duration| span.as_secs_f64() * 1e3;
    println!("\n| a write at the Gate, one at a time | p50 | p99 |");
    println!("|---|---|---|");
    for (name, mut spans) in [("L0, the report alone", reported), ("L2, the change log", logged)] {
        let [half, last] = [50, 99].map(|part| percentile(&mut spans, part));
        println!("| {name} | {:.1} ms | {:.1} ms |", millis(half), millis(last));
    }
    println!(
        "\nWhile nothing happens, the service and PostgreSQL take {quiet:.4} of a core, and {followed:.4} \
         with a follower: {:.4} for it (aim at most {LEAST_QUIET}).",
        followed - quiet
    );
    Ok(())
}

/// How long writes take whose evidence is this, and what part of a core nothing takes.
async fn measured(options: &Options, witness: &str) -> Result<(Vec<Duration>, f64), Failure> {
    let Ground { folder, demo, service } = start_witnessed(options, witness).await?;
    demo.activate(POLICY, None).await?;
    let mut agent = Client::connect(&service.host, &demo.key()?).await?;
    let (began, mut spans) = (Instant::now(), Vec::new());
    while began.elapsed() < options.span {
        let sent = Instant::now();
        once(Kind::GatewayUpdate, &mut agent, spans.len()).await?;
        spans.push(sent.elapsed());
    }
    let control = demo.control().await?;
    let own: i32 = control.query_one("select pg_backend_pid()", &[]).await?.get(0);
    let postgres = parent(u32::try_from(own)?)?;
    let processes = Processes { services: vec![service.id()?], postgres };
    // What was written is read and kept by then.
    let quiet = QUIET.at(options.scale);
    tokio::time::sleep(quiet / 3).await;
    let before = processes.computed()?;
    tokio::time::sleep(quiet).await;
    let spent = processes.computed()?.since(before);
    let part = (spent.services + spent.postgres).as_secs_f64() / quiet.as_secs_f64();
    service.stop().await?;
    std::fs::remove_dir_all(&folder)?;
    Ok((spans, part))
}

/// What the ledger row and the marker add to a write, with nothing else in the way.
async fn added(url: &str, span: Duration) -> Result<(), Failure> {
    let (mut bare, mut governed) = (0, 0);
    for round in 0..ROUNDS {
        bare += writes(url, span / ROUNDS, (false, round)).await?;
        governed += writes(url, span / ROUNDS, (true, round)).await?;
    }
    #[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^52")]
    let (bare, governed) = (bare as f64, governed as f64);
    let rate = |count: f64| count / span.as_secs_f64();
    println!("\n| writes of {WRITERS} connections | per second | times as long |");
    println!("|---|---|---|");
    println!("| the bare write | {:.0} | |", rate(bare));
    println!(
        "| with its ledger row and its marker | {:.0} | {:.2} (aim at most {MOST_TIMES}) |",
        rate(governed),
        bare / governed
    );
    Ok(())
}

/// How many writes the shop takes in this time.
async fn writes(
    url: &str,
    span: Duration,
    (governed, round): (bool, u32),
) -> Result<usize, Failure> {
    let (over, done) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let mut tasks = Vec::new();
    for writer in 0..WRITERS {
        let mut config: Config = url.parse()?;
        let (mut client, connection) = config.dbname("shop").connect(NoTls).await?;
        tokio::spawn(connection);
        let (over, done) = (Arc::clone(&over), Arc::clone(&done));
        tasks.push(tokio::spawn(async move {
            let (write, begin) = (client.prepare(WRITE).await?, client.prepare(BEGIN).await?);
            let mut turn = 0_usize;
            while !over.load(Ordering::Relaxed) {
                let order = i64::try_from((turn * WRITERS + writer) % 4_000)? + 1;
                let status = if turn.is_multiple_of(2) { "paid" } else { "shipped" };
                let transaction = client.transaction().await?;
                if governed {
                    let action = format!("act_{round}_{writer}_{turn}");
                    transaction.execute(&begin, &[&action]).await?;
                }
                transaction.execute(&write, &[&order, &status]).await?;
                transaction.commit().await?;
                done.fetch_add(1, Ordering::Relaxed);
                turn += 1;
            }
            Ok::<_, Failure>(())
        }));
    }
    tokio::time::sleep(span).await;
    over.store(true, Ordering::Relaxed);
    for task in tasks {
        task.await??;
    }
    Ok(done.load(Ordering::Relaxed))
}
