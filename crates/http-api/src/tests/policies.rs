//! Policies over the interface: who may, what is refused how, and what a change leaves behind.

use serde_json::{Value, json};

use super::house::{Answer, House, request};

const DENY_ALL: &str = "{ schema: 1, default: { outcome: deny }, rules: [] }";
const SUITE: &str = "
now: 2026-10-01T12:00:00Z
agents: { bot: {} }
calls: { refund: { tool: shop.refund, args: { amount: 5 } } }
cases:
  - { name: refunds are denied, agent: bot, call: refund, expect: { outcome: deny } }
";

async fn ask(house: &House, method: &str, path: &str, body: Option<Value>) -> Answer {
    house.send(request(method, path, &house.org_key, &[], body)).await
}

async fn get(house: &House, path: &str) -> Answer {
    ask(house, "GET", path, None).await
}

async fn post(house: &House, path: &str, body: Value) -> Answer {
    ask(house, "POST", path, Some(body)).await
}

/// Makes a policy with one version and returns the ids of both.
async fn policy(house: &House, name: &str, document: &str) -> (String, String) {
    let made = post(house, "/v1/policies", json!({ "name": name })).await;
    assert_eq!(made.status, 201, "{}", made.body);
    let id = made.id();
    let path = format!("/v1/policies/{id}/versions");
    let version = post(house, &path, json!({ "document": document })).await;
    assert_eq!(version.status, 201, "{}", version.body);
    (id, version.id())
}

async fn activate(house: &House, policy: &str, body: Value) -> Answer {
    post(house, &format!("/v1/policies/{policy}/activate"), body).await
}

#[tokio::test]
async fn a_policy_is_made_described_and_archived_each_with_its_deed() {
    let house = House::new().await;
    let body = json!({ "name": "strict", "description": "For the night." });
    let made = post(&house, "/v1/policies", body).await;
    assert_eq!(made.status, 201);
    assert_eq!(made.body["revision"], 1);
    let path = format!("/v1/policies/{}", made.id());
    let edit = json!({ "description": "For weekends.", "expected_revision": 1 });
    let changed = post(&house, &path, edit.clone()).await;
    assert_eq!((changed.status, &changed.body["revision"]), (200, &json!(2)));
    assert_eq!(changed.body["name"], "strict");
    assert_ne!(changed.body["deed"], made.body["deed"]);
    assert_eq!(post(&house, &path, edit).await.code(), (409, "conflict"));
    let archived = ask(&house, "DELETE", &path, None).await;
    assert_eq!(archived.status, 200);
    assert!(archived.body["archived_at"].is_string());
    assert_eq!(get(&house, &path).await.body["archived_at"], archived.body["archived_at"]);
    // What is archived is not changed any more, and its name is free again.
    let again = post(&house, &path, json!({ "name": "other" })).await;
    assert_eq!(again.code(), (404, "not_found"));
    let path = format!("{path}/versions");
    let version = post(&house, &path, json!({ "document": DENY_ALL })).await;
    assert_eq!(version.code(), (404, "not_found"));
    assert_eq!(post(&house, "/v1/policies", json!({ "name": "strict" })).await.status, 201);
    let told: Vec<_> =
        house.sealed().await.into_iter().filter(|it| it.starts_with("policy.")).collect();
    assert_eq!(
        told[told.len() - 4..],
        ["policy.created", "policy.updated", "policy.archived", "policy.created"]
    );
}

#[tokio::test]
async fn a_name_is_taken_once() {
    let house = House::new().await;
    let taken = post(&house, "/v1/policies", json!({ "name": "test" })).await;
    assert_eq!((taken.code(), taken.param()), ((409, "name_taken"), Some("name")));
}

