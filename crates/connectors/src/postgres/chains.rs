//! Whether what one tool returns can be sent to the next one: a column and an argument of one name
//! are values of one kind in JSON, or an agent that passes the value on is refused.

use std::{collections::BTreeSet, sync::Arc};

use model::SideEffect;
use serde_json::Value;

use super::{PostgresTool, check::advice, value::Codec};
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
            let given = kind_given(codec).filter(|given| !takes(&taken, given))?;
            Some((giving, given))
        });
        if let Some((giving, given)) = refused {
            let tool = taking.definition.name.tool();
            let detail = format!(
                "`{}` returns `{argument}` as {given} in JSON, and this argument takes {} alone: \
                 add `{given}` to its `type`, or cast the column",
                giving.definition.name.tool(),
                taken.iter().copied().collect::<Vec<_>>().join(" or "),
            );
            lines.push(advice(&format!("argument `{argument}` of `{tool}`"), detail));
        }
    }
    lines
}

/// What a write answers with is what it was sent.
fn may_follow(giving: &PostgresTool, taking: &PostgresTool) -> bool {
    giving.definition.name != taking.definition.name
        || giving.definition.side_effect == SideEffect::Read
}

/// The kind that values of a column have in JSON, but for those that JSON has no number for; nothing
/// where they have any kind.
fn kind_given(codec: &Codec) -> Option<&'static str> {
    Some(match codec {
        Codec::Bool => "boolean",
        Codec::Small | Codec::Oid | Codec::Big => "integer",
        Codec::Float4 | Codec::Float8 => "number",
        Codec::Numeric
        | Codec::Text
        | Codec::Uuid
        | Codec::Bytes
        | Codec::Date
        | Codec::Time
        | Codec::Timestamp
        | Codec::TimestampTz => "string",
        Codec::Array(_) => "array",
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
