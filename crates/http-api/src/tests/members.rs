//! The people of an org: how they are asked, join, change and go, by what browsers send.

use std::time::Duration;

use admin::NewOrg;
use futures_util::future::join_all;
use ledger::record::Member;
use model::Role;
use people::Signup;
use serde_json::{Value, json};

use super::house::{Answer, House, people::Browser, request};

const ADA: &str = "ada@example.com";
const GRACE: &str = "grace@example.com";

async fn post(house: &House, path: &str, key: &str, body: Value) -> Answer {
    house.send(request("POST", path, key, &[], Some(body))).await
}

async fn delete(house: &House, path: &str, key: &str) -> Answer {
    house.send(request("DELETE", path, key, &[], None)).await
}

async fn owner(house: &House) -> Browser {
    house.browser("owner@example.com", Role::Owner).await
}

/// What stands in the link of an invitation that was made over the interface.
fn link(house: &House, asked: &Answer) -> String {
    house.link_of(asked.id().parse().unwrap())
}

#[tokio::test]
async fn somebody_who_is_asked_signs_in_joins_and_is_in_the_org() {
    let house = House::new().await;
    let owner = owner(&house).await;
    let body = json!({ "email": " Ada@Example.COM ", "role": "admin", "can_approve": true });
    let asked = post(&house, "/v1/invites", &owner.key, body.clone()).await;
    assert_eq!((asked.status, &asked.body["status"]), (201, &json!("pending")), "{}", asked.body);
    assert_eq!(asked.body["email"], ADA);
    assert_eq!(post(&house, "/v1/invites", &owner.key, body).await.code(), (409, "conflict"));

    let ada = house.browser_of_no_org(ADA).await;
    assert_eq!(house.get("/v1/agents", &ada.key).await.code(), (403, "role_required"));
    let token = json!({ "token": link(&house, &asked) });
    let eve = house.browser_of_no_org("eve@example.com").await;
    let stolen = post(&house, "/v1/invites/accept", &eve.key, token.clone()).await;
    assert_eq!(stolen.code(), (410, "invite_expired"));
    let joined = post(&house, "/v1/invites/accept", &ada.key, token.clone()).await;
    assert_eq!((joined.status, &joined.body["role"]), (200, &json!("admin")), "{}", joined.body);
    assert_eq!(joined.body["org"], house.org.to_string());
    assert!(joined.body["deed"].is_string());
    // Whatever the browser lost of the answer, it may ask again.
    let again = post(&house, "/v1/invites/accept", &ada.key, token).await;
    assert_eq!((again.id(), &again.body["deed"]), (joined.id(), &Value::Null));

    let session = house.get("/v1/session", &ada.key).await.body;
    assert_eq!([&session["org"], &session["member"]["role"]], [&*house.org.to_string(), "admin"]);
    assert_eq!(session["member"]["can_approve"], true, "{session}");
    assert_eq!(house.get("/v1/agents", &ada.key).await.status, 200);
    let listed = house.get("/v1/invites", &owner.key).await;
    let listed = &listed.body["data"][0];
    assert_eq!([&listed["status"], &listed["member"]], ["accepted", &*joined.id()]);
    assert_eq!(
        post(&house, "/v1/invites", &owner.key, json!({ "email": ADA, "role": "viewer" }))
            .await
            .code(),
        (409, "already_member")
    );
}

#[tokio::test]
async fn joining_leaves_a_session_where_it_is_if_it_has_an_org_or_its_sign_in_is_old() {
    let house = House::new().await;
    let new = NewOrg { name: "Stranger".to_owned(), time_zone: "UTC".to_owned() };
    let stranger = house.deployment().create_org(new).await.unwrap().org.id;
    house.member_of(stranger, ADA, Role::Viewer).await;
    let elsewhere = house.browser_in(stranger, ADA, Role::Viewer).await;
    let stale = house.browser_of_no_org(GRACE).await;
    house.clock.pass(Duration::from_mins(16));
    let owner = owner(&house).await;
    for (browser, email, org) in
        [(&elsewhere, ADA, json!(stranger.to_string())), (&stale, GRACE, Value::Null)]
    {
        let body = json!({ "email": email, "role": "admin" });
        let asked = post(&house, "/v1/invites", &owner.key, body).await;
        let token = json!({ "token": link(&house, &asked) });
        let joined = post(&house, "/v1/invites/accept", &browser.key, token).await;
        assert_eq!(joined.status, 200, "{}", joined.body);
        let session = house.get("/v1/session", &browser.key).await.body;
        assert_eq!(session["org"], org, "{email}");
        let orgs = session["orgs"].as_array().unwrap();
        assert!(orgs.iter().any(|it| it["id"] == house.org.to_string()), "{orgs:?}");
    }
}

