//! What each finding makes of health.

use store_postgres::Survey;

use super::*;

fn at(millis: i64) -> Timestamp {
    Timestamp::from_unix_millis(1_000_000 + millis)
}

const PULSE: Pulse = Pulse { now: Timestamp::from_unix_millis(1_000_000), takes_writes: true };
const ORGS: Survey = Survey { is_ahead: false, unreached: 0, is_reached: true };

fn well() -> Found {
    Found {
        database: Some(PULSE),
        orgs: Sight::Seen(ORGS),
        our_time: at(0),
        unreadable_policies: Some(0),
        sealing: Sealing::Goes,
        broken_logs: 0,
        oldest_turn: Duration::ZERO,
        workers: Condition::Ok,
        lost_connectors: 0,
        change_logs: Condition::Ok,
        mail: Mail::Leaves,
    }
}

/// The parts that are not well.
fn unwell(found: Found) -> Vec<(&'static str, Condition)> {
    let checks = checks(found).into_iter().map(|check| (check.name, check.condition));
    checks.filter(|(_, condition)| *condition != Condition::Ok).collect()
}

#[test]
fn nothing_odd_is_well_in_every_part() {
    assert_eq!(unwell(well()), []);
    let names: Vec<_> = checks(well()).into_iter().map(|check| check.name).collect();
    let all = [
        "database",
        "orgs",
        "clock",
        "policies",
        "sealer",
        "logs",
        "turns",
        "workers",
        "connectors",
        "change_logs",
        "mail",
    ];
    assert_eq!(names, all);
    // Without a way for mails there is nothing to judge.
    let off = checks(Found { mail: Mail::Off, ..well() });
    assert!(off.iter().all(|check| check.name != "mail"));
}

#[test]
fn each_part_is_degraded_by_its_own_cause() {
    use Condition::Degraded;
    let cases = [
        (Found { our_time: at(2_001), ..well() }, "clock"),
        (Found { our_time: at(-2_001), ..well() }, "clock"),
        (Found { orgs: Sight::Seen(Survey { is_ahead: true, ..ORGS }), ..well() }, "clock"),
        (Found { orgs: Sight::Seen(Survey { unreached: 1, ..ORGS }), ..well() }, "orgs"),
        (Found { unreadable_policies: Some(1), ..well() }, "policies"),
        (Found { sealing: Sealing::Held, ..well() }, "sealer"),
        (Found { broken_logs: 1, ..well() }, "logs"),
        (Found { oldest_turn: Duration::from_millis(10_001), ..well() }, "turns"),
        (Found { workers: Degraded, ..well() }, "workers"),
        (Found { lost_connectors: 1, ..well() }, "connectors"),
        (Found { change_logs: Degraded, ..well() }, "change_logs"),
        (Found { mail: Mail::Stuck, ..well() }, "mail"),
    ];
    for (found, part) in cases {
        assert_eq!(unwell(found), [(part, Degraded)]);
    }
    let edge = Found { our_time: at(2_000), oldest_turn: Duration::from_secs(10), ..well() };
    assert_eq!(unwell(edge), []);
}

#[test]
fn a_database_that_is_away_is_down_and_says_nothing_of_clock_and_policies() {
    let away = Found { database: None, unreadable_policies: None, ..well() };
    assert_eq!(unwell(away), [("database", Condition::Down)]);
    assert!(checks(away).iter().all(|check| !matches!(check.name, "clock" | "policies" | "orgs")));
}

#[test]
fn orgs_of_which_none_can_be_reached_are_down() {
    let nobody = Survey { unreached: 3, is_reached: false, ..ORGS };
    for orgs in [Sight::Seen(nobody), Sight::Failed] {
        assert_eq!(unwell(Found { orgs, ..well() }), [("orgs", Condition::Down)]);
    }
    let names: Vec<_> = checks(Found { orgs: Sight::Unknown, ..well() });
    assert!(names.iter().all(|check| check.name != "orgs"));
}

#[test]
fn a_database_that_takes_no_write_is_down() {
    let standby = Found { database: Some(Pulse { takes_writes: false, ..PULSE }), ..well() };
    assert_eq!(unwell(standby), [("database", Condition::Down)]);
}
