//! What people are asked over the interface, and their answers.

use std::time::Duration;

use base64::{Engine, engine::general_purpose::STANDARD};
use ledger::record::Member;
use model::Role;
use serde_json::{Value, json};

use super::house::{Answer, House, people::Browser, request};

/// A browser of somebody with this role who may approve.
async fn approver(house: &House, email: &str, role: Role) -> (Browser, Member) {
    let (_, member) = house.member(email, role).await;
    let member = Member { can_approve: true, ..member };
    house.write(member.clone()).await;
    (house.browser_in(house.org, email, role).await, member)
}

async fn decide(house: &House, key: &str, (id, verb): (&str, &str), body: Value) -> Answer {
    let path = format!("/v1/approvals/{id}/{verb}");
    house.send(request("POST", &path, key, &[], Some(body))).await
}

fn approval(action: &Answer) -> String {
    action.body["approval"]["id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_person_sees_what_would_run_and_her_yes_runs_it() {
    let house = House::new().await;
    let (ann, member) = approver(&house, "ann@example.com", Role::Viewer).await;
    let held = house.refund(500).await;
    let (id, action) = (approval(&held), held.id());
    let waiting = house.get_later(&format!("/v1/actions/{action}?wait=25"));
    let shown = house.get(&format!("/v1/approvals/{id}"), &ann.key).await.body;
    assert_eq!(shown["context"]["args_shown"], json!({ "args.amount": 500 }), "{shown}");
    assert_eq!([&shown["may_decide"], &shown["why_not"]], [&json!(true), &Value::Null]);
    assert_eq!(shown["eligible"], json!([{ "id": member.id, "role": "viewer" }]));
    let list = house.get("/v1/approvals?status=pending&mine=true", &ann.key).await.body;
    assert_eq!(list["data"][0]["id"], json!(id));
    let body = json!({ "context_digest": shown["context_digest"], "note": "It came back." });
    let given = decide(&house, &ann.key, (&id, "approve"), body.clone()).await;
    assert_eq!((given.status, &given.body["status"]), (200, &json!("approved")), "{given:?}");
    let decision = &given.body["decisions"][0];
    assert_eq!([&decision["by"], &decision["note"]], [&json!(member.id), &json!("It came back.")]);
    assert_eq!(waiting.await.unwrap().status(), 200);
    let done = house.get(&format!("/v1/actions/{action}?wait=5"), &house.support.key).await.body;
    assert_eq!((&done["status"], house.refund.runs()), (&json!("executed"), 1));
    let late = decide(&house, &ann.key, (&id, "deny"), body).await;
    assert_eq!(late.code(), (409, "approval_decided"));
    let mine = house.get("/v1/approvals?mine=true", &ann.key).await.body;
    assert_eq!(mine["data"], json!([]));
    let told = house.sealed().await;
    assert!(told.contains(&"approval.requested".to_owned()));
    assert!(told.contains(&"approval.approved".to_owned()));
}

/// What the disclosures in an answer open, wherever they stand in it.
fn opened(it: &Value) -> String {
    match it {
        Value::String(text) => {
            let bytes = STANDARD.decode(text).unwrap_or_default();
            String::from_utf8(bytes).unwrap_or_default()
        }
        Value::Array(items) => items.iter().map(opened).collect(),
        Value::Object(members) => members.values().map(opened).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => String::new(),
    }
}

#[tokio::test]
async fn where_a_tool_runs_is_told_to_people_and_admins_and_to_no_agent() {
    let house = House::new().await;
    let (ann, _) = approver(&house, "ann@example.com", Role::Viewer).await;
    let held = house.refund(500).await;
    let (id, action) = (approval(&held), held.id());
    let shown = house.get(&format!("/v1/approvals/{id}"), &ann.key).await.body;
    assert_eq!(shown["context"]["target"]["host"], "db.example");
    let body = json!({ "context_digest": shown["context_digest"] });
    decide(&house, &ann.key, (&id, "deny"), body).await;
    let sealed = house.get(&format!("/v1/actions/{action}"), &house.org_key).await.body;
    let deed = sealed["deed"].as_str().unwrap();
    for path in [
        format!("/v1/actions/{action}"),
        format!("/v1/deeds/{deed}"),
        format!("/v1/deeds/{deed}/bundle"),
    ] {
        for (key, is_told) in
            [(&house.org_key, true), (&ann.key, true), (&house.support.key, false)]
        {
            let answer = house.get(&path, key).await;
            let text = format!("{}{}", answer.body, opened(&answer.body));
            assert_eq!((answer.status, text.contains("db.example")), (200, is_told), "{path}");
            assert!(text.contains("args.amount") == is_told && text.contains("500"), "{path}");
        }
    }
    let tools = house.get("/v1/tools", &house.support.key).await.body;
    assert!(!tools.to_string().contains("db.example"));
}

#[tokio::test]
async fn while_a_stop_holds_what_waits_nobody_is_told_that_a_yes_would_count() {
    let house = House::new().await;
    let (ann, _) = approver(&house, "ann@example.com", Role::Admin).await;
    let id = approval(&house.refund(500).await);
    let told = async || {
        let shown = house.get(&format!("/v1/approvals/{id}"), &ann.key).await.body;
        let list = house.get("/v1/approvals?mine=true", &ann.key).await.body;
        for name in ["may_decide", "why_not"] {
            assert_eq!(list["data"][0][name], shown[name]);
        }
        (shown["may_decide"].clone(), shown["why_not"].clone(), shown["context_digest"].clone())
    };
    for path in [format!("/v1/agents/{}", house.support.agent), "/v1/org".to_owned()] {
        let stop = json!({ "reason": "a drill", "pending_approvals": "keep" });
        let stop = request("POST", &format!("{path}/stop"), &house.org_key, &[], Some(stop));
        assert_eq!(house.send(stop).await.status, 200);
        let (may, why, digest) = told().await;
        assert_eq!((may, why), (json!(false), json!("conflict")));
        let yes = decide(&house, &ann.key, (&id, "approve"), json!({ "context_digest": digest }));
        assert_eq!(yes.await.code(), (409, "conflict"));
        let start = json!({ "reason": "over" });
        let start = request("POST", &format!("{path}/start"), &house.org_key, &[], Some(start));
        assert_eq!(house.send(start).await.status, 200);
        let (may, why, _) = told().await;
        assert_eq!((may, why), (json!(true), json!(null)));
    }
    assert_eq!(house.refund.runs(), 0);
}

#[tokio::test]
async fn a_no_is_told_to_the_agent_as_a_persons() {
    let house = House::new().await;
    let (ann, _) = approver(&house, "ann@example.com", Role::Admin).await;
    let keyed = [("idempotency-key", "one")];
    let call = Some(json!({ "tool": "shop.refund", "args": { "amount": 500 } }));
    let send = || request("POST", "/v1/actions", &house.support.key, &keyed, call.clone());
    let held = house.send(send()).await;
    let id = approval(&held);
    let shown = house.get(&format!("/v1/approvals/{id}"), &ann.key).await.body;
    let body = json!({ "context_digest": shown["context_digest"] });
    let refused = decide(&house, &ann.key, (&id, "deny"), body).await;
    assert_eq!((refused.status, &refused.body["status"]), (200, &json!("denied")));
    assert!(refused.body["deed"].is_string() && refused.body["decided_at"].is_string());
    assert_eq!(house.send(send()).await.code(), (403, "approval_denied"));
    assert_eq!(house.refund.runs(), 0);
}

#[tokio::test]
async fn nobody_decides_but_whom_the_rule_lets_on_what_was_shown_and_in_time() {
    let house = House::new().await;
    let (ann, _) = approver(&house, "ann@example.com", Role::Admin).await;
    let mute = house.browser("mute@example.com", Role::Owner).await;
    let own = [("service-on-behalf-of", "ANN@example.com")];
    let call = Some(json!({ "tool": "shop.refund", "args": { "amount": 500 } }));
    let hers = house.send(request("POST", "/v1/actions", &house.support.key, &own, call)).await;
    let held = house.refund(500).await;
    let (id, hers) = (approval(&held), approval(&hers));
    let shown = house.get(&format!("/v1/approvals/{id}"), &ann.key).await.body;
    let right = json!({ "context_digest": shown["context_digest"] });
    let wrong = json!({ "context_digest": shown["request_digest"] });
    for verb in ["approve", "deny"] {
        for (key, code) in
            [(&house.org_key, "person_required"), (&house.support.key, "insufficient_scope")]
        {
            let refused = decide(&house, key, (&id, verb), right.clone()).await;
            assert_eq!(refused.code(), (403, code));
        }
        let refused = decide(&house, &mute.key, (&id, verb), right.clone()).await;
        assert_eq!(refused.code(), (403, "not_an_approver"));
        let refused = decide(&house, &ann.key, (&hers, verb), right.clone()).await;
        assert_eq!(refused.code(), (403, "self_approval"));
        let refused = decide(&house, &ann.key, (&id, verb), wrong.clone()).await;
        let found = (refused.code(), refused.param());
        assert_eq!(found, ((409, "approval_stale"), Some("context_digest")));
        for (body, param) in [
            (json!({}), "context_digest"),
            (json!({ "context_digest": "sha256:00" }), "context_digest"),
            (json!({ "context_digest": shown["context_digest"], "note": "" }), "note"),
            (json!({ "context_digest": shown["context_digest"], "yes": true }), "yes"),
        ] {
            let refused = decide(&house, &ann.key, (&id, verb), body).await;
            assert_eq!(
                (refused.code(), refused.param()),
                ((400, "validation_failed"), Some(param))
            );
        }
    }
    let mut other = ann.key.clone();
    other.push('x');
    let refused = decide(&house, &other, (&id, "approve"), right.clone()).await;
    assert_eq!(refused.code(), (403, "csrf_failed"));
    house.clock.pass(Duration::from_mins(30));
    let late = decide(&house, &ann.key, (&id, "approve"), right).await;
    assert_eq!(late.code(), (410, "approval_expired"));
    let over = house.get(&format!("/v1/approvals/{id}"), &ann.key).await.body;
    assert_eq!(
        [&over["status"], &over["why_not"]],
        [&json!("expired"), &json!("approval_expired")]
    );
    assert_eq!(house.refund.runs(), 0);
}

#[tokio::test]
async fn keys_read_what_is_asked_and_not_what_people_are_shown() {
    let house = House::new().await;
    let (ann, _) = approver(&house, "ann@example.com", Role::Admin).await;
    let id = approval(&house.refund(500).await);
    let path = format!("/v1/approvals/{id}");
    let of_org = house.get(&path, &house.org_key).await.body;
    assert_eq!([&of_org["context"], &of_org["why_not"]], [&Value::Null, &json!("person_required")]);
    assert_eq!(of_org["eligible"].as_array().unwrap().len(), 1);
    let of_agent = house.get(&path, &house.support.key).await.body;
    assert_eq!([&of_agent["context"], &of_agent["eligible"]], [&Value::Null, &json!([])]);
    assert_eq!(of_agent["why_not"], "insufficient_scope");
    assert_eq!(house.get(&path, &house.other.key).await.code(), (404, "not_found"));
    let listed = async |query: &str, key: &str| {
        let page = house.get(&format!("/v1/approvals?{query}"), key).await;
        assert_eq!(page.status, 200, "{query}: {}", page.body);
        page.body["data"].as_array().unwrap().len()
    };
    assert_eq!(listed("", &house.support.key).await, 1);
    assert_eq!(listed("", &house.other.key).await, 0);
    for (query, count) in [
        ("status=pending,denied", 1),
        ("status=approved", 0),
        ("tool=shop.*", 1),
        ("tool=mail.*", 0),
        ("created_at[lt]=2026-10-01T00:00:00Z", 0),
        ("mine=true", 1),
    ] {
        assert_eq!(listed(query, &ann.key).await, count, "{query}");
    }
    let foreign = format!("agent={}", house.other.agent);
    assert_eq!(listed(&foreign, &house.support.key).await, 0);
    let refused = house.get("/v1/approvals?mine=true", &house.org_key).await;
    assert_eq!((refused.code(), refused.param()), ((400, "validation_failed"), Some("mine")));
}

#[tokio::test]
async fn nothing_waits_for_whoever_may_answer_nothing() {
    let house = House::new().await;
    let mute = house.browser("mute@example.com", Role::Owner).await;
    let (ann, _) = approver(&house, "ann@example.com", Role::Viewer).await;
    house.refund(500).await;
    let listed = async |query: &str, key: &str| {
        let page = house.get(&format!("/v1/approvals?{query}"), key).await;
        assert_eq!(page.status, 200, "{query}: {}", page.body);
        page.body["data"].as_array().unwrap().len()
    };
    let mine = "mine=true&status=pending";
    assert_eq!((listed(mine, &mute.key).await, listed(mine, &ann.key).await), (0, 1));
    assert_eq!(listed("status=pending", &mute.key).await, 1, "it waits for others");
    let room = async |key: &str| {
        let page = house.get("/app/approvals", key).await;
        String::from_utf8(page.bytes.to_vec()).unwrap()
    };
    let badge = "<span class=\"count wait\">";
    assert!(room(&ann.key).await.contains(badge));
    let empty = room(&mute.key).await;
    assert!(empty.contains("data-live-mark"), "whether the list is live is told");
    assert!(empty.contains("Nothing is waiting for you.") && !empty.contains(badge), "{empty}");
}

#[tokio::test]
async fn text_that_is_not_what_it_seems_is_warned_of() {
    let house = House::new().await;
    let (ann, _) = approver(&house, "ann@example.com", Role::Admin).await;
    let warned = async |name: &str, note: &str| {
        let args = json!({ "amount": 500, name: note });
        let held = house.post("/v1/actions", json!({ "tool": "shop.refund", "args": args })).await;
        let id = approval(&held);
        let shown = house.get(&format!("/v1/approvals/{id}"), &ann.key).await.body;
        // A no gives back what the call took of its budget.
        let digest = json!({ "context_digest": shown["context_digest"] });
        assert_eq!(decide(&house, &ann.key, (&id, "deny"), digest).await.status, 200);
        shown["warnings"].clone()
    };
    let first = json!(["tool_new", "first_use"]);
    for (name, note) in [
        ("note", "two\nlines, naïve ☂\u{fe0f}, Иван"),
        ("größe", "1"),
        ("счёт", "1"),
        ("数量かな", "1"),
    ] {
        assert_eq!(warned(name, note).await, first, "the org's first call: {name}");
    }
    let misleading = json!(["tool_new", "misleading_text", "first_use"]);
    for (name, note) in [
        ("note", "pay \u{202e}eve"),
        ("note", "pay\u{2028}eve"),
        ("note", "pay\u{2029}eve"),
        // The first letter is Cyrillic.
        ("\u{430}mount", "1"),
        ("amou\u{3bd}t", "1"),
    ] {
        assert_eq!(warned(name, note).await, misleading, "{name} {note:?}");
    }
}

#[tokio::test]
async fn whoever_wrote_the_rule_does_not_answer_where_it_excludes_its_author() {
    let house = House::new().await;
    let (ann, _) = approver(&house, "ann@example.com", Role::Owner).await;
    let (bob, bobs) = approver(&house, "bob@example.com", Role::Viewer).await;
    let post = async |path: &str, body: Value| {
        let answer = house.send(request("POST", path, &ann.key, &[], Some(body))).await;
        assert!(matches!(answer.status, 200 | 201), "{path}: {answer:?}");
        answer
    };
    let document = "schema: 1\ndefault: { outcome: deny }\nrules:\n  \
        - { id: large, match: shop.refund, outcome: require_approval, approval: { exclude: [policy_author] } }\n";
    let policy = post("/v1/policies", json!({ "name": "anns" })).await.id();
    let path = format!("/v1/policies/{policy}/versions");
    let version = post(&path, json!({ "document": document })).await.id();
    let activation = json!({ "version": version, "mode": "enforce", "reason": "a drill" });
    post(&format!("/v1/policies/{policy}/activate"), activation).await;
    let id = approval(&house.refund(500).await);
    let read = async |key: &str| house.get(&format!("/v1/approvals/{id}"), key).await.body;
    let shown = read(&ann.key).await;
    assert_eq!(
        [&shown["may_decide"], &shown["why_not"], &shown["excluded"]],
        [&json!(false), &json!("self_approval"), &json!(["policy_author"])]
    );
    assert_eq!(shown["eligible"], json!([{ "id": bobs.id, "role": "viewer" }]));
    for (key, count) in [(&ann.key, 0), (&bob.key, 1)] {
        let mine = house.get("/v1/approvals?status=pending&mine=true", key).await.body;
        assert_eq!(mine["data"].as_array().unwrap().len(), count);
    }
    let body = json!({ "context_digest": shown["context_digest"] });
    let own = decide(&house, &ann.key, (&id, "approve"), body.clone()).await;
    assert_eq!(own.code(), (403, "self_approval"));
    assert_eq!(house.refund.runs(), 0);
    let given = decide(&house, &bob.key, (&id, "approve"), body).await;
    assert_eq!((given.status, &given.body["status"]), (200, &json!("approved")), "{given:?}");
}
