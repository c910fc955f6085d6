//! Policies over HTTP and by the operator's verbs: versions, tests, shadow, and a version that
//! cannot be read.

use serde_json::{Value, json};

use crate::house::{Caller, House, Request, SharedHouse, name};

const ALLOW_NOTES: &str = "
schema: 1
default: { outcome: deny, reason: Nothing else is allowed. }
rules:
  - { id: short, match: lab.note, when: args.mark == 'short', outcome: allow }
  - { id: notes, match: lab.note, outcome: require_approval, reason: A person looks. }
";
const DENY_NOTES: &str = "
schema: 1
default: { outcome: deny, reason: Nothing at all. }
rules: []
";

/// Makes a policy with one version of this document and returns the ids of both.
async fn policy(org: &Caller, document: &str) -> (String, String) {
    let made = org.send(Request::post("/v1/policies", &json!({ "name": name() }))).await.is(201);
    let id = text(&made["id"]);
    let path = format!("/v1/policies/{id}/versions");
    let version = org.send(Request::post(&path, &json!({ "document": document }))).await.is(201);
    (id, text(&version["id"]))
}

async fn activate(org: &Caller, (policy, version): (&str, &str), mode: &str) -> Value {
    let body = json!({ "version": version, "mode": mode, "reason": "A test." });
    org.send(Request::post(&format!("/v1/policies/{policy}/activate"), &body)).await.ok()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

/// Makes an org of its own in the shared house and returns its id, and callers with a key of the
/// org and one of its agent.
async fn own_org(shared: &SharedHouse) -> (String, Caller, Caller) {
    let house = &shared.house;
    let made = house.verbs.run(&["org", "create", &name()]).await;
    let org = made.split_whitespace().next().unwrap();
    house.verbs.run(&["agent", "create", "bot", "--org", org]).await;
    let agent = house.verbs.run(&["key", "create", "--agent", "bot", "--org", org]).await;
    let key = house.verbs.run(&["key", "create", "--org-admin", "--org", org]).await;
    let (key, agent) = (shared.service.caller(key.trim()), shared.service.caller(agent.trim()));
    (org.to_owned(), key, agent)
}

fn note(mark: &str) -> Value {
    json!({
        "tool": "lab.note", "args": { "mark": mark }, "mode": "proxy", "connector_type": "mcp",
    })
}

#[tokio::test]
async fn a_policy_made_over_http_decides_and_its_history_is_sealed() {
    let Some(shared) = SharedHouse::get().await else { return };
    let (_, org, agent) = own_org(shared).await;
    let (id, version) = policy(&org, ALLOW_NOTES).await;
    let activated = activate(&org, (&id, &version), "enforce").await;
    let allowed = agent.insist(Request::post("/v1/actions", &note("short"))).await.ok();
    assert_eq!(allowed["status"], "authorized");
    assert_eq!(allowed["decision"]["policy_version"], version);
    let history = org.read("/v1/policies/activations").await;
    assert_eq!(history["data"][0], activated);
    assert_eq!(org.read("/v1/policies/active").await["enforce"]["deed"], activated["deed"]);
    let listed = org.read("/v1/policies?limit=1").await;
    assert_eq!((&listed["data"][0]["id"], &listed["has_more"]), (&json!(id), &json!(true)));
    let busy = org.send(Request::delete(&format!("/v1/policies/{id}"))).await;
    busy.error(409, "policy_active", None);
}

#[tokio::test]
async fn a_shadow_shows_in_each_action_and_in_the_filter_and_ends() {
    let Some(shared) = SharedHouse::get().await else { return };
    let (_, org, agent) = own_org(shared).await;
    let (id, version) = policy(&org, ALLOW_NOTES).await;
    activate(&org, (&id, &version), "enforce").await;
    let (id, shadow) = policy(&org, DENY_NOTES).await;
    activate(&org, (&id, &shadow), "shadow").await;
    let differs = agent.insist(Request::post("/v1/actions", &note("short"))).await.ok();
    assert_eq!(differs["decision"]["shadow"]["outcome"], "deny");
    assert_eq!(differs["decision"]["shadow"]["policy_version"], shadow);
    let other =
        json!({ "tool": "lab.other", "args": {}, "mode": "proxy", "connector_type": "mcp" });
    let same = agent.send(Request::post("/v1/actions", &other)).await;
    let same = same.error(403, "policy_denied", None)["action"].clone();
    assert_eq!(same["decision"]["shadow"]["outcome"], "deny");
    let found = org.read("/v1/actions?shadow_differs=true").await;
    let ids: Vec<_> = found["data"].as_array().unwrap().iter().map(|it| &it["id"]).collect();
    assert_eq!(ids, [&differs["id"]]);
    let end = json!({ "reason": "Seen enough." });
    org.send(Request::post("/v1/policies/shadow/deactivate", &end)).await.ok();
    let after = agent.insist(Request::post("/v1/actions", &note("short"))).await.ok();
    assert_eq!(after["decision"]["shadow"], Value::Null);
}

#[tokio::test]
async fn a_dry_run_agrees_with_the_gate_and_a_draft_is_judged_by_the_orgs_tools() {
    let Some(shared) = SharedHouse::get().await else { return };
    let org = shared.service.caller(&shared.house.org_key().await);
    let agent = shared.house.agent(&name()).await;
    let caller = shared.service.caller(&agent.key);
    let args = json!({ "order": 8, "amount": 51, "reason": name() });
    let dry = json!({ "agent": agent.id, "tool": "shop.refunds.create", "args": args });
    let run = org.send(Request::post("/v1/policies/dry_run", &dry)).await.ok();
    let held = caller.call("shop.refunds.create", args).await.is(202);
    for field in ["outcome", "code", "source", "rule_id", "reason"] {
        assert_eq!(run["decision"][field], held["decision"][field], "{field}");
    }
    let document = "schema: 1\ndefault: { outcome: deny }\nrules:\n  - id: big\n    \
                    match: shop.refunds.create\n    when: args.amuont > 5\n    outcome: allow\n";
    let body = json!({ "document": document });
    let lint = org.send(Request::post("/v1/policies/lint", &body)).await.ok();
    let found = lint["lint"].as_array().unwrap().iter();
    let found: Vec<_> = found.map(|it| (text(&it["code"]), text(&it["severity"]))).collect();
    assert!(found.contains(&("unknown_field".to_owned(), "error".to_owned())), "{lint}");
    let (house, file) = (&shared.house, format!("{}.yaml", name()));
    house.write(&file, document);
    let judged = house.verbs.output(&["policy", "lint", &file, "--org", &house.org]).await;
    let told = String::from_utf8_lossy(&judged.stdout);
    assert_eq!(judged.status.code(), Some(1), "{told}");
    assert!(told.contains("6:11: error unknown_field"), "{told}");
}

#[tokio::test]
async fn a_document_that_lint_warns_of_is_activated_only_by_who_says_so() {
    let Some(shared) = SharedHouse::get().await else { return };
    let (house, mark) = (&shared.house, name());
    let (id, org, _) = own_org(shared).await;
    let file = format!("{mark}.yaml");
    house.write(&file, "schema: 1\ndefault: { outcome: allow }\n");
    let words = ["policy", "activate", &file, "--reason", "A test.", "--new", "--org", &id];
    let asked = house.verbs.output(&words).await;
    let told = String::from_utf8_lossy(&asked.stderr);
    assert_eq!(asked.status.code(), Some(2), "nobody is there to be asked: {told}");
    assert!(told.contains("warning default_allow") && told.contains("--yes"), "{told}");
    let policies = org.send(Request::get("/v1/policies")).await.ok();
    let named =
        |list: &Value| list["data"].as_array().unwrap().iter().any(|it| it["name"] == *mark);
    assert!(!named(&policies), "{policies}");
    let (broken, yes) = (format!("{mark}-broken.yaml"), ["--yes"].as_slice());
    house.write(&broken, "schema: 1\ndefault: { outcome: allow }\nrules: [{ id: a, match: a.b, when: \"now > timestamp('soon')\", outcome: deny }]\n");
    let refused = [["policy", "activate", &broken].as_slice(), &words[3..], yes].concat();
    assert_eq!(house.verbs.output(&refused).await.status.code(), Some(1));
    let policies = org.send(Request::get("/v1/policies")).await.ok();
    assert_eq!(policies["data"].as_array().unwrap().len(), 1, "nothing was made: {policies}");
    let done = house.verbs.output(&[words.as_slice(), yes].concat()).await;
    let told = String::from_utf8_lossy(&done.stderr);
    assert_eq!(done.status.code(), Some(0), "{told}");
    assert!(told.contains("warning default_allow"), "{told}");
    assert!(named(&org.send(Request::get("/v1/policies")).await.ok()));
}

#[tokio::test]
async fn a_new_policy_takes_the_place_of_another_only_where_that_was_said() {
    let Some(shared) = SharedHouse::get().await else { return };
    let (house, mark) = (&shared.house, name());
    let (id, org, _) = own_org(shared).await;
    let activate = async |file: &str, more: &[&str]| {
        let words = ["policy", "activate", file, "--yes", "--reason", "A test.", "--org", &id];
        let done = house.verbs.output(&[words.as_slice(), more].concat()).await;
        let told = [done.stdout, done.stderr].concat();
        (done.status.code(), String::from_utf8(told).unwrap())
    };
    let names = async || {
        let list = org.send(Request::get("/v1/policies")).await.ok();
        let list = list["data"].as_array().unwrap().clone();
        list.iter().map(|it| it["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let enforced =
        async || org.send(Request::get("/v1/policies/active")).await.ok()["enforce"].clone();
    let before = (names().await, enforced().await);
    let [starter] = before.0.as_slice() else { panic!("{before:?}") };
    let first = format!("{mark}.yaml");
    house.write(&first, ALLOW_NOTES);
    for more in [&[][..], &["--policy", "misspelt"]] {
        let (code, told) = activate(&first, more).await;
        assert_eq!(code, Some(2), "{told}");
        let new = more.last().map_or(&*mark, |name| name);
        let would =
            format!("the new policy `{new}` would be enforced in place of `{starter}` version 1");
        assert!(told.contains(&would) && told.contains("`--new`"), "{told}");
        assert!(told.contains(&format!("`--policy {starter}`")), "{told}");
        assert_eq!((names().await, enforced().await), before, "nothing was changed");
    }
    // The next version of what is enforced, and a shadow, take nothing's place.
    let (code, told) = activate(&first, &["--policy", starter]).await;
    assert_eq!(code, Some(0), "{told}");
    assert!(told.contains(&format!("Version 2 of the policy `{starter}`.\n")), "{told}");
    let (code, told) = activate(&first, &["--shadow", "--policy", "aside"]).await;
    assert_eq!(code, Some(0), "{told}");
    assert!(told.contains("Version 1 of the new policy `aside`.\n"), "{told}");
    let (code, told) = activate(&first, &["--new"]).await;
    assert_eq!(code, Some(0), "{told}");
    let told_of =
        format!("Version 1 of the new policy `{mark}`; until now it was `{starter}` version 2.\n");
    assert!(told.contains(&told_of), "{told}");
    // A policy that is there already takes the place of another where it is named, and not by a file's name.
    let aside = "aside.yaml";
    house.write(aside, ALLOW_NOTES);
    let (code, told) = activate(aside, &[]).await;
    assert_eq!(code, Some(2), "{told}");
    let would = format!("the policy `aside` would be enforced in place of `{mark}` version 1");
    assert!(told.contains(&would) && told.contains("or `--policy aside`"), "{told}");
    let (code, told) = activate(&first, &["--policy", starter]).await;
    assert_eq!(code, Some(0), "{told}");
    assert!(
        told.contains(&format!(
            "Version 3 of the policy `{starter}`; until now it was `{mark}` version 1.\n"
        )),
        "{told}"
    );
}

#[tokio::test]
async fn recorded_decisions_are_explained_saved_as_cases_and_replayed() {
    let Some(shared) = SharedHouse::get().await else { return };
    let (id, org, agent) = own_org(shared).await;
    let made = policy(&org, ALLOW_NOTES).await;
    activate(&org, (&made.0, &made.1), "enforce").await;
    let other =
        json!({ "tool": "lab.other", "args": {}, "mode": "proxy", "connector_type": "mcp" });
    let allowed = agent.insist(Request::post("/v1/actions", &note("short"))).await.ok();
    agent.send(Request::post("/v1/actions", &note("long"))).await.is(202);
    agent.send(Request::post("/v1/actions", &other)).await.error(403, "policy_denied", None);
    let (house, mark) = (&shared.house, name());
    let file = |kind: &str| format!("{mark}-{kind}.yaml");
    house.write(&file("allow"), ALLOW_NOTES);
    house.write(&file("deny"), DENY_NOTES);
    for (document, differences) in [("allow", 0), ("deny", 2)] {
        let document = file(document);
        let words = ["policy", "replay", &document, "--format", "json", "--org", &id];
        let told: Value = serde_json::from_str(&house.verbs.run(&words).await).unwrap();
        assert_eq!((&told["replayed"], &told["differences"]), (&json!(3), &json!(differences)));
    }
    let (action, document, case) = (text(&allowed["id"]), file("allow"), file("case"));
    let words =
        ["policy", "explain", &action, "--policy", &document, "--save-case", &case, "--org", &id];
    let told = house.verbs.run(&words).await;
    assert!(told.contains("allow by short"), "{told}");
    let passed = house.verbs.run(&["policy", "test", &case]).await;
    assert!(passed.contains("1 passed, 0 failed"), "{passed}");
    let words = ["policy", "test", &case, "--policy", &file("deny"), "--format", "junit"];
    let failed = house.verbs.output(&words).await;
    assert_eq!(failed.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&failed.stdout).contains("<failure message="));
    let words = ["policy", "explain", &action, "--save-case", &case, "--org", &id];
    let again = house.verbs.output(&words).await;
    assert_eq!(again.status.code(), Some(2), "a file that is there is not overwritten");
}

#[tokio::test]
async fn documents_are_judged_and_compared_without_a_record() {
    let Some(shared) = SharedHouse::get().await else { return };
    let (house, mark) = (&shared.house, name());
    let file = |kind: &str| format!("{mark}-{kind}.yaml");
    for (kind, document) in [("allow", ALLOW_NOTES), ("deny", DENY_NOTES), ("bad", "schema: 9\n")] {
        house.write(&file(kind), document);
    }
    house.verbs.run(&["policy", "lint", &file("allow")]).await;
    let bad = house.verbs.output(&["policy", "lint", &file("bad"), "--format", "json"]).await;
    assert_eq!(bad.status.code(), Some(1));
    let told: Value = serde_json::from_slice(&bad.stdout).unwrap();
    assert_eq!((&told["valid"], &told["lint"][0]["line"]), (&json!(false), &json!(1)));
    let words = ["policy", "diff", &file("allow"), &file("deny"), "--format", "json"];
    let compared = house.verbs.output(&words).await;
    let told: Value = serde_json::from_slice(&compared.stdout).unwrap();
    let kinds: Vec<_> = told["changes"].as_array().unwrap().iter().map(|it| &it["kind"]).collect();
    assert!(!kinds.is_empty() && kinds.iter().all(|kind| **kind == "newly_denied"), "{told}");
    let code = if told["certainty"] == "proven" { 0 } else { 3 };
    assert_eq!(compared.status.code(), Some(code));
}

#[tokio::test]
async fn a_version_that_cannot_be_read_refuses_every_call_and_health_says_so() {
    let Some(house) = House::new("").await else { return };
    let agent = house.agent("bot").await;
    let mut service = house.serve().await;
    service.caller(&agent.key).executed("lab.note", json!({ "mark": name() })).await;
    service.kill();
    let corrupt = "update policy_version set document = 'schema: [' where id in
        (select version_id from policy_active where mode = 'enforce')";
    house.control.run(corrupt).await;
    let service = house.serve().await;
    let caller = service.caller(&agent.key);
    let refused = caller.call("lab.note", json!({ "mark": name() })).await;
    let error = refused.error(403, "policy_unavailable", None);
    assert_eq!(error["action"]["status"], "denied");
    assert!(error["action"]["deed"].is_string());
    let health = service.anonymous().get("/v1/health").await.ok();
    assert_eq!(health["status"], "degraded", "{health}");
}
