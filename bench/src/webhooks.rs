//! Webhooks: how fast events that are behind reach 16 endpoints and what that costs, beside a bare client
//! that posts the same signed bytes; and what 16 endpoints cost the Gate.

use std::{
    env,
    process::Stdio,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use bytes::Bytes;
use http::{Request, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1::handshake;
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::{
    io::AsyncWriteExt,
    net::{TcpListener, TcpStream},
    process::Command,
};

use crate::{
    Failure,
    client::Client,
    computed::{Computed, Processes, parent},
    gate::{Ground, start},
    load::{self, Kind},
    options::{Options, Size},
    receiver::Requests,
};

/// Names the part of this that runs in a process of its own, so that what it computes can be told from
/// the rest.
pub(crate) const BARE: &str = "webhooks-bare";
const ENDPOINTS: usize = 16;
/// How many events each of them is behind.
const EVENTS: Size<i64> = Size { full: 10_000, smoke: 200 };
const CONNECTIONS: usize = 32;
/// A delivery takes at most so many times the processor time of a bare post.
const MOST_TIMES: f64 = 3.0;
/// The Gate keeps at least this part of its rate.
const LEAST_RATE: f64 = 0.9;
/// No run takes longer.
const PATIENCE: Duration = Duration::from_mins(10);

/// The Gate's rate, and what was computed and posted meanwhile.
struct GateRun {
    rate: f64,
    computed: Computed,
    posted: usize,
    span: Duration,
}

/// What receivers were posted.
#[derive(Debug, Default)]
struct Taken {
    count: AtomicUsize,
    /// One request as it came, headers and body.
    sample: Mutex<Option<(String, Bytes)>>,
}

/// Measures and prints all of it.
pub(crate) async fn run(options: Options) -> Result<(), Failure> {
    let Ground { folder, demo, service } = start(&options).await?;
    let (control, key) = (demo.control().await?, demo.key()?);
    let own: i32 = control.query_one("select pg_backend_pid()", &[]).await?.get(0);
    let postgres = parent(u32::try_from(own)?)?;
    let processes = Processes { services: vec![service.id()?], postgres };
    let hosts = [service.host.clone()];
    let taken = Arc::new(Taken::default());
    let gate = async || -> Result<GateRun, Failure> {
        let before = (processes.computed()?, taken.count.load(Ordering::Relaxed));
        let began = Instant::now();
        let load = load::run(Kind::GatewayUpdate, &hosts, &key, CONNECTIONS, options.span);
        let rate = load.await?.rate();
        let computed = processes.computed()?.since(before.0);
        let posted = taken.count.load(Ordering::Relaxed) - before.1;
        Ok(GateRun { rate, computed, posted, span: began.elapsed() })
    };
    let events = EVENTS.at(options.scale);
    // The first run also makes the events that endpoints will be behind.
    gate().await?;
    while control.query_one("select max(seq) from event", &[]).await?.get::<_, i64>(0) < events {
        gate().await?;
    }
    let without = gate().await?;

    let org = demo.made(&["key", "create", "--org-admin"]).await?;
    let mut admin = Client::connect(&service.host, &org).await?;
    let mut receivers = Vec::new();
    for _ in 0..ENDPOINTS {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("http://{}/hook", listener.local_addr()?);
        receivers.push(tokio::spawn(receive(listener, Arc::clone(&taken))));
        let (status, answer) = admin.post("/v1/webhook_endpoints", &json!({ "url": url })).await?;
        if status != StatusCode::CREATED {
            return Err(format!("an endpoint was answered {status} {answer:?}").into());
        }
    }
    quiet(&taken).await;
    let (before, began) = (taken.count.load(Ordering::Relaxed), Instant::now());
    let computed = processes.computed()?;
    let back = "update webhook_lane set seq = seq - $1::bigint";
    control.execute(back, &[&events]).await?;
    let expected = ENDPOINTS * usize::try_from(events)?;
    while taken.count.load(Ordering::Relaxed) < before + expected {
        if began.elapsed() > PATIENCE {
            return Err("the endpoints did not get everything in time".into());
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let posted = (began.elapsed(), processes.computed()?.since(computed));
    let bare = bare(&taken, expected).await?;
    let with = gate().await?;
    told((expected, posted), bare, (without, with));
    service.stop().await?;
    std::fs::remove_dir_all(&folder)?;
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^52")]
fn told(
    (count, (span, computed)): (usize, (Duration, Computed)),
    (bare_span, bare_computed): (Duration, Duration),
    (without, with): (GateRun, GateRun),
) {
    let rate = |span: Duration| count as f64 / span.as_secs_f64();
    let each = |computed: Duration| computed.as_secs_f64() * 1e6 / count as f64;
    println!(
        "\n| {count} deliveries to {ENDPOINTS} endpoints | per second | processor time of each |"
    );
    println!("|---|---|---|");
    let (ours, theirs) = (each(computed.services), each(bare_computed));
    println!("| the service | {:.0} | {ours:.1} µs |", rate(span));
    println!("| PostgreSQL meanwhile | | {:.1} µs |", each(computed.postgres));
    println!(
        "| a bare client, {ENDPOINTS} connections | {:.0} | {theirs:.1} µs |",
        rate(bare_span)
    );
    println!("| service x bare | | {:.2} (at most {MOST_TIMES}) |", ours / theirs);
    println!(
        "\n| gateway updates at {CONNECTIONS} connections | per second | deliveries a second | \
         service | PostgreSQL | clients and receivers |\n|---|---|---|---|---|---|"
    );
    let row = |name: &str, run: &GateRun| {
        let seconds = run.span.as_secs_f64();
        let part = |of: Duration| format!("{:.2} cores", of.as_secs_f64() / seconds);
        let Computed { services, postgres, client } = run.computed;
        let posted = run.posted as f64 / seconds;
        let [services, postgres, client] = [services, postgres, client].map(part);
        println!("| {name} | {:.0} | {posted:.0} | {services} | {postgres} | {client} |", run.rate);
    };
    row("without endpoints", &without);
    row(&format!("{ENDPOINTS} endpoints that ask for everything"), &with);
    println!("\nwith x without: {:.2} (at least {LEAST_RATE})", with.rate / without.rate);
}

/// Waits until nothing more is posted.
async fn quiet(taken: &Taken) {
    let mut last = usize::MAX;
    while last != taken.count.load(Ordering::Relaxed) {
        last = taken.count.load(Ordering::Relaxed);
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}

/// Takes everything.
async fn receive(listener: TcpListener, taken: Arc<Taken>) {
    while let Ok((stream, _)) = listener.accept().await {
        let taken = Arc::clone(&taken);
        tokio::spawn(async move {
            // A connection that ends is none of a receiver's faults.
            let _ = serve(stream, &taken).await;
        });
    }
}

async fn serve(stream: TcpStream, taken: &Taken) -> std::io::Result<()> {
    let mut requests = Requests::of(stream)?;
    while let Some((head, body)) = requests.next().await? {
        if taken.count.fetch_add(1, Ordering::Relaxed).is_multiple_of(1_024) {
            let body = Bytes::copy_from_slice(body);
            *taken.sample.lock().unwrap_or_else(PoisonError::into_inner) = Some((head, body));
        }
        requests.answer(b"HTTP/1.1 204 No Content\r\n\r\n").await?;
    }
    Ok(())
}

/// Has a process of its own post what the service posted, as often, and returns how long it took and
/// what it computed.
async fn bare(taken: &Taken, count: usize) -> Result<(Duration, Duration), Failure> {
    let sample = taken.sample.lock().unwrap_or_else(PoisonError::into_inner).take();
    let (head, body) = sample.ok_or("nothing was posted")?;
    let headers: Vec<_> = head.lines().skip(1).filter_map(|line| line.split_once(": ")).collect();
    let order =
        json!({ "count": count, "headers": headers, "body": String::from_utf8(body.into())? });
    let own = Arc::new(Taken::default());
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?.to_string();
    let receiver = tokio::spawn(receive(listener, own));
    let mut child = Command::new(env::current_exe()?)
        .args([BARE, &address])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()?;
    let mut input = child.stdin.take().ok_or("the bare client has no input")?;
    input.write_all(order.to_string().as_bytes()).await?;
    drop(input);
    let output = child.wait_with_output().await?;
    receiver.abort();
    let told: Value = serde_json::from_slice(&output.stdout)?;
    let span = |name: &str| Duration::from_secs_f64(told[name].as_f64().unwrap_or_default());
    Ok((span("seconds"), span("computed")))
}

/// Posts the same bytes over and over, and prints how long it took and what it computed.
pub(crate) async fn post_bare(address: Option<String>) -> Result<(), Failure> {
    let address = address.ok_or("expected an address")?;
    let order: Value = serde_json::from_reader(std::io::stdin())?;
    let count = usize::try_from(order["count"].as_u64().unwrap_or_default())?;
    let order = Arc::new(order);
    let began = Instant::now();
    let mut connections = Vec::new();
    for number in 0..ENDPOINTS {
        let part = (number..count).step_by(ENDPOINTS).len();
        connections.push(tokio::spawn(post(address.clone(), Arc::clone(&order), part)));
    }
    for connection in connections {
        connection.await??;
    }
    let seconds = began.elapsed().as_secs_f64();
    let computed = Processes::own()?.as_secs_f64();
    println!("{}", json!({ "seconds": seconds, "computed": computed }));
    Ok(())
}

async fn post(address: String, order: Arc<Value>, count: usize) -> Result<(), Failure> {
    let stream = TcpStream::connect(&address).await?;
    stream.set_nodelay(true)?;
    let (mut sender, connection) = handshake(TokioIo::new(stream)).await?;
    tokio::spawn(async move {
        let _ = connection.await;
    });
    let body = Bytes::from(order["body"].as_str().unwrap_or_default().to_owned());
    for _ in 0..count {
        let mut request = Request::post("/hook");
        for header in order["headers"].as_array().into_iter().flatten() {
            let (name, value) = (&header[0], &header[1]);
            request = request
                .header(name.as_str().unwrap_or_default(), value.as_str().unwrap_or_default());
        }
        sender.ready().await?;
        let answer = sender.send_request(request.body(Full::new(body.clone()))?).await?;
        if answer.status() != StatusCode::NO_CONTENT {
            return Err(format!("the receiver answered {}", answer.status()).into());
        }
        answer.into_body().collect().await?;
    }
    Ok(())
}
