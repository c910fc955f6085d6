//! Administration's store of policies: their versions, tests and what was active.

use admin::{DECISION_EVENTS, DecisionEvent, PolicyStore, VersionSummary};
use async_trait::async_trait;
use ledger::{
    StoreDown,
    record::{Action, Policy, PolicyActivation, PolicyMode, PolicyTests, PolicyVersion, Proposal},
};
use model::{OrgId, PolicyId, PolicyVersionId, ProposalId, Timestamp};

use crate::MemoryStore;

#[async_trait]
impl PolicyStore for MemoryStore {
    async fn policies(&self, org: OrgId) -> Result<Vec<Policy>, StoreDown> {
        let kept = self.reach("read an org's policies")?;
        let rows = kept.orgs.get(&org);
        let mut policies: Vec<_> =
            rows.iter().flat_map(|rows| rows.policies.values()).cloned().collect();
        policies.sort_by_key(|policy| (policy.created_at, policy.id));
        Ok(policies)
    }

    async fn policy_version(
        &self,
        org: OrgId,
        id: PolicyVersionId,
    ) -> Result<Option<PolicyVersion>, StoreDown> {
        let kept = self.reach("read a policy version")?;
        Ok(kept.orgs.get(&org).and_then(|rows| rows.versions.get(&id)).cloned())
    }

    async fn latest_policy_version(
        &self,
        org: OrgId,
        policy: PolicyId,
    ) -> Result<Option<PolicyVersion>, StoreDown> {
        let kept = self.reach("read the latest version of a policy")?;
        let rows = kept.orgs.get(&org);
        let versions = rows.iter().flat_map(|rows| rows.versions.values());
        let latest = versions.filter(|version| version.policy == policy);
        Ok(latest.max_by_key(|version| version.number).cloned())
    }

    async fn policy_versions(
        &self,
        org: OrgId,
        policy: PolicyId,
        below: Option<u32>,
        limit: usize,
    ) -> Result<Vec<VersionSummary>, StoreDown> {
        let kept = self.reach("list the versions of a policy")?;
        let rows = kept.orgs.get(&org);
        let mut versions: Vec<_> = rows
            .iter()
            .flat_map(|rows| rows.versions.values())
            .filter(|version| version.policy == policy)
            .filter(|version| below.is_none_or(|below| version.number < below))
            .map(VersionSummary::from)
            .collect();
        versions.sort_by_key(|version| std::cmp::Reverse(version.number));
        versions.truncate(limit);
        Ok(versions)
    }

    async fn policy_activations(
        &self,
        org: OrgId,
        mode: Option<PolicyMode>,
        below: Option<u64>,
        limit: usize,
    ) -> Result<Vec<PolicyActivation>, StoreDown> {
        let kept = self.reach("list what was active")?;
        let rows = kept.orgs.get(&org);
        let mut history: Vec<_> = rows
            .iter()
            .flat_map(|rows| &rows.activations)
            .filter(|it| mode.is_none_or(|mode| it.mode == mode))
            .filter(|it| below.is_none_or(|below| it.turn < below))
            .cloned()
            .collect();
        history.sort_by_key(|it| std::cmp::Reverse(it.turn));
        history.truncate(limit);
        Ok(history)
    }

    async fn policy_proposal(
        &self,
        org: OrgId,
        id: ProposalId,
    ) -> Result<Option<Proposal>, StoreDown> {
        let kept = self.reach("read a proposed activation")?;
        Ok(kept.orgs.get(&org).and_then(|rows| rows.proposals.get(&id)).cloned())
    }

    async fn open_policy_proposals(&self, org: OrgId) -> Result<Vec<Proposal>, StoreDown> {
        let kept = self.reach("find what waits for a second person")?;
        let proposals = kept.orgs.get(&org).into_iter().flat_map(|rows| rows.proposals.values());
        Ok(proposals.filter(|proposal| proposal.closed.is_none()).cloned().collect())
    }

    async fn policy_tests(
        &self,
        org: OrgId,
        policy: PolicyId,
    ) -> Result<Option<PolicyTests>, StoreDown> {
        let kept = self.reach("read the tests of a policy")?;
        Ok(kept.orgs.get(&org).and_then(|rows| rows.policy_tests.get(&policy)).cloned())
    }

    async fn decisions(
        &self,
        org: OrgId,
        (since, after): (Option<Timestamp>, u64),
        limit: usize,
    ) -> Result<Vec<DecisionEvent>, StoreDown> {
        let kept = self.reach("read decisions")?;
        let Some(rows) = kept.orgs.get(&org) else { return Ok(Vec::new()) };
        let told = rows.events.iter().filter(|event| {
            event.seq > after
                && since.is_none_or(|since| since <= event.created_at)
                && DECISION_EVENTS.contains(&event.kind)
        });
        let decided = told.filter_map(|event| {
            let kept = rows.actions.get(&event.action?)?;
            let request = kept.disclosures.iter().find(|it| *it.path() == deed::Path::REQUEST);
            Some(DecisionEvent {
                seq: event.seq,
                kind: event.kind,
                action: Action::clone(&kept.action),
                args: request.and_then(|it| serde_json::from_str(it.value()).ok()),
            })
        });
        Ok(decided.take(limit).collect())
    }
}
