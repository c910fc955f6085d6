//! What a start waits for, and what it refuses: a control database that is away, and secrets that are
//! not those of the record.

use std::process::{Output, Stdio};

use serde_json::{Value, json};
use tokio::process::Command;

use crate::{
    eventually::until,
    house::{House, Service, Start, Verbs, Wire, binaries},
};

const PEPPER: &str = "SERVICE_API_KEY_PEPPER";
const VAULT_KEY: &str = "SERVICE_VAULT_KEY";
/// 32 bytes that no house has.
const ANOTHER: &str = "YW5vdGhlciBzZWNyZXQgb2YgdGhlIHRlc3RzIG9mIHM=";
/// What an operator calls verbs with that ends at once, whatever comes of it.
const SERVE: [&str; 3] = ["--config", "settings.yaml", "serve"];

fn complaint(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The house's verbs on its control database behind this wire.
fn behind(house: &House, wire: &Wire) -> Verbs {
    let name = &house.control.name;
    let url = wire.cluster.database(name).url("house_app", "app-password");
    house.verbs.with("SERVICE_DATABASE_URL", &url)
}

#[tokio::test]
async fn a_pepper_that_is_not_the_records_is_refused_until_the_other_one_is_said_to_be_lost() {
    let Some(house) = House::new("").await else { return };
    let agent = house.agent("peppered").await;
    let other = house.verbs.with(PEPPER, ANOTHER);
    for words in [&SERVE[..], &["key", "list"], &["check", "--json"]] {
        let output = other.output(words).await;
        let (said, complained) = (String::from_utf8_lossy(&output.stdout), complaint(&output));
        assert!(!output.status.success(), "{words:?}: {said}");
        for word in [PEPPER, "SERVICE_DATABASE_URL", "chancery key adopt-pepper"] {
            assert!(said.contains(word) || complained.contains(word), "{words:?}: {complained}");
        }
    }
    assert_eq!(other.output(&SERVE).await.status.code(), Some(2));
    // Nothing was noted by those who were refused.
    let service = house.serve().await;
    service.caller(&agent.key).get("/v1/actions").await.is(200);
    drop(service);
    let told = other.run(&["key", "adopt-pepper"]).await;
    assert!(told.contains("must be created again"), "{told}");
    let refused = house.verbs.output(&SERVE).await;
    assert_eq!(refused.status.code(), Some(2), "{}", complaint(&refused));
    let service = Service::start(&other, Start::Plain).await;
    service.caller(&agent.key).get("/v1/actions").await.is(401);
    let key = other.run(&["key", "create", "--agent", "peppered"]).await;
    let key = key.split_whitespace().find(|word| word.starts_with("svc_")).unwrap().to_owned();
    service.caller(&key).get("/v1/actions").await.is(200);
}

#[tokio::test]
async fn a_record_without_a_pepper_takes_that_of_its_next_start() {
    let Some(house) = House::new("").await else { return };
    house.agent("older").await;
    // As an earlier version left it.
    house.control.run("delete from pepper").await;
    let check = house.verbs.run(&["check"]).await;
    assert!(
        check.contains("note  start  the next start will record a mark of the pepper"),
        "{check}"
    );
    // No verb looked at the pepper until now, so that one may have been run with any.
    house.verbs.with(PEPPER, ANOTHER).run(&["org", "list"]).await;
    assert_eq!(house.control.count("select count(*) from pepper").await, 0);
    drop(house.serve().await);
    assert_eq!(house.control.count("select count(*) from pepper").await, 1);
    assert!(!house.verbs.with(PEPPER, ANOTHER).output(&["key", "list"]).await.status.success());
}

#[tokio::test]
async fn a_vault_without_the_records_keys_does_not_serve_until_a_credential_is_given_again() {
    let Some(house) = House::new("").await else { return };
    let other = house.verbs.with(VAULT_KEY, ANOTHER);
    let refused = other.output(&SERVE).await;
    let said = complaint(&refused);
    assert_eq!(refused.status.code(), Some(2), "{said}");
    assert!(said.contains(VAULT_KEY) && said.contains("connector credential NAME FILE"), "{said}");
    let check = other.output(&["check", "--json"]).await;
    let report: Value = serde_json::from_slice(&check.stdout).unwrap();
    let start = &report["start"];
    assert_eq!(start["state"], "fail", "{report}");
    assert!(start["sentence"].as_str().unwrap().contains(VAULT_KEY), "{report}");
    // The keys are lost, so a credential is given again; what else there is is told.
    let fields = json!({ "conn_password": "conn-password", "read_password": "read-password" });
    let file = house.write("given.json", &fields.to_string());
    other.run(&["connector", "credential", "shop", file.to_str().unwrap()]).await;
    let service = Service::start(&other, Start::Plain).await;
    let told = service.log();
    assert!(
        told.contains("ERROR") && told.contains("some secrets are encrypted under a key"),
        "{told}"
    );
}

#[tokio::test]
async fn a_start_waits_for_a_database_that_does_not_answer_yet() {
    let Some(house) = House::new("").await else { return };
    let wire = Wire::dead_for(&house.control.cluster, 3).await;
    let service = Service::start(&behind(&house, &wire), Start::Plain).await;
    assert_eq!(wire.unanswered(), 0);
    let (log, place) = (service.log(), format!("127.0.0.1:{}", wire.cluster.port));
    let waits: Vec<_> =
        log.lines().filter(|line| line.contains("retrying for up to 30s")).collect();
    let [line] = waits.as_slice() else { panic!("{log}") };
    for word in ["WARN", &place, "`SERVICE_DATABASE_URL`", "does not respond"] {
        assert!(line.contains(word), "{word} is not in {line}");
    }
}

#[tokio::test]
async fn a_start_that_waits_ends_when_it_is_told_to() {
    let Some(house) = House::new("").await else { return };
    let wire = Wire::dead_for(&house.control.cluster, usize::MAX).await;
    let mut command = Command::new(binaries().unwrap().plain);
    let verbs = behind(&house, &wire);
    command.args(SERVE).current_dir(verbs.folder()).env_clear();
    command.envs(verbs.environment().iter().cloned()).stderr(Stdio::piped());
    let waits = command.kill_on_drop(true).spawn().unwrap();
    until("it asks for its database", async || wire.unanswered() < usize::MAX).await;
    let process = waits.id().unwrap().to_string();
    Command::new("kill").args(["-TERM", &process]).status().await.unwrap();
    let ended = waits.wait_with_output().await.unwrap();
    assert_eq!(ended.status.code(), Some(0), "{}", complaint(&ended));
    assert!(complaint(&ended).contains("stopped before serving"), "{}", complaint(&ended));
}

#[tokio::test]
async fn a_verb_names_the_database_that_does_not_answer_and_has_an_exit_code_for_it() {
    let Some(house) = House::new("").await else { return };
    let wire = Wire::dead_for(&house.control.cluster, usize::MAX).await;
    let verbs = behind(&house, &wire);
    for words in [&["org", "list"][..], &["check"]] {
        let output = verbs.output(words).await;
        let said = complaint(&output);
        assert_eq!(output.status.code(), Some(6), "{words:?}: {said}");
        let place = format!("`127.0.0.1:{}` (`SERVICE_DATABASE_URL`)", wire.cluster.port);
        assert!(said.contains(&place), "{words:?}: {said}");
    }
    // What waiting does not mend is told at once, and otherwise.
    let url = house.control.url("house_app", "wrong");
    let output = house.verbs.with("SERVICE_DATABASE_URL", &url).output(&SERVE).await;
    let said = complaint(&output);
    assert_eq!(output.status.code(), Some(5), "{said}");
    assert!(said.contains("28P01") && !said.contains("retrying for up to"), "{said}");
}
