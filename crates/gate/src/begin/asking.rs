//! What people are asked about a call: by its rule, and where that leaves something open by what the
//! org decided of it. A question keeps the terms that it was asked on.

use std::sync::Arc;

use crypto::json::Canonical;
use deed::{Path, commit_canonical};
use futures_util::future::join3;
use ledger::{
    Snapshot, StoreDown,
    record::{Action, Approval, ApprovalSettings},
};
use model::{ApprovalId, ApprovalStatus, DecisionOutcome, Mint, Timestamp};
use policy::{ApprovalClause, Excluded};
use tool::Estimate;

use super::{
    context::{Shown, context},
    undecided::{LookedInto, UndecidedCall},
};
use crate::{
    decide::Verdict, gate::Parts, practice::PRACTICE_SPAN, reference::Reference, resolved::Resolved,
};

/// What is to be fetched.
#[derive(Clone, Copy)]
pub(crate) struct Wanted {
    estimate: bool,
    practice_since: Timestamp,
}

impl UndecidedCall {
    /// Returns what must be fetched before a person can be asked.
    pub(super) fn lacks(&self, verdict: &Verdict, now: Timestamp) -> Option<Wanted> {
        let waits = verdict.decision.outcome == DecisionOutcome::RequireApproval;
        let estimate = verdict.approval.as_ref().is_some_and(|clause| clause.estimate);
        let lacks = match &self.looked_into {
            Some(known) => estimate && known.estimate.is_none(),
            None => true,
        };
        let practice_since = now.before(PRACTICE_SPAN);
        (waits && lacks).then_some(Wanted { estimate, practice_since })
    }

    /// The call with what was wanted, all fetched at the same time.
    pub(crate) async fn looked_into(
        mut self,
        wanted: Wanted,
        at: &Parts,
    ) -> Result<Self, StoreDown> {
        let call = self.case.call();
        let practice =
            at.store.practice(self.org, (call.agent.id, &call.tool), wanted.practice_since);
        let estimate = async { if wanted.estimate { Some(self.estimate().await) } else { None } };
        let (practice, estimate, names_nobody) =
            join3(practice, estimate, self.names_nobody(at)).await;
        let (practice, names_nobody) = (practice?, names_nobody?);
        self.looked_into = Some(LookedInto { estimate, practice, names_nobody });
        Ok(self)
    }

    /// Whether the agent says for whom it acts, and names no member of the org.
    async fn names_nobody(&self, at: &Parts) -> Result<bool, StoreDown> {
        let Some(text) = self.case.call().facts.on_behalf_of.as_deref() else { return Ok(false) };
        let Reference { members, users, addresses } = Reference::parse(text);
        let members: Vec<_> = members.into_iter().collect();
        let mut users: Vec<_> = users.into_iter().collect();
        if !addresses.is_empty() {
            let addresses: Vec<_> = addresses.into_iter().collect();
            users.extend(at.people.people_of(&addresses).await?);
        }
        Ok(!at.store.has_one_of(self.org, (&members, &users)).await?)
    }

    async fn estimate(&self) -> Estimate {
        match self.case.resolved() {
            Resolved::Served(served) => {
                let args = self.case.args().value();
                served.tool.estimate(args, self.limits.estimate_timeout).await
            }
            Resolved::AtEdge { .. } | Resolved::Unknown => Estimate::NotOffered,
        }
    }

    /// Whether people can only be asked on what is looked up first.
    ///
    /// A change before this call in the same turn can have it wait that was to run before, and then
    /// nobody has looked yet at how the org asks. What is not known must not read as what an org
    /// decided nothing of, so the next turn decides.
    pub(super) fn lacks_terms(&self, verdict: &Verdict, snapshot: &Snapshot) -> bool {
        let waits = verdict.decision.outcome == DecisionOutcome::RequireApproval;
        waits && (!snapshot.knows_settings() || self.lacks_count(verdict, settings(snapshot)))
    }

    /// Whether who may answer hangs on the number of the org's members, which is not known.
    fn lacks_count(&self, verdict: &Verdict, settings: ApprovalSettings) -> bool {
        self.has_one_member.is_none()
            && settings.allow_single_member
            && !excluded(verdict.approval.as_deref(), settings).is_empty()
    }

    /// The call with the answer whether its org has exactly one member.
    pub(crate) fn counted(mut self, has_one_member: bool) -> Self {
        self.has_one_member = Some(has_one_member);
        self
    }

    /// The question, and what opens that which people are shown.
    pub(super) fn approval(
        &self,
        (verdict, action): (&Verdict, &Action),
        at: &Snapshot,
        mint: &Mint<'_>,
    ) -> (Approval, deed::Disclosure) {
        let (clause, settings) = (verdict.approval.as_deref(), settings(at));
        let LookedInto { estimate, practice, names_nobody } =
            &self.looked_into.clone().unwrap_or_default();
        let alone = settings.allow_single_member && self.has_one_member == Some(true);
        let exclude = if alone { Vec::new() } else { excluded(clause, settings) };
        let excludes_nobody = *names_nobody && exclude.contains(&Excluded::OnBehalfOf);
        let estimate = estimate.as_ref();
        let shown =
            Shown { case: &self.case, action, verdict, estimate, practice, excludes_nobody };
        let snapshot = Canonical::new(context(&shown, self.limits.context_max_bytes));
        let (context, disclosure) =
            commit_canonical(mint, Path::APPROVAL_CONTEXT, Arc::clone(snapshot.text()));
        let expires_in = clause.and_then(|clause| clause.expires_in);
        let expires_in = expires_in.or(settings.default_expires_in.map(Into::into));
        let approval = Approval {
            id: mint.id(ApprovalId::from_uuid),
            status: ApprovalStatus::Pending,
            expires_at: mint.now() + expires_in.unwrap_or(self.limits.approval_expires_in),
            from: clause.map(|clause| clause.from.clone()).unwrap_or_default(),
            count: clause.map_or(1, |clause| clause.count),
            context,
            context_digest: Some(snapshot.digest()),
            exclude,
            assurance: clause.and_then(|clause| clause.assurance),
            decisions: Vec::new(),
            decided_at: None,
            void_reason: None,
            voided: None,
        };
        (approval, disclosure)
    }
}

/// How the org asks people; of an org that decided nothing, as its rules say.
fn settings(at: &Snapshot) -> ApprovalSettings {
    at.settings().map(|settings| settings.approvals).unwrap_or_default()
}

/// Whom the rule excludes, and whom the org does whatever a rule says.
fn excluded(clause: Option<&ApprovalClause>, settings: ApprovalSettings) -> Vec<Excluded> {
    let mut exclude = clause.map(|clause| clause.exclude.clone()).unwrap_or_default();
    if settings.require_other_person && !exclude.contains(&Excluded::OnBehalfOf) {
        exclude.push(Excluded::OnBehalfOf);
    }
    exclude
}
