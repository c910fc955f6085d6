//! Whom a call is on behalf of, as its agent writes it: whoever is named does not decide, and who
//! decides is told where nobody is.

use std::time::Duration;

use ledger::record::Member;
use model::Role;
use serde_json::{Value, json};

use super::house::{Answer, House, people::Browser, request};

const ANN: &str = "ann@example.com";

async fn approver(house: &House, email: &str, role: Role) -> (Browser, Member) {
    let (_, member) = house.member(email, role).await;
    let member = Member { can_approve: true, ..member };
    house.write(member.clone()).await;
    (house.browser_in(house.org, email, role).await, member)
}

/// A call that waits, which the agent says is on behalf of this.
async fn held(house: &House, reference: &str) -> String {
    let stated = [("service-on-behalf-of", reference)];
    let call = Some(json!({ "tool": "shop.refund", "args": { "amount": 500 } }));
    let held = house.send(request("POST", "/v1/actions", &house.support.key, &stated, call)).await;
    assert_eq!(held.status, 202, "{reference}: {held:?}");
    held.body["approval"]["id"].as_str().unwrap().to_owned()
}

async fn shown(house: &House, id: &str, by: &Browser) -> Value {
    house.get(&format!("/v1/approvals/{id}"), &by.key).await.body
}

async fn answer(house: &House, (id, verb): (&str, &str), by: &Browser) -> Answer {
    let digest = shown(house, id, by).await["context_digest"].clone();
    let body = Some(json!({ "context_digest": digest }));
    house.send(request("POST", &format!("/v1/approvals/{id}/{verb}"), &by.key, &[], body)).await
}

async fn mine(house: &House, query: &str, by: &Browser) -> Vec<Value> {
    let page = house.get(&format!("/v1/approvals?mine=true&{query}"), &by.key).await;
    assert_eq!(page.status, 200, "{}", page.body);
    page.body["data"].as_array().unwrap().iter().map(|it| it["id"].clone()).collect()
}

#[tokio::test]
async fn whoever_is_named_in_whatever_form_does_not_decide() {
    let house = House::new().await;
    let (ann, member) = approver(&house, ANN, Role::Admin).await;
    let (bob, bobs) = approver(&house, "bob@example.com", Role::Viewer).await;
    let ids = [member.id.to_string(), member.user.to_string()];
    let forms = [
        "ANN@example.com",
        "member:ann@example.com",
        "user:ann@example.com",
        "mailto:ann@example.com",
        "acct:ann@example.com",
        "<ann@example.com>",
        "\"ann@example.com\"",
        "'ann@example.com'",
        "ann@example.com.",
        "ann@example.com,",
        "ann@example.com;zoe@example.com",
        "ann%40example.com",
        "ann%2540example.com",
        "ann+refunds@example.com",
        "user-ann@example.com-prod",
    ];
    let of_ids = ids.iter().flat_map(|id| {
        [id.clone(), format!("member:{id}"), format!("<{id}>"), id.to_ascii_uppercase()]
    });
    for form in forms.into_iter().map(str::to_owned).chain(of_ids) {
        let id = held(&house, &form).await;
        let seen = shown(&house, &id, &ann).await;
        assert_eq!(
            [&seen["may_decide"], &seen["why_not"]],
            [&json!(false), &json!("self_approval")]
        );
        assert_eq!(seen["eligible"], json!([{ "id": bobs.id, "role": "viewer" }]), "{form}");
        assert!(
            !seen["warnings"].as_array().unwrap().contains(&json!("excludes_nobody")),
            "{form}"
        );
        for verb in ["approve", "deny"] {
            let refused = answer(&house, (&id, verb), &ann).await;
            assert_eq!(refused.code(), (403, "self_approval"), "{form}");
        }
        assert_eq!(mine(&house, "limit=100", &ann).await, [] as [Value; 0], "{form}");
        assert_eq!(mine(&house, "limit=1", &bob).await, [json!(id)], "{form}");
        assert_eq!(answer(&house, (&id, "deny"), &bob).await.body["status"], "denied", "{form}");
    }
}

