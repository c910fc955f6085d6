//! Lists of actions and tools.

use serde_json::json;

use super::house::{House, request};

#[tokio::test]
async fn a_list_is_paged_newest_first_by_cursors_that_hold() {
    let house = House::new().await;
    let mut sent = Vec::new();
    for _ in 0..5 {
        sent.push(house.authorize().await.id());
        house.clock.pass(std::time::Duration::from_millis(1));
    }
    sent.reverse();
    let (mut seen, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = house.get(&format!("/v1/actions?limit=2{cursor}"), &house.support.key).await;
        assert_eq!(page.status, 200);
        let data = page.body["data"].as_array().unwrap();
        seen.extend(data.iter().map(|action| action["id"].as_str().unwrap().to_owned()));
        match page.body["next_cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => break,
        }
        assert_eq!(page.body["has_more"], true);
    }
    assert_eq!(seen, sent);
}

#[tokio::test]
async fn a_cursor_is_good_for_its_own_query_alone() {
    let house = House::new().await;
    house.authorize().await;
    house.authorize().await;
    let page = house.get("/v1/actions?limit=1&tool=mail.*", &house.support.key).await;
    let cursor = page.body["next_cursor"].as_str().unwrap().to_owned();
    let with = |filters: &str| format!("/v1/actions?{filters}&cursor={cursor}");
    let good = house.get(&with("tool=mail.*&limit=7"), &house.support.key).await;
    assert_eq!(good.body["data"].as_array().unwrap().len(), 1);
    let mut edited = cursor.clone();
    edited.replace_range(0..1, if cursor.starts_with('A') { "B" } else { "A" });
    let swapped = [
        house.get(&with("tool=mail.send"), &house.support.key).await,
        house.get(&with("limit=1"), &house.support.key).await,
        house.get(&with("tool=mail.*"), &house.other.key).await,
        house.get(&with("tool=mail.*"), &house.org_key).await,
        house.get(&format!("/v1/actions?tool=mail.*&cursor={edited}"), &house.support.key).await,
        house.get("/v1/actions?cursor=", &house.support.key).await,
        house.get("/v1/actions?cursor=!", &house.support.key).await,
    ];
    for answer in swapped {
        assert_eq!((answer.code(), answer.param()), ((400, "validation_failed"), Some("cursor")));
    }
}

#[tokio::test]
async fn filters_combine_and_bad_ones_name_themselves() {
    let house = House::new().await;
    house.refund(1).await;
    house.refund(500).await;
    house.post("/v1/actions", json!({ "tool": "shop.delete", "args": {} })).await;
    let agent = house.support.agent;
    #[rustfmt::skip]
    let counts = [
        ("", 3), ("state=sealed", 2), ("state=pending_approval,sealed", 3), ("decision=deny", 1),
        ("verdict=VERIFIED&level=L0", 1), ("tool=shop.*", 3), ("tool=shop.delete", 1), ("q=delete", 1),
        ("created_at[gte]=2026-10-01T12:00:00Z", 3), ("created_at%5Blt%5D=2026-10-01T12:00:00Z", 0),
        ("on_behalf_of=nobody", 0), ("decision=deny&state=pending_approval", 0), ("shadow_differs=true", 0),
    ];
    for (query, count) in counts {
        let list = house.get(&format!("/v1/actions?{query}"), &house.org_key).await;
        assert_eq!(list.body["data"].as_array().map(Vec::len), Some(count), "{query}");
    }
    let own = house.get(&format!("/v1/actions?agent={agent}"), &house.org_key).await;
    assert_eq!(own.body["data"].as_array().map(Vec::len), Some(3));
    let others = house.get(&format!("/v1/actions?agent={agent}"), &house.other.key).await;
    assert_eq!(others.body["data"], json!([]));
    let long = format!("on_behalf_of={}", "x".repeat(257));
    #[rustfmt::skip]
    let bad = [
        ("agent=agt_1", "agent"), ("tool=*a*b*c*", "tool"), ("tool=", "tool"), ("state=done", "state"),
        ("state=sealed,", "state"), ("decision=ALLOW", "decision"), ("verdict=verified", "verdict"),
        ("level=L3", "level"), (long.as_str(), "on_behalf_of"), ("created_at[gte]=today", "created_at[gte]"),
        ("created_at[gt]=2026-10-01T12:00:00Z", "created_at[gt]"), ("q=x", "q"), ("shadow_differs=false", "shadow_differs"),
        ("limit=0", "limit"), ("limit=101", "limit"), ("limit=x", "limit"), ("limit=1&limit=2", "limit"),
    ];
    for (query, param) in bad {
        let answer = house.get(&format!("/v1/actions?{query}"), &house.org_key).await;
        assert_eq!((answer.code(), answer.param()), ((400, "validation_failed"), Some(param)));
    }
}

