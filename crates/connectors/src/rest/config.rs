//! A REST connector's config: its shape, and what can be said against it without asking the API.

mod origin;
mod reading;

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use http::{HeaderMap, HeaderName, HeaderValue, header};
use model::{ConnectorName, ToolName};
use serde::Deserialize;
use serde_json::Value;
use upstream::Address;

use self::{
    origin::{Candidate, Origin},
    reading::{Reading, look_agains},
};
use super::{
    entry::{Called, Common, Entry, Place, Said},
    names,
    openapi::LeftOut,
    request::Operation,
};
use crate::{ArgsSchema, Finding, document::read_shape};

/// The published schema of the config.
pub const CONFIG_SCHEMA: &str = include_str!("../../schema/rest.json");

/// The most tools of one connector.
pub const MOST_TOOLS: usize = 200;
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
        // More operations would change nothing: the limit is exceeded.
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

/// Why no config can have this tool under its name, whatever else is in it.
pub(super) fn fault(called: Called, said: Said) -> Option<String> {
    let common = Common {
        base_url: String::new(),
        headers: BTreeMap::new(),
        timeout_ms: default_timeout(),
        max_bytes: default_bytes(),
    };
    let entry = Entry::of(called, said, &common);
    let findings = Reading::at(String::new()).findings(&entry);
    findings.into_iter().next().map(|finding| finding.message)
}

/// Gathers the tools of a config.
struct Gathering<'a> {
    connector: &'a ConnectorName,
    common: Common,
    /// The base and the headers of every request.
    sent: (&'a Address, &'a HeaderMap),
    tools: Vec<Declared>,
    left_out: Vec<LeftOut>,
    findings: Vec<Finding>,
    parts: usize,
}

impl Gathering<'_> {
    fn take(&mut self, candidate: Candidate) {
        let Candidate { at, called, said, without, parts, must_fit } = candidate;
        let entry = Entry::of(called, said, &self.common);
        let operation = entry.key();
        match self.declared(at, entry) {
            Ok(tool) => {
                self.left_out.extend(without);
                self.tools.push(tool);
                self.parts += parts;
            }
            Err(more) if must_fit => self.findings.extend(more),
            Err(more) => {
                let first = more.into_iter().next().map(|finding| finding.message);
                self.left_out.push(LeftOut { operation, reason: first.unwrap_or_default() });
            }
        }
    }

    fn declared(&self, at: String, entry: Entry) -> Result<Declared, Vec<Finding>> {
        // Names are compared before a schema is compiled, since compiling is slow.
        if let Some(Declared { entry: other, .. }) =
            self.tools.iter().find(|other| other.entry.name == entry.name)
        {
            let message = format!(
                "`{}` and `{}` are both named `{}`: expected another name for one of them",
                other.called(),
                entry.called(),
                entry.name
            );
            return Err(vec![Finding::new(format!("{at}/name"), message)]);
        }
        Reading::at(at).declare(self.connector, entry, self.sent)
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
    if address.path_and_query().contains(['{', '}']) {
        return Err(bad("expected an address without `{` and `}`".to_owned()));
    }
    if !egress::is_host(address.host()) {
        return Err(bad(crate::HOST.to_owned()));
    }
    Ok(address)
}

/// The headers of every request: what is accepted, who asks, and those of the config.
fn headers(written: &BTreeMap<String, String>) -> Result<HeaderMap, Finding> {
    let mut headers = HeaderMap::new();
    headers.insert(header::ACCEPT, HeaderValue::from_static("application/json, */*;q=0.1"));
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

/// Headers by which servers and proxies take another method or another path for that of a request.
const OVERRIDES: [&str; 6] = [
    "x-http-method",
    "x-http-method-override",
    "x-method-override",
    "x-original-url",
    "x-rewrite-url",
    "x-original-method",
];

/// A member of a query or a form that some frameworks take for the method of a request.
pub(super) const METHOD_MEMBER: &str = "_method";

/// Whether a parameter in this place changes which operation is called, so that no argument may be in
/// it.
pub(super) fn is_override(place: Place, name: &str) -> bool {
    match place {
        Place::Query => names::is_override(name),
        Place::Header => OVERRIDES.iter().any(|known| known.eq_ignore_ascii_case(name)),
    }
}

/// The header of this name, unless the connector itself sets it.
pub(super) fn free_header(name: &str) -> Option<HeaderName> {
    let name = HeaderName::try_from(name).ok()?;
    (!KEPT_HEADERS.contains(&name) && !name.as_str().starts_with("x-forwarded")).then_some(name)
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
