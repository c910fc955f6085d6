//! Holds responses against the description; test support, not part of the service.
//!
//! It reads the description as closed: a member that it does not name is a fault, so that nothing
//! is served which is not described.

use std::{
    collections::HashMap,
    sync::{Arc, LazyLock, Mutex, PoisonError},
};

use http::{HeaderMap, StatusCode, header::CONTENT_TYPE};
use serde_json::{Map, Value, json};

use super::published::TEXT;

/// A response that is not as described, or a description that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Fault(String);

/// A response as a test received it.
#[derive(Debug, Clone, Copy)]
pub struct Given<'a> {
    /// The status.
    pub status: StatusCode,
    /// The headers.
    pub headers: &'a HeaderMap,
    /// The whole body.
    pub body: &'a [u8],
}

/// The description, ready to judge responses.
#[derive(Debug)]
pub struct Validator {
    document: Value,
    components: Value,
    /// The schemas that were compiled, by their text: that takes longer than all that they judge.
    compiled: Mutex<HashMap<String, Arc<jsonschema::Validator>>>,
}

impl Validator {
    /// The judge of the embedded description, which is read once.
    pub fn embedded() -> Result<&'static Self, &'static Fault> {
        static EMBEDDED: LazyLock<Result<Validator, Fault>> = LazyLock::new(Validator::new);
        EMBEDDED.as_ref()
    }

    fn new() -> Result<Self, Fault> {
        let document: Value = serde_saphyr::from_str(TEXT)
            .map_err(|error| Fault(format!("the description is not valid YAML: {error}")))?;
        let mut components = document.get("components").cloned().unwrap_or_default();
        close(&mut components);
        Ok(Self { document, components, compiled: Mutex::default() })
    }

    /// Every operation as path, method and description.
    pub fn operations(&self) -> impl Iterator<Item = (&str, &str, &Value)> {
        let paths = self.document.get("paths").and_then(Value::as_object);
        paths.into_iter().flatten().flat_map(|(path, methods)| {
            let methods = methods.as_object().into_iter().flatten();
            methods.map(move |(method, operation)| (path.as_str(), method.as_str(), operation))
        })
    }

    /// The part of the description that a pointer such as `/components/schemas` names.
    pub fn part(&self, pointer: &str) -> Option<&Value> {
        self.document.pointer(pointer)
    }

    /// What a `$ref` leads to, or the value itself.
    pub fn follow<'a>(&'a self, value: &'a Value) -> &'a Value {
        let pointer = value.get("$ref").and_then(Value::as_str).and_then(|it| it.strip_prefix('#'));
        pointer.and_then(|pointer| self.document.pointer(pointer)).unwrap_or(value)
    }

    /// Passes a response of this operation that is as described.
    pub fn check(&self, operation: &str, given: &Given<'_>) -> Result<(), Fault> {
        let status = given.status.as_u16();
        let blame = |what: String| Fault(format!("{operation} {status}: {what}"));
        let is_it = |it: &Value| it.get("operationId").is_some_and(|id| id == operation);
        let found = self.operations().map(|(_, _, it)| it).find(|it| is_it(it));
        let described = found.and_then(|it| it.get("responses")?.get(status.to_string()));
        let (Some(found), Some(described)) = (found, described) else {
            return Err(blame("this status is not described".to_owned()));
        };
        let described = self.follow(described);
        self.headers(described, given.headers).map_err(blame)?;
        self.body(described, given).map_err(blame)?;
        names_code([described, found], given.body).map_err(blame)
    }

    fn headers(&self, described: &Value, headers: &HeaderMap) -> Result<(), String> {
        let known = described.get("headers").and_then(Value::as_object);
        for (name, header) in known.into_iter().flatten() {
            let header = self.follow(header);
            let required = header.get("required").and_then(Value::as_bool).unwrap_or_default();
            let given = headers.get(name).and_then(|value| value.to_str().ok());
            match (given, header.get("schema")) {
                (Some(text), Some(schema)) => {
                    let fault = |what| format!("header `{name}`: {what}");
                    self.schema(schema, &json!(text)).map_err(fault)?;
                }
                (None, _) if required => return Err(format!("header `{name}` is missing")),
                (None | Some(_), _) => {}
            }
        }
        Ok(())
    }

    fn body(&self, described: &Value, given: &Given<'_>) -> Result<(), String> {
        let Some(content) = described.get("content").and_then(Value::as_object) else {
            return if given.body.is_empty() { Ok(()) } else { Err("no body is described".into()) };
        };
        let media = given.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let essence = media.unwrap_or_default().split(';').next().unwrap_or_default();
        let Some(schema) = content.get(essence).and_then(|it| it.get("schema")) else {
            return Err(format!("the media type `{essence}` is not described"));
        };
        if essence != "application/json" {
            return Ok(());
        }
        let body = serde_json::from_slice(given.body).map_err(|error| error.to_string())?;
        self.schema(schema, &body)
    }

    fn schema(&self, schema: &Value, value: &Value) -> Result<(), String> {
        let judge = self.compiled(schema)?;
        let faults: Vec<String> = judge
            .iter_errors(value)
            .map(|error| format!("`{}`: {error}", error.instance_path()))
            .collect();
        if faults.is_empty() { Ok(()) } else { Err(faults.join("; ")) }
    }

    fn compiled(&self, schema: &Value) -> Result<Arc<jsonschema::Validator>, String> {
        let text = schema.to_string();
        let mut compiled = self.compiled.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(judge) = compiled.get(&text) {
            return Ok(Arc::clone(judge));
        }
        let mut root = schema.clone();
        close(&mut root);
        if let Some(members) = root.as_object_mut() {
            members.insert("components".to_owned(), self.components.clone());
        }
        let judge = jsonschema::options()
            .with_draft(jsonschema::Draft::Draft202012)
            .build(&root)
            .map_err(|error| error.to_string())?;
        let judge = Arc::new(judge);
        compiled.insert(text, Arc::clone(&judge));
        Ok(judge)
    }
}

/// Passes what is no error, and an error whose code the response or the operation names.
fn names_code(describing: [&Value; 2], body: &[u8]) -> Result<(), String> {
    let body: Value = serde_json::from_slice(body).unwrap_or_default();
    let Some(code) = body.pointer("/error/code") else { return Ok(()) };
    let lists = describing.iter().filter_map(|it| it.get("x-error-codes")?.as_array());
    let is_named = lists.flatten().any(|named| named == code);
    if is_named { Ok(()) } else { Err(format!("no list has the error code {code}")) }
}

/// Makes every object schema refuse members that it does not name.
fn close(schema: &mut Value) {
    match schema {
        Value::Object(members) => {
            members.values_mut().for_each(close);
            let names_members = members.get("properties").is_some_and(Value::is_object);
            if names_members && is_object_schema(members) {
                members.entry("additionalProperties").or_insert(Value::Bool(false));
            }
        }
        Value::Array(items) => items.iter_mut().for_each(close),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn is_object_schema(members: &Map<String, Value>) -> bool {
    members.get("type").is_some_and(|kind| kind == "object")
}
