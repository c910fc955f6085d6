//! What pages take beside the read of the interface that each of them shows, in turns, in an org with
//! many actions and many calls that wait; and what a first visit loads.

use std::time::{Duration, Instant};

use http::StatusCode;
use serde_json::Value;

use crate::{
    Failure,
    client::Client,
    gate::{Ground, Options, start},
    sessions::signed_in,
    stops::{ASKING, hold_all, percentile},
};

/// How many actions the org has.
const ACTIONS: i64 = 1_000_000;
/// How often each page and each read is asked for.
const ROUNDS: usize = 300;
/// How much of the read behind it a page may take, at the 99th of a hundred.
const AIM: f64 = 5.0;
/// What a first visit may load, in kilobytes.
const VISIT: f64 = 60.0;

/// Actions that ended, each as the newest that did, but for its id and its moment.
const SEED: &str = "
    insert into action
    select (jsonb_populate_record(null::action, to_jsonb(one) || jsonb_build_object(
        'id', gen_random_uuid(), 'created_at', one.created_at - number * interval '1 second'))).*
    from (select * from action where state = 'sealed' order by created_at desc limit 1) one,
        generate_series(1, $1::bigint) number";

/// Measures and prints.
pub(crate) async fn run(options: Options) -> Result<(), Failure> {
    let Ground { folder, demo, service } = start(&options).await?;
    let control = demo.control().await?;
    control.execute(SEED, &[&ACTIONS]).await?;
    control.batch_execute("analyze action").await?;
    demo.activate(ASKING, None).await?;
    hold_all(&service.host, &demo.key()?).await?;
    let session = signed_in(&demo, &service.host, &folder.join("service")).await?;
    let mut client = Client::connect(&service.host, &session).await?;
    let first = async |client: &mut Client, list: &str| -> Result<String, Failure> {
        let (_, answer) = client.get(list).await?;
        let list: Value = serde_json::from_slice(&answer)?;
        let id = list.pointer("/data/0/id").and_then(Value::as_str);
        Ok(id.ok_or_else(|| format!("{list} has no row"))?.to_owned())
    };
    let action = first(&mut client, "/v1/actions?state=sealed&limit=1").await?;
    let approval = first(&mut client, "/v1/approvals?status=pending&limit=1").await?;
    let agent = first(&mut client, "/v1/agents").await?;
    let policy = first(&mut client, "/v1/policies").await?;
    let mine = "/v1/approvals?mine=true&status=pending&limit=20";
    let rows = [
        ("/app/actions".to_owned(), "/v1/actions".to_owned()),
        ("/app/actions?decision=deny".to_owned(), "/v1/actions?decision=deny".to_owned()),
        (format!("/app/actions/{action}"), format!("/v1/actions/{action}?expand[]=witness.detail")),
        ("/app/approvals".to_owned(), mine.to_owned()),
        (format!("/app/approvals/{approval}"), mine.to_owned()),
        ("/app/agents".to_owned(), "/v1/agents".to_owned()),
        (format!("/app/agents/{agent}"), format!("/v1/actions?agent={agent}&limit=10")),
        ("/app/policies".to_owned(), "/v1/policies".to_owned()),
        (format!("/app/policies/{policy}"), format!("/v1/policies/{policy}/versions")),
        ("/app/ledger".to_owned(), "/v1/ledger".to_owned()),
        ("/app/settings".to_owned(), "/v1/org".to_owned()),
    ];
    println!("| Page, {ACTIONS} actions | p50 | p99 | p99 of the read | x (aim {AIM}) | KB |");
    println!("|---|---|---|---|---|---|");
    for (page, read) in rows {
        let (mut pages, mut reads, mut bytes) = (Vec::new(), Vec::new(), 0);
        for _ in 0..ROUNDS {
            bytes = timed(&mut client, &page, &mut pages).await?;
            timed(&mut client, &read, &mut reads).await?;
        }
        let (middle, tail) = (percentile(&mut pages, 50), percentile(&mut pages, 99));
        let peer = percentile(&mut reads, 99);
        let ratio = tail.as_secs_f64() / peer.as_secs_f64();
        let name = page.split(['?', '_']).next().unwrap_or_default();
        let size = kilobytes(bytes);
        println!("| `{name}` | {middle:.2?} | {tail:.2?} | {peer:.2?} | {ratio:.1} | {size:.1} |");
    }
    visit(&mut client).await?;
    service.stop().await?;
    std::fs::remove_dir_all(&folder)?;
    Ok(())
}

async fn timed(
    client: &mut Client,
    path: &str,
    spans: &mut Vec<Duration>,
) -> Result<usize, Failure> {
    let began = Instant::now();
    let (status, answer) = client.get(path).await?;
    spans.push(began.elapsed());
    if status == StatusCode::OK {
        return Ok(answer.len());
    }
    Err(format!("{path} was answered {status} {answer:?}").into())
}

/// What a first visit loads: the page as it is, and its files compressed.
async fn visit(client: &mut Client) -> Result<(), Failure> {
    let (_, page) = client.get("/app/actions").await?;
    let text = String::from_utf8_lossy(&page).into_owned();
    let files = text.split('"').filter(|text| text.starts_with("/app/assets/"));
    let mut loaded = page.len();
    let mut found: Vec<&str> = files.collect();
    found.sort_unstable();
    found.dedup();
    for file in found {
        loaded += client.get_compressed(file).await?.len();
    }
    println!("\nA first visit of `/app/actions` loads {:.1} KB (aim {VISIT}).", kilobytes(loaded));
    Ok(())
}

fn kilobytes(bytes: usize) -> f64 {
    f64::from(u32::try_from(bytes).unwrap_or(u32::MAX)) / 1000.0
}
