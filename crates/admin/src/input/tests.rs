//! Checks what each field takes and refuses.

use std::collections::BTreeMap;

use act::ActError;
use ledger::record::Holder;
use model::{AgentId, Scope, Timestamp};
use uuid::Uuid;

use super::{agent_name, expiry, labels, scopes, time_zone, title};

const AGENT: Holder = Holder::Agent(AgentId::from_uuid(Uuid::nil()));

/// The field that the error blames.
fn blamed<T>(outcome: Result<T, ActError>) -> Option<&'static str> {
    match outcome {
        Err(ActError::BadInput { param, .. }) => Some(param),
        Ok(_) | Err(_) => None,
    }
}

#[test]
fn agent_names_are_short_lowercase_words() {
    let longest = "a".repeat(64);
    for good in ["a", "0", "support-bot", "a_b-c9", &longest] {
        assert_eq!(agent_name(good).unwrap(), good);
    }
    let long = "a".repeat(65);
    for bad in ["", "-a", "_a", "A", "a b", "a.b", "ä", "a\n", &long] {
        assert_eq!(blamed(agent_name(bad)), Some("name"), "{bad:?}");
    }
}

#[test]
fn titles_are_one_trimmed_line() {
    let longest = "ü".repeat(80);
    for good in ["Acme, Inc.", "店", &longest] {
        assert_eq!(title(good).unwrap(), good);
    }
    let long = "ü".repeat(81);
    for bad in ["", " ", "a ", " a", "a\nb", "a\0b", &long] {
        assert_eq!(blamed(title(bad)), Some("name"), "{bad:?}");
    }
    for bad in [
        "Ac\u{202e}me",
        "Acme\u{200b}",
        "\u{2066}Acme",
        "A\u{ad}cme",
        "Ac\u{2028}me",
        "Acme\u{fe0f}",
    ] {
        assert_eq!(blamed(title(bad)), Some("name"), "{bad:?}");
    }
}

#[test]
fn labels_are_bounded_in_number_name_and_value() {
    let one = |key: &str, value: &str| BTreeMap::from([(key.to_owned(), value.to_owned())]);
    assert!(labels(one("team", "Customer care")).is_ok());
    assert!(labels(BTreeMap::new()).is_ok());
    for bad in [
        one("", "x"),
        one("Team", "x"),
        one("t", "a\nb"),
        one("t", "prod\u{200b}"),
        one("t", &"x".repeat(257)),
    ] {
        assert_eq!(blamed(labels(bad)), Some("labels"));
    }
    let many = (0..33).map(|n| (format!("l{n}"), String::new())).collect();
    assert_eq!(blamed(labels(many)), Some("labels"));
}

#[test]
fn a_time_zone_is_kept_in_its_own_spelling() {
    assert_eq!(time_zone("europe/zurich").unwrap(), "Europe/Zurich");
    assert_eq!(time_zone("UTC").unwrap(), "UTC");
    assert_eq!(time_zone("etc/gmt+5").unwrap(), "Etc/GMT+5");
    for bad in ["", "Mars/Olympus", "+02:00", "../../etc/passwd"] {
        assert_eq!(blamed(time_zone(bad)), Some("time_zone"), "{bad:?}");
    }
    for bad in [
        "Factory",
        "factory",
        "localtime",
        "LOCALTIME",
        "posixrules",
        "posix/Europe/Zurich",
        "right/Europe/Zurich",
        "Etc/Unknown",
    ] {
        assert_eq!(blamed(time_zone(bad)), Some("time_zone"), "{bad:?}");
    }
}

#[test]
fn a_key_has_the_scopes_of_its_holder_only() {
    let (read, run, admin) = (Scope::ActionsRead, Scope::ActionsExecute, Scope::Admin);
    assert_eq!(scopes(AGENT, &[run, read, run]).unwrap(), [read, run]);
    assert_eq!(scopes(Holder::Org, &[admin]).unwrap(), [admin]);
    assert_eq!(scopes(Holder::Org, &[Scope::AdminRead]).unwrap(), [Scope::AdminRead]);
    for (holder, bad) in [
        (AGENT, vec![]),
        (AGENT, vec![admin]),
        (AGENT, vec![read, admin]),
        (AGENT, vec![Scope::AdminRead]),
        (Holder::Org, vec![]),
        (Holder::Org, vec![read]),
        (Holder::Org, vec![admin, run]),
    ] {
        assert_eq!(blamed(scopes(holder, &bad)), Some("scopes"), "{bad:?}");
    }
}

#[test]
fn a_key_ends_ahead_and_an_org_key_within_a_year() {
    let now = Timestamp::from_unix_millis(1_000_000);
    let day = std::time::Duration::from_hours(24);
    assert_eq!(expiry(AGENT, None, now).unwrap(), None);
    assert_eq!(expiry(Holder::Org, Some(now + 365 * day), now).unwrap(), Some(now + 365 * day));
    assert!(expiry(AGENT, Some(now + 4_000 * day), now).is_ok());
    for (holder, end) in [(AGENT, now), (Holder::Org, now), (Holder::Org, now + 367 * day)] {
        assert_eq!(blamed(expiry(holder, Some(end), now)), Some("expires_at"));
    }
}
