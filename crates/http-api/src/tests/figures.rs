//! Numbers: the overview, actions by time and outcome, and how budgets stand.

use std::time::Duration;

use act::{Act, ActError, By, Record};
use ledger::Snapshot;
use model::{ActionId, Clock, DeedId, EventType, ExecutionErrorCode, Verdict};
use serde_json::{Value, json};
use testkit::{Scribe, sample};

use super::house::{House, request};
use crate::OutOfReach;

/// A house in which one refund was made, one waits and one call was denied, a minute past noon.
async fn busy() -> House {
    let house = House::new().await;
    house.clock.pass(Duration::from_mins(1));
    house.refund(5).await;
    house.refund(500).await;
    house.post("/v1/actions", json!({ "tool": "shop.delete", "args": {} })).await;
    house
}

fn sums(counts: &Value) -> Value {
    let data = counts["data"].as_array().unwrap();
    let sum = |name: &str| data.iter().map(|part| part[name].as_u64().unwrap()).sum::<u64>();
    json!(["executed", "failed", "denied", "cancelled", "waiting", "mismatch"].map(sum))
}

#[tokio::test]
async fn actions_are_counted_by_time_and_outcome_and_by_the_filters_of_the_list() {
    let house = busy().await;
    let counts = house.get("/v1/actions/counts", &house.org_key).await;
    assert_eq!(counts.body["bucket"], "1h");
    assert_eq!(counts.body["from"], "2026-09-30T12:00:00.000Z");
    assert_eq!(counts.body["to"], "2026-10-01T13:00:00.000Z");
    assert_eq!(counts.body["complete"], true);
    let data = counts.body["data"].as_array().unwrap();
    assert_eq!(data.len(), 25);
    assert_eq!(data[24]["at"], "2026-10-01T12:00:00.000Z");
    assert_eq!(data[24]["executed"], 1);
    #[rustfmt::skip]
    let table = [
        ("", [1, 0, 1, 0, 1, 0]), ("tool=shop.refund", [1, 0, 0, 0, 1, 0]),
        ("state=sealed", [1, 0, 1, 0, 0, 0]), ("decision=deny", [0, 0, 1, 0, 0, 0]),
        ("verdict=VERIFIED&level=L0", [1, 0, 0, 0, 0, 0]), ("q=delete", [0, 0, 1, 0, 0, 0]),
        ("on_behalf_of=nobody", [0; 6]), ("created_at[lt]=2026-10-01T12:00:00Z", [0; 6]),
        ("bucket=15m&created_at[gte]=2026-10-01T12:00:00Z", [1, 0, 1, 0, 1, 0]),
    ];
    for (query, due) in table {
        let counts = house.get(&format!("/v1/actions/counts?{query}"), &house.org_key).await;
        assert_eq!(sums(&counts.body), json!(due), "{query}");
    }
    let own = house.get("/v1/actions/counts", &house.support.key).await;
    assert_eq!(sums(&own.body), json!([1, 0, 1, 0, 1, 0]));
    let others = house.get("/v1/actions/counts", &house.other.key).await;
    assert_eq!(sums(&others.body), json!([0, 0, 0, 0, 0, 0]));
    let path = format!("/v1/actions/counts?agent={}", house.support.agent);
    assert_eq!(sums(&house.get(&path, &house.other.key).await.body), json!([0, 0, 0, 0, 0, 0]));
}

#[tokio::test]
async fn a_time_that_cannot_be_counted_is_refused_by_name() {
    let house = House::new().await;
    let (day, year) = ("2026-10-01T00:00:00Z", "2026-01-01T00:00:00Z");
    for (query, param) in [
        (format!("created_at[gte]={day}&created_at[lt]={day}"), "created_at[gte]"),
        (format!("created_at[gte]={year}&created_at[lt]={day}&bucket=1h"), "bucket"),
        ("created_at[gte]=2020-01-01T00:00:00Z".to_owned(), "bucket"),
        ("created_at[lt]=0000-01-01T00:00:00Z".to_owned(), "created_at[lt]"),
        ("bucket=2h".to_owned(), "bucket"),
        ("limit=3".to_owned(), "limit"),
    ] {
        let answer = house.get(&format!("/v1/actions/counts?{query}"), &house.org_key).await;
        assert_eq!((answer.code(), answer.param()), ((400, "validation_failed"), Some(param)));
    }
}

