//! Reads values out of the tree and writes down what does not fit.

use std::time::Duration;

use super::{
    MAX_EXPRESSION_NODES, Source,
    place::{Path, within},
};
use crate::{
    error::{Code, Finding, Severity},
    expr::{self, Constants, Patterns, hint},
    glob::Glob,
    tree::{Data, Entry, Mark, Node},
};

const MAX_REASON_CHARS: usize = 500;
const MAX_FINDINGS: usize = 100;

/// What all reading shares.
pub(crate) struct Reader<'t> {
    text: &'t str,
    findings: Vec<Finding>,
    /// The id of the rule or budget that is being read.
    owner: Option<String>,
    constants: Constants,
    patterns: Patterns,
    expression_nodes: usize,
}

/// A value under a key.
pub(crate) struct Field<'n> {
    pub(crate) node: &'n Node,
    pub(crate) path: Path<'n>,
}

/// The values of a mapping whose keys are known.
pub(crate) struct Fields<'n> {
    entries: &'n [Entry],
    path: &'n Path<'n>,
    at: Mark,
}

impl<'n> Fields<'n> {
    /// The value under the key, where there is one.
    pub(crate) fn find(&self, key: &str) -> Option<Field<'n>> {
        let entry = self.entries.iter().find(|entry| entry.key == key)?;
        Some(Field { node: &entry.node, path: Path::Key(self.path, &entry.key) })
    }

    /// The value under a key that must be there.
    pub(crate) fn need(&self, reader: &mut Reader<'_>, key: &str) -> Option<Field<'n>> {
        let field = self.find(key);
        if field.is_none() {
            reader.push(Code::MissingKey, self.at, self.path, format!("expected the key `{key}`"));
        }
        field
    }
}

impl<'t> Reader<'t> {
    pub(crate) fn new(text: &'t str) -> Self {
        Self {
            text,
            findings: Vec::new(),
            owner: None,
            constants: Constants::new(),
            patterns: Patterns::default(),
            expression_nodes: 0,
        }
    }

    /// The document's text.
    pub(crate) fn source(&self) -> &str {
        self.text
    }

    pub(crate) fn into_findings(self) -> Vec<Finding> {
        self.findings
    }

    pub(crate) fn set_constants(&mut self, constants: Constants) {
        self.constants = constants;
    }

    /// Names the rule or budget that the next findings belong to.
    pub(crate) fn set_owner(&mut self, id: Option<&str>) {
        self.owner = id.map(str::to_owned);
    }

    pub(crate) fn push(
        &mut self,
        code: Code,
        at: Mark,
        path: &Path<'_>,
        message: impl Into<String>,
    ) {
        // A damaged document of a mebibyte must not answer with many times its own size.
        if self.findings.len() >= MAX_FINDINGS {
            return;
        }
        self.findings.push(Finding {
            severity: Severity::Error,
            code,
            rule: self.owner.clone(),
            path: path.to_string(),
            line: at.line,
            column: at.column,
            message: message.into(),
            example: None,
        });
    }

    pub(crate) fn wrong_type(&mut self, field: &Field<'_>, wanted: &str) {
        let message = format!("expected {wanted}, found {}", field.node.kind());
        self.push(Code::WrongType, field.node.at, &field.path, message);
    }

    /// Tells a value outside what the key takes; returns nothing, so that readers can end with it.
    pub(crate) fn bad_value<T>(
        &mut self,
        field: &Field<'_>,
        message: impl Into<String>,
    ) -> Option<T> {
        self.push(Code::BadValue, field.node.at, &field.path, message);
        None
    }

