//! Reads a file of tests.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use model::{DecisionCode, DecisionOutcome, Mode, SideEffect, Timestamp};

use super::{Case, Expected, Sample, Step, Suite};
use crate::{
    call::{Agent, Call, CallFacts},
    document::{
        MAX_BYTES,
        place::Path,
        reader::{Field, Fields, Reader},
    },
    error::{Code, DocumentError},
    expr,
    tree::{self, Data, Node},
};

const MAX_CASES: usize = 5_000;
const MAX_REPEAT: i64 = 10_000;
const NOBODY: &str = "agt_00000000000000000000000000";

/// Reads a file of tests, YAML 1.2 or JSON, or says everything that is wrong with it.
///
/// ```
/// use policy::{Policy, read_suite};
///
/// let suite = read_suite("
///     now: 2026-10-01T09:00:00Z
///     agents: { support: {} }
///     calls: { small: { tool: pay.refund, args: { amount: 20 } } }
///     cases:
///       - { name: small refunds pass, agent: support, call: small, expect: { outcome: allow } }
/// ")?;
/// let report = suite.run(&Policy::compile("{ schema: 1, default: { outcome: deny } }")?);
/// assert_eq!(report.results[0].differences, ["outcome: expected `allow`, found `deny`"]);
/// # Ok::<(), policy::DocumentError>(())
/// ```
pub fn read_suite(text: &str) -> Result<Suite, DocumentError> {
    let mut reader = Reader::new(text);
    if text.len() > MAX_BYTES {
        let at = tree::Mark { line: 1, column: 1, start: 0, end: 0 };
        let message = format!("expected a file of at most {MAX_BYTES} bytes");
        reader.push(Code::TooLarge, at, &Path::Root, message);
        return Err(DocumentError { findings: reader.into_findings() });
    }
    let root = tree::read(text).map_err(|findings| DocumentError { findings })?;
    let suite = suite(&mut reader, &root);
    let findings = reader.into_findings();
    match suite {
        Some(suite) if findings.is_empty() => Ok(suite),
        Some(_) | None => Err(DocumentError { findings }),
    }
}

fn suite(reader: &mut Reader<'_>, root: &Node) -> Option<Suite> {
    let keys = ["policy", "now", "zone", "agents", "calls", "cases"];
    let fields = reader.map(root, &Path::Root, &keys)?;
    let policy = text_of(reader, &fields, "policy");
    let now = fields.need(reader, "now").and_then(|field| moment(reader, &field));
    let zone = text_of(reader, &fields, "zone").unwrap_or_else(|| Call::UTC.to_owned());
    let agents = fields.need(reader, "agents");
    let agents = agents.map(|field| named(reader, &field, agent)).unwrap_or_default();
    let calls = fields.need(reader, "calls");
    let calls = calls.map(|field| named(reader, &field, sample)).unwrap_or_default();
    let list = fields.need(reader, "cases")?;
    let items = reader.list(&list)?;
    if items.len() > MAX_CASES {
        return reader.bad_value(&list, format!("expected at most {MAX_CASES} cases"));
    }
    let mut cases = Vec::new();
    for (place, node) in items.iter().enumerate() {
        let path = Path::Item(&list.path, place);
        let known = (&agents, &calls);
        cases.extend(case(reader, (node, &path), place, known));
    }
    Some(Suite { policy, now: now?, zone, agents, calls, cases })
}

fn text_of(reader: &mut Reader<'_>, fields: &Fields<'_>, key: &str) -> Option<String> {
    let field = fields.find(key)?;
    reader.text(&field, "a text").map(str::to_owned)
}

fn moment(reader: &mut Reader<'_>, field: &Field<'_>) -> Option<Timestamp> {
    let text = reader.text(field, "a time such as `2026-10-01T12:00:00Z`")?;
    match Timestamp::parse_rfc3339(text) {
        Ok(at) => Some(at),
        Err(error) => reader.bad_value(field, error.to_string()),
    }
}

