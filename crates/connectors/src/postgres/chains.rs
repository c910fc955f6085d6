//! Whether what one tool returns can be sent to the next one: a column and an argument of one name
//! are values of one kind in JSON, or an agent that passes the value on is refused.

use std::{collections::BTreeSet, sync::Arc};

use model::SideEffect;
use serde_json::{Value, json};

use super::{
    PostgresTool,
    check::advice,
    config::Returns,
    value::{Codec, encode},
};
use crate::CheckLine;

/// A line of advice for each argument that does not take what a column of its name returns.
pub(super) fn lines(tools: &[Arc<PostgresTool>]) -> Vec<CheckLine> {
    tools.iter().flat_map(|taking| of_tool(taking, tools)).collect()
}

fn of_tool(taking: &PostgresTool, tools: &[Arc<PostgresTool>]) -> Vec<CheckLine> {
    let Some(properties) = taking.written.pointer("/args/properties").and_then(Value::as_object)
    else {
        return Vec::new();
    };
    let mut lines = Vec::new();
    for (argument, schema) in properties {
        let Some(taken) = kinds_taken(schema) else { continue };
        let refused = tools.iter().filter(|giving| may_follow(giving, taking)).find_map(|giving| {
            let (_, codec) = giving.shape.results().find(|(column, _)| column == argument)?;
            given(codec).filter(|(kind, _)| !takes(&taken, kind)).map(|given| (giving, given))
        });
        if let Some((giving, (kind, value))) = refused {
            let tool = taking.definition.name.tool();
            let binds = taking.shape.codec(argument).is_some_and(|own| encode(own, &value).is_ok());
            let widened =
                if binds { format!("add `{kind}` to its `type`, or ") } else { String::new() };
            let detail = format!(
                "`{}` returns `{argument}` as {kind} in JSON, and this argument accepts only {}: \
                 {widened}cast the column",
                giving.definition.name.tool(),
                taken.iter().copied().collect::<Vec<_>>().join(" or "),
            );
            lines.push(advice(&format!("argument `{argument}` of `{tool}`"), detail));
        }
    }
    lines
}

/// Whether an agent may pass on what the one returns. A write answers with what it was sent, and a
/// count has no columns.
fn may_follow(giving: &PostgresTool, taking: &PostgresTool) -> bool {
    let is_another = giving.definition.name != taking.definition.name;
    giving.returns != Returns::Count
        && (is_another || giving.definition.side_effect == SideEffect::Read)
}

/// The kind that values of a column have in JSON, but for those that JSON has no number for, and one of
/// them; nothing where they have any kind.
fn given(codec: &Codec) -> Option<(&'static str, Value)> {
    Some(match codec {
        Codec::Bool => ("boolean", json!(true)),
        Codec::Small | Codec::Oid | Codec::Big => ("integer", json!(1)),
        Codec::Float4 | Codec::Float8 => ("number", json!(0.5)),
        Codec::Numeric => ("string", json!("12.50")),
        Codec::Text => ("string", json!("text")),
        Codec::Uuid => ("string", json!("550e8400-e29b-41d4-a716-446655440000")),
        Codec::Bytes => ("string", json!("AP8Q")),
        Codec::Date => ("string", json!("2024-01-31")),
        Codec::Time => ("string", json!("13:37:00")),
        Codec::Timestamp | Codec::TimestampTz => ("string", json!("2024-01-31T13:37:00Z")),
        Codec::Array(_) => ("array", json!([])),
        Codec::Json | Codec::Jsonb | Codec::Opaque => return None,
    })
}

/// The kinds that a schema names; nothing where it says it in another way, or not at all.
fn kinds_taken(schema: &Value) -> Option<BTreeSet<&str>> {
    match schema.get("type")? {
        Value::String(kind) => Some(BTreeSet::from([kind.as_str()])),
        Value::Array(kinds) => kinds.iter().map(Value::as_str).collect(),
        _ => None,
    }
}

fn takes(taken: &BTreeSet<&str>, given: &str) -> bool {
    taken.contains(given) || (given == "integer" && taken.contains("number"))
}
