//! What agents, tools and people sent, shown so that it misleads nobody: as text always, with letters
//! that cannot be seen or that turn what stands beside them made visible.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
};

use minijinja::{Environment, Error, ErrorKind, Value, context};
use serde_json::Value as Json;
use unicode_security::MixedScript;

/// Lines that are shown before a text folds.
const LINES: usize = 6;
/// Letters that are shown before a text folds.
const LETTERS: usize = 480;
/// The most facts of one value.
const FACTS: usize = 200;

pub(crate) fn add_to(templates: &mut Environment<'_>) {
    templates.add_filter("seen", |text: &str| seen(text));
    templates.add_filter("facts", facts);
    templates.add_filter("changes", |before: &Value, after: &Value| changes(before, after));
    templates.add_filter("raw", raw);
    templates.add_filter("editable", editable);
    templates.add_filter("lines", |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>());
    templates.add_filter("short", short);
    templates.add_filter("encoded", |text: &str| encoded(text));
}

/// A text whose unseen letters are told by their number.
pub(crate) fn seen(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for letter in text.chars() {
        if model::is_unseen(letter) {
            shown.push_str(&numbered(letter));
        } else {
            shown.push(letter);
        }
    }
    shown
}

fn numbered(letter: char) -> String {
    format!("⟦U+{:04X}⟧", u32::from(letter))
}

/// Whether a name has letters of scripts that no language mixes, such as a Cyrillic `а` in a Latin word
/// (UTS 39, section 5.1). The parts of a name in dots are names of their own.
pub fn mixes_scripts(name: &str) -> bool {
    name.split('.').any(|part| !part.is_single_script())
}

/// The name of a member. One that mixes scripts is shown with the number of each letter that is not
/// ASCII, since it may look like another name.
pub(crate) fn member(name: &str) -> Cow<'_, str> {
    if !mixes_scripts(name) {
        return name.into();
    }
    let letter = |it: char| if it.is_ascii() { it.to_string() } else { numbered(it) };
    let shown = |part: &str| {
        if part.is_single_script() { part.to_owned() } else { part.chars().map(letter).collect() }
    };
    name.split('.').map(shown).collect::<Vec<_>>().join(".").into()
}

/// The leaves of a value, each with its place in dots.
fn facts(value: &Value) -> Result<Value, Error> {
    let json = json(value)?;
    let mut found = Vec::new();
    flatten("", &json, &mut found);
    let more = found.len().saturating_sub(FACTS);
    found.truncate(FACTS);
    let rows: Vec<Value> = found.into_iter().map(|(name, leaf)| fact(&name, leaf)).collect();
    Ok(context! { rows => rows, more => more })
}

fn flatten<'v>(place: &str, value: &'v Json, found: &mut Vec<(String, &'v Json)>) {
    match value {
        Json::Object(members) if !members.is_empty() => {
            for (name, member) in members {
                flatten(&below(place, &self::member(name)), member, found);
            }
        }
        Json::Array(items) if !items.is_empty() => {
            for (at, item) in items.iter().enumerate() {
                flatten(&below(place, &at.to_string()), item, found);
            }
        }
        leaf => found.push((place.to_owned(), leaf)),
    }
}

fn fact(name: &str, leaf: &Json) -> Value {
    let (kind, text) = match leaf {
        Json::String(text) => ("text", text.clone()),
        Json::Number(number) => ("number", number.to_string()),
        Json::Bool(flag) => ("word", flag.to_string()),
        Json::Null => ("nothing", "null".to_owned()),
        Json::Array(_) => ("nothing", "an empty list".to_owned()),
        Json::Object(_) => ("nothing", "an empty object".to_owned()),
    };
    let is_long = text.lines().count() > LINES || text.chars().count() > LETTERS;
    let head: Option<String> = is_long.then(|| text.chars().take(80).collect());
    context! { name => seen(name), kind => kind, text => seen(&text), head => head.as_deref().map(seen) }
}

