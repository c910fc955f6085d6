//! Webhook endpoints and their deliveries as an org's administration sees them.

use std::time::Duration;

use delivery::DeliveryStore as _;
use ledger::record::{OrgWebhooks, Webhook};
use model::{Role, Timestamp};
use serde_json::{Value, json};

use super::house::{Answer, House, request};

const URL: &str = "https://hooks.example.com/in";

async fn ask(house: &House, method: &str, path: &str, body: Option<Value>) -> Answer {
    house.send(request(method, path, &house.org_key, &[], body)).await
}

async fn made(house: &House) -> Answer {
    let made = ask(house, "POST", "/v1/webhook_endpoints", Some(json!({ "url": URL }))).await;
    assert_eq!(made.status, 201, "{}", made.body);
    made
}

#[tokio::test]
async fn an_endpoint_is_made_read_changed_and_deleted_and_each_change_is_sealed() {
    let house = House::new().await;
    let made = made(&house).await;
    let path = format!("/v1/webhook_endpoints/{}", made.id());
    assert!(made.body["secret"].as_str().unwrap().starts_with("whsec_"));
    let read = house.get(&path, &house.org_key).await.body;
    assert_eq!(read["secret"], Value::Null, "it is shown once");
    assert_eq!((&read["url"], &read["status"]), (&json!(URL), &json!("enabled")));
    let edit = json!({ "types": ["action.*", "deed.sealed"], "expected_revision": 1 });
    let changed = ask(&house, "POST", &path, Some(edit.clone())).await;
    assert_eq!(changed.body["types"], edit["types"]);
    assert_eq!(ask(&house, "POST", &path, Some(edit)).await.code(), (409, "conflict"));
    for (verb, status) in [("disable", "disabled"), ("enable", "enabled")] {
        let reason = Some(json!({ "reason": "a drill" }));
        let switched = ask(&house, "POST", &format!("{path}/{verb}"), reason).await;
        assert_eq!(switched.body["status"], status);
        let again = ask(&house, "POST", &format!("{path}/{verb}"), None).await;
        assert_eq!(again.code(), (409, "conflict"), "{verb}");
    }
    let rolled =
        ask(&house, "POST", &format!("{path}/secret/roll"), Some(json!({ "expires_in": 60 })))
            .await;
    assert_ne!(rolled.body["secret"], made.body["secret"]);
    assert!(rolled.body["previous_secret_expires_at"].is_string());
    assert_eq!(ask(&house, "DELETE", &path, None).await.status, 200);
    assert_eq!(house.get(&path, &house.org_key).await.code(), (404, "not_found"));
    let told: Vec<_> =
        house.sealed().await.into_iter().filter(|it| it.starts_with("web")).collect();
    let expected = ["created", "updated", "disabled", "enabled", "secret_rolled", "deleted"];
    assert_eq!(told, expected.map(|what| format!("webhook.{what}")));
}

#[tokio::test]
async fn a_secret_is_shown_though_the_endpoint_cannot_be_read_again() {
    let house = House::new().await;
    for reads in ["list webhook endpoints", "read the lanes of webhook endpoints"] {
        house.store.fail_next(reads, 1);
        let made = made(&house).await;
        assert!(made.body["secret"].as_str().unwrap().starts_with("whsec_"), "{}", made.body);
        assert_eq!((&made.body["url"], &made.body["status"]), (&json!(URL), &json!("enabled")));
        let path = format!("/v1/webhook_endpoints/{}", made.id());
        house.store.fail_next(reads, 1);
        let roll = (format!("{path}/secret/roll"), json!({ "expires_in": 60 }));
        let rolled = ask(&house, "POST", &roll.0, Some(roll.1)).await;
        assert_eq!(rolled.status, 200, "{}", rolled.body);
        assert!(rolled.body["secret"].as_str().unwrap().starts_with("whsec_"), "{}", rolled.body);
        for (verb, status) in [("disable", "disabled"), ("enable", "enabled")] {
            house.store.fail_next(reads, 1);
            let switched = ask(&house, "POST", &format!("{path}/{verb}"), None).await;
            assert_eq!((switched.status, &switched.body["status"]), (200, &json!(status)));
        }
        house.store.fail_next(reads, 1);
        let edit = json!({ "description": "later" });
        let changed = ask(&house, "POST", &path, Some(edit)).await;
        assert_eq!((changed.status, &changed.body["description"]), (200, &json!("later")));
    }
}