#[tokio::test]
async fn a_list_of_what_waits_for_somebody_is_full_whoever_else_is_named_in_between() {
    let house = House::new().await;
    let (ann, _) = approver(&house, ANN, Role::Admin).await;
    let held = async |reference| {
        house.clock.pass(Duration::from_millis(1));
        held(&house, reference).await
    };
    let oldest = held("mailto:ann@example.com").await;
    let first = held("zoe").await;
    let page = async |query: &str| {
        let path = format!("/v1/approvals?mine=true&limit=1{query}");
        house.get(&path, &ann.key).await.body
    };
    // What is left is hers to answer none of, so nothing is.
    let all = page("").await;
    assert_eq!([&all["data"][0]["id"], &all["has_more"]], [&json!(first), &json!(false)]);
    let bob = approver(&house, "bob@example.com", Role::Viewer).await.0;
    assert_eq!(answer(&house, (&oldest, "deny"), &bob).await.status, 200);
    held("mailto:ann@example.com").await;
    let last = held("zoe").await;
    assert_eq!(mine(&house, "limit=100", &ann).await, [json!(last), json!(first)]);
    let newest = page("").await;
    assert_eq!([&newest["data"][0]["id"], &newest["has_more"]], [&json!(last), &json!(true)]);
    let cursor = newest["next_cursor"].as_str().unwrap();
    let rest = page(&format!("&cursor={cursor}")).await;
    assert_eq!([&rest["data"][0]["id"], &rest["has_more"]], [&json!(first), &json!(false)]);
}

#[tokio::test]
async fn a_name_that_no_member_has_is_told_to_who_decides_where_the_rule_excludes_by_it() {
    let house = House::new().await;
    let (ann, _) = approver(&house, ANN, Role::Admin).await;
    house.member("zoe@example.com", Role::Viewer).await;
    let warns = async |reference: &str| {
        let id = held(&house, reference).await;
        let seen = shown(&house, &id, &ann).await;
        assert_eq!(answer(&house, (&id, "deny"), &ann).await.status, 200);
        let in_context =
            seen["context"]["warnings"].as_array().unwrap().contains(&json!("excludes_nobody"));
        let told = seen["warnings"].as_array().unwrap().contains(&json!("excludes_nobody"));
        assert_eq!(in_context, told);
        told
    };
    for reference in ["customer-7", "xann@example.com", "gone@example.com", "mem_0", "usr_"] {
        assert!(warns(reference).await, "{reference}");
    }
    // An agent learns nothing of who is a member.
    let id = held(&house, "gone@example.com").await;
    let own = house.get(&format!("/v1/approvals/{id}"), &house.support.key).await.body;
    assert_eq!(own["warnings"].as_array().unwrap().len(), 2, "{own}");
    assert!(!own.to_string().contains("excludes_nobody"), "{own}");
    assert_eq!(answer(&house, (&id, "deny"), &ann).await.status, 200);
    // Whoever may decide nothing is somebody all the same.
    assert!(!warns("mailto:zoe@example.com").await);
    let id = held(&house, "customer-7").await;
    let page = house.get(&format!("/app/approvals/{id}"), &ann.key).await;
    let page = String::from_utf8(page.bytes.to_vec()).unwrap();
    assert!(page.contains("Nobody is excluded by name."), "{page}");
}

#[tokio::test]
async fn where_nobody_is_excluded_nobody_is_missed() {
    let house = House::new().await;
    let (ann, _) = approver(&house, ANN, Role::Owner).await;
    let settings = Some(json!({ "approvals": { "allow_single_member": true } }));
    let set = house.send(request("POST", "/v1/org", &ann.key, &[], settings)).await;
    assert_eq!(set.status, 200, "{}", set.body);
    let id = held(&house, "customer-7").await;
    let seen = shown(&house, &id, &ann).await;
    assert_eq!(seen["excluded"], json!([]), "the only member decides");
    assert!(!seen["warnings"].as_array().unwrap().contains(&json!("excludes_nobody")), "{seen}");
}