/// Reads a mapping of names that the author chose.
fn named<T>(
    reader: &mut Reader<'_>,
    field: &Field<'_>,
    read: fn(&mut Reader<'_>, &Node, &Path<'_>) -> Option<T>,
) -> BTreeMap<String, T> {
    let Data::Map(entries) = &field.node.data else {
        reader.wrong_type(field, "a mapping of names");
        return BTreeMap::new();
    };
    let entries = entries.iter().filter_map(|entry| {
        let path = Path::Key(&field.path, &entry.key);
        Some((entry.key.clone(), read(reader, &entry.node, &path)?))
    });
    entries.collect()
}

fn agent(reader: &mut Reader<'_>, node: &Node, path: &Path<'_>) -> Option<Agent> {
    let fields = reader.map(node, path, &["id", "name", "labels"])?;
    let id = text_of(reader, &fields, "id").unwrap_or_else(|| NOBODY.to_owned());
    let id = match id.parse() {
        Ok(id) => id,
        Err(error) => {
            reader.push(Code::BadValue, node.at, path, format!("`id`: {error}"));
            return None;
        }
    };
    let name = text_of(reader, &fields, "name").unwrap_or_default();
    let labels = fields.find("labels").map(|field| named(reader, &field, label));
    Some(Agent { id, name, labels: labels.unwrap_or_default() })
}

fn label(reader: &mut Reader<'_>, node: &Node, path: &Path<'_>) -> Option<String> {
    if let Data::Text(text) = &node.data {
        return Some(text.clone());
    }
    let message = format!("expected a text, found {}", node.kind());
    reader.push(Code::WrongType, node.at, path, message);
    None
}

fn sample(reader: &mut Reader<'_>, node: &Node, path: &Path<'_>) -> Option<Sample> {
    const KEYS: [&str; 10] = [
        "tool",
        "args",
        "mode",
        "transport",
        "session",
        "on_behalf_of",
        "side_effect",
        "intent",
        "livemode",
        "tool_changed",
    ];
    let fields = reader.map(node, path, &KEYS)?;
    let tool = fields.need(reader, "tool");
    let tool = tool.and_then(|field| reader.text(&field, "a tool's name").map(str::to_owned));
    let modes: Vec<_> = Mode::ALL.iter().map(|mode| (mode.as_str(), *mode)).collect();
    let effects: Vec<_> = SideEffect::ALL.iter().map(|word| (word.as_str(), *word)).collect();
    let mode = fields.find("mode").and_then(|field| reader.word(&field, &modes));
    let args = fields.find("args").map(|field| field.node.to_json());
    let tool = tool?;
    let facts = CallFacts {
        connector: tool.split_once('.').map(|(connector, _)| connector.to_owned()),
        mode: mode.unwrap_or(Mode::Gateway),
        transport: text_of(reader, &fields, "transport"),
        session: text_of(reader, &fields, "session"),
        on_behalf_of: text_of(reader, &fields, "on_behalf_of"),
        side_effect: fields.find("side_effect").and_then(|field| reader.word(&field, &effects)),
        intent: text_of(reader, &fields, "intent"),
        livemode: fields.find("livemode").is_none_or(|field| reader.switch(&field)),
        tool_changed: fields.find("tool_changed").is_some_and(|field| reader.switch(&field)),
    };
    let args = args.unwrap_or_else(|| serde_json::Value::Object(serde_json::Map::new()));
    Some(Sample { tool, args: Arc::new(args), facts })
}

type Declared<'k> = (&'k BTreeMap<String, Agent>, &'k BTreeMap<String, Sample>);

