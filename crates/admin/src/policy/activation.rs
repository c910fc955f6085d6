//! Letting a version decide, or be asked beside the one that does.

use act::{ActError, Changed, Fact, Reason, Record};
use deed::Subject;
use ledger::{
    LedgerError, Needs, Snapshot,
    record::{ActiveChange, ActivePolicy, PolicyActivation, PolicyMode, Proposal},
};
use model::{EventType, ProposalId};
use serde_json::{Value, json};

use super::{
    ExpectedVersion,
    manage::live,
    proposal::{self, Wanted, closed_before, proposed},
    suites::Tested,
    thin,
};
use crate::{ChangeError, OrgChange, PolicyError, member::is_owner, settings::settings_of};

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

/// What came of an activation.
#[derive(Debug, Clone, PartialEq)]
pub enum Activated {
    /// The version is active.
    Now(Changed<PolicyActivation>),
    /// It waits for a second person, as the org asks for.
    Proposed(Changed<Proposal>),
}

/// How a version became active, beyond who did it and when.
#[derive(Debug, Default)]
pub(crate) struct How<'a> {
    /// Why; the reason of the turn where nothing else is said.
    pub(crate) reason: Option<&'a str>,
    /// What was confirmed.
    pub(crate) proposal: Option<&'a Proposal>,
    /// How many of the policy's tests fail under it, which an owner overruled.
    pub(crate) failed_tests: u32,
}

impl OrgChange<'_> {
    /// Makes a version the enforced or the shadow one; where the org asks for two people, proposes
    /// that.
    pub async fn activate_policy(&self, activation: Activation) -> Result<Activated, PolicyError> {
        let Activation { version, mode, reason, expected_active } = activation;
        let Tested { version, revision, failed } = version;
        let reason = Reason::parse(&reason)?;
        let after = ActivePolicy {
            mode,
            policy: version.policy,
            version: version.id,
            digest: version.digest,
        };
        let store = &self.admin.parts.store;
        let open = store.open_policy_proposals(self.org).await?;
        let open = open.into_iter().find(|open| open.mode == mode).map(|open| open.id);
        let id = self.admin.mint().id(ProposalId::from_uuid);
        let mut needs = settings_of(self.org);
        needs.proposals.extend(open);
        let activated = self.turn(needs, Some(reason), move |at, record| {
            if live(at, after.policy)?.revision != revision {
                let sentence = "the policy or its tests changed in the meantime; try again";
                return Err(ActError::Conflict(sentence).into());
            }
            let before = active(at, mode);
            if expected_active.is_not(&before.map(|active| active.version)) {
                let sentence = "`expected_active` is not the version that is active in this mode";
                return Err(ActError::Stale { param: "expected_active", sentence }.into());
            }
            if before == Some(&after) {
                let sentence = "this version is already active in this mode";
                return Err(ActError::Conflict(sentence).into());
            }
            if failed > 0 && !is_owner(record.by(), at) {
                return Err(ActError::RoleRequired.into());
            }
            if !at.settings().is_some_and(|settings| settings.policy_two_person) {
                let how = How { failed_tests: failed, ..How::default() };
                return Ok(Activated::Now(activated(record, turn(at), (before, after), &how)));
            }
            if let Some(open) = open.and_then(|id| at.proposal(id)) {
                record.write(closed_before(open, at, record.by())?);
            }
            let proposal =
                Wanted { id, after, revision, failed_tests: failed }.proposal(at, record);
            Ok::<_, ChangeError>(Activated::Proposed(proposed(record, proposal)))
        });
        match activated.await {
            // The store's unique key is the second guard: of two who ask at once, one is refused.
            Err(ChangeError::Act(ActError::Ledger(LedgerError::Fault)))
                if proposal::is_other(
                    &store.open_policy_proposals(self.org).await?,
                    mode,
                    open,
                ) =>
            {
                Err(ActError::Conflict(proposal::WAITS).into())
            }
            activated => Ok(activated?),
        }
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
pub(super) fn turn(at: &Snapshot) -> u64 {
    at.base().map_or(1, |base| base.head.version.saturating_add(1))
}

pub(super) fn active(at: &Snapshot, mode: PolicyMode) -> Option<&ActivePolicy> {
    at.base()?.active.iter().find(|active| active.mode == mode)
}

/// Adds the activation of a policy version.
pub(crate) fn activated(
    record: &mut Record<'_>,
    turn: u64,
    (before, after): (Option<&ActivePolicy>, ActivePolicy),
    how: &How<'_>,
) -> Changed<PolicyActivation> {
    let mut data = vec![
        ("mode", json!(after.mode)),
        ("version", json!(after.version)),
        ("digest", json!(after.digest)),
        ("previous", json!(before.map(|active| active.version))),
    ];
    if let Some(proposal) = how.proposal {
        data.push(("proposal", json!(proposal.id)));
        data.push(("proposed_by", json!(proposal.proposed_by)));
    }
    if how.failed_tests > 0 {
        data.push(("failed_tests", json!(how.failed_tests)));
    }
    let deed = record.seal(Fact {
        event: EventType::PolicyActivated,
        subject: Subject::policy(after.policy),
        before: before.map(|active| json!(active)),
        after: Some(json!(after)),
        data,
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
        reason: how.reason.map_or_else(|| record.reason().to_owned(), str::to_owned),
        proposed: how.proposal.map(|proposal| (proposal.id, proposal.proposed_by.clone())),
        forced: how.failed_tests > 0,
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
        proposed: None,
        forced: false,
    };
    record.write(happened.clone());
    Changed { object: happened, deed }
}
