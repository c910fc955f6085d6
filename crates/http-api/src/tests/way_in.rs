//! The way in: from a link to the page that it is for, with nothing asked twice.

use std::time::Duration;

use admin::NewOrg;
use http::Request;
use http_body_util::Full;
use ledger::record::Member;
use model::{Clock, Role};
use people::Signup;

use super::{
    console::text,
    forms::form,
    house::{Answer, House, people::browser_key, request},
    sign_in::{ADA, code, cookies},
};
use crate::Mail;

const PAGE: &str = "/app/approvals/apr_01k6ga3wvwd2nq7x5k9z8y6t3s";
const OWN: [(&str, &str); 2] = [("origin", "null"), ("sec-fetch-site", "same-origin")];

fn leads_to(answer: &Answer) -> (u16, &str) {
    (answer.status, answer.headers.get("location").map_or("", |to| to.to_str().unwrap()))
}

/// The value of a field that a page's form has.
fn field<'a>(page: &'a str, name: &str) -> Option<&'a str> {
    let field = page.split("<input ").find(|it| it.contains(&format!("name=\"{name}\"")))?;
    field.split("value=\"").nth(1)?.split('"').next()
}

fn plain(text: &str) -> String {
    text.replace("&amp;", "&")
}

/// Reads a page with the cookie of a browser.
async fn read(house: &House, path: &str, cookie: &str) -> Answer {
    let request = Request::get(path).header("host", "test").header("cookie", cookie);
    house.send(request.body(Full::default()).unwrap()).await
}

/// Sends the form of the page behind this link as it is filled in, types the code of the mail, and
/// returns the answer with the cookie of the session.
async fn through(house: &House, link: &str, email: &str) -> (Answer, String) {
    let page = text(&house.get(link, "").await);
    let next = field(&page, "next").map(|next| format!("&next={}", pages::encoded(&plain(next))));
    let fields = format!("email={}{}", pages::encoded(email), next.unwrap_or_default());
    let asked = house.send(form("/v1/auth/start", &OWN, fields)).await;
    house.town.deliver().await;
    let cookie = format!("svc_pre={}", cookies(&asked)[0].1.split(';').next().unwrap());
    let challenge = leads_to(&asked).1.split_once('=').unwrap().1.to_owned();
    let headers = [("cookie", &*cookie), OWN[0], OWN[1]];
    let fields = format!("challenge={challenge}&code={}", code(house));
    let done = house.send(form("/v1/auth/confirm", &headers, fields)).await;
    let session = cookies(&done).into_iter().find(|(name, _)| name == "svc_session").unwrap();
    let session = format!("svc_session={}", session.1.split(';').next().unwrap());
    (done, session)
}

#[tokio::test]
async fn the_root_leads_to_the_console() {
    let house = House::new().await;
    assert_eq!(leads_to(&house.get("/", "").await), (303, "/app"));
    assert_eq!(house.get("/?a=b", "").await.status, 400);
}

#[tokio::test]
async fn a_link_carries_the_address_and_an_address_alone() {
    let house = House::new().await;
    let page = text(&house.get("/login?email=Ada%40example.com", "").await);
    assert_eq!(field(&page, "email"), Some(ADA), "{page}");
    for bad in ["no-address", "", "%22%3E%3Cscript%3E%40x.com", "a%0d%0ab%40example.com"] {
        let page = text(&house.get(&format!("/login?email={bad}"), "").await);
        assert!(!page.contains("value=") && page.contains(" autofocus"), "{page}");
    }
}

#[tokio::test]
async fn no_page_promises_a_mail_that_does_not_leave() {
    let house = House::new().await;
    let confirm = "/auth/confirm?challenge=chal_01k6ga3wvwee7g9h2j4k6m8n0p";
    let invite = house.invite_to(house.org, "new@example.com", Role::Viewer).await;
    let join = format!("/login?invite={}", house.link_of(invite.id));
    for (mail, asking, typing) in [
        (Mail::Leaves, "We email you a link and a code.", "a link and a code are on their way"),
        (Mail::Stuck, "Mail is delayed.", "<h1>Mail is delayed</h1>"),
        (Mail::Off, "This service sends no mail.", "no link or code will arrive"),
    ] {
        *house.probe.mail.lock().unwrap() = mail;
        for (path, told) in [("/login", asking), (&join, asking), (confirm, typing)] {
            let page = text(&house.get(path, "").await);
            assert!(page.contains(told), "{mail:?}: {told} is not in {page}");
            assert_eq!(page.contains("on their way"), mail == Mail::Leaves && path == confirm);
            assert_eq!(page.contains("We email you"), mail != Mail::Off && path != confirm);
        }
    }
}