fn case(
    reader: &mut Reader<'_>,
    (node, path): (&Node, &Path<'_>),
    place: usize,
    (agents, calls): Declared<'_>,
) -> Option<Case> {
    let keys = ["name", "agent", "agents", "call", "calls", "expect", "steps"];
    let fields = reader.map(node, path, &keys)?;
    let name = text_of(reader, &fields, "name").unwrap_or_else(|| format!("case {}", place + 1));
    let agents = choice(reader, &fields, ("agent", "agents"), &|name| agents.contains_key(name));
    let calls = choice(reader, &fields, ("call", "calls"), &|name| calls.contains_key(name));
    let steps = match (fields.find("expect"), fields.find("steps")) {
        (Some(field), None) => {
            let expect = expected(reader, field.node, &field.path)?;
            vec![Step { after: Duration::ZERO, repeat: 1, expect }]
        }
        (None, Some(field)) => {
            let items = reader.list(&field)?;
            let items = items.iter().enumerate();
            items
                .filter_map(|(place, node)| step(reader, node, &Path::Item(&field.path, place)))
                .collect()
        }
        (Some(_), Some(_)) | (None, None) => {
            reader.push(Code::MissingKey, node.at, path, "expected either `expect` or `steps`");
            return None;
        }
    };
    Some(Case { name, agents, calls, steps })
}

/// Reads one name or a list of them, all of which must be known.
fn choice(
    reader: &mut Reader<'_>,
    fields: &Fields<'_>,
    (one, many): (&str, &str),
    is_known: &dyn Fn(&str) -> bool,
) -> Vec<String> {
    let Some(field) = fields.find(one).or_else(|| fields.find(many)) else {
        let _ = fields.need(reader, one);
        return Vec::new();
    };
    let single = std::slice::from_ref(field.node);
    let items = if fields.find(one).is_some() { Some(single) } else { reader.list(&field) };
    let mut names = Vec::new();
    for node in items.unwrap_or_default() {
        let item = Field { node, path: field.path };
        match reader.text(&item, "a name") {
            Some(name) if is_known(name) => names.push(name.to_owned()),
            Some(name) => {
                let message = format!("there is no `{name}` under `{many}`");
                reader.push(Code::UnknownName, node.at, &field.path, message);
            }
            None => {}
        }
    }
    names
}

fn step(reader: &mut Reader<'_>, node: &Node, path: &Path<'_>) -> Option<Step> {
    let fields = reader.map(node, path, &["after", "repeat", "expect"])?;
    let after = fields.find("after").map_or(Some(Duration::ZERO), |field| {
        let span = reader.text(&field, "a time such as `24h`").and_then(expr::span);
        span.or_else(|| reader.bad_value(&field, "expected a time such as `24h`"))
    });
    let repeat = fields.find("repeat").map_or(Some(1), |field| match field.node.data {
        Data::Int(count @ 1..=MAX_REPEAT) => u32::try_from(count).ok(),
        _ => reader.bad_value(&field, format!("expected a number from 1 to {MAX_REPEAT}")),
    });
    let expect = fields.need(reader, "expect")?;
    let expect = expected(reader, expect.node, &expect.path)?;
    Some(Step { after: after?, repeat: repeat?, expect })
}

fn expected(reader: &mut Reader<'_>, node: &Node, path: &Path<'_>) -> Option<Expected> {
    let fields = reader.map(node, path, &["outcome", "rule", "code", "approvals"])?;
    let outcomes: Vec<_> = DecisionOutcome::ALL.iter().map(|word| (word.as_str(), *word)).collect();
    let codes: Vec<_> = DecisionCode::ALL.iter().map(|word| (word.as_str(), *word)).collect();
    let approvals = fields.find("approvals").and_then(|field| match field.node.data {
        Data::Int(count @ 1..=5) => u8::try_from(count).ok(),
        _ => reader.bad_value(&field, "expected a number of people from 1 to 5"),
    });
    Some(Expected {
        outcome: fields.find("outcome").and_then(|field| reader.word(&field, &outcomes)),
        rule: text_of(reader, &fields, "rule"),
        code: fields.find("code").and_then(|field| reader.word(&field, &codes)),
        approvals,
    })
}
