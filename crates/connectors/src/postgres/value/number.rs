//! Numbers that JSON can or cannot keep.

use std::fmt::Write as _;

use crypto::json::MAX_INTEGER;
use serde_json::Value;

/// The number as JSON, or its digits as a text beyond ±(2^53−1), where a double would round it.
pub(super) fn integer(value: i64) -> Value {
    if value.unsigned_abs() <= MAX_INTEGER.unsigned_abs() {
        value.into()
    } else {
        value.to_string().into()
    }
}

/// The number as JSON, or as a text where JSON has no such number: not a number,
/// infinities, minus zero, and what lies beyond ±(2^53−1).
pub(super) fn float(value: f64) -> Value {
    if value.is_nan() {
        return "NaN".into();
    }
    if value.is_infinite() {
        return if value > 0.0 { "Infinity".into() } else { "-Infinity".into() };
    }
    #[expect(clippy::cast_precision_loss, reason = "2^53 - 1 is exact as a double")]
    let keeps = value.abs() <= MAX_INTEGER as f64 && !(value == 0.0 && value.is_sign_negative());
    if !keeps {
        return Value::String(format!("{value:?}"));
    }
    #[expect(clippy::cast_possible_truncation, reason = "the value is an integer below 2^53")]
    let number = if value.fract() == 0.0 { Value::from(value as i64) } else { Value::from(value) };
    number
}

/// The shortest number that reads back as this `float4`, the one that the database prints.
pub(super) fn float4(value: f32) -> Value {
    let shortest = value.to_string().parse::<f64>();
    float(shortest.unwrap_or(f64::NAN))
}

/// The text of a binary `numeric`, if it is one.
pub(super) fn numeric(raw: &[u8]) -> Option<String> {
    let (head, digits) = raw.split_first_chunk::<8>()?;
    let (words, _) = head.as_chunks::<2>();
    let words: &[[u8; 2]; 4] = words.try_into().ok()?;
    let [count, weight, sign, scale] = words.map(u16::from_be_bytes);
    // The weight alone is signed.
    let weight = i32::from(weight.cast_signed());
    match sign {
        0x0000 | 0x4000 => {}
        0xc000 => return Some("NaN".to_owned()),
        0xd000 => return Some("Infinity".to_owned()),
        0xf000 => return Some("-Infinity".to_owned()),
        _ => return None,
    }
    let (groups, []) = digits.as_chunks::<2>() else { return None };
    if groups.len() != usize::from(count) {
        return None;
    }
    // The digit group at place `n` counts 10000^n; groups that are not there are zero.
    let group = |place: i32| {
        let at = usize::try_from(weight - place).ok();
        at.and_then(|at| groups.get(at)).map_or(0, |bytes| u16::from_be_bytes(*bytes))
    };
    let mut text = String::new();
    if sign == 0x4000 {
        text.push('-');
    }
    let top = weight.max(0);
    // Writing to a string cannot fail.
    let _ = write!(text, "{}", group(top));
    for place in (0..top).rev() {
        let _ = write!(text, "{:04}", group(place));
    }
    if scale > 0 {
        text.push('.');
        let wanted = text.len() + usize::from(scale);
        for place in 1..=i32::from(scale.div_ceil(4)) {
            let _ = write!(text, "{:04}", group(-place));
        }
        text.truncate(wanted);
    }
    Some(text)
}
