//! Policies, versions, tests and activations as responses show them.
//!
//! `requests` has what callers send, `trial` what is only asked.

mod proposal;
mod requests;
mod trial;

use admin::{ActivePolicies, ProposalStanding, VersionSummary};
use ledger::record::{
    ActivePolicy, Policy, PolicyActivation, PolicyMode, PolicyTests, PolicyVersion,
};
use model::{DeedId, Digest, PolicyId, PolicyVersionId, ProposalId, Timestamp};
use serde::Serialize;
use serde_json::Value;

pub(crate) use proposal::ProposalView;
pub(crate) use requests::{
    Activate, MakeVersion, document_alone, dry_call, expected_revision, policy_activation,
    policy_edit, policy_new, policy_tests, policy_trial, policy_version_new, reason_alone,
    reason_if_any,
};
pub(crate) use trial::{DiffView, DryRunView, LintView, TestRunView, case_results, findings};

/// What was changed, with the deed that says so.
#[derive(Debug, Serialize)]
pub(crate) struct WithDeed<T> {
    #[serde(flatten)]
    view: T,
    deed: DeedId,
}

impl<T> WithDeed<T> {
    pub(crate) fn of(view: T, deed: DeedId) -> Self {
        Self { view, deed }
    }
}

/// A policy.
#[derive(Debug, Serialize)]
pub(crate) struct PolicyView<'a> {
    object: &'static str,
    id: PolicyId,
    name: &'a str,
    description: &'a str,
    revision: u32,
    created_at: Timestamp,
    archived_at: Option<Timestamp>,
}

impl<'a> From<&'a Policy> for PolicyView<'a> {
    fn from(policy: &'a Policy) -> Self {
        Self {
            object: "policy",
            id: policy.id,
            name: &policy.name,
            description: &policy.description,
            revision: policy.revision,
            created_at: policy.created_at,
            archived_at: policy.archived_at,
        }
    }
}

/// A policy version, in lists without its document.
#[derive(Debug, Serialize)]
pub(crate) struct VersionView<'a> {
    object: &'static str,
    id: PolicyVersionId,
    policy: PolicyId,
    number: u32,
    digest: Digest,
    note: Option<&'a str>,
    author: Option<&'a str>,
    created_at: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    document: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lint: Option<Value>,
}

impl<'a> VersionView<'a> {
    /// The version without its document.
    pub(crate) fn summary(version: &'a VersionSummary) -> Self {
        Self {
            object: "policy_version",
            id: version.id,
            policy: version.policy,
            number: version.number,
            digest: version.digest,
            note: version.note.as_deref(),
            author: version.author.as_deref(),
            created_at: version.created_at,
            document: None,
            lint: None,
        }
    }

    /// The version with its document.
    pub(crate) fn whole(version: &'a PolicyVersion) -> Self {
        Self {
            object: "policy_version",
            id: version.id,
            policy: version.policy,
            number: version.number,
            digest: version.digest,
            note: version.note.as_deref(),
            author: version.author.as_deref(),
            created_at: version.created_at,
            document: Some(&version.document),
            lint: None,
        }
    }

    /// The view with what was found in the document.
    pub(crate) fn with_lint(mut self, findings: Value) -> Self {
        self.lint = Some(findings);
        self
    }
}

/// The tests of a policy.
#[derive(Debug, Serialize)]
pub(crate) struct TestsView<'a> {
    object: &'static str,
    policy: PolicyId,
    suite: Option<&'a str>,
    cases: u32,
    revision: Option<u32>,
    updated_at: Option<Timestamp>,
}

impl<'a> From<&'a PolicyTests> for TestsView<'a> {
    fn from(tests: &'a PolicyTests) -> Self {
        Self {
            object: "policy_tests",
            policy: tests.policy,
            suite: Some(&tests.suite),
            cases: tests.cases,
            revision: Some(tests.revision),
            updated_at: Some(tests.updated_at),
        }
    }
}

impl TestsView<'_> {
    /// The view of a policy that has no tests.
    pub(crate) fn none(policy: PolicyId) -> Self {
        let (suite, revision, updated_at) = (None, None, None);
        Self { object: "policy_tests", policy, suite, cases: 0, revision, updated_at }
    }
}

/// One change of what is active in a mode.
#[derive(Debug, Serialize)]
pub(crate) struct ActivationView<'a> {
    object: &'static str,
    mode: PolicyMode,
    policy: Option<PolicyId>,
    version: Option<PolicyVersionId>,
    previous: Option<PolicyVersionId>,
    at: Timestamp,
    by: &'a str,
    reason: &'a str,
    proposal: Option<ProposalId>,
    proposed_by: Option<&'a str>,
    forced: bool,
    deed: DeedId,
}

impl<'a> From<&'a PolicyActivation> for ActivationView<'a> {
    fn from(it: &'a PolicyActivation) -> Self {
        Self {
            object: "policy_activation",
            mode: it.mode,
            policy: it.active.map(|(policy, _)| policy),
            version: it.active.map(|(_, version)| version),
            previous: it.previous,
            at: it.at,
            by: &it.by,
            reason: &it.reason,
            proposal: it.proposed.as_ref().map(|(id, _)| *id),
            proposed_by: it.proposed.as_ref().map(|(_, by)| by.as_str()),
            forced: it.forced,
            deed: it.deed,
        }
    }
}

/// What is active now.
#[derive(Debug, Serialize)]
pub(crate) struct ActiveView<'a> {
    object: &'static str,
    enforce: Option<ActiveVersionView<'a>>,
    shadow: Option<ActiveVersionView<'a>>,
    proposals: Vec<ProposalView<'a>>,
}

/// A version that is active now; how that came about is null where the history begins later.
#[derive(Debug, Serialize)]
struct ActiveVersionView<'a> {
    policy: PolicyId,
    version: PolicyVersionId,
    digest: Digest,
    since: Option<Timestamp>,
    by: Option<&'a str>,
    deed: Option<DeedId>,
}

impl<'a> ActiveView<'a> {
    /// What is active, and what waits for a second person.
    pub(crate) fn of(active: &'a ActivePolicies, waiting: &'a [ProposalStanding]) -> Self {
        let (enforce, shadow) = (active.enforce.as_ref(), active.shadow.as_ref());
        Self {
            object: "active_policies",
            enforce: enforce.map(|(active, since)| active_version(active, since.as_ref())),
            shadow: shadow.map(|(active, since)| active_version(active, since.as_ref())),
            proposals: waiting.iter().map(ProposalView::of).collect(),
        }
    }
}

fn active_version<'a>(
    active: &ActivePolicy,
    since: Option<&'a PolicyActivation>,
) -> ActiveVersionView<'a> {
    ActiveVersionView {
        policy: active.policy,
        version: active.version,
        digest: active.digest,
        since: since.map(|it| it.at),
        by: since.map(|it| it.by.as_str()),
        deed: since.map(|it| it.deed),
    }
}
