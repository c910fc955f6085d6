//! A description of an API as a connector's file: its operations as a tool list that people read,
//! change and keep, however large the description is.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::{
    entry::{Called, Said},
    openapi::{
        Choice, Description, LeftOut, Operation, accepted, chosen, every_operation, of_places,
        read, sorted,
    },
};
use crate::Finding;

/// The longest description that is converted.
const MAX_BYTES: usize = 64 << 20;
/// Where the API is, as long as nobody says it.
const SOMEWHERE: &str = "https://api.example.com";

/// A connector's file made of a description.
#[derive(Debug, Clone, PartialEq)]
pub struct Converted {
    /// The file: where the API is, and its tools.
    pub config: Value,
    /// What no tool can use, each with its reason.
    pub left_out: Vec<(String, String)>,
    /// The number of tools.
    pub tools: usize,
    /// The bytes that an agent is shown that may call every tool: names, texts and schemas as JSON.
    pub bytes: usize,
}

/// The operations of the description as tools: those that are chosen, or every one that can be served
/// where nothing is.
pub fn convert(description: &str, choices: &[Choice<'_>]) -> Result<Converted, Finding> {
    if description.len() > MAX_BYTES {
        return Err(Finding::new("/openapi", format!("expected at most {MAX_BYTES} bytes")));
    }
    let description = Description::parse(description)?;
    let (operations, left_out) = if choices.is_empty() {
        every_operation(&description)
    } else {
        of_choices(&description, choices)?
    };
    let tools: Vec<Value> = operations.into_iter().map(tool).collect();
    let (count, bytes) = (tools.len(), tools.iter().map(shown).sum());
    let base_url = description.server().unwrap_or(SOMEWHERE);
    let left_out = left_out.into_iter().map(|it| (it.operation, it.reason)).collect();
    let config = json!({ "base_url": base_url, "tools": tools });
    Ok(Converted { config, left_out, tools: count, bytes })
}

/// The chosen operations. One that is named has to be served; of those of a tag, what cannot be served
/// is left out.
fn of_choices(
    description: &Description,
    choices: &[Choice<'_>],
) -> Result<(Vec<Operation>, Vec<LeftOut>), Finding> {
    let (mut named, mut tagged, mut taken) = (Vec::new(), Vec::new(), BTreeSet::new());
    let is_named = |choice: &&Choice<'_>| matches!(choice, Choice::Operation(_));
    let (operations, tags): (Vec<&Choice<'_>>, Vec<_>) = choices.iter().partition(is_named);
    for choice in operations.into_iter().chain(tags) {
        let (Choice::Operation(wanted) | Choice::Tag(wanted)) = *choice;
        let bad = |reason: String| Finding::new(wanted, reason);
        let mut places = chosen(description, *choice).map_err(bad)?;
        places.retain(|place| taken.insert(place.key()));
        if is_named(&choice) {
            for place in places {
                let operation = accepted(read(description, place));
                named.push(operation.map_err(|left| bad(left.reason))?);
            }
        } else {
            tagged.extend(places);
        }
    }
    let mut by_name: BTreeMap<String, String> = BTreeMap::new();
    for operation in &named {
        if let Some(other) = by_name.insert(operation.name().to_owned(), operation.key().to_owned())
        {
            let (name, one) = (operation.name(), operation.key());
            let message =
                format!("this is the name of `{other}` and of `{one}`: choose one of them");
            return Err(Finding::new(name, message));
        }
    }
    // A name that somebody chose is taken.
    let free = |operation: Operation| match by_name.get(operation.name()) {
        None => Ok(operation),
        Some(other) => {
            let reason = format!("its name `{}` is also the name of `{other}`", operation.name());
            Err(LeftOut { operation: operation.key().to_owned(), reason })
        }
    };
    let tagged = of_places(description, tagged.into_iter()).map(accepted);
    let tagged: Vec<_> = tagged.map(|operation| operation.and_then(free)).collect();
    Ok(sorted(named.into_iter().map(Ok).chain(tagged)))
}

/// The bytes of what an agent is shown of a tool.
fn shown(tool: &Value) -> usize {
    let part = |key: &str| tool.get(key).map_or(0, |part| part.to_string().len());
    ["name", "title", "description", "args"].into_iter().map(part).sum()
}

/// The operation as an entry of a tool list, with what follows from its method.
fn tool(operation: Operation) -> Value {
    let (called, said) = operation.into_parts();
    let Called { method, path, args, parameters, body, operation } = called;
    let Said { name, title, description, .. } = said;
    let mut tool = Map::new();
    let mut put = |key: &str, value: Value| tool.insert(key.to_owned(), value);
    if let Some(operation) = operation.filter(|operation| Some(operation) != name.as_ref()) {
        put("operation", operation.into());
    }
    put("name", json!(name));
    put("title", json!(title));
    put("description", json!(description));
    put("side_effect", json!(method.side_effect()));
    put("method", json!(method));
    put("path", path.into());
    if !parameters.is_empty() {
        put("parameters", json!(parameters));
    }
    if let Some(body) = body {
        put("body", json!(body));
    }
    put("args", args);
    Value::Object(tool)
}
