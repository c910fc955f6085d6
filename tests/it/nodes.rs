//! A control database on two nodes, one of which is away: instances start, health says how many orgs
//! cannot be reached, and the others go on. Rules of PostgreSQL's own stand in for the nodes.

use serde_json::{Value, json};

use crate::{
    eventually::until,
    house::{Browser, Caller, House, Request, Service},
};

const TWO_NODES: &str = include_str!("../../crates/store-postgres/tests/it/two_nodes.sql");

/// An org with an agent's key on each node; the operator's own org is on the first one.
struct TwoNodes {
    house: House,
    orgs: [(String, String); 2],
}

impl TwoNodes {
    async fn new() -> Option<Self> {
        let house = House::new("server: { metrics_listen: '127.0.0.1:0' }\n").await?;
        house.control.run(TWO_NODES).await;
        let mut orgs = [const { None }; 2];
        for made in 0.. {
            let org =
                first_word(&house.verbs.run(&["org", "create", &format!("org {made}")]).await);
            orgs[node_of(&house, &org).await].get_or_insert(org);
            if orgs.iter().all(Option::is_some) {
                break;
            }
        }
        let policy = house.write("asks.yaml", POLICY);
        let mut keyed = Vec::new();
        for org in orgs.into_iter().flatten() {
            let file = policy.to_str().unwrap();
            let words =
                ["policy", "activate", file, "--new", "--yes", "--reason", "A test.", "--org"];
            house.verbs.run(&[&words[..], &[&org]].concat()).await;
            house.verbs.run(&["agent", "create", "bot", "--org", &org]).await;
            let key = house.verbs.run(&["key", "create", "--agent", "bot", "--org", &org]).await;
            keyed.push((org, first_word(&key)));
        }
        Some(Self { house, orgs: keyed.try_into().unwrap() })
    }

    async fn takes_away(&self, node: usize) {
        self.house.control.run(&format!("insert into node_away values ({node}, false)")).await;
    }

    async fn brings_back(&self) {
        self.house.control.run("delete from node_away").await;
    }

    /// How many orgs are on a node.
    async fn count(&self, node: usize) -> i64 {
        let sql = "select count(*) from org
            where get_shard_id_for_distribution_column('org', org_id) = ";
        self.house.control.count(&format!("{sql}{node}")).await
    }

    async fn health(&self, service: &Service) -> Value {
        let answer = service.anonymous().get("/v1/health").await;
        json!([
            answer.status.as_u16(),
            answer.json()["status"],
            answer.json()["checks"]["orgs"],
            answer.json()["unreachable_orgs"],
        ])
    }

    async fn is(&self, service: &Service, health: Value) {
        until("health is so", async || self.health(service).await == health).await;
    }

    async fn is_degraded_by(&self, service: &Service, orgs: i64) {
        self.is(service, json!([200, "degraded", "degraded", orgs])).await;
        assert_eq!(service.metric("chancery_orgs_out_of_reach").await.cast_signed(), orgs);
    }
}

async fn node_of(house: &House, org: &str) -> usize {
    let node = format!(
        "select get_shard_id_for_distribution_column('org', org_id)
        from org where record::json ->> 'id' = '{org}'"
    );
    usize::try_from(house.control.count(&node).await).unwrap()
}

const POLICY: &str = "
schema: 1
default: { outcome: allow, reason: A test. }
rules:
  - { id: asks, match: lab.asks, outcome: require_approval, reason: A test. }
";

fn first_word(text: &str) -> String {
    text.split_whitespace().next().unwrap().to_owned()
}

/// What a call that is allowed is answered with.
async fn status(caller: &Caller) -> u16 {
    status_of(caller, "lab.note").await
}

async fn status_of(caller: &Caller, tool: &str) -> u16 {
    let call = json!({
        "tool": tool, "args": { "mark": "x" }, "mode": "proxy", "connector_type": "mcp",
    });
    caller.send(Request::post("/v1/actions", &call)).await.status.as_u16()
}

fn well() -> Value {
    json!([200, "ok", "ok", null])
}

