//! What a caller can read: one action, lists of them, tools, and how the service is.

use http::Method;
use serde_json::{Value, json};

use crate::{
    calls::caller,
    house::{Request, SharedHouse, name},
};

#[tokio::test]
async fn an_action_is_read_with_its_payloads_events_and_deed() {
    let Some((_, caller)) = caller().await else { return };
    let mark = name();
    let sent = caller.executed("lab.note", json!({ "mark": mark })).await;
    let read = caller.detail(&sent).await;
    assert_eq!(read["request"], json!({ "mark": mark }));
    assert_eq!(read["result"]["mark"], mark);
    assert!(read["execution"].get("result").is_none(), "the answering response alone has it");
    let types: Vec<_> = read["events"].as_array().unwrap().iter().map(|it| &it["type"]).collect();
    assert_eq!(types, ["action.created", "action.witnessed", "deed.sealed"]);
    let deeds = read["deeds"].as_array().unwrap();
    assert_eq!(deeds.len(), 1);
    assert_eq!(deeds[0]["id"], sent["deed"]);
    assert_eq!(deeds[0]["body"]["action"]["id"], sent["id"]);
}

#[tokio::test]
async fn the_witnesss_detail_is_shown_when_asked_for() {
    let Some((_, caller)) = caller().await else { return };
    let sent = caller.executed("lab.divide", json!({ "by": 1 })).await;
    let path = format!("/v1/actions/{}", sent["id"].as_str().unwrap());
    let plain = caller.read(&path).await;
    assert!(plain["witness"].get("detail").is_none());
    let whole = caller.read(&format!("{path}?expand[]=witness.detail&expand[]=request")).await;
    assert!(whole["witness"]["detail"].is_object(), "{}", whole["witness"]);
    let odd = caller.get(&format!("{path}?expand[]=everything")).await;
    odd.error(400, "validation_failed", Some("expand[]"));
}

#[tokio::test]
async fn a_list_is_newest_first_and_its_cursor_goes_on_where_it_ended() {
    let Some((_, caller)) = caller().await else { return };
    let mut sent = Vec::new();
    for by in [1, 2, 3, 0, 5] {
        sent.push(caller.executed("lab.divide", json!({ "by": by })).await["id"].clone());
    }
    caller.executed("lab.sleep", json!({ "milliseconds": 0 })).await;
    sent.reverse();
    let filter = "tool=lab.div*&state=sealed&limit=2";
    let mut read = Vec::new();
    let mut page = caller.read(&format!("/v1/actions?{filter}")).await;
    while page["has_more"] == true {
        read.extend(ids(&page));
        let cursor = page["next_cursor"].as_str().unwrap().to_owned();
        page = caller.read(&format!("/v1/actions?{filter}&cursor={cursor}")).await;
        let other = format!("/v1/actions?tool=lab.*&limit=2&cursor={cursor}");
        caller.get(&other).await.error(400, "validation_failed", Some("cursor"));
    }
    read.extend(ids(&page));
    assert_eq!(read, sent);
    assert_eq!(page["next_cursor"], Value::Null);
}

#[tokio::test]
async fn filters_of_a_list_combine() {
    let Some((_, caller)) = caller().await else { return };
    let fine = caller.executed("lab.divide", json!({ "by": 4 })).await;
    let failed = caller.executed("lab.divide", json!({ "by": 0 })).await;
    let list = async |filter: &str| ids(&caller.read(&format!("/v1/actions?{filter}")).await);
    assert!(list("decision=allow&verdict=VERIFIED&level=L0").await.contains(&fine["id"]));
    assert_eq!(list("q=tool_error").await, [failed["id"].clone()]);
    assert_eq!(list("decision=deny,require_approval").await, Vec::<Value>::new());
    let from = fine["created_at"].as_str().unwrap();
    assert_eq!(list(&format!("created_at[lt]={from}")).await, Vec::<Value>::new());
    assert_eq!(list(&format!("created_at[gte]={from}")).await.len(), 2);
}

