//! One operation of a description: its parameters and its body as one schema of arguments, each with
//! its place in the request.

use std::collections::BTreeSet;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{
    LeftOut, Operation,
    document::{Description, Place},
    schema::{Detail, Schemas},
};
use crate::{
    ArgsSchema,
    rest::{
        config::free_header,
        entry::{self, Body, Called, Method, Parameter, Said, Style},
        request::path_arguments,
    },
};

/// The longest title and the longest description that a tool has.
const MAX_TITLE: usize = 200;
const MAX_DESCRIPTION: usize = 4_000;
/// The most parameters of one operation.
const MOST_PARAMETERS: usize = 500;
/// The longest name below the connector's.
const MAX_NAME: usize = 64;
/// Where a body stands that cannot be spread over the arguments.
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

/// The operation, or why it cannot be served.
pub(super) fn read(
    description: &Description,
    place: &Place,
    (item, operation): (&Value, &Value),
) -> Result<Operation, String> {
    let own =
        |it: &Value| it.get("servers").and_then(Value::as_array).is_some_and(|it| !it.is_empty());
    if own(item) || own(operation) {
        return Err("it is served at an address of its own".to_owned());
    }
    let method = Method::deserialize(Value::from(place.method.to_uppercase()));
    let method = method.map_err(|error| error.to_string())?;
    let full = arguments(description, place, (item, operation, method), Detail::Full)?;
    let asked = if full.schema.to_string().len() > ArgsSchema::MAX_BYTES {
        arguments(description, place, (item, operation, method), Detail::Bare)?
    } else {
        full
    };
    let called = Called {
        method,
        path: place.path.clone(),
        args: asked.schema,
        parameters: asked.parameters,
        body: asked.body,
    };
    let Arguments { without, parts, .. } = asked;
    Ok(Operation { key: place.key(), called, said: said(place, operation), without, parts })
}

/// What the description says of the operation.
fn said(place: &Place, operation: &Value) -> Said {
    let text = |key: &str| operation.get(key).and_then(Value::as_str).filter(|it| !it.is_empty());
    let plain = |it: char| if it.is_ascii_alphanumeric() || "._/-".contains(it) { it } else { '_' };
    let id = text("operationId");
    let name = id.map(|id| id.chars().map(plain).take(MAX_NAME).collect::<String>());
    let key = place.key();
    let title = text("summary").or(id).unwrap_or(&key);
    let told = text("description").or(text("summary")).unwrap_or(title);
    Said {
        name,
        title: Some(title.chars().take(MAX_TITLE).collect()),
        description: Some(told.chars().take(MAX_DESCRIPTION).collect()),
        ..Said::default()
    }
}

/// The arguments of an operation and where each goes.
struct Arguments {
    schema: Value,
    parameters: Vec<Parameter>,
    body: Option<Body>,
    without: Vec<LeftOut>,
    /// How many parts the schema has.
    parts: usize,
}

/// Gathers the arguments.
struct Gathering<'a> {
    description: &'a Description,
    schemas: Schemas<'a>,
    key: String,
    properties: Map<String, Value>,
    required: BTreeSet<String>,
    parameters: Vec<Parameter>,
    body: Option<Body>,
    without: Vec<LeftOut>,
}

fn arguments(
    description: &Description,
    place: &Place,
    (item, operation, method): (&Value, &Value, Method),
    detail: Detail,
) -> Result<Arguments, String> {
    let mut gathering = Gathering {
        description,
        schemas: Schemas::of(description, detail),
        key: place.key(),
        properties: Map::new(),
        required: BTreeSet::new(),
        parameters: Vec::new(),
        body: None,
        without: Vec::new(),
    };
    let listed = listed(description, item, operation)?;
    // The names of the path are fixed, so they are taken first.
    for kind in ["path", "query", "header", "cookie"] {
        for (_, parameter) in listed.iter().filter(|((place, _), _)| place == kind) {
            gathering.parameter(kind, parameter)?;
        }
    }
    let in_path = path_arguments(&place.path).ok_or("its path has braces that do not fit")?;
    if let Some(name) = in_path.iter().find(|name| !gathering.properties.contains_key(*name)) {
        return Err(format!("its path has `{{{name}}}`, of which nothing is said"));
    }
    if let Some(body) = operation.get("requestBody") {
        gathering.body(body, method)?;
    }
    let mut schema = json!({
        "type": "object",
        "additionalProperties": false,
        "properties": gathering.properties,
    });
    let (definitions, parts) = gathering.schemas.definitions()?;
    if let Some(members) = schema.as_object_mut() {
        if !gathering.required.is_empty() {
            members.insert("required".to_owned(), json!(gathering.required));
        }
        if !definitions.is_empty() {
            members.insert("$defs".to_owned(), Value::Object(definitions));
        }
    }
    let Gathering { parameters, body, without, .. } = gathering;
    Ok(Arguments { schema, parameters, body, without, parts })
}

