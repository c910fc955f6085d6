//! Rooms of the Console: what each shows of one thing, and to whom.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use model::{
    Datum, Field, Footprint, Level, LogTrace, Lsn, Measured, Outcome, ReadRow, Report,
    ReportedRows, Resource, Role, RowCounts, RowOp, SideEffect, TableName, Teller, TextForm, Told,
    Touched,
};
use serde_json::{Value, json};
use testkit::ScriptedTool;

use super::{
    console::{CANARY, approver, text, webhook},
    house::House,
};

#[tokio::test]
async fn the_page_of_an_endpoint_shows_what_was_posted_and_no_secret() {
    let house = House::new().await;
    let id = webhook(&house).await;
    let (path, other) =
        (format!("/app/webhooks/{id}"), format!("/app/webhooks/{}", webhook(&house).await));
    let route = format!("/v1/webhook_endpoints/{id}");
    let sent = house.get(&format!("{route}/deliveries"), &house.org_key).await;
    let sent = sent.body["data"][0]["id"].as_str().unwrap().to_owned();
    let admin = approver(&house, "adm@example.com", Role::Admin).await.0;
    let page = async |path: &str| text(&house.get(path, &admin.key).await);
    let list = page("/app/webhooks").await;
    for told in
        [&*path, "Enabled", "<code>action.*</code>", "data-send=\"POST /v1/webhook_endpoints\""]
    {
        assert!(list.contains(told), "{told}: {list}");
    }
    let html = page(&path).await;
    for told in [
        "webhook.ping",
        "Delivered",
        "/ping\"",
        "/secret/roll\"",
        "/recover\"",
        "/disable\"",
        "DELETE /v1",
        "Last 24 hours",
        "href=\"#switch\">Disable…",
    ] {
        assert!(html.contains(told), "{told}: {html}");
    }
    assert!(!html.contains("id=\"delivery\"") && !html.contains("whsec_"), "{html}");
    let open = page(&format!("{path}?status=delivered&delivery={sent}")).await;
    for told in [
        &*format!("POST /v1/webhook_deliveries/{sent}/redeliver"),
        "Attempts: 1",
        "<strong>200</strong>",
    ] {
        assert!(open.contains(told), "{told}: {open}");
    }
    // What another endpoint was sent is not told on this one's page.
    let elsewhere = page(&format!("{other}?delivery={sent}")).await;
    assert!(
        elsewhere.contains("no such delivery") && !elsewhere.contains("Attempts:"),
        "{elsewhere}"
    );
    assert!(page(&format!("{path}?status=dead")).await.contains("No delivery has this status."));
    let unread = page(&format!("{path}?status=lost")).await;
    assert!(
        unread.contains("<bdi>status</bdi></code> was ignored.") && unread.contains("webhook.ping")
    );
    let viewer = approver(&house, "vie@example.com", Role::Viewer).await.0;
    let html = text(&house.get(&format!("{path}?delivery={sent}"), &viewer.key).await);
    assert!(html.contains("Attempts: 1") && !html.contains("data-send="), "{html}");
    // What is not posted to is not pinged, and enabled on the same page.
    house.ask(("POST", &format!("{route}/disable")), &house.org_key, None).await;
    let html = page(&path).await;
    assert!(
        html.contains("It was disabled on request.")
            && html.contains("/enable\"")
            && !html.contains("/ping\""),
        "{html}"
    );
    let led = house.get(&format!("/app/go?q={id}"), &admin.key).await;
    assert_eq!(led.headers["location"], path);
}

/// A tool that says that it refunded so much, where the read-back finds 20.
pub(super) fn refunding(told: &str) -> Arc<ScriptedTool> {
    let table = TableName::new("public", "refunds");
    let footprint = Footprint {
        tables: [("refunds".to_owned(), vec![RowOp::Insert])].into(),
        max_rows: 1,
        ..Footprint::default()
    };
    let tool = ScriptedTool::new("mail.refund", SideEffect::Write)
        .with_footprint(footprint)
        .with_required_level(Level::L1);
    let value = |text: &str| Told { text: Some(text.to_owned()), form: TextForm::Exact };
    let row = BTreeMap::from([("id".to_owned(), value("7")), ("amount".to_owned(), value(told))]);
    let counts = RowCounts { inserts: 1, ..RowCounts::default() };
    let key = vec!["id".to_owned()];
    let measured = Measured {
        trace: LogTrace { system: "5".to_owned(), xid: "900".to_owned(), until: Some(Lsn(40)) },
        touched: [(
            table.clone(),
            Touched { counts, root: None, key: key.clone(), ..Touched::default() },
        )]
        .into(),
        names: [("refunds".to_owned(), table.clone())].into(),
        scope: vec![],
        rows: Some(ReportedRows {
            table,
            op: Some(RowOp::Insert),
            key,
            teller: Teller::Function,
            rows: vec![row],
        }),
    };
    let report = Report { rows_changed: Some(1), measured: Some(Box::new(measured)) };
    tool.answer(Outcome::Succeeded { result: json!({ "id": 7, "amount": told }), report });
    let datum = |text: &str| Datum::Text(text.to_owned());
    let image = [("id".to_owned(), datum("7")), ("amount".to_owned(), datum("20.00"))].into();
    tool.read_back_finds(ReadRow { xmin: 900, image });
    Arc::new(tool)
}

