//! Which draft of JSON Schema a schema of 3.1 names.

use serde_json::Value;

use super::super::document::{Description, Dialect};

const CURRENT: &str = "https://json-schema.org/draft/2020-12/schema";
/// What the names of the dialects of OpenAPI 3.1 begin with; each is 2020-12 with words of its own.
const OF_OPENAPI: &str = "https://spec.openapis.org/oas/3.1/dialect/";
/// How much of a name a message shows.
const MOST_SHOWN: usize = 100;

/// Whether neither the description nor the schema names another draft than 2020-12. In 3.0 neither can
/// name one.
pub(super) fn is_known(description: &Description, schema: &Value) -> Result<(), String> {
    if description.dialect == Dialect::Early {
        return Ok(());
    }
    let of_document = description.target("#")?.get("jsonSchemaDialect");
    named("jsonSchemaDialect", of_document)?;
    named("$schema", schema.get("$schema"))
}

fn named(word: &str, dialect: Option<&Value>) -> Result<(), String> {
    let Some(dialect) = dialect else { return Ok(()) };
    let name = dialect.as_str().unwrap_or_default();
    if name.trim_end_matches('#') == CURRENT || name.starts_with(OF_OPENAPI) {
        return Ok(());
    }
    let name: String = name.chars().take(MOST_SHOWN).collect();
    Err(format!("its `{word}` is `{name}`, and not 2020-12"))
}
