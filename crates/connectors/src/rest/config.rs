//! A REST connector's config: its shape, and what can be said against it without asking the API.

mod origin;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use http::{HeaderMap, HeaderName, HeaderValue, header};
use model::{ConnectorName, SideEffect, ToolName, ToolNameError};
use serde::Deserialize;
use serde_json::Value;
use upstream::Address;

use self::origin::{Candidate, Origin};
use super::{
    entry::{Body, Common, Entry, Place, ReadBack, Source},
    openapi::LeftOut,
    request::{Operation, path_arguments},
};
use crate::{ArgsSchema, Finding, document::read_shape};

/// The published schema of the config.
pub const CONFIG_SCHEMA: &str = include_str!("../../schema/rest.json");

/// The most tools of one connector.
pub(super) const MOST_TOOLS: usize = 200;
/// The most parts that the schemas of a description's tools have together.
const MOST_PARTS: usize = 100_000;

/// Headers that say how a message is read or whose it is; a tool sets none of them.
const KEPT_HEADERS: [HeaderName; 18] = [
    header::ACCEPT,
    header::ACCEPT_ENCODING,
    header::AUTHORIZATION,
    header::CONNECTION,
    header::CONTENT_ENCODING,
    header::CONTENT_LENGTH,
    header::CONTENT_TYPE,
    header::COOKIE,
    header::EXPECT,
    header::FORWARDED,
    header::HOST,
    header::PROXY_AUTHORIZATION,
    header::RANGE,
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
    header::VIA,
];

/// Whether calls go without anybody's credential.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Auth {
    #[default]
    Credential,
    None,
}

/// Whom the connector believes, and what it shows.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Tls {
    pub(super) ca_pem: Option<String>,
    pub(super) client_certificate_pem: Option<String>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    base_url: String,
    #[serde(default)]
    auth: Auth,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    #[serde(default)]
    tls: Tls,
    #[serde(default = "default_connect")]
    connect_ms: u64,
    #[serde(default = "default_timeout")]
    timeout_ms: u64,
    #[serde(default = "default_bytes")]
    max_bytes: usize,
    check_path: Option<String>,
    openapi: Option<Value>,
    operations: Option<Vec<Value>>,
    tools: Option<Vec<Value>>,
}

/// A config that holds together by itself.
#[derive(Debug, Clone)]
pub(super) struct Config {
    pub(super) base: Address,
    pub(super) auth: Auth,
    pub(super) tls: Tls,
    pub(super) connect: Duration,
    /// The path of the check, below the base's.
    pub(super) check_path: Option<String>,
    /// The headers of every request.
    pub(super) headers: HeaderMap,
    pub(super) tools: Vec<Declared>,
    /// The operations of the description that no tool calls, each with its reason.
    pub(super) left_out: Vec<LeftOut>,
}

/// A tool that holds together.
#[derive(Debug, Clone)]
pub(super) struct Declared {
    pub(super) name: ToolName,
    pub(super) entry: Entry,
    /// The entry as its digest covers it and people are shown it.
    pub(super) shown: Value,
    pub(super) operation: Operation,
    pub(super) args: Arc<ArgsSchema>,
}

