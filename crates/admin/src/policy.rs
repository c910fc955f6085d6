//! Making policies and their versions, and activating one.

use ledger::{
    LedgerError, Needs,
    record::{ActivePolicy, Policy, PolicyMode, PolicyVersion},
};
use model::{PolicyId, PolicyVersionId, Timestamp};

use crate::{ChangeError, Changed, InOrg, PolicyError, by::Reason, input};

/// How often a version is numbered again when others are made at the same time.
const NUMBERINGS: u32 = 8;

/// Which version decides from now on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Activation {
    /// The version.
    pub version: PolicyVersionId,
    /// Whether it decides or is only asked beside the one that does.
    pub mode: PolicyMode,
    /// Why.
    pub reason: String,
}

impl InOrg<'_> {
    /// Makes a policy without versions.
    pub async fn create_policy(&self, name: &str) -> Result<Changed<Policy>, PolicyError> {
        let name = input::title(name)?;
        let taken = async || {
            let policies = self.admin.parts.store.policies(self.org).await?;
            Ok::<_, ChangeError>(policies.iter().any(|policy| policy.name == name))
        };
        if taken().await? {
            return Err(ChangeError::NameTaken(name).into());
        }
        let policy = Policy {
            id: self.admin.mint().id(PolicyId::from_uuid),
            org: self.org,
            name: name.clone(),
            created_at: Timestamp::EPOCH,
        };
        let made = self.turn(Needs::default(), None, move |at, record| {
            Ok(record.policy(Policy { created_at: at.now(), ..policy.clone() }))
        });
        match made.await {
            Err(ChangeError::Ledger(LedgerError::Fault)) if taken().await? => {
                Err(ChangeError::NameTaken(name).into())
            }
            outcome => Ok(outcome?),
        }
    }

    /// Makes a version of a policy from a document that can decide.
    pub async fn create_policy_version(
        &self,
        policy: PolicyId,
        document: &str,
    ) -> Result<Changed<PolicyVersion>, PolicyError> {
        let digest = policy::Policy::compile(document).map_err(PolicyError::Invalid)?.digest();
        let policies = self.admin.parts.store.policies(self.org).await?;
        if !policies.iter().any(|known| known.id == policy) {
            return Err(ChangeError::NotFound("policy").into());
        }
        let mut version = PolicyVersion {
            id: self.admin.mint().id(PolicyVersionId::from_uuid),
            org: self.org,
            policy,
            number: self.next_number(policy).await?,
            document: document.to_owned(),
            digest,
            created_at: Timestamp::EPOCH,
        };
        for _ in 1..NUMBERINGS {
            match self.add_version(version.clone()).await {
                // The store's unique key refused the number, if somebody else has it by now.
                Err(ChangeError::Ledger(LedgerError::Fault)) => {
                    let next = self.next_number(policy).await?;
                    if next == version.number {
                        return Err(ChangeError::from(LedgerError::Fault).into());
                    }
                    version.number = next;
                }
                outcome => return Ok(outcome?),
            }
        }
        Ok(self.add_version(version).await?)
    }

    /// Makes a version the enforced or the shadow one.
    pub async fn activate_policy(
        &self,
        activation: Activation,
    ) -> Result<Changed<ActivePolicy>, PolicyError> {
        let Activation { version, mode, reason } = activation;
        let reason = Reason::parse(&reason)?;
        let version = self
            .admin
            .parts
            .store
            .policy_version(self.org, version)
            .await?
            .ok_or(ChangeError::NotFound("policy version"))?;
        // An older version of the service may have taken what this one cannot read; enforcing
        // that would refuse every call.
        policy::Policy::compile(&version.document).map_err(PolicyError::Invalid)?;
        let PolicyVersion { id: version, policy, digest, .. } = version;
        let after = ActivePolicy { mode, policy, version, digest };
        let activated = self.turn(Needs::default(), Some(reason), move |at, record| {
            let active = at.base().map(|base| base.active.as_slice()).unwrap_or_default();
            let before = active.iter().find(|active| active.mode == mode);
            if before == Some(&after) {
                return Err(ChangeError::Conflict("this version is already active in this mode"));
            }
            Ok(record.activation(before, after))
        });
        Ok(activated.await?)
    }

    async fn next_number(&self, policy: PolicyId) -> Result<u32, PolicyError> {
        let latest = self.admin.parts.store.latest_policy_version(self.org, policy).await?;
        Ok(latest.map_or(1, |version| version.number.saturating_add(1)))
    }

    async fn add_version(
        &self,
        version: PolicyVersion,
    ) -> Result<Changed<PolicyVersion>, ChangeError> {
        let made = self.turn(Needs::default(), None, move |at, record| {
            let version = PolicyVersion { created_at: at.now(), ..version.clone() };
            Ok(record.policy_version(version))
        });
        made.await
    }
}
