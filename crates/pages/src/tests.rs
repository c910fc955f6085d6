//! Templates that can be read, the words on badges, and files that are found by what is in them.

use model::Timestamp;
use serde_json::{Value, json};

use crate::{Pages, assets};

#[test]
fn every_template_can_be_read() {
    Pages::new().unwrap();
}

#[test]
fn a_file_is_found_under_its_own_digest_alone() {
    let served = assets::served_as("chancery.css").unwrap();
    assert_eq!(assets::find(&served).unwrap().name, "chancery.css");
    assert!(assets::find("chancery.css").is_none());
    assert!(assets::find(&format!("0{served}")).is_none());
    assert!(assets::served_as("other.css").is_none());
}

/// What every room is given.
fn shell() -> Value {
    json!({
        "place": "ledger", "csrf": "word", "waiting": { "count": 0, "more": false },
        "org": { "id": "org_1", "name": "Acme", "time_zone": "UTC", "stop": null },
        "me": { "email": "ada@example.com", "user": "usr_1", "role": "viewer", "can_approve": false, "is_fresh": true },
    })
}

fn ledger(check: &Value, entry: &Value) -> String {
    let shown = json!({
        "shell": shell(), "filters": {}, "query": "",
        "list": { "data": [entry], "has_more": false, "next_cursor": null },
        "checks": { "data": [check] },
        "head": {
            "size": 0, "digest": null, "root": "sha256:00", "unsealed_count": 0, "oldest_unsealed_at": null,
            "closed_logs": [],
        },
    });
    Pages::new().unwrap().fill(("app", "app/ledger.html"), Timestamp::EPOCH, &shown).unwrap()
}

#[test]
fn a_broken_chain_an_empty_log_and_entries_of_nobody_are_told() {
    let at = "2026-10-01T12:00:00.000Z";
    let check = json!({
        "status": "failed", "result": "failed", "from_seq": 0, "to_seq": 1_700, "checked": 1_445,
        "archived": 256,
        "created_at": at, "finished_at": at,
        "first_bad": { "seq": 3, "problem": "digest", "expected": "one", "found": "other" },
    });
    let entry = json!({
        "type": "log.broken", "summary": "<b>", "actor": null, "subject": { "kind": null, "id": null }, "deed": null, "at": at,
        "kind": "state", "tool": null, "seq": 1,
    });
    let page = ledger(&check, &entry);
    assert!(page.contains("Broken") && page.contains('3'), "{page}");
    assert!(page.contains("checked, 256 archived (only their digests)"), "{page}");
    assert!(page.contains("&lt;b&gt;") && !page.contains("<b>"), "{page}");
}

/// An overview of a day in which these things want an eye.
fn overview(attention: &Value, agents: &Value, checks: &Value) -> String {
    overview_of(attention, agents, checks, &json!({ "connector": null, "agent": null }))
}

fn overview_of(attention: &Value, agents: &Value, checks: &Value, begun: &Value) -> String {
    let at = "2026-10-01T12:00:00.000Z";
    let sums = json!({
        "actions": 1_204, "executed": 1_100, "blocked": 3, "verified": 983, "mismatch": 2,
        "unverifiable": 15, "not_witnessed": 204, "checked": 1_007, "reported": 40, "pending_approvals": 4,
        "cost": [{ "amount": 640.5, "currency": "EUR" }],
    });
    let bucket = json!({
        "at": at, "executed": 5, "failed": 1, "denied": 1, "cancelled": 0, "waiting": 2, "mismatch": 1,
    });
    let shown = json!({
        "shell": shell(), "window": "24h", "origin": "https://gate.example",
        "it": {
            "window": { "from": at, "to": at, "bucket": "1h" }, "complete": true, "totals": sums,
            "previous": sums, "series": vec![bucket; 24], "agents": agents, "attention": attention,
        },
        "head": { "size": 18_442 }, "checks": { "data": checks }, "begun": begun,
    });
    Pages::new().unwrap().fill(("app", "app/overview.html"), Timestamp::EPOCH, &shown).unwrap()
}

