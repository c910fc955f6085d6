//! A call as it was parsed, and why it may be rejected before anything is recorded.

use intent::IntentError;
use ledger::{LedgerError, StoreDown, record::Client};
use model::{ActionId, Digest, KeyId, OrgId};
use policy::Call;
use serde_json::json;

/// A call of a tool, parsed and not yet looked at.
#[derive(Debug, Clone)]
pub struct Submission {
    /// The org that the key belongs to.
    pub org: OrgId,
    /// The key.
    pub key: KeyId,
    /// The call, its arguments read by the strict parser. Of the agent only the id counts here:
    /// the turn that decides knows the rest of it, the moment and the zone, and the tool that is
    /// found says what it does.
    pub call: Call,
    /// What the edge says of its tool; proxy mode only.
    pub edge: Option<EdgeTool>,
    /// The client's name and version.
    pub client: Option<Client>,
    /// The key that names this call for 24 hours.
    pub idempotency_key: Option<String>,
    /// The signed intent as sent.
    pub intent: Option<String>,
}

/// What an edge says of the tool that it would run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EdgeTool {
    /// The type of the edge's connector, such as `mcp`.
    pub connector_type: String,
    /// The digest of the tool's definition, where the edge has one.
    pub digest: Option<Digest>,
}

impl Submission {
    /// A submission of this call about which nothing else is said.
    pub fn new(org: OrgId, key: KeyId, call: Call) -> Self {
        Self { org, key, call, edge: None, client: None, idempotency_key: None, intent: None }
    }

    /// What a repeat under the same idempotency key must be equal in.
    pub(crate) fn fingerprint(&self, request: Digest) -> Digest {
        let parts = json!([request, self.call.facts.on_behalf_of, self.call.facts.session]);
        crypto::sha256(crypto::json::canonical(&parts))
    }
}

/// Why a call is not recorded at all.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Rejection {
    /// A part of the request is wrong.
    #[error("{sentence}")]
    Invalid {
        /// The part.
        param: &'static str,
        /// What is wrong and what would have been accepted.
        sentence: String,
    },
    /// The key is not valid any more.
    #[error("the API key is missing, wrong, revoked or expired")]
    Unauthenticated,
    /// No policy decides in the org, so nothing could be named as what refused the call.
    #[error("no policy is enforced in this org, so no call is allowed; nothing was recorded")]
    PolicyUnavailable,
    /// The idempotency key names a different request.
    #[error(
        "this `Idempotency-Key` was used within the last 24 hours for a different request, action \
         `{0}`"
    )]
    DifferentRequest(ActionId),
    /// The agent's calls must be signed.
    #[error("this agent's calls require a signed intent")]
    IntentRequired,
    /// The signed intent does not hold.
    #[error("the signed intent is invalid: {0}; nothing was recorded")]
    IntentInvalid(IntentError),
    /// The signed intent was used before, for this action.
    #[error("this signed intent was already used for action `{0}`; nothing was recorded")]
    IntentReplay(ActionId),
}

/// Why a submission did not become an action.
#[derive(Debug, thiserror::Error)]
pub enum SubmitError {
    /// The caller's doing; nothing was recorded.
    #[error(transparent)]
    Rejected(#[from] Rejection),
    /// The record cannot be reached; nothing runs.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// Something that the Gate must read first cannot be read; nothing runs.
    #[error(transparent)]
    Store(#[from] StoreDown),
    /// The tool's connector cannot be read just now; nothing runs.
    #[error("the tool's connector cannot be read at the moment")]
    ToolUnavailable,
}

impl SubmitError {
    /// A part of the request is wrong, as the sentence says.
    pub(crate) fn invalid(param: &'static str, sentence: impl Into<String>) -> Self {
        Rejection::Invalid { param, sentence: sentence.into() }.into()
    }
}
