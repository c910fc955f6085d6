//! The body of an operation as arguments.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::{
    excerpt,
    operation::Gathering,
    parameters::{OVERRIDE, fits, format},
};
use crate::rest::{
    config::is_override,
    entry::{Body, Content, MediaType, Method, Place},
    style::{Format, Style},
};

/// The argument of a body that is not spread over the arguments.
const BODY: &str = "body";

/// Members of an object's schema that can be spread over the arguments: anything else says more of
/// the object than which members it has.
const SPREAD: [&str; 9] = [
    "type",
    "properties",
    "required",
    "additionalProperties",
    "description",
    "title",
    "example",
    "examples",
    "externalDocs",
];

/// The longest name of a member that is an argument, in bytes, as in a tool list.
const MAX_NAME: usize = 200;
/// The most members of a body that are arguments, and of a form that have an encoding, as in a tool list.
const MOST_MEMBERS: usize = 200;
const MOST_ENCODINGS: usize = 200;
/// The most media types that a reason lists.
const MOST_KINDS: usize = 5;

/// How the members of a form are written.
#[derive(Debug, Default)]
struct Encoded {
    formats: BTreeMap<String, Format>,
    /// Those that no call can send, each with its reason.
    unsent: BTreeMap<String, String>,
    /// The members of members that no call can send.
    nested: BTreeMap<String, BTreeSet<String>>,
}

/// Gathers the arguments of the body; `None` where a call has no body.
pub(super) fn gather(
    gathering: &mut Gathering<'_>,
    body: &Value,
    method: Method,
) -> Result<Option<Body>, String> {
    let description = gathering.description;
    let body = description.resolve(body)?;
    let is_required = body.get("required") == Some(&Value::Bool(true));
    let content = body.get("content").and_then(Value::as_object);
    let content = content.ok_or("nothing is said of its body")?;
    let any = Value::Bool(true);
    if !method.may_have_body() {
        let reason = "a body with a method that has none";
        if is_required {
            return Err(format!("it sends {reason}"));
        }
        let schema = served(content).and_then(|(_, media)| media.get("schema"));
        if !schema.is_some_and(has_no_members) {
            gathering.leave_out("its body", reason.to_owned());
        }
        return Ok(None);
    }
    let Some((media_type, media)) = served(content) else {
        let kinds = content.keys().take(MOST_KINDS).map(|kind| format!("`{}`", excerpt(kind)));
        let kinds = kinds.collect::<Vec<_>>().join(" or ");
        return Err(format!("its body is {kinds}, and neither JSON nor a form"));
    };
    let schema = gathering.schemas.followed(media.get("schema").unwrap_or(&any))?;
    if !is_required && has_no_members(schema) {
        return Ok(None);
    }
    let encoded = match media_type {
        MediaType::Form => encoded(gathering, schema, media)?,
        MediaType::Json | MediaType::MergePatch | MediaType::JsonPatch => Encoded::default(),
    };
    let content = if media_type != MediaType::JsonPatch && is_spread(gathering, schema) {
        let content = members(gathering, schema, (is_required, media_type, &encoded))?;
        let Some(content) = content else { return Ok(None) };
        content
    } else if let Some((name, reason)) = encoded.unsent.iter().next() {
        return Err(format!("its body's `{name}`: {reason}"));
    } else {
        whole(gathering, media.get("schema").unwrap_or(&any), (is_required, &encoded))?
    };
    let encoding = encoded.formats;
    Ok(Some(Body { content, media_type, encoding, optional: !is_required }))
}

/// The media type that calls send, of those that are offered: JSON before the others.
pub(super) fn served(content: &Map<String, Value>) -> Option<(MediaType, &Value)> {
    let known =
        content.iter().filter_map(|(name, media)| Some((MediaType::of(name)?, name, media)));
    // The most specific name counts where several are the same type.
    let best = known.min_by_key(|(media_type, name, _)| (*media_type, name.contains('*')));
    best.map(|(media_type, _, media)| (media_type, media))
}

