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
        "org": { "name": "Acme", "time_zone": "UTC", "stop": null },
        "me": { "email": "ada@example.com", "role": "viewer", "can_approve": false, "is_fresh": true },
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
        "status": "failed", "result": "failed", "from_seq": 0, "to_seq": 17, "checked": 4,
        "created_at": at, "finished_at": at,
        "first_bad": { "seq": 3, "problem": "digest", "expected": "one", "found": "other" },
    });
    let entry = json!({
        "type": "log.broken", "summary": "<b>", "actor": null, "subject": { "kind": null, "id": null }, "deed": null, "at": at,
        "kind": "state", "tool": null, "seq": 1,
    });
    let page = ledger(&check, &entry);
    assert!(page.contains("Broken") && page.contains('3'), "{page}");
    assert!(page.contains("&lt;b&gt;") && !page.contains("<b>"), "{page}");
}
