//! The sections of the settings file as types, each made by one function that reads its rows.

use std::time::Duration;

use super::reader::Reader;

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
