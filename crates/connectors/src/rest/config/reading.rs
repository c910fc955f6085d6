//! One tool of a config: everything that is wrong with it by itself.

use std::{collections::BTreeSet, sync::Arc};

use http::HeaderMap;
use model::{ConnectorName, SideEffect, ToolName, ToolNameError};
use serde_json::Value;
use upstream::Address;

use super::{
    super::{
        entry::{Content, Entry, MediaType, Parameter, Place, ReadBack, Source},
        request::{Operation, path_arguments},
    },
    Declared, KEPT, METHOD_MEMBER, free_header, is_override,
};
use crate::{ArgsSchema, Finding};

const CHANGES: &str = "this parameter changes which operation is called; expected another";

/// Reads one tool and gathers what is wrong with it.
pub(super) struct Reading {
    at: String,
    findings: Vec<Finding>,
}

impl Reading {
    /// Reads the tool at this place of the config.
    pub(super) fn at(at: String) -> Self {
        Self { at, findings: Vec::new() }
    }

    /// The tool, or everything that is wrong with it.
    pub(super) fn declare(
        mut self,
        connector: &ConnectorName,
        entry: Entry,
        (base, headers): (&Address, &HeaderMap),
    ) -> Result<Declared, Vec<Finding>> {
        let name = self.name(connector, &entry);
        let args = self.read(&entry);
        let (Some(name), Some(args), true) = (name, args, self.findings.is_empty()) else {
            return Err(self.findings);
        };
        let operation = Operation::of(&entry, base.path_and_query(), headers.clone());
        let operation = operation.ok_or(self.findings)?;
        // Texts, numbers and lists of them: there is nothing in it that JSON lacks.
        let shown = serde_json::to_value(&entry).unwrap_or_default();
        Ok(Declared { name, entry, shown, operation, args: Arc::new(args) })
    }

    /// What is wrong with the tool, the name of its connector aside.
    pub(super) fn findings(mut self, entry: &Entry) -> Vec<Finding> {
        self.read(entry);
        self.findings
    }

    /// The matcher of the arguments, where it can be made; gathers what is wrong with the tool.
    fn read(&mut self, entry: &Entry) -> Option<ArgsSchema> {
        if entry.name == "undo" {
            self.say("name", "the name `undo` is reserved for undoing writes");
        }
        let args = self.args(entry);
        self.arguments(entry);
        self.outcome(entry);
        args
    }

    fn say(&mut self, member: &str, message: impl Into<String>) {
        self.findings.push(Finding::new(format!("{}/{member}", self.at), message));
    }

    fn name(&mut self, connector: &ConnectorName, entry: &Entry) -> Option<ToolName> {
        let name = format!("{connector}.{}", entry.name).parse();
        name.map_err(|error: ToolNameError| self.say("name", error.to_string())).ok()
    }

    fn args(&mut self, entry: &Entry) -> Option<ArgsSchema> {
        let is = |key: &str, value: Value| entry.args.get(key) == Some(&value);
        if !is("type", "object".into()) || !is("additionalProperties", false.into()) {
            self.say("args", "expected `type: object` and `additionalProperties: false`, so that no argument is ignored");
        }
        ArgsSchema::compile_translated(&entry.args)
            .map_err(|error| self.say("args", error.to_string()))
            .ok()
    }

    /// Every argument has one place, and every place an argument.
    fn arguments(&mut self, entry: &Entry) {
        let Some(in_path) = path_arguments(&entry.path) else {
            self.say("path", "expected arguments in braces, such as `/pets/{pet}`");
            return;
        };
        if entry.path.contains(['?', '#', ' ', '\\']) || !entry.path.is_ascii() {
            self.say("path", "expected visible ASCII characters, and neither `?`, `#` nor `\\`");
        }
        for name in in_path.iter().filter(|name| !entry.requires(name)) {
            self.say("args", format!("expected `{name}` among `required`, since the path has it"));
        }
        for parameter in &entry.parameters {
            self.parameter(entry, parameter);
        }
        self.body(entry);
        let in_body = entry.body.as_ref().map_or(&[] as &[_], |body| body.content.arguments());
        let parameters = entry.parameters.iter().map(|parameter| &parameter.arg);
        let used = in_path.iter().chain(parameters).chain(in_body).map(String::as_str);
        let declared: BTreeSet<&str> = entry.arguments().collect();
        let mut placed = BTreeSet::new();
        for name in used {
            if !declared.contains(name) {
                self.say("args", format!("`{name}` is sent but is not a property of `args`"));
            }
            if !placed.insert(name) {
                self.say("args", format!("the property `{name}` is sent in two places"));
            }
        }
        for name in declared.difference(&placed) {
            self.say("args", format!("the property `{name}` is not sent"));
        }
    }