/// A parameter with its place and name.
type Listed<'a> = ((String, String), &'a Value);

/// The parameters by place and name; those of the operation in place of those of the path.
fn listed<'a>(
    description: &'a Description,
    item: &'a Value,
    operation: &'a Value,
) -> Result<Vec<Listed<'a>>, String> {
    let mut listed: Vec<Listed<'a>> = Vec::new();
    for holder in [item, operation] {
        let parameters = holder.get("parameters").and_then(Value::as_array);
        for parameter in parameters.into_iter().flatten() {
            let parameter = description.resolve(parameter)?;
            let text = |key: &str| parameter.get(key).and_then(Value::as_str);
            let (Some(place), Some(name)) = (text("in"), text("name")) else {
                return Err("a parameter has no `in` or no `name`".to_owned());
            };
            let key = (place.to_owned(), name.to_owned());
            listed.retain(|(other, _)| *other != key);
            if listed.len() >= MOST_PARAMETERS {
                return Err(format!("it has more than {MOST_PARAMETERS} parameters"));
            }
            listed.push((key, parameter));
        }
    }
    Ok(listed)
}

impl Gathering<'_> {
    fn parameter(&mut self, place: &str, parameter: &Value) -> Result<(), String> {
        let name = parameter.get("name").and_then(Value::as_str).unwrap_or_default();
        let is_required = parameter.get("required") == Some(&Value::Bool(true)) || place == "path";
        match self.placed(place, name, parameter) {
            Ok(None) => Ok(()),
            Ok(Some((arg, schema))) => {
                if is_required {
                    self.required.insert(arg.clone());
                }
                self.properties.insert(arg, schema);
                Ok(())
            }
            Err(reason) if is_required => Err(format!("its parameter `{name}`: {reason}")),
            Err(reason) => {
                let operation = format!("{}, parameter `{name}`", self.key);
                self.without.push(LeftOut { operation, reason });
                Ok(())
            }
        }
    }

    /// The argument of a parameter and its schema; nothing for one that the connector itself sends.
    fn placed(
        &mut self,
        place: &str,
        name: &str,
        parameter: &Value,
    ) -> Result<Option<(String, Value)>, String> {
        let (schema, style) = style(self.description, place, parameter)?;
        let arg = self.free(place, name)?;
        let place = match place {
            "path" => {
                if !is_one_value(self.description.resolve(schema)?) {
                    return Err("a list or an object in a path".to_owned());
                }
                None
            }
            "query" => Some(entry::Place::Query),
            "header" if free_header(name).is_none() => return Ok(None),
            "header" => Some(entry::Place::Header),
            _ => return Err("a cookie".to_owned()),
        };
        let mut converted = self.schemas.convert(schema)?;
        if let (Some(members), Some(told)) =
            (converted.as_object_mut(), parameter.get("description").and_then(Value::as_str))
            && !members.contains_key("description")
        {
            let told: String = told.chars().take(500).collect();
            members.insert("description".to_owned(), told.into());
        }
        let parameter =
            place.map(|place| Parameter { place, name: name.to_owned(), arg: arg.clone(), style });
        self.parameters.extend(parameter);
        Ok(Some((arg, converted)))
    }

    /// The name of the argument: that of the parameter, or with its place before it where that is
    /// taken.
    fn free(&self, place: &str, name: &str) -> Result<String, String> {
        let other = format!("{place}_{name}");
        let free = [name.to_owned(), other];
        let free = free.into_iter().find(|name| !self.properties.contains_key(name));
        free.ok_or_else(|| "another parameter has its name".to_owned())
    }

    fn body(&mut self, body: &Value, method: Method) -> Result<(), String> {
        let body = self.description.resolve(body)?;
        let is_required = body.get("required") == Some(&Value::Bool(true));
        if !method.may_have_body() {
            return if is_required {
                Err("it sends a body with a method that has none".to_owned())
            } else {
                Ok(())
            };
        }
        let content = body.get("content").and_then(Value::as_object);
        let content = content.ok_or("nothing is said of its body")?;
        let json = content.iter().find(|(kind, _)| is_json(kind));
        let Some((_, json)) = json else {
            let kinds: Vec<_> = content.keys().map(|kind| format!("`{kind}`")).collect();
            return Err(format!("its body is {}, and not JSON", kinds.join(" or ")));
        };
        let any = Value::Bool(true);
        let schema = json.get("schema").unwrap_or(&any);
        let resolved = self.description.resolve(schema)?;
        if self.is_spread(resolved) {
            return self.members(resolved, is_required);
        }
        if self.properties.contains_key(BODY) {
            return Err("its body and a parameter have one name".to_owned());
        }
        let converted = self.schemas.convert(schema)?;
        self.properties.insert(BODY.to_owned(), converted);
        if is_required {
            self.required.insert(BODY.to_owned());
        }
        self.body = Some(Body::Arg(BODY.to_owned()));
        Ok(())
    }

    /// Whether a body is an object and nothing more, and none of its members has the name of a
    /// parameter.
    fn is_spread(&self, schema: &Value) -> bool {
        let Some(members) = schema.as_object() else { return false };
        let is_plain = members.keys().all(|key| SPREAD.contains(&&**key) || key.starts_with("x-"));
        let is_open =
            matches!(members.get("additionalProperties"), Some(it) if *it != json!(false));
        let properties = members.get("properties").and_then(Value::as_object);
        let Some(properties) = properties.filter(|it| !it.is_empty()) else { return false };
        let is_object = members.get("type") == Some(&json!("object"));
        let is_free = properties.keys().all(|name| !self.properties.contains_key(name));
        is_plain && !is_open && is_object && is_free
    }

    /// Spreads the body's members over the arguments.
    fn members(&mut self, schema: &Value, is_required: bool) -> Result<(), String> {
        let converted = self.schemas.convert(schema)?;
        let kept = converted.get("properties").and_then(Value::as_object);
        let required = converted.get("required").and_then(Value::as_array);
        let names: Vec<String> = kept.into_iter().flatten().map(|(name, _)| name.clone()).collect();
        for name in required.into_iter().flatten().filter_map(Value::as_str) {
            if is_required && names.iter().any(|kept| kept == name) {
                self.required.insert(name.to_owned());
            }
        }
        for (name, member) in kept.into_iter().flatten() {
            self.properties.insert(name.clone(), member.clone());
        }
        self.body = Some(Body::Members(names));
        Ok(())
    }
}