#[tokio::test]
async fn what_an_endpoint_cannot_be_made_with_is_named() {
    let house = House::new().await;
    let long = "x".repeat(281);
    let agent = "agt_01h455vb4pex5vsknk084sn02q";
    for (body, code, param) in [
        (json!({}), "validation_failed", "url"),
        (json!({ "url": "http://plain.example.com" }), "validation_failed", "url"),
        (json!({ "url": "https://private.example.com" }), "egress_refused", "url"),
        (json!({ "url": URL, "types": ["nothing.*"] }), "validation_failed", "types"),
        (json!({ "url": URL, "types": ["action.*,deed.*"] }), "validation_failed", "types"),
        (json!({ "url": URL, "types": [1] }), "validation_failed", "types"),
        (json!({ "url": URL, "types": "action.*" }), "validation_failed", "types"),
        (json!({ "url": URL, "description": long }), "validation_failed", "description"),
        (json!({ "url": URL, "agent": agent }), "validation_failed", "agent"),
        (json!({ "url": URL, "api_version": "2020-01-01" }), "validation_failed", "api_version"),
        (json!({ "url": URL, "color": "red" }), "validation_failed", "color"),
    ] {
        let refused = ask(&house, "POST", "/v1/webhook_endpoints", Some(body.clone())).await;
        assert_eq!(refused.code(), (400, code), "{body}");
        assert_eq!(refused.param(), Some(param), "{body}");
    }
    let listed = house.get("/v1/webhook_endpoints", &house.org_key).await;
    assert_eq!(listed.body["data"], json!([]));
}

#[tokio::test]
async fn an_org_has_sixteen_endpoints_however_many_are_asked_for_at_once() {
    let house = House::new().await;
    let asked = (0..20).map(|_| {
        let body = Some(json!({ "url": URL }));
        house.send_later(request("POST", "/v1/webhook_endpoints", &house.org_key, &[], body))
    });
    let mut statuses = Vec::new();
    for answer in asked.collect::<Vec<_>>() {
        statuses.push(answer.await.unwrap().status().as_u16());
    }
    assert_eq!(statuses.iter().filter(|status| **status == 201).count(), 16, "{statuses:?}");
    let one_more = ask(&house, "POST", "/v1/webhook_endpoints", Some(json!({ "url": URL }))).await;
    assert_eq!(one_more.code(), (409, "limit_reached"));
}

#[tokio::test]
async fn a_ping_is_delivered_listed_and_sent_again_and_not_too_often() {
    let house = House::new().await;
    let path = format!("/v1/webhook_endpoints/{}", made(&house).await.id());
    let ping = ask(&house, "POST", &format!("{path}/ping"), None).await;
    assert_eq!((ping.status, &ping.body["status"]), (202, &json!("pending")));
    let delivery = format!("/v1/webhook_deliveries/{}", ping.id());
    let again = format!("{delivery}/redeliver");
    // What is sent at the next look anyway stays one delivery.
    let same = ask(&house, "POST", &again, None).await;
    assert_eq!((same.status, same.id()), (202, ping.id()));
    house.post_events().await;
    let read = house.get(&delivery, &house.org_key).await.body;
    assert_eq!((&read["status"], &read["http_status"]), (&json!("delivered"), &json!(200)));
    let second = ask(&house, "POST", &again, None).await;
    assert_eq!((second.status, &second.body["event"]), (202, &read["event"]));
    assert_ne!(second.body["id"], read["id"]);
    house.post_events().await;
    let of = |query: &str| format!("{path}/deliveries?{query}");
    let page = house.get(&of("status=delivered&limit=1"), &house.org_key).await.body;
    assert_eq!(page["data"][0]["id"], second.body["id"]);
    let cursor = page["next_cursor"].as_str().unwrap();
    let rest = of(&format!("status=delivered&limit=1&cursor={cursor}"));
    assert_eq!(house.get(&rest, &house.org_key).await.body["data"][0]["id"], read["id"]);
    let another = ask(&house, "POST", "/v1/webhook_endpoints", Some(json!({ "url": URL }))).await;
    let foreign = format!(
        "/v1/webhook_endpoints/{}/deliveries?status=delivered&limit=1&cursor={cursor}",
        another.id()
    );
    let foreign = house.get(&foreign, &house.org_key).await;
    assert_eq!((foreign.code(), foreign.param()), ((400, "validation_failed"), Some("cursor")));
    let wrong = house.get(&of("status=lost"), &house.org_key).await;
    assert_eq!((wrong.code(), wrong.param()), ((400, "validation_failed"), Some("status")));
    for _ in 0..8 {
        assert_eq!(ask(&house, "POST", &format!("{path}/ping"), None).await.status, 202);
    }
    let refused = ask(&house, "POST", &format!("{path}/ping"), None).await;
    assert_eq!(refused.code(), (429, "rate_limited"));
    assert!(refused.headers.contains_key("retry-after"));
}

