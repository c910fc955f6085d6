//! What the Gate adds to a call: of an API's tool over a bare call by the same guarded way out, and of a
//! database's tool over the bare statement.

use std::{
    env,
    time::{Duration, Instant},
};

use bytes::Bytes;
use egress::{Egress, PrivateNetworks, Rules};
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use serde_json::json;
use tokio::net::{TcpListener, TcpStream};
use tokio_postgres::{Config, NoTls, Statement};
use upstream::{Address, Limits, Reuse, Trust};

use crate::{
    Failure,
    client::Client,
    gate::{Ground, start},
    load::{Kind, expect, once},
    options::Options,
    receiver::Requests,
};

/// Each is measured so often, in turns with the others.
const ROUNDS: usize = 5;
/// The longest wait for an answer of the API.
const PATIENCE: Duration = Duration::from_secs(10);
/// The largest answer of the API.
const ANSWER: usize = 1 << 20;

/// The demo's orders and the API, without budgets.
const POLICY: &str = r#"schema: 1
default: { outcome: deny, reason: "No rule allows this call." }
rules:
  - { id: status, match: shop.orders.update_status, when: "args.order > 0", outcome: allow }
  - { id: api, match: "api.*", outcome: allow }
"#;
const STATEMENT: &str = "update public.orders set status = $2 where id = $1";

/// Four ways of one call, each over one connection.
struct Ways {
    agent: Client,
    api: upstream::Client,
    at: Address,
    shop: tokio_postgres::Client,
    statement: Statement,
}

/// One of them.
#[derive(Debug, Clone, Copy)]
enum Way {
    BareApi,
    ApiTool,
    BareStatement,
    StatementTool,
}

impl Way {
    const ALL: [Self; 4] = [Self::BareApi, Self::ApiTool, Self::BareStatement, Self::StatementTool];

    fn name(self) -> &'static str {
        match self {
            Self::BareApi => "a bare POST by the same guarded way out",
            Self::ApiTool => "the tool of the API",
            Self::BareStatement => "the bare statement on a kept connection",
            Self::StatementTool => "the tool of the database",
        }
    }
}

/// Measures all four in turns, and prints what each tool adds.
pub(crate) async fn run(options: Options) -> Result<(), Failure> {
    let Ground { folder, demo, service } = start(&options).await?;
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let base = format!("http://{}", listener.local_addr()?);
    let answering = tokio::spawn(answer(listener));
    let admin = demo.made(&["key", "create", "--org-admin"]).await?;
    let mut admin = Client::connect(&service.host, &admin).await?;
    let (status, made) = admin.post("/v1/connectors", &connector(&base)).await?;
    if status != StatusCode::CREATED {
        return Err(format!("a connector was answered {status} {made:?}").into());
    }
    demo.activate(POLICY, None).await?;
    let shop = shop().await?;
    let mut ways = Ways {
        agent: Client::connect(&service.host, &demo.key()?).await?,
        api: api()?,
        at: Address::parse(&format!("{base}/orders/1"))?,
        statement: shop.prepare(STATEMENT).await?,
        shop,
    };
    let mut latencies = Way::ALL.map(|_| Vec::new());
    for _ in 0..ROUNDS {
        for (way, all) in Way::ALL.into_iter().zip(&mut latencies) {
            ways.measure(way, options.span, all).await?;
        }
    }
    told(latencies);
    answering.abort();
    service.stop().await?;
    std::fs::remove_dir_all(&folder)?;
    Ok(())
}

/// A connector with one tool that writes.
fn connector(base: &str) -> serde_json::Value {
    let args = json!({
        "type": "object", "additionalProperties": false, "required": ["order", "status"],
        "properties": { "order": { "type": "integer" }, "status": { "type": "string" } },
    });
    let tool = json!({
        "name": "update_status", "title": "Set a status", "description": "Sets an order's status.",
        "method": "PATCH", "path": "/orders/{order}", "args": args,
    });
    let config = json!({ "base_url": base, "auth": "none", "tools": [tool] });
    json!({ "name": "api", "type": "rest", "config": config })
}

