//! Sending, reading, listing, reporting and cancelling actions.

use std::time::Duration;

use model::PendingApprovals;
use serde_json::{Value, json};

use super::house::{Answer, House, request};

#[tokio::test]
async fn an_allowed_call_runs_and_its_result_stands_on_this_answer_alone() {
    let house = House::new().await;
    let sent = house.refund(5).await;
    assert_eq!((sent.status, &sent.body["status"]), (200, &"executed".into()));
    assert_eq!(sent.body["state"], "sealed");
    assert_eq!(sent.body["execution"]["result"], json!({ "refunded": 5 }));
    assert_eq!(sent.body["decision"]["rule_id"], "refunds");
    assert_eq!(sent.body["witness"]["level"], "L0");
    assert_eq!(sent.body["next_action"], Value::Null);
    let id = sent.id();
    let read = house.get(&format!("/v1/actions/{id}"), &house.support.key).await;
    assert_eq!(read.body["execution"].get("result"), None);
    assert_eq!(read.body["request"], json!({ "amount": 5 }));
    assert_eq!(read.body["result"], json!({ "refunded": 5 }));
    assert_eq!(read.body["deeds"][0]["id"], sent.body["deed"]);
    let types: Vec<&str> = read.body["events"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|it| it["type"].as_str())
        .collect();
    assert_eq!(types.first(), Some(&"action.created"));
    assert_eq!(types.last(), Some(&"deed.sealed"));
}

#[tokio::test]
async fn a_deed_read_here_passes_the_offline_verifier() {
    let house = House::new().await;
    let id = house.refund(5).await.id();
    let read = house.get(&format!("/v1/actions/{id}"), &house.support.key).await;
    let keys = house.get("/.well-known/service/keys.json", "").await;
    let trust = deed::verify::Trust {
        keys: Some(deed::KeySet::parse(&keys.bytes).unwrap()),
        ..deed::verify::Trust::default()
    };
    let report = deed::verify::examine(read.body["deeds"][0].to_string().as_bytes(), &trust);
    assert_eq!(report.verdict, deed::verify::Verdict::Valid, "{report:?}");
}

#[tokio::test]
async fn a_refusal_carries_its_sentence_and_its_sealed_action() {
    let house = House::new().await;
    let body = json!({ "tool": "shop.delete", "args": {} });
    let denied = house.post("/v1/actions", body).await;
    assert_eq!(denied.code(), (403, "policy_denied"));
    let error = &denied.body["error"];
    assert_eq!(error["type"], "policy_error");
    assert_eq!(error["message"], error["action"]["decision"]["message"]);
    assert!(error["message"].as_str().unwrap().contains("Orders are never deleted."));
    assert_eq!(error["action"]["status"], "denied");
    assert!(error["action"]["deed"].is_string());
}

#[tokio::test]
async fn a_tool_that_nobody_serves_is_404_and_sealed() {
    let house = House::new().await;
    for tool in ["shop.nothing", "no tool name"] {
        let answer = house.post("/v1/actions", json!({ "tool": tool, "args": {} })).await;
        assert_eq!((answer.code(), answer.param()), ((404, "tool_unknown"), Some("tool")));
        let action = &answer.body["error"]["action"];
        assert_eq!(action["tool"], tool);
        assert_eq!(action["decision"]["source"], "builtin");
        assert!(action["deed"].is_string());
    }
}

#[tokio::test]
async fn a_spent_budget_says_when_to_come_back() {
    let house = House::new().await;
    for _ in 0..3 {
        assert_eq!(house.refund(1).await.status, 200);
    }
    let answer = house.refund(1).await;
    assert_eq!(answer.code(), (429, "budget_exceeded"));
    // Noon UTC; the day's window ends at midnight.
    assert_eq!(answer.headers["retry-after"], "43200");
    let (error, action) = (&answer.body["error"], &answer.body["error"]["action"]);
    assert!(action["deed"].is_string());
    let resets_at = "2026-10-02T00:00:00.000Z";
    let named = json!({ "id": "refunds-day", "limit": "3", "unit": null, "window": "day", "resets_at": resets_at });
    assert_eq!(action["decision"]["budget"], named);
    let sentence =
        format!("The budget `refunds-day` admits at most 3 calls a day; it resets at {resets_at}.");
    assert_eq!(
        (&error["message"], &action["decision"]["message"]),
        (&json!(sentence), &json!(sentence))
    );
}