    /// The mapping's values; keys that it does not have are told.
    pub(crate) fn map<'n>(
        &mut self,
        node: &'n Node,
        path: &'n Path<'n>,
        known: &[&str],
    ) -> Option<Fields<'n>> {
        let Data::Map(entries) = &node.data else {
            let message = format!("expected a mapping, found {}", node.kind());
            self.push(Code::WrongType, node.at, path, message);
            return None;
        };
        for entry in entries.iter().filter(|entry| !known.contains(&entry.key.as_str())) {
            let near = hint(&entry.key, known.iter().copied());
            let list = known.join(", ");
            let message = format!("there is no key `{}`{near}; expected {list}", entry.key);
            self.push(Code::UnknownKey, entry.at, path, message);
        }
        Some(Fields { entries, path, at: node.at })
    }

    pub(crate) fn list<'n>(&mut self, field: &Field<'n>) -> Option<&'n [Node]> {
        if let Data::List(items) = &field.node.data {
            return Some(items);
        }
        self.wrong_type(field, "a list");
        None
    }

    pub(crate) fn text<'n>(&mut self, field: &Field<'n>, wanted: &str) -> Option<&'n str> {
        if let Data::Text(text) = &field.node.data {
            return Some(text);
        }
        self.wrong_type(field, wanted);
        None
    }

    /// The value of a closed list that the text names.
    pub(crate) fn word<T: Copy>(
        &mut self,
        field: &Field<'_>,
        words: &[(&'static str, T)],
    ) -> Option<T> {
        let list = words.iter().map(|(word, _)| format!("`{word}`")).collect::<Vec<_>>().join(", ");
        let text = self.text(field, &format!("one of {list}"))?;
        if let Some((_, value)) = words.iter().find(|(word, _)| *word == text) {
            return Some(*value);
        }
        let near = hint(text, words.iter().map(|(word, _)| *word));
        self.bad_value(field, format!("expected one of {list}{near}"))
    }

    /// Whether the value is `true`.
    pub(crate) fn switch(&mut self, field: &Field<'_>) -> bool {
        let Data::Bool(on) = field.node.data else {
            self.wrong_type(field, "`true` or `false`");
            return false;
        };
        on
    }

    /// An id of a rule or budget.
    pub(crate) fn id(&mut self, field: Option<Field<'_>>) -> Option<String> {
        let field = field?;
        let text = self.text(&field, "a text")?;
        let letters = |byte: u8| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte);
        if (1..=64).contains(&text.len()) && text.bytes().all(letters) {
            return Some(text.to_owned());
        }
        self.bad_value(&field, "expected 1 to 64 characters of `A-Za-z0-9_.-`")
    }

    pub(crate) fn reason(&mut self, field: Option<Field<'_>>) -> Option<String> {
        let field = field?;
        let text = self.text(&field, "a sentence")?;
        let count = text.chars().count();
        if (1..=MAX_REASON_CHARS).contains(&count) && !text.chars().any(char::is_control) {
            return Some(text.to_owned());
        }
        self.bad_value(&field, format!("expected 1 to {MAX_REASON_CHARS} characters on one line"))
    }

    /// The patterns of `match`, one text or a list of them.
    pub(crate) fn globs(&mut self, field: Option<Field<'_>>) -> Option<Vec<Glob>> {
        let field = field?;
        let Data::List(items) = &field.node.data else {
            return self.glob(&field).map(|glob| vec![glob]);
        };
        if items.is_empty() {
            self.push(
                Code::BadPattern,
                field.node.at,
                &field.path,
                "expected at least one pattern",
            );
            return None;
        }
        let globs = items.iter().enumerate();
        globs
            .map(|(place, node)| self.glob(&Field { node, path: Path::Item(&field.path, place) }))
            .collect()
    }

    fn glob(&mut self, field: &Field<'_>) -> Option<Glob> {
        let text = self.text(field, "a pattern, such as `crm.*`")?;
        // A pattern that can match no tool name would silently switch its rule off.
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"_./-*".contains(&byte);
        let message = match Glob::parse(text) {
            Ok(glob) if text.bytes().all(fits) => return Some(glob),
            Ok(_) => "expected characters of tool names, `A-Za-z0-9_./-`, and `*`".to_owned(),
            Err(error) => error.to_string(),
        };
        self.push(Code::BadPattern, field.node.at, &field.path, message);
        None
    }

    /// The span of time, when it lies within the bounds.
    pub(crate) fn span(&mut self, field: Option<Field<'_>>) -> Option<Duration> {
        let field = field?;
        let text = self.text(&field, "a time such as `30m`")?;
        let span = expr::span(text);
        let allowed = Duration::from_mins(1)..=Duration::from_hours(168);
        span.filter(|span| allowed.contains(span)).or_else(|| {
            self.bad_value(&field, "expected a time from `1m` to `168h`, such as `1h30m`")
        })
    }

    /// The expression; what it may evaluate to is checked by `check`.
    pub(crate) fn expression(
        &mut self,
        field: Option<Field<'_>>,
        check: impl Fn(&expr::Expr) -> Result<(), expr::Problem>,
    ) -> Option<Source> {
        let field = field?;
        let text = self.text(&field, "an expression as text")?;
        let parsed = expr::parse(text, &self.constants, &mut self.patterns)
            .and_then(|parsed| check(&parsed.expr).map(|()| parsed));
        match parsed {
            Ok(parsed) => {
                self.count_nodes(parsed.nodes, &field);
                Some(Source { text: text.to_owned(), parsed, at: field.node.at })
            }
            // What all expressions share is told where it ends, and not for each that comes after.
            Err(problem) if self.is_told(&problem) => None,
            Err(problem) => {
                let at = within(self.text, field.node.at, text, problem.span.start);
                self.push(problem.code, at, &field.path, problem.message);
                None
            }
        }
    }

    fn is_told(&self, problem: &expr::Problem) -> bool {
        problem.code == Code::TooLarge
            && self.findings.iter().any(|known| known.message == problem.message)
    }

    fn count_nodes(&mut self, nodes: usize, field: &Field<'_>) {
        let before = self.expression_nodes;
        self.expression_nodes += nodes;
        if before <= MAX_EXPRESSION_NODES && self.expression_nodes > MAX_EXPRESSION_NODES {
            let message = format!(
                "expected at most {MAX_EXPRESSION_NODES} parts in all expressions together"
            );
            self.push(Code::TooLarge, field.node.at, &field.path, message);
        }
    }

    /// Tells every id that stands there twice.
    pub(crate) fn unique<'i>(
        &mut self,
        ids: impl Iterator<Item = (&'i str, Mark)>,
        path: &Path<'_>,
    ) {
        let mut seen = std::collections::BTreeMap::new();
        for (id, at) in ids {
            if let Some(line) = seen.insert(id, at.line) {
                let message = format!("the id `{id}` is already used at line {line}");
                self.push(Code::DuplicateId, at, path, message);
            }
        }
    }
}
