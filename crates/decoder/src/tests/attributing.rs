//! Whose each transaction of the governed case is, and what speaks against it.

use crypto::Secret;
use model::{ActionId, ConnectorId, Digest};

use crate::{
    Frame,
    attribution::{
        Anomaly, Attribution, Claim, Forgery, Known, MarkerKey, MarkerKind, Site, Tampering,
    },
};

use super::{frames, system};

/// What the recording signed with.
pub(super) fn keys() -> [MarkerKey; 1] {
    [MarkerKey::new(Secret::new(vec![7; 32]))]
}

pub(super) fn site(keys: &[MarkerKey]) -> Site<'_> {
    Site { connector: connector(), system: system("governed"), keys }
}

fn connector() -> ConnectorId {
    "con_01h2xcejqtf2nbrexx3vqjhp41".parse().unwrap()
}

fn action(number: u32) -> ActionId {
    format!("act_01h2xcejqtf2nbrexx3vqjhp{number:02}").parse().unwrap()
}

fn known() -> Known {
    Known {
        org: "org_01h2xcejqtf2nbrexx3vqjhp41".parse().unwrap(),
        connector: connector(),
        request_digest: Digest::from_bytes([0xab; 32]),
        begun: true,
        framed: false,
    }
}

fn claim(frame: &Frame) -> Claim {
    Claim::of(frame, &site(&keys()))
}

fn judged(number: usize, known: Option<&Known>) -> Attribution {
    claim(&frames("governed", 0)[number]).judge(connector(), known)
}

fn of_action(number: u32, kind: MarkerKind, anomalies: Vec<Anomaly>) -> Attribution {
    Attribution::Action { action: action(number), kind, anomalies }
}

#[test]
fn each_transaction_has_its_verdict() {
    let verdicts: Vec<Attribution> = (0..20).map(|number| judged(number, Some(&known()))).collect();
    let service = |kind| Attribution::Service { kind, anomalies: vec![] };
    let expected = [
        of_action(1, MarkerKind::Act, vec![]),
        of_action(2, MarkerKind::Void, vec![]),
        Attribution::Unattributed,
        service(MarkerKind::Heartbeat),
        Attribution::Forged(Forgery::MarkerUnreadable),
        Attribution::Forged(Forgery::KeyUnknown),
        Attribution::Forged(Forgery::OtherTransaction),
        Attribution::Forged(Forgery::OtherSystem),
        Attribution::Forged(Forgery::OtherConnector),
        Attribution::Forged(Forgery::MacWrong),
        Attribution::Forged(Forgery::MarkerWithoutLedger),
        Attribution::Forged(Forgery::LedgerWithoutMarker),
        Attribution::Forged(Forgery::LedgerDiffers),
        Attribution::Forged(Forgery::SeveralMarkers),
        of_action(15, MarkerKind::Act, vec![Anomaly::ForeignMarker]),
        Attribution::LedgerTampered(Tampering::Updated),
        Attribution::LedgerTampered(Tampering::Deleted),
        Attribution::LedgerTampered(Tampering::Truncated),
        service(MarkerKind::Maintenance),
        of_action(19, MarkerKind::Act, vec![Anomaly::ForeignMarker]),
    ];
    assert_eq!(verdicts, expected);
    assert_eq!(frames("governed", 0).len(), expected.len());
}

#[test]
fn what_the_service_knows_can_speak_against_it() {
    let against = |known: Option<Known>| judged(0, known.as_ref());
    let forged = |why| Attribution::Forged(why);
    assert_eq!(against(None), forged(Forgery::ActionUnknown));
    let other = "con_01h2xcejqtf2nbrexx3vqjhp42".parse().unwrap();
    let of_other = Known { connector: other, ..known() };
    assert_eq!(against(Some(of_other)), forged(Forgery::OtherConnector));
    let org = "org_01h2xcejqtf2nbrexx3vqjhp42".parse().unwrap();
    assert_eq!(against(Some(Known { org, ..known() })), forged(Forgery::OtherOrg));
    let request_digest = Digest::from_bytes([1; 32]);
    let of_request = Known { request_digest, ..known() };
    assert_eq!(against(Some(of_request)), forged(Forgery::OtherRequest));
    let waiting = Known { begun: false, ..known() };
    assert_eq!(against(Some(waiting)), forged(Forgery::ActionNotBegun));
    let framed = Known { framed: true, ..known() };
    assert_eq!(against(Some(framed)), forged(Forgery::Replayed));
    // A tombstone has no request to compare.
    assert_eq!(judged(1, Some(&of_request)), of_action(2, MarkerKind::Void, vec![]));
}

