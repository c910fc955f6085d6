//! Durations as people write them in settings: a whole number and one of `ms`, `s`, `m`, `h`.

use std::time::Duration;

/// Milliseconds in a second.
pub(super) const SECOND: u64 = 1000;
/// Milliseconds in a minute.
pub(super) const MINUTE: u64 = 60 * SECOND;
/// Milliseconds in an hour.
pub(super) const HOUR: u64 = 60 * MINUTE;

const UNITS: [(&str, u64); 4] = [("ms", 1), ("s", SECOND), ("m", MINUTE), ("h", HOUR)];

/// The duration, if the text is one.
pub(super) fn parse(text: &str) -> Option<Duration> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at_checked(digits)?;
    let (_, factor) = UNITS.iter().find(|(known, _)| *known == unit)?;
    number.parse::<u64>().ok()?.checked_mul(*factor).map(Duration::from_millis)
}

/// The shortest text for a number of milliseconds.
///
/// Minutes and hours stand for themselves only where nothing is left over, so `1500ms` stays.
pub(super) fn print(millis: u64) -> String {
    let fits = |factor: &u64| millis > 0 && millis.is_multiple_of(*factor);
    match UNITS.iter().rev().find(|(_, factor)| fits(factor)) {
        Some((unit, factor)) => format!("{}{unit}", millis / factor),
        None => format!("{}s", millis / SECOND),
    }
}
