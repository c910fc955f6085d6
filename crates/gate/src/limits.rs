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
}
