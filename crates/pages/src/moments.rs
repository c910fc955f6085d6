//! Times, as people read them: how long ago in lists, the whole moment for whoever looks closer.

use jiff::{Timestamp as Moment, fmt::strtime, tz::TimeZone};
use minijinja::{Environment, Error, ErrorKind, State, Value, context};

pub(crate) fn add_to(templates: &mut Environment<'_>) {
    templates.add_filter("moment", moment);
    templates.add_filter("typed_moment", typed_moment);
    templates.add_filter("left", left);
    templates.add_filter("span", span);
    templates.add_filter("thousands", thousands);
    templates.add_filter("amount", amount);
}

/// A moment in every way that a page tells it.
fn moment(state: &State<'_, '_>, text: &str) -> Result<Value, Error> {
    let (at, now) = (read(text)?, now(state)?);
    let seconds = now.as_second() - at.as_second();
    let ago = match seconds {
        ..-1 => format!("in {}", spoken(-seconds)),
        -1..5 => "just now".to_owned(),
        _ => format!("{} ago", spoken(seconds)),
    };
    Ok(context! {
        iso => text,
        ago => ago,
        lasting => spoken(seconds.max(0)),
        unix => at.as_second(),
        clock => shown("%H:%M:%S.%3f", at)?,
        minute => shown("%H:%M", at)?,
        day => shown("%-d %b %Y", at)?,
        whole => shown("%-d %b %Y, %H:%M:%S.%3f UTC", at)?,
    })
}

/// A moment as the field of a form has it, in UTC; nothing where the text is none.
fn typed_moment(text: &str) -> Result<String, Error> {
    let Ok(at) = read(text) else { return Ok(String::new()) };
    let has_rest = at.subsec_nanosecond() != 0;
    shown(if has_rest { "%Y-%m-%dT%H:%M:%S.%3f" } else { "%Y-%m-%dT%H:%M:%S" }, at)
}

/// How much of the time between two moments is left now: the share in whole percents, and the words.
fn left(state: &State<'_, '_>, until: &str, since: &str) -> Result<Value, Error> {
    let (until, since, now) = (read(until)?, read(since)?, now(state)?);
    let whole = (until.as_millisecond() - since.as_millisecond()).max(1);
    let rest = (until.as_millisecond() - now.as_millisecond()).max(0);
    let seconds = rest / 1000;
    let counted = match seconds {
        ..600 => format!("{}:{:02}", seconds / 60, seconds % 60),
        _ => spoken(seconds),
    };
    Ok(context! {
        share => (rest * 100 / whole).clamp(0, 100),
        is_near => seconds < 600,
        is_over => rest == 0,
        short => spoken(seconds),
        counted => counted,
        clock => shown("%H:%M", until)?,
    })
}

/// How long something took, of its milliseconds.
fn span(milliseconds: i64) -> String {
    match milliseconds {
        ..=999 => format!("{milliseconds} ms"),
        1000..=59_999 => format!("{}.{} s", milliseconds / 1000, milliseconds % 1000 / 100),
        _ => spoken(milliseconds / 1000),
    }
}

/// A whole number, its digits in threes.
pub(crate) fn thousands(number: i64) -> String {
    let digits = number.unsigned_abs().to_string();
    let first = digits.len() % 3;
    let mut shown = String::from(if number < 0 { "-" } else { "" });
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && place % 3 == first {
            shown.push(',');
        }
        shown.push(digit);
    }
    shown
}

/// A sum with two places, or a whole one of what is counted in whole ones.
fn amount(sum: f64) -> String {
    let hundredths = (sum * 100.0).round();
    let is_large = hundredths.abs() >= 9e15;
    #[expect(clippy::cast_possible_truncation, reason = "it is far smaller")]
    let whole = if is_large { return format!("{sum:e}") } else { hundredths as i64 };
    let sign = if whole < 0 { "-" } else { "" };
    let (units, rest) = (thousands((whole / 100).abs()), (whole % 100).abs());
    if rest == 0 { format!("{sign}{units}") } else { format!("{sign}{units}.{rest:02}") }
}

fn spoken(seconds: i64) -> String {
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    match seconds {
        ..=59 => format!("{seconds} s"),
        60..=3599 => format!("{minutes} min"),
        3600..=86_399 if minutes % 60 == 0 => format!("{hours} h"),
        3600..=86_399 => format!("{hours} h {} min", minutes % 60),
        _ if days == 1 => "1 day".to_owned(),
        _ => format!("{days} days"),
    }
}

fn now(state: &State<'_, '_>) -> Result<Moment, Error> {
    let now = state.lookup("now");
    let text = now.as_ref().and_then(Value::as_str);
    read(text.ok_or_else(|| unreadable("the page has no current time"))?)
}

fn read(text: &str) -> Result<Moment, Error> {
    text.parse().map_err(|error| unreadable(format!("`{text}` is not a timestamp: {error}")))
}

fn shown(format: &str, at: Moment) -> Result<String, Error> {
    strtime::format(format, &at.to_zoned(TimeZone::UTC))
        .map_err(|error| unreadable(error.to_string()))
}

fn unreadable(why: impl Into<std::borrow::Cow<'static, str>>) -> Error {
    Error::new(ErrorKind::InvalidOperation, why)
}

#[cfg(test)]
mod tests {
    use super::{amount, span, spoken, thousands};

    #[test]
    fn numbers_and_spans_are_told_shortly() {
        let numbers = [
            (0, "0"),
            (999, "999"),
            (1000, "1,000"),
            (18_442, "18,442"),
            (-1_234_567, "-1,234,567"),
        ];
        for (number, told) in numbers {
            assert_eq!(thousands(number), told);
        }
        for (sum, told) in
            [(0.0, "0"), (640.0, "640"), (18_240.5, "18,240.50"), (-0.05, "-0.05"), (1e20, "1e20")]
        {
            assert_eq!(amount(sum), told);
        }
        for (span_ms, told) in [
            (6, "6 ms"),
            (999, "999 ms"),
            (2_049, "2.0 s"),
            (30_000, "30.0 s"),
            (1_800_000, "30 min"),
        ] {
            assert_eq!(span(span_ms), told);
        }
        for (seconds, told) in [
            (59, "59 s"),
            (3_600, "1 h"),
            (6_300, "1 h 45 min"),
            (86_400, "1 day"),
            (190_000, "2 days"),
        ] {
            assert_eq!(spoken(seconds), told);
        }
    }
}