#[tokio::test]
async fn a_node_that_goes_away_degrades_health_and_keeps_no_other_org_from_its_calls() {
    let Some(nodes) = TwoNodes::new().await else { return };
    let service = nodes.house.serve().await;
    let verbs = &nodes.house.verbs;
    let owner = Browser::owner(&nodes.house, &service, "ann@example.com").await;
    let of_owner = node_of(&nodes.house, &nodes.house.org).await;
    nodes.is(&service, well()).await;
    for (gone, here) in [(1, 0), (0, 1)] {
        let ((own, key), (other, other_key)) = (&nodes.orgs[here], &nodes.orgs[gone]);
        let (stays, goes) = (service.caller(key), service.caller(other_key));
        let before = (status(&stays).await, status(&goes).await);
        assert!(before.0 < 300 && before.1 < 300, "{before:?}");
        nodes.takes_away(gone).await;
        nodes.is_degraded_by(&service, nodes.count(gone).await).await;
        assert_eq!((status(&stays).await, status(&goes).await), (before.0, 503));
        assert_eq!(status_of(&stays, "lab.asks").await, 503, "its mails are kept on every node");
        // Nobody is turned away because the use of their session cannot be noted.
        let older = ["created_at", "authenticated_at", "last_seen_at", "expires_at"]
            .map(|column| format!("{column} = {column} - interval '9 minutes'"));
        nodes.house.control.run(&format!("update session set {}", older.join(", "))).await;
        let read = owner.page(Request::get("/v1/actions"));
        let read = service.anonymous().send(read).await.status;
        assert_eq!(read, if of_owner == here { 200 } else { 503 });

        // Verbs run for an org that can be reached; none takes it for the only one, and what is written
        // on every node is not.
        for verb in ["stop", "start"] {
            verbs.run(&["agent", verb, "bot", "--reason", "A test.", "--org", own]).await;
        }
        let refused: [&[&str]; 6] = [
            &["agent", "stop", "bot", "--reason", "A test."],
            &["org", "list"],
            &["log", "list"],
            &["log", "list", "--org", other],
            &["log", "recover", "--org", own, "--reason", "A test."],
            &["vault", "rotate"],
        ];
        for words in refused {
            let output = verbs.output(words).await;
            let said = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(6), "{words:?}: {said}");
            assert!(!String::from_utf8_lossy(&output.stdout).contains(other), "{words:?}");
        }
        let key = verbs.output(&["key", "create", "--agent", "bot", "--org", own]).await;
        assert!(!key.status.success(), "{key:?}");
        let check = verbs.output(&["check"]).await;
        let said = String::from_utf8_lossy(&check.stdout);
        assert!(said.contains("were not checked: a node of the control database"), "{said}");
        assert_eq!(check.status.code(), Some(3), "{said}");

        nodes.brings_back().await;
        nodes.is(&service, well()).await;
        assert_eq!((status(&stays).await, status(&goes).await), before);
        assert_eq!(status_of(&stays, "lab.asks").await, 202);
    }
    let log = service.log();
    let told = |level: &str, words: &str| {
        log.lines().filter(|line| line.contains(level) && line.contains(words)).count()
    };
    assert!(told("ERROR", "orgs are unreachable: a node") >= 2, "{log}");
    assert!(told("INFO", "all orgs are reachable again") >= 2, "{log}");
    assert_eq!(verbs.output(&["check"]).await.status.code(), Some(0));

    nodes.takes_away(0).await;
    nodes.takes_away(1).await;
    let all = nodes.count(0).await + nodes.count(1).await;
    nodes.is(&service, json!([503, "down", "down", all])).await;
}

#[tokio::test]
async fn an_instance_starts_without_a_node_and_seals_for_its_orgs_once_they_were_looked_at() {
    let Some(nodes) = TwoNodes::new().await else { return };
    let service = nodes.house.serve().await;
    let mut before = Vec::new();
    for (_, key) in &nodes.orgs {
        before.push(status(&service.caller(key)).await);
    }
    drop(service);
    for (gone, here) in [(1, 0), (0, 1)] {
        nodes.takes_away(gone).await;
        let service = nodes.house.serve().await;
        let caller = |node: usize| service.caller(&nodes.orgs[node].1);
        let orgs = nodes.count(gone).await;
        nodes.is_degraded_by(&service, orgs).await;
        assert_eq!(status(&caller(here)).await, before[here]);
        assert_eq!(status(&caller(gone)).await, 503);
        let log = service.log();
        let line = log.lines().find(|line| line.contains("sealed for them until")).expect(&log);
        assert!(line.contains("ERROR") && line.contains(&format!("orgs={orgs}")), "{line}");

        nodes.brings_back().await;
        let is_served = async || status(&caller(gone)).await == before[gone];
        until("the other org is served", is_served).await;
        nodes.is(&service, well()).await;
        assert_eq!(status(&caller(here)).await, before[here]);
    }
}