/// Where the second value differs from the first, place by place: what stood there, and what does.
/// A list that holds no objects is one leaf, since an item that comes in moves all others.
fn changes(before: &Value, after: &Value) -> Result<Value, Error> {
    let (before, after) = (json(before)?, json(after)?);
    let mut found = Vec::new();
    compare("", (Some(&before), Some(&after)), &mut found);
    let more = found.len().saturating_sub(FACTS);
    found.truncate(FACTS);
    let told = |leaf: Option<&Json>| {
        leaf.map(|leaf| seen(&leaf.as_str().map_or_else(|| leaf.to_string(), str::to_owned)))
    };
    let row = |(place, before, after): (String, Option<&Json>, Option<&Json>)| {
        context! { place => seen(&place), before => told(before), after => told(after) }
    };
    let rows: Vec<Value> = found.into_iter().map(row).collect();
    Ok(context! { rows => rows, more => more })
}

type Changed<'v> = (String, Option<&'v Json>, Option<&'v Json>);

fn compare<'v>(
    place: &str,
    (before, after): (Option<&'v Json>, Option<&'v Json>),
    found: &mut Vec<Changed<'v>>,
) {
    if before == after {
        return;
    }
    let (was, is) = (before.map(parts).unwrap_or_default(), after.map(parts).unwrap_or_default());
    // What was no object and is one now changed as a whole.
    if (before.is_some() && was.is_empty()) || (after.is_some() && is.is_empty()) {
        found.push((place.to_owned(), before, after));
        return;
    }
    let names: BTreeSet<&String> = was.keys().chain(is.keys()).collect();
    for name in names {
        let pair = (was.get(name).copied(), is.get(name).copied());
        compare(&below(place, &member(name)), pair, found);
    }
}

/// The parts of a value that can change one by one; none where it changes as a whole.
fn parts(value: &Json) -> BTreeMap<String, &Json> {
    match value {
        Json::Object(members) => {
            members.iter().map(|(name, member)| (name.clone(), member)).collect()
        }
        Json::Array(items) if items.iter().any(Json::is_object) => {
            items.iter().enumerate().map(|(at, item)| (at.to_string(), item)).collect()
        }
        Json::Array(_) | Json::String(_) | Json::Number(_) | Json::Bool(_) | Json::Null => {
            BTreeMap::new()
        }
    }
}

fn below(place: &str, name: &str) -> String {
    if place.is_empty() { name.to_owned() } else { format!("{place}.{name}") }
}

/// The text of a value, for whoever wants it raw.
fn raw(value: &Value) -> Result<String, Error> {
    let text = serde_json::to_string_pretty(&json(value)?);
    text.map(|text| seen(&text)).map_err(unwritable)
}

/// The JSON of a value, for whoever changes it and sends it back: the same value, with letters that
/// are not plain ASCII told by their numbers in the way of JSON.
fn editable(value: &Value) -> Result<String, Error> {
    let text = serde_json::to_string_pretty(&json(value)?).map_err(unwritable)?;
    let mut plain = String::with_capacity(text.len());
    for letter in text.chars() {
        if letter.is_ascii() {
            plain.push(letter);
            continue;
        }
        for unit in letter.encode_utf16(&mut [0; 2]) {
            plain.extend([format!("\\u{unit:04x}")]);
        }
    }
    Ok(plain)
}

pub(crate) fn json(value: &Value) -> Result<Json, Error> {
    serde_json::to_value(value).map_err(unwritable)
}

fn unwritable(error: serde_json::Error) -> Error {
    Error::new(ErrorKind::BadSerialization, "a value could not be shown").with_source(error)
}

/// An id as people compare it: its kind and its last six letters. Ids begin with the time, so their
/// heads look alike.
fn short(id: &str) -> String {
    let (kind, rest) = match id.split_once([':', '_']) {
        Some((kind, rest)) => (id.get(..=kind.len()).unwrap_or_default(), rest),
        None => ("", id),
    };
    let letters: Vec<char> = rest.chars().collect();
    match letters.len() {
        ..=8 => id.to_owned(),
        long => format!("{kind}…{}", letters.iter().skip(long - 6).collect::<String>()),
    }
}

