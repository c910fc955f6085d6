//! The link of a mail over the interface: read, answered once, followed for a while.

use std::time::Duration;

use admin::NewOrg;
use gate::ActionStore;
use ledger::record::Member;
use model::{Level, MemberId, OrgId, Role, Status, Verdict};
use people::LinkedTo;
use serde_json::{Value, json};

use super::house::{Answer, House, request};

const PATH: &str = "/v1/approvals/link";

/// A member who may approve, and nobody is signed in.
async fn approver(house: &House, email: &str, role: Role) -> Member {
    let (_, member) = house.member(email, role).await;
    let member = Member { can_approve: true, ..member };
    house.write(member.clone()).await;
    member
}

/// What stands behind `t=` in the mail to this member.
fn token(house: &House, org: OrgId, held: &Answer, member: MemberId) -> String {
    let approval = held.body["approval"]["id"].as_str().unwrap().parse().unwrap();
    house.town.people.question(LinkedTo { org, approval, member }).expose().clone()
}

async fn send(house: &House, body: Value) -> Answer {
    house.send(request("POST", PATH, "", &[], Some(body))).await
}

async fn read(house: &House, token: &str) -> Answer {
    send(house, json!({ "token": token })).await
}

async fn answer(house: &House, token: &str, decision: &str, shown: &Value) -> Answer {
    let body = json!({ "token": token, "decision": decision, "context_digest": shown });
    send(house, body).await
}

#[tokio::test]
async fn a_link_shows_what_is_asked_and_answers_it_once() {
    let house = House::new().await;
    let ann = approver(&house, "ann@example.com", Role::Viewer).await;
    let held = house.refund(500).await;
    let token = token(&house, house.org, &held, ann.id);
    // However often it is read, by whoever reads mails before people do, nothing is decided.
    for _ in 0..3 {
        let shown = read(&house, &token).await;
        assert_eq!((shown.status, &shown.body["status"]), (200, &json!("open")), "{shown:?}");
        let asked = &shown.body["question"];
        assert_eq!(asked["context"]["args_shown"], json!({ "args.amount": 500 }));
        assert_eq!([&asked["may_decide"], &asked["why_not"]], [&json!(true), &Value::Null]);
        assert_eq!(asked["eligible"], json!([{ "id": ann.id, "role": "viewer" }]));
    }
    for method in ["GET", "HEAD"] {
        for path in [PATH.to_owned(), format!("{PATH}?t={token}")] {
            let sent = request(method, &path, "", &[], None);
            assert_eq!(house.router.answer(sent).await.status(), 405, "{method}");
        }
    }
    let digest = read(&house, &token).await.body["question"]["context_digest"].clone();
    let given = answer(&house, &token, "approve", &digest).await;
    assert_eq!((given.status, &given.body["status"]), (200, &json!("used")), "{given:?}");
    assert_eq!(
        [&given.body["decision"], &given.body["approval_status"], &given.body["question"]],
        [&json!("approve"), &json!("approved"), &Value::Null]
    );
    let done =
        house.get(&format!("/v1/actions/{}?wait=5", held.id()), &house.support.key).await.body;
    assert_eq!((&done["status"], house.refund.runs()), (&json!("executed"), 1));
    for decision in ["approve", "deny"] {
        assert_eq!(answer(&house, &token, decision, &digest).await.code(), (410, "link_used"));
    }
    assert_eq!(house.refund.runs(), 1);
    let path = format!("/v1/approvals/{}", given.body["approval"].as_str().unwrap());
    let told = house.get(&path, &house.org_key);
    let decision = told.await.body["decisions"][0].clone();
    assert_eq!([&decision["by"], &decision["assurance"]], [&json!(ann.id), &json!("email_link")]);
}

