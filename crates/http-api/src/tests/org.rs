//! The org itself over the interface: its own keys.

use admin::NewOrg;
use model::Role;
use records::DeedStore as _;
use serde_json::{Value, json};

use super::house::House;

#[tokio::test]
async fn an_owner_makes_rolls_and_revokes_org_keys_each_with_its_deed() {
    let house = House::new().await;
    let owner = house.browser("owner@example.com", Role::Owner).await.key;
    let post = async |path: &str, body| house.ask(("POST", path), &owner, Some(body)).await;
    let made = post("/v1/api_keys", json!({ "name": "deploy", "scopes": ["admin:read"] })).await;
    assert_eq!((made.status, &made.body["object"]), (201, &json!("api_key")), "{}", made.body);
    let secret = made.body["secret"].as_str().unwrap().to_owned();
    assert!(secret.ends_with(made.body["hint"].as_str().unwrap()));
    assert_eq!(house.get("/v1/ledger/head", &secret).await.status, 200);

    let rolling = format!("/v1/api_keys/{}/roll", made.id());
    let rolled = post(&rolling, json!({ "expires_in": 60 })).await;
    assert_eq!((rolled.status, &rolled.body["name"]), (201, &json!("deploy")), "{}", rolled.body);
    assert_ne!(rolled.body["secret"], json!(secret));
    assert_eq!(house.get("/v1/ledger/head", &secret).await.status, 200);

    let first = format!("/v1/api_keys/{}", made.id());
    let revoked = house.ask(("DELETE", &first), &owner, None).await;
    assert_eq!((revoked.status, &revoked.body["status"]), (200, &json!("revoked")));
    assert_eq!(house.get("/v1/ledger/head", &secret).await.code(), (401, "unauthenticated"));
    let again = house.ask(("DELETE", &first), &owner, None).await;
    assert_eq!(again.code(), (409, "conflict"));

    let page = house.get("/v1/api_keys?limit=2", &owner).await;
    let ids = [&page.body["data"][0]["id"], &page.body["data"][1]["id"]];
    assert!(ids.contains(&&rolled.body["id"]) && page.body["has_more"] == true, "{}", page.body);
    assert!(!page.body.to_string().contains("svc_live_"));
    let mut told = house.sealed().await;
    told.retain(|event| event.starts_with("api_key."));
    let last: Vec<_> = told.iter().rev().take(3).rev().collect();
    assert_eq!(last, ["api_key.created", "api_key.rolled", "api_key.revoked"]);
}

#[tokio::test]
async fn an_org_key_is_made_of_what_fits_alone() {
    let house = House::new().await;
    let owner = house.browser("owner@example.com", Role::Owner).await.key;
    let (past, late) = ("2026-09-30T12:00:00.000Z", "2027-10-03T12:00:00.000Z");
    let with = |param: &str, value: Value| {
        let mut body = json!({ "name": "deploy", "scopes": ["admin"] });
        body[param] = value;
        body
    };
    for (param, body) in [
        ("name", json!({ "scopes": ["admin"] })),
        ("name", with("name", json!(" padded "))),
        ("scopes", json!({ "name": "deploy" })),
        ("scopes", with("scopes", json!([]))),
        ("scopes", with("scopes", json!(["actions:read"]))),
        ("scopes", with("scopes", json!(["admin", "root"]))),
        ("expires_at", with("expires_at", json!(past))),
        ("expires_at", with("expires_at", json!(late))),
        ("livemode", with("livemode", json!(false))),
        ("ip_allow", with("ip_allow", json!(["10.0.0.0/8"]))),
    ] {
        let refused = house.ask(("POST", "/v1/api_keys"), &owner, Some(body.clone())).await;
        let found = (refused.code(), refused.param());
        assert_eq!(found, ((400, "validation_failed"), Some(param)), "{body}");
    }
    let of_agent = format!("/v1/api_keys/{}", house.support.id);
    let refused = house.ask(("DELETE", &of_agent), &owner, None).await;
    assert_eq!(refused.code(), (404, "not_found"));
}