#[tokio::test]
async fn fields_are_known_by_name_and_judged_by_name() {
    let house = House::new().await;
    let (id, version) = policy(&house, "strict", DENY_ALL).await;
    let activation = json!({ "version": version, "mode": "enforce", "reason": "why" });
    let with = |name: &str, value: Value| {
        let mut body = activation.clone();
        body[name] = value;
        body
    };
    let cases = [
        ("/v1/policies".to_owned(), json!({ "nam": "x" }), "name"),
        ("/v1/policies".to_owned(), json!({ "name": "x", "color": 1 }), "color"),
        ("/v1/policies".to_owned(), json!({ "name": " x" }), "name"),
        (format!("/v1/policies/{id}"), json!({}), "name"),
        (format!("/v1/policies/{id}/versions"), json!({ "document": 1 }), "document"),
        (
            format!("/v1/policies/{id}/versions"),
            json!({ "document": DENY_ALL, "note": "" }),
            "note",
        ),
        (format!("/v1/policies/{id}/activate"), with("force", json!("yes")), "force"),
        (format!("/v1/policies/{id}/activate"), with("mode", json!("on")), "mode"),
        (format!("/v1/policies/{id}/activate"), with("reason", json!(" ")), "reason"),
        (
            format!("/v1/policies/{id}/activate"),
            with("expected_active", json!("pv")),
            "expected_active",
        ),
        ("/v1/policies/lint".to_owned(), json!({}), "document"),
        ("/v1/policies/test".to_owned(), json!({}), "version"),
        ("/v1/policies/test".to_owned(), json!({ "document": DENY_ALL }), "suite"),
        ("/v1/policies/shadow/deactivate".to_owned(), json!({}), "reason"),
    ];
    for (path, body, param) in cases {
        let refused = post(&house, &path, body.clone()).await;
        assert_eq!((refused.status, refused.param()), (400, Some(param)), "{path} {body}");
    }
    let unknown = get(&house, "/v1/policies?colour=red").await;
    assert_eq!((unknown.status, unknown.param()), (400, Some("colour")));
}

