//! Pages: what they show to whom, what they carry of what agents sent, and where forms lead.

use http::Request;
use ledger::record::Member;
use model::Role;
use people::LinkedTo;
use serde_json::json;

use super::{
    forms::form,
    house::{Answer, House, people::Browser, request},
    sign_in::{ADA, code, cookies, token},
};
use crate::routes::{interface, table};

/// What no page may hand on as markup.
const CANARY: &str = "<img src=x onerror=alert(1)>\"'`{{7*7}}\u{202e}";

/// A browser of somebody with this role who may approve.
async fn approver(house: &House, email: &str, role: Role) -> (Browser, Member) {
    let (_, member) = house.member(email, role).await;
    let member = Member { can_approve: true, ..member };
    house.write(member.clone()).await;
    (house.browser_in(house.org, email, role).await, member)
}

fn text(answer: &Answer) -> String {
    String::from_utf8(answer.bytes.to_vec()).unwrap().replace("&#x2f;", "/").replace("&#x27;", "'")
}

fn location(answer: &Answer) -> &str {
    answer.headers.get("location").map_or("", |to| to.to_str().unwrap())
}

/// The cookie and the word for forms of a browser.
fn shown(browser: &Browser) -> (String, String) {
    let (token, csrf) = browser.key.strip_prefix("session:").unwrap().split_once(':').unwrap();
    (format!("svc_session={token}"), csrf.to_owned())
}

/// Sends a form of a page of this browser.
async fn press(house: &House, browser: &Browser, path: &str, fields: &str) -> Answer {
    let (cookie, csrf) = shown(browser);
    let headers = [("cookie", &*cookie), ("origin", "http://test")];
    house.send(form(path, &headers, format!("csrf={csrf}&{fields}"))).await
}

/// Everything that pages show, with canaries wherever an agent or a person may write.
async fn crowd(house: &House) -> Vec<(&'static str, String)> {
    let send = async |amount: u64| {
        let call = json!({
            "tool": "shop.refund",
            "args": { "amount": amount, "note": CANARY, CANARY: [CANARY, { "deep": null }] },
        });
        let headers = [("service-on-behalf-of", "user:<img/src=x/onerror=alert(1)>")];
        house.send(request("POST", "/v1/actions", &house.support.key, &headers, Some(call))).await
    };
    let (done, held) = (send(5).await, send(500).await);
    let named = json!({ "tool": "shop.delete", "args": { "order": CANARY } });
    house.post("/v1/actions", named).await;
    house.authorize().await;
    let rename = json!({ "description": CANARY });
    let agent = format!("/v1/agents/{}", house.other.agent);
    let renamed = house.send(request("POST", &agent, &house.org_key, &[], Some(rename))).await;
    assert_eq!(renamed.status, 200, "{renamed:?}");
    let stop = json!({ "reason": CANARY });
    let stopped = request("POST", &format!("{agent}/stop"), &house.org_key, &[], Some(stop));
    assert_eq!(house.send(stopped).await.status, 200);
    let policies = house.get("/v1/policies", &house.org_key).await;
    let policy = policies.body["data"][0]["id"].as_str().unwrap().to_owned();
    let approval = held.body["approval"]["id"].as_str().unwrap().to_owned();
    let deed = house.get(&format!("/v1/actions/{}?wait=5", done.id()), &house.org_key).await;
    let deed = deed.body["deed"].as_str().unwrap_or_else(|| panic!("{deed:?}")).to_owned();
    vec![
        ("pageAction", done.id()),
        ("pageApproval", approval),
        ("pageAgent", house.other.agent.to_string()),
        ("pageAgentStop", house.support.agent.to_string()),
        ("pagePolicy", policy),
        ("pageDeed", deed),
        ("pageSettingsPart", "members".to_owned()),
    ]
}