#[tokio::test]
async fn a_link_that_was_taken_back_changed_or_is_a_week_old_lets_nobody_in() {
    let house = House::new().await;
    let owner = owner(&house).await;
    let body = json!({ "email": ADA, "role": "viewer" });
    let first = post(&house, "/v1/invites", &owner.key, body.clone()).await;
    let path = format!("/v1/invites/{}", first.id());
    let again = async || {
        house.send(request("POST", &format!("{path}/resend"), &owner.key, &[], None)).await
    };
    assert_eq!(again().await.status, 202);
    let revoked = delete(&house, &path, &owner.key).await;
    assert_eq!((revoked.status, &revoked.body["status"]), (200, &json!("revoked")));
    assert_eq!(delete(&house, &path, &owner.key).await.code(), (409, "conflict"));
    assert_eq!(again().await.code(), (409, "conflict"));
    let ada = house.browser_of_no_org(ADA).await;
    let accept = async |token: String| {
        let body = json!({ "token": token });
        let answer = post(&house, "/v1/invites/accept", &ada.key, body).await;
        (answer.status, answer.body["error"]["code"].as_str().unwrap_or_default().to_owned())
    };
    let gone = (410, "invite_expired".to_owned());
    assert_eq!(accept(link(&house, &first)).await, gone);
    let second = post(&house, "/v1/invites", &owner.key, body).await;
    let token = link(&house, &second);
    assert_eq!(accept(format!("{token}x")).await, gone);
    assert_eq!(accept(String::new()).await, gone);
    house.clock.pass(Duration::from_hours(7 * 24 + 1));
    let ada = house.browser_of_no_org(ADA).await;
    let late = post(&house, "/v1/invites/accept", &ada.key, json!({ "token": token })).await;
    assert_eq!(late.code(), (410, "invite_expired"));
}

#[tokio::test]
async fn only_who_may_asks_people_and_only_owners_ask_owners() {
    let house = House::new().await;
    let admin = house.browser("admin@example.com", Role::Admin).await;
    let viewer = house.browser("viewer@example.com", Role::Viewer).await;
    let (grace, owner) = (json!({ "email": GRACE, "role": "admin" }), owner(&house).await);
    let ask = async |key: &str, body: &Value| post(&house, "/v1/invites", key, body.clone()).await;
    assert_eq!(ask(&viewer.key, &grace).await.code(), (403, "role_required"));
    assert_eq!(ask(&house.org_key, &grace).await.code(), (403, "person_required"));
    let to_own = json!({ "email": GRACE, "role": "owner" });
    assert_eq!(ask(&admin.key, &to_own).await.code(), (403, "role_required"));
    let made = ask(&owner.key, &to_own).await;
    assert_eq!(made.status, 201);
    // An admin cannot get hold of an owner's mail by sending it again, nor take it back.
    let path = format!("/v1/invites/{}", made.id());
    let resent = request("POST", &format!("{path}/resend"), &admin.key, &[], None);
    assert_eq!(house.send(resent).await.code(), (403, "role_required"));
    assert_eq!(delete(&house, &path, &admin.key).await.code(), (403, "role_required"));
    assert_eq!(house.get("/v1/invites", &viewer.key).await.code(), (403, "role_required"));
    assert_eq!(house.get("/v1/invites", &house.org_key).await.status, 200);
}

