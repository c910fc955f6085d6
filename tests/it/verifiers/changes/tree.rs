//! Changes of a JSON value: members that are missing, doubled, renamed, of another type, or that say
//! another thing which could stand there.

use serde_json::{Map, Value, json};

use super::super::{random::Random, root};

/// Values that are at an edge of something, or of the wrong type.
const EDGES: &[&str] = &[
    "null",
    "true",
    "false",
    "0",
    "1",
    "-1",
    "1.5",
    "4294967295",
    "4294967296",
    "9007199254740991",
    "9007199254740992",
    "\"\"",
    "\"a\"",
    "[]",
    "{}",
    "[null]",
    "\"\\u0001\"",
    "\"\\u0000\"",
    "\"0000-01-01T00:00:00.000Z\"",
    "\"9999-12-30T21:59:59.999Z\"",
    "\"9999-12-30T22:00:00.000Z\"",
    "\"9999-12-31T23:59:59.999Z\"",
    "\"2026-02-29T12:00:00.000Z\"",
    "\"2000-02-29T12:00:00.000Z\"",
    "\"1900-02-29T12:00:00.000Z\"",
    "\"2026-04-31T12:00:00.000Z\"",
    "\"2026-10-01T24:00:00.000Z\"",
    "\"2026-10-01T12:00:60.000Z\"",
    "\"2026-10-01T11:00:00.000Z\"",
    "\"2026-10-01T10:59:59.999Z\"",
    "\"2026-10-01T12:00:00.000z\"",
    "\"2026-10-01T12:00:00.0000Z\"",
    "\"2030-01-01T00:00:00.000Z\"",
    "{\"commit\":\"sha256:0000000000000000000000000000000000000000000000000000000000000000\",\"size\":1}",
    "[\"sha256:0000000000000000000000000000000000000000000000000000000000000000\",1]",
    "\"00000000-0000-0000-0000-000000000000\"",
    "\"usr_00000000000000000000000000\"",
    "\"mem_00000000000000000000000000\"",
    "\"0.0\"",
    "\"-0\"",
    "\"00\"",
    "\"1.\"",
    "\".1\"",
    "\"1e5\"",
    "\"FFFFFFFF/0\"",
    "\"ab/0\"",
    "\"a.b\"",
    "\"a.b.c\"",
    "\"shop.\"",
    "\"__proto__\"",
    "\"constructor\"",
];

/// A commitment, to be put where none stands.
const COMMITMENT: &str = r#"{"commit":"sha256:0000000000000000000000000000000000000000000000000000000000000000","size":1}"#;

/// The words that a deed may hold, in groups of which one stands at one place.
pub(super) struct Words(Vec<Vec<String>>);

impl Words {
    /// The words of the published shapes.
    pub(super) fn known() -> Self {
        let text = std::fs::read_to_string(root().join("docs/verifiers/shapes.json")).unwrap();
        let mut groups = Vec::new();
        collect(&text.parse().unwrap(), &mut groups);
        Self(groups)
    }

    /// A place in the value, as a JSON pointer.
    pub(super) fn place(value: &Value, random: &mut Random) -> String {
        let mut places = Vec::new();
        pointers(value, &mut String::new(), &mut places);
        random.pick(&places).clone()
    }

    /// Changes the value in one to three ways.
    pub(super) fn change(&self, value: &mut Value, random: &mut Random) {
        for _ in 0..=random.below(3) {
            let [place, other] = [(); 2].map(|()| Self::place(value, random));
            let other = value.pointer(&other).cloned().unwrap_or_default();
            if let Some(at) = value.pointer_mut(&place) {
                self.change_at(at, other, random);
            }
        }
    }

    /// Changes up to four things that the body says, in ways that keep its shape mostly.
    pub(super) fn reword(&self, body: &mut Value, random: &mut Random) {
        if let Some(Value::String(text)) =
            body.get_mut(*random.pick(&["org", "log", "id"])).filter(|_| random.chance(15))
        {
            text.pop();
            text.push(*random.pick(&['0', '7', 'a', 'z']));
            return;
        }
        for _ in 0..=random.below(4) {
            let place = (0..50).map(|_| Self::place(body, random)).find(|place| {
                let Some(value) = body.pointer(place) else { return false };
                value.as_str().is_some_and(|text| self.holds(text) || is_time(text))
                    || value.is_null()
                    || value.is_u64()
                    || value.get("commit").is_some()
            });
            let Some(at) = place.and_then(|place| body.pointer_mut(&place)) else { return };
            match at {
                Value::String(text) if is_time(text) => text.replace_range(18..19, "9"),
                Value::String(text) => *text = self.other_text(text, random),
                Value::Null => *at = COMMITMENT.parse().unwrap(),
                Value::Object(_) => *at = Value::Null,
                other => *other = json!(other.as_u64().unwrap_or(0) + random.below(2) as u64),
            }
        }
    }

