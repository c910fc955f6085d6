//! How fast a service seals what an interruption left: calls that it authorised before it was
//! killed, and whose edges never reported.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use tokio_postgres::Client as Control;

use crate::{
    Failure,
    client::Client,
    gate::start,
    load,
    options::{Options, Size},
};

const INTERRUPTED: Size<usize> = Size { full: 10_000, smoke: 100 };
const CONNECTIONS: usize = 64;
/// How long an edge has to report.
const PATIENCE: Size<Duration> =
    Size { full: Duration::from_mins(1), smoke: Duration::from_secs(5) };

/// Interrupts the calls, starts the service again, and prints how long it took to seal them all.
pub(crate) async fn run(options: Options) -> Result<(), Failure> {
    let ground = start(&options).await?;
    ground.service.stop().await?;
    let patience = PATIENCE.at(options.scale);
    let settings = format!("gate: {{ edge_result_timeout: {}s }}\n", patience.as_secs());
    let service = ground.demo.serve(options.port, Some(&settings)).await?;
    let key = ground.demo.key()?;
    begin(&service.host, &key, INTERRUPTED.at(options.scale)).await?;
    let control = ground.demo.control().await?;
    let left = open_actions(&control).await?;
    service.stop().await?;
    tokio::time::sleep(patience + Duration::from_secs(1)).await;
    let started = Instant::now();
    let service = ground.demo.serve(options.port, Some(&settings)).await?;
    let served = started.elapsed();
    while open_actions(&control).await? > 0 {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let sealed = started.elapsed();
    let lost = "select count(*) from action where error_code = 'edge_lost'";
    let lost: i64 = control.query_one(lost, &[]).await?.get(0);
    #[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^52")]
    let rate = left as f64 / sealed.as_secs_f64();
    println!("| interrupted | sealed `edge_lost` | served after | all sealed after | per second |");
    println!("|---|---|---|---|---|");
    println!("| {left} | {lost} | {served:.1?} | {sealed:.1?} | {rate:.0} |");
    println!("\nPeak memory of the service that sealed them: {} MiB.", service.peak_memory()?);
    service.stop().await?;
    std::fs::remove_dir_all(&ground.folder)?;
    Ok(())
}

/// Has the calls authorised.
async fn begin(host: &str, key: &str, calls: usize) -> Result<(), Failure> {
    let next = Arc::new(AtomicUsize::new(0));
    let mut tasks = Vec::new();
    for _ in 0..CONNECTIONS {
        let (mut client, next) = (Client::connect(host, key).await?, Arc::clone(&next));
        tasks.push(tokio::spawn(async move {
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= calls {
                    return Ok::<_, Failure>(());
                }
                load::authorised(&mut client, number).await?;
            }
        }));
    }
    for task in tasks {
        task.await??;
    }
    Ok(())
}

/// How many calls of an edge are open. Others are not of this run: the demo holds one for a person.
async fn open_actions(control: &Control) -> Result<i64, Failure> {
    let sql = "select count(*) from action where state <> 'sealed' and mode = 'proxy'";
    Ok(control.query_one(sql, &[]).await?.get(0))
}
