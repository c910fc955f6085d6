//! The members of every object of the interface, table by table, with what is null and when.

use serde_json::{Value, json};

use super::house::{Answer, House, request};

/// Asserts that the object has exactly these members.
fn has(object: &Value, members: &[&str]) {
    let mut found: Vec<&str> = object.as_object().unwrap().keys().map(String::as_str).collect();
    let mut expected = members.to_vec();
    found.sort_unstable();
    expected.sort_unstable();
    assert_eq!(found, expected, "{object}");
}

#[rustfmt::skip]
const ACTION: &[&str] = &[
    "object", "id", "created_at", "livemode", "agent", "tool", "connector", "mode", "state", "status", "on_behalf_of",
    "session", "decision", "policy", "approval", "execution", "witness", "cost", "request_digest", "result_digest",
    "payload_pruned_at", "deed", "next_action",
];

async fn denied(house: &House) -> Value {
    let answer = house.post("/v1/actions", json!({ "tool": "shop.delete", "args": {} })).await;
    answer.body["error"]["action"].clone()
}

async fn cancelled(house: &House) -> Answer {
    let id = house.refund(500).await.id();
    let path = format!("/v1/actions/{id}/cancel");
    house.send(request("POST", &path, &house.support.key, &[], None)).await
}

#[tokio::test]
async fn an_action_has_the_members_of_its_table_in_every_state() {
    let house = House::new().await;
    let (executed, held) = (house.refund(5).await.body, house.refund(500).await.body);
    let (authorized, cancelled) = (house.authorize().await.body, cancelled(&house).await.body);
    let denied = denied(&house).await;
    let stranger = house.post("/v1/actions", json!({ "tool": "no.where", "args": {} })).await;
    let unknown = stranger.body["error"]["action"].clone();
    // What is not null, beside the members that never are.
    #[rustfmt::skip]
    let table: [(&Value, &str, &str, &[&str]); 6] = [
        (&executed,   "sealed",           "executed",         &["connector", "execution", "witness", "result_digest", "deed"]),
        (&held,       "pending_approval", "pending_approval", &["connector", "approval", "next_action"]),
        (&authorized, "executing",        "authorized",       &["connector", "execution", "next_action"]),
        (&cancelled,  "sealed",           "cancelled",        &["connector", "approval", "deed"]),
        (&denied,     "sealed",           "denied",           &["connector", "deed"]),
        (&unknown,    "sealed",           "denied",           &["deed"]),
    ];
    let nullable = [
        "connector",
        "approval",
        "execution",
        "witness",
        "cost",
        "result_digest",
        "deed",
        "next_action",
        "payload_pruned_at",
        "on_behalf_of",
        "session",
    ];
    for (action, state, status, present) in table {
        has(action, ACTION);
        assert_eq!((&action["state"], &action["status"]), (&json!(state), &json!(status)));
        for member in nullable {
            let is_there = !action[member].is_null();
            assert_eq!(is_there, present.contains(&member), "{status}: `{member}` in {action}");
        }
        has(&action["agent"], &["id", "name"]);
        assert_eq!(action["object"], "action");
        assert!(action["livemode"].is_boolean());
    }
    has(&executed["connector"], &["id", "name", "type"]);
}

#[tokio::test]
async fn the_parts_of_an_action_have_the_members_of_their_tables() {
    let house = House::new().await;
    let executed = house.refund(5).await.body;
    let held = house.refund(500).await.body;
    let authorized = house.authorize().await.body;
    #[rustfmt::skip]
    let decision = [
        "outcome", "code", "source", "rule_id", "reason", "message", "policy", "policy_version", "budget", "shadow",
    ];
    has(&executed["decision"], &decision);
    has(&executed["policy"], &["id", "version_id", "mode", "decision", "rule_id"]);
    assert_eq!(executed["policy"]["mode"], "enforce");
    assert_eq!(executed["policy"]["id"], executed["decision"]["policy"]);
    assert_eq!(executed["policy"]["version_id"], executed["decision"]["policy_version"]);
    has(&held["approval"], &["id", "status", "expires_at"]);
    #[rustfmt::skip]
    let execution = [
        "status", "started_at", "finished_at", "latency_ms", "error_code", "error_message", "rows_changed", "result",
    ];
    has(&executed["execution"], &execution);
    assert!(executed["execution"]["latency_ms"].is_u64());
    #[rustfmt::skip]
    let witness = [
        "object", "level", "verdict", "method", "required_level", "summary", "reasons", "witnessed_at", "detail_digest",
    ];
    has(&executed["witness"], &witness);
    has(&authorized["next_action"], &["type", "report_url", "deadline"]);
    has(&held["next_action"], &["type", "approval", "expires_at", "poll_url"]);
    assert_eq!(held["next_action"]["expires_at"], held["approval"]["expires_at"]);
    // The wait of the poll address is one that the route takes.
    let poll = held["next_action"]["poll_url"].as_str().unwrap().replace("=25", "=0");
    assert_eq!(house.get(&poll, &house.support.key).await.status, 200);
}

