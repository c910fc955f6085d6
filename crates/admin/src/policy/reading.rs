//! What is there: policies, versions, what is active and what was.

use act::ActError;
use ledger::record::{ActivePolicy, Policy, PolicyActivation, PolicyMode};
use model::PolicyId;

use crate::{OrgView, PolicyError, VersionSummary};

/// A part of a list, and whether more lies behind it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page<T> {
    /// The items, newest first.
    pub items: Vec<T>,
    /// Whether there are more.
    pub has_more: bool,
}

impl<T> Page<T> {
    /// The page of items of which one more than these was asked for.
    pub(crate) fn of(mut items: Vec<T>, limit: usize) -> Self {
        let has_more = items.len() > limit;
        items.truncate(limit);
        Self { items, has_more }
    }
}

/// What is active now, with how it came about where the history still has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActivePolicies {
    /// The version that decides.
    pub enforce: Option<(ActivePolicy, Option<PolicyActivation>)>,
    /// The version that is asked beside it.
    pub shadow: Option<(ActivePolicy, Option<PolicyActivation>)>,
}

impl OrgView<'_> {
    /// A policy of the org; one that is archived too.
    pub async fn policy(&self, id: PolicyId) -> Result<Policy, PolicyError> {
        let policies = self.admin.parts.store.policies(self.org).await?;
        let found = policies.into_iter().find(|policy| policy.id == id);
        found.ok_or_else(|| ActError::NotFound("policy").into())
    }

    /// Every policy of the org, archived ones too, newest first.
    pub async fn policies(&self) -> Result<Vec<Policy>, PolicyError> {
        let mut policies = self.admin.parts.store.policies(self.org).await?;
        policies.reverse();
        Ok(policies)
    }

    /// Returns versions of a policy with numbers below this one, newest first.
    pub async fn policy_versions(
        &self,
        policy: PolicyId,
        below: Option<u32>,
        limit: usize,
    ) -> Result<Page<VersionSummary>, PolicyError> {
        self.policy(policy).await?;
        let store = &self.admin.parts.store;
        let more = limit.saturating_add(1);
        Ok(Page::of(store.policy_versions(self.org, policy, below, more).await?, limit))
    }

    /// The changes of what is active by turns below this one, newest first.
    pub async fn policy_activations(
        &self,
        below: Option<u64>,
        limit: usize,
    ) -> Result<Page<PolicyActivation>, PolicyError> {
        let store = &self.admin.parts.store;
        let more = limit.saturating_add(1);
        Ok(Page::of(store.policy_activations(self.org, None, below, more).await?, limit))
    }

    /// What is active now.
    pub async fn active_policies(&self) -> Result<ActivePolicies, PolicyError> {
        let snapshot = self.admin.parts.ledger.look(self.org).await?;
        let base = snapshot.base().ok_or(ActError::NotFound("org"))?;
        let mut found = ActivePolicies { enforce: None, shadow: None };
        for active in &base.active {
            let mode = Some(active.mode);
            let last = self.admin.parts.store.policy_activations(self.org, mode, None, 1).await?;
            let is_its = |it: &PolicyActivation| it.active == Some((active.policy, active.version));
            let last = last.into_iter().find(is_its);
            match active.mode {
                PolicyMode::Enforce => found.enforce = Some((*active, last)),
                PolicyMode::Shadow => found.shadow = Some((*active, last)),
            }
        }
        Ok(found)
    }
}