#[tokio::test]
async fn a_key_that_names_a_spent_budget_says_so_once_the_budget_has_reset() {
    let house = House::new().await;
    let send = async |key: &'static str| {
        let body = Some(json!({ "tool": "shop.refund", "args": { "amount": 1 } }));
        let headers = [("Idempotency-Key", key)];
        house.send(request("POST", "/v1/actions", &house.support.key, &headers, body)).await
    };
    for key in ["one", "two", "three"] {
        assert_eq!(send(key).await.status, 200);
    }
    let refused = send("four").await;
    assert_eq!(refused.headers["retry-after"], "43200");
    house.clock.pass(Duration::from_hours(12) - Duration::from_secs(1));
    let waits = send("four").await;
    assert_eq!(waits.headers["retry-after"], "1");
    assert_eq!(waits.body["error"]["message"], refused.body["error"]["message"]);
    house.clock.pass(Duration::from_secs(1));
    let over = send("four").await;
    assert_eq!(over.code(), (429, "budget_exceeded"));
    assert_eq!(over.headers["service-idempotent-replayed"], "true");
    // The key names the refusal for 24 hours, of which 12 are over.
    assert_eq!(over.headers["retry-after"], "43200");
    let message = over.body["error"]["message"].as_str().unwrap();
    assert!(message.ends_with("send the call again with a new key."), "{message}");
    assert_eq!(over.body["error"]["action"], refused.body["error"]["action"]);
    assert_eq!(send("five").await.status, 200);
    house.clock.pass(Duration::from_hours(12));
    assert_eq!(send("four").await.status, 200);
}

#[tokio::test]
async fn a_held_call_is_202_and_tells_where_to_wait() {
    let house = House::new().await;
    let held = house.refund(500).await;
    assert_eq!((held.status, &held.body["status"]), (202, &"pending_approval".into()));
    let (next, id) = (&held.body["next_action"], held.id());
    assert_eq!(next["type"], "await_approval");
    assert_eq!(next["poll_url"], format!("/v1/actions/{id}?wait=25"));
    assert_eq!(next["approval"], held.body["approval"]["id"]);
    let cancel = format!("/v1/actions/{id}/cancel");
    let other = request("POST", &cancel, &house.other.key, &[], None);
    assert_eq!(house.send(other).await.code(), (404, "not_found"));
    let own = || request("POST", &cancel, &house.support.key, &[], None);
    let cancelled = house.send(own()).await;
    assert_eq!((cancelled.status, &cancelled.body["status"]), (200, &"cancelled".into()));
    assert_eq!(cancelled.body["state"], "sealed");
    assert_eq!(house.send(own()).await.code(), (409, "conflict"));
}

#[tokio::test]
async fn an_edge_is_authorized_and_reports_once() {
    let house = House::new().await;
    let sent = house.authorize().await;
    assert_eq!((sent.status, &sent.body["status"]), (200, &"authorized".into()));
    let id = sent.id();
    let path = format!("/v1/actions/{id}/result");
    assert_eq!(sent.body["next_action"]["report_url"], path);
    assert_eq!(sent.body["next_action"]["deadline"], "2026-10-01T12:10:00.000Z");
    let report = json!({
        "status": "succeeded",
        "started_at": "2026-10-01T14:00:00+02:00",
        "finished_at": "2026-10-01T12:00:00.000Z",
        "result": { "sent": true },
    });
    let other = request("POST", &path, &house.other.key, &[], Some(report.clone()));
    assert_eq!(house.send(other).await.code(), (404, "not_found"));
    let mut wrong = report.clone();
    wrong["result_digest"] = json!(crypto::sha256("other"));
    let answer = house.post(&path, wrong).await;
    assert_eq!(
        (answer.code(), answer.param()),
        ((400, "validation_failed"), Some("result_digest"))
    );
    let sealed = house.post(&path, report.clone()).await;
    assert_eq!((sealed.status, &sealed.body["status"]), (200, &"executed".into()));
    assert_eq!(sealed.body["witness"]["method"], "edge_reported");
    assert_eq!(house.post(&path, report).await.code(), (409, "conflict"));
}

