//! What pages take beside the read of the interface that each of them shows, in turns, in an org with
//! many actions and many calls that wait; what a first visit loads; and what a release takes.

use std::time::{Duration, Instant};

use http::StatusCode;
use serde_json::{Value, json};

use crate::{
    Failure,
    client::Client,
    gate::{Ground, start},
    options::{Options, Size},
    sessions::signed_in,
    stops::{ASKING, WAITING, hold_all, percentile},
};

/// How many actions the org has.
const ACTIONS: Size<i64> = Size { full: 1_000_000, smoke: 1_000 };
/// How often each page and each read is asked for.
const ROUNDS: Size<usize> = Size { full: 300, smoke: 2 };
/// How much of the read behind it a page may take, at the 99th of a hundred.
const AIM: f64 = 5.0;
/// What a first visit may load, in kilobytes.
const VISIT: f64 = 60.0;

const COLUMNS: &str = "
    select attname::text from pg_attribute
    where attrelid = 'action'::regclass and attnum > 0 and not attisdropped order by attnum";
const INDEXES: &str = "
    select indexrelid::regclass::text from pg_index
    where indrelid = 'action'::regclass and not indisprimary order by indexrelid";
const DEFINITIONS: &str = "
    select pg_get_indexdef(indexrelid) from pg_index
    where indrelid = 'action'::regclass and not indisprimary order by indexrelid";

/// Measures and prints.
pub(crate) async fn run(options: Options) -> Result<(), Failure> {
    let Ground { folder, demo, service } = start(&options).await?;
    let (control, actions) = (demo.control().await?, ACTIONS.at(options.scale));
    // A service would wait for the table as long as its rows are written.
    service.stop().await?;
    seed(&control, actions).await?;
    let service = demo.serve(options.port, None).await?;
    demo.activate(ASKING, None).await?;
    hold_all(&service.host, &demo.key()?, WAITING.at(options.scale)).await?;
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
    println!("| Page, {actions} actions | p50 | p99 | p99 of the read | x (aim {AIM}) | KB |");
    println!("|---|---|---|---|---|---|");
    for (page, read) in rows {
        let (mut pages, mut reads, mut bytes) = (Vec::new(), Vec::new(), 0);
        for _ in 0..ROUNDS.at(options.scale) {
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
    release(&mut client, &control).await?;
    service.stop().await?;
    std::fs::remove_dir_all(&folder)?;
    Ok(())
}

/// Fills the org with actions that ended, each as the newest that did, but for its id and its moment.
async fn seed(control: &tokio_postgres::Client, actions: i64) -> Result<(), Failure> {
    let rows = async |sql: &str| -> Result<Vec<String>, Failure> {
        Ok(control.query(sql, &[]).await?.iter().map(|row| row.get(0)).collect())
    };
    let columns = rows(COLUMNS).await?;
    let values: Vec<String> = columns
        .iter()
        .map(|column| match column.as_str() {
            "id" => "gen_random_uuid()".to_owned(),
            "created_at" => "one.created_at - number * interval '1 second'".to_owned(),
            other => format!("one.{other}"),
        })
        .collect();
    let (names, definitions) = (rows(INDEXES).await?, rows(DEFINITIONS).await?);
    let (columns, values) = (columns.join(", "), values.join(", "));
    // An index is made in a fraction of the time that keeping it through a million rows takes.
    control
        .batch_execute(&format!(
            "begin;
            drop index {};
            insert into action ({columns})
            select {values}
            from (select * from action where state = 'sealed' order by created_at desc limit 1) one,
                generate_series(1, {actions}) number;
            {};
            commit;
            analyze action",
            names.join(", "),
            definitions.join("; "),
        ))
        .await?;
    Ok(())
}

async fn timed(
    client: &mut Client,
    path: &str,
    spans: &mut Vec<Duration>,
) -> Result<usize, Failure> {
    loop {
        let began = Instant::now();
        let (status, answer) = client.get(path).await?;
        match status {
            StatusCode::OK => {
                spans.push(began.elapsed());
                return Ok(answer.len());
            }
            // Lists of one person have a share of the database's time, which comes back.
            StatusCode::TOO_MANY_REQUESTS => tokio::time::sleep(Duration::from_secs(1)).await,
            _ => return Err(format!("{path} was answered {status} {answer:?}").into()),
        }
    }
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

/// What a yes and the release that it is take: turns of the record, and time.
async fn release(client: &mut Client, control: &tokio_postgres::Client) -> Result<(), Failure> {
    let (_, session) = client.get("/v1/session").await?;
    let session: Value = serde_json::from_slice(&session)?;
    client.csrf(session["csrf"].as_str().ok_or("no session")?.to_owned());
    let (_, list) = client.get("/v1/approvals?mine=true&status=pending&limit=100").await?;
    let list: Value = serde_json::from_slice(&list)?;
    let asked = list["data"].as_array().ok_or("no list")?;
    let turns = async || -> Result<i64, Failure> {
        let sum = "select sum(version)::bigint from org_head";
        Ok(control.query_one(sum, &[]).await?.get(0))
    };
    let before = turns().await?;
    let mut spans = Vec::new();
    for one in asked {
        let path = format!("/v1/approvals/{}/approve", one["id"].as_str().unwrap_or_default());
        let answer = json!({ "context_digest": one["context_digest"] });
        let began = Instant::now();
        let (status, told) = client.post(&path, &answer).await?;
        spans.push(began.elapsed());
        if status != StatusCode::OK {
            return Err(format!("{path} was answered {status} {told:?}").into());
        }
    }
    let (count, turns) = (spans.len(), turns().await? - before);
    let (middle, tail) = (percentile(&mut spans, 50), percentile(&mut spans, 99));
    println!(
        "\n| Releases | turns (aim: one each) | p50 | p99 |\n|---|---|---|---|\n\
        | {count} | {turns} | {middle:.2?} | {tail:.2?} |"
    );
    Ok(())
}

fn kilobytes(bytes: usize) -> f64 {
    f64::from(u32::try_from(bytes).unwrap_or(u32::MAX)) / 1000.0
}