#[tokio::test]
async fn an_address_that_is_none_or_says_more_than_one_is_refused() {
    let house = House::new().await;
    let owner = owner(&house).await;
    for email in [
        "",
        "ada",
        "ada@",
        "@example.com",
        "a@b\r\nBcc: eve@example.com",
        "a@example.com, b@example.com",
        "a\u{0}@example.com",
        "<a@example.com>",
        "a@exa mple.com",
    ] {
        let body = json!({ "email": email, "role": "viewer" });
        let answer = post(&house, "/v1/invites", &owner.key, body).await;
        assert_eq!(answer.code(), (400, "validation_failed"), "{email:?}");
    }
    for (body, param) in [
        (json!({ "email": ADA }), "role"),
        (json!({ "email": ADA, "role": "god" }), "role"),
        (json!({ "role": "viewer" }), "email"),
        (json!({ "email": ADA, "role": "viewer", "can_approve": "yes" }), "can_approve"),
        (json!({ "email": ADA, "role": "viewer", "name": "Ada" }), "name"),
    ] {
        let answer = post(&house, "/v1/invites", &owner.key, body).await;
        assert_eq!((answer.code().0, answer.param()), (400, Some(param)));
    }
    assert_eq!(house.get("/v1/invites", &owner.key).await.body["data"], json!([]));
}

#[tokio::test]
async fn a_members_role_is_an_owners_to_change_and_counts_at_once() {
    let house = House::new().await;
    let (owner, ada) = (owner(&house).await, house.browser(ADA, Role::Admin).await);
    let members = house.get("/v1/members", &owner.key).await.body;
    let id = |email: &str| {
        let all = members["data"].as_array().unwrap();
        let found = all.iter().find(|member| member["user"]["email"] == email).unwrap();
        found["id"].as_str().unwrap().to_owned()
    };
    let (own, adas) = (id("owner@example.com"), format!("/v1/members/{}", id(ADA)));
    let change = async |path: &str, key: &str, body: Value| post(&house, path, key, body).await;
    let to_viewer = json!({ "role": "viewer", "expected_revision": 1 });
    assert_eq!(change(&adas, &ada.key, to_viewer.clone()).await.code(), (403, "role_required"));
    assert_eq!(
        change(&adas, &house.org_key, to_viewer.clone()).await.code(),
        (403, "person_required")
    );
    let own_path = format!("/v1/members/{own}");
    let oneself = change(&own_path, &owner.key, json!({ "can_approve": true })).await;
    assert_eq!(oneself.code(), (403, "self_change"));
    assert_eq!(change(&adas, &owner.key, json!({})).await.code(), (400, "validation_failed"));
    let changed = change(&adas, &owner.key, to_viewer.clone()).await;
    assert_eq!((changed.status, &changed.body["revision"]), (200, &json!(2)), "{}", changed.body);
    assert_eq!(change(&adas, &owner.key, to_viewer).await.code(), (409, "conflict"));
    // The session was for an admin of the org: it is for nobody there until it chooses again.
    assert_eq!(house.get("/v1/members", &ada.key).await.code(), (403, "role_required"));
    let viewer = house.browser_in(house.org, ADA, Role::Viewer).await;
    let seen = house.get(&own_path, &viewer.key).await;
    assert_eq!((seen.status, &seen.body["user"]["email"]), (200, &Value::Null));
    assert_eq!(
        house.get(&own_path, &house.org_key).await.body["user"]["email"],
        "owner@example.com"
    );
    house.clock.pass(Duration::from_mins(16));
    let stale = change(&adas, &owner.key, json!({ "role": "admin" })).await;
    assert_eq!(stale.code(), (403, "reauthentication_required"));
}

