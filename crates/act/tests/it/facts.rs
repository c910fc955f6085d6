//! What a deed and its event say of a fact.

use act::{By, Fact, Reason, Record};
use deed::{Content, Disclosure};
use ledger::Entry;
use model::{EventType, Mint};
use serde_json::json;

use crate::world::{NOW, fact, org, renamed};

/// What a change for this reason adds to its turn.
fn recorded(reason: Option<&str>, say: impl FnOnce(&mut Record<'_>)) -> Entry {
    let entropy = testkit::SeededEntropy::new(0);
    let mint = Mint::new(NOW, &entropy);
    let reason = reason.map(|words| Reason::parse(words).unwrap());
    let mut record = Record::new(By::Operator, reason, &mint);
    assert_eq!((record.by(), record.now()), (By::Operator, NOW));
    say(&mut record);
    record.into_entry()
}

#[test]
fn what_is_committed_is_opened_and_what_is_data_stands_in_clear() {
    let entry = recorded(Some("it was wrong"), |record| {
        assert_eq!(record.reason(), "it was wrong");
        renamed(record, Some(&org()), org());
    });
    let [deed] = entry.deeds.as_slice() else { panic!("{entry:?}") };
    let Content::Admin(said) = &deed.draft.content else { panic!("{deed:?}") };
    let committed = [&said.before, &said.after, &said.reason].map(|it| it.as_ref().unwrap());
    let opened: Vec<_> = deed.disclosures.iter().map(Disclosure::commitment).collect();
    assert!(opened.iter().eq(committed), "{deed:?}");
    assert_eq!(deed.disclosures[2].value(), r#""it was wrong""#);
    assert_eq!(said.data["renamed"], json!(true));
    assert!(deed.draft.livemode && deed.agent.is_none() && deed.action.is_none());
}

#[test]
fn what_is_absent_is_not_committed() {
    let entry = recorded(None, |record| {
        assert_eq!(record.reason(), "");
        record.seal(fact(EventType::LedgerExported));
    });
    let [deed] = entry.deeds.as_slice() else { panic!("{entry:?}") };
    assert!(deed.disclosures.is_empty(), "{deed:?}");
    assert!(entry.changes.is_empty() && entry.opens.is_none());
}

#[test]
fn each_deed_has_its_event_of_the_same_name_in_the_same_order() {
    let entry = recorded(None, |record| {
        record.seal(fact(EventType::OrgStopped));
        record.seal(Fact { object: json!({ "id": 2 }), ..fact(EventType::OrgStarted) });
    });
    let told: Vec<_> = entry.events.iter().map(|event| event.kind.to_string()).collect();
    let named = entry.deeds.iter().map(|deed| match &deed.draft.content {
        Content::Admin(admin) => admin.event.to_string(),
        Content::Action(_) | Content::Amendment(_) => panic!("{deed:?}"),
    });
    assert_eq!(named.collect::<Vec<_>>(), told);
    assert_eq!(told, ["org.stopped", "org.started"]);
    assert_eq!(entry.events[1].object, json!({ "id": 2 }));
}