#[tokio::test]
async fn who_is_invited_joins_on_the_way_and_comes_out_at_the_page_of_the_link() {
    let house = House::new().await;
    let invite = house.invite_to(house.org, "new@example.com", Role::Viewer).await;
    let token = house.link_of(invite.id);
    let link = format!("/login?invite={token}&next={}", pages::encoded(PAGE));
    let page = text(&house.get(&link, "").await);
    assert!(page.contains("Join <bdi>Acme</bdi>"), "{page}");
    let (done, session) = through(&house, &link, "new@example.com").await;
    assert_eq!(leads_to(&done), (303, PAGE));
    let shown = read(&house, "/v1/session", &session).await.body;
    assert_eq!(
        (&shown["member"]["role"], &shown["org"]),
        (&"viewer".into(), &house.org.to_string().into())
    );
    assert!(house.sealed().await.contains(&"member.added".to_owned()));
    // The same link, by whoever is in already: nothing is asked.
    assert_eq!(
        leads_to(&read(&house, &link, &session).await),
        (303, &*format!("/app/join?invite={token}&next={}", pages::encoded(PAGE)))
    );
    let join = format!("/app/join?invite={token}&next={}", pages::encoded(PAGE));
    assert_eq!(leads_to(&read(&house, &join, &session).await), (303, PAGE));
    let (again, _) = through(&house, &link, "new@example.com").await;
    assert_eq!(leads_to(&again), (303, PAGE));
}

#[tokio::test]
async fn who_joins_a_second_org_goes_on_in_that() {
    let house = House::new().await;
    let new = NewOrg { name: "Elsewhere".to_owned(), time_zone: "UTC".to_owned() };
    let other = house.deployment().create_org(new).await.unwrap().org.id;
    house.member_of(other, ADA, Role::Owner).await;
    let invite = house.invite_to(house.org, ADA, Role::Viewer).await;
    let link = format!("/login?invite={}&next={}", house.link_of(invite.id), pages::encoded(PAGE));
    let (done, session) = through(&house, &link, ADA).await;
    assert_eq!(leads_to(&done), (303, PAGE));
    let shown = read(&house, "/v1/session", &session).await.body;
    assert_eq!(shown["org"], house.org.to_string());
}

#[tokio::test]
async fn an_invitation_of_somebody_else_or_that_is_over_is_told_on_its_own_page() {
    let house = House::new().await;
    house.member(ADA, Role::Viewer).await;
    let invite = house.invite_to(house.org, "new@example.com", Role::Owner).await;
    let join = format!("/app/join?invite={}", house.link_of(invite.id));
    let link = format!("/login?invite={}", house.link_of(invite.id));
    // The link is another's: who signs in is who they were, and gains nothing.
    let told = format!("{join}&problem=invite_expired");
    let (done, session) = through(&house, &link, ADA).await;
    assert_eq!(leads_to(&done), (303, &*told));
    let shown = read(&house, "/v1/session", &session).await.body;
    assert_eq!(shown["member"]["role"], "viewer");
    // It was taken back meanwhile.
    house.operator().revoke_invite(invite.id).await.unwrap();
    let (done, session) = through(&house, &link, "new@example.com").await;
    assert_eq!(leads_to(&done), (303, &*told));
    assert_eq!(read(&house, "/v1/session", &session).await.body["org"], serde_json::Value::Null);
    let page = text(&read(&house, &told, &session).await);
    assert!(page.contains("This invitation is no longer valid."), "{page}");
}

#[tokio::test]
async fn where_nobody_new_is_taken_a_sign_in_joins_nobody() {
    let house = House::that_takes(Signup::Closed).await;
    let invite = house.invite_to(house.org, "new@example.com", Role::Viewer).await;
    let link = format!("/login?invite={}", house.link_of(invite.id));
    let (done, session) = through(&house, &link, "new@example.com").await;
    let told = format!("/app/join?invite={}&problem=signup_closed", house.link_of(invite.id));
    assert_eq!(leads_to(&done), (303, &*told));
    let page = text(&read(&house, &told, &session).await);
    assert!(page.contains("Sign-up is closed."), "{page}");
    assert_eq!(read(&house, "/v1/session", &session).await.body["org"], serde_json::Value::Null);
}