/// A text as a part of an address.
pub fn encoded(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
            shown.push(char::from(byte));
        } else {
            shown.extend([format!("%{byte:02X}")]);
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{changes, encoded, facts, seen, short};

    #[test]
    fn what_cannot_be_seen_is_told() {
        assert_eq!(seen("pay\u{202e}lla"), "pay⟦U+202E⟧lla");
        assert_eq!(seen("one\u{2028}two\u{2029}\n"), "one⟦U+2028⟧two⟦U+2029⟧\n");
        for (name, shown) in [
            ("args.größe.\u{430}mount", "args.größe.⟦U+0430⟧mount"),
            ("args.счёт", "args.счёт"),
            ("größe", "größe"),
            ("счёт", "счёт"),
            ("数量かな", "数量かな"),
        ] {
            assert_eq!(super::member(name), shown);
        }
        assert_eq!(seen("a\u{0}b\tc\nd"), "a⟦U+0000⟧b\tc\nd");
        assert_eq!(seen("tag\u{e0041}"), "tag⟦U+E0041⟧");
        assert_eq!(seen("Žluťoučký 猫 🐈"), "Žluťoučký 猫 🐈");
    }

    #[test]
    fn ids_are_told_by_their_ends() {
        assert_eq!(short("act_01k6ga3wvwd2nq7x5k9z8y6t3s"), "act_…8y6t3s");
        assert_eq!(short("sha256:a3447a0f6dfbf3a9e448dea16826ea9e"), "sha256:…26ea9e");
        assert_eq!(short("operator"), "operator");
    }

    #[test]
    fn parts_of_addresses_hold_nothing_that_ends_them() {
        assert_eq!(encoded("a b&c=d/é"), "a%20b%26c%3Dd%2F%C3%A9");
    }

    #[test]
    fn values_are_told_leaf_by_leaf() {
        let value = json!({ "order": { "id": "LF-1", "lines": [1, 2] }, "note": null, "tags": [] });
        let told = facts(&minijinja::Value::from(minijinja::value::Serde(&value))).unwrap();
        let rows = told.get_attr("rows").unwrap();
        let names: Vec<String> =
            rows.try_iter().unwrap().map(|row| row.get_attr("name").unwrap().to_string()).collect();
        assert_eq!(names, ["note", "order.id", "order.lines.0", "order.lines.1", "tags"]);
    }

    #[test]
    fn what_differs_is_told_place_by_place() {
        let was = json!({
            "args": { "properties": { "id": { "type": "integer" } }, "required": ["id"] },
            "description": "Change one.", "steps": [{ "sql": "select 1" }], "title": null,
        });
        let is = json!({
            "args": { "properties": { "id": { "type": "integer" }, "filter": { "type": "string" } },
                "required": ["id", "filter"] },
            "description": "Change\u{202e} many.", "steps": [{ "sql": "select 2" }], "title": {},
        });
        let value = |json| minijinja::Value::from(minijinja::value::Serde(json));
        let told = changes(&value(&was), &value(&is)).unwrap();
        let row = |row: minijinja::Value| {
            ["place", "before", "after"].map(|name| row.get_attr(name).unwrap().to_string())
        };
        let rows = told.get_attr("rows").unwrap();
        let told: Vec<[String; 3]> = rows.try_iter().unwrap().map(row).collect();
        let expected = [
            ["args.properties.filter.type", "None", "string"],
            ["args.required", r#"["id"]"#, r#"["id","filter"]"#],
            ["description", "Change one.", "Change⟦U+202E⟧ many."],
            ["steps.0.sql", "select 1", "select 2"],
            ["title", "null", "{}"],
        ];
        assert_eq!(told, expected);
        let nothing = changes(&value(&was), &value(&was)).unwrap();
        assert_eq!(nothing.get_attr("rows").unwrap().len(), Some(0));
    }
}
