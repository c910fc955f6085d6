//! The document as a tree of plain values that know their place in the text.
//!
//! Reads the part of YAML 1.2 that JSON has too (JSON is read by the same path): no anchors,
//! aliases, tags, merge keys or second documents. It knows nothing of policies.

use std::collections::HashMap;

use serde_json::Value;
use serde_saphyr::granit_parser::{Event, Parser, ScalarStyle, ScanError, Span, StrInput, Tag};

use crate::error::{Code, Finding, Severity};

const MAX_DEPTH: usize = 16;
const MAX_FINDINGS: usize = 100;
const MAX_NODES: usize = 300_000;
/// The integers that every JSON reader keeps exactly; the document's digest needs that.
const SAFE_INTEGER: i64 = (1 << 53) - 1;

/// A place in the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Mark {
    pub(crate) line: u32,
    pub(crate) column: u32,
    /// The bytes of the text from here to the end of the node.
    pub(crate) start: usize,
    pub(crate) end: usize,
}

/// One value and its place.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Node {
    pub(crate) at: Mark,
    pub(crate) data: Data,
}

/// What a node holds.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Data {
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(String),
    List(Vec<Node>),
    Map(Vec<Entry>),
}

/// One key of a mapping and its value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Entry {
    pub(crate) key: String,
    pub(crate) at: Mark,
    pub(crate) node: Node,
}

impl Node {
    /// What the node is, for messages.
    pub(crate) fn kind(&self) -> &'static str {
        match self.data {
            Data::Null => "nothing",
            Data::Bool(_) => "a boolean",
            Data::Int(_) => "an integer",
            Data::Float(_) => "a fraction",
            Data::Text(_) => "a text",
            Data::List(_) => "a list",
            Data::Map(_) => "a mapping",
        }
    }

    /// The same value without places.
    pub(crate) fn to_json(&self) -> Value {
        match &self.data {
            Data::Null => Value::Null,
            Data::Bool(value) => Value::Bool(*value),
            Data::Int(value) => Value::from(*value),
            Data::Float(value) => Value::from(*value),
            Data::Text(text) => Value::String(text.clone()),
            Data::List(items) => items.iter().map(Self::to_json).collect(),
            Data::Map(entries) => entries
                .iter()
                .map(|entry| (entry.key.clone(), entry.node.to_json()))
                .collect::<serde_json::Map<_, _>>()
                .into(),
        }
    }
}

/// Reads the text as one document.
pub(crate) fn read(text: &str) -> Result<Node, Vec<Finding>> {
    let options = serde_saphyr::granit_parser::options! {
        disallow_directives: true,
        emit_unresolved_aliases: true,
        flow_nesting_limit: MAX_DEPTH * 2,
        block_nesting_limit: MAX_DEPTH * 2,
    };
    let mut options = options;
    options.set_emit_comments(false);
    let parser = Parser::new_from_str_with_options(text, options);
    let mut builder = Builder { parser, findings: Vec::new(), nodes: 0 };
    let node = match builder.document() {
        Ok(node) => node,
        Err(fatal) => {
            builder.findings.truncate(MAX_FINDINGS);
            builder.findings.push(fatal);
            return Err(builder.findings);
        }
    };
    builder.findings.truncate(MAX_FINDINGS);
    if builder.findings.is_empty() { Ok(node) } else { Err(builder.findings) }
}

struct Builder<'t> {
    parser: Parser<'t, StrInput<'t>>,
    findings: Vec<Finding>,
    nodes: usize,
}

impl<'t> Builder<'t> {
    fn document(&mut self) -> Result<Node, Finding> {
        let mut root = None;
        loop {
            let (event, span) = self.next()?;
            match event {
                Event::StreamEnd => break,
                Event::DocumentStart(..) if root.is_some() => {
                    return Err(finding(span, "expected one document, found a second one"));
                }
                Event::StreamStart | Event::DocumentStart(..) | Event::DocumentEnd => {}
                event => root = Some(self.node(event, span, 0)?),
            }
        }
        root.ok_or_else(|| finding(Span::default(), "expected a policy, found empty text"))
    }

    fn next(&mut self) -> Result<(Event<'t>, Span), Finding> {
        match self.parser.next_event() {
            Some(Ok(event)) => Ok(event),
            Some(Err(error)) => Err(syntax_error(&error)),
            None => Ok((Event::StreamEnd, Span::default())),
        }
    }

    fn node(&mut self, event: Event<'t>, span: Span, depth: usize) -> Result<Node, Finding> {
        self.nodes += 1;
        if depth > MAX_DEPTH || self.nodes > MAX_NODES {
            let limit = format!("expected at most {MAX_DEPTH} levels and {MAX_NODES} values");
            return Err(Finding { code: Code::TooLarge, ..finding(span, limit) });
        }
        let data = match event {
            Event::Scalar(text, style, anchor, tag) => {
                self.refuse_extras(span, anchor, tag.as_deref());
                self.scalar(&text, style, span)
            }
            Event::SequenceStart(_, anchor, tag) => {
                self.refuse_extras(span, anchor, tag.as_deref());
                self.list(depth)?
            }
            Event::MappingStart(_, anchor, tag) => {
                self.refuse_extras(span, anchor, tag.as_deref());
                self.map(depth)?
            }
            Event::Alias(_) | Event::UnresolvedAlias(_) => {
                self.findings.push(finding(
                    span,
                    "aliases are not allowed in a policy; a pattern that starts with `*` needs \
                     quotes",
                ));
                Data::Null
            }
            _ => return Err(finding(span, "expected a value")),
        };
        Ok(Node { at: mark(span), data })
    }

