//! The bounds that settings give.

use std::time::Duration;

/// The bounds that settings give.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The largest `args`, in bytes of their canonical form.
    pub max_args_bytes: usize,
    /// The largest result that is stored, in bytes of its canonical form.
    pub max_result_bytes: usize,
    /// The longest a tool may run.
    pub execute_timeout: Duration,
    /// The longest an edge may take to report.
    pub edge_result_timeout: Duration,
    /// How long a person has when neither rule nor policy says.
    pub approval_expires_in: Duration,
    /// The longest that a tool may take to say what a call would do.
    pub estimate_timeout: Duration,
    /// The largest snapshot that a person is shown of a call, in bytes of its canonical form.
    pub context_max_bytes: usize,
    /// Whether people are written to when they are asked.
    pub writes_mails: bool,
    /// The longest that a mailed link works.
    pub link_max_ttl: Duration,
    /// How long a link that was used tells what became of the action.
    pub link_status_window: Duration,
    /// The longest that a caller waits for a read-back; past it the report is kept and the caller told
    /// that the call is still under way.
    pub inline_budget: Duration,
    /// How many read-backs that no caller waits for an instance makes at once.
    pub readers: usize,
    /// The longest that one question for evidence may take.
    pub readback_timeout: Duration,
    /// How often evidence that cannot be had is asked for before the verdict goes without it.
    pub witness_attempts: u32,
    /// How long evidence that a call was sealed without may still come, and amend its deed.
    pub late_evidence: Duration,
    /// The largest detail of a finding, in bytes of its canonical form.
    pub max_detail_bytes: usize,
}

impl Default for Limits {
    /// What the service's settings say unless told otherwise.
    fn default() -> Self {
        Self {
            max_args_bytes: 262_144,
            max_result_bytes: 262_144,
            execute_timeout: Duration::from_secs(30),
            edge_result_timeout: Duration::from_mins(10),
            approval_expires_in: Duration::from_mins(30),
            estimate_timeout: Duration::from_millis(500),
            context_max_bytes: 32_768,
            writes_mails: false,
            link_max_ttl: Duration::from_hours(24),
            link_status_window: Duration::from_mins(15),
            inline_budget: Duration::from_millis(1_500),
            readers: 4,
            readback_timeout: Duration::from_secs(10),
            witness_attempts: 8,
            late_evidence: Duration::from_hours(24),
            max_detail_bytes: 65_536,
        }
    }
}
