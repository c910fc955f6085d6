//! Time spans as CEL and the settings write them: `1h30m`, `250ms`, `-1.5s`.

use std::fmt::Write as _;

use jiff::SignedDuration;

const UNITS: [(&str, i128); 7] = [
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("ms", 1_000_000),
    ("h", 3_600_000_000_000),
    ("m", 60_000_000_000),
    ("s", 1_000_000_000),
];

/// CEL's range, a little over 10,000 years either way.
const MOST_SECONDS: i64 = 315_576_000_000;

/// Reads one or more numbers with a unit each.
pub(crate) fn parse(text: &str) -> Option<SignedDuration> {
    let unsigned = text.strip_prefix('-').unwrap_or(text);
    if unsigned == "0" {
        return Some(SignedDuration::ZERO);
    }
    let mut rest = unsigned;
    let mut total: i128 = 0;
    while !rest.is_empty() {
        let (nanos, after) = piece(rest)?;
        total = total.checked_add(nanos)?;
        rest = after;
    }
    if unsigned.is_empty() {
        return None;
    }
    from_nanos(if unsigned.len() < text.len() { -total } else { total })
}

/// The span unless it is longer than CEL's range.
pub(crate) fn from_nanos(nanos: i128) -> Option<SignedDuration> {
    let span = SignedDuration::try_from_nanos_i128(nanos)?;
    within(span)
}

/// The span unless it is longer than CEL's range.
pub(crate) fn within(span: SignedDuration) -> Option<SignedDuration> {
    (span.as_secs().unsigned_abs() <= MOST_SECONDS.unsigned_abs()).then_some(span)
}

/// Prints the span in seconds, as CEL does.
pub(crate) fn print(span: SignedDuration) -> String {
    let nanos = span.as_nanos();
    let (whole, rest) =
        (nanos.unsigned_abs() / 1_000_000_000, nanos.unsigned_abs() % 1_000_000_000);
    let mut text = format!("{}{whole}", if nanos < 0 { "-" } else { "" });
    if rest != 0 {
        let digits = format!("{rest:09}");
        let _ = write!(text, ".{}", digits.trim_end_matches('0'));
    }
    text.push('s');
    text
}

fn piece(text: &str) -> Option<(i128, &str)> {
    let (whole, rest) = digits(text);
    let (fraction, rest) = match rest.strip_prefix('.') {
        Some(rest) => digits(rest),
        None => ("", rest),
    };
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let (unit, nanos) = UNITS.iter().find(|(unit, _)| rest.starts_with(unit))?;
    let whole: i128 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    // Digits past the ninth are below a nanosecond of every unit but the hour and the minute, where
    // fifteen are enough.
    let fraction = fraction.get(..15).unwrap_or(fraction);
    let scale = 10_i128.checked_pow(u32::try_from(fraction.len()).ok()?)?;
    let part: i128 = if fraction.is_empty() { 0 } else { fraction.parse().ok()? };
    let total = whole.checked_mul(*nanos)?.checked_add(part.checked_mul(*nanos)? / scale)?;
    Some((total, rest.get(unit.len()..)?))
}

fn digits(text: &str) -> (&str, &str) {
    let len = text.bytes().take_while(u8::is_ascii_digit).count();
    text.split_at_checked(len).unwrap_or(("", text))
}