#[test]
fn what_wants_an_eye_is_told_in_words_with_one_verb_each() {
    let at = "1970-01-01T00:08:00.000Z";
    let call = json!({
        "action": "act_1", "agent": "agt_1", "tool": "shop.<b>", "created_at": at, "expires_at": at,
        "approval": "apr_1", "summary": null,
    });
    let budget = json!({
        "budget": "refund-sum", "used": "8000", "reserved": "600", "limit": "10000", "unit": "EUR",
        "scope": { "agent": "agt_1" }, "window": { "resets_at": at },
    });
    let attention = json!([
        { "kind": "chain_broken", "data": { "withheld": true, "check": null } },
        { "kind": "org_stopped", "data": { "reason": "a <b> drill", "stopped_at": at, "by": "operator" } },
        { "kind": "connector_unreachable", "data": {
            "connector": "con_2", "name": "depot", "code": "connector_auth_failed",
            "message": "no <login>",
        } },
        { "kind": "slot_invalidated", "data": {
            "connector": "con_1", "name": "shop", "state": "invalidated",
            "cause": "slot_invalidated", "at": at,
        } },
        { "kind": "slot_lagging", "data": {
            "connector": "con_1", "name": "shop", "state": "stalled", "cause": null, "at": at,
        } },
        { "kind": "webhook_disabled", "data": {
            "webhook_endpoint": "whe_1", "url": "https://a.example/<b>", "failing_since": at,
            "disables_at": null, "disabled_at": at,
        } },
        { "kind": "webhook_secret_unreadable", "data": {
            "webhook_endpoint": "whe_3", "url": "https://c.example", "failing_since": null,
            "disables_at": null, "disabled_at": null,
        } },
        { "kind": "webhook_failing", "data": {
            "webhook_endpoint": "whe_2", "url": "https://b.example", "failing_since": at,
            "disables_at": at, "disabled_at": null,
        } },
        { "kind": "mismatch", "data": call },
        { "kind": "approval_expiring", "data": call },
        { "kind": "approval_waiting", "data": call },
        { "kind": "activation_waits", "data": {
            "reason": "a <i> night", "mode": "enforce", "proposed_at": at, "policy": "pol_1",
            "version": "pv_1",
        } },
        { "kind": "budget_near", "data": budget },
    ]);
    let agent = json!({
        "id": "agt_1", "name": "refund-bot", "status": "active", "last_action_at": at,
        "today": { "actions": 1, "denied": 0, "cost": [] },
    });
    let page = overview(&attention, &json!([agent]), &json!([]));
    for told in [
        "The ledger does not match what was sealed.",
        "a &lt;b&gt; drill",
        "The credential of <bdi>depot</bdi> was rejected.",
        "Calls of its tools fail: <bdi>no &lt;login&gt;</bdi>",
        "The change log of <bdi>shop</bdi> can no longer be read.",
        "The change log of <bdi>shop</bdi> is not read.",
        "a.example&#x2f;&lt;b&gt;</bdi> was disabled.",
        "b.example</bdi> accepts no events.",
        "It is disabled at the earliest on ",
        "<bdi>shop.&lt;b&gt;</bdi> expires in 8 min.",
        "<bdi>shop.&lt;b&gt;</bdi> waits for approval.",
        "A policy version waits for a second person.",
        "a &lt;i&gt; night",
        "Budget <bdi>refund-sum</bdi> is used to 86 %.",
        "8,600 of 10,000 <bdi>EUR</bdi>, agent <bdi>agt_1</bdi>",
        "<strong>1,007</strong>",
        "40 only reported · 15 unverifiable",
        "640.50 <bdi>EUR</bdi>",
    ] {
        assert!(page.contains(told), "{told} is not in {page}");
    }
    // What is counted for all is listed for all.
    let counted = page.replace("&#x2f;", "/");
    assert!(counted.contains("href=\"/app/approvals?view=waiting\""), "{counted}");
    // The one that expires first is the one button that stands out.
    assert_eq!(page.matches("button primary").count(), 1, "{page}");
    assert_eq!(page.matches("<rect").count(), 24 * 4, "{page}");
    assert!(!page.contains("Send the first call"), "{page}");
}

