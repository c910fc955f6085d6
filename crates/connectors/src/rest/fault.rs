//! What went wrong, in the service's closed list of codes and in sentences that hold nothing of what
//! the API said.

use model::{ExecutionErrorCode as Code, Fault};
use upstream::{Sent, UpstreamError};

/// What a call says whose request came to no whole answer.
pub(super) fn of_upstream(error: &UpstreamError) -> Fault {
    let (code, sentence) = match error {
        UpstreamError::Refused(_) => (Code::EgressRefused, "the API's address is not allowed"),
        UpstreamError::Unreachable(_) => {
            (Code::ConnectorUnreachable, "the connection to the API failed")
        }
        UpstreamError::Tls { .. } => {
            (Code::ConnectorMisconfigured, "the TLS connection to the API failed")
        }
        UpstreamError::Late { sent: Sent::Never } => {
            (Code::ConnectorUnreachable, "the connection to the API timed out")
        }
        UpstreamError::Late { sent: Sent::Perhaps } => (Code::ToolTimeout, "the API timed out"),
        UpstreamError::Broken { .. } => {
            (Code::ConnectorUnreachable, "the API's response was incomplete or was not valid HTTP")
        }
    };
    Fault::new(code, sentence)
}

/// What a call says that the API answered with a status that is no success.
pub(super) fn of_status(status: u16) -> Fault {
    let code = match status {
        401 | 403 => Code::ConnectorAuthFailed,
        _ => Code::ToolError,
    };
    Fault::new(code, format!("the API returned {status}"))
}
