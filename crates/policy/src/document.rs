//! A policy document as its author means it: every value read, every expression parsed.
//!
//! Reading collects everything that is wrong; a [`Document`] exists only when nothing is.

pub(crate) mod approval;
pub(crate) mod budget;
pub(crate) mod place;
pub(crate) mod reader;
pub(crate) mod rules;

use std::{fmt, sync::Arc, time::Duration};

use model::{Assurance, DecisionOutcome};
use serde_json::Value;

use crate::{
    error::{Code, DocumentError, Finding, Severity},
    expr::{Constants, Decimal, Expr, Failure, Parsed},
    glob::Glob,
    tree::{self, Data, Mark, Node},
};
use place::Path;
use reader::Reader;

pub use approval::ApprovalClause;
pub use budget::Window;

/// The longest document, in bytes.
pub const MAX_BYTES: usize = 1 << 20;
/// The most rules of a document; budgets have the same limit.
pub const MAX_RULES: usize = 5_000;
/// The most nodes of all expressions of a document together.
pub const MAX_EXPRESSION_NODES: usize = 200_000;

/// The keys of a document.
pub(crate) const KEYS: [&str; 6] =
    ["schema", "default", "constants", "rules", "budgets", "approvals"];

/// A policy document that can be used.
#[derive(Clone)]
pub struct Document {
    pub(crate) default: Fallback,
    pub(crate) rules: Vec<Rule>,
    pub(crate) budgets: Vec<Budget>,
    /// The text, for the places of findings; a policy that only decides does not keep it.
    pub(crate) text: String,
    /// The document's data; its canonical form is what the digest covers.
    pub(crate) json: Value,
}

/// What happens to a call that no rule covers.
#[derive(Debug, Clone)]
pub(crate) struct Fallback {
    pub(crate) outcome: DecisionOutcome,
    pub(crate) reason: Option<Arc<str>>,
    /// Who must say yes, when somebody must.
    pub(crate) asks: Option<Arc<ApprovalClause>>,
}

/// One rule.
#[derive(Debug, Clone)]
pub(crate) struct Rule {
    pub(crate) id: Arc<str>,
    pub(crate) globs: Vec<Glob>,
    pub(crate) when: Option<Source>,
    pub(crate) outcome: DecisionOutcome,
    pub(crate) reason: Option<Arc<str>>,
    /// Who must say yes, when somebody must.
    pub(crate) asks: Option<Arc<ApprovalClause>>,
    /// Where the rule stands, for findings about it as a whole.
    pub(crate) at: Mark,
}

/// An expression and the text that it was read from.
#[derive(Clone)]
pub(crate) struct Source {
    pub(crate) text: String,
    pub(crate) parsed: Parsed,
    /// Where the text stands in the document.
    #[cfg_attr(not(feature = "prover"), expect(dead_code, reason = "only `lint` points at it"))]
    pub(crate) at: Mark,
}

/// Who must say yes, as a rule writes it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Clause {
    pub(crate) from: Vec<String>,
    pub(crate) count: Option<u8>,
    pub(crate) expires_in: Option<Duration>,
    pub(crate) exclude: Option<Vec<Excluded>>,
    pub(crate) show: Vec<String>,
    pub(crate) estimate: bool,
    pub(crate) assurance: Option<Assurance>,
}

/// A person who may not approve although a rule's `from` names them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Excluded {
    /// The person that the agent acts for.
    OnBehalfOf,
    /// The person who owns the agent.
    AgentOwner,
    /// The person who wrote the policy version.
    PolicyAuthor,
}

impl Excluded {
    /// The values in order.
    pub const ALL: [Self; 3] = [Self::OnBehalfOf, Self::AgentOwner, Self::PolicyAuthor];

    /// Returns the word that documents use.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::OnBehalfOf => "on_behalf_of",
            Self::AgentOwner => "agent_owner",
            Self::PolicyAuthor => "policy_author",
        }
    }
}

/// A budget over the calls that its patterns cover.
#[derive(Debug, Clone)]
pub(crate) struct Budget {
    pub(crate) id: String,
    pub(crate) globs: Vec<Glob>,
    pub(crate) per: Vec<Per>,
    pub(crate) window: Window,
    pub(crate) measure: Measure,
    /// Where the budget stands.
    pub(crate) at: Mark,
}

/// What a budget counts apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Per {
    Org,
    Agent,
    OnBehalfOf,
    Session,
    Connector,
    Tool,
}

impl Per {
    pub(crate) const ALL: [Self; 6] =
        [Self::Org, Self::Agent, Self::OnBehalfOf, Self::Session, Self::Connector, Self::Tool];

    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Org => "org",
            Self::Agent => "agent",
            Self::OnBehalfOf => "on_behalf_of",
            Self::Session => "session",
            Self::Connector => "connector",
            Self::Tool => "tool",
        }
    }
}

/// What a budget adds up.
#[derive(Debug, Clone)]
pub(crate) enum Measure {
    /// Calls, up to this many.
    Count(u64),
    /// What the calls cost.
    Cost(Box<Cost>),
}