/// The schema of a parameter, and how its lists and objects are written.
fn style<'a>(
    description: &Description,
    place: &str,
    parameter: &'a Value,
) -> Result<(&'a Value, Style), String> {
    if let Some(content) = parameter.get("content") {
        let schema = content.get("application/json").and_then(|it| it.get("schema"));
        let schema = schema.ok_or("it is written as something other than JSON")?;
        return if place == "path" {
            Err("JSON in a path".to_owned())
        } else {
            Ok((schema, Style::Json))
        };
    }
    let schema = parameter.get("schema").ok_or("nothing is said of its values")?;
    let resolved = description.resolve(schema)?;
    let usual = if place == "query" { "form" } else { "simple" };
    let style = parameter.get("style").and_then(Value::as_str).unwrap_or(usual);
    let explode = parameter.get("explode").and_then(Value::as_bool).unwrap_or(style == "form");
    let is = |kind: &str| resolved.get("type").and_then(Value::as_str) == Some(kind);
    match (style, explode) {
        ("form" | "simple", _) if is("object") && place != "path" => {
            Err(format!("an object in the style `{style}`"))
        }
        ("form", true) => Ok((schema, Style::Form)),
        ("form", false) | ("simple", _) => Ok((schema, Style::Comma)),
        ("deepObject", _) if is("array") => {
            Err("a list in the style `deepObject`, which nobody has said how to write".to_owned())
        }
        ("deepObject", _) => Ok((schema, Style::DeepObject)),
        _ => Err(format!("the style `{style}`")),
    }
}

fn is_json(kind: &str) -> bool {
    kind.split(';').next().unwrap_or_default().trim() == "application/json"
}

fn is_one_value(schema: &Value) -> bool {
    let kind = schema.get("type").and_then(Value::as_str);
    kind != Some("array") && kind != Some("object")
}
