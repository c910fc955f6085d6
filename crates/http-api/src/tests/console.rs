//! Pages: what they show to whom, what they carry of what agents sent, and where forms lead.

use std::time::Duration;

use http::Request;
use ledger::record::Member;
use model::{LogGap, Role};
use people::LinkedTo;
use serde_json::json;

use super::{
    forms::form,
    house::{Answer, House, people::Browser, request},
    sign_in::{ADA, code, cookies, token},
};
use crate::routes::{interface, table};

/// What no page may hand on as markup.
pub(super) const CANARY: &str = "<img src=x onerror=alert(1)>\"'`{{7*7}}\u{202e}";
/// The same as far as a name may have it.
const NAME_CANARY: &str = "<img src=x onerror=alert(1)>\"'`{{7*7}}";

/// A browser of somebody with this role who may approve.
pub(super) async fn approver(house: &House, email: &str, role: Role) -> (Browser, Member) {
    let (_, member) = house.member(email, role).await;
    let member = Member { can_approve: true, ..member };
    house.write(member.clone()).await;
    (house.browser_in(house.org, email, role).await, member)
}

pub(super) fn text(answer: &Answer) -> String {
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
    let connector = connector(house).await;
    let webhook = webhook(house).await;
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
        ("pageConnector", connector.clone()),
        ("pageConnectorTool", connector),
        ("pageWebhook", webhook),
        ("pagePolicy", policy),
        ("pageDeed", deed),
        ("pageSettingsPart", "members".to_owned()),
    ]
}

/// An endpoint that was sent a ping.
pub(super) async fn webhook(house: &House) -> String {
    let body = json!({
        "url": "https://hooks.example.com/%3Cimg%20src=x%3E", "description": CANARY, "types": ["action.*"],
    });
    let made = house.ask(("POST", "/v1/webhook_endpoints"), &house.org_key, Some(body)).await;
    assert_eq!(made.status, 201, "{made:?}");
    let ping = format!("/v1/webhook_endpoints/{}/ping", made.id());
    assert_eq!(house.ask(("POST", &ping), &house.org_key, None).await.status, 202);
    house.post_events().await;
    made.id()
}

/// A connector with a tool in each state.
async fn connector(house: &House) -> String {
    let tool = |title: &str| json!({ "title": title, "side_effect": "read", CANARY: CANARY });
    let config = |changed: &str, one: &str, other: &str| {
        json!({
            "script": CANARY,
            "tools": { "depot.same": tool(CANARY), "depot.changed": tool(changed), one: tool(CANARY), other: tool(CANARY) },
        })
    };
    let made = json!({
        "name": "depot", "type": "fake", "title": NAME_CANARY,
        "config": config("before", "depot.gone", "depot.same"),
        "credential": { "kind": "token", "fields": { "token": "canary-of-a-credential" } },
    });
    let made = house.ask(("POST", "/v1/connectors"), &house.org_key, Some(made)).await;
    assert_eq!(made.status, 201, "{made:?}");
    let path = format!("/v1/connectors/{}", made.id());
    let edit = json!({ "config": config("after", "depot.new", "depot.same") });
    let edited = house.ask(("POST", &path), &house.org_key, Some(edit)).await;
    for (state, count) in [("pinned", 1), ("new", 1), ("changed", 1), ("gone", 1)] {
        assert_eq!(edited.body["tools"][state], count, "{state}: {edited:?}");
    }
    made.id()
}