#[tokio::test]
async fn what_happened_while_an_endpoint_was_disabled_is_recovered() {
    let house = House::new().await;
    let path = format!("/v1/webhook_endpoints/{}", made(&house).await.id());
    let recover = async |since: &str| {
        ask(&house, "POST", &format!("{path}/recover"), Some(json!({ "since": since }))).await
    };
    ask(&house, "POST", &format!("{path}/disable"), None).await;
    house.refund(5).await;
    assert_eq!(recover("2026-10-01T12:00:00Z").await.code(), (409, "conflict"));
    ask(&house, "POST", &format!("{path}/enable"), None).await;
    house.post_events().await;
    let before = house.get(&format!("{path}/deliveries?limit=100"), &house.org_key).await.body;
    assert!(before["data"].as_array().unwrap().is_empty(), "{before}");
    let done = recover("2026-10-01T12:00:00Z").await;
    let count = done.body["count"].as_u64().unwrap();
    assert!(done.status == 202 && count > 5, "{}", done.body);
    house.post_events().await;
    let after = house.get(&format!("{path}/deliveries?limit=100"), &house.org_key).await.body;
    let kinds: Vec<_> = after["data"].as_array().unwrap().iter().map(|it| &it["type"]).collect();
    assert!(kinds.contains(&&json!("action.witnessed")), "{kinds:?}");
    // What arrived does not come again.
    assert_eq!(recover("2026-10-01T12:00:00Z").await.body["count"], 0);
    for since in ["2026-09-20T12:00:00Z", "2027-01-01T00:00:00Z"] {
        let refused = recover(since).await;
        assert_eq!((refused.code(), refused.param()), ((400, "validation_failed"), Some("since")));
    }
}

#[tokio::test]
async fn what_waits_for_a_retry_is_sent_now_on_request() {
    let house = House::new().await;
    // What happened before is older than what is recovered.
    house.clock.pass(Duration::from_mins(1));
    let new = json!({ "url": "https://down.example.com/hooks", "types": ["agent.*"] });
    let down = ask(&house, "POST", "/v1/webhook_endpoints", Some(new)).await.id();
    let path = format!("/v1/webhook_endpoints/{down}");
    let agent = json!({ "name": "mailer" });
    assert_eq!(ask(&house, "POST", "/v1/agents", Some(agent)).await.status, 201);
    house.post_events().await;
    let list = format!("{path}/deliveries?status=retrying");
    let waiting = house.get(&list, &house.org_key).await.body["data"][0].clone();
    assert_eq!((&waiting["type"], &waiting["attempt"]), (&json!("agent.created"), &json!(1)));
    let path_of_it =
        format!("/v1/webhook_deliveries/{}/redeliver", waiting["id"].as_str().unwrap());
    let sent = ask(&house, "POST", &path_of_it, None).await;
    assert_eq!((sent.status, &sent.body["id"]), (202, &waiting["id"]));
    assert!(sent.body["next_attempt_at"].as_str() < waiting["next_attempt_at"].as_str());
    house.post_events().await;
    let read = async || house.get(&list, &house.org_key).await.body["data"][0].clone();
    assert_eq!(read().await["attempt"], 2);
    // A recovery leaves it where it is unless that is asked for.
    let recover = async |body: Value| {
        let done = ask(&house, "POST", &format!("{path}/recover"), Some(body)).await;
        (done.status, done.body["count"].as_u64(), done.body["retried"].as_u64())
    };
    let since = "2026-10-01T12:01:00Z";
    assert_eq!(recover(json!({ "since": since })).await, (202, Some(0), Some(0)));
    let asked = json!({ "since": since, "retry": true });
    assert_eq!(recover(asked.clone()).await, (202, Some(0), Some(1)));
    house.post_events().await;
    assert_eq!(read().await["attempt"], 3);
    let wrong = json!({ "since": since, "retry": "now" });
    let refused = ask(&house, "POST", &format!("{path}/recover"), Some(wrong)).await;
    assert_eq!((refused.code(), refused.param()), ((400, "validation_failed"), Some("retry")));
    ask(&house, "POST", &format!("{path}/disable"), None).await;
    assert_eq!(ask(&house, "POST", &path_of_it, None).await.code(), (409, "conflict"));
}

