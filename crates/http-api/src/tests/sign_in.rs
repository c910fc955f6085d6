//! Signing in and sessions over HTTP: what a browser sends, and what everybody sends who should not
//! get in.

use std::time::Duration;

use admin::{NewOrg, REMEMBERED_FOR};
use ledger::record::Member;
use model::{Clock, MemberId, Role, SessionId, Uuid};
use serde_json::{Value, json};

use super::house::{Answer, House, request};

pub(super) const ADA: &str = "ada@example.com";

/// A browser that asked to sign in.
struct Asked {
    challenge: String,
    cookie: String,
}

async fn ask_as(house: &House, email: &str) -> Answer {
    let body = Some(json!({ "email": email }));
    house.send(request("POST", "/v1/auth/start", "", &[], body)).await
}

async fn asked(house: &House, email: &str) -> Asked {
    let answer = ask_as(house, email).await;
    assert_eq!(answer.status, 202, "{}", answer.body);
    house.town.deliver().await;
    let cookie = answer.headers["set-cookie"].to_str().unwrap();
    let cookie = cookie.split(';').next().unwrap().to_owned();
    Asked { challenge: answer.id(), cookie }
}

async fn confirm(house: &House, cookie: &str, body: Value) -> Answer {
    let headers = [("cookie", cookie)];
    house.send(request("POST", "/v1/auth/confirm", "", &headers, Some(body))).await
}

impl Asked {
    fn by_code(&self, code: &str) -> Value {
        json!({ "challenge": self.challenge, "code": code })
    }
}

/// What stands behind `t=` in the last mail.
pub(super) fn token(house: &House) -> String {
    let link = house.town.sent.last().link.expose().clone();
    link.split_once("?t=").unwrap().1.to_owned()
}

pub(super) fn code(house: &House) -> String {
    house.town.sent.last().code.expose().clone()
}

/// The cookies that an answer sets, by name.
pub(super) fn cookies(answer: &Answer) -> Vec<(String, String)> {
    let set = answer.headers.get_all("set-cookie").iter();
    let pair = |value: &http::HeaderValue| {
        let (name, rest) = value.to_str().unwrap().split_once('=').unwrap();
        (name.to_owned(), rest.to_owned())
    };
    set.map(pair).collect()
}

#[tokio::test]
async fn a_person_signs_in_by_the_code_of_the_mail_and_out_again() {
    let house = House::new().await;
    house.member(ADA, Role::Admin).await;
    let asked = asked(&house, "  Ada@EXAMPLE.com ").await;
    let signed_in = confirm(&house, &asked.cookie, asked.by_code(&code(&house))).await;
    assert_eq!(signed_in.status, 200, "{}", signed_in.body);
    // Somebody of one org is in it at once.
    assert_eq!(signed_in.body["org"], house.org.to_string());
    assert_eq!(signed_in.body["member"]["role"], "admin");
    let cookies = cookies(&signed_in);
    let [(session, value), (pre, gone)] = cookies.as_slice() else { panic!("{cookies:?}") };
    assert_eq!([session.as_str(), pre.as_str()], ["svc_session", "svc_pre"]);
    assert!(value.ends_with("; Path=/; Max-Age=604800; HttpOnly; SameSite=Lax"), "{value}");
    assert!(gone.starts_with("; Path=/; Max-Age=0;"), "{gone}");
    let token = value.split(';').next().unwrap();
    let key = format!("session:{token}:{}", signed_in.body["csrf"].as_str().unwrap());
    assert_eq!(house.get("/v1/session", &key).await.body["user"]["email"], ADA);
    assert_eq!(house.get("/v1/agents", &key).await.status, 200);
    let out = house.send(request("DELETE", "/v1/session", &key, &[], None)).await;
    assert_eq!((out.status, &out.body["ended"]), (200, &json!(1)));
    assert_eq!(house.get("/v1/session", &key).await.code(), (401, "unauthenticated"));
}

