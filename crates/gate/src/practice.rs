//! What is usual for a call's agent and org: whether its tool was run before, and at which times of
//! day the agent acts. Looked up only for a call that a person will look at.

use std::time::Duration;

use model::Timestamp;

/// So many of the newest sealed calls of a tool, and as many of an agent, are looked through for a
/// run.
pub const PRACTICE_LOOKED_AT: usize = 1_000;

/// So far back the times of day are looked at.
pub const PRACTICE_SPAN: Duration = Duration::from_hours(14 * 24);

/// An agent that has acted for less than this has no usual times of day.
const KNOWN_AFTER: Duration = Duration::from_hours(7 * 24);
/// What lies as near to a time of day at which the agent acted is usual.
const NEAR: i64 = 3_600_000;
const DAY: i64 = 24 * 3_600_000;

/// What was done before a call.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Practice {
    /// Whether the org has run the tool, by any agent.
    pub org_ran_it: bool,
    /// Whether the agent has.
    pub agent_ran_it: bool,
    /// The slots within the last [`PRACTICE_SPAN`] in which calls of the agent were recorded that
    /// have run and are sealed, each by its beginning, in order. Those of the last minute may be
    /// left out.
    pub slots: Vec<Timestamp>,
}

impl Practice {
    /// Whether the agent is not known to act at this time of day, although it has acted for a week.
    /// Daylight saving moves nobody further than what counts as near, so no time zone is asked.
    pub(crate) fn is_off_hours(&self, now: Timestamp) -> bool {
        let known = self.slots.first().is_some_and(|first| *first + KNOWN_AFTER <= now);
        known && !self.slots.iter().any(|slot| apart(*slot, now) <= NEAR)
    }
}

/// How many milliseconds two times of day are apart, around midnight too.
fn apart(one: Timestamp, other: Timestamp) -> i64 {
    let apart = (one.unix_millis() - other.unix_millis()).rem_euclid(DAY);
    apart.min(DAY - apart)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        Timestamp::parse_rfc3339(text).unwrap()
    }

    fn acted(slots: &[&str]) -> Practice {
        Practice { slots: slots.iter().map(|slot| at(slot)).collect(), ..Practice::default() }
    }

    #[test]
    fn a_time_of_day_is_unusual_that_lies_apart_from_all_in_a_week_or_more() {
        let known = acted(&["2026-10-01T09:00:00Z", "2026-10-07T16:30:00Z"]);
        for (now, is_off) in [
            ("2026-10-09T08:00:00Z", false),
            ("2026-10-09T07:59:59Z", true),
            ("2026-10-09T09:59:00Z", false),
            ("2026-10-09T10:00:00.001Z", true),
            ("2026-10-09T17:30:00Z", false),
            ("2026-10-09T03:00:00Z", true),
        ] {
            assert_eq!(known.is_off_hours(at(now)), is_off, "{now}");
        }
        let late = acted(&["2026-10-01T23:45:00Z"]);
        assert!(!late.is_off_hours(at("2026-10-09T00:30:00Z")), "midnight is no wall");
    }

    #[test]
    fn whoever_has_not_acted_for_a_week_has_no_usual_times() {
        assert!(!acted(&[]).is_off_hours(at("2026-10-09T03:00:00Z")));
        let young = acted(&["2026-10-03T09:00:00Z"]);
        assert!(!young.is_off_hours(at("2026-10-09T03:00:00Z")));
        assert!(young.is_off_hours(at("2026-10-10T09:00:00Z") + Duration::from_hours(3)));
    }
}
