//! Forms of pages without script: where they lead, and those of other sites' pages.

use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use ledger::record::Member;
use model::Role;
use people::LinkedTo;
use serde_json::json;

use super::{
    house::{House, request},
    sign_in::{ADA, code, cookies, token},
};

/// The request of a page's form.
pub(super) fn form(path: &str, headers: &[(&str, &str)], body: String) -> Request<Full<Bytes>> {
    let mut request = Request::post(path)
        .header("host", "test")
        .header("accept", "text/html,*/*;q=0.8")
        .header("content-type", "application/x-www-form-urlencoded")
        .header("content-length", body.len());
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.body(Full::new(Bytes::from(body))).unwrap()
}

#[tokio::test]
async fn a_form_is_answered_by_the_page_that_was_asked_for() {
    let house = House::new().await;
    house.member(ADA, Role::Viewer).await;
    let body = Some(json!({ "email": ADA, "next": "/app/approvals?id=1" }));
    let answer = house.send(request("POST", "/v1/auth/start", "", &[], body)).await;
    house.town.deliver().await;
    let cookie = answer.headers["set-cookie"].to_str().unwrap().split(';').next().unwrap();
    // A page without a referrer names no origin; the browser says where it was sent from.
    let of = |site| [("cookie", cookie), ("origin", "null"), ("sec-fetch-site", site)];
    let (path, body) = ("/v1/auth/confirm", format!("token={}", token(&house)));
    let refused = house.send(form(path, &of("cross-site"), body.clone())).await;
    assert_eq!(refused.status, 403);
    let done = house.send(form(path, &of("same-origin"), body)).await;
    assert_eq!(
        (done.status, &done.headers["location"]),
        (303, &"/app/approvals?id=1".parse().unwrap())
    );
    assert_eq!(cookies(&done).len(), 2);
}

#[tokio::test]
async fn who_asks_by_a_form_goes_on_where_the_code_is_typed() {
    let house = House::new().await;
    house.member(ADA, Role::Viewer).await;
    let body = || "email=+Ada%40EXAMPLE.com&next=%2Fapp%2Fapprovals%3Fid%3D1".to_owned();
    let start = "/v1/auth/start";
    let own = [("origin", "null"), ("sec-fetch-site", "same-origin")];
    let asked = house.send(form(start, &own, body())).await;
    assert_eq!(asked.status, 303, "{}", asked.body);
    house.town.deliver().await;
    let page = asked.headers["location"].to_str().unwrap().to_owned();
    let challenge = page.strip_prefix("/auth/confirm?challenge=").unwrap();
    let [(name, value)] = &*cookies(&asked) else { panic!("{:?}", asked.headers) };
    assert!(name == "svc_pre" && value.contains("; HttpOnly; SameSite=Lax"), "{name} {value}");
    let cookie = format!("svc_pre={}", value.split(';').next().unwrap());
    let typed = format!("challenge={challenge}&code={}", code(&house));
    let stranger = house.send(form("/v1/auth/confirm", &own, typed.clone())).await;
    let again = format!("{page}&problem=unauthenticated");
    assert_eq!((stranger.status, &stranger.headers["location"]), (303, &again.parse().unwrap()));
    let headers = [("cookie", &*cookie), own[0], own[1]];
    let done = house.send(form("/v1/auth/confirm", &headers, typed)).await;
    assert_eq!(
        (done.status, &done.headers["location"]),
        (303, &"/app/approvals?id=1".parse().unwrap())
    );
    // An address that is nobody's is answered likewise.
    let nobody = house.send(form(start, &own, "email=nobody%40example.com&next=".to_owned())).await;
    assert_eq!((nobody.status, cookies(&nobody).len()), (303, 1), "{}", nobody.body);
}