#[tokio::test]
async fn a_page_of_another_server_is_no_page_to_go_on_to() {
    let house = House::new().await;
    for next in
        ["//evil.example", "https://evil.example", "/\\evil.example", "app", "/a\r\nX: y", ""]
    {
        let body = Some(json!({ "email": ADA, "next": next }));
        let answer = house.send(request("POST", "/v1/auth/start", "", &[], body)).await;
        assert_eq!(
            (answer.code(), answer.param()),
            ((400, "validation_failed"), Some("next")),
            "{next:?}"
        );
    }
    let long = format!("/{}", "a".repeat(1024));
    let body = Some(json!({ "email": ADA, "next": long }));
    let answer = house.send(request("POST", "/v1/auth/start", "", &[], body)).await;
    assert_eq!(answer.status, 400);
}

#[tokio::test]
async fn an_address_that_nobody_has_is_answered_like_any_other() {
    let house = House::new().await;
    house.member(ADA, Role::Admin).await;
    let (known, unknown) = (ask_as(&house, ADA).await, ask_as(&house, "eve@example.com").await);
    house.town.deliver().await;
    assert_eq!(house.town.sent.count(), 1);
    assert_eq!(known.status, unknown.status);
    let shape = |answer: &Answer| {
        let names: Vec<String> = answer.headers.keys().map(ToString::to_string).collect();
        let members: Vec<String> = answer.body.as_object().unwrap().keys().cloned().collect();
        (names, members, answer.bytes.len(), cookies(answer)[0].1.len())
    };
    assert_eq!(shape(&known), shape(&unknown));
    // So is the guess at its code.
    let cookie = cookies(&unknown)[0].1.split(';').next().unwrap().to_owned();
    let cookie = format!("svc_pre={cookie}");
    let guess = json!({ "challenge": unknown.id(), "code": "0000-0000" });
    for _ in 0..5 {
        let answer = confirm(&house, &cookie, guess.clone()).await;
        assert_eq!(answer.code(), (401, "unauthenticated"));
    }
    assert_eq!(confirm(&house, &cookie, guess).await.code(), (410, "challenge_expired"));
}

#[tokio::test]
async fn a_scanner_that_opens_the_link_uses_nothing_up() {
    let house = House::new().await;
    house.member(ADA, Role::Admin).await;
    let asked = asked(&house, ADA).await;
    let token = token(&house);
    for method in ["GET", "HEAD"] {
        for path in ["/auth/confirm", "/v1/auth/confirm"] {
            let path = format!("{path}?t={token}");
            let answer = house.router.answer(request(method, &path, "", &[], None)).await;
            assert!(matches!(answer.status().as_u16(), 200 | 405), "{method} {path}");
        }
        // Nor does one that sends the cookie as well.
        let headers = [("cookie", asked.cookie.as_str())];
        let path = format!("/v1/auth/confirm?t={token}");
        house.router.answer(request(method, &path, "", &headers, None)).await;
    }
    let done = confirm(&house, &asked.cookie, json!({ "token": token })).await;
    assert_eq!(done.status, 200, "{}", done.body);
}

#[tokio::test]
async fn guessed_codes_end_their_challenge_and_a_replayed_link_opens_nothing() {
    let house = House::new().await;
    house.member(ADA, Role::Admin).await;
    let first = asked(&house, ADA).await;
    for guess in ["0000-0000", "", "1", "AAAAAAAA", "\u{1f480}"] {
        let answer = confirm(&house, &first.cookie, first.by_code(guess)).await;
        assert_eq!(answer.code(), (401, "unauthenticated"), "{guess:?}");
    }
    let right = first.by_code(&code(&house));
    let locked = confirm(&house, &first.cookie, right).await;
    assert_eq!(locked.code(), (410, "challenge_expired"));
    let second = asked(&house, ADA).await;
    let link = json!({ "token": token(&house) });
    assert_eq!(confirm(&house, &second.cookie, link.clone()).await.status, 200);
    let replayed = confirm(&house, &second.cookie, link).await;
    assert_eq!(replayed.code(), (410, "challenge_expired"));
}