/// Whether the schema is an object for which no member is declared or permitted by name.
fn has_no_members(schema: &Value) -> bool {
    let is_empty = schema.get("properties").and_then(Value::as_object).is_some_and(Map::is_empty);
    is_empty && is_plain(schema)
}

/// Whether a schema says of an object which members it has, and nothing more.
fn is_plain(schema: &Value) -> bool {
    let Some(members) = schema.as_object() else { return false };
    let is_known = members.keys().all(|key| SPREAD.contains(&&**key) || key.starts_with("x-"));
    let is_open = matches!(members.get("additionalProperties"), Some(it) if *it != json!(false));
    is_known && !is_open && members.get("type") == Some(&json!("object"))
}

/// Whether a body is an object and nothing more, and none of its members has the name of a parameter.
fn is_spread(gathering: &Gathering<'_>, schema: &Value) -> bool {
    let properties = schema.get("properties").and_then(Value::as_object);
    let Some(properties) = properties.filter(|it| !it.is_empty()) else { return false };
    let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
    let mut required = required.filter_map(Value::as_str);
    let is_free = |name: &String| {
        (1..=MAX_NAME).contains(&name.len()) && !gathering.properties.contains_key(name)
    };
    is_plain(schema)
        && properties.len() <= MOST_MEMBERS
        && properties.keys().all(is_free)
        && required.all(|name| properties.contains_key(name))
}

/// Spreads the members of the body over the arguments; `None` where a call without a body is one and
/// no member is left.
fn members(
    gathering: &mut Gathering<'_>,
    schema: &Value,
    (is_required, media_type, encoded): (bool, MediaType, &Encoded),
) -> Result<Option<Content>, String> {
    let converted = gathering.schemas.convert(schema)?;
    let kept = converted.get("properties").and_then(Value::as_object);
    // A member that only responses have is `false`.
    let kept = kept.into_iter().flatten().filter(|(_, member)| **member != Value::Bool(false));
    let kept_names: BTreeSet<&str> = kept.clone().map(|(name, _)| name.as_str()).collect();
    let required = converted.get("required").and_then(Value::as_array);
    let is_sent = |name: &&str| kept_names.contains(name);
    let required = required.into_iter().flatten().filter_map(Value::as_str);
    let required: Vec<&str> = required.filter(is_sent).collect();
    let mut names = Vec::new();
    for (name, member) in kept {
        if media_type == MediaType::Form && is_override(Place::Query, name) {
            if required.contains(&name.as_str()) {
                return Err(format!("its body's `{name}`: {OVERRIDE}"));
            }
            gathering.leave_out(&format!("`{name}` of its body"), OVERRIDE.to_owned());
            continue;
        }
        let is_needed = required.contains(&name.as_str());
        match encoded.unsent.get(name) {
            None => {
                let mut member = member.clone();
                encoded.narrow(gathering, name, &mut member)?;
                gathering.add(name.clone(), member, is_needed && is_required);
                names.push(name.clone());
            }
            Some(reason) if is_needed => {
                return Err(format!("its body's `{name}`: {reason}"));
            }
            Some(reason) => gathering.leave_out(&format!("`{name}` of its body"), reason.clone()),
        }
    }
    if !is_required && !required.is_empty() {
        // The body may be left out; one that is sent has every member that it needs.
        let needed = |name: &String| {
            let others: Vec<_> = required.iter().filter(|other| *other != name).collect();
            (name.clone(), json!(others))
        };
        gathering.dependent.extend(names.iter().map(needed));
    }
    if names.is_empty() && is_required {
        return Err("its body has no member that a call can send".to_owned());
    }
    Ok((!names.is_empty()).then_some(Content::Members(names)))
}

