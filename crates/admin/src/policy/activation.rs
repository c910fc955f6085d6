//! Letting a version decide, or be asked beside the one that does.

use act::{ActError, Changed, Fact, Reason, Record};
use deed::Subject;
use ledger::{
    Needs, Snapshot,
    record::{ActiveChange, ActivePolicy, PolicyActivation, PolicyMode},
};
use model::EventType;
use serde_json::{Value, json};

use super::{ExpectedVersion, manage::live, suites::Tested, thin};
use crate::{OrgChange, PolicyError};

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

impl OrgChange<'_> {
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
                return Err(ActError::Conflict(sentence));
            }
            let before = active(at, mode);
            if expected_active.is_not(&before.map(|active| active.version)) {
                let sentence = "another version is active in this mode";
                return Err(ActError::Stale { param: "expected_active", sentence });
            }
            if before == Some(&after) {
                return Err(ActError::Conflict("this version is already active in this mode"));
            }
            Ok(activated(record, turn(at), before, after))
        });
        Ok(activated.await?)
    }

    /// Ends the asking of a shadow version.
    pub async fn end_shadow(&self, reason: &str) -> Result<Changed<PolicyActivation>, PolicyError> {
        let reason = Reason::parse(reason)?;
        let ended = self.turn(Needs::default(), Some(reason), |at, record| {
            let before = active(at, PolicyMode::Shadow);
            let before = before.ok_or(ActError::Conflict("no version is active in shadow"))?;
            Ok(shadow_ended(record, turn(at), before))
        });
        ended.await
    }
}

/// The version of the head that this turn makes.
fn turn(at: &Snapshot) -> u64 {
    at.base().map_or(1, |base| base.head.version.saturating_add(1))
}

fn active(at: &Snapshot, mode: PolicyMode) -> Option<&ActivePolicy> {
    at.base()?.active.iter().find(|active| active.mode == mode)
}

/// Adds the activation of a policy version.
pub(crate) fn activated(
    record: &mut Record<'_>,
    turn: u64,
    before: Option<&ActivePolicy>,
    after: ActivePolicy,
) -> Changed<PolicyActivation> {
    let deed = record.seal(Fact {
        event: EventType::PolicyActivated,
        subject: Subject::policy(after.policy),
        before: before.map(|active| json!(active)),
        after: Some(json!(after)),
        data: vec![
            ("mode", json!(after.mode)),
            ("version", json!(after.version)),
            ("digest", json!(after.digest)),
            ("previous", json!(before.map(|active| active.version))),
        ],
        object: thin(after.policy, json!(after.version), json!(after.mode)),
    });
    record.write(after);
    let happened = PolicyActivation {
        turn,
        deed,
        at: record.now(),
        mode: after.mode,
        active: Some((after.policy, after.version)),
        previous: before.map(|active| active.version),
        by: record.by().to_string(),
        reason: record.reason().to_owned(),
    };
    record.write(happened.clone());
    Changed { object: happened, deed }
}

/// Adds that no version is asked beside the enforced one any more.
pub(crate) fn shadow_ended(
    record: &mut Record<'_>,
    turn: u64,
    before: &ActivePolicy,
) -> Changed<PolicyActivation> {
    let deed = record.seal(Fact {
        event: EventType::PolicyShadowEnded,
        subject: Subject::policy(before.policy),
        before: Some(json!(before)),
        after: None,
        data: vec![("previous", json!(before.version))],
        object: thin(before.policy, json!(before.version), Value::Null),
    });
    record.write(ActiveChange { mode: before.mode, active: None });
    let happened = PolicyActivation {
        turn,
        deed,
        at: record.now(),
        mode: before.mode,
        active: None,
        previous: Some(before.version),
        by: record.by().to_string(),
        reason: record.reason().to_owned(),
    };
    record.write(happened.clone());
    Changed { object: happened, deed }
}