/// Reads the config and its tools, or says everything that is wrong with them.
pub(super) fn read(connector: &ConnectorName, config: &Value) -> Result<Config, Vec<Finding>> {
    let written: Written = read_shape(config, CONFIG_SCHEMA)?;
    let mut findings = Vec::new();
    let base = base(&written.base_url).map_err(|finding| findings.push(finding)).ok();
    let headers = headers(&written.headers).map_err(|finding| findings.push(finding)).ok();
    let origin = Origin::of(&written).map_err(|finding| findings.push(finding)).ok();
    let candidates = origin.as_ref().map(Origin::candidates).transpose();
    let candidates = candidates.map_err(|more| findings.extend(more)).ok().flatten();
    let (Some(base), Some(headers), Some(origin), Some(candidates)) =
        (base, headers, origin.as_ref(), candidates)
    else {
        return Err(findings);
    };
    let common = Common {
        base_url: written.base_url.clone(),
        headers: written.headers.clone(),
        timeout_ms: written.timeout_ms,
        max_bytes: written.max_bytes,
    };
    let mut gathering = Gathering {
        connector,
        common,
        sent: (&base, &headers),
        is_chosen: origin.is_chosen(),
        tools: Vec::new(),
        left_out: Vec::new(),
        findings: Vec::new(),
        parts: 0,
    };
    for candidate in candidates {
        match candidate {
            Ok(candidate) => gathering.take(candidate),
            Err(left) => gathering.left_out.push(left),
        }
        // Whatever else there is, it is too much already.
        if let Some(finding) = gathering.too_much(origin) {
            return Err(vec![finding]);
        }
    }
    let Gathering { tools, left_out, mut findings, .. } = gathering;
    findings.extend(look_agains(&tools));
    if tools.is_empty() && findings.is_empty() {
        findings.push(Finding::new("/openapi", "no operation of the description can be served"));
    }
    if !findings.is_empty() {
        return Err(findings);
    }
    Ok(Config {
        base,
        auth: written.auth,
        tls: written.tls,
        connect: Duration::from_millis(written.connect_ms),
        check_path: written.check_path,
        headers,
        tools,
        left_out,
    })
}

/// Gathers the tools of a config.
struct Gathering<'a> {
    connector: &'a ConnectorName,
    common: Common,
    /// The base and the headers of every request.
    sent: (&'a Address, &'a HeaderMap),
    /// Whether somebody chose these operations, which have to fit then; of a whole description, what
    /// does not fit is left out.
    is_chosen: bool,
    tools: Vec<Declared>,
    left_out: Vec<LeftOut>,
    findings: Vec<Finding>,
    parts: usize,
}

impl Gathering<'_> {
    fn take(&mut self, candidate: Candidate) {
        let Candidate { at, called, said, without, parts } = candidate;
        let operation = format!("{} {}", called.method.http(), called.path);
        let entry = Entry::of(called, said, &self.common);
        self.left_out.extend(without);
        match self.declared(at, entry) {
            Ok(tool) => {
                self.tools.push(tool);
                self.parts += parts;
            }
            Err(more) if self.is_chosen => self.findings.extend(more),
            Err(more) => {
                let first = more.into_iter().next().map(|finding| finding.message);
                self.left_out.push(LeftOut { operation, reason: first.unwrap_or_default() });
            }
        }
    }

    fn declared(&self, at: String, entry: Entry) -> Result<Declared, Vec<Finding>> {
        // Names are compared first: nothing is compiled in vain.
        if self.tools.iter().any(|other| other.entry.name == entry.name) {
            let message = format!("another tool is named `{}`", entry.name);
            return Err(vec![Finding::new(format!("{at}/name"), message)]);
        }
        Reading { at, findings: Vec::new() }.declare(self.connector, entry, self.sent)
    }

    /// Why no further operation is looked at, where that is so.
    fn too_much(&self, origin: &Origin<'_>) -> Option<Finding> {
        if self.tools.len() > MOST_TOOLS {
            let message = format!(
                "more than {MOST_TOOLS} operations of the description can be served: choose at \
                 most {MOST_TOOLS} by `operations`"
            );
            return Some(Finding::new("/operations", message));
        }
        (self.parts > MOST_PARTS || origin.is_spent()).then(|| {
            let message = format!(
                "the schemas of the operations have more than {MOST_PARTS} parts together: choose \
                 fewer by `operations`, or make a shorter tool list with `convert`"
            );
            Finding::new("/openapi", message)
        })
    }
}

fn base(text: &str) -> Result<Address, Finding> {
    let bad = |message: String| Finding::new("/base_url", message);
    let address = Address::parse(text).map_err(|error| bad(error.to_string()))?;
    if address.path_and_query().contains('?') {
        return Err(bad("the address has a query (`?`); expected one without".to_owned()));
    }
    if !egress::is_host(address.host()) {
        return Err(bad(crate::HOST.to_owned()));
    }
    Ok(address)
}