#[tokio::test]
async fn the_detail_adds_payloads_events_and_deeds() {
    let house = House::new().await;
    let id = house.refund(5).await.id();
    let detail = house.get(&format!("/v1/actions/{id}"), &house.support.key).await.body;
    has(&detail, &[ACTION, &["request", "result", "events", "deeds"]].concat());
    assert!(detail["execution"].get("result").is_none(), "later reads hold it as the payload");
    for event in detail["events"].as_array().unwrap() {
        has(event, EVENT);
    }
    let denied = denied(&house).await["id"].as_str().unwrap().to_owned();
    let detail = house.get(&format!("/v1/actions/{denied}"), &house.support.key).await.body;
    assert_eq!((&detail["request"], &detail["result"]), (&json!({}), &Value::Null));
    assert_eq!(detail["deeds"].as_array().map(Vec::len), Some(1));
}

const EVENT: &[&str] =
    &["object", "id", "type", "api_version", "created_at", "livemode", "org", "data"];

#[tokio::test]
async fn an_event_is_an_envelope_around_a_thin_object() {
    let house = House::new().await;
    let id = house.refund(5).await.id();
    let detail = house.get(&format!("/v1/actions/{id}"), &house.support.key).await.body;
    for event in detail["events"].as_array().unwrap() {
        assert_eq!(
            (&event["object"], &event["api_version"]),
            (&json!("event"), &json!("2026-10-01"))
        );
        assert!(event["id"].as_str().unwrap().starts_with("evt_"));
        assert_eq!(event["org"], house.org.to_string());
        has(&event["data"], &["object"]);
        let object = &event["data"]["object"];
        let of_action = event["type"].as_str().unwrap().starts_with("action.");
        assert_eq!(object["object"], if of_action { "action" } else { "deed" });
        if of_action {
            assert_eq!(object["id"], id.as_str());
            assert!(object["state"].is_string());
        }
    }
}

#[tokio::test]
async fn the_error_envelope_has_its_members_and_more_only_where_recorded() {
    let house = House::new().await;
    let six = ["type", "code", "message", "param", "request_id", "doc_url"];
    let bad = house.get("/v1/actions?limit=0", &house.support.key).await;
    has(&bad.body, &["error"]);
    has(&bad.body["error"], &six);
    let refused = house.post("/v1/actions", json!({ "tool": "no.where", "args": {} })).await;
    has(&refused.body["error"], &[six.as_slice(), &["action"]].concat());
    let action = &refused.body["error"]["action"];
    assert_eq!((&action["tool"], &action["state"]), (&json!("no.where"), &json!("sealed")));
    assert!(action["id"].is_string() && action["deed"].is_string());
    let error = &refused.body["error"];
    assert_eq!(error["request_id"], refused.headers["service-request-id"].to_str().unwrap());
    let page = error["doc_url"].as_str().unwrap().strip_prefix("http://test").unwrap();
    assert_eq!(house.get(page, "").await.status, 200, "the address leads somewhere");
}

#[tokio::test]
async fn tools_and_lists_have_the_members_of_their_tables() {
    let house = House::new().await;
    let tools = house.get("/v1/tools?include_hidden=true", &house.support.key).await.body;
    has(&tools, &["object", "data", "has_more", "next_cursor", "policy_version"]);
    assert_eq!((&tools["object"], &tools["has_more"]), (&json!("list"), &json!(false)));
    assert_eq!(tools["next_cursor"], Value::Null);
    assert!(tools["policy_version"].as_str().unwrap().starts_with("pv_"));
    let names: Vec<_> = tools["data"].as_array().unwrap().iter().map(|it| &it["name"]).collect();
    assert!(names.is_sorted_by_key(|name| name.as_str().unwrap().to_owned()), "{names:?}");
    for tool in tools["data"].as_array().unwrap() {
        #[rustfmt::skip]
        let members = [
            "object", "name", "connector", "title", "description", "input_schema", "side_effect", "visibility",
        ];
        has(tool, &members);
        assert!(tool["input_schema"].is_object());
    }
    let body = json!({ "connector": "mail", "tools": [{ "name": "send" }] });
    let resolved = house.post("/v1/tools/resolve", body).await.body;
    has(&resolved, &["object", "data", "has_more", "next_cursor", "policy_version"]);
    has(&resolved["data"][0], &["object", "name", "connector", "visibility", "rule_id"]);
    let actions = house.get("/v1/actions", &house.support.key).await.body;
    has(&actions, &["object", "data", "has_more", "next_cursor"]);
}