#[test]
fn only_an_action_is_asked_about() {
    let frames = frames("governed", 0);
    let asked: Vec<_> = frames.iter().filter_map(|frame| claim(frame).action()).collect();
    assert_eq!(asked, [action(1), action(2), action(15), action(19)]);
}

#[test]
fn a_marker_copied_into_another_transaction_is_worth_nothing() {
    let frames = frames("governed", 0);
    let mut copy = frames[0].clone();
    copy.xid += 1;
    assert_eq!(claim(&copy), Claim::Forged(Forgery::OtherTransaction));
    // The ledger row alone, with its marker cut out of the log.
    copy.messages.clear();
    copy.message_count = 0;
    assert_eq!(claim(&copy), Claim::Forged(Forgery::LedgerWithoutMarker));
}

#[test]
fn an_old_key_is_still_known() {
    let keys = [MarkerKey::new(Secret::new(vec![8; 32])), MarkerKey::new(Secret::new(vec![7; 32]))];
    assert_ne!(keys[0].id(), keys[1].id());
    let frame = &frames("governed", 0)[0];
    assert_eq!(Claim::of(frame, &site(&keys)), claim(frame));
    let newest = Claim::of(frame, &site(&keys[..1]));
    assert_eq!(newest, Claim::Forged(Forgery::KeyUnknown));
}

#[test]
fn a_marker_that_is_not_canonical_or_lacks_a_member_is_none() {
    let frame = &frames("governed", 0)[0];
    let text = String::from_utf8(frame.messages[0].content.clone().unwrap()).unwrap();
    let with = |content: String| {
        let mut other = frame.clone();
        other.messages[0].content = Some(content.into_bytes());
        claim(&other)
    };
    assert_eq!(with(text.clone()), claim(frame));
    let unreadable = Claim::Forged(Forgery::MarkerUnreadable);
    for (from, to) in [
        ("\"v\":1", "\"v\":2"),
        ("\"v\":1", "\"v\": 1"),
        ("\"kind\":\"act\"", "\"kind\":\"other\""),
        ("\"act\":\"act_", "\"act\":\"xxx_"),
        ("\"att\":1", "\"att\":\"1\""),
        ("\"rd\":\"sha256:", "\"rd\":\"md5:"),
        ("\"con\":\"con_", "\"con\":\"org_"),
        ("\"sys\":", "\"sis\":"),
    ] {
        assert!(text.contains(from), "{text}");
        assert_eq!(with(text.replace(from, to)), unreadable, "{to}");
    }
    for member in ["act\":\"act_01h2xcejqtf2nbrexx3vqjhp01", "n\":\"01", "att\":1"] {
        let changed = text.replace(member, &member.replace('1', "2"));
        assert_eq!(with(changed), Claim::Forged(Forgery::MacWrong), "{member}");
    }
    let mut long = frame.clone();
    long.messages[0].content = None;
    assert_eq!(claim(&long), unreadable);
}

#[test]
fn every_word_is_read_back() {
    for kind in MarkerKind::ALL {
        assert_eq!(MarkerKind::from_word(kind.as_str()), Some(*kind));
    }
    for why in Forgery::ALL {
        assert_eq!(Forgery::from_word(why.as_str()), Some(*why));
    }
    for how in Tampering::ALL {
        assert_eq!(Tampering::from_word(how.as_str()), Some(*how));
    }
    assert_eq!(Anomaly::from_word(Anomaly::ForeignMarker.as_str()), Some(Anomaly::ForeignMarker));
    assert_eq!(Forgery::from_word("none"), None);
    assert_eq!(judged(2, None).as_str(), "unattributed");
    assert_eq!(judged(17, None).as_str(), "ledger_tampered");
}