#[tokio::test]
async fn the_rows_that_a_read_back_found_stand_beside_those_that_were_told_of() {
    for (told, word, finding) in [
        ("20.00".to_owned(), "Verified", "matches"),
        (format!("9{CANARY}"), "Mismatch", "in <code><bdi>amount</bdi></code>"),
    ] {
        let house = House::that_runs(refunding(&told)).await;
        let call = json!({ "tool": "mail.refund", "args": {} });
        let done = house.post("/v1/actions", call).await;
        let ada = approver(&house, "ada@example.com", Role::Viewer).await.0;
        let html = text(&house.get(&format!("/app/actions/{}", done.id()), &ada.key).await);
        let table = html.split("Expected and observed rows").nth(1);
        let table = table.unwrap_or_else(|| panic!("{html}")).split("</table>").next().unwrap();
        for shown in ["public.refunds", "insert", "20.00", finding] {
            assert!(table.contains(shown), "{shown}: {table}");
        }
        assert!(html.contains(word) && html.contains("L1"), "{html}");
        assert!(!html.contains("<img") && !html.contains('\u{202e}'), "{html}");
        assert_eq!(table.contains("9&lt;img"), word == "Mismatch", "{table}");
    }
}

#[tokio::test]
async fn the_fields_that_an_api_was_asked_for_stand_beside_those_that_were_told_of() {
    let tool = ScriptedTool::new("mail.refund", SideEffect::Write).with_required_level(Level::L1);
    let field = |place: &str, told: Option<Value>, found: Option<Value>| Field {
        place: place.to_owned(),
        told,
        found,
    };
    let fields = vec![
        field("/id", Some(json!(7)), Some(json!(7))),
        field("/note", Some(json!("sent")), Some(json!(format!("9{CANARY}")))),
        field("/state", Some(json!("new")), None),
    ];
    tool.read_back_tells(Resource::There(fields));
    let house = House::that_runs(Arc::new(tool)).await;
    let done = house.post("/v1/actions", json!({ "tool": "mail.refund", "args": {} })).await;
    let ada = approver(&house, "ada@example.com", Role::Viewer).await.0;
    let html = text(&house.get(&format!("/app/actions/{}", done.id()), &ada.key).await);
    let table = html.split("Expected and observed fields").nth(1);
    let table = table.unwrap_or_else(|| panic!("{html}")).split("</table>").next().unwrap();
    for shown in ["/note", "matches", "value_differs", "readback_unreadable", "missing", "9&lt;img"]
    {
        assert!(table.contains(shown), "{shown}: {table}");
    }
    assert!(html.contains("Mismatch") && html.contains("L1"), "{html}");
    assert!(!html.contains("<img") && !html.contains('\u{202e}'), "{html}");
}

