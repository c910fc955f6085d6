//! The sections of the settings file as types, each made by one function that reads its rows.

use std::{collections::BTreeMap, str::FromStr, time::Duration};

use super::{
    parse::{self, Origin},
    reader::{Reader, ranged_span, switch},
    sources::Layers,
    table::{self, Row},
    unknown,
};

/// Section `gate`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gate {
    /// How long a gateway call waits for its result.
    pub wait_timeout: Duration,
    /// How long a tool may run.
    pub execute_timeout: Duration,
    /// How long an edge has to report.
    pub edge_result_timeout: Duration,
    /// The largest `args`.
    pub max_args_bytes: usize,
    /// The largest stored result.
    pub max_result_bytes: usize,
    /// Witness jobs at once.
    pub worker_concurrency: usize,
    /// Attempts of a witness job.
    pub worker_max_attempts: u32,
}

impl Gate {
    pub(super) fn read(reader: &mut Reader<'_>) -> Self {
        Self {
            wait_timeout: reader.span("gate.wait_timeout"),
            execute_timeout: reader.span("gate.execute_timeout"),
            edge_result_timeout: reader.span("gate.edge_result_timeout"),
            max_args_bytes: reader.number("gate.max_args_bytes"),
            max_result_bytes: reader.number("gate.max_result_bytes"),
            worker_concurrency: reader.number("gate.worker.concurrency"),
            worker_max_attempts: reader.number("gate.worker.max_attempts"),
        }
    }
}

/// Section `witness`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Witness {
    /// How long a read-back may hold the answer.
    pub inline_budget: Duration,
    /// How long one read-back may take.
    pub readback_timeout: Duration,
    /// The largest detail.
    pub max_detail_bytes: usize,
}

impl Witness {
    pub(super) fn read(reader: &mut Reader<'_>) -> Self {
        Self {
            inline_budget: reader.span("witness.inline_budget"),
            readback_timeout: reader.span("witness.readback_timeout"),
            max_detail_bytes: reader.number("witness.max_detail_bytes"),
        }
    }
}

/// Whether a part of the service runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Running {
    /// It runs.
    On,
    /// It does not.
    #[default]
    Off,
}

impl Running {
    pub(super) fn parse(text: &str) -> Option<Self> {
        switch(text).map(|on| if on { Self::On } else { Self::Off })
    }
}

/// Section `decoder`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decoder {
    /// Whether the change decoder runs.
    pub enabled: Running,
    /// How a slot is read.
    pub transport: Transport,
    /// Time between reads while an action waits.
    pub poll_active: Duration,
    /// Time between reads otherwise.
    pub poll_idle: Duration,
    /// Row changes asked for in one read.
    pub batch_changes: u32,
    /// Row changes of a transaction whose images are kept.
    pub max_images_per_tx: u32,
    /// Time between heartbeats.
    pub heartbeat_interval: Duration,
    /// Silence that counts as a stall.
    pub heartbeat_deadline: Duration,
    /// How long a slot is owned.
    pub lease: Duration,
    /// Time between checks of ledger rows against frames.
    pub reconcile_interval: Duration,
    /// How long frames are kept.
    pub retention: Duration,
}

impl Decoder {
    pub(super) fn read(reader: &mut Reader<'_>) -> Self {
        Self {
            enabled: reader.value_of("decoder.enabled", Running::parse),
            transport: reader.word("decoder.transport"),
            poll_active: reader.span("decoder.poll_active"),
            poll_idle: reader.span("decoder.poll_idle"),
            batch_changes: reader.number("decoder.batch_changes"),
            max_images_per_tx: reader.number("decoder.max_images_per_tx"),
            heartbeat_interval: reader.span("decoder.heartbeat_interval"),
            heartbeat_deadline: reader.span("decoder.heartbeat_deadline"),
            lease: reader.span("decoder.lease"),
            reconcile_interval: reader.span("decoder.reconcile_interval"),
            retention: reader.span("decoder.retention"),
        }
    }
}

/// How a replication slot is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Transport {
    /// By the SQL functions that peek and advance.
    #[default]
    Peek,
}

impl FromStr for Transport {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        if text == "peek" { Ok(Self::Peek) } else { Err(()) }
    }
}

/// Section `approvals`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Approvals {
    /// How long an approval waits when the policy does not say.
    pub default_expires_in: Duration,
    /// How long an estimate may take.
    pub estimate_timeout: Duration,
    /// The largest context.
    pub context_max_bytes: usize,
    /// How long a mailed link works.
    pub link_max_ttl: Duration,
    /// How long a used link follows its action.
    pub link_status_window: Duration,
    /// The most people that one approval mails.
    pub max_recipients: u32,
}

impl Approvals {
    pub(super) fn read(reader: &mut Reader<'_>) -> Self {
        Self {
            default_expires_in: reader.span("approvals.default_expires_in"),
            estimate_timeout: reader.span("approvals.estimate_timeout"),
            context_max_bytes: reader.number("approvals.context_max_bytes"),
            link_max_ttl: reader.span("approvals.link_max_ttl"),
            link_status_window: reader.span("approvals.link_status_window"),
            max_recipients: reader.number("approvals.max_recipients"),
        }
    }
}

/// Section `webhooks`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Webhooks {
    /// How long a delivery may take.
    pub timeout: Duration,
    /// Retries after the first attempt.
    pub max_attempts: u32,
    /// How long an endpoint may fail.
    pub disable_after: Duration,
    /// Endpoints of an org.
    pub max_endpoints_per_org: u32,
}