/// How much a call costs, and how much all calls of a window may.
#[derive(Debug, Clone)]
pub(crate) struct Cost {
    pub(crate) amount: Source,
    /// What tells the call's currency, which must be the unit; without it the unit is taken for
    /// granted.
    pub(crate) currency: Option<Source>,
    pub(crate) limit: Decimal,
    pub(crate) unit: String,
}

impl Document {
    /// Returns all expressions, to change.
    pub(crate) fn sources_mut(&mut self) -> impl Iterator<Item = &mut Source> {
        let conditions = self.rules.iter_mut().filter_map(|rule| rule.when.as_mut());
        let costs = self.budgets.iter_mut().filter_map(|budget| match &mut budget.measure {
            Measure::Count(_) => None,
            Measure::Cost(cost) => Some(&mut **cost),
        });
        conditions.chain(
            costs.flat_map(|cost| [Some(&mut cost.amount), cost.currency.as_mut()]).flatten(),
        )
    }
}

impl Budget {
    /// Returns whether one of the budget's patterns covers the tool.
    pub(crate) fn covers(&self, tool: &str) -> bool {
        self.globs.iter().any(|glob| glob.is_match(tool))
    }
}

impl Source {
    pub(crate) fn expr(&self) -> &Expr {
        &self.parsed.expr
    }

    /// Says what failed: the part of the expression and the cause.
    pub(crate) fn in_words(&self, failure: &Failure<'_>) -> String {
        let part = self.text.get(failure.span.start..failure.span.end).unwrap_or(&self.text);
        format!("`{part}`: {}", failure.cause)
    }
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for Document {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Document")
            .field("rules", &self.rules.len())
            .field("budgets", &self.budgets.len())
            .finish_non_exhaustive()
    }
}

/// Returns the document that the text is, YAML 1.2 or JSON, or everything that is wrong with it.
pub fn parse(text: &str) -> Result<Document, DocumentError> {
    if text.len() > MAX_BYTES {
        let message = format!("expected a document of at most {MAX_BYTES} bytes");
        return Err(whole(Code::TooLarge, message));
    }
    let root = tree::read(text).map_err(|findings| DocumentError { findings })?;
    let mut reader = Reader::new(text);
    let document = read(&mut reader, &root);
    let mut findings = reader.into_findings();
    match document {
        Some(document) if findings.is_empty() => Ok(document),
        Some(_) | None => {
            findings.sort_by_key(|finding| (finding.line, finding.column));
            Err(DocumentError { findings })
        }
    }
}

fn read(reader: &mut Reader<'_>, root: &Node) -> Option<Document> {
    let path = Path::Root;
    let fields = reader.map(root, &path, &KEYS)?;
    let schema = fields.need(reader, "schema");
    read_schema(reader, schema);
    read_constants(reader, fields.find("constants"));
    let default = fields.find("default");
    if default.is_none() {
        let message = "expected `default`, such as `default: { outcome: deny }`";
        reader.push(Code::NoDefault, root.at, &path, message);
    }
    let expires_in = approval::policy_wide(reader, fields.find("approvals"));
    let default = default.and_then(|field| rules::fallback(reader, field, expires_in));
    let rules = rules::rules(reader, fields.find("rules"), expires_in);
    let budgets = budget::budgets(reader, fields.find("budgets"));
    let json = root.to_json();
    let text = reader.source().to_owned();
    Some(Document { default: default?, rules, budgets, text, json })
}

fn read_schema(reader: &mut Reader<'_>, field: Option<reader::Field<'_>>) {
    let Some(field) = field else { return };
    if field.node.data != Data::Int(1) {
        let message = "expected `1`, the only schema there is";
        reader.push(Code::BadValue, field.node.at, &field.path, message);
    }
}

fn read_constants(reader: &mut Reader<'_>, field: Option<reader::Field<'_>>) {
    let Some(field) = field else { return };
    let Data::Map(entries) = &field.node.data else {
        reader.wrong_type(&field, "a mapping of names to values");
        return;
    };
    let mut constants = Constants::new();
    for entry in entries {
        let path = Path::Key(&field.path, &entry.key);
        let mut letters = entry.key.bytes();
        let is_name = letters.next().is_some_and(|first| first.is_ascii_alphabetic())
            && letters.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        if !is_name {
            let message = "expected a name of letters, digits and `_`";
            reader.push(Code::BadValue, entry.at, &path, message);
        }
        if matches!(entry.node.data, Data::Map(_)) {
            reader.push(
                Code::WrongType,
                entry.node.at,
                &path,
                "expected a value or a list of values",
            );
        }
        constants.insert(entry.key.clone(), Arc::new(entry.node.to_json()));
    }
    reader.set_constants(constants);
}

fn whole(code: Code, message: String) -> DocumentError {
    let finding = Finding {
        severity: Severity::Error,
        code,
        rule: None,
        path: String::new(),
        line: 1,
        column: 1,
        message,
        example: None,
    };
    DocumentError { findings: vec![finding] }
}