#[test]
fn an_org_in_which_nobody_acted_is_told_how_to_begin() {
    let check = |result: Option<&str>, at: Option<&str>| json!({ "result": result, "finished_at": at, "archived": 256 });
    let at = Some("1969-12-31T22:00:00.000Z");
    let page =
        overview(&json!([]), &json!([]), &json!([check(None, None), check(Some("passed"), at)]));
    for told in [
        "Connect a database",
        "chancery connector create shop.yaml --credential shop.credential.yaml",
        "Create an agent and its key",
        "curl https://gate.example/v1/actions",
        "last checked",
        "No open items.",
        "256 are archived",
    ] {
        assert!(page.replace("&#x2f;", "/").contains(told), "{told} is not in {page}");
    }
    assert!(!page.contains("<svg viewBox=\"0 0 240"), "{page}");
    // What is copied is the whole command.
    let command = page.split("data-copy=\"curl").nth(1).unwrap().split('"').next().unwrap();
    let command = command.replace("&quot;", "\"").replace("&#x27;", "'").replace("&#x2f;", "/");
    let lines = [
        " https://gate.example/v1/actions \\",
        "  -H \"Authorization: Bearer $KEY\" -H \"Idempotency-Key: first-1\" \\",
        "  -H \"Content-Type: application/json\" \\",
        "  -d '{\"tool\": \"CONNECTOR.TOOL\", \"args\": {}}'",
    ];
    assert_eq!(command.lines().collect::<Vec<_>>(), lines);
    let begun = json!({
        "connector": { "id": "con_1", "name": "depot" }, "agent": { "id": "agt_1", "name": "night" },
    });
    let page = overview_of(&json!([]), &json!([]), &json!([]), &begun).replace("&#x2f;", "/");
    for told in [
        "Connector <bdi>depot</bdi> exists",
        "Agent <bdi>night</bdi> exists",
        "/app/agents/agt_1#keys",
        "&quot;depot.TOOL&quot;",
    ] {
        assert!(page.contains(told), "{told} is not in {page}");
    }
    let broken = overview(&json!([]), &json!([]), &json!([check(Some("failed"), at)]));
    assert!(broken.contains("The last check found the ledger broken"), "{broken}");
}

#[test]
fn every_reason_why_a_question_is_void_has_a_sentence_of_its_own() {
    let table = Pages::new().unwrap();
    let sentences: std::collections::BTreeSet<String> = model::VoidReason::ALL
        .iter()
        .map(|reason| {
            let link = json!({
                "question": null, "approval": "apr_1", "decision": null, "approval_status": "voided",
                "void_reason": reason, "status": "settled", "decisions": [], "used_at": null,
                "follows_until": null,
                "action": { "id": "act_1", "status": "denied", "verdict": null, "level": null },
            });
            let shown = json!({ "link": link, "problem": null, "token": "t", "people": {} });
            let page = table.fill(("approve", "approve.html"), Timestamp::EPOCH, &shown).unwrap();
            let lead = page.split("<p class=\"lead\">").nth(1).unwrap().split("</p>").next().unwrap();
            assert!(lead.starts_with("Voided") && lead.ends_with("it never ran."), "{lead}");
            lead.to_owned()
        })
        .collect();
    assert_eq!(sentences.len(), model::VoidReason::ALL.len());
}

