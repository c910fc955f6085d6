use std::time::Duration;

use super::*;

struct Zeroes;

impl Entropy for Zeroes {
    fn fill(&self, buffer: &mut [u8]) {
        buffer.fill(0);
    }
}

fn mint() -> Mint<'static> {
    Mint::new("2026-10-01T12:00:00.000Z".parse().unwrap(), &Zeroes)
}

#[test]
fn an_id_prints_its_kind_and_reads_back() {
    let id = mint().id(ActionId::from_uuid);
    assert_eq!(id.to_string().parse::<ActionId>(), Ok(id));
    assert_eq!(id.as_uuid().get_version_num(), 7);
    assert!(id.to_string().parse::<AgentId>().is_err());
}

#[test]
fn an_id_body_is_the_typeid_encoding_of_its_uuid() {
    // The test vector of the TypeID specification.
    let body = "01890a5d-ac96-774b-bcce-b302099a8057".parse().unwrap();
    assert_eq!(ActionId::from_uuid(body).to_string(), "act_01h455vb4pex5vsknk084sn02q");
}

#[test]
fn ids_are_read_strictly() {
    for bad in [
        "act_",
        "act_01h455vb4pex5vsknk084sn02",
        "act_01h455vb4pex5vsknk084sn02qq",
        "act_81h455vb4pex5vsknk084sn02q",
        "act_01H455VB4PEX5VSKNK084SN02Q",
        "act_01h455vb4pex5vsknk084sn0il",
        "agt_01h455vb4pex5vsknk084sn02q",
        " act_01h455vb4pex5vsknk084sn02q",
    ] {
        assert!(bad.parse::<ActionId>().is_err(), "{bad}");
    }
}

#[test]
fn ids_sort_by_the_time_they_were_made() {
    let later = Mint::new(mint().now() + Duration::from_millis(1), &Zeroes);
    assert!(mint().id(DeedId::from_uuid).to_string() < later.id(DeedId::from_uuid).to_string());
}

#[test]
fn a_timestamp_has_one_printed_form() {
    let moment: Timestamp = "2026-10-01T12:00:00.007Z".parse().unwrap();
    assert_eq!(moment.to_string(), "2026-10-01T12:00:00.007Z");
    assert_eq!(moment.unix_millis(), 1_790_856_000_007);
    assert_eq!(Timestamp::from_unix_millis(-1).to_string(), "1969-12-31T23:59:59.999Z");
    for other in
        ["2026-10-01T12:00:00Z", "2026-10-01T12:00:00.007+00:00", "2026-10-01t12:00:00.007z"]
    {
        assert!(other.parse::<Timestamp>().is_err(), "{other}");
    }
}

#[test]
fn callers_may_write_any_rfc3339_time() {
    for (text, same) in [
        ("2026-10-01T12:00:00Z", "2026-10-01T12:00:00.000Z"),
        ("2026-10-01T14:00:00.1234+02:00", "2026-10-01T12:00:00.123Z"),
        ("1969-12-31T23:59:59.9999Z", "1969-12-31T23:59:59.999Z"),
    ] {
        assert_eq!(Timestamp::parse_rfc3339(text).unwrap().to_string(), same);
    }
    for bad in [
        "2026-10-01 12:00:00Z",
        "20261001T120000Z",
        "2026-10-01T12:00:60Z",
        "2026-10-01T12:00:00",
        "2026-10-01T12:00:00.Z",
        "2026-02-30T12:00:00Z",
        "2026-10-01T12:00:00Z[Europe/Berlin]",
        "",
    ] {
        assert!(Timestamp::parse_rfc3339(bad).is_err(), "{bad}");
    }
}

#[test]
fn time_arithmetic_saturates() {
    let moment = Timestamp::EPOCH + Duration::MAX;
    assert_eq!(moment.to_string(), "9999-12-30T21:59:59.999Z");
    assert_eq!(Timestamp::EPOCH.since(moment), Duration::ZERO);
}

#[test]
fn a_digest_has_one_printed_form() {
    let text = format!("sha256:{}", "0f".repeat(32));
    assert_eq!(text.parse::<Digest>().unwrap().to_string(), text);
    for bad in
        [text.to_uppercase(), text.replace("0f0f", "0f0"), format!("{text}0"), "sha256:".to_owned()]
    {
        assert!(bad.parse::<Digest>().is_err(), "{bad}");
    }
}

#[test]
fn a_tool_name_splits_at_its_first_dot() {
    let name: ToolName = "pg-main.orders.update".parse().unwrap();
    assert_eq!((name.connector(), name.tool()), ("pg-main", "orders.update"));
    let long = format!("shop.{}", "a".repeat(65));
    for bad in ["shop", "s.read", "Shop.read", "shop.", "shop.a b", ".read", "shop.é", &long] {
        assert!(bad.parse::<ToolName>().is_err(), "{bad}");
    }
}

#[test]
fn every_word_reads_back_and_an_unknown_one_names_the_list() {
    for state in State::ALL {
        assert_eq!(state.as_str().parse(), Ok(*state));
    }
    let error = "done".parse::<Mode>().unwrap_err();
    assert_eq!(error.to_string(), "expected one of `gateway`, `proxy`");
}

#[test]
fn what_is_sealed_or_archived_never_moves_again() {
    for to in State::WORDS.iter().filter(|&&to| to != "sealed") {
        assert!(!State::MACHINE.may_go(Some("sealed"), to), "{to}");
    }
    for to in AgentStatus::WORDS.iter().filter(|&&to| to != "archived") {
        assert!(!AgentStatus::MACHINE.may_go(Some("archived"), to), "{to}");
    }
    assert!(State::MACHINE.may_go(Some("executing"), "sealed"));
    assert!(!State::MACHINE.may_go(None, "witnessing"));
}
