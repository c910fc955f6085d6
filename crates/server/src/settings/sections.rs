//! The sections of the settings file as types, each made by one function that reads its rows.

use std::{str::FromStr, time::Duration};

use super::reader::{Reader, switch};

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
}

impl Gate {
    pub(super) fn read(reader: &mut Reader<'_>) -> Self {
        Self {
            wait_timeout: reader.span("gate.wait_timeout"),
            execute_timeout: reader.span("gate.execute_timeout"),
            edge_result_timeout: reader.span("gate.edge_result_timeout"),
            max_args_bytes: reader.number("gate.max_args_bytes"),
            max_result_bytes: reader.number("gate.max_result_bytes"),
        }
    }
}

/// Section `witness`, and what of `gate.worker` is about evidence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Witness {
    /// How many read-backs that no caller waits for are made at once.
    pub concurrency: usize,
    /// How long a read-back may hold the answer.
    pub inline_budget: Duration,
    /// How often evidence is asked for.
    pub max_attempts: u32,
    /// How long one question for it may take.
    pub readback_timeout: Duration,
    /// How long it may still come behind the seal.
    pub late_evidence: Duration,
    /// The largest detail.
    pub max_detail_bytes: usize,
}

impl Witness {
    pub(super) fn read(reader: &mut Reader<'_>) -> Self {
        Self {
            concurrency: reader.number("gate.worker.concurrency"),
            inline_budget: reader.span("witness.inline_budget"),
            max_attempts: reader.number("gate.worker.max_attempts"),
            readback_timeout: reader.span("witness.readback_timeout"),
            late_evidence: reader.span("witness.late_evidence"),
            max_detail_bytes: reader.number("witness.max_detail_bytes"),
        }
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
    /// The longest that a mailed link works.
    pub link_max_ttl: Duration,
    /// How long a used link follows its action.
    pub link_status_window: Duration,
    /// The most people that one approval mails.
    pub max_recipients: usize,
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
    /// How long a try may take.
    pub timeout: Duration,
    /// The most tries after the first.
    pub max_attempts: usize,
    /// How long an endpoint may take nothing before it is disabled.
    pub disable_after: Duration,
    /// The most endpoints of an org.
    pub max_endpoints: usize,
}

impl Webhooks {
    pub(super) fn read(reader: &mut Reader<'_>) -> Self {
        Self {
            timeout: reader.span("webhooks.timeout"),
            max_attempts: reader.number("webhooks.max_attempts"),
            disable_after: reader.span("webhooks.disable_after"),
            max_endpoints: reader.number("webhooks.max_endpoints_per_org"),
        }
    }
}

/// Section `decoder`, and what else is about change logs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decoder {
    /// Whether change logs are read.
    pub enabled: bool,
    /// Whether reading is held still.
    pub paused: bool,
    /// How a slot is read.
    pub transport: Transport,
    /// The rest between reads while somebody waits.
    pub poll_active: Duration,
    /// The rest between reads otherwise.
    pub poll_idle: Duration,
    /// Changes asked for in one read.
    pub batch_changes: u32,
    /// Changes of a transaction whose rows are kept.
    pub max_images: usize,
    /// How often a heartbeat is written.
    pub heartbeat_interval: Duration,
    /// How long none may be read.
    pub heartbeat_deadline: Duration,
    /// How long an instance owns a log.
    pub lease: Duration,
    /// How often the ledger is compared with its log.
    pub reconcile_interval: Duration,
    /// How long the transactions of actions are kept.
    pub retention: Duration,
    /// How many MiB of its log a slot may keep a database from removing.
    pub slot_lag_alert_mb: u64,
}

/// How a slot is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Transport {
    /// By plain SQL.
    #[default]
    Peek,
}

impl FromStr for Transport {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        if text == "peek" { Ok(Self::Peek) } else { Err(()) }
    }
}

impl Decoder {
    pub(super) fn read(reader: &mut Reader<'_>) -> Self {
        Self {
            enabled: reader.value_of("decoder.enabled", switch),
            paused: reader.value_of("SERVICE_DECODER_PAUSE", switch),
            transport: reader.word("decoder.transport"),
            poll_active: reader.span("decoder.poll_active"),
            poll_idle: reader.span("decoder.poll_idle"),
            batch_changes: reader.number("decoder.batch_changes"),
            max_images: reader.number("decoder.max_images_per_tx"),
            heartbeat_interval: reader.span("decoder.heartbeat_interval"),
            heartbeat_deadline: reader.span("decoder.heartbeat_deadline"),
            lease: reader.span("decoder.lease"),
            reconcile_interval: reader.span("decoder.reconcile_interval"),
            retention: reader.span("decoder.retention"),
            slot_lag_alert_mb: reader.number("SERVICE_SLOT_LAG_ALERT_MB"),
        }
    }
}