#[tokio::test]
async fn a_report_may_hold_any_number() {
    let house = House::new().await;
    let id = house.authorize().await.id();
    // Written out, since no JSON library of ours makes such numbers.
    let body = |digest: &str| {
        let moment = "2026-10-01T12:00:00.000Z";
        format!(
            r#"{{"status":"succeeded","started_at":"{moment}","finished_at":"{moment}",
                "result":{{"n":9007199254740993,"m":[1e21,1e400]}},"result_digest":"{digest}"}}"#
        )
    };
    let held = r#"{"m":[1e+21,"1e400"],"n":"9007199254740993"}"#;
    let send = |text: String| report(&house, &id, text);
    let refused = send(body(&crypto::sha256("other").to_string())).await;
    assert_eq!(refused.param(), Some("result_digest"), "{}", refused.body);
    let sealed = send(body(&crypto::sha256(held).to_string())).await;
    assert_eq!((sealed.status, &sealed.body["status"]), (200, &"executed".into()));
    assert_eq!(sealed.body["result_digest"], crypto::sha256(held).to_string());
    let detail = house.get(&format!("/v1/actions/{id}"), &house.support.key).await;
    assert_eq!(detail.body["result"], serde_json::from_str::<Value>(held).unwrap());
    let run = &detail.body["deeds"][0]["body"]["action"]["execution"];
    assert_eq!(run["lossy_numbers"], true, "{}", detail.body["deeds"][0]);
}

#[tokio::test]
async fn a_result_of_doubles_has_the_digest_of_any_rfc_8785_library() {
    let house = House::new().await;
    for (result, form) in [
        ("1e21", "1e+21"),
        ("6.02214076e23", "6.02214076e+23"),
        ("-1.7976931348623157e308", "-1.7976931348623157e+308"),
        ("9007199254740994", "9007199254740994"),
        (r#"{"b":[1e20],"a":1e-7}"#, r#"{"a":1e-7,"b":[100000000000000000000]}"#),
    ] {
        let digest = crypto::sha256(form).to_string();
        for told in [format!(r#","result_digest":"{digest}""#), String::new()] {
            let id = house.authorize().await.id();
            let moment = "2026-10-01T12:00:00.000Z";
            let sent = format!(
                r#"{{"status":"succeeded","started_at":"{moment}","finished_at":"{moment}",
                    "result":{result}{told}}}"#
            );
            let sealed = report(&house, &id, sent).await;
            assert_eq!((sealed.status, &sealed.body["result_digest"]), (200, &json!(digest)));
            let detail = house.get(&format!("/v1/actions/{id}"), &house.support.key).await;
            assert_eq!(detail.body["result"], serde_json::from_str::<Value>(result).unwrap());
            let run = &detail.body["deeds"][0]["body"]["action"]["execution"];
            assert_eq!(run["lossy_numbers"], false, "{result}");
        }
    }
}

/// Reports in these very words.
async fn report(house: &House, id: &str, text: String) -> Answer {
    let path = format!("/v1/actions/{id}/result");
    let length = text.len().to_string();
    let headers = [("content-type", "application/json"), ("content-length", &length)];
    let mut report = request("POST", &path, &house.support.key, &headers, None);
    *report.body_mut() = text.into();
    house.send(report).await
}

