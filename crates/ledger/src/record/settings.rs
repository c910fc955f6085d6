//! What an org decided of how it is run.

use std::{fmt, str::FromStr, time::Duration};

use model::{OrgId, Timestamp};
use serde::{Serialize, Serializer};

use super::Row;

/// What an org decided of how it is run; an org that decided nothing has none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OrgSettings {
    /// The org.
    pub org: OrgId,
    /// How many days payloads are kept after their action was sealed.
    pub retention_days: u16,
    /// How people are asked.
    pub approvals: ApprovalSettings,
    /// Whether a policy version becomes active only once a second person confirmed it.
    pub policy_two_person: bool,
    /// Counts the changes of the settings, of the name and of the time zone, from 1.
    pub revision: u32,
    /// When they were last changed.
    pub updated_at: Timestamp,
}

impl Row for OrgSettings {
    type Key = OrgId;

    fn key(&self) -> OrgId {
        self.org
    }
}

/// How an org asks people, where its policy leaves that open.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ApprovalSettings {
    /// How long people have when neither rule nor policy says; without it the service's setting says.
    pub default_expires_in: Option<AnswerTime>,
    /// Whether nobody ever says yes to what is asked for on their own behalf, whatever a rule lets
    /// them.
    pub require_other_person: bool,
    /// Whether the only member of the org may say yes to what a rule excludes them from.
    pub allow_single_member: bool,
}

/// How long people have to answer: whole seconds from a minute to a week, written as `90s`, `30m` or
/// `168h`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct AnswerTime(u32);

/// Why something is no time to answer in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected a time from `1m` to `168h`, such as `30m`")]
pub struct AnswerTimeError;

impl AnswerTime {
    const SECONDS: std::ops::RangeInclusive<u32> = 60..=604_800;

    /// The time of so many seconds.
    pub fn of_seconds(seconds: u32) -> Result<Self, AnswerTimeError> {
        if Self::SECONDS.contains(&seconds) { Ok(Self(seconds)) } else { Err(AnswerTimeError) }
    }

    /// How many seconds it is.
    pub fn seconds(self) -> u32 {
        self.0
    }
}

impl From<AnswerTime> for Duration {
    fn from(time: AnswerTime) -> Self {
        Self::from_secs(time.0.into())
    }
}

impl FromStr for AnswerTime {
    type Err = AnswerTimeError;

    fn from_str(text: &str) -> Result<Self, AnswerTimeError> {
        let units = [("s", 1), ("m", 60), ("h", 3_600)];
        let found = units.iter().find_map(|(unit, length)| {
            let number = text.strip_suffix(unit)?;
            // `u32` would take a sign.
            let is_plain = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
            number.parse::<u32>().ok().filter(|_| is_plain)?.checked_mul(*length)
        });
        Self::of_seconds(found.ok_or(AnswerTimeError)?)
    }
}

impl fmt::Display for AnswerTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            seconds if seconds % 3_600 == 0 => write!(f, "{}h", seconds / 3_600),
            seconds if seconds % 60 == 0 => write!(f, "{}m", seconds / 60),
            seconds => write!(f, "{seconds}s"),
        }
    }
}

impl Serialize for AnswerTime {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Another name of an org: from then on it holds this one, and the one before is free.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OrgRenamed {
    /// What it was called before.
    pub before: String,
    /// What it is called.
    pub after: String,
}

#[cfg(test)]
mod tests {
    use super::AnswerTime;

    #[test]
    fn a_time_to_answer_lies_between_a_minute_and_a_week_and_prints_as_people_write_it() {
        for (text, seconds, printed) in [
            ("60s", 60, "1m"),
            ("90s", 90, "90s"),
            ("30m", 1_800, "30m"),
            ("120m", 7_200, "2h"),
            ("168h", 604_800, "168h"),
        ] {
            let time: AnswerTime = text.parse().unwrap();
            assert_eq!((time.seconds(), &*time.to_string()), (seconds, printed));
            assert_eq!(printed.parse(), Ok(time));
        }
        for text in ["", "m", "30", "59s", "169h", "+5m", "-5m", "1.5h", "5 m", "1d", "4294967295h"]
        {
            assert!(text.parse::<AnswerTime>().is_err(), "{text:?}");
        }
    }
}
