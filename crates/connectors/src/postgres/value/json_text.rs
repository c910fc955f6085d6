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
    kept.filter(|_| json::keeps_numbers(text)).unwrap_or_else(|| Value::String(text.to_owned()))
}

/// The text is valid JSON already, so brackets outside texts balance.
fn depth(text: &str) -> usize {
    let (mut now, mut deepest) = (0_usize, 0);
    for (outside, _) in json::pieces(text) {
        for byte in outside.bytes() {
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
