//! What agents and strangers write is text and nothing else, wherever people read it: in every page of
//! the Console, in a real browser too, in mails, exports and pictures.

use std::{
    collections::{BTreeSet, VecDeque},
    fs,
    path::Path,
    process::{Command, Output},
};

use serde_json::{Value, json};

use crate::{
    edge::{edge_call, report},
    house::program,
    house::{Browser, Caller, House, Request, Service, call},
    rest::{Pets, TOKEN},
};

/// What would run, in whichever place of a page it came to stand as it is.
const CANARY: &str = concat!(
    "'\"></title></textarea></script><script>document.title='ran'</script>",
    "<img src=x data-canary onerror=\"document.title='ran'\"><svg onload=\"document.title='ran'\">",
    "{{7*7}}",
);
/// As much of it as a short name holds.
const SHORT: &str = "'\"><img src=x data-canary onerror=document.title='ran'>";
/// What stands in a text where a canary was let through.
const LET_THROUGH: [&str; 4] =
    ["<img src=x", "<script>document.title", "<svg onload", "</textarea></script>"];

/// Asks a person about what the lab does, by a rule whose reason is a canary.
fn policy(outcome: &str) -> Value {
    json!({
        "schema": 1,
        "default": { "outcome": "deny", "reason": CANARY },
        "rules": [
            { "id": "edges", "match": "crm.*", "outcome": "allow" },
            { "id": "lab", "match": "lab.*", "outcome": outcome, "reason": CANARY },
        ],
    })
}

/// The house with a canary in every field that an agent, an edge, a governed system or somebody who
/// set something up can fill.
struct Filled {
    house: House,
    service: Service,
    browser: Browser,
    base: String,
    pets: Pets,
}

impl Filled {
    async fn new() -> Option<Self> {
        let house = House::new("").await?;
        let service = house.serve().await;
        let email = "ada@example.com";
        let (base, _) = crate::house::invited(&house, "eve@example.com").await;
        let browser = Browser::owner(&house, &service, email).await;
        let filled = Self { house, service, browser, base, pets: Pets::open().await };
        let org = filled.service.caller(&filled.house.org_key().await);
        filled.set_up(&org).await;
        filled.act(&org).await;
        Some(filled)
    }

    /// Does what an owner does in their browser.
    async fn owns(&self, path: &str, body: &Value) {
        let people = self.service.anonymous();
        let answer = people.send(self.browser.page(Request::post(path, body))).await;
        assert!(answer.status.is_success(), "{path}: {answer:?}");
    }

    /// What people and their programs name and describe.
    async fn set_up(&self, org: &Caller) {
        self.owns("/v1/org", &json!({ "name": SHORT })).await;
        // The names of agents and tools are of letters that mean nothing in markup.
        let labels = json!({ "team": SHORT });
        let agent = json!({ "name": "canary", "description": CANARY, "labels": labels });
        self.owns("/v1/agents", &agent).await;
        self.owns("/v1/api_keys", &json!({ "name": SHORT, "scopes": ["admin"] })).await;
        let hook = json!({
            "url": "http://127.0.0.1:9/%3Cimg%20src=x%3E", "description": CANARY, "types": ["webhook.*"],
        });
        self.owns("/v1/webhook_endpoints", &hook).await;
        let tool = json!({
            "name": "list", "title": SHORT, "description": CANARY, "method": "GET", "path": "/pets",
            "args": { "type": "object", "additionalProperties": false, "properties": {
                "q": { "type": "string", "description": CANARY, "title": SHORT },
            } },
        });
        let pets = json!({
            "name": "pets", "type": "rest", "title": SHORT,
            "config": { "base_url": self.pets.url(), "tools": [tool] },
            "credential": { "kind": "bearer", "fields": { "token": TOKEN } },
        });
        org.send(Request::post("/v1/connectors", &pets)).await.is(201);
        // What is not served is shown with its path and its media type.
        let described = json!({
            "openapi": "3.0.3",
            "info": { "title": SHORT, "version": SHORT },
            "paths": {
                "/pets": { "get": { "summary": SHORT, "description": CANARY } },
                (format!("/{}", dense(SHORT))): { "put": {
                    "requestBody": { "content": { SHORT: {} } },
                } },
            },
        });
        let zoo = json!({
            "name": "zoo", "type": "rest",
            "config": { "base_url": self.pets.url(), "auth": "none", "openapi": described },
        });
        let made = org.send(Request::post("/v1/connectors", &zoo)).await.is(201);
        let path = format!("/v1/connectors/{}/not_served", made["id"].as_str().unwrap());
        assert_eq!(org.read(&path).await["data"].as_array().unwrap().len(), 1);
        for (number, outcome) in ["allow", "require_approval"].into_iter().enumerate() {
            self.house.activate(&format!("canary-{number}"), &policy(outcome).to_string()).await;
            if outcome == "allow" {
                self.calls_that_end().await;
            }
        }
    }

