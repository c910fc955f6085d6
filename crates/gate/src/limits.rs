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
        }
    }
}
