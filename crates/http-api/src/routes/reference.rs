//! The page of the whole interface for people: its routes, their callers, inputs and answers. It is
//! made from the description and the route table, and needs nothing from outside.

use minijinja::{AutoEscape, Environment, Error, ErrorKind, Value, context, syntax::SyntaxConfig};

use super::interface;
use crate::{
    catalogue::{self, STYLE, marked_up},
    description::{DescriptionError, Published, document, unshown},
};

const TEMPLATE: &str = include_str!("reference.html");

/// The page as it is served.
pub(crate) fn published() -> Result<Published, DescriptionError> {
    Published::new(page(document()?).map_err(unshown)?)
}

fn page(document: Value) -> Result<String, Error> {
    let mut environment = Environment::new();
    environment.set_auto_escape_callback(|_| AutoEscape::Html);
    environment.set_syntax(SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build()?);
    let whole = document.clone();
    environment.add_function("follow", move |value: Value| follow(&whole, value));
    environment.add_function("json", |value: Value| {
        serde_json::to_string_pretty(&value).map_err(|error| unwritten(&error))
    });
    environment.add_function("shell", |value: Value| {
        let text = serde_json::to_string(&value).map_err(|error| unwritten(&error))?;
        Ok::<_, Error>(text.replace('\'', "'\\''"))
    });
    environment.add_filter("marked", |text: &str| Value::from_safe_string(marked_up(text)));
    environment.add_template("reference", TEMPLATE)?;
    let rows = interface().into_iter().map(|row| {
        context! {
            method => row.method,
            path => row.path,
            id => row.operation,
            access => row.access,
            who => row.who,
        }
    });
    let codes = catalogue::ALL.iter().map(|code| {
        let statuses: Vec<_> = code.row().statuses.iter().map(u16::to_string).collect();
        context! { code => code.as_str(), statuses }
    });
    let page = environment.get_template("reference")?.render(context! {
        style => Value::from_safe_string(STYLE.to_owned()),
        rows => rows.collect::<Vec<_>>(),
        codes => codes.collect::<Vec<_>>(),
        document,
    })?;
    // The template's macros, which come first, leave their line ends.
    Ok(page.trim_start().to_owned())
}

/// What a `$ref` leads to, or the value itself.
fn follow(document: &Value, value: Value) -> Result<Value, Error> {
    let reference = value.get_attr("$ref").unwrap_or_default();
    let Some(pointer) = reference.as_str().and_then(|it| it.strip_prefix("#/")) else {
        return Ok(value);
    };
    pointer.split('/').try_fold(document.clone(), |found, name| found.get_attr(name))
}

fn unwritten(error: &serde_json::Error) -> Error {
    Error::new(ErrorKind::BadSerialization, error.to_string())
}