impl Webhooks {
    pub(super) fn read(reader: &mut Reader<'_>) -> Self {
        Self {
            timeout: reader.span("webhooks.timeout"),
            max_attempts: reader.number("webhooks.max_attempts"),
            disable_after: reader.span("webhooks.disable_after"),
            max_endpoints_per_org: reader.number("webhooks.max_endpoints_per_org"),
        }
    }
}

/// Section `undo`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Undo {
    /// The most rows that one undo restores; never more than have their images kept.
    pub max_rows: u32,
    /// How long after its seal an action can be undone.
    pub max_age: Duration,
    /// How long an undo waits for locks.
    pub lock_timeout: Duration,
    /// How long one statement may run.
    pub statement_timeout: Duration,
    /// Steps that a preview lists by default.
    pub preview_steps: u32,
}

impl Undo {
    pub(super) fn read(reader: &mut Reader<'_>, decoder: &Decoder) -> Self {
        let max_rows: u32 = reader.number("undo.max_rows");
        Self {
            max_rows: max_rows.min(decoder.max_images_per_tx),
            max_age: reader.span("undo.max_age"),
            lock_timeout: reader.span("undo.lock_timeout"),
            statement_timeout: reader.span("undo.statement_timeout"),
            preview_steps: reader.number("undo.preview_steps"),
        }
    }
}

/// Section `mcp`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mcp {
    /// Browser origins that are let in besides the service's own.
    pub allowed_origins: Vec<Origin>,
    /// Method families that are forwarded.
    pub passthrough: Vec<String>,
    /// MCP servers by name.
    pub upstreams: BTreeMap<String, Upstream>,
}

/// One MCP server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Upstream {
    /// Its address.
    pub url: String,
    /// Request headers and the environment variables that hold their values.
    pub headers_from_env: BTreeMap<String, String>,
    /// How long it may take to answer.
    pub timeout: Duration,
    /// How long its tool list is believed.
    pub tools_ttl: Duration,
}

/// Connector names that mean something else; they name no upstream.
const RESERVED: [&str; 4] = ["service", "mcp", "native", "fake"];

impl Mcp {
    pub(super) fn read(reader: &mut Reader<'_>, layers: &Layers) -> Self {
        let word = |text: &str| table::PASSTHROUGHS.contains(&text).then(|| text.to_owned());
        Self {
            allowed_origins: reader.list("mcp.allowed_origins", Origin::parse),
            passthrough: reader.list("mcp.passthrough", word),
            upstreams: upstreams(reader, layers),
        }
    }
}

fn upstreams(reader: &mut Reader<'_>, layers: &Layers) -> BTreeMap<String, Upstream> {
    let names: std::collections::BTreeSet<&String> = layers
        .file
        .iter()
        .filter_map(|leaf| match leaf.path.as_slice() {
            [mcp, upstreams, name, ..] if mcp == "mcp" && upstreams == "upstreams" => Some(name),
            _ => None,
        })
        .collect();
    let mut read = BTreeMap::new();
    for name in names {
        if !is_upstream_name(name) {
            reader.problem(
                &format!("mcp.upstreams.{name}"),
                None,
                "expected a name of 2 to 32 lowercase letters, digits or hyphens, \
                 not `service`, `mcp`, `native` or `fake`",
            );
        }
        if let Some(upstream) = upstream(reader, layers, name) {
            read.insert(name.clone(), upstream);
        }
    }
    read
}

fn is_upstream_name(name: &str) -> bool {
    let letters = name.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-'));
    (2..=32).contains(&name.len()) && letters && !RESERVED.contains(&name)
}

fn upstream(reader: &mut Reader<'_>, layers: &Layers, name: &str) -> Option<Upstream> {
    let path = |key: &str| ["mcp", "upstreams", name, key].map(str::to_owned);
    let row = |key: &str| table::find(&format!("mcp.upstreams.<name>.{key}"));
    let url = reader.under((row("url")?, &path("url")), |_, text| {
        parse::web_address(text).map(|_| text.to_owned())
    });
    if layers.in_file(&path("url")).is_none() {
        reader.problem(&path("url").join("."), None, "an upstream needs its address");
    }
    let timeout = reader.under((row("timeout")?, &path("timeout")), ranged_span)?;
    let tools_ttl = reader.under((row("tools_ttl")?, &path("tools_ttl")), ranged_span)?;
    let headers_from_env = headers(reader, layers, (row("headers_from_env.<header>")?, name));
    Some(Upstream { url: url?, headers_from_env, timeout, tools_ttl })
}

fn headers(
    reader: &mut Reader<'_>,
    layers: &Layers,
    (row, name): (&'static Row, &str),
) -> BTreeMap<String, String> {
    let mut headers = BTreeMap::new();
    for leaf in &layers.file {
        let [.., upstream, _, header] = leaf.path.as_slice() else { continue };
        if !unknown::matches(row, &leaf.path) || upstream != name {
            continue;
        }
        let variable = reader.under((row, &leaf.path), |_, text| {
            let fits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic());
            fits.then(|| text.to_owned())
        });
        if header.parse::<http::HeaderName>().is_err() {
            reader.problem(&leaf.path.join("."), None, "expected the name of a request header");
        }
        headers.extend(variable.map(|variable| (header.clone(), variable)));
    }
    headers
}
