use model::{COMING_EVENT_TYPES, EventType, State, Status};

use super::*;

#[test]
fn a_filter_takes_types_and_families() {
    let types = Types::parse("action.*,deed.sealed").unwrap();
    assert!(types.cover(EventType::ActionDenied));
    assert!(types.cover(EventType::DeedSealed));
    assert!(!types.cover(EventType::AgentCreated));
    assert!(Types::every().cover(EventType::AgentCreated));
}

#[test]
fn a_filter_takes_types_that_cannot_happen_yet_and_lets_nothing_through_for_them() {
    for word in COMING_EVENT_TYPES {
        assert!(word.parse::<EventType>().is_err(), "`{word}` can happen");
        let types = Types::parse(word).unwrap();
        assert!(!EventType::ALL.iter().any(|kind| types.cover(*kind)), "{word}");
    }
    let types = Types::parse("webhook.*,deed.sealed").unwrap();
    assert!(types.cover(EventType::DeedSealed) && !types.cover(EventType::OrgCreated));
}

#[test]
fn a_filter_that_names_nothing_is_refused() {
    for bad in ["", "action", "action.", "*", "action.*,", "actions.*", "action.denied "] {
        assert!(Types::parse(bad).is_err(), "{bad:?}");
    }
    assert_eq!(Types::parse(&"a".repeat(1201)), Err(EventTypesError::TooLong));
}

#[test]
fn the_envelope_is_the_one_of_the_interface_description() {
    let id = "act_01h455vb4pex5vsknk084sn02q".parse().unwrap();
    let draft = Draft {
        id: "evt_01h455vb4pex5vsknk084sn02q".parse().unwrap(),
        kind: EventType::ActionWitnessed,
        livemode: true,
        agent: None,
        action: Some(id),
        object: thin_action(id, State::Sealed, Status::Executed),
    };
    let org = "org_01h455vb4pex5vsknk084sn02q".parse().unwrap();
    let event = draft.placed(org, 7, "2026-10-01T12:00:00.000Z".parse().unwrap());
    assert_eq!(
        event.envelope(),
        serde_json::json!({
            "object": "event",
            "id": "evt_01h455vb4pex5vsknk084sn02q",
            "type": "action.witnessed",
            "api_version": "2026-10-01",
            "created_at": "2026-10-01T12:00:00.000Z",
            "livemode": true,
            "org": "org_01h455vb4pex5vsknk084sn02q",
            "data": { "object": {
                "object": "action",
                "id": "act_01h455vb4pex5vsknk084sn02q",
                "state": "sealed",
                "status": "executed",
            } },
        })
    );
}