#[tokio::test]
async fn the_times_of_an_answer_are_taken_as_times_of_a_question() {
    let house = House::new().await;
    for end in ["0000-01-02T00:00:00Z", "0001-01-01T00:00:00Z", "9999-12-30T21:59:59.999Z"] {
        let ask = async |query: String| {
            house.get(&format!("/v1/actions/counts?{query}"), &house.org_key).await
        };
        let first = ask(format!("created_at[lt]={end}&bucket=1d")).await;
        assert_eq!(first.status, 200, "{}", first.body);
        let [from, to] = ["from", "to"].map(|name| first.body[name].as_str().unwrap());
        let again = ask(format!("created_at[gte]={from}&created_at[lt]={to}&bucket=1d")).await;
        assert_eq!(again.body, first.body);
    }
}

#[tokio::test]
async fn budgets_stand_as_calls_took_from_them_and_are_paged() {
    let house = House::new().await;
    let idle = house.get("/v1/budgets", &house.org_key).await.body;
    let use_of = |scope: Value, used: &str, reserved: &str| {
        json!({
            "object": "budget_use",
            "budget": "refunds-day",
            "policy_version": idle["data"][0]["policy_version"],
            "livemode": true,
            "scope": scope,
            "unit": null,
            "limit": "3",
            "used": used,
            "reserved": reserved,
            "window": {
                "length": "day",
                "start": "2026-10-01T00:00:00.000Z",
                "resets_at": "2026-10-02T00:00:00.000Z",
            },
        })
    };
    assert_eq!(idle["data"], json!([use_of(Value::Null, "0", "0")]));
    house.refund(5).await;
    house.refund(500).await;
    let body = json!({ "tool": "shop.refund", "args": { "amount": 7 } });
    house.send(request("POST", "/v1/actions", &house.other.key, &[], Some(body))).await;
    let mut due = [
        use_of(json!({ "agent": house.support.agent }), "1", "1"),
        use_of(json!({ "agent": house.other.agent }), "1", "0"),
    ];
    due.sort_by_key(|one| one["scope"]["agent"].as_str().map(str::to_owned));
    let whole = house.get("/v1/budgets", &house.org_key).await.body;
    assert_eq!(whole["data"], json!(due));
    let first = house.get("/v1/budgets?limit=1", &house.org_key).await.body;
    assert_eq!(first["data"], json!(due[..1]));
    let cursor = first["next_cursor"].as_str().unwrap();
    let path = format!("/v1/budgets?limit=1&cursor={cursor}");
    let second = house.get(&path, &house.org_key).await.body;
    assert_eq!((&second["data"], &second["has_more"]), (&json!(due[1..]), &json!(false)));
    // The next day begins anew.
    house.clock.pass(Duration::from_hours(24));
    let next = house.get("/v1/budgets", &house.org_key).await.body;
    assert_eq!(next["data"][0]["scope"], Value::Null);
    assert_eq!(next["data"][0]["window"]["start"], "2026-10-02T00:00:00.000Z");
}

#[tokio::test]
async fn the_overview_counts_two_windows_and_names_who_acted() {
    let house = House::new().await;
    house.clock.pass(Duration::from_mins(1));
    house.refund(7).await;
    house.clock.pass(Duration::from_hours(24));
    house.refund(5).await;
    house.refund(500).await;
    house.post("/v1/actions", json!({ "tool": "shop.delete", "args": {} })).await;
    let day = house.get("/v1/overview", &house.org_key).await.body;
    assert_eq!(
        day["window"],
        json!({ "from": "2026-10-01T13:00:00.000Z", "to": "2026-10-02T13:00:00.000Z", "bucket": "1h" })
    );
    let totals = json!({
        "actions": 3, "executed": 1, "blocked": 1, "pending_approvals": 1, "verified": 1,
        "mismatch": 0, "unverifiable": 0, "not_witnessed": 2, "checked": 0, "reported": 1,
        "cost": [],
    });
    assert_eq!(day["totals"], totals);
    let previous = json!({
        "actions": 1, "executed": 1, "blocked": 0, "verified": 1, "mismatch": 0,
        "unverifiable": 0, "not_witnessed": 0, "checked": 0, "reported": 1, "cost": [],
    });
    assert_eq!(day["previous"], previous);
    let series = day["series"].as_array().unwrap();
    assert_eq!(series.len(), 24);
    assert_eq!(series[23]["waiting"], 1);
    let agent = json!({
        "id": house.support.agent, "name": "support", "status": "active",
        "last_action_at": "2026-10-02T12:01:00.000Z",
        "today": { "actions": 3, "denied": 1, "cost": [] },
    });
    assert_eq!(day["agents"], json!([agent]));
    let path = format!("/v1/agents/{}", house.support.agent);
    let told = house.get(&path, &house.org_key).await.body;
    assert_eq!(
        (&told["today"], &told["last_action_at"]),
        (&agent["today"], &agent["last_action_at"])
    );
    assert_eq!(told["keys_count"], 1);
    let listed = house.get("/v1/agents?q=support", &house.org_key).await.body["data"][0].clone();
    assert_eq!((&listed["keys_count"], listed.get("today")), (&told["keys_count"], None));
    let week = house.get("/v1/overview?window=7d", &house.org_key).await.body;
    assert_eq!(week["series"].as_array().map(Vec::len), Some(28));
    assert_eq!(week["totals"]["actions"], 4);
    assert_eq!(week["window"]["to"], "2026-10-02T18:00:00.000Z");
    for query in ["window=1h", "bucket=1h"] {
        let answer = house.get(&format!("/v1/overview?{query}"), &house.org_key).await;
        assert_eq!(answer.code(), (400, "validation_failed"), "{query}");
    }
    let refused = house.get("/v1/overview", &house.support.key).await;
    assert_eq!(refused.code(), (403, "insufficient_scope"));
}

