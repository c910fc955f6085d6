//! Moments in UTC with millisecond precision, printed as `YYYY-MM-DDTHH:MM:SS.mmmZ`.

use std::{fmt, ops::Add, str::FromStr, time::Duration};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A moment in UTC, to the millisecond.
///
/// The printed form has a fixed width, so the order of the texts is the order of the moments.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

/// A text that is not a timestamp.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected an RFC 3339 time such as `2026-10-01T12:00:00.000Z`")]
pub struct BadTimestamp;

/// The range of the fixed-width form: the year 0000 to the last full second that jiff knows.
const EARLIEST: i64 = -62_167_219_200_000;
const LATEST: i64 = 253_402_207_199_999;

impl Timestamp {
    /// The Unix epoch.
    pub const EPOCH: Self = Self(0);

    /// Returns the moment this many milliseconds after the Unix epoch, kept within the years
    /// 0000 to 9999.
    pub const fn from_unix_millis(millis: i64) -> Self {
        if millis < EARLIEST {
            Self(EARLIEST)
        } else if millis > LATEST {
            Self(LATEST)
        } else {
            Self(millis)
        }
    }

    /// Returns the milliseconds since the Unix epoch.
    pub const fn unix_millis(self) -> i64 {
        self.0
    }

    /// Returns the time from `earlier` to this moment, zero when it lies ahead.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(self.0.saturating_sub(earlier.0).try_into().unwrap_or(0))
    }

    /// Returns this moment less `span`.
    pub fn before(self, span: Duration) -> Self {
        let millis = i64::try_from(span.as_millis()).unwrap_or(i64::MAX);
        Self::from_unix_millis(self.0.saturating_sub(millis))
    }

    /// Reads an RFC 3339 time with any offset, to the millisecond; further digits are cut.
    pub fn parse_rfc3339(text: &str) -> Result<Self, BadTimestamp> {
        if !has_rfc3339_shape(text.as_bytes()) {
            return Err(BadTimestamp);
        }
        let moment: jiff::Timestamp = text.parse().map_err(|_| BadTimestamp)?;
        let floor = moment.as_nanosecond().div_euclid(1_000_000);
        let millis = i64::try_from(floor).map_err(|_| BadTimestamp)?;
        if (EARLIEST..=LATEST).contains(&millis) { Ok(Self(millis)) } else { Err(BadTimestamp) }
    }
}

/// jiff reads much more than RFC 3339 (a space for the T, `:60`, zone names), so the shape is
/// checked first: `YYYY-MM-DDTHH:MM:SS[.f…](Z|±HH:MM)`.
fn has_rfc3339_shape(text: &[u8]) -> bool {
    let Some((date_time, rest)) = text.split_at_checked(19) else { return false };
    let shape = date_time.iter().zip(b"dddd-dd-ddTdd:dd:dd").all(|(byte, want)| match want {
        b'd' => byte.is_ascii_digit(),
        _ => byte == want,
    });
    let seconds_fit = date_time.get(17).is_some_and(|tens| *tens <= b'5');
    let zone = match rest.split_first() {
        Some((b'.', fraction)) => {
            let digits = fraction.iter().take_while(|byte| byte.is_ascii_digit()).count();
            if !(1..=9).contains(&digits) {
                return false;
            }
            fraction.get(digits..).unwrap_or_default()
        }
        _ => rest,
    };
    let zone_fits = match zone {
        b"Z" => true,
        [b'+' | b'-', a, b, b':', c, d] => [a, b, c, d].iter().all(|byte| byte.is_ascii_digit()),
        _ => false,
    };
    shape && seconds_fit && zone_fits
}

impl Add<Duration> for Timestamp {
    type Output = Self;

    fn add(self, span: Duration) -> Self {
        let millis = i64::try_from(span.as_millis()).unwrap_or(i64::MAX);
        Self::from_unix_millis(self.0.saturating_add(millis))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Invariant: the constructors keep the value within the years 0000 to 9999.
        let moment = jiff::Timestamp::from_millisecond(self.0).map_err(|_| fmt::Error)?;
        let civil = jiff::tz::Offset::UTC.to_datetime(moment);
        write!(
            f,
            "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z",
            civil.year(),
            civil.month(),
            civil.day(),
            civil.hour(),
            civil.minute(),
            civil.second(),
            civil.millisecond()
        )
    }
}

impl fmt::Debug for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Timestamp {
    type Err = BadTimestamp;

    /// Reads exactly the printed form and nothing else; [`Timestamp::parse_rfc3339`] is for what
    /// callers write.
    fn from_str(text: &str) -> Result<Self, BadTimestamp> {
        if text.len() != 24 || !text.ends_with('Z') {
            return Err(BadTimestamp);
        }
        Self::parse_rfc3339(text)
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<str>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}