#[tokio::test]
async fn a_link_in_another_browser_signs_nobody_in() {
    let house = House::new().await;
    house.member(ADA, Role::Admin).await;
    let asked = asked(&house, ADA).await;
    let link = json!({ "token": token(&house) });
    let other = super::sign_in::asked(&house, "eve@example.com").await;
    for cookie in ["", "svc_pre=", "svc_pre=wrong", &other.cookie, "svc_session=x"] {
        let answer = confirm(&house, cookie, link.clone()).await;
        assert_eq!(answer.code(), (401, "unauthenticated"), "{cookie}");
    }
    assert_eq!(confirm(&house, &asked.cookie, link).await.status, 200);
}

#[tokio::test]
async fn an_address_that_could_write_a_head_is_no_address() {
    let house = House::new().await;
    let bad =
        ["a@b.de\r\nBcc: e@f.gh", "a\nb@c.de", "a@b.de,c@d.ef", "<a@b.de>", "ä@b.de", "", "a"];
    for email in bad {
        let answer = ask_as(&house, email).await;
        assert_eq!((answer.code(), answer.param()), ((400, "validation_failed"), Some("email")));
        assert!(!answer.body.to_string().contains("Bcc"), "{email:?}");
    }
    // Spellings of one mailbox are one: they share its five an hour.
    for email in ["ADA@Bücher.example", "ada@BÜCHER.example", "ada@xn--bcher-kva.example"] {
        assert_eq!(ask_as(&house, email).await.status, 202);
    }
    for _ in 0..2 {
        assert_eq!(ask_as(&house, "Ada@bücher.example").await.status, 202);
    }
    assert_eq!(ask_as(&house, "ada@bücher.example").await.code(), (429, "rate_limited"));
}

#[tokio::test]
async fn five_are_asked_for_an_address_and_twenty_from_a_network_in_an_hour() {
    let house = House::new().await;
    for _ in 0..5 {
        assert_eq!(ask_as(&house, ADA).await.status, 202);
    }
    let over = ask_as(&house, ADA).await;
    assert_eq!(over.code(), (429, "rate_limited"));
    assert_eq!(over.headers["retry-after"], "3600");
    for other in 0..14 {
        assert_eq!(ask_as(&house, &format!("a{other}@example.com")).await.status, 202);
    }
    assert_eq!(ask_as(&house, "b@example.com").await.code(), (429, "rate_limited"));
    house.clock.pass(Duration::from_mins(61));
    assert_eq!(ask_as(&house, ADA).await.status, 202);
}

#[tokio::test]
async fn three_challenges_live_at_once_and_none_ends_another() {
    let house = House::new().await;
    house.member(ADA, Role::Admin).await;
    let first = asked(&house, ADA).await;
    let link = json!({ "token": token(&house) });
    for _ in 0..3 {
        asked(&house, ADA).await;
    }
    assert_eq!(house.town.sent.count(), 3, "the fourth sends no mail");
    assert_eq!(confirm(&house, &first.cookie, link).await.status, 200);
}

#[tokio::test]
async fn a_browser_that_asks_twice_may_answer_either_mail() {
    let house = House::new().await;
    house.member(ADA, Role::Admin).await;
    let first = asked(&house, ADA).await;
    let code_of_first = code(&house);
    let body = Some(json!({ "email": ADA }));
    let cookie = [("cookie", first.cookie.as_str())];
    let second = house.send(request("POST", "/v1/auth/start", "", &cookie, body)).await;
    house.town.deliver().await;
    assert_eq!(second.status, 202);
    let given = cookies(&second)[0].1.clone();
    assert!(given.starts_with(first.cookie.trim_start_matches("svc_pre=")), "{given}");
    let answer = confirm(&house, &first.cookie, first.by_code(&code_of_first)).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    // What is no token of ours is not taken for one.
    let body = Some(json!({ "email": ADA }));
    let odd = [("cookie", "svc_pre=chosen")];
    let third = house.send(request("POST", "/v1/auth/start", "", &odd, body)).await;
    assert!(!cookies(&third)[0].1.starts_with("chosen"));
}