#[tokio::test]
async fn deliveries_show_what_they_post_and_are_counted_by_the_hour() {
    let house = House::new().await;
    let new = json!({ "url": "https://down.example.com/hooks", "types": ["webhook.ping"] });
    let down = ask(&house, "POST", "/v1/webhook_endpoints", Some(new)).await.id();
    let path = format!("/v1/webhook_endpoints/{down}");
    let ping = ask(&house, "POST", &format!("{path}/ping"), None).await.body;
    assert_eq!((&ping["subject"], &ping["attempts_left"]), (&json!(down), &json!(9)));
    house.post_events().await;
    let list = house.get(&format!("{path}/deliveries?status=retrying"), &house.org_key).await.body;
    let [one] = list["data"].as_array().unwrap().as_slice() else { panic!("{list}") };
    assert_eq!((&one["attempt"], &one["attempts_left"]), (&json!(1), &json!(8)));
    let first: Timestamp = one["attempts"][0]["at"].as_str().unwrap().parse().unwrap();
    let minutes = [2, 10, 30, 60, 180, 360, 720].map(|it| first + Duration::from_mins(it));
    assert_eq!(one["later_attempts_at"], json!(minutes));
    let body: Value = serde_json::from_str(one["body"].as_str().unwrap()).unwrap();
    assert_eq!((&body["id"], &body["type"]), (&one["event"], &json!("webhook.ping")));
    assert_eq!(body["data"]["object"]["id"], one["subject"]);
    let path_of_it = format!("/v1/webhook_deliveries/{}", ping["id"].as_str().unwrap());
    assert_eq!(&house.get(&path_of_it, &house.org_key).await.body, one);

    let counts =
        async |query: &str| house.get(&format!("{path}/counts{query}"), &house.org_key).await;
    let empty = json!({ "pending": 0, "retrying": 0, "dead": 0, "dropped": 0 });
    let retrying = json!({ "pending": 0, "retrying": 1, "dead": 0, "dropped": 0 });
    // The clock stands at the full hour, which the period ends before.
    let before = counts("").await.body;
    assert_eq!((&before["bucket"], &before["not_delivered"]), (&json!("1h"), &retrying));
    let rows = before["data"].as_array().unwrap();
    assert!(rows.len() == 24 && rows.iter().all(|row| row["retrying"] == 0), "{before}");
    house.clock.pass(Duration::from_mins(1));
    let day = counts("?created_at[gte]=2026-10-01T11:30:00Z&bucket=15m").await.body;
    let at = "2026-10-01T12:00:00.000Z";
    let expected =
        json!({ "at": at, "delivered": 0, "pending": 0, "retrying": 1, "dead": 0, "dropped": 0 });
    assert_eq!(day["data"].as_array().unwrap().last(), Some(&expected), "{day}");
    assert_eq!(
        (&day["object"], &day["to"]),
        (&json!("webhook_delivery_counts"), &json!("2026-10-01T12:15:00.000Z"))
    );
    let past = counts("?created_at[lt]=2026-09-30T12:00:00Z&created_at[gte]=2026-09-29T12:00:00Z")
        .await
        .body;
    assert_eq!(past["not_delivered"], retrying, "it does not depend on the period");
    let other = made(&house).await.id();
    let others =
        house.get(&format!("/v1/webhook_endpoints/{other}/counts"), &house.org_key).await.body;
    assert_eq!(others["not_delivered"], empty);
    for (query, param) in [
        ("?bucket=2h", "bucket"),
        ("?bucket=15m&created_at[gte]=2026-09-01T00:00:00Z", "bucket"),
        ("?created_at[gte]=2027-01-01T00:00:00Z", "created_at[gte]"),
        ("?created_at[lt]=yesterday", "created_at[lt]"),
        ("?window=24h", "window"),
    ] {
        let refused = counts(query).await;
        assert_eq!((refused.code(), refused.param()), ((400, "validation_failed"), Some(param)));
    }
    let none = "/v1/webhook_endpoints/whe_01h455vb4pex5vsknk084sn02q/counts";
    assert_eq!(house.get(none, &house.org_key).await.code(), (404, "not_found"));
}