#[tokio::test]
async fn numbers_of_an_overview_are_shown_again_for_ten_seconds() {
    let house = busy().await;
    let first = house.get("/v1/overview", &house.org_key).await.body;
    house.refund(6).await;
    house.clock.pass(Duration::from_secs(9));
    let again = house.get("/v1/overview", &house.org_key).await.body;
    for counted in ["window", "totals", "previous", "series", "agents"] {
        assert_eq!(again[counted], first[counted], "{counted}");
    }
    let week = house.get("/v1/overview?window=7d", &house.org_key).await.body;
    assert_eq!(week["totals"]["actions"], 4);
    house.clock.pass(Duration::from_secs(1));
    let second = house.get("/v1/overview", &house.org_key).await.body;
    assert_eq!(second["totals"]["actions"], 4);
}

#[tokio::test]
async fn an_overview_shows_at_once_what_was_stopped_started_and_decided() {
    let house = House::new().await;
    let overview = async || house.get("/v1/overview", &house.org_key).await.body;
    let kinds = |body: &Value| {
        let items = body["attention"].as_array().unwrap().iter();
        items.map(|item| item["kind"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let ask = async |path: &str| {
        let reason = Some(json!({ "reason": "A drill.", "pending_approvals": "keep" }));
        let reason = reason.filter(|_| path.ends_with("/stop"));
        let reason = reason.or(Some(json!({ "reason": "It is over." })));
        let answer = house.send(request("POST", path, &house.org_key, &[], reason)).await;
        assert_eq!(answer.status, 200, "{answer:?}");
    };
    let held = house.refund(500).await;
    let first = overview().await;
    let waits = &first["attention"][0];
    assert_eq!(waits["kind"], "approval_waiting", "{first}");
    assert_eq!(waits["data"]["approval"], held.body["approval"]["id"]);
    assert_eq!(first["totals"]["pending_approvals"], 1);
    ask("/v1/org/stop").await;
    assert_eq!(kinds(&overview().await), ["org_stopped", "approval_waiting"]);
    ask("/v1/org/start").await;
    assert_eq!(kinds(&overview().await), ["approval_waiting"]);
    let agent = format!("/v1/agents/{}", house.support.agent);
    assert_eq!(overview().await["agents"][0]["status"], "active");
    ask(&format!("{agent}/stop")).await;
    assert_eq!(overview().await["agents"][0]["status"], "stopped");
    ask(&format!("{agent}/start")).await;
    assert_eq!(kinds(&overview().await), ["approval_waiting"]);
    // What a Stop has just made void waits for nobody, whether it is ended yet or not.
    let void = Some(json!({ "reason": "A drill." }));
    let other = house.refund(500).await;
    house.send(request("POST", &format!("{agent}/stop"), &house.org_key, &[], void)).await;
    assert_eq!(kinds(&overview().await), Vec::<String>::new());
    ask(&format!("{agent}/start")).await;
    house.clock.pass(Duration::from_secs(1));
    let held = house.refund(500).await;
    assert_ne!(held.id(), other.id());
    assert_eq!(kinds(&overview().await), ["approval_waiting"]);
    let cancel = format!("/v1/actions/{}/cancel", held.id());
    let ended = house.send(request("POST", &cancel, &house.org_key, &[], None)).await;
    assert_eq!(ended.status, 200);
    let last = overview().await;
    assert_eq!(kinds(&last), Vec::<String>::new());
}

/// Writes an action into the record of which the witness found another thing than was said.
async fn mismatched(house: &House) -> ActionId {
    let mut scribe = Scribe::new(9, house.clock.now());
    scribe.org = house.org;
    scribe.reread(&*house.store).await;
    let (agent, mint) = (scribe.agent("odd"), scribe.mint());
    let (request, _) = sample::request(&json!({}), &mint);
    let mut action = sample::action(&agent, request, &mint);
    action = sample::sealed(&action, mint.id(DeedId::from_uuid));
    if let Some(witness) = &mut action.witness {
        witness.verdict = Verdict::Mismatch;
    }
    let (id, begun) = (action.id, sample::begun(action, Vec::new()));
    scribe.append(&*house.store, vec![begun, agent.into()]).await.unwrap();
    id
}

/// A connector whose change log is to be read.
async fn witnessed(house: &House) -> String {
    let log = json!({ "login": true, "tables": { "public.orders": [] } });
    let made = json!({
        "name": "depot", "type": "fake", "config": { "log": log },
        "credential": { "kind": "token", "fields": { "token": "t" } },
    });
    let id = house.ask(("POST", "/v1/connectors"), &house.org_key, Some(made)).await.id();
    let (enable, reason) =
        (format!("/v1/connectors/{id}/witness/enable"), json!({ "reason": "Proof." }));
    assert_eq!(house.ask(("POST", &enable), &house.org_key, Some(reason)).await.status, 200);
    id
}

async fn slot_is(house: &House, connector: &str, kind: EventType, state: &str) {
    let object = json!({ "object": "connector", "id": connector, "state": state });
    let told = Act::new(By::Service, move |_: &Snapshot, record: &mut Record<'_>| {
        record.tell(kind, object.clone());
        Ok::<_, ActError>(())
    });
    told.enter(house.ledger(), house.org).await.unwrap();
}

#[tokio::test]
async fn what_wants_an_eye_comes_the_gravest_first_and_eight_at_most() {
    let house = busy().await;
    let kinds = async || {
        let body = house.get("/v1/overview", &house.org_key).await.body;
        let items = body["attention"].as_array().unwrap().clone();
        house.clock.pass(Duration::from_secs(10));
        items
    };
    let items = kinds().await;
    assert_eq!((&items[0]["kind"], items.len()), (&json!("approval_waiting"), 1));
    // The refunds of the day reach their limit, and the question is near its end.
    house.refund(6).await;
    house.clock.pass(Duration::from_mins(21));
    let items = kinds().await;
    assert_eq!(items[0]["kind"], "approval_expiring");
    assert_eq!(items[0]["data"]["tool"], "shop.refund");
    assert_eq!(items[1]["kind"], "budget_near");
    assert_eq!(items[1]["data"]["budget"], "refunds-day");
    assert_eq!(items.len(), 2);
    let odd = mismatched(&house).await;
    let items = kinds().await;
    assert_eq!(items[0]["kind"], "mismatch", "{items:?}");
    assert_eq!(items[0]["data"]["action"], json!(odd));
    assert_eq!(items[0]["data"]["summary"], "One row was changed.");
    let depot = witnessed(&house).await;
    slot_is(&house, &depot, EventType::WitnessSlotStalled, "stalled").await;
    assert_eq!(kinds().await[0]["kind"], "slot_lagging");
    slot_is(&house, &depot, EventType::WitnessSlotInvalidated, "invalidated").await;
    let items = kinds().await;
    let found = (&items[0]["kind"], &items[0]["data"]["name"], &items[1]["kind"]);
    assert_eq!(found, (&json!("slot_invalidated"), &json!("depot"), &json!("mismatch")));
    slot_is(&house, &depot, EventType::WitnessSlotRecovered, "streaming").await;
    assert_eq!(kinds().await[0]["kind"], "mismatch");
    let lost = OutOfReach {
        connector: depot.parse().unwrap(),
        name: "depot".parse().unwrap(),
        revision: 1,
        code: ExecutionErrorCode::ConnectorAuthFailed.into(),
        message: "no login".to_owned(),
    };
    // What another org calls through is nothing to this one.
    let another = "org_00000000000000000000000000".parse().unwrap();
    *house.probe.lost.lock().unwrap() = vec![(another, lost.clone())];
    assert_eq!(kinds().await[0]["kind"], "mismatch");
    *house.probe.lost.lock().unwrap() = vec![(house.org, lost)];
    let told = json!({
        "connector": depot, "name": "depot", "code": "connector_auth_failed", "message": "no login",
    });
    let items = kinds().await;
    assert_eq!(items[0], json!({ "kind": "connector_unreachable", "data": told }));
    let reason = json!({ "reason": "A drill." });
    house.send(request("POST", "/v1/org/stop", &house.org_key, &[], Some(reason))).await;
    let items = kinds().await;
    assert_eq!(items[0]["kind"], "org_stopped");
    assert_eq!(items[0]["data"]["reason"], "A drill.");
}