#[tokio::test]
async fn a_used_link_that_is_shown_again_tells_how_the_action_stands_and_nothing_else() {
    let house = House::new().await;
    let ann = approver(&house, "ann@example.com", Role::Viewer).await;
    let held = house.refund(500).await;
    let token = token(&house, house.org, &held, ann.id);
    let digest = read(&house, &token).await.body["question"]["context_digest"].clone();
    answer(&house, &token, "approve", &digest).await;
    house.get(&format!("/v1/actions/{}?wait=5", held.id()), &house.support.key).await;
    let followed = read(&house, &token).await;
    assert_eq!((followed.status, &followed.body["status"]), (200, &json!("used")));
    assert_eq!(followed.body["action"]["status"], "executed");
    let found =
        ["verdict", "level", "rows_changed"].map(|name| followed.body["action"][name].clone());
    assert_eq!(json!(found), json!(["VERIFIED", "L0", 1]));
    let page = house.get(&format!("/approve?t={token}"), "").await;
    let html = String::from_utf8(page.bytes.to_vec()).unwrap();
    assert!(html.contains("Reported") && !html.contains("Verified"), "nobody checked it: {html}");
    // Whatever a failed call left behind is told there, too.
    let action = house.store.action(house.org, held.id().parse().unwrap()).await.unwrap().unwrap();
    for (verdict, level, word) in [
        (Verdict::Mismatch, Level::L2, Some("Mismatch")),
        (Verdict::Verified, Level::L2, Some("Not applied")),
        (Verdict::Verified, Level::L0, None),
    ] {
        let mut failed = action.clone();
        let witness = failed.witness.as_mut().unwrap();
        (witness.verdict, witness.level, failed.status) = (verdict, level, Status::Failed);
        house.rewrite(failed).await;
        let page = house.get(&format!("/approve?t={token}"), "").await;
        let html = String::from_utf8(page.bytes.to_vec()).unwrap();
        let shown = ["Mismatch", "Not applied", "Verified", "Reported"];
        let shown: Vec<_> = shown.into_iter().filter(|word| html.contains(word)).collect();
        assert_eq!(shown, Vec::from_iter(word), "{html}");
    }
    house.rewrite(action).await;
    assert_eq!(followed.body["question"], Value::Null);
    let text = String::from_utf8(followed.bytes.to_vec()).unwrap();
    for untold in ["args", "500", "context", "shop.refund", &token] {
        assert!(!text.contains(untold), "{untold}: {text}");
    }
    house.clock.pass(Duration::from_mins(15) - Duration::from_millis(1));
    assert_eq!(read(&house, &token).await.status, 200);
    house.clock.pass(Duration::from_millis(1));
    assert_eq!(read(&house, &token).await.code(), (410, "link_used"));
}

#[tokio::test]
async fn a_link_that_is_over_shows_nothing_and_decides_nothing() {
    let house = House::new().await;
    let ann = approver(&house, "ann@example.com", Role::Viewer).await;
    let held = house.refund(500).await;
    let token = token(&house, house.org, &held, ann.id);
    let digest = read(&house, &token).await.body["question"]["context_digest"].clone();
    let stale = answer(&house, &token, "approve", &held.body["request_digest"]).await;
    assert_eq!((stale.status, stale.param()), (409, Some("context_digest")), "{stale:?}");
    house.clock.pass(Duration::from_mins(30));
    assert_eq!(read(&house, &token).await.code(), (410, "approval_expired"));
    let late = answer(&house, &token, "approve", &digest).await;
    assert_eq!(late.code(), (410, "approval_expired"));
    assert_eq!(read(&house, &token).await.code(), (410, "approval_expired"));
    assert_eq!(house.refund.runs(), 0);
}

#[tokio::test]
async fn what_others_settled_is_told_without_what_was_asked() {
    let house = House::new().await;
    let ann = approver(&house, "ann@example.com", Role::Viewer).await;
    let bob = approver(&house, "bob@example.com", Role::Viewer).await;
    let held = house.refund(500).await;
    let (anns, bobs) =
        (token(&house, house.org, &held, ann.id), token(&house, house.org, &held, bob.id));
    let digest = read(&house, &anns).await.body["question"]["context_digest"].clone();
    assert_eq!(answer(&house, &bobs, "deny", &digest).await.status, 200);
    let told = read(&house, &anns).await;
    assert_eq!((told.status, &told.body["status"]), (200, &json!("settled")));
    assert_eq!(told.body["approval_status"], "denied");
    assert_eq!([&told.body["question"], &told.body["decision"]], [&Value::Null, &Value::Null]);
    let decisions = &told.body["decisions"];
    assert_eq!((&decisions[0]["by"], &decisions[0]["decision"]), (&json!(bob.id), &json!("deny")));
    assert!(decisions[0].get("note").is_none() && decisions.as_array().unwrap().len() == 1);
    let late = answer(&house, &anns, "approve", &digest).await;
    assert_eq!(late.code(), (409, "approval_decided"));
    let sentence = late.body["error"]["message"].as_str().unwrap();
    assert_eq!(sentence, format!("the approval is already `denied`; decided by `{}`", bob.id));
}

