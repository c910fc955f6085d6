//! A connector whose way to its database leads through a PgBouncer, tools that are as alike as tools
//! can be, and two instances that call them.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio_postgres::{Client, NoTls};

use crate::house::{Caller, House, PoolMode, Pooler, Request, Service, call, name};

/// What the sentence about a pooler that shares connections says.
pub const NAMED: &str = "as behind a pooler in transaction mode";

/// The roles that tools log in as: the one that writes, and the one that reads.
const ROLES: [(&str, &str); 2] = [("svc_conn", "conn-password"), ("svc_read", "read-password")];
/// How many tools there are of each of the two kinds.
const TOOLS: usize = 10;
const ALLOW: &str = "{schema: 1, default: {outcome: allow}, rules: []}";

/// A house with such a connector, whose pooler is in session mode at first.
#[derive(Debug)]
pub struct Pooled {
    /// The pooler.
    pub pooler: Pooler,
    house: House,
    callers: [Caller; 2],
    // They run for as long as anybody calls them.
    _instances: [Service; 2],
}

/// How calls ended.
#[derive(Debug, Default)]
pub struct Tally {
    /// Calls that ran the statement of their tool.
    pub ran: usize,
    /// Calls that were given up before they ran anything, since the pooler shares connections.
    pub refused: usize,
    written: BTreeSet<String>,
}

impl Pooled {
    /// Makes it; nothing where the run has no PgBouncer or no PostgreSQL.
    pub async fn new() -> Option<Self> {
        let house = House::new("").await?;
        let pooler = Pooler::new(&house.governed.cluster, &ROLES, PoolMode::Session)?;
        house.activate("allow", ALLOW).await;
        let key = house.agent("pooled").await.key;
        house.connect("pooled", &config(house.lab(), pooler.port)).await;
        let (one, other) = tokio::join!(house.serve(), house.serve());
        let callers = [one.caller(&key), other.caller(&key)];
        Some(Self { pooler, house, callers, _instances: [one, other] })
    }

    /// The lines of `chancery connector check` about connections.
    pub async fn check(&self) -> Vec<String> {
        let words = ["connector", "check", "pooled", "--org", &self.house.org];
        let output = self.house.verbs.output(&words).await;
        let told = String::from_utf8(output.stdout).unwrap();
        let lines = told.lines().filter(|line| line.contains("connections of"));
        lines.map(str::to_owned).collect()
    }

    /// A client of the pooler, as the role that reads.
    pub async fn visitor(&self) -> Client {
        let (role, password) = ROLES[1];
        let mut database = self.house.governed.clone();
        database.cluster.port = self.pooler.port;
        let url = database.url(role, password);
        let (client, connection) = tokio_postgres::connect(&url, NoTls).await.unwrap();
        tokio::spawn(async move { drop(connection.await) });
        client
    }

    /// How a call of a tool that reads ended.
    pub async fn read(&self) -> Value {
        execution(&self.callers[0], "pooled.read-0", "one").await
    }

    /// Makes so many calls of all tools on both instances, so many at once. Each of them runs the
    /// statement of its own tool, once, or nothing.
    pub async fn storm(&self, calls: usize, at_once: usize) -> Tally {
        let mark = name();
        let mut workers = JoinSet::new();
        for first in 0..at_once {
            let (callers, mark) = (self.callers.clone(), mark.clone());
            workers.spawn(async move {
                let mut tally = Tally::default();
                for nth in (first..calls).step_by(at_once) {
                    tally.call(&callers[nth % 2], nth, &mark).await;
                }
                tally
            });
        }
        let mut tally = Tally::default();
        while let Some(worker) = workers.join_next().await {
            tally.add(worker.unwrap());
        }
        assert_eq!(self.written(&mark).await, tally.written, "each write that ran, and no other");
        tally
    }

    /// What writes of this mark left, each row of which is one of a kind.
    async fn written(&self, mark: &str) -> BTreeSet<String> {
        let client = self.house.governed.client().await;
        let sql = "select mark from lab_notes where starts_with(mark, $1)";
        let rows = client.query(sql, &[&format!("{mark} ")]).await.unwrap();
        let marks: BTreeSet<String> = rows.iter().map(|row| row.get(0)).collect();
        assert_eq!(marks.len(), rows.len(), "a write ran twice");
        marks
    }
}

impl Tally {
    async fn call(&mut self, caller: &Caller, nth: usize, mark: &str) {
        // Neighbours in time call different tools, and an instance calls all of them.
        let (kind, number) = (["read", "write"][nth / 2 % 2], nth / 4 % TOOLS);
        let mark = format!("{mark} {nth}");
        let ended = execution(caller, &format!("pooled.{kind}-{number}"), &mark).await;
        if ended["status"] != "succeeded" {
            assert!(ended["error_message"].as_str().unwrap().contains(NAMED), "{ended}");
            self.refused += 1;
            return;
        }
        let answer = format!("{mark} by {kind}-{number}");
        assert_eq!(ended["result"], json!({ "mark": answer, "number": number }), "{ended}");
        self.ran += 1;
        if kind == "write" {
            self.written.insert(answer);
        }
    }

    fn add(&mut self, other: Self) {
        self.ran += other.ran;
        self.refused += other.refused;
        self.written.extend(other.written);
    }
}

/// How a call of a tool ended.
async fn execution(caller: &Caller, tool: &str, mark: &str) -> Value {
    let body = call(tool, json!({ "mark": mark }));
    let action = caller.insist(Request::post("/v1/actions", &body)).await.ok();
    action["execution"].clone()
}

/// The lab's config with tools whose statements have the same parameters and the same columns.
fn config(mut lab: Value, port: u16) -> Value {
    let tools = (0..TOOLS).flat_map(|number| {
        let answer = |kind: &str| format!("'{kind}-{number}'");
        let (read, write) = (answer("read"), answer("write"));
        [
            tool(
                ("read", number),
                &format!("select $mark || ' by ' || {read} as mark, {number} as number"),
            ),
            tool(
                ("write", number),
                &format!(
                    "insert into lab_notes (mark) values ($mark || ' by ' || {write})
                        returning mark, {number} as number"
                ),
            ),
        ]
    });
    lab["tools"] = tools.collect();
    lab["port"] = json!(port);
    lab
}

fn tool((kind, number): (&str, usize), sql: &str) -> Value {
    let mut tool = json!({
        "name": format!("{kind}-{number}"),
        "title": "One of many",
        "description": "Answers with its own name.",
        "side_effect": kind,
        "sql": sql,
        "args": {
            "type": "object",
            "additionalProperties": false,
            "required": ["mark"],
            "properties": { "mark": { "type": "string" } },
        },
        "returns": "row",
        "max_rows": 1,
    });
    if kind == "write" {
        tool["footprint"] = json!({ "tables": { "lab_notes": ["insert"] }, "max_rows": 1 });
    }
    tool
}
