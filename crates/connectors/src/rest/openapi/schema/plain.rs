//! The words of a schema that hold no schema: bounds, null, formats and texts.

use crypto::json::{MAX_INTEGER, is_out_of_range};
use serde_json::{Map, Value};

use super::words::{AT_MOST, BOUNDS, FORMATS};
use crate::args::pattern;

/// How much of a description inside a schema is kept.
const MAX_TEXT: usize = 500;
/// How much of the name of a format is kept.
const MAX_FORMAT: usize = 64;

/// A word that is carried over as it is; nothing where it limits nothing.
pub(super) fn carried(word: &str, value: &Value) -> Result<Option<Value>, String> {
    if AT_MOST.contains(&word) && value.is_number() && is_out_of_range(value) && is_positive(value)
    {
        return Ok(None);
    }
    if is_out_of_range(value) {
        return Err(format!("a number of its `{word}` lies outside ±(2^53−1)"));
    }
    if word == "pattern" {
        matchable(value.as_str().unwrap_or_default())?;
    }
    Ok(Some(value.clone()))
}

/// Whether a pattern can be matched in linear time, as far as its constructs show.
pub(super) fn matchable(text: &str) -> Result<(), String> {
    match pattern::fault(text) {
        None => Ok(()),
        Some(fault) => Err(format!("its pattern `{}` {fault}", pattern::shown(text))),
    }
}

/// Least and most.
///
/// No number beyond ±(2^53−1) is accepted anywhere. A bound that all other numbers pass says nothing.
/// One that none of them passes excludes the end of the range, which refuses each number as well.
pub(super) fn bounds(
    members: &Map<String, Value>,
    into: &mut Map<String, Value>,
) -> Result<(), String> {
    for (bound, exclusive, is_least) in BOUNDS {
        let limit = number(bound, members.get(bound))?;
        // In 3.0 a truth value excludes the bound itself; later the word has a number of its own.
        let (is_strict, excluded) = match members.get(exclusive) {
            Some(Value::Bool(is_strict)) => (*is_strict, None),
            other => (false, number(exclusive, other)?),
        };
        let named = if is_strict { exclusive } else { bound };
        let limits = [(named, limit), (exclusive, excluded)];
        let limits = || limits.iter().filter_map(|(word, limit)| Some((*word, (*limit)?)));
        let is_far = |value: &Value| is_out_of_range(value);
        into.extend(
            limits()
                .filter(|(_, limit)| !is_far(limit))
                .map(|(word, limit)| (word.to_owned(), limit.clone())),
        );
        if limits().any(|(_, limit)| is_far(limit) && is_positive(limit) == is_least) {
            let end = if is_least { MAX_INTEGER } else { -MAX_INTEGER };
            into.insert(exclusive.to_owned(), end.into());
        }
    }
    Ok(())
}

fn number<'v>(word: &str, value: Option<&'v Value>) -> Result<Option<&'v Value>, String> {
    match value {
        Some(value) if !value.is_number() => Err(format!("its `{word}` is no number")),
        other => Ok(other),
    }
}

fn is_positive(value: &Value) -> bool {
    value.as_f64().is_some_and(|value| value > 0.0)
}

/// Adds null, which 3.0 allows by a word of its own.
///
/// The word has an effect only beside a `type`, as 3.0.3 says. Without one, null passes where the other
/// words let it pass; accepting it beside an `allOf` whose parts refuse it would be wider than what was
/// written. Beside a type, an `enum` would exclude the null again, which no author means, so it is
/// added there too.
pub(super) fn nullable(into: &mut Map<String, Value>) {
    let null = Value::from("null");
    match into.get_mut("type") {
        Some(Value::Array(kinds)) if !kinds.contains(&null) => kinds.push(null),
        Some(Value::Array(_)) => {}
        Some(kind @ Value::String(_)) => *kind = Value::Array(vec![kind.clone(), null]),
        _ => return,
    }
    if let Some(Value::Array(values)) = into.get_mut("enum")
        && !values.contains(&Value::Null)
    {
        values.push(Value::Null);
    }
}

/// Whether the format is checked.
pub(super) fn is_checked(format: &str) -> bool {
    FORMATS.contains(&format)
}

/// The description with a note of a format that is not checked.
pub(super) fn noted(description: Option<&Value>, format: &str) -> Value {
    let text = description.and_then(Value::as_str).map(str::trim_end).unwrap_or_default();
    let end = match text.chars().next_back() {
        None => "",
        Some('.' | '!' | '?' | ':') => " ",
        Some(_) => ". ",
    };
    let format: String = format.chars().take(MAX_FORMAT).collect();
    format!("{text}{end}Format: {format}.").into()
}

/// A text of at most the length that is kept.
pub(super) fn shortened(value: &Value) -> Value {
    match value {
        Value::String(text) => text.chars().take(MAX_TEXT).collect::<String>().into(),
        other => other.clone(),
    }
}
