//! A description of an API as a connector's file: its operations as a tool list that people read,
//! change and keep, however large the description is.

use serde_json::{Map, Value, json};

use super::{
    entry::{Called, Said},
    openapi::{Description, LeftOut, Operation, every_operation},
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
}

/// The operations of the description as tools: those that are wanted, by `operationId` or by method
/// and path, or every one that can be served where none is named.
pub fn convert(description: &str, wanted: &[String]) -> Result<Converted, Finding> {
    if description.len() > MAX_BYTES {
        return Err(Finding::new("/openapi", format!("expected at most {MAX_BYTES} bytes")));
    }
    let description = Description::read(&Value::from(description))?;
    let (operations, left_out) = if wanted.is_empty() {
        every_operation(&description)?
    } else {
        chosen(&description, wanted)?
    };
    let tools: Vec<Value> = operations.into_iter().map(tool).collect();
    let base_url = description.server().unwrap_or(SOMEWHERE);
    let left_out = left_out.into_iter().map(|it| (it.operation, it.reason)).collect();
    Ok(Converted { config: json!({ "base_url": base_url, "tools": tools }), left_out })
}

fn chosen(
    description: &Description,
    wanted: &[String],
) -> Result<(Vec<Operation>, Vec<LeftOut>), Finding> {
    let (mut operations, mut left_out) = (Vec::new(), Vec::new());
    for name in wanted {
        let operation = description.operation(name).and_then(Operation::matched);
        let operation = operation.map_err(|reason| Finding::new(name.clone(), reason))?;
        left_out.extend(operation.without().iter().cloned());
        operations.push(operation);
    }
    Ok((operations, left_out))
}

/// The operation as an entry of a tool list, what follows from its method said as well.
fn tool(operation: Operation) -> Value {
    let key = operation.key().to_owned();
    let (Called { method, path, args, parameters, body }, said) = operation.into_parts();
    let Said { name, title, description, .. } = said;
    let mut tool = Map::new();
    let mut put = |key: &str, value: Value| tool.insert(key.to_owned(), value);
    put("name", name.unwrap_or_else(|| plain(&key)).into());
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

/// A name for an operation that has none: its method and its path.
fn plain(key: &str) -> String {
    let letters = key.chars().map(|it| if it.is_ascii_alphanumeric() { it } else { '_' });
    letters.take(64).collect::<String>().to_lowercase()
}