    fn list(&mut self, depth: usize) -> Result<Data, Finding> {
        let mut items = Vec::new();
        loop {
            match self.next()? {
                (Event::SequenceEnd, _) => return Ok(Data::List(items)),
                (event, span) => items.push(self.node(event, span, depth + 1)?),
            }
        }
    }

    fn map(&mut self, depth: usize) -> Result<Data, Finding> {
        let mut entries = Vec::new();
        let mut lines: HashMap<String, u32> = HashMap::new();
        loop {
            let (event, span) = self.next()?;
            if event == Event::MappingEnd {
                return Ok(Data::Map(entries));
            }
            let at = mark(span);
            let key = self.key(event, span)?;
            if let Some(line) = lines.insert(key.clone(), at.line) {
                let message = format!("the key `{key}` is already present at line {line}");
                self.findings.push(Finding { code: Code::DuplicateKey, ..finding(span, message) });
            }
            let (event, span) = self.next()?;
            let node = self.node(event, span, depth + 1)?;
            entries.push(Entry { key, at, node });
        }
    }

    fn key(&mut self, event: Event<'t>, span: Span) -> Result<String, Finding> {
        let Event::Scalar(text, style, anchor, tag) = event else {
            return Err(finding(span, "expected a text as key"));
        };
        self.refuse_extras(span, anchor, tag.as_deref());
        if style == ScalarStyle::Plain && text == "<<" {
            self.findings.push(finding(span, "merge keys are not allowed in a policy"));
        }
        Ok(text.into_owned())
    }

    fn refuse_extras(&mut self, span: Span, anchor: usize, tag: Option<&Tag>) {
        if anchor != 0 {
            self.findings.push(finding(span, "anchors are not allowed in a policy"));
        }
        if tag.is_some() {
            self.findings.push(finding(
                span,
                "tags are not allowed in a policy; a text that starts with `!` needs quotes",
            ));
        }
    }

    fn scalar(&mut self, text: &str, style: ScalarStyle, span: Span) -> Data {
        if style != ScalarStyle::Plain {
            return Data::Text(text.to_owned());
        }
        match plain(text) {
            Ok(data) => data,
            Err(message) => {
                self.findings.push(Finding { code: Code::BadValue, ..finding(span, message) });
                Data::Null
            }
        }
    }
}

/// Resolves an unquoted scalar by YAML's core schema.
fn plain(text: &str) -> Result<Data, &'static str> {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Ok(Data::Null),
        "true" | "True" | "TRUE" => return Ok(Data::Bool(true)),
        "false" | "False" | "FALSE" => return Ok(Data::Bool(false)),
        _ => {}
    }
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    if !digits.starts_with(|first: char| first.is_ascii_digit() || first == '.') {
        return Ok(Data::Text(text.to_owned()));
    }
    if digits.bytes().all(|byte| byte.is_ascii_digit()) {
        let value = text.parse().ok().filter(|value: &i64| value.abs() <= SAFE_INTEGER);
        return value.map(Data::Int).ok_or("expected an integer within ±(2^53−1)");
    }
    if matches!(digits, ".inf" | ".Inf" | ".INF" | ".nan" | ".NaN" | ".NAN") {
        return Err("expected a finite number");
    }
    let numeric = digits.bytes().all(|byte| byte.is_ascii_digit() || b".eE+-".contains(&byte));
    match text.parse::<f64>() {
        Ok(value) if numeric && value.is_finite() => Ok(fraction(value)),
        Ok(_) if numeric => Err("expected a finite number"),
        _ => Ok(Data::Text(text.to_owned())),
    }
}

/// A whole number is an integer however it is written: the digest covers `1` for `1.0`, and what has
/// one digest decides alike. Past the safe integers no other spelling is taken, so a fraction stays.
fn fraction(value: f64) -> Data {
    #[expect(clippy::cast_precision_loss, reason = "2^53 - 1 is exact as a double")]
    const BOUND: f64 = SAFE_INTEGER as f64;
    #[expect(clippy::cast_possible_truncation, reason = "the value is an integer below 2^53")]
    if value.fract() == 0.0 && value.abs() <= BOUND {
        return Data::Int(value as i64);
    }
    Data::Float(value)
}

fn mark(span: Span) -> Mark {
    let start = span.start.byte_offset().unwrap_or_default();
    Mark {
        line: u32::try_from(span.start.line()).unwrap_or(u32::MAX).max(1),
        column: u32::try_from(span.start.col()).unwrap_or(u32::MAX).saturating_add(1),
        start,
        end: span.end.byte_offset().unwrap_or(start),
    }
}

fn finding(span: Span, message: impl Into<String>) -> Finding {
    let Mark { line, column, .. } = mark(span);
    Finding {
        severity: Severity::Error,
        code: Code::Syntax,
        rule: None,
        path: String::new(),
        line,
        column,
        message: message.into(),
        example: None,
    }
}

fn syntax_error(error: &ScanError) -> Finding {
    let at = *error.marker();
    finding(Span::empty(at), format!("the text could not be read: {}", error.info()))
}