/// The headers of every request: what is accepted, who asks, and those of the config.
fn headers(written: &BTreeMap<String, String>) -> Result<HeaderMap, Finding> {
    let mut headers = HeaderMap::new();
    headers.insert(header::ACCEPT, HeaderValue::from_static("application/json"));
    headers.insert(header::USER_AGENT, HeaderValue::from_static("chancery"));
    for (name, value) in written {
        let at = format!("/headers/{name}");
        let key = free_header(name).ok_or_else(|| Finding::new(&*at, KEPT))?;
        let value = HeaderValue::try_from(value)
            .map_err(|_| Finding::new(at, "expected visible ASCII characters"))?;
        headers.insert(key, value);
    }
    Ok(headers)
}

const KEPT: &str = "the connector sets this header itself; expected another header";

/// The header of this name, unless the connector itself sets it.
pub(super) fn free_header(name: &str) -> Option<HeaderName> {
    let name = HeaderName::try_from(name).ok()?;
    (!KEPT_HEADERS.contains(&name) && !name.as_str().starts_with("x-forwarded")).then_some(name)
}

/// Reads one tool and gathers what is wrong with it.
struct Reading {
    at: String,
    findings: Vec<Finding>,
}

impl Reading {
    fn declare(
        mut self,
        connector: &ConnectorName,
        entry: Entry,
        (base, headers): (&Address, &HeaderMap),
    ) -> Result<Declared, Vec<Finding>> {
        let name = self.name(connector, &entry);
        let args = self.args(&entry);
        self.arguments(&entry);
        self.outcome(&entry);
        let operation = Operation::of(&entry, base.path_and_query(), headers.clone());
        let (Some(name), Some(args), Some(operation), true) =
            (name, args, operation, self.findings.is_empty())
        else {
            return Err(self.findings);
        };
        // Texts, numbers and lists of them: there is nothing in it that JSON lacks.
        let shown = serde_json::to_value(&entry).unwrap_or_default();
        Ok(Declared { name, entry, shown, operation, args: Arc::new(args) })
    }

    fn say(&mut self, member: &str, message: impl Into<String>) {
        self.findings.push(Finding::new(format!("{}/{member}", self.at), message));
    }

    fn name(&mut self, connector: &ConnectorName, entry: &Entry) -> Option<ToolName> {
        if entry.name == "undo" {
            self.say("name", "the name `undo` is reserved for undoing writes");
        }
        let name = format!("{connector}.{}", entry.name).parse();
        name.map_err(|error: ToolNameError| self.say("name", error.to_string())).ok()
    }

    fn args(&mut self, entry: &Entry) -> Option<ArgsSchema> {
        let is = |key: &str, value: Value| entry.args.get(key) == Some(&value);
        if !is("type", "object".into()) || !is("additionalProperties", false.into()) {
            self.say("args", "expected `type: object` and `additionalProperties: false`, so that no argument is ignored");
        }
        ArgsSchema::compile(&entry.args).map_err(|error| self.say("args", error.to_string())).ok()
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
            if parameter.place == Place::Header && free_header(&parameter.name).is_none() {
                self.say("parameters", format!("`{}`: {KEPT}", parameter.name));
            }
        }
        if entry.body.is_some() && !entry.method.may_have_body() {
            self.say("body", "a request of this method has no body");
        }
        let in_body = match &entry.body {
            None => &[],
            Some(Body::Arg(name)) => std::slice::from_ref(name),
            Some(Body::Members(names)) => names.as_slice(),
        };
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
fn look_agains(tools: &[Declared]) -> Vec<Finding> {
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

fn default_connect() -> u64 {
    5_000
}

fn default_timeout() -> u64 {
    20_000
}

fn default_bytes() -> usize {
    1 << 20
}
