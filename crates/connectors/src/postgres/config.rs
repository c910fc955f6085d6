//! A PostgreSQL connector's config: its shape, and what can be said against it without asking the
//! database.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use model::{ConnectorName, Digest, Footprint, Level, RowOp, SideEffect, ToolName, ToolNameError};
use serde::Deserialize;
use serde_json::Value;
use tool::Definition;

use super::statement::{self, Statement, Verb};
use crate::{ArgsSchema, Finding, document::read_shape};

/// The published schema of the config.
pub const CONFIG_SCHEMA: &str = include_str!("../../schema/postgres.json");

/// Where the governed database is, who runs there, and which tools there are.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Config {
    pub(super) host: String,
    #[serde(default = "default_port")]
    pub(super) port: u16,
    pub(super) database: String,
    #[serde(default = "default_user")]
    pub(super) user: String,
    #[serde(default)]
    pub(super) read_user: Option<String>,
    #[serde(default = "default_decoder_user")]
    pub(super) decoder_user: String,
    #[serde(default = "default_owner")]
    pub(super) owner: String,
    #[serde(default)]
    pub(super) tls: Tls,
    #[serde(default = "default_search_path")]
    pub(super) search_path: Vec<String>,
    #[serde(default)]
    pub(super) read_tables: Vec<String>,
    #[serde(default)]
    pub(super) limits: Limits,
    pub(super) tools: Vec<Entry>,
}

/// How the connection is protected.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Tls {
    pub(super) mode: TlsMode,
    #[serde(default)]
    pub(super) ca_pem: Option<String>,
}

/// Whether the connection is protected.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum TlsMode {
    #[default]
    VerifyFull,
    Disable,
}

/// How long things may take, and how many at once.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Limits {
    connect_ms: u64,
    statement_ms: u64,
    lock_ms: u64,
    pub(super) connections: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { connect_ms: 5_000, statement_ms: 20_000, lock_ms: 2_000, connections: 8 }
    }
}

impl Limits {
    pub(super) fn connect(&self) -> Duration {
        Duration::from_millis(self.connect_ms)
    }

    pub(super) fn statement(&self) -> Duration {
        Duration::from_millis(self.statement_ms)
    }

    pub(super) fn lock(&self) -> Duration {
        Duration::from_millis(self.lock_ms)
    }
}

/// One tool as declared.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Entry {
    pub(super) name: String,
    pub(super) title: String,
    pub(super) description: String,
    pub(super) side_effect: SideEffect,
    pub(super) sql: String,
    pub(super) args: Value,
    pub(super) returns: Returns,
    pub(super) max_rows: u64,
    #[serde(default)]
    pub(super) footprint: Option<Footprint>,
    #[serde(default = "default_level")]
    pub(super) required_level: Level,
    #[serde(default)]
    pub(super) estimate_sql: Option<String>,
    #[serde(default)]
    pub(super) reports: Option<Reports>,
}

/// Which rows the answer of a function tells of, so that it can be held to them.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Reports {
    /// The table.
    pub(super) table: String,
    /// What it says was done to them.
    #[serde(default)]
    pub(super) op: Option<RowOp>,
    /// The column of the answer that tells a column of the table, where both have other names.
    #[serde(default)]
    pub(super) columns: BTreeMap<String, String>,
}

impl Entry {
    /// What the tool of this name is to whoever calls it.
    pub(super) fn definition(
        self,
        name: ToolName,
        (digest, target): (Digest, &Arc<Value>),
    ) -> Definition {
        Definition {
            name,
            title: self.title,
            description: self.description,
            side_effect: self.side_effect,
            input_schema: self.args.into(),
            footprint: self.footprint,
            required_level: self.required_level,
            target: Some(Arc::clone(target)),
            digest,
        }
    }
}

/// What a tool answers with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Returns {
    /// `{"rows": […]}`, at most `max_rows` of them.
    Rows,
    /// The one row, or null.
    Row,
    /// `{"count": n}`.
    Count,
}

/// A tool that holds together by itself; the database has not been asked yet.
#[derive(Debug, Clone)]
pub(super) struct Declared {
    pub(super) name: ToolName,
    pub(super) entry: Entry,
    /// The entry as written, which the definition's digest covers.
    pub(super) written: Value,
    pub(super) statement: Statement,
    pub(super) estimate: Option<Statement>,
    pub(super) args: Arc<ArgsSchema>,
}

/// Reads the config and its tools, or says everything that is wrong with them.
pub(super) fn read(
    connector: &ConnectorName,
    config: &Value,
) -> Result<(Config, Vec<Declared>), Vec<Finding>> {
    let parsed: Config = read_shape(config, CONFIG_SCHEMA)?;
    let mut findings = Vec::new();
    if !egress::is_host(&parsed.host) {
        findings.push(Finding::new("/host", crate::HOST));
    }
    let mut names = BTreeSet::new();
    let mut tools = Vec::new();
    for (at, entry) in parsed.tools.iter().enumerate() {
        if !names.insert(&entry.name) {
            findings.push(Finding::new(format!("/tools/{at}/name"), "expected unique names"));
        }
        let written = config.pointer(&format!("/tools/{at}")).cloned().unwrap_or_default();
        match Reading::new(at).declare(connector, entry, written) {
            Ok(tool) => tools.push(tool),
            Err(more) => findings.extend(more),
        }
    }
    if findings.is_empty() { Ok((parsed, tools)) } else { Err(findings) }
}

/// Reads one entry and gathers what is wrong with it.
struct Reading {
    at: usize,
    findings: Vec<Finding>,
}