#[tokio::test]
async fn the_page_of_whoever_was_second_says_who_decided() {
    let house = House::new().await;
    let ann = approver(&house, "ann@example.com", Role::Admin).await;
    let vie = approver(&house, "vie@example.com", Role::Viewer).await;
    let bob = approver(&house, "bob@example.com", Role::Viewer).await;
    let held = house.refund(500).await;
    let of = |member: &Member| token(&house, house.org, &held, member.id);
    let (anns, vies, bobs) = (of(&ann), of(&vie), of(&bob));
    let digest = read(&house, &anns).await.body["question"]["context_digest"].clone();
    assert_eq!(answer(&house, &bobs, "deny", &digest).await.status, 200);
    let page = async |path: &str, key: &str| {
        let page = house.get(path, key).await;
        let html = String::from_utf8(page.bytes.to_vec()).unwrap();
        html.split("<main").nth(1).unwrap_or(&html).to_owned()
    };
    for (link, is_told) in [(&anns, true), (&vies, false)] {
        let path = format!("/approve?t={link}");
        for (path, words) in [
            (path.clone(), "No longer open"),
            (format!("{path}&problem=approval_decided"), "It is no longer open."),
        ] {
            let html = page(&path, "").await;
            assert!(html.contains(words) && html.contains(" denied it "), "{html}");
            assert!(html.contains(&bob.id.to_string()), "{html}");
            // As everywhere, addresses are for whoever may know them.
            assert_eq!(html.contains("<bdi>bob@example.com</bdi>"), is_told, "{html}");
            assert!(html.contains("by an emailed link") && !html.contains("&lt;"), "{html}");
        }
    }
    let approval = held.body["approval"]["id"].as_str().unwrap();
    let browser = house.browser_in(house.org, "ann@example.com", Role::Admin).await;
    let path = format!("/app/approvals/{approval}?problem=approval_decided");
    let html = page(&path, &browser.key).await;
    let told = html.split("It is no longer open.").nth(1).unwrap().split("</p>").next().unwrap();
    assert!(told.contains("<bdi>bob@example.com</bdi>") && told.contains(" denied it "), "{told}");
    assert!(told.contains("Your decision changed nothing.") && !told.contains("&lt;"), "{told}");
    assert!(!html.contains("can approve"), "nobody may any more: {html}");
}

#[tokio::test]
async fn a_link_is_worth_nothing_once_its_member_is_gone_or_may_answer_no_more() {
    let house = House::new().await;
    let ann = approver(&house, "ann@example.com", Role::Viewer).await;
    let held = house.refund(500).await;
    let token = token(&house, house.org, &held, ann.id);
    let digest = read(&house, &token).await.body["question"]["context_digest"].clone();
    house.write(Member { can_approve: false, revision: 2, ..ann.clone() }).await;
    assert_eq!(read(&house, &token).await.code(), (403, "not_an_approver"));
    let refused = answer(&house, &token, "approve", &digest).await;
    assert_eq!(refused.code(), (403, "not_an_approver"));
    let gone = Member { removed_at: Some(ann.joined_at), revision: 3, ..ann };
    house.write(gone).await;
    assert_eq!(read(&house, &token).await.code(), (401, "unauthenticated"));
    let refused = answer(&house, &token, "approve", &digest).await;
    assert_eq!(refused.code(), (401, "unauthenticated"));
    assert_eq!(house.refund.runs(), 0);
}

#[tokio::test]
async fn another_orgs_link_and_one_that_is_made_up_open_nothing() {
    let house = House::new().await;
    let ann = approver(&house, "ann@example.com", Role::Viewer).await;
    let held = house.refund(500).await;
    let new = NewOrg { name: "Elsewhere".to_owned(), time_zone: "UTC".to_owned() };
    let other = house.deployment().create_org(new).await.unwrap().org.id;
    let (_, theirs) = house.member_of(other, "eve@example.com", Role::Owner).await;
    let theirs = Member { can_approve: true, ..theirs };
    house.write(theirs.clone()).await;
    let right = token(&house, house.org, &held, ann.id);
    let digest = read(&house, &right).await.body["question"]["context_digest"].clone();
    let secret = right.rsplit('.').next().unwrap();
    let approval = held.body["approval"]["id"].as_str().unwrap();
    for shown in [
        // Links that this server might have made: of another org to this question, for its member.
        token(&house, other, &held, theirs.id),
        token(&house, other, &held, ann.id),
        token(&house, house.org, &held, theirs.id),
        // The right one with another's ids.
        format!("{other}.{approval}.{}.{secret}", ann.id),
        format!("{}.{approval}.{}.{secret}", house.org, theirs.id),
        format!("{right}x"),
        "x".to_owned(),
    ] {
        assert_eq!(read(&house, &shown).await.code(), (401, "unauthenticated"), "{shown}");
        let refused = answer(&house, &shown, "approve", &digest).await;
        assert_eq!(refused.code(), (401, "unauthenticated"), "{shown}");
    }
    // An invitation's or a session's token is none of a question, however right it is.
    let invite = house.invite_to(house.org, "new@example.com", Role::Admin).await;
    let shown = house.link_of(invite.id);
    assert_eq!(read(&house, &shown).await.code(), (401, "unauthenticated"));
    assert_eq!(house.refund.runs(), 0);
    assert_eq!(answer(&house, &right, "approve", &digest).await.status, 200);
}

