//! Who may call: wrong and revoked keys, keys of the wrong kind, and keys of another org.

use std::time::Duration;

use serde_json::json;

use crate::{
    calls::caller,
    eventually::until,
    house::{Answer, Browser, Caller, House, Request, SharedHouse, Start, binaries, name},
};

#[tokio::test]
async fn no_key_and_no_wrong_key_opens_anything() {
    let Some(shared) = SharedHouse::get().await else { return };
    let agent = shared.house.agent(&name()).await;
    let wrong = changed(&agent.key, 40);
    let other_kind = agent.key.replace("live", "test");
    let keys = [None, Some(wrong.as_str()), Some("svc_live_"), Some("x"), Some(&other_kind)];
    for key in keys {
        opens_nothing(&Caller::new(shared.service.address, key)).await;
    }
    shared.service.caller(&agent.key).get("/v1/tools").await.ok();
}

#[tokio::test]
async fn a_revoked_key_opens_nothing_within_a_second() {
    let Some(shared) = SharedHouse::get().await else { return };
    let house = &shared.house;
    let agent = house.agent(&name()).await;
    let caller = shared.service.caller(&agent.key);
    caller.read("/v1/tools").await;
    let id = format!("key_{}", agent.key.split('_').nth(2).unwrap());
    house.verbs.run(&["key", "revoke", &id, "--org", &house.org]).await;
    // Nothing starts by it from now on, although another process revoked it.
    let mark = name();
    let answer = caller.call("lab.note", json!({ "mark": mark })).await;
    answer.error(401, "unauthenticated", None);
    assert_eq!(house.notes(&mark).await, 0);
    until("nothing is read by it either", async || caller.get("/v1/tools").await.status == 401)
        .await;
    opens_nothing(&caller).await;
}

/// The key with one character exchanged for another.
fn changed(key: &str, place: usize) -> String {
    let other = |found| if found == 'a' { 'b' } else { 'a' };
    let swap = |(at, found)| if at == place { other(found) } else { found };
    key.chars().enumerate().map(swap).collect()
}

async fn opens_nothing(caller: &Caller) {
    let error = caller.call("lab.note", json!({ "mark": "no" })).await;
    let error = error.error(401, "unauthenticated", None);
    assert!(error["action"].is_null());
    for path in ["/v1/actions", "/v1/events", "/v1/tools"] {
        caller.get(path).await.error(401, "unauthenticated", None);
    }
}

#[tokio::test]
async fn an_org_key_sends_no_actions() {
    let Some(shared) = SharedHouse::get().await else { return };
    let org = shared.service.caller(&shared.house.org_key().await);
    let answer = org.call("lab.note", json!({ "mark": "no" })).await;
    answer.error(403, "insufficient_scope", None);
    let challenge = answer.header("www-authenticate").unwrap();
    let expected =
        "Bearer realm=\"service\", error=\"insufficient_scope\", scope=\"actions:execute\"";
    assert_eq!(challenge, expected);
}

#[tokio::test]
async fn another_orgs_action_looks_like_one_that_does_not_exist() {
    let Some((shared, caller)) = caller().await else { return };
    let house = &shared.house;
    let theirs = caller.executed("lab.sleep", json!({ "milliseconds": 0 })).await;
    let theirs = theirs["id"].as_str().unwrap();
    let made = house.verbs.run(&["org", "create", &name()]).await;
    let org = made.split_whitespace().next().unwrap();
    house.verbs.run(&["agent", "create", "stranger", "--org", org]).await;
    let agent = ["key", "create", "--agent", "stranger", "--org", org];
    let nobodys = "act_00000000000000000000000000";
    for key in [
        house.verbs.run(&agent).await,
        house.verbs.run(&["key", "create", "--org-admin", "--org", org]).await,
    ] {
        let stranger = shared.service.caller(key.trim());
        for path in ["/v1/actions/{}", "/v1/actions/{}?wait=1", "/v1/actions/{}/cancel"] {
            let bodies = [theirs, nobodys].map(|id| {
                let path = path.replace("{}", id);
                let cancel = path.ends_with("cancel");
                if cancel { Request::raw(&path, "") } else { Request::get(&path) }
            });
            let [theirs, nobodys] = bodies.map(|request| stranger.send(request));
            let (theirs, nobodys) = (theirs.await, nobodys.await);
            theirs.error(404, "not_found", None);
            assert_eq!(without_request_id(&theirs), without_request_id(&nobodys));
        }
        let list = stranger.read("/v1/actions").await;
        assert_eq!(list["data"], json!([]));
    }
}

/// The answer's bytes with the request's id blotted out, and its headers' names.
fn without_request_id(answer: &Answer) -> (String, Vec<String>) {
    let body = String::from_utf8(answer.body.to_vec()).unwrap();
    let id = answer.json()["error"]["request_id"].as_str().unwrap().to_owned();
    let names = answer.headers.keys().map(ToString::to_string).collect();
    (body.replace(&id, "-"), names)
}

/// Where the service dies while a key of the org is replaced, and whether that is kept.
const POINTS: [(&str, bool); 3] =
    [("turn.signed=kill", false), ("append.unsent=kill", false), ("append.unanswered=kill", true)];

#[tokio::test]
async fn a_key_of_the_org_is_replaced_whole_or_not_at_all_whenever_the_service_dies() {
    if binaries().is_none_or(|binaries| binaries.failpoints.is_none()) {
        return;
    }
    let Some(house) = House::new("").await else { return };
    let mut text = house.org_key().await;
    let owner = Browser::owner(&house, &house.serve().await, "ada@example.com").await;
    for (point, was_kept) in POINTS {
        let mut service = house.start(Start::Armed(point)).await;
        let replacement = async |people: &Caller, id: &str| {
            let path = format!("/v1/api_keys/{id}/roll");
            people.try_send(owner.page(Request::post(&path, &json!({ "expires_in": 0 })))).await
        };
        let old = format!("key_{}", text.split('_').nth(2).unwrap());
        assert!(replacement(&service.anonymous(), &old).await.is_err(), "{point}");
        assert!(!service.ended(Duration::from_secs(20)).await.success(), "{point}");
        let service = house.serve().await;
        let people = service.anonymous();
        let active = async || -> Vec<String> {
            let keys = people.send(owner.page(Request::get("/v1/api_keys"))).await.ok();
            let keys = keys["data"].as_array().unwrap().iter();
            let active = keys.filter(|key| key["status"] == "active");
            active.map(|key| key["id"].as_str().unwrap().to_owned()).collect()
        };
        let left = active().await;
        assert_eq!((left.len(), left[0] != old), (1, was_kept), "{point}: {left:?}");
        let by_the_old = service.caller(&text).get("/v1/org").await.status;
        assert_eq!(by_the_old, if was_kept { 401 } else { 200 }, "{point}");
        // Nobody was told the text of a key that was made, so whoever asks again replaces that one.
        let made = replacement(&people, &left[0]).await.unwrap().is(201);
        assert_eq!(active().await, [made["id"].as_str().unwrap()], "{point}");
        made["secret"].as_str().unwrap().clone_into(&mut text);
        service.caller(&text).get("/v1/org").await.ok();
    }
    let deeds = house.deeds().await;
    let replaced = deeds.iter().filter(|deed| deed.body.contains("api_key.rolled")).count();
    assert_eq!(replaced, POINTS.len() + 1);
    assert_eq!(house.broken_invariants().await, Vec::<String>::new());
}
