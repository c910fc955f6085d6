//! Whether a JSON text from the database survives as JSON here.

use crypto::json;
use serde_json::Value;

/// A result wraps a column in rows and arrays, and the whole may be nested [`json::MAX_DEPTH`] deep.
const WRAPPING: usize = 10;

/// The JSON that the text holds, or the text itself where JSON would lose something: a
/// number that a double does not keep digit for digit, a key that stands twice, or deep nesting.
pub(super) fn value(text: &str) -> Value {
    let kept = json::parse(text.as_bytes()).ok();
    let kept = kept.filter(|_| depth(text) <= json::MAX_DEPTH - WRAPPING);
    kept.filter(|_| numbers(text).all(is_kept)).unwrap_or_else(|| Value::String(text.to_owned()))
}

/// The text is valid JSON already, so brackets outside texts balance.
fn depth(text: &str) -> usize {
    let (mut now, mut deepest) = (0_usize, 0);
    for piece in outside_texts(text) {
        for byte in piece.bytes() {
            match byte {
                b'[' | b'{' => now += 1,
                b']' | b'}' => now = now.saturating_sub(1),
                _ => {}
            }
            deepest = deepest.max(now);
        }
    }
    deepest
}

fn numbers(text: &str) -> impl Iterator<Item = &str> {
    outside_texts(text)
        .flat_map(|piece| piece.split(|next: char| !is_number_part(next)))
        .filter(|word| word.starts_with(|first: char| first == '-' || first.is_ascii_digit()))
}

fn is_number_part(next: char) -> bool {
    next.is_ascii_alphanumeric() || matches!(next, '-' | '+' | '.')
}

/// What stands between the texts of a JSON text.
fn outside_texts(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let (piece, after) = rest.split_once('"').unwrap_or((rest, ""));
        rest = after_text(after);
        Some(piece)
    })
}

fn after_text(inside: &str) -> &str {
    let mut bytes = inside.bytes().enumerate();
    while let Some((at, byte)) = bytes.next() {
        match byte {
            b'"' => return inside.get(at + 1..).unwrap_or_default(),
            b'\\' => {
                bytes.next();
            }
            _ => {}
        }
    }
    ""
}

/// A number is kept when the double it becomes prints the same digits.
fn is_kept(token: &str) -> bool {
    let printed = token.parse::<f64>().map(|value| format!("{value:?}"));
    printed.is_ok_and(|printed| significant(&printed) == significant(token))
}

/// The digits without zeros at either end, and the power of ten of the last one.
fn significant(number: &str) -> Option<(String, i64)> {
    let unsigned = number.strip_prefix('-').unwrap_or(number);
    let (mantissa, exponent) = unsigned.split_once(['e', 'E']).unwrap_or((unsigned, "0"));
    let exponent: i64 = exponent.parse().ok()?;
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{fraction}");
    let cut = digits.trim_end_matches('0');
    let zeros = i64::try_from(digits.len() - cut.len()).ok()?;
    let places = i64::try_from(fraction.len()).ok()?;
    let cut = cut.trim_start_matches('0').to_owned();
    let power = if cut.is_empty() { 0 } else { exponent + zeros - places };
    Some((cut, power))
}
