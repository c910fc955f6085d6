//! Letting a version decide, or be asked beside the one that does.

use ledger::{
    Needs, Snapshot,
    record::{ActivePolicy, PolicyActivation, PolicyMode},
};

use super::{ExpectedVersion, manage::live, suites::Tested};
use crate::{ChangeError, Changed, InOrg, PolicyError, by::Reason};

/// Which version decides from now on.
#[derive(Debug, Clone)]
pub struct Activation {
    /// The version.
    pub version: Tested,
    /// Whether it decides or is only asked beside the one that does.
    pub mode: PolicyMode,
    /// Why.
    pub reason: String,
    /// The version that is believed to be active in this mode.
    pub expected_active: ExpectedVersion,
}

impl InOrg<'_> {
    /// Makes a version the enforced or the shadow one.
    pub async fn activate_policy(
        &self,
        activation: Activation,
    ) -> Result<Changed<PolicyActivation>, PolicyError> {
        let Activation { version: Tested { version, revision }, mode, reason, expected_active } =
            activation;
        let reason = Reason::parse(&reason)?;
        let after = ActivePolicy {
            mode,
            policy: version.policy,
            version: version.id,
            digest: version.digest,
        };
        let activated = self.turn(Needs::default(), Some(reason), move |at, record| {
            if live(at, after.policy)?.revision != revision {
                let sentence = "the policy or its tests changed meanwhile; ask again";
                return Err(ChangeError::Conflict(sentence));
            }
            let before = active(at, mode);
            if expected_active.is_not(&before.map(|active| active.version)) {
                return Err(ChangeError::Conflict("another version is active in this mode"));
            }
            if before == Some(&after) {
                return Err(ChangeError::Conflict("this version is already active in this mode"));
            }
            Ok(record.activation(turn(at), before, after))
        });
        Ok(activated.await?)
    }

    /// Ends the asking of a shadow version.
    pub async fn end_shadow(&self, reason: &str) -> Result<Changed<PolicyActivation>, PolicyError> {
        let reason = Reason::parse(reason)?;
        let ended = self.turn(Needs::default(), Some(reason), |at, record| {
            let before = active(at, PolicyMode::Shadow);
            let before = before.ok_or(ChangeError::Conflict("no version is active in shadow"))?;
            Ok(record.shadow_ended(turn(at), before))
        });
        Ok(ended.await?)
    }
}

/// Returns the version of the head that this turn makes.
fn turn(at: &Snapshot) -> u64 {
    at.base().map_or(1, |base| base.head.version.saturating_add(1))
}

fn active(at: &Snapshot, mode: PolicyMode) -> Option<&ActivePolicy> {
    at.base()?.active.iter().find(|active| active.mode == mode)
}