#[tokio::test]
async fn a_new_version_is_begun_with_a_version_and_by_whoever_may_save_it() {
    let house = House::new().await;
    let policies = house.get("/v1/policies", &house.org_key).await;
    let policy = policies.body["data"][0]["id"].as_str().unwrap().to_owned();
    let path = format!("/app/policies/{policy}?tab=edit");
    let admin = approver(&house, "adm@example.com", Role::Admin).await.0;
    let versions = format!("/v1/policies/{policy}/versions");
    let newest = house.get(&versions, &house.org_key).await.body["data"][0]["id"].clone();
    let html = text(&house.get(&path, &admin.key).await);
    for told in [
        &*format!("data-send=\"POST {versions}\""),
        &format!("name=\"expected_parent\" value=\"{}\"", newest.as_str().unwrap()),
        "Save as version 2",
        "based on version 1",
        "Undoing a write needs a person",
        "-editor.js",
    ] {
        assert!(html.contains(told), "{told}: {html}");
    }
    // What nobody would see while they edit is not edited here.
    let document = format!("schema: 1\n# {CANARY}\ndefault: {{ outcome: deny }}\nrules: []\n");
    let made = json!({ "document": document });
    let made = house.ask(("POST", &versions), &house.org_key, Some(made)).await;
    assert_eq!(made.status, 201, "{made:?}");
    let html = text(&house.get(&path, &admin.key).await);
    assert!(html.contains("invisible characters") && !html.contains("<textarea"), "{html}");
    let before = format!("{path}&version={}", newest.as_str().unwrap());
    assert!(text(&house.get(&before, &admin.key).await).contains("Save as version 3"));
    let viewer = approver(&house, "vie@example.com", Role::Viewer).await.0;
    let html = text(&house.get(&path, &viewer.key).await);
    assert!(!html.contains("<textarea") && html.contains("requires the role admin"), "{html}");
    // A policy without a version begins with a document that saves as it is.
    let empty = json!({ "name": "first steps" });
    let empty = house.ask(("POST", "/v1/policies"), &house.org_key, Some(empty)).await.id();
    let html = text(&house.get(&format!("/app/policies/{empty}?tab=edit"), &admin.key).await);
    let first = html.split("<textarea id=\"document\"").nth(1).unwrap().split_once('>').unwrap().1;
    let first = first.split("</textarea>").next().unwrap().replace("&quot;", "\"");
    let lint = json!({ "document": first.trim_start() });
    let lint = house.ask(("POST", "/v1/policies/lint"), &house.org_key, Some(lint)).await;
    let found = lint.body["lint"].as_array().unwrap();
    let warns = found.iter().any(|it| it["severity"] != "info");
    assert!(lint.body["valid"] == true && !warns, "{first}: {}", lint.body);
    assert!(html.contains("value=\"null\" data-type=\"json\""), "{html}");
}

#[tokio::test]
async fn the_version_that_was_chosen_stays_chosen_through_the_sign_in_and_the_pages_of_the_list() {
    let house = House::new().await;
    let policies = house.get("/v1/policies", &house.org_key).await;
    let policy = policies.body["data"][0]["id"].as_str().unwrap().to_owned();
    let versions = format!("/v1/policies/{policy}/versions");
    let first = house.get(&versions, &house.org_key).await.body["data"][0]["id"].clone();
    let first = first.as_str().unwrap();
    for number in 0..21 {
        let document = format!("schema: 1\n# {number}\ndefault: {{ outcome: deny }}\n");
        let made = json!({ "document": document });
        let made = house.ask(("POST", &versions), &house.org_key, Some(made)).await;
        assert_eq!(made.status, 201, "{made:?}");
    }
    let admin = approver(&house, "adm@example.com", Role::Admin).await.0;
    let page = async |tab: &str| {
        let path = format!("/app/policies/{policy}?tab={tab}&version={first}");
        text(&house.get(&path, &admin.key).await)
    };
    let list = page("versions").await;
    let older = format!("?tab=versions&amp;version={first}&amp;cursor=");
    assert!(list.contains(&older), "{list}");
    assert!(page("activate").await.contains("Activate version 1</button>"));
    house.clock.pass(Duration::from_mins(16));
    let stale = page("activate").await;
    let back = format!("/app/policies/{policy}?tab=activate&version={first}");
    let again = format!("href=\"/app/again?next={}\"", pages::encoded(&back));
    assert!(stale.contains(&again), "{stale}");
    let again = house.get(&format!("/app/again?next={}", pages::encoded(&back)), &admin.key).await;
    let carried = format!("name=\"next\" value=\"{}\"", back.replace('&', "&amp;"));
    assert!(text(&again).contains(&carried), "{}", text(&again));
}