impl Reading {
    fn new(at: usize) -> Self {
        Self { at, findings: Vec::new() }
    }

    fn declare(
        mut self,
        connector: &ConnectorName,
        entry: &Entry,
        written: Value,
    ) -> Result<Declared, Vec<Finding>> {
        let name = self.name(connector, entry);
        let statement = self.statement("sql", &entry.sql);
        let estimate = entry.estimate_sql.as_deref().map(|sql| self.statement("estimate_sql", sql));
        let args = self.args(entry);
        self.rows(entry);
        self.side_effect(entry, statement.as_ref(), estimate.as_ref().and_then(Option::as_ref));
        let used = [statement.as_ref(), estimate.as_ref().and_then(Option::as_ref)];
        self.parameters(&entry.args, &used.into_iter().flatten().collect::<Vec<_>>());
        let (Some(name), Some(statement), Some(args), true) =
            (name, statement, args, self.findings.is_empty())
        else {
            return Err(self.findings);
        };
        let (entry, estimate, args) = (entry.clone(), estimate.flatten(), Arc::new(args));
        Ok(Declared { name, entry, written, statement, estimate, args })
    }

    fn say(&mut self, member: &str, message: impl Into<String>) {
        self.findings.push(Finding::new(format!("/tools/{}/{member}", self.at), message));
    }

    fn name(&mut self, connector: &ConnectorName, entry: &Entry) -> Option<ToolName> {
        if entry.name == "undo" {
            self.say("name", "the name `undo` is reserved for undoing writes");
        }
        let name = format!("{connector}.{}", entry.name).parse();
        name.map_err(|error: ToolNameError| self.say("name", error.to_string())).ok()
    }

    fn statement(&mut self, member: &str, sql: &str) -> Option<Statement> {
        statement::parse(sql).map_err(|error| self.say(member, error.to_string())).ok()
    }

    fn args(&mut self, entry: &Entry) -> Option<ArgsSchema> {
        let is = |key: &str, value: Value| entry.args.get(key) == Some(&value);
        if !is("type", "object".into()) || !is("additionalProperties", false.into()) {
            self.say("args", "expected `type: object` and `additionalProperties: false`, so that no argument is ignored");
        }
        ArgsSchema::compile(&entry.args).map_err(|error| self.say("args", error.to_string())).ok()
    }

    fn side_effect(
        &mut self,
        entry: &Entry,
        statement: Option<&Statement>,
        estimate: Option<&Statement>,
    ) {
        let changes = |statement: &Statement| statement.verb == Verb::Change;
        match (entry.side_effect, &entry.footprint) {
            (SideEffect::Read, Some(_)) => {
                self.say("footprint", "a read tool changes nothing: expected no footprint");
            }
            (SideEffect::Read, None) if statement.is_some_and(changes) => {
                self.say(
                    "sql",
                    "a read tool may not change rows: expected `select`, or side effect `write`",
                );
            }
            (SideEffect::Write | SideEffect::Destructive, None) => {
                self.say(
                    "footprint",
                    "expected the tables, operations and rows that one call may change",
                );
            }
            (SideEffect::Read, None) | (SideEffect::Write | SideEffect::Destructive, Some(_)) => {}
        }
        if estimate.is_some_and(changes) {
            self.say("estimate_sql", "an estimate may not change rows: expected `select`");
        }
    }

    /// What is said of rows is said of tables that the tool declares, and of arguments that it takes.
    fn rows(&mut self, entry: &Entry) {
        let tables = entry.footprint.as_ref().map(|footprint| &footprint.tables);
        let declares = |table: &String| tables.is_some_and(|tables| tables.contains_key(table));
        if let Some(reports) = entry.reports.as_ref().filter(|reports| !declares(&reports.table)) {
            let message = format!("`{}` is not a table of the footprint", reports.table);
            self.say("reports/table", message);
        }
        let scope = entry.footprint.as_ref().and_then(|footprint| footprint.scope.as_ref());
        for (table, columns) in scope.into_iter().flatten() {
            if !declares(table) {
                self.say("footprint/scope", format!("`{table}` is not a table of the footprint"));
            }
            for argument in columns.values() {
                if entry.args.pointer(&format!("/properties/{argument}")).is_none() {
                    let message = format!("`{argument}` is not a property of `args`");
                    self.say("footprint/scope", message);
                }
            }
        }
    }

    /// Every parameter is an argument, and every argument is used.
    fn parameters(&mut self, args: &Value, statements: &[&Statement]) {
        let declared: BTreeSet<&str> = args
            .get("properties")
            .and_then(Value::as_object)
            .map(|members| members.keys().map(String::as_str).collect())
            .unwrap_or_default();
        let used: BTreeSet<&str> =
            statements.iter().flat_map(|statement| &statement.names).map(String::as_str).collect();
        for name in used.difference(&declared) {
            self.say("sql", format!("the parameter `${name}` is not a property of `args`"));
        }
        for name in declared.difference(&used).filter(|_| !statements.is_empty()) {
            self.say("args", format!("the property `{name}` is not a parameter of the statement"));
        }
    }
}

pub(super) fn default_port() -> u16 {
    5432
}

pub(super) fn default_user() -> String {
    "svc_conn".to_owned()
}

pub(super) fn default_decoder_user() -> String {
    "svc_decoder".to_owned()
}

pub(super) fn default_owner() -> String {
    "svc_owner".to_owned()
}

pub(super) fn default_search_path() -> Vec<String> {
    vec!["public".to_owned()]
}

fn default_level() -> Level {
    Level::L0
}