#[tokio::test]
async fn a_form_that_is_sent_twice_at_one_moment_leaves_both_mails_good() {
    for used in 0..2 {
        let house = House::new().await;
        house.member(ADA, Role::Admin).await;
        let page = house.get("/login", "").await;
        let pre = format!("svc_pre={}", cookies(&page)[0].1.split(';').next().unwrap());
        let body = Some(json!({ "email": ADA }));
        // Neither has seen what the other was answered.
        let mut asked = Vec::new();
        for _ in 0..2 {
            let sent = request("POST", "/v1/auth/start", "", &[("cookie", &pre)], body.clone());
            let answer = house.send(sent).await;
            house.town.deliver().await;
            asked.push(json!({ "challenge": answer.id(), "code": code(&house) }));
        }
        let answer = confirm(&house, &pre, asked[used].clone()).await;
        assert_eq!(answer.status, 200, "{used}: {}", answer.body);
    }
}

#[tokio::test]
async fn pages_on_which_somebody_asks_keep_what_their_browser_is_known_by() {
    let house = House::new().await;
    let given = async |path: &str, key: &str, cookie: &str| {
        let shown = [("cookie", cookie)];
        let shown = if cookie.is_empty() { &[][..] } else { &shown };
        let page = house.send(request("GET", path, key, shown, None)).await;
        assert_eq!(page.status, 200, "{path}");
        let found = cookies(&page);
        assert!(found[0].1.contains("Max-Age=86400"), "{found:?}");
        found[0].1.split(';').next().unwrap().to_owned()
    };
    let first = given("/login", "", "").await;
    assert_eq!(given("/login", "", &format!("svc_pre={first}")).await, first);
    let other = given("/login", "", "svc_pre=chosen").await;
    assert!(other.len() == first.len() && other != first, "{other}");
    let browser = house.browser(ADA, Role::Viewer).await;
    assert_eq!(given("/app/again", &browser.key, "").await.len(), first.len());
}

#[tokio::test]
async fn a_clock_that_steps_gives_no_challenge_more_time_than_the_record_says() {
    let house = House::new().await;
    house.member(ADA, Role::Admin).await;
    let asked = asked(&house, ADA).await;
    house.clock.pass(Duration::from_mins(10));
    let late = confirm(&house, &asked.cookie, asked.by_code(&code(&house))).await;
    assert_eq!(late.code(), (410, "challenge_expired"));
}

#[tokio::test]
async fn a_session_ends_unused_after_twelve_hours_and_anyhow_after_seven_days() {
    let house = House::new().await;
    let browser = house.browser(ADA, Role::Viewer).await;
    for _ in 0..14 {
        house.clock.pass(Duration::from_hours(11));
        assert_eq!(house.get("/v1/session", &browser.key).await.status, 200);
    }
    house.clock.pass(Duration::from_hours(11));
    assert_eq!(house.get("/v1/session", &browser.key).await.status, 200, "165 hours");
    house.clock.pass(Duration::from_hours(4));
    assert_eq!(house.get("/v1/session", &browser.key).await.status, 401, "169 hours");
    let idle = house.browser_in(house.org, ADA, Role::Viewer).await;
    house.clock.pass(Duration::from_hours(12));
    assert_eq!(house.get("/v1/session", &idle.key).await.status, 401);
}