#[tokio::test]
async fn however_somebody_came_to_a_sign_in_that_joins_it_says_so() {
    let house = House::new().await;
    let invite = house.invite_to(house.org, "new@example.com", Role::Viewer).await;
    let join = format!("/app/join?invite={}", house.link_of(invite.id));
    let led = house.get(&join, "").await;
    for login in [
        leads_to(&led).1.to_owned(),
        format!("/login?next={}", pages::encoded(&join)),
        format!("/login?problem=rate_limited&next={}", pages::encoded(&join)),
    ] {
        let page = text(&house.get(&login, "").await);
        assert!(page.contains("you become a member of <bdi>Acme</bdi>"), "{login}: {page}");
    }
    for other in ["/login?next=%2Fapp%2Fjoin%3Finvite%3Dmade.up", "/login?invite=made.up.token"] {
        let page = text(&house.get(other, "").await);
        assert!(page.contains("<h1>Sign in</h1>"), "{other}: {page}");
    }
}

#[tokio::test]
async fn who_shows_once_more_who_they_are_is_asked_before_they_join() {
    let house = House::new().await;
    let new = NewOrg { name: "Elsewhere".to_owned(), time_zone: "UTC".to_owned() };
    let other = house.deployment().create_org(new).await.unwrap().org.id;
    house.member_of(other, ADA, Role::Viewer).await;
    let invite = house.invite_to(house.org, ADA, Role::Viewer).await;
    let join = format!("/app/join?invite={}", house.link_of(invite.id));
    for session in
        [house.browser_in(other, ADA, Role::Viewer).await, house.browser_of_no_org(ADA).await]
    {
        house.clock.pass(Duration::from_mins(1));
        let (token, csrf) = session.key.strip_prefix("session:").unwrap().split_once(':').unwrap();
        let had = format!("svc_session={token}");
        let fields = format!("csrf={csrf}&next={}", pages::encoded(&join));
        let headers = [("cookie", &*had), ("origin", "http://test")];
        let asked = house.send(form("/v1/auth/reauth", &headers, fields)).await;
        house.town.deliver().await;
        let pre = format!("svc_pre={}", cookies(&asked)[0].1.split(';').next().unwrap());
        let challenge = leads_to(&asked).1.split_once('=').unwrap().1.to_owned();
        let headers = [("cookie", &*pre), OWN[0], OWN[1]];
        let fields = format!("challenge={challenge}&code={}", code(&house));
        let done = house.send(form("/v1/auth/confirm", &headers, fields)).await;
        assert_eq!(leads_to(&done), (303, &*join));
        assert!(!house.sealed().await.contains(&"member.added".to_owned()));
    }
}

#[tokio::test]
async fn an_old_invitation_leads_on_in_its_own_org() {
    let house = House::new().await;
    let new = NewOrg { name: "Elsewhere".to_owned(), time_zone: "UTC".to_owned() };
    let other = house.deployment().create_org(new).await.unwrap().org.id;
    house.member_of(other, ADA, Role::Viewer).await;
    let invite = house.invite_to(house.org, ADA, Role::Viewer).await;
    house.member(ADA, Role::Viewer).await;
    let join =
        format!("/app/join?invite={}&next={}", house.link_of(invite.id), pages::encoded(PAGE));
    let elsewhere = house.browser_in(other, ADA, Role::Viewer).await;
    let asks = format!("/app/orgs?next={}", pages::encoded(PAGE));
    assert_eq!(leads_to(&house.get(&join, &elsewhere.key).await), (303, &*asks));
    let here = house.browser_in(house.org, ADA, Role::Viewer).await;
    assert_eq!(leads_to(&house.get(&join, &here.key).await), (303, PAGE));
}

#[tokio::test]
async fn an_org_that_takes_a_newer_sign_in_is_led_to_by_one() {
    let house = House::new().await;
    let ada = house.browser_of_no_org(ADA).await;
    house.clock.pass(Duration::from_mins(1));
    let (_, member) = house.member(ADA, Role::Viewer).await;
    let risen = house.clock.now();
    house.write(Member { role: Role::Admin, role_since: risen, revision: 2, ..member }).await;
    let (token, csrf) = ada.key.strip_prefix("session:").unwrap().split_once(':').unwrap();
    let cookie = format!("svc_session={token}");
    let headers = [("cookie", &*cookie), ("origin", "http://test")];
    let fields = format!("csrf={csrf}&org={}&next={}", house.org, pages::encoded(PAGE));
    let led = house.send(form("/v1/session/org", &headers, fields)).await;
    assert_eq!(leads_to(&led), (303, &*format!("/app/again?next={}", pages::encoded(PAGE))));
    let page = text(&read(&house, leads_to(&led).1, &cookie).await);
    assert!(page.contains("needs a more recent sign-in than yours"), "{page}");
}