    fn holds(&self, text: &str) -> bool {
        self.0.iter().any(|group| group.iter().any(|word| word == text))
    }

    fn change_at(&self, at: &mut Value, other: Value, random: &mut Random) {
        match random.below(12) {
            0 => *at = other,
            1 => *at = random.pick(EDGES).parse().unwrap(),
            2 => *at = Value::Null,
            3 if random.chance(30) => {
                for _ in 0..=random.below(40) {
                    *at = json!([at.take()]);
                }
            }
            _ => match at {
                Value::Null => *at = random.pick(EDGES).parse().unwrap(),
                Value::Bool(flag) => *flag = !*flag,
                Value::Number(number) => {
                    let near = number.as_i64().unwrap_or(0) + [-1, 1][random.below(2)];
                    *at = json!(near);
                }
                Value::String(text) => *text = self.other_text(text, random),
                Value::Array(items) => change_items(items, random),
                Value::Object(members) => {
                    if let Some(list) = change_members(members, random) {
                        *at = list;
                    }
                }
            },
        }
    }

    /// Returns another word that may stand in its place, or the text with a character changed.
    fn other_text(&self, text: &str, random: &mut Random) -> String {
        let groups: Vec<_> =
            self.0.iter().filter(|group| group.iter().any(|word| word == text)).collect();
        if !groups.is_empty() && random.chance(85) {
            let group = *random.pick(&groups);
            return random.pick(group).clone();
        }
        let mut characters: Vec<_> = text.chars().collect();
        let place = random.below(characters.len() + 1);
        let new = *random.pick(&[
            '0', '1', '7', '8', '9', 'a', 'i', 'z', 'A', 'F', '_', '-', '.', '/', ':', '[', '=',
            '+', ' ', '\n', '\u{7f}', '\u{e9}',
        ]);
        match (random.below(4), characters.get_mut(place)) {
            (0 | 1, Some(at)) => *at = new,
            (2, Some(_)) => drop(characters.remove(place)),
            _ => characters.insert(place, new),
        }
        characters.into_iter().collect()
    }
}

fn is_time(text: &str) -> bool {
    text.len() == 24 && text.ends_with('Z')
}

fn change_items(items: &mut Vec<Value>, random: &mut Random) {
    let place = random.below(items.len() + 1);
    match (random.below(4), items.get(place).cloned()) {
        (0, Some(item)) => items.push(item),
        (1, Some(_)) => drop(items.remove(place)),
        (2, Some(_)) => items.rotate_left(place),
        _ => items.insert(place, random.pick(EDGES).parse().unwrap()),
    }
}

/// Changes the members, or returns the list of their values.
fn change_members(members: &mut Map<String, Value>, random: &mut Random) -> Option<Value> {
    let names: Vec<_> = members.keys().cloned().collect();
    let Some(name) = (!names.is_empty()).then(|| random.pick(&names).clone()) else {
        members.insert("more".to_owned(), json!(1));
        return None;
    };
    match random.below(6) {
        0 => drop(members.remove(&name)),
        1 => {
            let value = members.remove(&name)?;
            let tail = *random.pick(&["_", "x", "\u{e9}", "A", "\\"]);
            members.insert(name + tail, value);
        }
        2 => drop(members.insert(
            (*random.pick(&["more", "__proto__", "toString", "object", ""])).to_owned(),
            json!(1),
        )),
        3 => return Some(members.values().cloned().collect()),
        _ => {
            let value = members[random.pick(&names)].clone();
            members.insert(name, value);
        }
    }
    None
}

fn collect(shape: &Value, groups: &mut Vec<Vec<String>>) {
    match shape {
        Value::String(text) => {
            let words: Vec<_> = text.split('|').map(str::to_owned).collect();
            let plain = |word: &String| {
                word.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
            };
            if words.len() > 1 && words.iter().all(plain) {
                groups.push(words);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, groups)),
        Value::Object(members) => members.values().for_each(|item| collect(item, groups)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Every place in the value, as JSON pointers.
fn pointers(value: &Value, here: &mut String, places: &mut Vec<String>) {
    places.push(here.clone());
    let inner: Vec<(String, &Value)> = match value {
        Value::Array(items) => {
            items.iter().enumerate().map(|(n, item)| (n.to_string(), item)).collect()
        }
        Value::Object(members) => members
            .iter()
            .map(|(name, item)| (name.replace('~', "~0").replace('/', "~1"), item))
            .collect(),
        _ => Vec::new(),
    };
    for (name, item) in inner {
        let length = here.len();
        here.push('/');
        here.push_str(&name);
        pointers(item, here, places);
        here.truncate(length);
    }
}