#[tokio::test]
async fn the_33rd_org_key_is_not_made() {
    let house = House::new().await;
    let owner = house.browser("owner@example.com", Role::Owner).await.key;
    let new = || Some(json!({ "name": "deploy", "scopes": ["admin"] }));
    let mut refused = None;
    for _ in 0..33 {
        let made = house.ask(("POST", "/v1/api_keys"), &owner, new()).await;
        if made.status != 201 {
            refused = Some(made);
            break;
        }
    }
    assert_eq!(refused.unwrap().code(), (409, "limit_reached"));
    let page = house.get("/v1/api_keys?limit=100", &owner).await;
    assert_eq!(page.body["data"].as_array().unwrap().len(), 32);
}

#[tokio::test]
async fn an_owner_sets_for_how_long_payloads_are_kept_and_everybody_in_sees_it() {
    let house = House::new().await;
    let owner = house.browser("owner@example.com", Role::Owner).await.key;
    let admin = house.browser("admin@example.com", Role::Admin).await.key;
    let viewer = house.browser("viewer@example.com", Role::Viewer).await.key;
    let before = house.get("/v1/org", &viewer).await;
    assert_eq!((before.status, &before.body["name"]), (200, &json!("Acme")), "{}", before.body);
    assert_eq!([&before.body["signup"], &before.body["stop"]], [&json!("invite"), &Value::Null]);
    let set = async |key: &str, body: Value| house.ask(("POST", "/v1/org"), key, Some(body)).await;
    let days = |days: Value| json!({ "retention_days": days });
    assert_eq!(set(&admin, days(json!(90))).await.code(), (403, "role_required"));
    assert_eq!(set(&house.org_key, days(json!(90))).await.code(), (403, "person_required"));
    for bad in [json!(0), json!(3651), json!(70_000), json!(-1), json!("90")] {
        let refused = set(&owner, days(bad)).await;
        assert_eq!(refused.code(), (400, "validation_failed"), "{}", refused.body);
        assert_eq!(refused.body["error"]["param"], "retention_days");
    }
    for nothing in [json!({}), days(Value::Null)] {
        assert_eq!(set(&owner, nothing).await.code(), (400, "validation_failed"));
    }
    let changed = set(&owner, days(json!(90))).await;
    assert_eq!((changed.status, &changed.body["retention_days"]), (200, &json!(90)));
    assert!(changed.body["deed"].is_string());
    assert_eq!(set(&owner, days(json!(90))).await.code(), (409, "conflict"));
    for key in [&viewer, &house.org_key] {
        assert_eq!(house.get("/v1/org", key).await.body["retention_days"], 90);
    }
    assert!(house.sealed().await.contains(&"org.updated".to_owned()));
}