/// The client that tools of APIs are called with.
fn api() -> Result<upstream::Client, Failure> {
    let rules = Rules { private_networks: PrivateNetworks::Allowed, ..Rules::default() };
    Ok(upstream::Client::new(Egress::new(rules)?, &Trust::default(), PATIENCE)?)
}

/// The demo's shop, as its owner.
async fn shop() -> Result<tokio_postgres::Client, Failure> {
    let url = env::var("CHANCERY_TEST_POSTGRES")?;
    let mut config: Config = url.parse()?;
    let (client, connection) = config.dbname("shop").connect(NoTls).await?;
    tokio::spawn(connection);
    Ok(client)
}

impl Ways {
    /// Calls one after the other for a part of this time.
    async fn measure(
        &mut self,
        way: Way,
        span: Duration,
        latencies: &mut Vec<Duration>,
    ) -> Result<(), Failure> {
        let began = Instant::now();
        let mut turn = 0;
        while began.elapsed() < span / 5 {
            let sent = Instant::now();
            self.call(way, turn).await?;
            latencies.push(sent.elapsed());
            turn += 1;
        }
        Ok(())
    }

    async fn call(&mut self, way: Way, turn: usize) -> Result<(), Failure> {
        let status = if turn.is_multiple_of(2) { "paid" } else { "shipped" };
        let order = i64::try_from(turn % 4_000)? + 1;
        match way {
            Way::BareApi => {
                let body = json!({ "status": status }).to_string();
                let mut headers = HeaderMap::new();
                let json = HeaderValue::from_static("application/json");
                headers.insert(header::CONTENT_TYPE, json);
                let limits = Limits { whole: PATIENCE, idle: PATIENCE, answer_bytes: ANSWER };
                let what = (Method::PATCH, &self.at);
                let content = (headers, Bytes::from(body));
                let answer = self.api.send(what, content, (&limits, Reuse::Fresh)).await?;
                if answer.status != StatusCode::OK {
                    return Err(format!("the API answered {}", answer.status).into());
                }
            }
            Way::ApiTool => {
                let call = json!({
                    "tool": "api.update_status",
                    "args": { "order": order, "status": status },
                    "wait": 25,
                });
                expect(&mut self.agent, "/v1/actions", &call, 200, "executed").await?;
            }
            Way::BareStatement => {
                self.shop.execute(&self.statement, &[&order, &status]).await?;
            }
            Way::StatementTool => once(Kind::GatewayUpdate, &mut self.agent, turn).await?,
        }
        Ok(())
    }
}

fn told(latencies: [Vec<Duration>; 4]) {
    println!("| a call, one at a time | calls | p50 | p99 |");
    println!("|---|---|---|---|");
    let millis = |span: Duration| span.as_secs_f64() * 1e3;
    let mut medians = [0.0; 4];
    for ((way, mut all), median) in Way::ALL.into_iter().zip(latencies).zip(&mut medians) {
        all.sort_unstable();
        let at = |part: usize| all.get((all.len() * part) / 100).copied().unwrap_or_default();
        *median = millis(at(50));
        println!("| {} | {} | {median:.2} ms | {:.2} ms |", way.name(), all.len(), millis(at(99)));
    }
    let [bare_api, api, bare_statement, statement] = medians;
    let (added, beside) = (api - bare_api, statement - bare_statement);
    println!("\n| added by the Gate, p50 | | compared with | ratio | aim |");
    println!("|---|---|---|---|---|");
    println!(
        "| to a call of an API | {added:.2} ms | to a call of a database: {beside:.2} ms | {:.2} | at most 1 |",
        added / beside
    );
}

/// Answers every request with a little JSON.
async fn answer(listener: TcpListener) {
    while let Ok((stream, _)) = listener.accept().await {
        // A connection that ends is none of the API's faults.
        tokio::spawn(async move {
            let _ = serve(stream).await;
        });
    }
}

async fn serve(stream: TcpStream) -> std::io::Result<()> {
    const ANSWERED: &[u8] =
        b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 16\r\n\r\n{\"changed\":true}";
    let mut requests = Requests::of(stream)?;
    while requests.next().await?.is_some() {
        requests.answer(ANSWERED).await?;
    }
    Ok(())
}