#[tokio::test]
async fn an_endpoint_that_fails_needs_attention_until_it_is_enabled_again() {
    let house = House::new().await;
    let url = "https://down.example.com/hooks";
    let new = json!({ "url": url, "types": ["webhook.*"] });
    let id = ask(&house, "POST", "/v1/webhook_endpoints", Some(new)).await.id();
    let path = format!("/v1/webhook_endpoints/{id}");
    let needs = async || {
        let body = house.get("/v1/overview", &house.org_key).await.body;
        body["attention"].as_array().unwrap().clone()
    };
    assert_eq!(needs().await, Vec::<Value>::new());
    let fails_for = async |hours: u64| {
        // Two events, each with three attempts.
        for _ in 0..2 {
            assert_eq!(ask(&house, "POST", &format!("{path}/ping"), None).await.status, 202);
        }
        for seconds in [0, 30, 90] {
            house.clock.pass(Duration::from_secs(seconds));
            house.post_events().await;
        }
        house.clock.pass(Duration::from_hours(hours));
        house.post_events().await;
    };
    fails_for(0).await;
    let shown = house.get(&path, &house.org_key).await.body;
    assert_eq!(shown["status"], "failing");
    let (since, until) = (&shown["failing_since"], &shown["disables_at"]);
    let times = ("2026-10-01T12:00:00.000Z", "2026-10-04T12:00:00.000Z");
    assert_eq!((since.as_str(), until.as_str()), (Some(times.0), Some(times.1)));
    let item = json!({ "kind": "webhook_failing", "data": {
        "webhook_endpoint": id, "url": url, "failing_since": since, "disables_at": until,
        "disabled_at": null,
    } });
    assert_eq!(needs().await, [item]);
    fails_for(72).await;
    let shown = house.get(&path, &house.org_key).await.body;
    assert_eq!((&shown["status"], &shown["disables_at"]), (&json!("disabled"), &Value::Null));
    let found = needs().await;
    assert_eq!((&found[0]["kind"], found.len()), (&json!("webhook_disabled"), 1));
    assert_eq!(found[0]["data"]["disabled_at"], shown["disabled_at"]);
    assert_eq!(ask(&house, "POST", &format!("{path}/enable"), None).await.status, 200);
    assert_eq!(needs().await, Vec::<Value>::new());
    // One that a person disabled is as they want it.
    assert_eq!(ask(&house, "POST", &format!("{path}/disable"), None).await.status, 200);
    assert_eq!(needs().await, Vec::<Value>::new());
}

#[tokio::test]
async fn an_endpoint_whose_secret_cannot_be_decrypted_needs_attention() {
    let house = House::new().await;
    let id = made(&house).await.id();
    let path = format!("/v1/webhook_endpoints/{id}");
    let all = house.store.webhooks(house.org).await.unwrap();
    let lost = Webhook { secret: "AAAA".to_owned(), ..all[0].clone() };
    house.rewrite_webhooks(OrgWebhooks { org: house.org, endpoints: all }.with(lost)).await;
    assert_eq!(house.get(&path, &house.org_key).await.body["secret_readable"], false);
    let needs = async || house.get("/v1/overview", &house.org_key).await.body["attention"].clone();
    let item = json!([{ "kind": "webhook_secret_unreadable", "data": {
        "webhook_endpoint": id, "url": URL, "failing_since": null, "disables_at": null,
        "disabled_at": null,
    } }]);
    assert_eq!(needs().await, item);
    // One that a person disabled is as they want it.
    assert_eq!(ask(&house, "POST", &format!("{path}/disable"), None).await.status, 200);
    assert_eq!(needs().await, json!([]));
    assert_eq!(ask(&house, "POST", &format!("{path}/enable"), None).await.status, 200);
    assert_eq!(needs().await, item);
    // The secret that was lost is not said to sign beside the new one.
    let roll = json!({ "expires_in": 60 });
    let rolled = ask(&house, "POST", &format!("{path}/secret/roll"), Some(roll)).await.body;
    assert_eq!(rolled["secret_readable"], true, "{rolled}");
    assert_eq!(rolled["previous_secret_expires_at"], Value::Null);
    assert_eq!(needs().await, json!([]));
}

#[tokio::test]
async fn a_viewer_reads_and_changes_nothing() {
    let house = House::new().await;
    let id = made(&house).await.id();
    let viewer = house.browser("viewer@example.com", Role::Viewer).await.key;
    let path = format!("/v1/webhook_endpoints/{id}");
    assert_eq!(house.get(&path, &viewer).await.status, 200);
    let refused = house.send(request("DELETE", &path, &viewer, &[], None)).await;
    assert_eq!(refused.code(), (403, "role_required"));
    let agent = house.get(&path, &house.support.key).await;
    assert_eq!(agent.code(), (403, "insufficient_scope"));
}
