//! Letting a version decide, or be asked beside the one that does.

use ledger::{
    Needs, Snapshot,
    record::{ActivePolicy, PolicyActivation, PolicyMode, PolicyVersion},
};
use model::{PolicyId, PolicyVersionId};
use policy::Policy;

use super::{ExpectedVersion, manage::live, suites};
use crate::{ChangeError, Changed, InOrg, PolicyError, by::Reason};

/// Which version decides from now on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Activation {
    /// The policy.
    pub policy: PolicyId,
    /// A version of it.
    pub version: PolicyVersionId,
    /// Whether it decides or is only asked beside the one that does.
    pub mode: PolicyMode,
    /// Why.
    pub reason: String,
    /// The version that is believed to be active in this mode.
    pub expected_active: ExpectedVersion,
}

impl InOrg<'_> {
    /// Makes a version the enforced or the shadow one, if it passes the policy's tests.
    pub async fn activate_policy(
        &self,
        activation: Activation,
    ) -> Result<Changed<PolicyActivation>, PolicyError> {
        let Activation { policy: of, version, mode, reason, expected_active } = activation;
        let reason = Reason::parse(&reason)?;
        let version = self.policy_version(version).await?;
        if version.policy != of {
            return Err(ChangeError::NotFound("policy version").into());
        }
        // An older build may have taken what this one cannot read; enforcing that would refuse
        // every call.
        let compiled = Policy::compile(&version.document).map_err(PolicyError::Invalid)?;
        self.must_pass(of, &compiled).await?;
        let PolicyVersion { id: version, digest, .. } = version;
        let after = ActivePolicy { mode, policy: of, version, digest };
        let activated = self.turn(Needs::default(), Some(reason), move |at, record| {
            live(at, of)?;
            let before = active(at, mode);
            if expected_active.is_not(&before.map(|active| active.version)) {
                return Err(ChangeError::Conflict("another version is active in this mode"));
            }
            if before == Some(&after) {
                return Err(ChangeError::Conflict("this version is already active in this mode"));
            }
            Ok(record.activation(before, after))
        });
        Ok(activated.await?)
    }

    /// Ends the asking of a shadow version.
    pub async fn end_shadow(&self, reason: &str) -> Result<Changed<PolicyActivation>, PolicyError> {
        let reason = Reason::parse(reason)?;
        let ended = self.turn(Needs::default(), Some(reason), |at, record| {
            let before = active(at, PolicyMode::Shadow);
            let before = before.ok_or(ChangeError::Conflict("no version is active in shadow"))?;
            Ok(record.shadow_ended(before))
        });
        Ok(ended.await?)
    }

    /// Refuses a version that fails the tests of its policy.
    async fn must_pass(&self, of: PolicyId, version: &Policy) -> Result<(), PolicyError> {
        let tests = self.admin.parts.store.policy_tests(self.org, of).await?;
        let Some(tests) = tests else { return Ok(()) };
        let mut results = suites::read(&tests.suite)?.run(version).results;
        results.retain(|result| !result.differences.is_empty());
        if results.is_empty() { Ok(()) } else { Err(PolicyError::TestsFailed(results)) }
    }
}

fn active(at: &Snapshot, mode: PolicyMode) -> Option<&ActivePolicy> {
    at.base()?.active.iter().find(|active| active.mode == mode)
}
