//! A body that is a form: how its members are written, and under which names.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{
    entry::{Content, Entry, MediaType},
    names::{self, Names},
    percent::decoded,
    style::{Format, pairs_by_kind},
};

/// What is said of a value that is written as nothing where the API needs one.
pub(super) const NEEDED: &str = "at least one item or member: nothing is sent for an empty value, and \
                                 this one is required";

/// The longest name of a member, in bytes.
const LONGEST_NAME: usize = 1_000;

/// How the form of an operation is written.
#[derive(Debug, Clone)]
pub(super) struct Form {
    /// The argument that is the whole form; `None` where each member is an argument.
    argument: Option<String>,
    encoding: BTreeMap<String, Format>,
    described: Names,
    required: BTreeSet<String>,
}

impl Form {
    /// The form of an operation whose body is one.
    pub(super) fn of(entry: &Entry) -> Option<Self> {
        let body = entry.body.as_ref().filter(|body| body.media_type == MediaType::Form)?;
        let (argument, members) = match &body.content {
            Content::Members(names) => {
                let mut required = entry.required();
                if body.optional {
                    // A body that is sent has every member that it needs.
                    required.extend(dependent(&entry.args));
                }
                (None, Members { names: names.iter().map(String::as_str).collect(), required })
            }
            Content::Arg(name) => {
                let schema = entry.args.get("properties").and_then(|it| it.get(name));
                let mut members = Members::of(&entry.args, schema.unwrap_or(&Value::Null));
                members.names.extend(body.encoding.keys().map(String::as_str));
                (Some(name.clone()), members)
            }
        };
        Some(Self {
            argument,
            encoding: body.encoding.clone(),
            described: Names::of(members.names.iter().copied()),
            required: members.required.into_iter().map(str::to_owned).collect(),
        })
    }

    /// The members, `null` left out.
    pub(super) fn write(&self, value: &Value) -> Result<String, String> {
        let argument = self.argument.as_deref().unwrap_or_default();
        let Some(members) = value.as_object() else {
            return Err(format!("/{argument}: expected an object, since the body is a form"));
        };
        let mut pairs = Vec::new();
        for (name, value) in members.iter().filter(|(_, value)| !value.is_null()) {
            let written = self.member(name, value).map_err(|expected| match &self.argument {
                None => format!("/{name}: expected {expected}"),
                Some(argument) => format!("/{argument}/{name}: expected {expected}"),
            });
            pairs.extend(written?);
        }
        Ok(pairs.join("&"))
    }

    /// The pairs of one member; on failure, what was expected.
    fn member(&self, name: &str, value: &Value) -> Result<Vec<String>, String> {
        if names::is_override(name) {
            return Err("no member that changes the method".to_owned());
        }
        if name.len() > LONGEST_NAME {
            return Err(format!("a name of at most {LONGEST_NAME} bytes"));
        }
        if let Some(other) = self.described.read_as(name) {
            return Err(format!("no member that servers may read as `{other}` or a part of it"));
        }
        let pairs = match self.encoding.get(name) {
            Some(format) => format.pairs(name, value)?,
            None => pairs_by_kind(name, value)?,
        };
        if pairs.is_empty() && self.required.contains(name) {
            return Err(NEEDED.to_owned());
        }
        self.described.no_other(pairs, name)
    }
}

/// The members that others require.
fn dependent(args: &Value) -> impl Iterator<Item = &str> {
    let others = args.get("dependentRequired").and_then(Value::as_object);
    let others = others.into_iter().flat_map(|others| others.values());
    others.filter_map(Value::as_array).flatten().filter_map(Value::as_str)
}

/// What is described of the members of an object.
struct Members<'a> {
    names: BTreeSet<&'a str>,
    required: BTreeSet<&'a str>,
}

impl<'a> Members<'a> {
    /// Those in the schema and in all that applies to the same object.
    fn of(root: &'a Value, schema: &'a Value) -> Self {
        let mut members = Self { names: BTreeSet::new(), required: BTreeSet::new() };
        let mut followed = BTreeSet::new();
        // Each with whether it applies to every object: what only some require, a call may leave out.
        let mut waiting = vec![(schema, true)];
        while let Some((schema, is_always)) = waiting.pop() {
            let Some(words) = schema.as_object() else { continue };
            for (word, value) in words {
                let (parts, is_always): (Vec<&Value>, bool) = match (word.as_str(), value) {
                    ("properties", Value::Object(properties)) => {
                        members.names.extend(properties.keys().map(String::as_str));
                        continue;
                    }
                    ("required", Value::Array(required)) if is_always => {
                        members.required.extend(required.iter().filter_map(Value::as_str));
                        continue;
                    }
                    ("$ref", Value::String(reference)) => {
                        let is_new = followed.insert((reference, is_always));
                        let target = target(root, reference).filter(|_| is_new);
                        (target.into_iter().collect(), is_always)
                    }
                    ("allOf", Value::Array(parts)) => (parts.iter().collect(), is_always),
                    ("anyOf" | "oneOf", Value::Array(parts)) => (parts.iter().collect(), false),
                    ("if" | "then" | "else", part) => (vec![part], false),
                    ("dependentSchemas", Value::Object(parts)) => (parts.values().collect(), false),
                    _ => continue,
                };
                waiting.extend(parts.into_iter().map(|part| (part, is_always)));
            }
        }
        members
    }
}

fn target<'a>(root: &'a Value, reference: &str) -> Option<&'a Value> {
    root.pointer(&decoded(reference.strip_prefix('#')?))
}
