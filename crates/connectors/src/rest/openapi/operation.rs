//! One operation of a description: its parameters and its body as one schema of arguments, each with
//! its place in the request.

use std::collections::BTreeSet;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{
    LeftOut, Operation, body,
    document::{Description, Place},
    excerpt,
    flat::narrow,
    parameters::{self, within},
    schema::{Detail, Schemas},
};
use crate::{
    ArgsSchema,
    rest::{
        entry::{Body, Called, Method, Parameter, Said},
        request::path_arguments,
        style::Format,
    },
};

/// The longest title and the longest description that a tool has.
const MAX_TITLE: usize = 200;
const MAX_DESCRIPTION: usize = 4_000;
/// How many of the members of an argument that are left out are named.
const MOST_NAMED: usize = 5;

/// The operation, or why it cannot be served.
pub(super) fn read(
    description: &Description,
    place: &Place,
    (item, operation): (&Value, &Value),
) -> Result<Operation, String> {
    if description.is_elsewhere(item) || description.is_elsewhere(operation) {
        return Err("it is served at an address of its own".to_owned());
    }
    let method = Method::deserialize(Value::from(place.method.to_uppercase()));
    let method = method.map_err(|error| error.to_string())?;
    let with = |detail| arguments(description, place, (item, operation, method), detail);
    let fits = |full: &Arguments| full.schema.to_string().len() <= ArgsSchema::MAX_TRANSLATED_BYTES;
    let fitting = match with(Detail::Full).ok().filter(fits) {
        Some(full) => full,
        None => with(Detail::Bare)?,
    };
    let Arguments { schema, parameters, body, without, parts } = fitting;
    let operation_id = place.id.clone();
    let path = place.path.clone();
    let called = Called { method, path, args: schema, parameters, body, operation: operation_id };
    Ok(Operation { key: place.key(), called, said: said(place, operation), without, parts })
}

/// What the description says of the operation.
fn said(place: &Place, operation: &Value) -> Said {
    let text = |key: &str| operation.get(key).and_then(Value::as_str).filter(|it| !it.is_empty());
    let key = place.key();
    let title = text("summary").or(place.id.as_deref()).unwrap_or(&key);
    let description = text("description").or(text("summary")).unwrap_or(title);
    Said {
        name: Some(place.tool_name()),
        title: Some(title.chars().take(MAX_TITLE).collect()),
        description: Some(description.chars().take(MAX_DESCRIPTION).collect()),
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
pub(super) struct Gathering<'a> {
    pub(super) description: &'a Description,
    pub(super) schemas: Schemas<'a>,
    key: String,
    pub(super) properties: Map<String, Value>,
    pub(super) required: BTreeSet<String>,
    /// For each argument of an optional body, the others that a body needs.
    pub(super) dependent: Map<String, Value>,
    pub(super) parameters: Vec<Parameter>,
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
        dependent: Map::new(),
        parameters: Vec::new(),
        without: Vec::new(),
    };
    parameters::gather(&mut gathering, item, operation)?;
    let in_path = path_arguments(&place.path).ok_or("its path has braces that do not fit")?;
    if let Some(name) = in_path.iter().find(|name| !gathering.properties.contains_key(*name)) {
        return Err(format!("its path has `{{{name}}}`, of which nothing is said"));
    }
    let is_placed = |name: &String| {
        in_path.contains(name) || gathering.parameters.iter().any(|it| it.arg == *name)
    };
    if let Some(name) = gathering.properties.keys().find(|name| !is_placed(name)) {
        return Err(format!("its path has no `{{{name}}}`"));
    }
    let body = match operation.get("requestBody") {
        Some(body) => body::gather(&mut gathering, body, method)?,
        None => None,
    };
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
        if !gathering.dependent.is_empty() {
            members.insert("dependentRequired".to_owned(), Value::Object(gathering.dependent));
        }
        if !definitions.is_empty() {
            members.insert("$defs".to_owned(), Value::Object(definitions));
        }
    }
    let Gathering { parameters, without, .. } = gathering;
    Ok(Arguments { schema, parameters, body, without, parts })
}

impl Gathering<'_> {
    /// Adds an argument.
    pub(super) fn add(&mut self, argument: String, schema: Value, is_required: bool) {
        if is_required {
            self.required.insert(argument.clone());
        }
        self.properties.insert(argument, schema);
    }

    /// Narrows the schema of an argument to what its format writes, and notes what is left out.
    pub(super) fn narrow(
        &mut self,
        schema: &mut Value,
        argument: &str,
        (nested, format): (&BTreeSet<String>, Format),
    ) -> Result<(), String> {
        if nested.is_empty() {
            return Ok(());
        }
        self.schemas.spend(nested.len())?;
        narrow(schema, nested);
        let names = nested.iter().take(MOST_NAMED).map(|name| format!("`{}`", excerpt(name)));
        let names = names.collect::<Vec<_>>().join(", ");
        let more = nested.len().saturating_sub(MOST_NAMED);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        self.leave_out(&format!("{names}{more} of its {argument}"), within(format));
        Ok(())
    }

    /// Notes a part of the operation that no call can use.
    pub(super) fn leave_out(&mut self, part: &str, reason: String) {
        let operation = format!("{}, {part}", self.key);
        self.without.push(LeftOut { operation, reason });
    }
}