#[tokio::test]
async fn a_report_may_hold_json_of_any_form() {
    let house = House::new().await;
    let deep = format!("{}1{}", "[".repeat(33), "]".repeat(33));
    for result in [
        r#"{"note":"a\u0000b"}"#,
        &deep,
        r#""\udfff and \ud800""#,
        r#"{"a":1,"a":9007199254740993}"#,
    ] {
        let id = house.authorize().await.id();
        let moment = "2026-10-01T12:00:00.000Z";
        let digest = crypto::sha256(result);
        let sealed = format!(
            r#"{{"status":"succeeded","started_at":"{moment}","finished_at":"{moment}",
                "result": {result} ,"result_digest":"{digest}"}}"#
        );
        let sealed = report(&house, &id, sealed).await;
        assert_eq!((sealed.status, &sealed.body["status"]), (200, &"executed".into()), "{result}");
        let detail = house.get(&format!("/v1/actions/{id}"), &house.support.key).await;
        assert_eq!(detail.body["result"], result, "the JSON text stands as a string");
        let kept = crypto::sha256(crypto::json::canonical(&json!(result)));
        assert_eq!(detail.body["result_digest"], kept.to_string());
        let run = &detail.body["deeds"][0]["body"]["action"]["execution"];
        assert_eq!(run["lossy_numbers"], true, "{}", detail.body["deeds"][0]);
    }
}

#[tokio::test]
async fn a_report_names_the_member_that_is_wrong() {
    let house = House::new().await;
    let id = house.authorize().await.id();
    let path = format!("/v1/actions/{id}/result");
    let good = json!({
        "status": "succeeded",
        "started_at": "2026-10-01T12:00:00.000Z",
        "finished_at": "2026-10-01T12:00:00.000Z",
        "result": 1,
    });
    #[rustfmt::skip]
    let cases = [
        ("status",        json!("done")),
        ("status",        json!("running")),
        ("status",        Value::Null),
        ("started_at",    json!("2026-10-01 12:00:00Z")),
        ("finished_at",   json!("2026-10-01T11:00:00Z")),
        ("finished_at",   json!("2026-10-01T13:00:00Z")),
        ("result",        json!("x".repeat(100))),
        ("result_digest", json!("sha256:xyz")),
        ("error_code",    json!("Bad Code")),
        ("error_message", json!("x".repeat(2001))),
        ("more",          json!(1)),
    ];
    for (param, value) in cases {
        let mut body = good.clone();
        body[param] = value;
        let answer = house.post(&path, body).await;
        assert_eq!((answer.code(), answer.param()), ((400, "validation_failed"), Some(param)));
    }
}

#[tokio::test]
async fn a_success_has_no_error_however_its_result_is_sent() {
    let house = House::new().await;
    let id = house.authorize().await.id();
    let digest = format!("sha256:{}", "0".repeat(64));
    for (member, value) in [("result", json!(1)), ("result_digest", json!(digest))] {
        for (error, told) in [("error_code", "no_such_note"), ("error_message", "")] {
            let mut body = json!({
                "status": "succeeded",
                "started_at": "2026-10-01T12:00:00.000Z",
                "finished_at": "2026-10-01T12:00:00.000Z",
            });
            (body[member], body[error]) = (value.clone(), json!(told));
            let answer = house.post(&format!("/v1/actions/{id}/result"), body).await;
            let expected = ((400, "validation_failed"), Some(error));
            assert_eq!((answer.code(), answer.param()), expected, "{member}");
        }
    }
}

#[tokio::test]
async fn a_request_names_the_member_that_is_wrong_and_records_nothing() {
    let house = House::new().await;
    let good = json!({ "tool": "shop.refund", "args": {} });
    #[rustfmt::skip]
    let cases = [
        ("tool",           json!(1),                       "tool"),
        ("tool",           json!(""),                      "tool"),
        ("tool",           json!("t".repeat(201)),         "tool"),
        ("args",           json!([]),                      "args"),
        ("args",           Value::Null,                    "args"),
        ("args",           json!({ "bad": 1 }),            "args"),
        ("args",           json!({ "x": "x".repeat(1000) }),"args"),
        ("args",           json!({ "n": 9_007_199_254_740_993_u64 }), "args"),
        ("mode",           json!("direct"),                "mode"),
        ("mode",           json!("proxy"),                 "connector_type"),
        ("wait",           json!(26),                      "wait"),
        ("wait",           json!(-1),                      "wait"),
        ("wait",           json!("1"),                     "wait"),
        ("connector_type", json!("MCP"),                   "connector_type"),
        ("connector_type", json!("mcp"),                   "connector_type"),
        ("tool_digest",    json!("sha256:1"),              "tool_digest"),
        ("context",        json!([]),                      "context"),
        ("context",        json!({ "transport": "a b" }),  "context.transport"),
        ("context",        json!({ "client": { "name": "x" } }), "context.client.version"),
        ("context",        json!({ "client": { "name": "", "version": "1" } }), "context.client.name"),
        ("context",        json!({ "more": 1 }),           "context.more"),
        ("more",           json!(1),                       "more"),
    ];
    for (member, value, param) in cases {
        let mut body = good.clone();
        body[member] = value;
        let answer = house.post("/v1/actions", body).await;
        assert_eq!((answer.code(), answer.param()), ((400, "validation_failed"), Some(param)));
    }
    let list = house.get("/v1/actions", &house.support.key).await;
    assert_eq!(list.body["data"], json!([]));
}

