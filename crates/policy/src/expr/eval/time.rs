//! Arithmetic on points in time, their parts, and time zones.

use jiff::{
    SignedDuration, Timestamp,
    civil::Weekday,
    tz::{Offset, TimeZone},
};

use crate::expr::{duration, failure::Cause, functions::TimePart, value::Value};

/// CEL's range begins with the year 1; jiff ends it late in the year 9999.
const EARLIEST: i64 = -62_135_596_800;

/// The moment so much later, or nothing outside the range.
pub(super) fn shift<'v>(at: Timestamp, span: SignedDuration) -> Option<Value<'v>> {
    at.checked_add(span).ok().and_then(within).map(Value::Time)
}

/// The span as a value, or nothing outside the range.
pub(super) fn span<'v>(span: Option<SignedDuration>) -> Option<Value<'v>> {
    span.and_then(duration::within).map(Value::Span)
}

/// Reads an RFC 3339 time.
pub(super) fn parse(text: &str) -> Option<Timestamp> {
    // jiff reads more than RFC 3339; the model's reader checks the shape, jiff keeps the digits
    // below the millisecond.
    model::Timestamp::parse_rfc3339(text).ok()?;
    text.parse().ok().and_then(within)
}

/// The moment so many seconds after the Unix epoch.
pub(super) fn from_seconds(seconds: i64) -> Option<Timestamp> {
    Timestamp::from_second(seconds).ok().and_then(within)
}

/// The whole seconds since the Unix epoch.
pub(super) fn seconds(at: Timestamp) -> i64 {
    at.as_nanosecond().div_euclid(1_000_000_000).try_into().unwrap_or(at.as_second())
}

fn within(at: Timestamp) -> Option<Timestamp> {
    (seconds(at) >= EARLIEST).then_some(at)
}

/// The part of a moment (in the zone, or in UTC) or of a span.
pub(super) fn part(
    part: TimePart,
    of: &Value<'_>,
    zone: Option<&str>,
) -> Result<i64, Cause<'static>> {
    match of {
        Value::Time(at) => {
            let zone = find_zone(zone.unwrap_or("UTC"));
            let zone = zone.ok_or(Cause::BadInput { name: "time zone" })?;
            Ok(civil_part(part, &zone.to_datetime(*at)))
        }
        Value::Span(span) if zone.is_none() => {
            span_part(part, *span).ok_or(Cause::NoFunction { name: "date part", of: of.sort() })
        }
        other => Err(Cause::NoFunction { name: "date part", of: other.sort() }),
    }
}

fn civil_part(part: TimePart, at: &jiff::civil::DateTime) -> i64 {
    match part {
        TimePart::FullYear => at.year().into(),
        TimePart::Month => i64::from(at.month()) - 1,
        TimePart::Date => at.day().into(),
        TimePart::DayOfMonth => i64::from(at.day()) - 1,
        TimePart::DayOfWeek => weekday(at.weekday()),
        TimePart::DayOfYear => i64::from(at.day_of_year()) - 1,
        TimePart::Hours => at.hour().into(),
        TimePart::Minutes => at.minute().into(),
        TimePart::Seconds => at.second().into(),
        TimePart::Milliseconds => i64::from(at.subsec_nanosecond()) / 1_000_000,
    }
}

fn weekday(day: Weekday) -> i64 {
    day.to_sunday_zero_offset().into()
}

fn span_part(part: TimePart, span: SignedDuration) -> Option<i64> {
    match part {
        TimePart::Hours => Some(span.as_hours()),
        TimePart::Minutes => Some(span.as_mins()),
        TimePart::Seconds => Some(span.as_secs()),
        TimePart::Milliseconds => Some(i64::from(span.subsec_millis())),
        TimePart::FullYear
        | TimePart::Month
        | TimePart::Date
        | TimePart::DayOfMonth
        | TimePart::DayOfWeek
        | TimePart::DayOfYear => None,
    }
}

/// The zone of an IANA name or of an offset such as `+02:00`.
fn find_zone(name: &str) -> Option<TimeZone> {
    if name.starts_with(|first: char| first.is_ascii_alphabetic()) {
        return TimeZone::get(name).ok();
    }
    let (sign, digits) = match name.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, name.strip_prefix('+').unwrap_or(name)),
    };
    let (hours, minutes) = digits.split_once(':')?;
    if hours.len() != 2 || minutes.len() != 2 {
        return None;
    }
    let (hours, minutes): (i32, i32) = (hours.parse().ok()?, minutes.parse().ok()?);
    let fits = (0..24).contains(&hours) && (0..60).contains(&minutes);
    let seconds = fits.then_some(sign * (hours * 3600 + minutes * 60))?;
    Offset::from_seconds(seconds).ok().map(Offset::to_time_zone)
}