#[tokio::test]
async fn a_link_is_shown_in_a_body_that_makes_sense_and_by_no_other_site() {
    let house = House::new().await;
    let ann = approver(&house, "ann@example.com", Role::Viewer).await;
    let held = house.refund(500).await;
    let token = token(&house, house.org, &held, ann.id);
    let digest = read(&house, &token).await.body["question"]["context_digest"].clone();
    for (body, param) in [
        (json!({}), "token"),
        (json!({ "token": "x".repeat(257) }), "token"),
        (json!({ "token": token, "decision": "yes", "context_digest": digest }), "decision"),
        (json!({ "token": token, "decision": "approve" }), "context_digest"),
        (json!({ "token": token, "context_digest": digest }), "decision"),
        (json!({ "token": token, "note": "Why." }), "decision"),
        (
            json!({ "token": token, "decision": "deny", "context_digest": digest, "note": "" }),
            "note",
        ),
    ] {
        let refused = send(&house, body).await;
        assert_eq!((refused.code(), refused.param()), ((400, "validation_failed"), Some(param)));
    }
    let body = Some(json!({ "token": token, "decision": "approve", "context_digest": digest }));
    for headers in [("origin", "http://evil.example"), ("sec-fetch-site", "cross-site")] {
        let refused = house.send(request("POST", PATH, "", &[headers], body.clone())).await;
        assert_eq!(refused.code(), (403, "origin_refused"), "{headers:?}");
    }
    assert_eq!(house.refund.runs(), 0);
}

#[tokio::test]
async fn no_event_and_no_deed_has_a_link() {
    let house = House::new().await;
    let ann = approver(&house, "ann@example.com", Role::Viewer).await;
    let held = house.refund(500).await;
    let token = token(&house, house.org, &held, ann.id);
    let digest = read(&house, &token).await.body["question"]["context_digest"].clone();
    let body = json!({
        "token": token, "decision": "approve", "context_digest": digest, "note": "It came back.",
    });
    assert_eq!(send(&house, body).await.status, 200);
    let path = format!("/v1/actions/{}?wait=5&expand[]=events", held.id());
    let mut told = house.get(&path.replace("[]", "%5B%5D"), &house.org_key).await.body.to_string();
    for deed in house.store.deeds(house.org) {
        told.push_str(&deed.body);
    }
    let events = ledger::EventStore::events_after(&*house.store, house.org, 0, 1_000).await;
    let told = format!("{told}{:?}", events.unwrap());
    let secret = token.rsplit('.').next().unwrap();
    assert!(told.contains("email_link") && !told.contains(secret) && !told.contains("ann@"));
}

#[tokio::test]
async fn whoever_was_removed_is_told_the_same_by_the_link_and_by_their_session() {
    let house = House::new().await;
    let owner = house.browser("owner@example.com", Role::Owner).await;
    let ann = approver(&house, "ann@example.com", Role::Viewer).await;
    let anns = house.browser_in(house.org, "ann@example.com", Role::Viewer).await;
    let held = house.refund(500).await;
    let token = token(&house, house.org, &held, ann.id);
    let shown = read(&house, &token).await.body["question"]["context_digest"].clone();
    let path = format!("/v1/members/{}", ann.id);
    assert_eq!(house.send(request("DELETE", &path, &owner.key, &[], None)).await.status, 200);
    let by_link = answer(&house, &token, "approve", &shown).await;
    let approval = held.body["approval"]["id"].as_str().unwrap();
    let path = format!("/v1/approvals/{approval}/approve");
    let body = Some(json!({ "context_digest": shown }));
    let by_session = house.send(request("POST", &path, &anns.key, &[], body)).await;
    let told = (401, "unauthenticated");
    assert_eq!([by_link.code(), by_session.code()], [told, told]);
    assert_eq!(house.get("/v1/members", &anns.key).await.code(), told);
}
