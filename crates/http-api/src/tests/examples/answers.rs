//! What is answered beside what the description shows.

use std::{collections::BTreeMap, env, fs, path::Path};

use minijinja::value::{Value as Ordered, ValueKind as Kind};
use serde_json::{Value, json};

use crate::description::Validator;

/// A longer text is cut in an example, which then ends with three dots.
const LONG: usize = 200;

/// The answers of the service, held against the examples or kept to be written.
pub(super) struct Answers<'a> {
    description: &'a Validator,
    kept: Option<BTreeMap<String, String>>,
}

impl<'a> Answers<'a> {
    #[expect(clippy::disallowed_methods, reason = "whoever records examples says so from outside")]
    pub(super) fn new(description: &'a Validator) -> Self {
        let writes = env::var_os("CHANCERY_WRITE_EXAMPLES").is_some();
        Self { description, kept: writes.then(BTreeMap::new) }
    }

    /// Holds the text of an answer against the example of this name.
    pub(super) fn hold(&mut self, name: &str, answer: String) {
        if let Some(kept) = &mut self.kept {
            kept.insert(name.to_owned(), answer);
            return;
        }
        let example = self.description.part(&format!("/components/examples/{name}/value"));
        let example = example.unwrap_or_else(|| panic!("there is no example `{name}`"));
        let answer = serde_json::from_str(&answer).unwrap_or(Value::String(answer));
        assert_same(example, &answer, name);
    }

    /// Writes what was kept.
    pub(super) fn end(self, file: &str) {
        let Some(kept) = self.kept else { return };
        let mut text = "# Written by the tests of `crates/http-api`, as the service answers.\n\
                        components:\n  examples:\n"
            .to_owned();
        for (name, answer) in kept {
            text.extend([format!("    {name}:\n      value:")]);
            write(&serde_json::from_str(&answer).unwrap_or(answer.into()), 8, &mut text);
        }
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("api/examples");
        fs::write(folder.join(format!("{file}.yaml")), text).unwrap();
    }
}

/// Writes a value as YAML, behind the colon or the dash that it belongs to, with the members in the
/// order of the answer.
fn write(value: &Ordered, indent: usize, text: &mut String) {
    let margin = " ".repeat(indent);
    let has_parts = |it: &Ordered| matches!(it.kind(), Kind::Map | Kind::Seq);
    let mut items = value.try_iter().into_iter().flatten().peekable();
    match value.kind() {
        Kind::Map if items.peek().is_some() => {
            text.push('\n');
            for name in items {
                text.extend([format!("{margin}{name}:")]);
                write(&value.get_item(&name).unwrap(), indent + 2, text);
            }
        }
        Kind::Seq if items.any(|item| has_parts(&item)) => {
            text.push('\n');
            for item in value.try_iter().unwrap() {
                text.extend([format!("{margin}-")]);
                write(&item, indent + 2, text);
            }
        }
        Kind::String if value.len() > Some(LONG) => {
            let start: String = value.as_str().unwrap().chars().take(LONG / 2).collect();
            text.extend([format!(" {}\n", json!(format!("{start}…")))]);
        }
        _ => text.extend([format!(" {}\n", serde_json::to_string(value).unwrap())]),
    }
}

/// Asserts that an answer has the members and the kinds of values that the example shows.
pub(super) fn assert_same(example: &Value, answer: &Value, at: &str) {
    match (example, answer) {
        (Value::Object(shown), Value::Object(given)) => {
            let names = |members: &serde_json::Map<String, Value>| {
                members.keys().cloned().collect::<Vec<_>>()
            };
            assert_eq!(names(shown), names(given), "{at}");
            for (name, value) in shown {
                assert_same(value, &given[name], &format!("{at}/{name}"));
            }
        }
        (Value::Array(shown), Value::Array(given)) => {
            assert_eq!(shown.len(), given.len(), "{at}");
            for (index, (shown, given)) in shown.iter().zip(given).enumerate() {
                assert_same(shown, given, &format!("{at}/{index}"));
            }
        }
        (Value::String(shown), Value::String(given)) if shown.ends_with('…') => {
            assert!(given.len() > LONG, "{at}: `{given}` is not cut");
        }
        (Value::String(shown), Value::String(given)) => {
            assert_eq!(kinds(shown), kinds(given), "{at}");
        }
        (shown, given) => assert_eq!(shown, given, "{at}"),
    }
}

/// The text with a mark for each id, time and digest.
fn kinds(text: &str) -> String {
    let (mut marked, mut word) = (String::new(), String::new());
    for letter in text.chars().chain(['\n']) {
        if letter.is_ascii_alphanumeric() || "_-+/=:.".contains(letter) {
            word.push(letter);
            continue;
        }
        let parts = word.split_inclusive(['/', '.', '=']);
        let known: String = parts.map(kind).collect();
        let is_random = known.len() >= 40 && known.contains(|it: char| it.is_ascii_digit());
        marked.push_str(match word.parse::<model::Timestamp>() {
            Ok(_) => "<time>",
            Err(_) if is_random => "<random>",
            Err(_) => &known,
        });
        marked.push(letter);
        word.clear();
    }
    marked
}

/// The kind of an id with what stands behind it, or the text.
fn kind(part: &str) -> String {
    let body = part.trim_end_matches(['/', '.', '=']);
    match body.split_once('_') {
        Some((prefix, rest)) if rest.len() == 26 && rest.starts_with(|it: char| it <= '7') => {
            format!("<{prefix}>{}", part.strip_prefix(body).unwrap_or_default())
        }
        _ => part.to_owned(),
    }
}