#[tokio::test]
async fn malformed_service_headers_are_422_and_name_themselves() {
    let house = House::new().await;
    let long = "x".repeat(257);
    #[rustfmt::skip]
    let cases = [
        ("Service-On-Behalf-Of", ""),
        ("Service-On-Behalf-Of", "two words"),
        ("Service-Session",      long.as_str()),
        ("Service-Intent",       "not-a-jws"),
        ("Service-Intent",       "a.b."),
        ("Service-Intent",       "a.b.c=="),
    ];
    for (name, value) in cases {
        let body = Some(json!({ "tool": "shop.refund", "args": {} }));
        let request = request("POST", "/v1/actions", &house.support.key, &[(name, value)], body);
        let answer = house.send(request).await;
        assert_eq!((answer.code(), answer.param()), ((422, "validation_failed"), Some(name)));
    }
}

#[tokio::test]
async fn a_key_names_one_action_and_another_request_under_it_is_422() {
    let house = House::new().await;
    let send = async |amount: u64, session: &str| {
        let headers = [("Idempotency-Key", "one"), ("Service-Session", session)];
        let body = Some(json!({ "tool": "shop.refund", "args": { "amount": amount } }));
        house.send(request("POST", "/v1/actions", &house.support.key, &headers, body)).await
    };
    let first = send(1, "s").await;
    assert!(!first.headers.contains_key("service-idempotent-replayed"));
    let again = send(1, "s").await;
    assert_eq!(again.headers["service-idempotent-replayed"], "true");
    assert_eq!(again.id(), first.id());
    for other in [send(2, "s").await, send(1, "t").await] {
        assert_eq!(other.code(), (422, "idempotency_conflict"));
        assert_eq!(other.param(), Some("Idempotency-Key"));
    }
}

#[tokio::test]
async fn a_replayed_refusal_is_the_same_refusal() {
    let house = House::new().await;
    let send = async || {
        let body = Some(json!({ "tool": "shop.delete", "args": {} }));
        let headers = [("Idempotency-Key", "one")];
        house.send(request("POST", "/v1/actions", &house.support.key, &headers, body)).await
    };
    let (first, again) = (send().await, send().await);
    assert_eq!(again.code(), (403, "policy_denied"));
    assert_eq!(again.headers["service-idempotent-replayed"], "true");
    assert_eq!(again.body["error"]["action"], first.body["error"]["action"]);
}

#[tokio::test]
async fn a_stopped_agent_is_refused_and_sealed() {
    let house = House::new().await;
    house
        .operator()
        .stop_agent(house.support.agent, "a drill", PendingApprovals::Void)
        .await
        .unwrap();
    let answer = house.refund(1).await;
    assert_eq!(answer.code(), (403, "agent_stopped"));
    assert_eq!(answer.body["error"]["type"], "permission_error");
    assert!(answer.body["error"]["action"]["deed"].is_string());
    house.operator().stop_org("a drill", PendingApprovals::Void).await.unwrap();
    assert_eq!(house.refund(1).await.code(), (403, "org_stopped"));
}

