//! Health, version, description, error pages and seal keys.

use std::time::Duration;

use super::house::{House, request};
use crate::{Condition, description::Validator};

/// What the interface does not have yet.
const ROADMAP: &str = include_str!("../../../../docs/roadmap.md");

#[tokio::test(start_paused = true)]
async fn health_is_looked_at_once_a_second_and_says_statuses_only() {
    let house = House::new().await;
    let look = async || house.get("/v1/health", "").await;
    assert_eq!((look().await.status, look().await.body["status"].as_str()), (200, Some("ok")));
    *house.probe.database.lock().unwrap() = Condition::Down;
    assert_eq!(look().await.status, 200);
    tokio::time::advance(Duration::from_secs(1)).await;
    let down = look().await;
    assert_eq!((down.status, &down.body["status"]), (503, &"down".into()));
    assert_eq!(down.body["checks"]["database"], "down");
    *house.probe.database.lock().unwrap() = Condition::Degraded;
    tokio::time::advance(Duration::from_secs(1)).await;
    let degraded = look().await;
    assert_eq!((degraded.status, &degraded.body["status"]), (200, &"degraded".into()));
    assert_eq!(degraded.body.get("unreachable_orgs"), None);
    *house.probe.unreachable_orgs.lock().unwrap() = 9;
    assert_eq!(look().await.body["unreachable_orgs"], 9);
}

#[tokio::test]
async fn a_server_that_shuts_down_says_so() {
    let house = House::new().await;
    house.control.close();
    let answer = house.get("/v1/health", "").await;
    assert_eq!((answer.status, &answer.body["status"]), (503, &"draining".into()));
}

#[tokio::test]
async fn the_version_names_the_build_and_what_it_serves() {
    let house = House::new().await;
    let answer = house.get("/v1/version", "").await;
    assert_eq!(answer.body["build"], "1.2.3");
    // A build that was not told its commit says so.
    assert_eq!(answer.body.get("commit"), Some(&serde_json::Value::Null));
    assert_eq!(answer.body["default_api_version"], "2026-10-01");
    assert_eq!(answer.body["api_versions"], serde_json::json!(["2026-10-01"]));
}

#[tokio::test]
async fn the_description_is_served_as_embedded_and_without_a_version() {
    let house = House::new().await;
    let answer = house.get("/api/openapi.yaml", "").await;
    assert_eq!(answer.bytes, crate::description::TEXT);
    assert_eq!(answer.headers["content-type"], "application/yaml");
    assert!(!answer.headers.contains_key("service-version"));
}

#[tokio::test]
async fn the_description_is_served_as_json_too_and_not_again_to_who_has_it() {
    let house = House::new().await;
    let described = Validator::embedded().unwrap();
    let answer = house.get("/api/openapi.json", "").await;
    assert_eq!(Some(&answer.body), described.part(""));
    let opening = std::str::from_utf8(&answer.bytes).unwrap().split('\n').nth(1);
    assert_eq!(opening, Some("  \"openapi\": \"3.1.0\","), "members keep their order");
    for path in ["/api/openapi.json", "/api/openapi.yaml"] {
        let etag = house.get(path, "").await.headers["etag"].to_str().unwrap().to_owned();
        let headers = [("if-none-match", etag.as_str())];
        let again = house.send(request("GET", path, "", &headers, None)).await;
        assert_eq!((again.status, again.bytes.len()), (304, 0), "{path}");
    }
}