#[tokio::test]
async fn ids_times_and_digests_are_written_as_the_conventions_say() {
    let house = House::new().await;
    let action = house.refund(5).await.body;
    let id = |value: &Value, prefix: &str| {
        let tail = value.as_str().unwrap().strip_prefix(prefix).unwrap().to_owned();
        let first = tail.as_bytes()[0];
        let rest = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'h' | b'j' | b'k' | b'm' | b'n' | b'p'..=b't' | b'v'..=b'z');
        assert!(tail.len() == 26 && (b'0'..=b'7').contains(&first), "{value}");
        assert!(tail.bytes().all(rest), "{value}");
    };
    id(&action["id"], "act_");
    id(&action["agent"]["id"], "agt_");
    id(&action["deed"], "deed_");
    id(&action["decision"]["policy"], "pol_");
    id(&action["decision"]["policy_version"], "pv_");
    for time in [
        &action["created_at"],
        &action["execution"]["started_at"],
        &action["witness"]["witnessed_at"],
    ] {
        let text = time.as_str().unwrap();
        assert!(text.len() == 24 && text.ends_with('Z') && text.as_bytes()[19] == b'.', "{text}");
    }
    for digest in
        [&action["request_digest"], &action["result_digest"], &action["witness"]["detail_digest"]]
    {
        let hex = digest.as_str().unwrap().strip_prefix("sha256:").unwrap();
        assert!(
            hex.len() == 64 && hex.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
        );
    }
}

#[tokio::test]
async fn a_result_over_the_bound_is_digested_and_only_the_digest_kept() {
    let house = House::new().await;
    // The house keeps results of at most 100 bytes.
    let large = "x".repeat(100);
    let body = json!({ "tool": "shop.refund", "args": { "amount": 1, "note": large } });
    let sent = house.post("/v1/actions", body).await;
    assert_eq!(sent.body["execution"]["result"]["note"], large, "it is answered once");
    let result = crypto::json::canonical(&json!({ "refunded": 1, "note": large }));
    assert_eq!(sent.body["result_digest"], crypto::sha256(&result).to_string());
    let read = house.get(&format!("/v1/actions/{}", sent.id()), &house.support.key).await;
    assert_eq!(read.body["result"], Value::Null);
    assert_eq!(read.body["result_digest"], sent.body["result_digest"]);
}

#[tokio::test]
async fn a_cancelled_too_late_says_how_far_the_action_is() {
    let house = House::new().await;
    let cancel = async |id: &str| {
        let path = format!("/v1/actions/{id}/cancel");
        house.send(request("POST", &path, &house.support.key, &[], None)).await
    };
    let executing = cancel(&house.authorize().await.id()).await;
    assert_eq!(executing.code(), (409, "conflict"));
    assert!(executing.body["error"]["message"].as_str().unwrap().contains("already executing"));
    let finished = cancel(&house.refund(1).await.id()).await;
    assert_eq!(finished.code(), (409, "conflict"));
    assert!(finished.body["error"]["message"].as_str().unwrap().contains("already finished"));
}

#[tokio::test]
async fn reports_are_refused_for_actions_that_take_none() {
    let house = House::new().await;
    let moment = "2026-10-01T12:00:00.000Z";
    let body =
        json!({ "status": "succeeded", "started_at": moment, "finished_at": moment, "result": 1 });
    let (gateway, held) = (house.refund(1).await.id(), house.refund(500).await.id());
    for id in [gateway, held] {
        let answer = house.post(&format!("/v1/actions/{id}/result"), body.clone()).await;
        assert_eq!(answer.code(), (409, "conflict"));
    }
    let late = house.authorize().await.id();
    house.clock.pass(std::time::Duration::from_mins(11));
    let answer = house.post(&format!("/v1/actions/{late}/result"), body).await;
    assert_eq!(answer.code(), (409, "conflict"));
}

#[tokio::test]
async fn a_digest_alone_is_a_report_of_a_result_too_large_to_send() {
    let house = House::new().await;
    let id = house.authorize().await.id();
    let (moment, digest) = ("2026-10-01T12:00:00.000Z", crypto::sha256("large"));
    let body = json!({ "status": "succeeded", "started_at": moment, "finished_at": moment, "result_digest": digest });
    let sealed = house.post(&format!("/v1/actions/{id}/result"), body).await;
    assert_eq!((sealed.status, &sealed.body["status"]), (200, &json!("executed")));
    assert_eq!(sealed.body["result_digest"], digest.to_string());
}