#[tokio::test]
async fn what_gives_power_takes_a_fresh_sign_in_and_reauth_gives_it() {
    let house = House::new().await;
    let browser = house.browser(ADA, Role::Owner).await;
    let path = format!("/v1/agents/{}/keys", house.support.agent);
    let body = || Some(json!({ "name": "mine", "scopes": ["actions:read"] }));
    assert_eq!(house.send(request("POST", &path, &browser.key, &[], body())).await.status, 201);
    house.clock.pass(Duration::from_mins(15));
    let stale = house.send(request("POST", &path, &browser.key, &[], body())).await;
    assert_eq!(stale.code(), (403, "reauthentication_required"));
    // What takes away power, and what is no power, goes on.
    let made =
        house.get(&path, &browser.key).await.body["data"][0]["id"].as_str().unwrap().to_owned();
    let revoke = request("DELETE", &format!("{path}/{made}"), &browser.key, &[], None);
    assert_eq!(house.send(revoke).await.status, 200);
    let again = house.send(request("POST", "/v1/auth/reauth", &browser.key, &[], None)).await;
    assert_eq!(again.status, 202);
    house.town.deliver().await;
    let cookie = format!("svc_pre={}", cookies(&again)[0].1.split(';').next().unwrap());
    let proof = json!({ "challenge": again.id(), "code": code(&house) });
    let fresh = confirm(&house, &cookie, proof).await;
    assert_eq!((fresh.status, &fresh.body["id"]), (200, &json!(browser.session)));
    assert_eq!(fresh.body["org"], house.org.to_string());
    // The session goes on under another token.
    assert_eq!(house.get("/v1/session", &browser.key).await.status, 401);
    let token = cookies(&fresh)[0].1.split(';').next().unwrap().to_owned();
    let key = format!("session:{token}:{}", fresh.body["csrf"].as_str().unwrap());
    assert_eq!(house.send(request("POST", &path, &key, &[], body())).await.status, 201);
}

#[tokio::test]
async fn a_session_chooses_its_org_under_a_new_token_and_no_org_of_others() {
    let house = House::new().await;
    let browser = house.browser_of_no_org(ADA).await;
    let shown = house.get("/v1/session", &browser.key).await;
    assert_eq!((&shown.body["org"], &shown.body["orgs"]), (&Value::Null, &json!([])));
    assert_eq!(house.get("/v1/agents", &browser.key).await.code(), (403, "role_required"));
    let choose = |org: String| {
        request("POST", "/v1/session/org", &browser.key, &[], Some(json!({ "org": org })))
    };
    let foreign = house.send(choose(house.org.to_string())).await;
    let nobodys = house.send(choose("org_01h455vb4pex5vsknk084sn02q".to_owned())).await;
    assert_eq!((foreign.code(), nobodys.code()), ((404, "not_found"), (404, "not_found")));
    house.member(ADA, Role::Viewer).await;
    let chosen = house.send(choose(house.org.to_string())).await;
    assert_eq!((chosen.status, &chosen.body["member"]["role"]), (200, &json!("viewer")));
    assert_eq!(house.get("/v1/session", &browser.key).await.status, 401, "the old token");
}

#[tokio::test]
async fn a_role_that_becomes_another_voids_the_choice_and_a_removal_ends_it() {
    let house = House::new().await;
    let browser = house.browser(ADA, Role::Viewer).await;
    assert_eq!(house.get("/v1/agents", &browser.key).await.status, 200);
    let (_, mut member) = house.member(ADA, Role::Viewer).await;
    member.role = Role::Owner;
    house.write(member.clone()).await;
    // A change looks at once; a read may come a moment late.
    let new = Some(json!({ "name": "one" }));
    let made = house.send(request("POST", "/v1/agents", &browser.key, &[], new)).await;
    assert_eq!(made.code(), (403, "role_required"));
    house.clock.pass(REMEMBERED_FOR);
    // A token from before the promotion is no owner's, and no viewer's either.
    assert_eq!(house.get("/v1/agents", &browser.key).await.code(), (403, "role_required"));
    member.role = Role::Viewer;
    house.write(member.clone()).await;
    house.clock.pass(REMEMBERED_FOR);
    assert_eq!(house.get("/v1/agents", &browser.key).await.status, 200);
    member.removed_at = Some(member.joined_at);
    house.write(member).await;
    house.clock.pass(REMEMBERED_FOR);
    assert_eq!(house.get("/v1/agents", &browser.key).await.code(), (403, "role_required"));
}