#[tokio::test]
async fn an_owner_changes_how_the_org_is_run_and_asks_people() {
    let house = House::new().await;
    let owner = house.browser("owner@example.com", Role::Owner).await.key;
    let set = async |body: Value| house.ask(("POST", "/v1/org"), &owner, Some(body)).await;
    let before = house.get("/v1/org", &owner).await.body;
    let asks = json!({
        "default_expires_in": null, "require_other_person": false, "allow_single_member": false,
    });
    assert_eq!([&before["revision"], &before["approvals"]], [&json!(1), &asks]);
    let changed = set(json!({
        "name": "Acme Trading", "time_zone": "europe/zurich", "expected_revision": 1,
        "approvals": { "default_expires_in": "120m", "require_other_person": true },
    }))
    .await;
    assert_eq!(changed.status, 200, "{}", changed.body);
    let mut after = house.get("/v1/org", &owner).await.body;
    let asks = json!({
        "default_expires_in": "2h", "require_other_person": true, "allow_single_member": false,
    });
    assert_eq!([&after["revision"], &after["approvals"]], [&json!(2), &asks]);
    assert_eq!(
        [&after["name"], &after["time_zone"], &after["retention_days"]],
        [&json!("Acme Trading"), &json!("Europe/Zurich"), &json!(365)]
    );
    after["deed"] = changed.body["deed"].clone();
    assert_eq!(changed.body, after, "the answer is what was written");
    // The deed commits to what changed, and to nothing else.
    let deed = after["deed"].as_str().unwrap().parse().unwrap();
    let deed = house.store.deed(house.org, deed).await.unwrap().unwrap();
    let opened = |path: &str| {
        let found = deed.disclosures.iter().find(|opens| opens.path().as_str() == path).unwrap();
        serde_json::from_str::<Value>(found.value()).unwrap()
    };
    let (time, other) = ("approvals.default_expires_in", "approvals.require_other_person");
    let was = json!({ "name": "Acme", "time_zone": "UTC", time: null, other: false });
    assert_eq!(opened("admin.before"), was);
    let is =
        json!({ "name": "Acme Trading", "time_zone": "Europe/Zurich", time: "2h", other: true });
    assert_eq!(opened("admin.after"), is);
    // The next question has the org's time.
    let held = house.refund(500).await.body;
    let path = format!("/v1/approvals/{}", held["approval"]["id"].as_str().unwrap());
    let asked = house.get(&path, &owner).await.body;
    let moment = |name: &str| asked[name].as_str().unwrap().parse::<model::Timestamp>().unwrap();
    assert_eq!(moment("expires_at").since(moment("requested_at")).as_secs(), 7_200, "{asked}");
    let back = set(json!({ "approvals": { "default_expires_in": null } })).await;
    assert_eq!(back.body["approvals"]["default_expires_in"], Value::Null, "{}", back.body);
}

#[tokio::test]
async fn what_an_org_cannot_be_run_like_is_refused_by_its_name() {
    let house = House::new().await;
    let owner = house.browser("owner@example.com", Role::Owner).await.key;
    let new = NewOrg { name: "Elsewhere".to_owned(), time_zone: "UTC".to_owned() };
    house.deployment().create_org(new).await.unwrap();
    let set = async |body: Value| house.ask(("POST", "/v1/org"), &owner, Some(body)).await;
    let asks = |name: &str, value: Value| json!({ "approvals": { name: value } });
    for (param, body) in [
        ("name", json!({})),
        ("name", json!({ "expected_revision": 1 })),
        ("name", json!({ "approvals": {} })),
        ("name", json!({ "name": " padded" })),
        ("name", json!({ "name": 7 })),
        ("time_zone", json!({ "time_zone": "Mars/Olympus" })),
        ("time_zone", json!({ "time_zone": "+02:00" })),
        ("retention_days", json!({ "retention_days": 0 })),
        ("plan", json!({ "plan": "free" })),
        ("approvals", json!({ "approvals": 7 })),
        ("approvals.default_expires_in", asks("default_expires_in", json!("59s"))),
        ("approvals.default_expires_in", asks("default_expires_in", json!("169h"))),
        ("approvals.default_expires_in", asks("default_expires_in", json!(60))),
        ("approvals.require_other_person", asks("require_other_person", json!("yes"))),
        ("approvals.quorum", asks("quorum", json!(2))),
    ] {
        let refused = set(body.clone()).await;
        let found = (refused.code(), refused.param());
        assert_eq!(found, ((400, "validation_failed"), Some(param)), "{body}: {}", refused.body);
    }
    let taken = set(json!({ "name": "Elsewhere" })).await;
    assert_eq!((taken.code(), taken.param()), ((409, "name_taken"), Some("name")));
    let late = set(json!({ "name": "Late", "expected_revision": 2 })).await;
    assert_eq!((late.code(), late.param()), ((409, "conflict"), Some("expected_revision")));
    assert_eq!(set(json!({ "name": "Acme" })).await.code(), (409, "conflict"));
    assert!(!house.sealed().await.contains(&"org.updated".to_owned()));
}
