//! Moments in UTC with millisecond precision, printed as `YYYY-MM-DDTHH:MM:SS.mmmZ`.

use std::{fmt, ops::Add, str::FromStr, time::Duration};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::deserialize_text;

/// A moment in UTC, to the millisecond.
///
/// The printed form has a fixed width, so the order of the texts is the order of the moments.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

/// A text that is not a timestamp.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected an RFC 3339 time such as `2026-10-01T12:00:00.000Z`")]
pub struct TimestampError;

/// The range of the fixed-width form: the year 0000 to the last full second that jiff knows.
const EARLIEST: i64 = -62_167_219_200_000;
const LATEST: i64 = 253_402_207_199_999;

impl Timestamp {
    /// The Unix epoch.
    pub const EPOCH: Self = Self(0);

    /// The moment this many milliseconds after the Unix epoch, kept within the years
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

    /// The milliseconds since the Unix epoch.
    pub const fn unix_millis(self) -> i64 {
        self.0
    }

    /// The time from `earlier` to this moment, zero when it lies ahead.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(self.0.saturating_sub(earlier.0).try_into().unwrap_or(0))
    }

    /// This moment less `span`.
    pub fn before(self, span: Duration) -> Self {
        let millis = i64::try_from(span.as_millis()).unwrap_or(i64::MAX);
        Self::from_unix_millis(self.0.saturating_sub(millis))
    }

    /// Reads an RFC 3339 time with any offset, to the millisecond; further digits are cut.
    pub fn parse_rfc3339(text: &str) -> Result<Self, TimestampError> {
        if !has_rfc3339_shape(text.as_bytes()) {
            return Err(TimestampError);
        }
        let moment: jiff::Timestamp = text.parse().map_err(|_| TimestampError)?;
        let floor = moment.as_nanosecond().div_euclid(1_000_000);
        let millis = i64::try_from(floor).map_err(|_| TimestampError)?;
        if (EARLIEST..=LATEST).contains(&millis) { Ok(Self(millis)) } else { Err(TimestampError) }
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

impl Timestamp {
    /// The printed form.
    fn text(self) -> [u8; 24] {
        // Invariant: the constructors keep the value within the years 0000 to 9999.
        let moment = jiff::Timestamp::from_millisecond(self.0).unwrap_or_default();
        let civil = jiff::tz::Offset::UTC.to_datetime(moment);
        let small = [civil.month(), civil.day(), civil.hour(), civil.minute(), civil.second()];
        let [month, day, hour, minute, second] = small.map(i16::from);
        let fields = [civil.year(), month, day, hour, minute, second, civil.millisecond()];
        let mut text = *FORM;
        for ((from, to), number) in FIELDS.into_iter().zip(fields) {
            let places = text.get_mut(from..to).unwrap_or_default().iter_mut().rev();
            places.fold(number, |rest, digit| {
                *digit += u8::try_from(rest % 10).unwrap_or_default();
                rest / 10
            });
        }
        text
    }
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
        f.write_str(std::str::from_utf8(&self.text()).unwrap_or_default())
    }
}

impl fmt::Debug for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Timestamp {
    type Err = TimestampError;

    /// Reads exactly the printed form and nothing else; [`Timestamp::parse_rfc3339`] is for what
    /// callers write.
    fn from_str(text: &str) -> Result<Self, TimestampError> {
        let text: &[u8; 24] = text.as_bytes().try_into().map_err(|_| TimestampError)?;
        let fixed = |(byte, form): (&u8, &u8)| *form == b'0' || byte == form;
        if !text.iter().zip(FORM).all(fixed) {
            return Err(TimestampError);
        }
        let [year, month, day, hour, minute, second, millis] = FIELDS.map(|(from, to)| {
            text.get(from..to).unwrap_or_default().iter().try_fold(0, |number, digit| {
                digit.is_ascii_digit().then(|| number * 10 + i16::from(digit - b'0'))
            })
        });
        let small = |number: Option<i16>| number.and_then(|number| i8::try_from(number).ok());
        let civil = || {
            let date = jiff::civil::Date::new(year?, small(month)?, small(day)?).ok()?;
            let nanos = i32::from(millis?) * 1_000_000;
            let (hour, minute, second) = (small(hour)?, small(minute)?, small(second)?);
            let time = jiff::civil::Time::new(hour, minute, second, nanos).ok()?;
            let moment = jiff::tz::Offset::UTC.to_timestamp(date.to_datetime(time)).ok()?;
            Some(moment.as_millisecond()).filter(|millis| (EARLIEST..=LATEST).contains(millis))
        };
        civil().map(Self).ok_or(TimestampError)
    }
}

/// The printed form: zeroes stand for digits, everything else for itself.
const FORM: &[u8; 24] = b"0000-00-00T00:00:00.000Z";
/// Where year, month, day, hour, minute, second and milliseconds stand in it.
const FIELDS: [(usize, usize); 7] =
    [(0, 4), (5, 7), (8, 10), (11, 13), (14, 16), (17, 19), (20, 23)];

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(std::str::from_utf8(&self.text()).unwrap_or_default())
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserialize_text(deserializer)
    }
}