#[tokio::test]
async fn a_form_that_was_refused_keeps_the_address_and_the_page() {
    let house = House::new().await;
    let fields = format!("email={}&next={}", pages::encoded(ADA), pages::encoded(PAGE));
    let mut last = (0, String::new());
    for _ in 0..6 {
        let asked = house.send(form("/v1/auth/start", &OWN, fields.clone())).await;
        last = (asked.status, leads_to(&asked).1.to_owned());
    }
    let kept = format!(
        "/login?problem=rate_limited&next={}&email={}",
        pages::encoded(PAGE),
        pages::encoded(ADA)
    );
    assert_eq!(last, (303, kept));
    let page = text(&house.get(&last.1, "").await);
    assert_eq!((field(&page, "email"), field(&page, "next")), (Some(ADA), Some(PAGE)), "{page}");
}

#[tokio::test]
async fn an_answer_in_json_names_the_page_of_the_invitation_and_joins_nobody() {
    let house = House::new().await;
    let invite = house.invite_to(house.org, "new@example.com", Role::Viewer).await;
    let join = format!("/app/join?invite={}", house.link_of(invite.id));
    let body = serde_json::json!({ "email": "new@example.com", "next": join });
    let asked = house.send(request("POST", "/v1/auth/start", "", &[], Some(body))).await;
    house.town.deliver().await;
    let cookie =
        asked.headers["set-cookie"].to_str().unwrap().split(';').next().unwrap().to_owned();
    let body = serde_json::json!({ "challenge": asked.id(), "code": code(&house) });
    let headers = [("cookie", &*cookie)];
    let done = house.send(request("POST", "/v1/auth/confirm", "", &headers, Some(body))).await;
    assert_eq!((&done.body["next"], &done.body["org"]), (&join.into(), &serde_json::Value::Null));
}

#[tokio::test]
async fn whoever_is_signed_in_is_not_asked_again_unless_the_link_is_for_another() {
    let house = House::new().await;
    house.member(ADA, Role::Viewer).await;
    let (_, session) = through(&house, "/login", ADA).await;
    let next = pages::encoded(PAGE);
    for link in [format!("/login?next={next}"), format!("/login?email={ADA}&next={next}")] {
        assert_eq!(leads_to(&read(&house, &link, &session).await), (303, PAGE), "{link}");
    }
    for link in [
        "/login".to_owned(),
        format!("/login?email={ADA}"),
        format!("/login?email=bob%40example.com&next={next}"),
        format!("/login?next={next}&problem=validation_failed"),
        "/login?next=//evil.example".to_owned(),
    ] {
        assert_eq!(read(&house, &link, &session).await.status, 200, "{link}");
    }
    // A session that has ended is asked, and so is who sends two of them.
    house.clock.pass(Duration::from_hours(13));
    let link = format!("/login?next={next}");
    for cookie in [session.clone(), format!("{session}; {session}"), "svc_session=no".to_owned()] {
        assert_eq!(read(&house, &link, &cookie).await.status, 200, "{cookie}");
    }
}

#[tokio::test]
async fn a_choice_of_an_org_leads_on_to_the_page_that_was_asked_for() {
    let house = House::new().await;
    let new = NewOrg { name: "Elsewhere".to_owned(), time_zone: "UTC".to_owned() };
    let other = house.deployment().create_org(new).await.unwrap().org.id;
    house.member_of(other, ADA, Role::Viewer).await;
    house.member(ADA, Role::Viewer).await;
    let link = format!("/login?next={}", pages::encoded(PAGE));
    let (done, session) = through(&house, &link, ADA).await;
    assert_eq!(leads_to(&done), (303, PAGE));
    let asks = format!("/app/orgs?next={}", pages::encoded(PAGE));
    assert_eq!(leads_to(&read(&house, PAGE, &session).await), (303, &*asks));
    let page = text(&read(&house, &asks, &session).await);
    assert_eq!(field(&page, "next"), Some(PAGE), "{page}");
    let csrf = field(&page, "csrf").unwrap();
    let choose = async |next: &str| {
        let headers = [("cookie", &*session), ("origin", "http://test")];
        let fields = format!("csrf={csrf}&org={}&next={next}", house.org);
        house.send(form("/v1/session/org", &headers, fields)).await
    };
    assert_eq!(choose("//evil.example").await.status, 400);
    assert_eq!(leads_to(&choose(PAGE).await), (303, PAGE));
}