/// The pages that whoever is signed in may look at, at something that is there.
fn addresses(ids: &[(&'static str, String)]) -> Vec<String> {
    let api = interface().len();
    let pages =
        table().into_iter().skip(api).filter(|it| it.method == "GET" && it.access == "VISITORS");
    let address = |operation: &str, path: &str| match ids.iter().find(|(of, _)| *of == operation) {
        Some((_, id)) => {
            path.replace("{id}", id).replace("{tab}", id).replace("{tool}", "depot.changed")
        }
        None => path.to_owned(),
    };
    let mut all: Vec<String> = pages.map(|it| address(it.operation, it.path)).collect();
    all.push("/app/connectors?archived=true&type=fake".to_owned());
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
            assert_eq!(answer.headers["x-frame-options"], "DENY", "{path}");
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
async fn the_page_of_a_connector_shows_what_is_to_be_accepted_and_no_secret() {
    let house = House::new().await;
    let path = format!("/app/connectors/{}", connector(&house).await);
    let (admin, viewer) = ("adm@example.com", "vie@example.com");
    let admin = approver(&house, admin, Role::Admin).await.0;
    let html = text(&house.get(&path, &admin.key).await);
    let place = "<del><span class=\"hidden\">Accepted: </span><bdi>before</bdi></del>";
    for shown in [place, "<bdi>after</bdi></ins>", "PUT /v1/connectors/", "depot.new#accept"] {
        assert!(html.contains(shown), "{shown}: {html}");
    }
    assert!(!html.contains("canary-of-a-credential") && !html.contains("depot.same#accept"));
    let page = async |tool: &str, by: &Browser| {
        text(&house.get(&format!("{path}/tools/{tool}"), &by.key).await)
    };
    let title = |of: &str| format!("&quot;title&quot;: &quot;{of}&quot;");
    let changed = page("depot.changed", &admin).await;
    for shown in [title("before"), title("after"), "/tools/depot.changed/pin".to_owned()] {
        assert!(changed.contains(&shown), "{shown}: {changed}");
    }
    assert!(page("depot.new", &admin).await.contains("/tools/depot.new/pin"));
    assert!(!page("depot.same", &admin).await.contains("/tools/depot.same/pin"));
    assert!(page("depot.gone", &admin).await.contains("no longer exists"));
    assert!(page("depot.none", &admin).await.contains("Not found"));
    // What is sent back from the form is the config as it is.
    let config = html.split("<textarea id=\"edit-config\"").nth(1).unwrap();
    let config = config.split_once('>').unwrap().1.split("</textarea>").next().unwrap();
    let config = config
        .replace("&quot;", "\"")
        .replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&amp;", "&");
    let config: serde_json::Value = serde_json::from_str(&config).unwrap();
    assert_eq!(config["script"], CANARY);
    let viewer = approver(&house, viewer, Role::Viewer).await.0;
    for html in [
        text(&house.get(&path, &viewer.key).await),
        page("depot.changed", &viewer).await,
        page("depot.new", &viewer).await,
    ] {
        assert!(!html.contains("data-send=\"P"), "{html}");
    }
    let list = text(&house.get("/app/connectors?type=fake", &admin.key).await);
    assert!(list.contains("2 to review") || list.contains("3 to review"), "{list}");
}

#[tokio::test]
async fn what_differs_of_a_tool_is_shown_also_if_its_definition_and_place_are_the_same() {
    let house = House::new().await;
    let config = |column: &str| json!({ "tools": { "depot.read": { "title": "Reads", "side_effect": "read", "column": column } } });
    let made = json!({
        "name": "depot", "type": "fake", "config": config("int4"),
        "credential": { "kind": "token", "fields": { "token": "t" } },
    });
    let id = house.ask(("POST", "/v1/connectors"), &house.org_key, Some(made)).await.id();
    let edit = json!({ "config": config("int8") });
    let path = format!("/v1/connectors/{id}");
    assert_eq!(house.ask(("POST", &path), &house.org_key, Some(edit)).await.status, 200);
    let admin = approver(&house, "adm@example.com", Role::Admin).await.0;
    for page in [format!("/app/connectors/{id}"), format!("/app/connectors/{id}/tools/depot.read")]
    {
        let html = text(&house.get(&page, &admin.key).await);
        assert!(html.contains("other types than when it was accepted"), "{html}");
        assert!(html.contains("<bdi>int4</bdi>") && html.contains("<bdi>int8</bdi>"), "{html}");
    }
    // Archived, it is read and offers nothing.
    let reason = json!({ "reason": "Gone." });
    assert_eq!(house.ask(("DELETE", &path), &house.org_key, Some(reason)).await.status, 200);
    for page in [format!("/app/connectors/{id}"), format!("/app/connectors/{id}/tools/depot.read")]
    {
        let html = text(&house.get(&page, &admin.key).await);
        assert!(
            html.contains("depot.read") && !html.contains("data-send=\"POST /v1/conn"),
            "{html}"
        );
    }
}

#[tokio::test]
async fn the_page_of_a_connector_offers_a_new_slot_to_admins_where_the_slot_is_broken() {
    let house = House::new().await;
    let log = json!({ "login": true, "tables": { "public.orders": [] } });
    let made = json!({
        "name": "depot", "type": "fake", "config": { "log": log },
        "credential": { "kind": "token", "fields": { "token": "t" } },
    });
    let id = house.ask(("POST", "/v1/connectors"), &house.org_key, Some(made)).await.id();
    let enable = format!("/v1/connectors/{id}/witness/enable");
    let reason = json!({ "reason": "Proof." });
    assert_eq!(house.ask(("POST", &enable), &house.org_key, Some(reason)).await.status, 200);
    let admin = approver(&house, "adm@example.com", Role::Admin).await.0;
    let viewer = approver(&house, "vie@example.com", Role::Viewer).await.0;
    let page =
        async |by: &Browser| text(&house.get(&format!("/app/connectors/{id}"), &by.key).await);
    let form = format!("POST /v1/connectors/{id}/witness/recreate_slot");
    house.follow_log(&id, None).await;
    let streams = page(&admin).await;
    assert!(streams.contains("id=\"log\"") && !streams.contains(&form), "{streams}");
    house.follow_log(&id, Some(LogGap::SlotInvalidated)).await;
    let broken = page(&admin).await;
    assert!(broken.contains(&form) && broken.contains("slot_invalidated"), "{broken}");
    assert!(!page(&viewer).await.contains(&form));
}

#[tokio::test]
async fn whoever_is_not_signed_in_is_led_there_and_back() {
    let house = House::new().await;
    let answer = house.get("/app/actions?state=sealed", "").await;
    let to = "/login?next=%2Fapp%2Factions%3Fstate%3Dsealed";
    assert_eq!((answer.status, location(&answer)), (303, to));
    let nobody = house.browser_of_no_org("nobody@example.com").await;
    let answer = house.get("/app/actions", &nobody.key).await;
    assert_eq!((answer.status, location(&answer)), (303, "/app/orgs?next=%2Fapp%2Factions"));
    let orgs = text(&house.get("/app/orgs", &nobody.key).await);
    assert!(orgs.contains("You are not a member of any org."), "{orgs}");
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
    let place = "In database <strong><bdi>shop</bdi></strong> at <strong><bdi>db.example</bdi>";
    assert!(question.contains(place), "{question}");
    let value = |name: &str| {
        let rest = question.split(&format!("name=\"{name}\" value=\"")).nth(1).unwrap();
        rest.split('"').next().unwrap().to_owned()
    };
    let headers = [("cookie", &*session), ("origin", "http://test")];
    let (csrf, digest) = (value("csrf"), value("context_digest"));
    let stale = format!("csrf={csrf}&context_digest=sha256:{}&note=", "0".repeat(64));
    let path = format!("/v1/approvals/{approval}/approve");
    let refused = house.send(form(&path, &headers, stale)).await;
    assert_eq!(location(&refused), format!("{page}?problem=approval_stale#notice"));
    let told = text(&house.send(read(location(&refused))).await);
    assert!(told.contains("What you saw has changed."), "{told}");
    let fields = format!("csrf={csrf}&context_digest={digest}&note=It+came+back.");
    let forged = house.send(form(&path, &headers, fields.replace(&csrf, "forged"))).await;
    assert_eq!(location(&forged), format!("{page}?problem=csrf_failed#notice"));
    assert_eq!(house.refund.runs(), 0);
    let given = house.send(form(&path, &headers, fields)).await;
    assert_eq!((given.status, location(&given)), (303, &*format!("{page}#asked")));
    house.get(&format!("/v1/actions/{}?wait=5", held.id()), &house.support.key).await;
    assert_eq!(house.refund.runs(), 1);
    let settled = text(&house.send(read(&page)).await);
    assert!(settled.contains("It came back.") && !settled.contains("<textarea"), "{settled}");
    let out = house.send(form("/app/sign-out", &headers, format!("csrf={csrf}"))).await;
    assert_eq!((out.status, location(&out)), (303, "/login"));
    assert_eq!(house.send(read(&page)).await.status, 303);
}

/// Lets mails be held for a person, who is asked like this.
async fn asks_about_mails(house: &House, key: &str, asking: &str) {
    let post = async |path: &str, body: serde_json::Value| {
        let answer = house.send(request("POST", path, key, &[], Some(body))).await;
        assert!(matches!(answer.status, 200 | 201), "{path}: {answer:?}");
        answer
    };
    let document = format!(
        "schema: 1\ndefault: {{ outcome: deny }}\nrules:\n  \
        - {{ id: mails, match: 'mail.*', outcome: require_approval, approval: {asking} }}\n"
    );
    let policy = post("/v1/policies", json!({ "name": "anns" })).await.id();
    let path = format!("/v1/policies/{policy}/versions");
    let version = post(&path, json!({ "document": document })).await.id();
    let activation = json!({ "version": version, "mode": "enforce", "reason": "a drill" });
    post(&format!("/v1/policies/{policy}/activate"), activation).await;
}

/// Sends a mail by a tool of no connector: neither what it does nor what it changes is known.
async fn mail(house: &House, args: &serde_json::Value) -> String {
    let call = json!({
        "tool": "mail.send", "args": args, "mode": "proxy", "connector_type": "mcp", "wait": 0,
    });
    let held = house.post("/v1/actions", call).await;
    held.body["approval"]["id"].as_str().unwrap_or_else(|| panic!("{held:?}")).to_owned()
}

#[tokio::test]
async fn a_call_of_which_little_is_known_and_less_is_shown_can_be_read_and_answered() {
    let house = House::new().await;
    let (ann, _) = approver(&house, "ann@example.com", Role::Owner).await;
    asks_about_mails(&house, &ann.key, "{ show: [args.to, args.cc.at] }").await;
    for args in [
        json!({ "to": "bob", "text": "C4NARY" }),
        json!({ "text": "C4NARY" }),
        json!({ "cc": "C4NARY" }),
        json!({ "cc": { "at": "bob", "text": "C4NARY" } }),
        json!({}),
    ] {
        let id = mail(&house, &args).await;
        let answer = house.get(&format!("/app/approvals/{id}"), &ann.key).await;
        let html = text(&answer);
        assert_eq!(answer.status, 200, "{html}");
        assert!(html.contains("Its effect on data is unknown."), "{html}");
        assert!(html.contains("<textarea") && !html.contains("C4NARY"), "{html}");
        let hides = args != json!({});
        assert_eq!(html.contains("hidden by policy"), hides, "{args}");
        assert_eq!(html.contains("Some arguments are hidden."), hides, "{args}");
        assert_eq!(html.contains("The call has no arguments."), args == json!({}), "{args}");
        let path = format!("/v1/approvals/{id}/deny");
        let digest =
            house.get(&format!("/v1/approvals/{id}"), &ann.key).await.body["context_digest"]
                .clone();
        let fields = format!("context_digest={}&note=", digest.as_str().unwrap());
        let given = press(&house, &ann, &path, &fields).await;
        assert_eq!(location(&given), format!("/app/approvals/{id}#asked"));
        assert!(text(&house.get(location(&given), &ann.key).await).contains("Denied"));
    }
}

#[tokio::test]
async fn parts_of_arguments_that_are_not_listed_are_told_of_and_can_be_read() {
    let house = House::new().await;
    let (ann, _) = approver(&house, "ann@example.com", Role::Owner).await;
    asks_about_mails(&house, &ann.key, "{}").await;
    let junk = vec![1; 300];
    let args = json!({ "also": junk, "amount": 500, "to": "the last one" });
    let page = format!("/app/approvals/{}", mail(&house, &args).await);
    let html = text(&house.get(&page, &ann.key).await);
    let (twice, shown) = ("The arguments have more parts than are listed.", "the last one");
    assert!(html.contains(twice) && html.contains("102 more are only in the JSON"), "{html}");
    assert!(html.contains("All arguments shown, as JSON") && html.contains(shown), "{html}");
    let page = format!("/app/approvals/{}", mail(&house, &json!({ "to": "bob" })).await);
    assert!(!text(&house.get(&page, &ann.key).await).contains(twice));
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
    assert_eq!(location(&refused), format!("{page}&problem=approval_stale#notice"));
    let yes = format!("token={link}&decision=approve&context_digest={digest}&note=");
    let given = send(yes.clone()).await;
    let there = format!("{page}#asked");
    assert_eq!((given.status, location(&given)), (303, &*there), "{given:?}");
    house.get(&format!("/v1/actions/{}?wait=5", held.id()), &house.support.key).await;
    assert_eq!(house.refund.runs(), 1);
    assert!(text(&house.get(&page, "").await).contains("You approved it"));
    assert_eq!(location(&send(yes).await), format!("{page}&problem=link_used#notice"));
    // What it told for a while is over; whoever said yes is not told that nothing was decided.
    house.clock.pass(Duration::from_mins(15));
    let over = text(&house.get(&page, "").await);
    assert!(over.contains("This link is no longer valid."), "{over}");
    assert!(!over.contains("Nothing was decided"), "{over}");
    let nothing = house.get("/approve?t=nothing", "").await;
    assert!(nothing.status == 200 && text(&nothing).contains("<h1>This link is not valid</h1>"));
    assert!(text(&nothing).contains("This link is not valid."));
}

#[tokio::test]
async fn a_no_is_offered_where_a_yes_would_not_count() {
    let house = House::new().await;
    let (browser, ann) = approver(&house, "ann@example.com", Role::Admin).await;
    let held = house.refund(500).await;
    let approval = held.body["approval"]["id"].as_str().unwrap().to_owned();
    let to = LinkedTo { org: house.org, approval: approval.parse().unwrap(), member: ann.id };
    let link = house.town.people.question(to).expose().clone();
    let stop = json!({ "reason": "a drill", "pending_approvals": "keep" });
    let path = format!("/v1/agents/{}/stop", house.support.agent);
    let stopped = house.ask(("POST", &path), &house.org_key, Some(stop)).await;
    assert_eq!(stopped.status, 200, "{stopped:?}");
    let page = format!("/app/approvals/{approval}");
    let (inside, linked) =
        (house.get(&page, &browser.key).await, house.get(&format!("/approve?t={link}"), "").await);
    for shown in [text(&inside), text(&linked)] {
        assert!(
            shown.contains(">Deny</button>") && !shown.contains(">Approve</button>"),
            "{shown}"
        );
        assert!(shown.contains("You can still deny it."), "{shown}");
    }
    let question = house.get(&format!("/v1/approvals/{approval}"), &browser.key).await;
    assert_eq!(question.body["may_decide"], false);
    let digest = question.body["context_digest"].as_str().unwrap();
    let fields = format!("context_digest={digest}&note=");
    let given = press(&house, &browser, &format!("/v1/approvals/{approval}/deny"), &fields).await;
    assert_eq!(location(&given), format!("{page}#asked"));
    let settled = text(&house.get(&page, &browser.key).await);
    assert!(settled.contains("Denied") && !settled.contains(">Deny</button>"), "{settled}");
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
    assert!(dead.contains("<h1>This link is not valid</h1>"), "{dead}");
}

#[tokio::test]
async fn somebody_who_is_invited_signs_in_joins_and_chooses_an_org_by_forms_alone() {
    let house = House::new().await;
    let invite = house.invite_to(house.org, "new@example.com", Role::Viewer).await;
    let link = house.link_of(invite.id);
    let login = text(&house.get(&format!("/login?invite={link}"), "").await);
    assert!(login.contains(&format!("value=\"/app/join?invite={link}\"")), "{login}");
    let browser = house.browser_of_no_org("new@example.com").await;
    let page = text(&house.get(&format!("/app/join?invite={link}"), &browser.key).await);
    assert!(page.contains("new@example.com"), "{page}");
    let joined = press(&house, &browser, "/v1/invites/accept", &format!("token={link}")).await;
    assert_eq!((joined.status, location(&joined)), (303, "/app"), "{joined:?}");
    assert_eq!(house.get("/app", &browser.key).await.status, 200);
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