/// The pages that whoever is signed in may look at, at something that is there.
fn addresses(ids: &[(&'static str, String)]) -> Vec<String> {
    let api = interface().len();
    let pages =
        table().into_iter().skip(api).filter(|it| it.method == "GET" && it.access == "VISITORS");
    let address = |operation: &str, path: &str| match ids.iter().find(|(of, _)| *of == operation) {
        Some((_, id)) => path.replace("{id}", id).replace("{tab}", id),
        None => path.to_owned(),
    };
    let mut all: Vec<String> = pages.map(|it| address(it.operation, it.path)).collect();
    all.extend(["keys", "sessions", "org"].map(|tab| format!("/app/settings/{tab}")));
    all.extend(["waiting", "decided"].map(|view| format!("/app/approvals?view={view}")));
    all
}

#[tokio::test]
async fn every_page_is_made_for_every_role_and_hands_nothing_on_as_markup() {
    let house = House::new().await;
    let ids = crowd(&house).await;
    house.invite_to(house.org, "new@example.com", Role::Viewer).await;
    let roles = [
        ("own@example.com", Role::Owner),
        ("adm@example.com", Role::Admin),
        ("vie@example.com", Role::Viewer),
    ];
    for (email, role) in roles {
        let browser = approver(&house, email, role).await.0;
        for path in addresses(&ids) {
            let answer = house.get(&path, &browser.key).await;
            if answer.status == 303 {
                assert!(location(&answer).starts_with("/app/"), "{path}");
                continue;
            }
            let html = text(&answer);
            assert_eq!(answer.status, 200, "{role} {path}: {html}");
            assert_eq!(answer.headers["content-type"], "text/html; charset=utf-8", "{path}");
            assert_eq!(answer.headers["cache-control"], "no-store", "{path}");
            let policy = answer.headers["content-security-policy"].to_str().unwrap();
            assert!(policy.starts_with("default-src 'none'; script-src 'self'"), "{policy}");
            assert!(!html.contains("<img"), "{path} hands markup on");
            assert!(!html.contains('\u{202e}'), "{path} hands on what turns its text");
            for bad in [" style=", " onerror=alert(1)>\"", "javascript:"] {
                assert!(!html.contains(bad), "{path} has `{bad}`");
            }
            assert_eq!(html.matches("<h1").count(), 1, "{path} has one head");
            assert_eq!(html.matches("<main").count(), 1, "{path} has one main part");
        }
    }
}

#[tokio::test]
async fn whoever_is_not_signed_in_is_led_there_and_back() {
    let house = House::new().await;
    let answer = house.get("/app/actions?state=sealed", "").await;
    let to = "/login?next=%2Fapp%2Factions%3Fstate%3Dsealed";
    assert_eq!((answer.status, location(&answer)), (303, to));
    let nobody = house.browser_of_no_org("nobody@example.com").await;
    let answer = house.get("/app/actions", &nobody.key).await;
    assert_eq!((answer.status, location(&answer)), (303, "/app/orgs"));
    assert!(text(&house.get("/app/orgs", &nobody.key).await).contains("You are a member of none."));
    // A key is no browser, and is told so in a page.
    let answer = house.get("/app/actions", &house.org_key).await;
    assert!(text(&answer).contains("<code>person_required</code>"), "{answer:?}");
    assert_eq!(answer.status, 403);
}

#[tokio::test]
async fn nobody_is_told_what_there_is_in_another_org() {
    let house = House::new().await;
    let browser = house.browser(ADA, Role::Owner).await;
    let told = |answer: &Answer| {
        let page = text(answer);
        let id = answer.headers["service-request-id"].to_str().unwrap();
        (answer.status, page.replace(id, ""))
    };
    let bad = house.get("/app/actions/nothing", &browser.key).await;
    let missing = house.get("/app/actions/act_01k6ga3wvwd2nq7x5k9z8y6t3s", &browser.key).await;
    assert_eq!((told(&bad).0, told(&missing)), (404, told(&bad)));
}

#[tokio::test]
async fn a_person_signs_in_decides_and_signs_out_by_forms_alone() {
    let house = House::new().await;
    approver(&house, ADA, Role::Viewer).await;
    let held = house.refund(500).await;
    let approval = held.body["approval"]["id"].as_str().unwrap().to_owned();
    let page = format!("/app/approvals/{approval}");
    let login = text(&house.get(&format!("/login?next={page}"), "").await);
    assert!(login.contains(&format!("name=\"next\" value=\"{page}\"")), "{login}");
    let own = [("origin", "null"), ("sec-fetch-site", "same-origin")];
    let fields = format!("email={ADA}&next={page}");
    let asked = house.send(form("/v1/auth/start", &own, fields)).await;
    house.town.deliver().await;
    let pre = cookies(&asked)[0].clone();
    let pre = format!("svc_pre={}", pre.1.split(';').next().unwrap());
    let typing = text(&house.get(location(&asked), "").await);
    let challenge = location(&asked).split_once('=').unwrap().1.to_owned();
    assert!(typing.contains(&format!("name=\"challenge\" value=\"{challenge}\"")), "{typing}");
    let headers = [("cookie", &*pre), own[0], own[1]];
    let fields = format!("challenge={challenge}&code={}", code(&house));
    let done = house.send(form("/v1/auth/confirm", &headers, fields)).await;
    assert_eq!((done.status, location(&done)), (303, &*page));
    let session = cookies(&done).into_iter().find(|(name, _)| name == "svc_session").unwrap();
    let session = format!("svc_session={}", session.1.split(';').next().unwrap());
    let read = |path: &str| {
        let request = Request::get(path).header("host", "test").header("cookie", &session);
        request.body(http_body_util::Full::default()).unwrap()
    };
    let question = text(&house.send(read(&page)).await);
    let value = |name: &str| {
        let rest = question.split(&format!("name=\"{name}\" value=\"")).nth(1).unwrap();
        rest.split('"').next().unwrap().to_owned()
    };
    let headers = [("cookie", &*session), ("origin", "http://test")];
    let (csrf, digest) = (value("csrf"), value("context_digest"));
    let stale = format!("csrf={csrf}&context_digest=sha256:{}&note=", "0".repeat(64));
    let path = format!("/v1/approvals/{approval}/approve");
    let refused = house.send(form(&path, &headers, stale)).await;
    assert_eq!(location(&refused), format!("{page}?problem=approval_stale"));
    let told = text(&house.send(read(location(&refused))).await);
    assert!(told.contains("What you saw has changed."), "{told}");
    let fields = format!("csrf={csrf}&context_digest={digest}&note=It+came+back.");
    let forged = house.send(form(&path, &headers, fields.replace(&csrf, "forged"))).await;
    assert_eq!(location(&forged), format!("{page}?problem=csrf_failed"));
    assert_eq!(house.refund.runs(), 0);
    let given = house.send(form(&path, &headers, fields)).await;
    assert_eq!((given.status, location(&given)), (303, &*page));
    house.get(&format!("/v1/actions/{}?wait=5", held.id()), &house.support.key).await;
    assert_eq!(house.refund.runs(), 1);
    let settled = text(&house.send(read(&page)).await);
    assert!(settled.contains("It came back.") && !settled.contains("<textarea"), "{settled}");
    let out = house.send(form("/app/sign-out", &headers, format!("csrf={csrf}"))).await;
    assert_eq!((out.status, location(&out)), (303, "/login"));
    assert_eq!(house.send(read(&page)).await.status, 303);
}

#[tokio::test]
async fn a_call_of_which_little_is_known_and_less_is_shown_can_be_read_and_answered() {
    let house = House::new().await;
    let (ann, _) = approver(&house, "ann@example.com", Role::Owner).await;
    let post = async |path: &str, body: serde_json::Value| {
        let answer = house.send(request("POST", path, &ann.key, &[], Some(body))).await;
        assert!(matches!(answer.status, 200 | 201), "{path}: {answer:?}");
        answer
    };
    let document = "schema: 1\ndefault: { outcome: deny }\nrules:\n  \
        - { id: mails, match: 'mail.*', outcome: require_approval, approval: { show: [args.to] } }\n";
    let policy = post("/v1/policies", json!({ "name": "anns" })).await.id();
    let path = format!("/v1/policies/{policy}/versions");
    let version = post(&path, json!({ "document": document })).await.id();
    let activation = json!({ "version": version, "mode": "enforce", "reason": "a drill" });
    post(&format!("/v1/policies/{policy}/activate"), activation).await;
    for args in [json!({ "to": "bob", "text": "C4NARY" }), json!({ "text": "C4NARY" }), json!({})] {
        // No connector knows the tool: neither what it does nor what it changes is known.
        let call = json!({
            "tool": "mail.send", "args": args, "mode": "proxy", "connector_type": "mcp", "wait": 0,
        });
        let held = house.post("/v1/actions", call).await;
        let id = held.body["approval"]["id"].as_str().unwrap().to_owned();
        let answer = house.get(&format!("/app/approvals/{id}"), &ann.key).await;
        let html = text(&answer);
        assert_eq!(answer.status, 200, "{html}");
        assert!(html.contains("What it does to data is not known."), "{html}");
        assert!(html.contains("<textarea") && !html.contains("C4NARY"), "{html}");
        let hides = args.get("text").is_some();
        assert_eq!(html.contains("hidden by policy"), hides, "{args}");
        assert_eq!(html.contains("The call has no arguments."), args == json!({}), "{args}");
        let path = format!("/v1/approvals/{id}/deny");
        let digest =
            house.get(&format!("/v1/approvals/{id}"), &ann.key).await.body["context_digest"]
                .clone();
        let fields = format!("context_digest={}&note=", digest.as_str().unwrap());
        let given = press(&house, &ann, &path, &fields).await;
        assert_eq!(location(&given), format!("/app/approvals/{id}"));
        assert!(text(&house.get(location(&given), &ann.key).await).contains("Denied"));
    }
}

#[tokio::test]
async fn a_link_decides_nothing_when_it_is_opened_and_once_when_its_form_is_sent() {
    let house = House::new().await;
    let (_, ann) = approver(&house, "ann@example.com", Role::Viewer).await;
    let held = house.refund(500).await;
    let approval = held.body["approval"]["id"].as_str().unwrap().parse().unwrap();
    let to = LinkedTo { org: house.org, approval, member: ann.id };
    let link = house.town.people.question(to).expose().clone();
    let page = format!("/approve?t={link}");
    for _ in 0..3 {
        let answer = house.get(&page, "").await;
        assert_eq!(answer.headers["referrer-policy"], "no-referrer");
        let html = text(&answer);
        assert!(html.contains("shop.refund") && html.contains("value=\"approve\""), "{html}");
    }
    let asked = json!({ "token": link });
    let asked = house.send(request("POST", "/v1/approvals/link", "", &[], Some(asked))).await;
    let digest = asked.body["question"]["context_digest"].as_str().unwrap().to_owned();
    let own = [("origin", "null"), ("sec-fetch-site", "same-origin")];
    let send = |fields: String| house.send(form("/v1/approvals/link", &own, fields));
    let stale = format!("token={link}&decision=approve&context_digest=sha256:{}", "0".repeat(64));
    let refused = send(stale).await;
    assert_eq!(location(&refused), format!("{page}&problem=approval_stale"));
    let yes = format!("token={link}&decision=approve&context_digest={digest}&note=");
    let given = send(yes.clone()).await;
    assert_eq!((given.status, location(&given)), (303, &*page), "{given:?}");
    house.get(&format!("/v1/actions/{}?wait=5", held.id()), &house.support.key).await;
    assert_eq!(house.refund.runs(), 1);
    assert!(text(&house.get(&page, "").await).contains("You approved it"));
    assert_eq!(location(&send(yes).await), format!("{page}&problem=link_used"));
    let nothing = house.get("/approve?t=nothing", "").await;
    assert!(nothing.status == 200 && text(&nothing).contains("This link shows nothing"));
}

#[tokio::test]
async fn a_link_that_is_opened_elsewhere_shows_the_code_and_signs_nobody_in() {
    let house = House::new().await;
    house.member(ADA, Role::Viewer).await;
    let own = [("origin", "null"), ("sec-fetch-site", "same-origin")];
    let asked = house.send(form("/v1/auth/start", &own, format!("email={ADA}"))).await;
    house.town.deliver().await;
    let link = token(&house);
    let elsewhere = text(&house.get(&format!("/auth/confirm?t={link}"), "").await);
    assert!(elsewhere.contains(&code(&house)) && !elsewhere.contains("<form"), "{elsewhere}");
    let pre = format!("svc_pre={}", cookies(&asked)[0].1.split(';').next().unwrap());
    let here = request("GET", &format!("/auth/confirm?t={link}"), "", &[("cookie", &pre)], None);
    let here = text(&house.send(here).await);
    assert!(here.contains("name=\"token\"") && !here.contains(&code(&house)), "{here}");
    let dead = text(&house.get("/auth/confirm?t=chal_01k6ga3wvwee7g9h2j4k6m8n0p.no", "").await);
    assert!(dead.contains("This opens nothing"), "{dead}");
}

#[tokio::test]
async fn somebody_who_is_invited_signs_in_joins_and_chooses_by_forms_alone() {
    let house = House::new().await;
    let invite = house.invite_to(house.org, "new@example.com", Role::Viewer).await;
    let link = house.link_of(invite.id);
    let login = text(&house.get(&format!("/login?invite={link}"), "").await);
    assert!(login.contains(&format!("value=\"/app/join?invite={link}\"")), "{login}");
    let browser = house.browser_of_no_org("new@example.com").await;
    let page = text(&house.get(&format!("/app/join?invite={link}"), &browser.key).await);
    assert!(page.contains("new@example.com"), "{page}");
    let joined = press(&house, &browser, "/v1/invites/accept", &format!("token={link}")).await;
    assert_eq!((joined.status, location(&joined)), (303, "/app/orgs"), "{joined:?}");
    assert!(text(&house.get("/app/orgs", &browser.key).await).contains("Acme"));
    let chosen = press(&house, &browser, "/v1/session/org", &format!("org={}", house.org)).await;
    assert_eq!((chosen.status, location(&chosen)), (303, "/app"), "{chosen:?}");
}

#[tokio::test]
async fn a_policy_is_shown_while_others_have_its_document_looked_at() {
    let house = House::new().await;
    let browser = house.browser(ADA, Role::Viewer).await;
    let policies = house.get("/v1/policies", &browser.key).await;
    let path = format!("/app/policies/{}", policies.body["data"][0]["id"].as_str().unwrap());
    let many = (0..24).map(|_| house.send(request("GET", &path, &browser.key, &[], None)));
    for answer in futures_util::future::join_all(many).await {
        assert_eq!(answer.status, 200, "{}", text(&answer));
    }
}

#[tokio::test]
async fn jumping_leads_to_what_an_id_names_an_agent_or_a_search() {
    let house = House::new().await;
    let browser = house.browser(ADA, Role::Viewer).await;
    let agent = house.support.agent.to_string();
    for (asked, to) in [
        (&*agent, format!("/app/agents/{agent}")),
        ("support", format!("/app/agents/{agent}")),
        (
            "act_01k6ga3wvwd2nq7x5k9z8y6t3s",
            "/app/actions/act_01k6ga3wvwd2nq7x5k9z8y6t3s".to_owned(),
        ),
        ("shop.refund", "/app/actions?q=shop.refund".to_owned()),
        ("//evil", "/app/actions?q=%2F%2Fevil".to_owned()),
        ("", "/app/actions".to_owned()),
    ] {
        let answer = house.get(&format!("/app/go?q={}", pages::encoded(asked)), &browser.key).await;
        assert_eq!((answer.status, location(&answer)), (303, &*to), "{asked}");
    }
}

#[tokio::test]
async fn files_are_kept_for_good_under_their_digest() {
    let house = House::new().await;
    let page = text(&house.get("/login", "").await);
    let address = page.split('"').find(|text| text.starts_with("/auth/assets/")).unwrap();
    let whole = house.get(address, "").await;
    assert_eq!(whole.status, 200);
    assert_eq!(whole.headers["cache-control"], "public, max-age=31536000, immutable");
    let small = request("GET", address, "", &[("accept-encoding", "br, gzip;q=0.5")], None);
    let small = house.send(small).await;
    assert_eq!(small.headers["content-encoding"], "gzip");
    let none = request("GET", address, "", &[("accept-encoding", "gzip;q=0")], None);
    assert!(house.send(none).await.headers.get("content-encoding").is_none());
    let other = address.replace("/assets/", "/assets/0");
    assert_eq!(house.get(&other, "").await.status, 404);
}