#[tokio::test]
async fn a_form_of_another_sites_page_asks_for_nothing() {
    let house = House::new().await;
    house.member(ADA, Role::Viewer).await;
    let body = || "email=ada%40example.com".to_owned();
    #[rustfmt::skip]
    let refused: [&[(&str, &str)]; 7] = [
        &[("origin", "null")],
        &[("origin", "null"), ("sec-fetch-site", "cross-site")],
        &[("origin", "null"), ("sec-fetch-site", "none")],
        &[("origin", "null"), ("origin", "null"), ("sec-fetch-site", "same-origin")],
        &[("origin", "https://elsewhere.example")],
        &[("origin", "https://elsewhere.example"), ("sec-fetch-site", "same-origin")],
        &[("sec-fetch-site", "same-site")],
    ];
    for headers in refused {
        let answer = house.send(form("/v1/auth/start", headers, body())).await;
        assert_eq!(answer.status, 403, "{headers:?}");
        let page = String::from_utf8(answer.bytes.to_vec()).unwrap();
        assert!(page.contains("<code>origin_refused</code>"), "{page}");
        assert!(cookies(&answer).is_empty(), "{headers:?}");
    }
    // Where somebody wanted to go is known on the page that they are led back to, if it is of here.
    for (bad, on) in [
        ("next=%2Fapp%2Factions%3Fstate%3Dsealed", "&next=%2Fapp%2Factions%3Fstate%3Dsealed"),
        ("email=ada%40example.com&next=%2F%2Fevil.example", "&email=ada%40example.com"),
        ("email=ada%40example.com&email=eve%40example.com", ""),
        ("email=ada%40example.com&more=1&next=%2Fapp", "&next=%2Fapp&email=ada%40example.com"),
    ] {
        let own = [("origin", "null"), ("sec-fetch-site", "same-origin")];
        let answer = house.send(form("/v1/auth/start", &own, bad.to_owned())).await;
        let page = format!("/login?problem=validation_failed{on}");
        assert_eq!(
            (answer.status, &answer.headers["location"]),
            (303, &page.parse().unwrap()),
            "{bad}"
        );
    }
    house.town.deliver().await;
    assert!(house.town.sent.count() == 0, "nobody was written to");
}

#[tokio::test]
async fn a_line_break_of_a_note_is_one_letter_as_whoever_typed_it_sees_it() {
    let house = House::new().await;
    let (_, member) = house.member(ADA, Role::Viewer).await;
    house.write(Member { can_approve: true, ..member.clone() }).await;
    let held = house.refund(500).await;
    let id = held.body["approval"]["id"].as_str().unwrap().to_owned();
    let to = LinkedTo { org: house.org, approval: id.parse().unwrap(), member: member.id };
    let link = house.town.people.question(to).expose().clone();
    let asked = json!({ "token": link });
    let asked = house.send(request("POST", "/v1/approvals/link", "", &[], Some(asked))).await;
    let digest = asked.body["question"]["context_digest"].as_str().unwrap().to_owned();
    let own = [("origin", "null"), ("sec-fetch-site", "same-origin")];
    let deny = async |note: &str| {
        let note = pages::encoded(note);
        let fields = format!("token={link}&decision=deny&context_digest={digest}&note={note}");
        let answer = house.send(form("/v1/approvals/link", &own, fields)).await;
        (answer.status, answer.headers["location"].to_str().unwrap().to_owned())
    };
    let (half, page) = ("x".repeat(139), format!("/approve?t={link}"));
    // What is too long leads back to the page of the link, which can be answered again.
    let refused = deny(&format!("{half}\r\n{half}xx")).await;
    assert_eq!(refused, (303, format!("{page}&problem=validation_failed#notice")));
    let taken = deny(&format!("{half}\r\n{half}x")).await;
    assert_eq!(taken, (303, format!("{page}#asked")));
    let told = house.get(&format!("/v1/approvals/{id}"), &house.org_key).await;
    assert_eq!(told.body["decisions"][0]["note"], format!("{half}\n{half}x"));
}

#[tokio::test]
async fn a_client_that_sends_a_form_by_mistake_is_answered_as_a_client() {
    let house = House::new().await;
    let key = format!("Bearer {}", house.support.key);
    let mut call = form("/v1/actions", &[("authorization", &key)], "{}".to_owned());
    call.headers_mut().insert("accept", "*/*".parse().unwrap());
    let answer = house.send(call).await;
    assert_eq!(answer.code(), (415, "media_type_unsupported"), "{answer:?}");
}