#[tokio::test]
async fn joining_by_hand_leads_on_as_well() {
    let house = House::new().await;
    let invite = house.invite_to(house.org, "new@example.com", Role::Viewer).await;
    let browser = house.browser_of_no_org("new@example.com").await;
    let token = house.link_of(invite.id);
    let join = format!("/app/join?invite={token}&next={}", pages::encoded(PAGE));
    let page = text(&house.get(&join, &browser.key).await);
    assert_eq!(
        (field(&page, "token"), field(&page, "next")),
        (Some(&*token), Some(PAGE)),
        "{page}"
    );
    let (session, csrf) = browser.key.strip_prefix("session:").unwrap().split_once(':').unwrap();
    let cookie = format!("svc_session={session}");
    let headers = [("cookie", &*cookie), ("origin", "http://test")];
    let fields = format!("csrf={csrf}&token={token}&next={PAGE}");
    let joined = house.send(form("/v1/invites/accept", &headers, fields)).await;
    assert_eq!(leads_to(&joined), (303, PAGE));
    // A body in JSON leads nowhere, and is told so.
    let key = browser_key(session, csrf);
    let body = serde_json::json!({ "token": token, "next": PAGE });
    let refused = house.send(request("POST", "/v1/invites/accept", &key, &[], Some(body))).await;
    assert_eq!((refused.status, refused.param()), (400, Some("next")));
}

#[tokio::test]
async fn the_first_run_names_what_there_is_and_never_the_services_own_agent() {
    let house = House::new().await;
    let new = NewOrg { name: "New".to_owned(), time_zone: "UTC".to_owned() };
    let org = house.deployment().create_org(new).await.unwrap().org.id;
    house.member_of(org, ADA, Role::Owner).await;
    let ada = house.browser_in(org, ADA, Role::Owner).await;
    let page = text(&house.get("/app", &ada.key).await);
    assert!(
        page.contains("Connect a database") && page.contains("Create an agent and its key"),
        "{page}"
    );
    assert!(!page.contains("exists"), "{page}");
    let new = serde_json::json!({ "name": "night-billing" });
    let made = house.send(request("POST", "/v1/agents", &ada.key, &[], Some(new))).await;
    let made = made.body["id"].as_str().unwrap().to_owned();
    let page = text(&house.get("/app", &ada.key).await);
    assert!(page.contains(&format!("/app/agents/{made}#keys")), "{page}");
    assert!(
        page.contains("Agent <bdi>night-billing</bdi> exists")
            && page.contains("Connect a database")
    );
}

#[tokio::test]
async fn forms_that_take_a_newer_sign_in_say_so_before_they_are_filled_in() {
    let house = House::new().await;
    let ada = house.browser(ADA, Role::Owner).await;
    let agent = format!("/app/agents/{}", house.support.agent);
    let listed = house.get("/v1/connectors", &house.org_key).await.body;
    let connector = format!("/app/connectors/{}", listed["data"][0]["id"].as_str().unwrap());
    let new = serde_json::json!({ "url": "https://hooks.example/", "types": ["deed.sealed"] });
    let hook = house.send(request("POST", "/v1/webhook_endpoints", &house.org_key, &[], Some(new)));
    let hook = format!("/app/webhooks/{}", hook.await.id());
    let pages = [
        "/app/settings/org",
        "/app/settings/members",
        "/app/settings/keys",
        "/app/connectors?type=fake",
        &agent,
        &connector,
        &hook,
    ];
    let offer = |path: &str| format!("href=\"/app/again?next={}\"", pages::encoded(path));
    for is_old in [false, true] {
        for path in pages {
            let page = text(&house.get(path, &ada.key).await);
            assert_eq!(page.contains(&offer(path)), is_old, "{path}: {page}");
            assert_eq!(page.contains("what you type here is kept"), is_old, "{path}");
        }
        house.clock.pass(Duration::from_mins(16));
    }
}