#[tokio::test]
async fn who_is_removed_or_leaves_is_out_at_once_and_an_owner_stays() {
    let house = House::new().await;
    let (owner, ada) = (owner(&house).await, house.browser(ADA, Role::Admin).await);
    let grace = house.browser(GRACE, Role::Viewer).await;
    let member = async |browser: &Browser| {
        let session = house.get("/v1/session", &browser.key).await;
        format!("/v1/members/{}", session.body["member"]["id"].as_str().unwrap())
    };
    let (own, adas, graces) = (member(&owner).await, member(&ada).await, member(&grace).await);
    assert_eq!(delete(&house, &own, &owner.key).await.code(), (409, "last_owner"));
    assert_eq!(delete(&house, &own, &ada.key).await.code(), (403, "role_required"));
    assert_eq!(delete(&house, &graces, &ada.key).await.code(), (403, "role_required"));
    let wrong =
        request("DELETE", &graces, &grace.key, &[], Some(json!({ "expected_revision": 7 })));
    assert_eq!(house.send(wrong).await.code(), (409, "conflict"));
    let left = delete(&house, &graces, &grace.key).await;
    assert_eq!(left.status, 200, "{}", left.body);
    assert!(left.body["removed_at"].is_string() && left.body["deed"].is_string());
    let removed = delete(&house, &adas, &owner.key).await;
    assert_eq!(removed.status, 200, "{}", removed.body);
    for browser in [&ada, &grace] {
        assert_eq!(house.get("/v1/agents", &browser.key).await.code(), (401, "unauthenticated"));
    }
    assert_eq!(house.get(&adas, &owner.key).await.code(), (404, "not_found"));
    assert_eq!(delete(&house, &adas, &owner.key).await.code(), (404, "not_found"));
    let rest = house.get("/v1/members", &owner.key).await;
    assert_eq!(rest.body["data"].as_array().unwrap().len(), 1);
    // No address is in what is sealed and told.
    for path in ["/v1/deeds?limit=100", "/v1/ledger?limit=100"] {
        let told = house.get(path, &owner.key).await.body.to_string();
        assert!(!told.contains("example.com"), "{path}");
    }
}

#[tokio::test]
async fn an_admin_takes_from_viewers_that_they_decide_and_changes_nothing_else() {
    let house = House::new().await;
    let admin = house.browser("admin@example.com", Role::Admin).await;
    let (_, viewer) = house.member("viewer@example.com", Role::Viewer).await;
    let (_, other) = house.member("other@example.com", Role::Admin).await;
    let edit = async |id: &dyn std::fmt::Display, body: Value| {
        post(&house, &format!("/v1/members/{id}"), &admin.key, body).await
    };
    house.write(Member { can_approve: true, ..viewer.clone() }).await;
    let made = edit(&viewer.id, json!({ "can_approve": false, "role": "viewer" })).await;
    assert_eq!((made.status, &made.body["can_approve"]), (200, &json!(false)), "{}", made.body);
    assert!(made.body["deed"].is_string());
    let stale = json!({ "can_approve": false, "expected_revision": 1 });
    assert_eq!(edit(&viewer.id, stale).await.code(), (409, "conflict"));
    for (id, body, param) in [
        (&viewer.id, json!({ "role": "admin" }), Some("role")),
        (&viewer.id, json!({ "role": "admin", "can_approve": false }), Some("role")),
        (&viewer.id, json!({ "can_approve": true }), Some("can_approve")),
        (&other.id, json!({ "can_approve": true }), Some("can_approve")),
        (&other.id, json!({ "can_approve": false }), None),
    ] {
        let refused = edit(id, body.clone()).await;
        assert_eq!((refused.code(), refused.param()), ((403, "role_required"), param), "{body}");
    }
    let nothing = edit(&viewer.id, json!({})).await;
    assert_eq!(
        (nothing.code(), nothing.param()),
        ((400, "validation_failed"), Some("can_approve"))
    );
    let own = house.get("/v1/session", &admin.key).await.body["member"]["id"].clone();
    let own = edit(&own.as_str().unwrap(), json!({ "can_approve": false })).await;
    assert_eq!(own.code(), (403, "self_change"));
}

#[tokio::test]
async fn only_owners_let_anybody_decide_what_waits_for_a_person() {
    let house = House::new().await;
    let owner = owner(&house).await;
    let admin = house.browser("admin@example.com", Role::Admin).await;
    let asked = json!({ "email": "admin+sock@example.com", "role": "admin", "can_approve": true });
    let refused = post(&house, "/v1/invites", &admin.key, asked.clone()).await;
    let told = (refused.code(), refused.param());
    assert_eq!(told, ((403, "role_required"), Some("can_approve")), "{}", refused.body);
    let made = post(&house, "/v1/invites", &owner.key, asked).await;
    assert_eq!(made.status, 201, "{}", made.body);
    // It is not an admin's to send to whoever reads that mailbox by now.
    let path = format!("/v1/invites/{}", made.id());
    let resend = request("POST", &format!("{path}/resend"), &admin.key, &[], None);
    assert_eq!(house.send(resend).await.code(), (403, "role_required"));
    let page = async |browser: &Browser| {
        let page = house.get("/app/settings/members", &browser.key).await;
        String::from_utf8(page.bytes.to_vec()).unwrap()
    };
    let forms = ["name=\"can_approve\"", "Send again"];
    let (of_owner, of_admin) = (page(&owner).await, page(&admin).await);
    assert!(forms.iter().all(|form| of_owner.contains(form)), "{of_owner}");
    assert!(!forms.iter().any(|form| of_admin.contains(form)), "{of_admin}");
    // To take it back gives nobody anything.
    assert!(
        of_owner.contains(">Revoke</button>") && of_admin.contains(">Revoke</button>"),
        "{of_admin}"
    );
    assert_eq!(delete(&house, &path, &admin.key).await.status, 200);
}