#[tokio::test]
async fn another_agents_or_orgs_action_looks_like_none() {
    let house = House::new().await;
    let id = house.refund(1).await.id();
    let path = format!("/v1/actions/{id}");
    let missing = "/v1/actions/act_01h455vb4pex5vsknk084sn02q";
    let mut answers = vec![
        house.get(&path, &house.other.key).await,
        house.get(missing, &house.support.key).await,
        house.get("/v1/actions/act_1", &house.support.key).await,
        house.get(&format!("{missing}?wait=1"), &house.support.key).await,
    ];
    for answer in &mut answers {
        assert_eq!(answer.code(), (404, "not_found"));
        answer.body["error"]["request_id"] = Value::Null;
    }
    assert!(answers.iter().all(|answer| answer.body == answers[0].body));
    assert_eq!(house.get(&path, &house.org_key).await.status, 200);
}

#[tokio::test]
async fn unknown_expansions_and_waits_are_refused() {
    let house = House::new().await;
    let id = house.refund(1).await.id();
    let path = format!("/v1/actions/{id}");
    #[rustfmt::skip]
    let cases = [
        ("expand[]=deeds",           "expand[]"),
        ("expand%5B%5D=",            "expand[]"),
        ("wait=26",                  "wait"),
        ("wait=NaN",                 "wait"),
        ("wait=1&wait=1",            "wait"),
        ("expand=request",           "expand"),
    ];
    for (query, param) in cases {
        let answer = house.get(&format!("{path}?{query}"), &house.support.key).await;
        assert_eq!((answer.code(), answer.param()), ((400, "validation_failed"), Some(param)));
    }
    let query = "expand[]=request&expand[]=result&expand[]=events&expand%5B%5D=witness.detail";
    let whole = house.get(&format!("{path}?{query}"), &house.support.key).await;
    assert!(whole.body["witness"].get("detail").is_some());
    let plain = house.get(&path, &house.support.key).await;
    assert!(plain.body["witness"].get("detail").is_none());
}

#[tokio::test]
async fn keys_without_the_scope_or_life_are_refused() {
    let house = House::new().await;
    let body = || Some(json!({ "tool": "shop.refund", "args": {} }));
    let org = house.send(request("POST", "/v1/actions", &house.org_key, &[], body())).await;
    assert_eq!(org.code(), (403, "insufficient_scope"));
    assert_eq!(house.get("/v1/actions", "svc_live_nothing").await.code(), (401, "unauthenticated"));
    assert_eq!(house.get("/v1/actions", "").await.code(), (401, "unauthenticated"));
    house.operator().revoke_key(house.support.id).await.unwrap();
    assert_eq!(house.refund(1).await.code(), (401, "unauthenticated"));
}

#[tokio::test]
async fn a_record_that_cannot_be_reached_is_503() {
    let house = House::new().await;
    house.refund(1).await;
    house.store.go_down();
    let answer = house.refund(1).await;
    assert_eq!(answer.code(), (503, "service_unavailable"));
    assert_eq!(answer.headers["retry-after"], "1");
    let list = house.get("/v1/actions", &house.support.key).await;
    assert_eq!(list.code(), (503, "service_unavailable"));
}

#[tokio::test]
async fn a_cancellation_under_a_key_is_replayed_and_conflicts_elsewhere() {
    let house = House::new().await;
    let [first, second] = [house.refund(500).await, house.refund(500).await];
    for (sender, name) in [(&house.support.key, "one"), (&house.org_key, "two")] {
        let action = if name == "one" { &first } else { &second };
        let cancel = |id: &str, headers: &[(&str, &str)]| {
            request("POST", &format!("/v1/actions/{id}/cancel"), sender, headers, None)
        };
        let key = [("Idempotency-Key", name)];
        let done = house.send(cancel(&action.id(), &key)).await;
        assert_eq!((done.status, &done.body["status"]), (200, &"cancelled".into()));
        assert!(!done.headers.contains_key("service-idempotent-replayed"));
        let again = house.send(cancel(&action.id(), &key)).await;
        assert_eq!((again.status, &again.body), (200, &done.body));
        assert_eq!(again.headers["service-idempotent-replayed"], "true");
        let unkeyed = house.send(cancel(&action.id(), &[])).await;
        assert_eq!(unkeyed.code(), (409, "conflict"));
        let other = house.refund(500).await;
        let clash = house.send(cancel(&other.id(), &key)).await;
        assert_eq!(clash.code(), (422, "idempotency_conflict"));
        assert_eq!(clash.param(), Some("Idempotency-Key"));
    }
}