    /// Calls that run, are refused, fail, and are reported by an edge.
    async fn calls_that_end(&self) {
        let agent = self.house.agent("acts").await;
        let caller = self.service.caller(&agent.key);
        let mut note = call("lab.note", json!({ "mark": CANARY }));
        note["context"] = json!({ "client": { "name": SHORT, "version": SHORT } });
        let sent = Request::post("/v1/actions", &note);
        // Headers take visible ASCII alone.
        let sent = sent.header("User-Agent", SHORT).header("Service-On-Behalf-Of", &dense(SHORT));
        caller.send(sent.header("Service-Session", &dense(SHORT))).await.ok();
        for name in [SHORT.to_owned(), format!("shop.{}", dense(SHORT))] {
            let unknown = call(&name, json!({ CANARY: CANARY }));
            caller.send(Request::post("/v1/actions", &unknown)).await.is(404);
        }
        for more in [
            json!({ "result": { CANARY: [CANARY, { SHORT: CANARY }] } }),
            json!({ "status": "failed", "error_code": "tool_error", "error_message": CANARY }),
        ] {
            let edge = edge_call(&json!({ SHORT: CANARY }));
            let action = caller.insist(Request::post("/v1/actions", &edge)).await.ok();
            caller.send(report(&action, more)).await.ok();
        }
    }

    /// Calls that wait, one of which people answer, and an agent that is stopped.
    async fn act(&self, org: &Caller) {
        let agent = self.house.agent("asks").await;
        let caller = self.service.caller(&agent.key);
        for verb in ["approve", "deny", ""] {
            let mut held = call("lab.note", json!({ "mark": format!("{verb} {CANARY}") }));
            held["wait"] = json!(0);
            let sent = Request::post("/v1/actions", &held).header("User-Agent", SHORT);
            let sent = sent.header("Service-On-Behalf-Of", &dense(SHORT));
            let held = caller.send(sent).await.is(202);
            if verb.is_empty() {
                continue;
            }
            let path = format!("/v1/approvals/{}", held["approval"]["id"].as_str().unwrap());
            let people = self.service.anonymous();
            let shown = people.send(self.browser.page(Request::get(&path))).await.ok();
            let body = json!({ "context_digest": shown["context_digest"], "note": CANARY });
            self.owns(&format!("{path}/{verb}"), &body).await;
        }
        let halted = self.house.agent("halted").await;
        let stop = json!({ "reason": CANARY, "pending_approvals": "keep" });
        let path = format!("/v1/agents/{}/stop", halted.id);
        self.owns(&path, &stop).await;
        org.read("/v1/overview").await;
    }

    /// The page behind a path, as the owner's browser gets it.
    async fn page(&self, path: &str) -> (u16, String) {
        let people = self.service.anonymous();
        let answer = people.glance(self.browser.page(Request::get(path))).await;
        (answer.status.as_u16(), String::from_utf8_lossy(&answer.body).into_owned())
    }
}

/// A text without blanks, as headers and names hold it.
fn dense(text: &str) -> String {
    text.replace(' ', "/")
}

fn assert_tame(place: &str, text: &str) {
    for mark in LET_THROUGH {
        assert!(!text.contains(mark), "{place} lets `{mark}` through:\n{text}");
    }
    // The dense one has slashes where a tag takes them as well.
    assert!(!text.contains("<img/src=x"), "{place} lets a tag through:\n{text}");
}

/// The paths within the Console that a page leads to. A place on a page is no page of its own.
fn leads(page: &str) -> Vec<String> {
    let page = page.replace("&#x2f;", "/");
    let all = page.split("href=\"/app").skip(1).filter_map(|rest| rest.split(['"', '#']).next());
    all.map(|rest| format!("/app{}", rest.replace("&amp;", "&"))).collect()
}

/// A page as one of many of its kind, by which a crawl comes by each kind and not by each row.
fn kind(path: &str) -> String {
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    let keys: Vec<_> = query.split('&').filter_map(|pair| pair.split('=').next()).collect();
    format!("{path}?{}", keys.join("&"))
}

/// Every page that the Console leads to, with its text.
async fn crawl(filled: &Filled) -> Vec<(String, String)> {
    let mut open: VecDeque<String> =
        ["/app", "/app/stop", "/app/nothing", "/login", "/approve?t=nothing"]
            .map(str::to_owned)
            .into();
    let (mut known, mut pages) = (BTreeSet::new(), Vec::new());
    while let Some(path) = open.pop_front() {
        if path.contains("/assets/") || !known.insert(kind(&path)) {
            continue;
        }
        let (status, text) = filled.page(&path).await;
        assert!(status < 500, "{path}: {status} {text}");
        open.extend(leads(&text));
        pages.push((path, text));
        assert!(pages.len() < 400, "the crawl does not end: {known:#?}");
    }
    pages
}