#[tokio::test]
async fn tools_that_are_always_denied_are_shown_only_when_asked_for() {
    let house = House::new().await;
    let names = async |query: &str| {
        let list = house.get(&format!("/v1/tools{query}"), &house.support.key).await;
        let data = list.body["data"].as_array().unwrap().clone();
        let shown = |tool: &serde_json::Value| {
            format!("{} {}", tool["name"].as_str().unwrap(), tool["visibility"].as_str().unwrap())
        };
        data.iter().map(shown).collect::<Vec<_>>()
    };
    assert_eq!(names("").await, ["shop.refund visible"]);
    assert_eq!(names("?include_hidden=false").await, ["shop.refund visible"]);
    let every = ["shop.delete hidden", "shop.refund visible"];
    assert_eq!(names("?include_hidden=true").await, every);
    let answer = house.get("/v1/tools?include_hidden=1", &house.support.key).await;
    assert_eq!(
        (answer.code(), answer.param()),
        ((400, "validation_failed"), Some("include_hidden"))
    );
    assert_eq!(house.get("/v1/tools", &house.org_key).await.code(), (403, "insufficient_scope"));
}

#[tokio::test]
async fn an_edge_asks_which_of_its_tools_are_shown() {
    let house = House::new().await;
    let tool = |name: &str| json!({ "name": name, "digest": crypto::sha256(name) });
    let body =
        json!({ "connector": "mail", "tools": [tool("send"), tool("x.delete"), tool("read")] });
    let answer = house.post("/v1/tools/resolve", body).await;
    let shown: Vec<_> = answer.body["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| {
            (
                it["name"].as_str().unwrap(),
                it["visibility"].as_str().unwrap(),
                it["rule_id"].as_str(),
            )
        })
        .collect();
    let expected = [
        ("send", "visible", Some("edge")),
        ("x.delete", "hidden", Some("no-deletes")),
        ("read", "visible", Some("edge")),
    ];
    assert_eq!(shown, expected);
    let many: Vec<_> = (0..501).map(|n| json!({ "name": format!("t{n}") })).collect();
    #[rustfmt::skip]
    let bad = [
        (json!({ "connector": "m", "tools": [] }),                        "connector"),
        (json!({ "connector": "mail" }),                                  "tools"),
        (json!({ "connector": "mail", "tools": many }),                   "tools"),
        (json!({ "connector": "mail", "tools": [1] }),                    "tools[0]"),
        (json!({ "connector": "mail", "tools": [{ "name": "" }] }),       "tools[0].name"),
        (json!({ "connector": "mail", "tools": [{ "name": "a", "x": 1 }] }), "tools[0].x"),
    ];
    for (body, param) in bad {
        let answer = house.post("/v1/tools/resolve", body).await;
        assert_eq!((answer.code(), answer.param()), ((400, "validation_failed"), Some(param)));
    }
    let nobody = request("POST", "/v1/tools/resolve", "", &[], Some(json!({})));
    assert_eq!(house.send(nobody).await.code(), (401, "unauthenticated"));
}