fn webhook(change: &Value) -> String {
    let at = "1970-01-01T00:00:00.000Z";
    let mut it = json!({
        "id": "whe_1", "url": "https://hooks.example/<b>", "description": "the <b> case system", "types": [],
        "agent": "agt_1", "api_version": "2026-10-01", "status": "failing", "disabled_at": null,
        "disabled_because": null, "failing_since": at, "disables_at": "1970-01-04T00:00:00.000Z", "last_delivered_at": null,
        "events_behind": 1_200, "secret_readable": true,
        "previous_secret_expires_at": at, "revision": 3, "created_at": at,
    });
    it.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
    let failed = |class: &str, status: Option<u16>| {
        json!({
            "at": at, "http_status": status, "error_class": class, "duration_ms": 10_012,
        })
    };
    let tries = [
        failed("timeout", None),
        failed("redirect", Some(301)),
        failed("http_status", Some(503)),
        failed("tls", None),
    ];
    let open = json!({
        "id": "whd_1", "event": "evt_1", "type": "deed.sealed", "status": "dead", "attempt": 4,
        "subject": "deed_01k6ga3wvw", "attempts_left": 0, "body": "{\"data\":\"<b>\"}",
        "error_class": "tls", "http_status": null, "duration_ms": 10_012, "next_attempt_at": null,
        "later_attempts_at": [],
        "attempts": tries, "created_at": at,
    });
    let mut shell = shell();
    shell["me"]["role"] = json!("admin");
    let shown = json!({
        "shell": shell, "it": it, "open": open, "asked": "whd_1", "status": "dead",
        "families": { "deed": ["deed.sealed"] },
        "counts": {
            "data": [{ "at": at, "delivered": 1_000, "pending": 0, "retrying": 2, "dead": 1, "dropped": 0 }],
            "not_delivered": { "pending": 0, "retrying": 1_559, "dead": 3, "dropped": 0 },
        },
        "list": { "data": [open], "has_more": true, "next_cursor": "next" },
    });
    Pages::new().unwrap().fill(("app", "app/webhook.html"), Timestamp::EPOCH, &shown).unwrap()
}

#[test]
fn an_endpoint_that_takes_nothing_tells_since_when_and_what_came_of_each_try() {
    let lost = "The signing secret cannot be decrypted, so nothing is posted.";
    assert!(webhook(&json!({ "secret_readable": false })).contains(lost));
    let page = webhook(&json!({})).replace("&#x2f;", "/");
    assert!(!page.contains(lost));
    for told in [
        "Failing for 0 s",
        "<rect class=\"waits\"",
        "Retrying<span class=\"count wait\">1,559</span>",
        "Dead<span class=\"count bad\">3</span>",
        "/app/go?q=deed_01k6ga3wvw",
        "webhook-timestamp: 0",
        "service-event-type: deed.sealed",
        "{&quot;data&quot;:&quot;&lt;b&gt;&quot;}",
        "No delivery has succeeded since",
        "is disabled at the earliest on",
        "4 Jan 1970",
        "1,200 events behind",
        "timed out",
        "301, a redirect",
        "503",
        "TLS failed",
        "It is not retried.",
        "<dt>Events</dt><dd>all</dd>",
        "?status=dead&amp;cursor=next",
        "The previous secret also signs",
        "<option value=\"86400\" selected>a day</option><option value=\"0\">",
        "the &lt;b&gt; case system",
        "/v1/webhook_deliveries/whd_1/redeliver",
        "10.0 s",
    ] {
        assert!(page.contains(told), "{told} is not in {page}");
    }
    assert!(!page.contains("<b>"), "{page}");
    let page = webhook(&json!({
        "status": "disabled", "disabled_at": "1970-01-01T00:00:00.000Z", "disabled_because": "failing",
    }));
    assert!(
        page.contains("No delivery succeeded for too long.") && !page.contains("redeliver"),
        "{page}"
    );
}

/// The ranges between the brackets of an expression of JavaScript.
fn ranges(class: &str) -> Vec<(u32, u32)> {
    let letter = |text: &str| {
        let digits = text.trim_start_matches(['u', 'x', '{']).trim_end_matches('}');
        u32::from_str_radix(digits, 16).unwrap()
    };
    let range = |text: &str| match text.split_once("-\\") {
        Some((first, last)) => (letter(first), letter(last)),
        None => (letter(text), letter(text)),
    };
    // Each escape opens an item, except the one behind a hyphen.
    let joined = class.replace("-\\", "-\u{1}");
    joined.split('\\').skip(1).map(|item| range(&item.replace('\u{1}', "\\"))).collect()
}

#[test]
fn what_is_not_seen_is_the_same_in_the_browser() {
    let script = include_str!("../../../web/assets/console.js");
    let class = script.split("const unseen = /[").nth(1).unwrap().split("]/gu").next().unwrap();
    let ranges = ranges(class);
    for letter in (0..=0x0010_FFFF).filter_map(char::from_u32) {
        let number = u32::from(letter);
        let is_among = ranges.iter().any(|(first, last)| (*first..=*last).contains(&number));
        assert_eq!(is_among, model::is_unseen(letter), "U+{number:04X}");
    }
}
