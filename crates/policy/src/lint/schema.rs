//! Whether arguments fit a JSON Schema, in the plain part of it. What is not understood does not
//! fit: an example must be one that the tool really takes.

use serde_json::{Map, Value};

/// Whether the arguments certainly fit.
pub(super) fn fits(schema: &Value, value: &Value) -> bool {
    let Some(schema) = schema.as_object() else { return *schema == Value::Bool(true) };
    schema.iter().all(|(keyword, wanted)| match keyword.as_str() {
        "title" | "description" | "default" | "examples" | "$schema" | "$id" | "$defs"
        | "$comment" => true,
        "type" => has_type(wanted, value),
        "format" => has_format(wanted, value),
        "const" => value == wanted,
        "enum" => wanted.as_array().is_some_and(|all| all.contains(value)),
        "required" => has_all(wanted, value),
        "properties" => properties_fit(wanted, value),
        "additionalProperties" => others_fit(schema, wanted, value),
        "items" => value.as_array().is_none_or(|items| items.iter().all(|item| fits(wanted, item))),
        "minimum" => bound(wanted, value, |value, bound| value >= bound),
        "maximum" => bound(wanted, value, |value, bound| value <= bound),
        "exclusiveMinimum" => bound(wanted, value, |value, bound| value > bound),
        "exclusiveMaximum" => bound(wanted, value, |value, bound| value < bound),
        "minLength" => length(wanted, value).is_none_or(|(length, bound)| length >= bound),
        "maxLength" => length(wanted, value).is_none_or(|(length, bound)| length <= bound),
        "minItems" => items(wanted, value).is_none_or(|(count, bound)| count >= bound),
        "maxItems" => items(wanted, value).is_none_or(|(count, bound)| count <= bound),
        _ => false,
    })
}

/// Whether what stands at this place of the arguments certainly fits what the schema says of the place.
pub(super) fn fits_at(schema: &Value, path: &[&str], args: &Value) -> bool {
    let Some((name, rest)) = path.split_first() else { return fits(schema, args) };
    let value = args.get(name).unwrap_or(&Value::Null);
    match schema.get("properties").and_then(|properties| properties.get(name)) {
        Some(part) => fits_at(part, rest, value),
        None => schema.get("additionalProperties").is_none_or(|others| fits(others, value)),
    }
}

/// Whether the text certainly has the format. Of formats that are not known here none has.
fn has_format(wanted: &Value, value: &Value) -> bool {
    let Some(text) = value.as_str() else { return true };
    match wanted.as_str() {
        Some("hostname" | "idn-hostname") => is_hostname(text),
        Some("email" | "idn-email") => text.split_once('@').is_some_and(|(name, domain)| {
            let letters = |byte: u8| byte.is_ascii_alphanumeric() || b"+-_".contains(&byte);
            !name.is_empty() && name.bytes().all(letters) && is_hostname(domain)
        }),
        Some("uri" | "uri-reference" | "iri" | "iri-reference") => {
            let letters = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~:/?#@=&".contains(&byte);
            let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
            rest.is_some_and(|rest| !rest.is_empty() && rest.bytes().all(letters))
        }
        _ => false,
    }
}

fn is_hostname(text: &str) -> bool {
    let is_label = |label: &str| {
        let letters = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
        (1..=63).contains(&label.len())
            && label.bytes().all(letters)
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    text.len() <= 253 && text.split('.').all(is_label)
}

fn has_type(wanted: &Value, value: &Value) -> bool {
    let is_one = |name: &str| match name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => false,
    };
    match wanted {
        Value::String(name) => is_one(name),
        Value::Array(names) => names.iter().filter_map(Value::as_str).any(is_one),
        _ => false,
    }
}

fn has_all(wanted: &Value, value: &Value) -> bool {
    let Some(object) = value.as_object() else { return true };
    let names = wanted.as_array().map(Vec::as_slice).unwrap_or_default();
    names.iter().all(|name| name.as_str().is_some_and(|name| object.contains_key(name)))
}

fn properties_fit(wanted: &Value, value: &Value) -> bool {
    let (Some(wanted), Some(object)) = (wanted.as_object(), value.as_object()) else { return true };
    object.iter().all(|(name, value)| wanted.get(name).is_none_or(|schema| fits(schema, value)))
}

fn others_fit(schema: &Map<String, Value>, wanted: &Value, value: &Value) -> bool {
    let Some(object) = value.as_object() else { return true };
    let known = schema.get("properties").and_then(Value::as_object);
    let is_known = |name: &String| known.is_some_and(|known| known.contains_key(name));
    object.iter().filter(|(name, _)| !is_known(name)).all(|(_, value)| fits(wanted, value))
}

fn bound(wanted: &Value, value: &Value, holds: fn(f64, f64) -> bool) -> bool {
    match (value.as_f64(), wanted.as_f64()) {
        (None, _) => true,
        (Some(value), Some(wanted)) => holds(value, wanted),
        (Some(_), None) => false,
    }
}

fn length(wanted: &Value, value: &Value) -> Option<(u64, u64)> {
    let length = u64::try_from(value.as_str()?.chars().count()).ok()?;
    Some((length, wanted.as_u64()?))
}

fn items(wanted: &Value, value: &Value) -> Option<(u64, u64)> {
    Some((u64::try_from(value.as_array()?.len()).ok()?, wanted.as_u64()?))
}