#[tokio::test]
async fn every_filter_of_the_lists_is_a_field_that_keeps_its_value() {
    let house = House::new().await;
    house.refund(5).await;
    house.refund(500).await;
    let ada = approver(&house, "ada@example.com", Role::Admin).await.0;
    let page = async |path: &str| text(&house.get(path, &ada.key).await);
    let filters = crate::wire::filter::LIST.iter().map(|it| it.name());
    let html = page("/app/actions").await;
    for name in filters.filter(|name| !["limit", "cursor"].contains(name)) {
        assert!(html.contains(&format!("name=\"{name}\"")), "{name}: {html}");
    }
    let from =
        "/app/actions?level=L0&created_at%5Bgte%5D=2026-01-02T03:04&q=&state=executing,sealed";
    let html = page(from).await;
    for told in [
        "<option value=\"L0\" selected>",
        "value=\"2026-01-02T03:04:00\"",
        "<details class=\"rarer\" open>",
        "<option selected>executing,sealed</option>",
        "shop.refund",
    ] {
        assert!(html.contains(told), "{told}: {html}");
    }
    let none = page("/app/actions?created_at%5Blt%5D=2026-01-02T03:04:05").await;
    assert!(none.contains("No action matches these filters."), "{none}");
    // One that cannot be read is left out and told of, and the others hold.
    let bad = page("/app/actions?created_at%5Blt%5D=yesterday&tool=shop.*&cursor=old").await;
    for told in [
        "<bdi>created_at[lt]</bdi></code> was ignored.",
        "Showing the first page.",
        "value=\"shop.*\"",
        "shop.refund",
    ] {
        assert!(bad.contains(told), "{told}: {bad}");
    }
    let other = page("/app/actions?created_at%5Blt%5D=yesterday&tool=mail.*").await;
    assert!(other.contains("No action matches these filters."), "{other}");
    let html = page("/app/approvals?view=decided").await;
    for name in ["status", "tool", "agent", "created_at[gte]", "created_at[lt]"] {
        assert!(html.contains(&format!("name=\"{name}\"")), "{name}: {html}");
    }
    let html = page("/app/approvals?view=waiting&tool=shop.*").await;
    assert!(html.contains("value=\"shop.*\"") && html.contains("tool=shop.%2A&amp;"), "{html}");
    let other = page("/app/approvals?view=waiting&tool=mail.*").await;
    assert!(other.contains("No request in this view matches these filters."), "{other}");
    let wrong = page("/app/approvals?view=waiting&status=denied").await;
    assert!(wrong.contains("<bdi>status</bdi></code> was ignored."), "{wrong}");
    assert!(wrong.contains("shop.refund"), "{wrong}");
    let none = page("/app/approvals?view=nothing").await;
    assert!(none.contains("<bdi>view</bdi></code> was ignored."), "{none}");
}

#[tokio::test]
async fn an_old_link_into_a_list_shows_its_room_and_says_that_it_begins_anew() {
    let house = House::new().await;
    house.refund(5).await;
    let ada = approver(&house, "ada@example.com", Role::Admin).await.0;
    let policies = house.get("/v1/policies", &house.org_key).await;
    let policy = policies.body["data"][0]["id"].as_str().unwrap().to_owned();
    let endpoint = webhook(&house).await;
    for path in [
        "/app/actions?cursor=old",
        "/app/agents?cursor=old",
        "/app/approvals?view=decided&cursor=old",
        "/app/connectors?cursor=old",
        "/app/ledger?cursor=old",
        "/app/policies?cursor=old",
        &format!("/app/policies/{policy}?tab=versions&cursor=old"),
        &format!("/app/webhooks/{endpoint}?cursor=old"),
    ] {
        let answer = house.get(path, &ada.key).await;
        let html = text(&answer);
        assert_eq!(answer.status, 200, "{path}: {html}");
        assert!(html.contains("Showing the first page."), "{path}: {html}");
    }
    let window = text(&house.get("/app?window=age", &ada.key).await);
    assert!(window.contains("<bdi>window</bdi></code> was ignored."), "{window}");
    // What is jumped to and is too long for a search is told in the room of the search.
    let long = "x".repeat(128);
    let led = house.get(&format!("/app/go?q={long}"), &ada.key).await;
    let to = led.headers["location"].to_str().unwrap();
    let html = text(&house.get(to, &ada.key).await);
    assert!(html.contains("<bdi>q</bdi></code> was ignored."), "{html}");
    assert!(html.contains(&format!("value=\"{long}\"")), "{html}");
}

#[tokio::test]
async fn people_are_named_to_whoever_may_know_their_addresses() {
    let house = House::new().await;
    let ann = approver(&house, "ann@example.com", Role::Owner).await.0;
    let viewer = approver(&house, "vie@example.com", Role::Viewer).await.0;
    let held = house.refund(500).await;
    let approval = held.body["approval"]["id"].as_str().unwrap().to_owned();
    let page = format!("/app/approvals/{approval}");
    let told =
        |html: &str, email: &str| html.contains(&format!("<bdi>{email}</bdi> <span class=\"id\">"));
    let html = text(&house.get(&page, &ann.key).await);
    assert!(told(&html, "ann@example.com") && told(&html, "vie@example.com"), "{html}");
    let html = text(&house.get(&page, &viewer.key).await);
    assert!(told(&html, "vie@example.com") && !html.contains("ann@example.com"), "{html}");
}