    fn parameter(&mut self, entry: &Entry, parameter: &Parameter) {
        let Parameter { place, name, format, .. } = parameter;
        if let Some(problem) = format.problem(*place) {
            self.say("parameters", format!("`{name}`: {problem} is not defined"));
        }
        if is_override(*place, name) {
            self.say("parameters", format!("`{name}`: {CHANGES}"));
        }
        if *place != Place::Header {
            return;
        }
        if free_header(name).is_none() {
            self.say("parameters", format!("`{name}`: {KEPT}"));
        }
        let is_same = |other: &Parameter| {
            other.place == Place::Header && other.name.eq_ignore_ascii_case(name)
        };
        if entry.parameters.iter().filter(|other| is_same(other)).count() > 1 {
            self.say("parameters", format!("`{name}`: two arguments are sent as this header"));
        }
        if entry.idempotency_header.as_ref().is_some_and(|fixed| fixed.eq_ignore_ascii_case(name)) {
            self.say("parameters", format!("`{name}`: this is the `idempotency_header`"));
        }
        if entry.headers.keys().any(|fixed| fixed.eq_ignore_ascii_case(name)) {
            self.say("parameters", format!("`{name}`: the connector's `headers` set this header"));
        }
    }

    fn body(&mut self, entry: &Entry) {
        let Some(body) = &entry.body else { return };
        if !entry.method.may_have_body() {
            self.say("body", "a request of this method has no body");
        }
        if body.media_type != MediaType::Form && !body.encoding.is_empty() {
            self.say("body/encoding", "only a form has encodings");
        }
        let is_form = body.media_type == MediaType::Form;
        let names = body.content.arguments();
        if is_form && names.iter().any(|name| is_override(Place::Query, name)) {
            self.say("body", format!("`{METHOD_MEMBER}`: {CHANGES}"));
        }
        if body.media_type == MediaType::JsonPatch && matches!(body.content, Content::Members(_)) {
            self.say("body", "a JSON patch is a list: expected `arg`");
        }
        for (name, format) in &body.encoding {
            if matches!(&body.content, Content::Members(names) if !names.contains(name)) {
                self.say("body/encoding", format!("`{name}` is not among the `members`"));
            }
            if let Some(problem) = format.problem(Place::Query) {
                self.say("body/encoding", format!("`{name}`: {problem} is not defined"));
            }
        }
    }

    fn outcome(&mut self, entry: &Entry) {
        let both = entry.success.iter().find(|status| entry.not_applied.contains(status));
        if let Some(status) = both {
            self.say("not_applied", format!("{status} is among `success` too"));
        }
        match (entry.side_effect, &entry.read_back) {
            (SideEffect::Read, Some(_)) => {
                self.say("read_back", "a read tool changes nothing: expected no `read_back`");
            }
            (SideEffect::Read, None) | (SideEffect::Write | SideEffect::Destructive, _) => {}
        }
        let header = entry.idempotency_header.as_deref();
        if header.is_some_and(|name| free_header(name).is_none()) {
            self.say("idempotency_header", KEPT);
        }
    }
}

/// What is wrong with how writes are looked at again.
pub(super) fn look_agains(tools: &[Declared]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for tool in tools {
        let Some(read_back) = &tool.entry.read_back else { continue };
        let place = format!("the tool `{}`, /read_back", tool.entry.name);
        let read = tools.iter().find(|other| other.entry.name == read_back.operation);
        let wrong = match read {
            None => Some(format!("no tool is named `{}`", read_back.operation)),
            Some(read) => look_again(read_back, &tool.entry, &read.entry),
        };
        findings.extend(wrong.map(|message| Finding::new(place, message)));
    }
    findings
}

fn look_again(read_back: &ReadBack, write: &Entry, read: &Entry) -> Option<String> {
    if read.side_effect != SideEffect::Read {
        return Some(format!("the tool `{}` is not a read tool", read.name));
    }
    let declared: BTreeSet<&str> = read.arguments().collect();
    let unknown = read_back.args.keys().find(|name| !declared.contains(name.as_str()));
    if let Some(name) = unknown {
        return Some(format!("`{}` takes no argument `{name}`", read.name));
    }
    let missing =
        declared.iter().find(|name| read.requires(name) && !read_back.args.contains_key(**name));
    if let Some(name) = missing {
        return Some(format!("`{}` needs the argument `{name}`", read.name));
    }
    let own: BTreeSet<&str> = write.arguments().collect();
    let sources = read_back.args.values().chain(read_back.compare.iter().map(|it| &it.with));
    let strange = sources.into_iter().find_map(|source| match source {
        Source::Arg(name) => (!own.contains(name.as_str())).then_some(name),
        Source::Result(_) | Source::Value(_) => None,
    });
    strange.map(|name| format!("the tool itself has no argument `{name}`"))
}