#[tokio::test]
async fn a_document_that_cannot_decide_becomes_no_version_and_each_finding_has_its_place() {
    let house = House::new().await;
    let (id, _) = policy(&house, "strict", DENY_ALL).await;
    let document = "schema: 1\ndefault: { outcome: deny }\nrules:\n  - id: a\n    match: shop.*\n    \
                    when: args.amount >\n    outcome: allow\n";
    let path = format!("/v1/policies/{id}/versions");
    let refused = post(&house, &path, json!({ "document": document })).await;
    assert_eq!((refused.code(), refused.param()), ((400, "policy_invalid"), Some("document")));
    let lint = refused.body["error"]["lint"].as_array().unwrap();
    assert_eq!((&lint[0]["line"], &lint[0]["rule"]), (&json!(6), &json!("a")), "{lint:?}");
    let linted = post(&house, "/v1/policies/lint", json!({ "document": document })).await;
    assert_eq!((linted.status, &linted.body["valid"]), (200, &json!(false)));
    assert_eq!(linted.body["lint"], refused.body["error"]["lint"]);
    let versions = get(&house, &path).await;
    assert_eq!(versions.body["data"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn a_rule_that_can_never_decide_is_an_error_too() {
    let house = House::new().await;
    let document = "schema: 1\ndefault: { outcome: deny }\nrules:\n  \
                    - { id: all, match: '*', outcome: deny }\n  \
                    - { id: never, match: shop.refund, outcome: allow }\n";
    let (id, _) = policy(&house, "strict", DENY_ALL).await;
    let path = format!("/v1/policies/{id}/versions");
    let refused = post(&house, &path, json!({ "document": document })).await;
    assert_eq!(refused.code(), (400, "policy_invalid"));
    assert_eq!(refused.body["error"]["lint"][0]["code"], "unreachable");
    assert_eq!(refused.body["error"]["lint"][0]["rule"], "never");
}

#[tokio::test]
async fn a_document_is_judged_against_the_labels_of_the_orgs_agents() {
    let house = House::new().await;
    let document = "schema: 1\ndefault: { outcome: deny }\nrules:\n  \
                    - { id: night, match: shop.refund, outcome: allow, when: agent.labels.shift == 'night' }\n";
    let lint = json!({ "document": document });
    let linted = post(&house, "/v1/policies/lint", lint.clone()).await;
    let found = &linted.body["lint"][0];
    assert_eq!((&found["code"], &found["severity"]), (&json!("missing_label"), &json!("warning")));
    let message = found["message"].as_str().unwrap();
    assert!(message.contains("have no label `shift`"), "{message}");
    let named = message.matches('`').count();
    assert!(named >= 4, "the agents are named: {message}");
    for agent in get(&house, "/v1/agents").await.body["data"].as_array().unwrap() {
        if agent["system"] == json!(true) {
            continue;
        }
        let path = format!("/v1/agents/{}", agent["id"].as_str().unwrap());
        let labelled = post(&house, &path, json!({ "labels": { "shift": "day" } })).await;
        assert_eq!(labelled.status, 200, "{}", labelled.body);
    }
    let linted = post(&house, "/v1/policies/lint", lint).await;
    assert_eq!(linted.body["lint"], json!([]));
}

#[tokio::test]
async fn versions_are_numbered_listed_by_pages_and_expect_their_parent() {
    let house = House::new().await;
    let (id, first) = policy(&house, "strict", DENY_ALL).await;
    let path = format!("/v1/policies/{id}/versions");
    let new = |parent: Value| json!({ "document": DENY_ALL, "expected_parent": parent });
    assert_eq!(post(&house, &path, new(Value::Null)).await.code(), (409, "conflict"));
    let second = post(&house, &path, new(json!(first))).await;
    assert_eq!((second.status, &second.body["number"]), (201, &json!(2)));
    assert_eq!(post(&house, &path, new(json!(first))).await.code(), (409, "conflict"));
    let page = get(&house, &format!("{path}?limit=1")).await;
    assert_eq!(page.body["data"][0]["id"], second.body["id"]);
    assert_eq!(page.body["data"][0].get("document"), None);
    let cursor = page.body["next_cursor"].as_str().unwrap();
    let next = get(&house, &format!("{path}?limit=1&cursor={cursor}")).await;
    assert_eq!(
        (&next.body["data"][0]["id"], &next.body["has_more"]),
        (&json!(first), &json!(false))
    );
    let (other, _) = policy(&house, "other", DENY_ALL).await;
    let elsewhere = get(&house, &format!("/v1/policies/{other}/versions?cursor={cursor}")).await;
    assert_eq!((elsewhere.status, elsewhere.param()), (400, Some("cursor")));
    let whole = get(&house, &format!("/v1/policy_versions/{first}")).await;
    assert_eq!(whole.body["document"], DENY_ALL);
}

#[tokio::test]
async fn policies_are_listed_newest_first_by_pages_bound_to_their_filters() {
    let house = House::new().await;
    for name in ["a", "b", "c"] {
        house.clock.pass(std::time::Duration::from_secs(1));
        policy(&house, name, DENY_ALL).await;
    }
    let first = get(&house, "/v1/policies?limit=2").await;
    let names: Vec<_> =
        first.body["data"].as_array().unwrap().iter().map(|it| &it["name"]).collect();
    assert_eq!(names, ["c", "b"]);
    let cursor = first.body["next_cursor"].as_str().unwrap();
    let rest = get(&house, &format!("/v1/policies?cursor={cursor}")).await;
    let names: Vec<_> =
        rest.body["data"].as_array().unwrap().iter().map(|it| &it["name"]).collect();
    // The other two are of one moment.
    assert_eq!((names.len(), names[0]), (3, &json!("a")));
    let elsewhere = get(&house, &format!("/v1/policies?archived=true&cursor={cursor}")).await;
    assert_eq!((elsewhere.status, elsewhere.param()), (400, Some("cursor")));
}

#[tokio::test]
async fn an_activated_version_decides_and_the_history_tells_who_and_why() {
    let house = House::new().await;
    assert_eq!(house.refund(5).await.status, 200);
    let before = get(&house, "/v1/policies/active").await.body["enforce"].clone();
    let (id, version) = policy(&house, "strict", DENY_ALL).await;
    let body = |expected: &Value| {
        let reason = "The night begins.";
        json!({ "version": version, "mode": "enforce", "reason": reason, "expected_active": expected })
    };
    assert_eq!(activate(&house, &id, body(&Value::Null)).await.code(), (409, "conflict"));
    let activated = activate(&house, &id, body(&before["version"])).await;
    assert_eq!(activated.status, 200, "{}", activated.body);
    assert_eq!(activated.body["previous"], before["version"]);
    assert_eq!(house.refund(5).await.code(), (403, "policy_denied"));
    let active = get(&house, "/v1/policies/active").await.body;
    assert_eq!(active["enforce"]["version"], json!(version));
    assert_eq!(active["enforce"]["deed"], activated.body["deed"]);
    assert_eq!(active["shadow"], Value::Null);
    let history = get(&house, "/v1/policies/activations?limit=1").await.body;
    assert_eq!(history["data"][0], activated.body);
    assert_eq!(history["data"][0]["reason"], "The night begins.");
    assert!(history["data"][0]["by"].as_str().unwrap().starts_with("key_"));
    let cursor = history["next_cursor"].as_str().unwrap();
    let older = get(&house, &format!("/v1/policies/activations?cursor={cursor}")).await.body;
    assert_eq!(older["data"][0]["version"], before["version"]);
    assert_eq!(older["data"].as_array().unwrap().len(), 2);
    let again = activate(&house, &id, body(&json!(version))).await;
    assert_eq!(again.code(), (409, "conflict"));
    let archive = ask(&house, "DELETE", &format!("/v1/policies/{id}"), None).await;
    assert_eq!(archive.code(), (409, "policy_active"));
}

#[tokio::test]
async fn a_version_of_another_policy_is_not_activated() {
    let house = House::new().await;
    let (_, version) = policy(&house, "one", DENY_ALL).await;
    let (other, _) = policy(&house, "two", DENY_ALL).await;
    let body = json!({ "version": version, "mode": "enforce", "reason": "why" });
    assert_eq!(activate(&house, &other, body).await.code(), (404, "not_found"));
}

#[tokio::test]
async fn a_shadow_is_asked_beside_and_found_where_it_differs() {
    let house = House::new().await;
    let (id, version) = policy(&house, "strict", DENY_ALL).await;
    let body = json!({ "version": version, "mode": "shadow", "reason": "A look." });
    assert_eq!(activate(&house, &id, body).await.status, 200);
    let allowed = house.refund(5).await;
    assert_eq!(allowed.status, 200);
    let shadow = &allowed.body["decision"]["shadow"];
    assert_eq!((&shadow["outcome"], &shadow["policy_version"]), (&json!("deny"), &json!(version)));
    let denied = house.post("/v1/actions", json!({ "tool": "shop.delete", "args": {} })).await;
    assert_eq!(denied.code(), (403, "policy_denied"));
    let differing = get(&house, "/v1/actions?shadow_differs=true").await.body;
    let ids: Vec<_> = differing["data"].as_array().unwrap().iter().map(|it| &it["id"]).collect();
    assert_eq!(ids, [&allowed.body["id"]]);
    let end = json!({ "reason": "Seen enough." });
    let ended = post(&house, "/v1/policies/shadow/deactivate", end.clone()).await;
    assert_eq!((ended.status, &ended.body["version"]), (200, &Value::Null));
    assert_eq!(ended.body["previous"], json!(version));
    assert_eq!(house.refund(5).await.body["decision"]["shadow"], Value::Null);
    let again = post(&house, "/v1/policies/shadow/deactivate", end).await;
    assert_eq!(again.code(), (409, "conflict"));
}

#[tokio::test]
async fn tests_are_kept_with_their_policy_and_gate_its_activation() {
    let house = House::new().await;
    let allow = "{ schema: 1, default: { outcome: allow }, rules: [] }";
    let (id, version) = policy(&house, "strict", allow).await;
    let path = format!("/v1/policies/{id}/tests");
    assert_eq!(get(&house, &path).await.body["suite"], Value::Null);
    let bad = ask(&house, "PUT", &path, Some(json!({ "suite": "cases: 1" }))).await;
    assert_eq!((bad.status, bad.param()), (400, Some("suite")));
    assert!(bad.body["error"]["lint"][0]["line"].is_number());
    let body = json!({ "suite": SUITE, "expected_revision": 1 });
    let put = ask(&house, "PUT", &path, Some(body.clone())).await;
    assert_eq!((put.status, &put.body["cases"]), (200, &json!(1)));
    assert_eq!(ask(&house, "PUT", &path, Some(body)).await.code(), (409, "conflict"));
    assert_eq!(get(&house, &path).await.body["suite"], SUITE);
    let activation = json!({ "version": version, "mode": "enforce", "reason": "why" });
    let refused = activate(&house, &id, activation).await;
    assert_eq!(refused.code(), (409, "policy_tests_failed"));
    assert_eq!(refused.body["error"]["tests"][0]["passed"], false);
    let path = format!("/v1/policies/{id}/versions");
    let better = post(&house, &path, json!({ "document": DENY_ALL })).await.id();
    let activation = json!({ "version": better, "mode": "enforce", "reason": "why" });
    assert_eq!(activate(&house, &id, activation).await.status, 200);
}

#[tokio::test]
async fn tests_are_run_over_a_version_or_a_draft_and_tell_what_they_leave_out() {
    let house = House::new().await;
    let document = "schema: 1\ndefault: { outcome: deny }\nrules:\n  \
                    - { id: reads, match: shop.read, outcome: allow }\n";
    let (_, version) = policy(&house, "strict", document).await;
    for text in [json!({ "version": version }), json!({ "document": document })] {
        let mut body = text;
        body["suite"] = json!(SUITE);
        let run = post(&house, "/v1/policies/test", body).await;
        assert_eq!((&run.body["passed"], &run.body["failed"]), (&json!(1), &json!(0)));
        assert_eq!(run.body["uncovered_rules"], json!(["reads"]));
    }
    let many = SUITE.replace(
        "expect: { outcome: deny }",
        "steps: [{ repeat: 10000, expect: {} }, { repeat: 1, expect: {} }]",
    );
    let refused =
        post(&house, "/v1/policies/test", json!({ "version": version, "suite": many })).await;
    assert_eq!((refused.status, refused.param()), (400, Some("suite")));
    let none = post(&house, "/v1/policies/test", json!({ "version": version })).await;
    assert_eq!((none.status, none.param()), (400, Some("suite")));
}

#[tokio::test]
async fn a_dry_run_says_what_the_gate_then_says_and_records_nothing() {
    let house = House::new().await;
    let dry = |tool: &str, args: Value| json!({ "agent": house.support.agent, "tool": tool, "args": args });
    for (tool, args) in [
        ("shop.refund", json!({ "amount": 5 })),
        ("shop.refund", json!({ "amount": 500 })),
        ("shop.refund", json!({})),
        ("shop.delete", json!({})),
    ] {
        let before = house.sealed().await.len();
        let run = post(&house, "/v1/policies/dry_run", dry(tool, args.clone())).await;
        assert_eq!(run.status, 200, "{}", run.body);
        assert_eq!(house.sealed().await.len(), before);
        let sent = house.post("/v1/actions", json!({ "tool": tool, "args": args })).await;
        let action =
            if sent.status < 300 { sent.body } else { sent.body["error"]["action"].clone() };
        for field in ["outcome", "code", "source", "rule_id", "reason"] {
            assert_eq!(run.body["decision"][field], action["decision"][field], "{tool} {field}");
        }
        assert_eq!(run.body["policy_version"], action["decision"]["policy_version"]);
    }
}

#[tokio::test]
async fn a_dry_run_shows_rules_budgets_approval_and_visibility() {
    let house = House::new().await;
    for _ in 0..2 {
        assert_eq!(house.refund(5).await.status, 200);
    }
    let dry = |more: Value| {
        let args = json!({ "amount": 5 });
        let mut body = json!({ "agent": house.support.agent, "tool": "shop.refund", "args": args });
        for (name, value) in more.as_object().unwrap() {
            body[name] = value.clone();
        }
        body
    };
    let run = post(&house, "/v1/policies/dry_run", dry(json!({}))).await.body;
    assert_eq!(run["budgets"][0]["used"], "2");
    assert_eq!(run["budgets"][0]["would_admit"], true);
    assert_eq!(run["visibility"]["visibility"], "visible");
    let steps = run["trace"]["steps"].as_array().unwrap();
    assert_eq!(
        (&steps[0]["answer"], &steps[0]["part"]),
        (&json!("false"), &json!("args.amount > 100"))
    );
    assert_eq!(steps[0]["compared"], json!(["args.amount: 5"]));
    assert_eq!(steps[1]["answer"], "decided");
    assert_eq!(house.refund(5).await.status, 200);
    let spent = post(&house, "/v1/policies/dry_run", dry(json!({}))).await.body;
    assert_eq!(spent["decision"]["code"], "budget_exceeded");
    for more in [
        json!({ "budgets": "empty" }),
        json!({ "at": "2026-10-02T00:00:00Z" }),
        json!({ "livemode": false }),
    ] {
        let run = post(&house, "/v1/policies/dry_run", dry(more.clone())).await.body;
        assert_eq!(
            (&run["decision"]["outcome"], &run["budgets"][0]["used"]),
            (&json!("allow"), &json!("0")),
            "{more}"
        );
    }
    let held = post(
        &house,
        "/v1/policies/dry_run",
        dry(json!({ "args": { "amount": 500 }, "budgets": "empty" })),
    )
    .await
    .body;
    assert_eq!(held["approval"]["count"], 1);
    let draft =
        post(&house, "/v1/policies/dry_run", dry(json!({ "document": DENY_ALL }))).await.body;
    assert_eq!(
        (&draft["policy_version"], &draft["decision"]["code"]),
        (&Value::Null, &json!("default_denied"))
    );
    assert_eq!(draft["visibility"]["visibility"], "hidden");
    let stranger = dry(json!({ "agent": "agt_00000000000000000000000009" }));
    assert_eq!(post(&house, "/v1/policies/dry_run", stranger).await.code(), (404, "not_found"));
}

#[tokio::test]
async fn a_dry_run_of_a_test_or_with_both_texts_is_refused_by_name() {
    let house = House::new().await;
    let (_, version) = policy(&house, "strict", DENY_ALL).await;
    let agent = house.support.agent;
    let both =
        json!({ "agent": agent, "tool": "a.b", "args": {}, "version": version, "document": "" });
    let refused = post(&house, "/v1/policies/dry_run", both).await;
    assert_eq!((refused.status, refused.param()), (400, Some("document")));
    let invalid = json!({ "agent": agent, "tool": "a.b", "args": {}, "document": "schema: 9" });
    let refused = post(&house, "/v1/policies/dry_run", invalid).await;
    assert_eq!(refused.code(), (400, "policy_invalid"));
}

#[tokio::test]
async fn an_agent_key_reads_and_changes_no_policies() {
    let house = House::new().await;
    for (method, path) in [
        ("GET", "/v1/policies"),
        ("GET", "/v1/policies/active"),
        ("GET", "/v1/policies/activations"),
        ("POST", "/v1/policies"),
        ("POST", "/v1/policies/dry_run"),
    ] {
        let body = (method == "POST").then(|| json!({ "name": "mine" }));
        let refused = house.send(request(method, path, &house.support.key, &[], body)).await;
        assert_eq!(refused.code(), (403, "insufficient_scope"), "{method} {path}");
    }
}

#[tokio::test]
async fn a_version_is_compared_with_the_enforced_one_by_example() {
    let house = House::new().await;
    let (_, version) = policy(&house, "strict", DENY_ALL).await;
    let path = format!("/v1/policy_versions/{version}/diff");
    let diff = get(&house, &path).await;
    assert_eq!(diff.status, 200, "{}", diff.body);
    let enforced = get(&house, "/v1/policies/active").await.body["enforce"]["version"].clone();
    assert_eq!(diff.body["against"], enforced);
    let changes = diff.body["changes"].as_array().unwrap();
    assert!(changes.iter().all(|change| change["kind"] == "newly_denied"), "{changes:?}");
    let refunds = changes.iter().find(|change| change["before"]["rule_id"] == "refunds").unwrap();
    assert_eq!(refunds["example"]["tool"], "shop.refund");
    let same = get(&house, &format!("{path}?against={version}")).await.body;
    assert_eq!((&same["changes"], &same["certainty"]), (&json!([]), &json!("proven")));
    let none = get(&house, &format!("{path}?against=pv_01h455vb4pex5vsknk084sn02q")).await;
    assert_eq!(none.code(), (404, "not_found"));
}