#[tokio::test]
async fn a_token_from_before_a_promotion_rises_only_with_another_sign_in() {
    let house = House::new().await;
    let browser = house.browser(ADA, Role::Viewer).await;
    house.clock.pass(Duration::from_mins(1));
    let (_, member) = house.member(ADA, Role::Viewer).await;
    let owner = Member { role: Role::Owner, role_since: house.clock.now(), ..member };
    house.write(owner).await;
    let org = Some(json!({ "org": house.org }));
    let choose = |key: &str| request("POST", "/v1/session/org", key, &[], org.clone());
    let stolen = house.send(choose(&browser.key)).await;
    assert_eq!(stolen.code(), (403, "reauthentication_required"));
    house.clock.pass(Duration::from_mins(1));
    let again = house.send(request("POST", "/v1/auth/reauth", &browser.key, &[], None)).await;
    house.town.deliver().await;
    let cookie = format!("svc_pre={}", cookies(&again)[0].1.split(';').next().unwrap());
    let proof = json!({ "challenge": again.id(), "code": code(&house) });
    let fresh = confirm(&house, &cookie, proof).await;
    let token = cookies(&fresh)[0].1.split(';').next().unwrap().to_owned();
    let key = format!("session:{token}:{}", fresh.body["csrf"].as_str().unwrap());
    let risen = house.send(choose(&key)).await;
    assert_eq!((risen.status, &risen.body["member"]["role"]), (200, &json!("owner")));
}

#[tokio::test]
async fn whoever_comes_back_is_another_and_no_session_from_before_is_theirs() {
    let house = House::new().await;
    let browser = house.browser(ADA, Role::Viewer).await;
    let (user, member) = house.member(ADA, Role::Viewer).await;
    let key = browser.key;
    assert_eq!(house.get("/v1/agents", &key).await.status, 200);
    house.write(Member { removed_at: Some(member.joined_at), ..member.clone() }).await;
    house.clock.pass(Duration::from_hours(1));
    let now = house.clock.now();
    let id = MemberId::from_uuid(Uuid::from_u128(77));
    let back = Member { id, joined_at: now, role_since: now, ..member };
    house.write(back).await;
    house.clock.pass(REMEMBERED_FOR);
    assert_eq!(house.get("/v1/agents", &key).await.code(), (403, "role_required"));
    let org = Some(json!({ "org": house.org }));
    let stolen = house.send(request("POST", "/v1/session/org", &key, &[], org)).await;
    assert_eq!(stolen.code(), (403, "reauthentication_required"));
    assert_eq!(house.town.people.end_in(house.org, user).await.unwrap(), 1);
    house.clock.pass(REMEMBERED_FOR);
    assert_eq!(house.get("/v1/session", &key).await.status, 401);
}

#[tokio::test]
async fn people_see_and_end_their_own_sessions_and_no_others() {
    let house = House::new().await;
    let here = house.browser(ADA, Role::Admin).await;
    house.clock.pass(std::time::Duration::from_secs(1));
    let there = house.browser_in(house.org, ADA, Role::Admin).await;
    let eve = house.browser("eve@example.com", Role::Admin).await;
    let listed = house.get("/v1/sessions?limit=1", &here.key).await;
    assert_eq!(listed.body["data"][0]["id"], there.session.to_string());
    assert_eq!(listed.body["data"][0]["current"], false);
    assert_eq!(listed.body["data"][0]["user_agent_family"], "Firefox");
    let next = listed.body["next_cursor"].as_str().unwrap();
    let next = house.get(&format!("/v1/sessions?limit=1&cursor={next}"), &here.key).await;
    assert_eq!(
        (&next.body["data"][0]["current"], &next.body["has_more"]),
        (&json!(true), &json!(false))
    );
    let end = async |id: String, key: &str| {
        house.send(request("DELETE", &format!("/v1/sessions/{id}"), key, &[], None)).await
    };
    let foreign = end(here.session.to_string(), &eve.key).await;
    let nobodys = end("ses_01h455vb4pex5vsknk084sn02q".to_owned(), &eve.key).await;
    assert_eq!((foreign.code(), nobodys.code()), ((404, "not_found"), (404, "not_found")));
    assert_eq!(end(there.session.to_string(), &here.key).await.status, 200);
    assert_eq!(house.get("/v1/session", &there.key).await.status, 401);
    for _ in 0..2 {
        house.browser_in(house.org, ADA, Role::Admin).await;
    }
    let others = request("POST", "/v1/sessions/revoke_others", &here.key, &[], None);
    assert_eq!(house.send(others).await.body["ended"], 2);
    assert_eq!(house.get("/v1/session", &here.key).await.status, 200);
    assert_eq!(house.get("/v1/session", &eve.key).await.status, 200);
}

