//! A body that is a form: how its members are written, and under which names.
//!
//! The names in a form say what is set, as the servers that read it understand them: `user[role]` is a
//! part of `user`. No member is written under a name that belongs to another, which has a schema of its
//! own.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{
    config::is_override,
    entry::{Content, Entry, MediaType, Place},
    percent::encode,
    style::{Format, pairs_by_kind},
};

/// What is said of a value that is written as nothing where the API needs one.
pub(super) const NEEDED: &str = "at least one item or member: nothing is sent for an empty value, and \
                                 this one is required";

/// How the form of an operation is written.
#[derive(Debug, Clone)]
pub(super) struct Form {
    /// The argument that is the whole form; `None` where each member is an argument.
    argument: Option<String>,
    encoding: BTreeMap<String, Format>,
    described: Names,
    /// The described names by their small letters.
    small: BTreeMap<String, String>,
    required: BTreeSet<String>,
}

impl Form {
    /// The form of an operation whose body is one.
    pub(super) fn of(entry: &Entry) -> Option<Self> {
        let body = entry.body.as_ref().filter(|body| body.media_type == MediaType::Form)?;
        let mut members = Members::default();
        let argument = match &body.content {
            Content::Members(names) => {
                members.names.extend(names.iter().map(String::as_str));
                members.required = entry.required();
                // An optional body that is sent has every member that it needs.
                let others = entry.args.get("dependentRequired").and_then(Value::as_object);
                let others = others.into_iter().flat_map(|others| others.values());
                let others = others.filter_map(Value::as_array).flatten();
                members.required.extend(others.filter_map(Value::as_str));
                None
            }
            Content::Arg(name) => {
                let schema = entry.args.get("properties").and_then(|it| it.get(name));
                members.gather(&entry.args, schema.unwrap_or(&Value::Null));
                members.names.extend(body.encoding.keys().map(String::as_str));
                Some(name.clone())
            }
        };
        Some(Self {
            argument,
            encoding: body.encoding.clone(),
            described: Names::of(members.names.iter().copied()),
            small: members.names.iter().map(|it| (it.to_lowercase(), (*it).to_owned())).collect(),
            required: members.required.into_iter().map(str::to_owned).collect(),
        })
    }

    /// The members, `null` left out.
    pub(super) fn write(&self, value: &Value) -> Result<String, String> {
        let argument = self.argument.as_deref().unwrap_or_default();
        let Some(members) = value.as_object() else {
            return Err(format!("/{argument}: expected an object, since the body is a form"));
        };
        let present = Names::of(members.keys().map(String::as_str));
        let mut pairs = Vec::new();
        for (name, value) in members.iter().filter(|(_, value)| !value.is_null()) {
            let written = self.member(name, value);
            let written = written.and_then(|it| self.described.no_other(it, name));
            let written = written.and_then(|it| present.no_other(it, name));
            let written = written.map_err(|expected| match &self.argument {
                None => format!("/{name}: expected {expected}"),
                Some(argument) => format!("/{argument}/{name}: expected {expected}"),
            });
            pairs.extend(written?);
        }
        Ok(pairs.join("&"))
    }

    /// The pairs of one member; on failure, what was expected.
    fn member(&self, name: &str, value: &Value) -> Result<Vec<String>, String> {
        if is_override(Place::Query, name) {
            return Err("no member that changes the method".to_owned());
        }
        if let Some(other) = self.read_as(name) {
            return Err(format!("no member that servers may read as `{other}` or a part of it"));
        }
        let pairs = match self.encoding.get(name) {
            Some(format) => format.pairs(name, value)?,
            None => pairs_by_kind(name, value)?,
        };
        if pairs.is_empty() && self.required.contains(name) {
            return Err(NEEDED.to_owned());
        }
        Ok(pairs)
    }

    /// The described member that servers may take a member of another name for: they look past blanks
    /// and brackets before it, read `[` and `.` as the start of a part, and some ignore the case.
    fn read_as(&self, name: &str) -> Option<&str> {
        if self.described.has(name) {
            return None;
        }
        let plain = name.trim_start_matches(|it: char| it == '[' || it.is_whitespace());
        let outer = plain.split(['[', ']', '.']).next().unwrap_or_default();
        self.small.get(&outer.to_lowercase()).map(String::as_str)
    }
}

/// What is described of the members of an open form.
#[derive(Default)]
struct Members<'a> {
    names: BTreeSet<&'a str>,
    required: BTreeSet<&'a str>,
    /// The references that were followed.
    followed: BTreeSet<&'a str>,
}

impl<'a> Members<'a> {
    fn gather(&mut self, root: &'a Value, schema: &'a Value) {
        let list = |word: &str| schema.get(word).and_then(Value::as_array).into_iter().flatten();
        let properties = schema.get("properties").and_then(Value::as_object);
        self.names.extend(properties.into_iter().flatten().map(|(name, _)| name.as_str()));
        self.required.extend(list("required").filter_map(Value::as_str));
        let reference = schema.get("$ref").and_then(Value::as_str);
        let reference = reference.filter(|reference| self.followed.insert(reference));
        if let Some(target) = reference.and_then(|it| root.pointer(it.strip_prefix('#')?)) {
            self.gather(root, target);
        }
        for part in list("allOf") {
            self.gather(root, part);
        }
        // What one of several choices requires, a call may leave out.
        let required = self.required.clone();
        for choice in list("anyOf").chain(list("oneOf")) {
            self.gather(root, choice);
        }
        self.required = required;
    }
}

/// Names of a query or of a form, by the way they are written there.
#[derive(Debug, Clone)]
pub(super) struct Names(BTreeMap<String, String>);

impl Names {
    pub(super) fn of<'a>(names: impl Iterator<Item = &'a str>) -> Self {
        Self(names.map(|name| (written(name), name.to_owned())).collect())
    }

    fn has(&self, name: &str) -> bool {
        self.0.contains_key(&written(name))
    }

    /// The pairs of `own`, none of which has the name of another parameter or member: `filter[role]` of
    /// the object `filter` would be read as the parameter of that name, which has a schema of its own.
    pub(super) fn no_other(&self, pairs: Vec<String>, own: &str) -> Result<Vec<String>, String> {
        let mut names = pairs.iter().filter_map(|pair| self.0.get(pair.split_once('=')?.0));
        match names.find(|name| *name != own) {
            None => Ok(pairs),
            Some(other) => {
                Err(format!("no member that is written as `{other}`, which is another argument"))
            }
        }
    }
}

fn written(name: &str) -> String {
    let mut written = String::new();
    encode(name, &mut written);
    written
}
