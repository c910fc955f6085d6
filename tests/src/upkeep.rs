//! What an operator does around a test: stops a service, copies a database, reads health, adds an org.

use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::{
    calls::assert_sealed,
    house::{Agent, Database, House, Service},
};

/// How long health and events may take to tell of what a walk found.
pub const TOLD_WITHIN: Duration = Duration::from_secs(30);

/// Takes a service down in order.
pub async fn stop(mut service: Service) {
    service.signal(Signal::TERM);
    assert!(service.ended(Duration::from_secs(10)).await.success());
}

/// A copy of a database that nobody uses.
pub async fn copy(record: &Database, name: &str) -> Database {
    let Database { cluster, name: from } = record;
    let copy = cluster.database(&format!("{from}-{name}"));
    let gone = "select pg_terminate_backend(pid) from pg_stat_activity where datname =";
    cluster.run(&format!("{gone} '{from}'")).await;
    cluster.run(&format!("create database \"{}\" template \"{from}\"", copy.name)).await;
    copy
}

/// Waits until a part of health is as it should be.
pub async fn until(service: &Service, part: &str, status: &str) -> Value {
    let deadline = Instant::now() + TOLD_WITHIN;
    loop {
        let health = service.anonymous().get("/v1/health").await.json();
        if health["checks"][part] == status {
            return health;
        }
        assert!(Instant::now() < deadline, "{health}: {}", service.log());
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

/// An org beside the house's own, and an agent of it.
pub async fn neighbour(house: &House) -> (String, Agent) {
    let first_word = |text: String| text.split_whitespace().next().unwrap().to_owned();
    let org = first_word(house.verbs.run(&["org", "create", "neighbour"]).await);
    let made = ["agent", "create", "next-door", "--org", &org];
    let id = first_word(house.verbs.run(&made).await);
    let key = house.verbs.run(&["key", "create", "--agent", &id, "--org", &org]).await;
    (org, Agent { id, key: first_word(key) })
}

/// Has the neighbour refused, which is sealed.
pub async fn refused(service: &Service, agent: &Agent) {
    let answer = service.caller(&agent.key).call("nobody.serves", json!({})).await;
    let action = answer.error(404, "tool_unknown", Some("tool"))["action"].clone();
    assert_sealed(&action, "denied");
}