/// Makes the body one argument.
fn whole(
    gathering: &mut Gathering<'_>,
    schema: &Value,
    (is_required, encoded): (bool, &Encoded),
) -> Result<Content, String> {
    if gathering.properties.contains_key(BODY) {
        return Err("its body and a parameter have one name".to_owned());
    }
    let mut converted = gathering.schemas.convert(schema)?;
    // In a closed object a member that was left out is refused, and would not be with a schema of its own.
    let is_closed = ["additionalProperties", "unevaluatedProperties"];
    let is_closed = is_closed.into_iter().any(|word| converted.get(word).is_some());
    for name in encoded.nested.keys() {
        let Some(members) = converted.as_object_mut() else { break };
        let properties = members.entry("properties").or_insert_with(|| json!({}));
        let Some(properties) = properties.as_object_mut() else { break };
        if !is_closed {
            properties.entry(name).or_insert_with(|| json!({}));
        }
        if let Some(member) = properties.get_mut(name).filter(|member| member.is_object()) {
            encoded.narrow(gathering, name, member)?;
        }
    }
    gathering.add(BODY.to_owned(), converted, is_required);
    Ok(Content::Arg(BODY.to_owned()))
}

/// How the members of a form are written: as their encoding says, or by their kind where it is silent
/// (OpenAPI 3.1.1, 4.8.15).
fn encoded(gathering: &Gathering<'_>, schema: &Value, media: &Value) -> Result<Encoded, String> {
    let description = gathering.description;
    let any = Value::Bool(true);
    let mut encoded = Encoded::default();
    let encodings = media.get("encoding").and_then(Value::as_object).into_iter().flatten();
    let properties = schema.get("properties").and_then(Value::as_object);
    // A composed schema may have members that are not among its own properties.
    let is_whole = is_plain(schema);
    let is_member =
        |name: &str| !is_whole || properties.is_none_or(|properties| properties.contains_key(name));
    let encodings: Vec<_> = encodings.filter(|(name, _)| is_member(name)).collect();
    if encodings.len() > MOST_ENCODINGS {
        return Err(format!("its body has more than {MOST_ENCODINGS} encodings"));
    }
    for (name, encoding) in encodings {
        let member = properties.and_then(|it| it.get(name)).unwrap_or(&any);
        let fitting = written(encoding).and_then(|format| {
            let Some(format) = format else { return Ok(None) };
            fits(format, Place::Query, (description, member)).map(|nested| Some((format, nested)))
        });
        match fitting {
            Ok(None) => {}
            Ok(Some((format, nested))) => {
                encoded.formats.insert(name.clone(), format.canonical(Place::Query));
                if !nested.is_empty() {
                    encoded.nested.insert(name.clone(), nested);
                }
            }
            Err(reason) => {
                encoded.unsent.insert(name.clone(), reason);
            }
        }
    }
    Ok(encoded)
}

impl Encoded {
    /// Narrows the schema of a member to what its encoding writes.
    fn narrow(
        &self,
        gathering: &mut Gathering<'_>,
        name: &str,
        schema: &mut Value,
    ) -> Result<(), String> {
        match (self.nested.get(name), self.formats.get(name)) {
            (Some(nested), Some(format)) => {
                gathering.narrow(schema, &format!("body's `{name}`"), (nested, *format))
            }
            _ => Ok(()),
        }
    }
}

/// The format that an encoding declares; `None` where the kind of the value decides.
fn written(encoding: &Value) -> Result<Option<Format>, String> {
    let word = |key: &str| encoding.get(key);
    if word("allowReserved") == Some(&Value::Bool(true)) {
        return Err("`allowReserved`, with which a value could add other members".to_owned());
    }
    if ["style", "explode", "allowReserved"].iter().any(|key| word(key).is_some()) {
        let style = word("style").and_then(Value::as_str).unwrap_or("form");
        return format(style, word("explode").and_then(Value::as_bool)).map(Some);
    }
    let kind = word("contentType").and_then(Value::as_str);
    match kind.map(|kind| kind.split(';').next().unwrap_or_default().trim()) {
        None | Some("text/plain") => Ok(None),
        Some(kind) if kind.contains('*') => Ok(None),
        Some(kind) if MediaType::of(kind) == Some(MediaType::Json) => {
            Ok(Some(Format { style: Style::Json, explode: None }))
        }
        Some(kind) => Err(format!("the encoding `{}`", excerpt(kind))),
    }
}