#[tokio::test]
async fn an_agent_reads_its_own_actions_and_an_org_key_all() {
    let Some((shared, caller)) = caller().await else { return };
    let sent = caller.executed("lab.sleep", json!({ "milliseconds": 1 })).await;
    let path = format!("/v1/actions/{}", sent["id"].as_str().unwrap());
    let stranger = shared.caller().await;
    stranger.get(&path).await.error(404, "not_found", None);
    assert_eq!(ids(&stranger.read("/v1/actions").await), Vec::<Value>::new());
    let org = shared.service.caller(&shared.house.org_key().await);
    assert_eq!(org.read(&path).await["id"], sent["id"]);
    let of_agent = format!("/v1/actions?agent={}", sent["agent"]["id"].as_str().unwrap());
    assert_eq!(ids(&org.read(&of_agent).await), [sent["id"].clone()]);
}

#[tokio::test]
async fn tools_are_listed_as_the_policy_lets_them_be_seen() {
    let Some((_, caller)) = caller().await else { return };
    let names = |list: &Value| -> Vec<String> {
        let tools = list["data"].as_array().unwrap().iter();
        tools.map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
    };
    let seen = names(&caller.read("/v1/tools").await);
    assert!(seen.is_sorted());
    assert!(seen.contains(&"shop.refunds.create".to_owned()));
    assert!(seen.contains(&"service.whoami".to_owned()));
    assert!(!seen.contains(&"lab.hidden".to_owned()));
    let all = caller.read("/v1/tools?include_hidden=true").await;
    assert!(names(&all).contains(&"lab.hidden".to_owned()));
    let ask = json!({ "connector": "crm", "tools": [{ "name": "notes.add" }] });
    let told = caller.send(Request::post("/v1/tools/resolve", &ask)).await.ok();
    assert_eq!(told["data"][0]["visibility"], "visible");
    let ask = json!({ "connector": "lab", "tools": [{ "name": "hidden" }] });
    let told = caller.send(Request::post("/v1/tools/resolve", &ask)).await.ok();
    assert_eq!(told["data"][0]["visibility"], "hidden");
}

#[tokio::test]
async fn the_built_in_tools_answer() {
    let Some((_, caller)) = caller().await else { return };
    let who = caller.executed("service.whoami", json!({})).await;
    let result = &who["execution"]["result"];
    assert!(result.to_string().contains(who["agent"]["id"].as_str().unwrap()), "{result}");
    let args = json!({ "action": who["id"] });
    let status = caller.executed("service.action_status", args).await;
    assert!(status["execution"]["result"].to_string().contains("executed"), "{status}");
}

#[tokio::test]
async fn what_is_public_needs_no_key() {
    let Some(shared) = SharedHouse::get().await else { return };
    let anybody = shared.service.anonymous();
    assert_eq!(anybody.read("/v1/health").await["status"], "ok");
    let version = anybody.read("/v1/version").await;
    assert_eq!(version["default_api_version"], "2026-10-01");
    let description = anybody.get("/api/openapi.yaml").await;
    let embedded = description.body == http_api::description::TEXT;
    assert!(embedded, "the description is not that of this checkout");
    let page = anybody.get("/docs/errors/policy_denied").await;
    assert_eq!(page.status, 200);
    let keys = anybody.get("/.well-known/service/keys.json").await;
    assert_eq!(keys.ok()["keys"].as_array().unwrap().len(), 2);
    let again = Request::get("/.well-known/service/keys.json")
        .header("If-None-Match", keys.header("etag").unwrap());
    let again = anybody.send(again).await;
    assert_eq!((again.status.as_u16(), again.body.len()), (304, 0));
}

#[tokio::test]
async fn every_operation_that_is_described_is_served() {
    let Some((_, caller)) = caller().await else { return };
    let description = http_api::description::Validator::embedded().unwrap();
    for (path, method, _) in description.operations() {
        let method = Method::from_bytes(method.to_uppercase().as_bytes()).unwrap();
        if path == "/v1/events" {
            continue;
        }
        let path = path.replace("{code}", "conflict").replace("{id}", "act_0");
        let request = if method == Method::GET {
            Request::get(&path)
        } else {
            Request::post(&path, &json!({})).by(method.clone())
        };
        let answer = caller.send(request).await;
        assert!(!matches!(answer.status.as_u16(), 405 | 501), "{method} {path}");
        if answer.status == 404 {
            assert_ne!(answer.json()["error"]["code"], "route_unknown", "{method} {path}");
        }
    }
}

fn ids(list: &Value) -> Vec<Value> {
    list["data"].as_array().unwrap().iter().map(|action| action["id"].clone()).collect()
}