#[tokio::test]
async fn the_reference_shows_every_operation_and_needs_nothing_from_outside() {
    let house = House::new().await;
    let answer = house.get("/docs", "").await;
    assert!(answer.bytes.starts_with(b"<!doctype html>"), "nothing stands before the page");
    let page = std::str::from_utf8(&answer.bytes).unwrap();
    for row in crate::routes::interface() {
        let article = format!("<article id=\"{}\">", row.operation);
        assert_eq!(page.matches(&article).count(), 1, "{}", row.operation);
    }
    let article = |id: &str| page.split(&format!("<article id=\"{id}\">")).nth(1).unwrap();
    let of = |id: &str| article(id).split("</article>").next().unwrap();
    for (id, code, is_its) in [
        ("sendAction", "policy_denied", true),
        ("listDeeds", "policy_denied", false),
        ("listDeeds", "insufficient_scope", true),
        ("archivePolicy", "policy_active", true),
        ("archivePolicy", "name_taken", false),
    ] {
        assert_eq!(of(id).contains(&format!("/docs/errors/{code}\"")), is_its, "{id} {code}");
    }
    for part in ["<script", "src=", "<link", "@import", "url(", "undefined", "`"] {
        assert!(!page.contains(part), "the page has `{part}`");
    }
    let ids: Vec<&str> =
        page.split(" id=\"").skip(1).map(|it| it.split('"').next().unwrap()).collect();
    for link in page.split("href=\"").skip(1).map(|it| it.split('"').next().unwrap()) {
        match link.strip_prefix('#') {
            Some(anchor) => {
                let found = ids.iter().filter(|id| **id == anchor).count();
                assert_eq!(found, 1, "`{link}` leads to {found} places");
            }
            None => assert_eq!(house.get(link, "").await.status, 200, "{link}"),
        }
    }
}

#[tokio::test]
async fn every_error_leads_to_a_page() {
    let house = House::new().await;
    for code in crate::catalogue::ALL {
        let answer = house.get(&format!("/docs/errors/{code}"), "").await;
        assert_eq!(answer.status, 200, "{code}");
        let policy = answer.headers["content-security-policy"].to_str().unwrap();
        assert!(policy.starts_with("default-src 'none'; style-src 'sha256-"), "{policy}");
    }
    assert_eq!(house.get("/docs/errors/nothing", "").await.code(), (404, "not_found"));
}

#[tokio::test(start_paused = true)]
async fn seal_keys_are_public_cached_and_never_partial() {
    let house = House::new().await;
    let path = "/.well-known/service/keys.json";
    let answer = house.get(path, "").await;
    assert_eq!(answer.status, 200);
    let set = deed::KeySet::parse(&answer.bytes).unwrap();
    let etag = answer.headers["etag"].to_str().unwrap().to_owned();
    assert_eq!(etag, set.etag());
    assert_eq!(etag, format!("\"{}\"", crypto::sha256(&answer.bytes)));
    for known in [etag.clone(), format!("W/{etag}"), format!("\"x\", {etag}"), "*".to_owned()] {
        let headers = [("if-none-match", known.as_str())];
        let answer = house.send(request("GET", path, "", &headers, None)).await;
        assert_eq!((answer.status, answer.bytes.len()), (304, 0), "{known}");
    }
    let headers = [("if-none-match", "\"sha256:00\"")];
    assert_eq!(house.send(request("GET", path, "", &headers, None)).await.status, 200);
    house.store.go_down();
    assert_eq!(house.get(path, "").await.status, 200);
    tokio::time::advance(Duration::from_mins(1)).await;
    assert_eq!(house.get(path, "").await.code(), (503, "service_unavailable"));
}

#[tokio::test]
async fn routes_of_the_roadmap_are_unknown() {
    let house = House::new().await;
    let mut asked = 0;
    for line in ROADMAP.lines().filter(|line| line.contains("| `/")) {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let path = cells[2].replace(['`', '{', '}', '*'], "");
        for method in cells[1].split(", ") {
            let request = request(method, &path, &house.org_key, &[], None);
            let answer = house.send(request).await;
            // Where the path of another route covers it, that one does not have the method.
            let is_unknown =
                matches!(answer.code(), (404, "route_unknown") | (405, "method_not_allowed"));
            assert!(is_unknown, "{method} {path}");
            asked += 1;
        }
    }
    assert!(asked > 0, "the page has no table of routes");
}

#[test]
fn codes_of_the_roadmap_are_not_in_the_catalogue() {
    for code in crate::catalogue::ALL {
        assert!(!ROADMAP.contains(&format!("| `{code}` |")), "{code} is raised already");
    }
}

#[tokio::test]
async fn what_is_not_versioned_looks_at_no_version() {
    let house = House::new().await;
    for path in ["/.well-known/service/keys.json", "/api/openapi.yaml", "/docs/errors/conflict"] {
        let headers = [("Service-Version", "2020-01-01")];
        let answer = house.send(request("GET", path, "", &headers, None)).await;
        assert_eq!(answer.status, 200, "{path}");
        assert!(!answer.headers.contains_key("service-version"), "{path}");
    }
}