#[tokio::test]
async fn what_agents_and_strangers_write_is_text_in_every_page_mail_and_export() {
    let Some(filled) = Filled::new().await else { return };
    let pages = crawl(&filled).await;
    let rooms = [
        "approvals",
        "actions",
        "agents",
        "policies",
        "connectors",
        "webhooks",
        "ledger",
        "settings",
    ];
    for room in rooms {
        let inside = format!("/app/{room}");
        let count = pages.iter().filter(|(path, _)| path.starts_with(&inside)).count();
        assert!(
            count > 0,
            "no page of {room}: {:?}",
            pages.iter().map(|it| &it.0).collect::<Vec<_>>()
        );
    }
    let mut shown = 0;
    for (path, text) in &pages {
        assert_tame(path, text);
        shown += usize::from(text.contains("data-canary"));
        let pictures = text.matches("<svg").count();
        assert_eq!(text.matches("</svg>").count(), pictures, "{path}: a picture is not closed");
    }
    assert!(shown >= 10, "canaries came to {shown} of {} pages alone", pages.len());
    let mails = fs::read_dir(filled.house.folder().join("outbox")).unwrap().flatten();
    let mails: Vec<_> = mails.map(|file| fs::read_to_string(file.path()).unwrap()).collect();
    assert!(mails.iter().any(|mail| mail.contains("/approve?t=")), "nobody was written to");
    for mail in &mails {
        let html = mail.split_once("text/html").map_or("", |(_, html)| html);
        assert_tame("a mail", html);
    }
    exports_are_no_pages(&filled).await;
    in_a_browser(&filled, pages.into_iter().map(|(path, _)| path).collect()).await;
}

/// What is read out is JSON or text that no browser takes for a page.
async fn exports_are_no_pages(filled: &Filled) {
    let people = filled.service.anonymous();
    let get = async |path: &str| people.send(filled.browser.page(Request::get(path))).await;
    let actions = get("/v1/actions?limit=100").await.ok();
    let mut paths =
        vec!["/v1/approvals".to_owned(), "/v1/agents".to_owned(), "/v1/deeds".to_owned()];
    for action in actions["data"].as_array().unwrap() {
        paths.push(format!("/v1/actions/{}", action["id"].as_str().unwrap()));
        paths.extend(action["deed"].as_str().map(|deed| format!("/v1/deeds/{deed}/bundle")));
    }
    for path in paths {
        let answer = get(&path).await;
        let kind = answer.header("content-type").unwrap_or_default().to_owned();
        assert!(kind.starts_with("application/"), "{path}: {kind}");
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"), "{path}");
    }
}

/// Visits each page with scripts on; nothing of a canary has become an element, and none has run.
async fn in_a_browser(filled: &Filled, paths: Vec<String>) {
    let names = ["CHANCERY_NODE", "CHANCERY_CHROMIUM"];
    let [Some(node), Some(browser)] = names.map(program) else { return };
    let (name, value) = filled.browser.cookie().split_once('=').unwrap();
    let case = json!({
        "base": filled.base,
        "address": filled.service.address.to_string(),
        "cookie": { "name": name, "value": value },
        "paths": paths,
    });
    let file = filled.house.folder().join("canaries.json");
    fs::write(&file, case.to_string()).unwrap();
    let driver = Path::new(env!("CARGO_MANIFEST_DIR")).join("it/console/canaries.mjs");
    let mut command = Command::new(node);
    command.arg(driver).arg(browser).arg(file);
    let ended = tokio::task::spawn_blocking(move || command.output().unwrap());
    let Output { status, stdout, stderr } = ended.await.unwrap();
    let seen = String::from_utf8_lossy(&stdout).into_owned();
    assert!(status.success(), "{seen}{}", String::from_utf8_lossy(&stderr));
    let seen: Value = seen.trim().parse().unwrap();
    assert_eq!(seen["visited"], json!(paths.len()));
}

#[test]
fn a_text_that_lets_a_canary_through_is_seen() {
    let seen = |text: &str| std::panic::catch_unwind(|| assert_tame("a text", text)).is_err();
    for text in [CANARY, SHORT, &dense(SHORT)] {
        assert!(seen(text), "{text}");
        let escaped = text.replace('<', "&lt;");
        assert!(!seen(&escaped), "{escaped}");
    }
}