#[tokio::test]
async fn an_owner_sees_and_ends_the_sessions_of_members_that_are_for_the_org() {
    let house = House::new().await;
    let owner = house.browser("grace@example.com", Role::Owner).await;
    let (_, ada) = house.member(ADA, Role::Admin).await;
    let here = house.browser_in(house.org, ADA, Role::Admin).await;
    let elsewhere = house.browser_of_no_org(ADA).await;
    let list = async |member: MemberId, key: &str| {
        house.get(&format!("/v1/sessions?member={member}"), key).await
    };
    let listed = list(ada.id, &owner.key).await;
    assert_eq!(listed.body["data"].as_array().unwrap().len(), 1, "{}", listed.body);
    assert_eq!(listed.body["data"][0]["id"], here.session.to_string());
    assert_eq!(list(ada.id, &here.key).await.code(), (403, "role_required"));
    let end = async |id: SessionId, key: &str| {
        house.send(request("DELETE", &format!("/v1/sessions/{id}"), key, &[], None)).await
    };
    let new = NewOrg { name: "Elsewhere".to_owned(), time_zone: "UTC".to_owned() };
    let stranger = house.deployment().create_org(new).await.unwrap().org.id;
    let (_, unknown) = house.member_of(stranger, "eve@example.com", Role::Owner).await;
    let foreign = house.browser_in(stranger, "eve@example.com", Role::Owner).await;
    let nobodys = "ses_01h455vb4pex5vsknk084sn02q".parse().unwrap();
    let refused = async |id: SessionId, key: &str| {
        let answer = end(id, key).await;
        (answer.status, answer.body["error"]["message"].clone())
    };
    let none = refused(nobodys, &owner.key).await;
    for (id, key) in [
        (elsewhere.session, &owner.key),
        (foreign.session, &owner.key),
        (here.session, &foreign.key),
        (owner.session, &here.key),
    ] {
        assert_eq!(refused(id, key).await, none);
    }
    assert_eq!(list(unknown.id, &owner.key).await.code(), (404, "not_found"));
    house.clock.pass(Duration::from_mins(16));
    let stale = end(here.session, &owner.key).await;
    assert_eq!(stale.code(), (403, "reauthentication_required"));
    let owner = house.browser_in(house.org, "grace@example.com", Role::Owner).await;
    let ended = end(here.session, &owner.key).await;
    assert_eq!((ended.status, &ended.body["ended"]), (200, &json!(1)));
    assert!(ended.body["deed"].is_string(), "{}", ended.body);
    assert_eq!(house.get("/v1/session", &here.key).await.status, 401);
    assert_eq!(house.get("/v1/session", &elsewhere.key).await.status, 200);
    assert!(house.sealed().await.contains(&"session.revoked".to_owned()));
    assert_eq!(end(here.session, &owner.key).await.code(), (404, "not_found"));
}

#[tokio::test(start_paused = true)]
async fn a_stream_ends_within_a_minute_of_its_session() {
    let house = House::new().await;
    let browser = house.browser(ADA, Role::Viewer).await;
    let open = house.send_later(request("GET", "/v1/events", &browser.key, &[], None)).await;
    let body = open.unwrap().into_body();
    house.town.people.end(browser.user, browser.session).await.unwrap();
    let read = http_body_util::BodyExt::collect(body);
    let text = tokio::time::timeout(Duration::from_secs(61), read).await.unwrap().unwrap();
    let text = String::from_utf8(text.to_bytes().to_vec()).unwrap();
    assert!(text.contains("event: session_ended") && text.contains("unauthenticated"), "{text}");
}