#[tokio::test]
async fn an_org_asks_sixty_people_an_hour_however_many_are_asked_at_once() {
    let house = House::new().await;
    let admin = house.browser("admin@example.com", Role::Admin).await;
    let ask = async |browser: &Browser, n: usize| {
        let body = json!({ "email": format!("p{n}@example.com"), "role": "viewer" });
        post(&house, "/v1/invites", &browser.key, body).await
    };
    let all = join_all((0..121).map(|n| ask(&admin, n))).await;
    let made = all.iter().filter(|answer| answer.status == 201).count();
    assert_eq!(made, 60);
    for answer in all.iter().filter(|answer| answer.status != 201) {
        assert_eq!(answer.code(), (429, "rate_limited"), "{}", answer.body);
        assert_eq!(answer.headers["retry-after"], "3600");
    }
    house.clock.pass(Duration::from_secs(3_599));
    let again = house.browser_in(house.org, "admin@example.com", Role::Admin).await;
    let early = ask(&again, 200).await;
    assert_eq!(
        (early.code(), early.headers["retry-after"].as_bytes()),
        ((429, "rate_limited"), &b"1"[..])
    );
    house.clock.pass(Duration::from_secs(1));
    assert_eq!(ask(&again, 201).await.status, 201);
}

#[tokio::test]
async fn it_is_seen_who_was_not_in_the_org_for_long() {
    let house = House::new().await;
    let owner = owner(&house).await;
    let (_, never) = house.member(GRACE, Role::Viewer).await;
    let seen = async |id: &str| {
        let told = house.get(&format!("/v1/members/{id}"), &house.org_key).await.body;
        let listed = house.get("/v1/members", &house.org_key).await.body;
        let row = listed["data"].as_array().unwrap().iter().find(|row| row["id"] == id).cloned();
        assert_eq!(row.unwrap()["last_active_at"], told["last_active_at"]);
        told["last_active_at"].clone()
    };
    let own = house.get("/v1/session", &owner.key).await.body["member"]["id"].clone();
    let own = own.as_str().unwrap();
    assert_eq!(seen(&never.id.to_string()).await, Value::Null);
    let first = seen(own).await;
    assert!(first.is_string());
    house.clock.pass(Duration::from_mins(30));
    assert_eq!(house.get("/v1/agents", &owner.key).await.status, 200);
    assert!(seen(own).await.as_str() > first.as_str());
}

#[tokio::test]
async fn where_the_operator_lets_nobody_in_nobody_is_asked_and_nobody_joins() {
    let house = House::that_takes(Signup::Closed).await;
    let owner = owner(&house).await;
    let closed = (403, "signup_closed");
    let asked = json!({ "email": ADA, "role": "viewer" });
    assert_eq!(post(&house, "/v1/invites", &owner.key, asked).await.code(), closed);
    let path = "/v1/invites/inv_01kf3v8p6ze5q9hm7x2b4n1c0d/resend";
    let again = house.send(request("POST", path, &owner.key, &[], None)).await;
    assert_eq!(again.code(), closed);
    let ada = house.browser_of_no_org(ADA).await;
    let token = json!({ "token": "from before it was closed" });
    assert_eq!(post(&house, "/v1/invites/accept", &ada.key, token).await.code(), closed);
    // Who is in goes on.
    assert_eq!(house.get("/v1/members", &owner.key).await.status, 200);
    assert_eq!(house.get("/v1/invites", &owner.key).await.body["data"], json!([]));
}
