//! Activations that wait for a second person, as responses show them.

use admin::ProposalStanding;
use ledger::record::{PolicyMode, ProposalStatus};
use model::{Digest, PolicyId, PolicyVersionId, ProposalId, Timestamp};
use serde::Serialize;

/// A proposed activation.
#[derive(Debug, Serialize)]
pub(crate) struct ProposalView<'a> {
    object: &'static str,
    id: ProposalId,
    status: ProposalStatus,
    mode: PolicyMode,
    policy: PolicyId,
    version: PolicyVersionId,
    digest: Digest,
    previous: Option<PolicyVersionId>,
    failed_tests: u32,
    reason: &'a str,
    proposed_by: &'a str,
    proposed_at: Timestamp,
    expires_at: Timestamp,
    closed_at: Option<Timestamp>,
    closed_by: Option<&'a str>,
    closed_reason: Option<&'a str>,
}

impl<'a> ProposalView<'a> {
    pub(crate) fn of(found: &'a ProposalStanding) -> Self {
        let (it, closed) = (&found.proposal, found.proposal.closed.as_ref());
        Self {
            object: "policy_proposal",
            id: it.id,
            status: found.status,
            mode: it.mode,
            policy: it.policy,
            version: it.version,
            digest: it.digest,
            previous: it.previous,
            failed_tests: it.failed_tests,
            reason: &it.reason,
            proposed_by: &it.proposed_by,
            proposed_at: it.proposed_at,
            expires_at: it.expires_at,
            closed_at: closed.map(|closed| closed.at),
            closed_by: closed.map(|closed| closed.by.as_str()),
            closed_reason: closed.and_then(|closed| closed.reason.as_deref()),
        }
    }
}
