//! The release of an action that enough people said yes to: everything that let it wait is looked at
//! again, and what refuses it by now takes the approval away.

use std::sync::Arc;

use ledger::{
    Entry, Needs, Snapshot,
    record::{Action, ApiKey},
};
use model::{ApprovalStatus, DecisionOutcome, Mint, VoidReason};

use crate::{
    case::Case,
    decide::{Verdict, budgets, decide_anew, swapped},
    events::approval_event,
    limits::Limits,
    permit::{AfterTurn, allow},
    resolved::Resolved,
    teller::is_another,
    withdraw::withdraw,
};

/// What a release is decided on beside the record.
pub(crate) struct Release {
    /// The call with its tool as it is now; nothing where its arguments are gone.
    pub(crate) case: Option<Case>,
    pub(crate) instance: String,
    pub(crate) limits: Limits,
}

impl Release {
    /// What must be known to release the action.
    pub(crate) fn needs(&self, action: &Action, snapshot: &Snapshot) -> Needs {
        let mut needs = Needs { keys: [action.key].into(), ..Needs::default() };
        let Some(case) = &self.case else { return needs };
        if matches!(case.resolved(), Resolved::AtEdge { .. }) {
            needs.accepted_tools.insert((action.agent.id, action.tool.clone()));
        }
        needs.budgets.extend(budgets(case, snapshot));
        needs
    }

    /// Lets the action run, or seals why not.
    pub(crate) fn of(
        &self,
        mut action: Action,
        snapshot: &Snapshot,
        mint: &Mint<'_>,
    ) -> (Entry, AfterTurn) {
        if let Some(approval) = &mut action.approval {
            approval.decided_at = Some(mint.now());
        }
        match self.verdict(&action, snapshot) {
            Ok((case, verdict)) => self.run(action, (case, verdict), snapshot, mint),
            Err(reason) => {
                if let Some(approval) = &mut action.approval {
                    approval.void_reason = Some(reason);
                }
                let (entry, sealed) = withdraw(&action, ApprovalStatus::Voided, snapshot, mint);
                (entry, AfterTurn::Done(sealed))
            }
        }
    }

    /// What lets the call run by now: the key that sent it still opens something, the tool is the one
    /// that was asked about, and no rule and no budget refuses the call. That a rule would ask a
    /// person does not: people were asked.
    fn verdict(
        &self,
        action: &Action,
        snapshot: &Snapshot,
    ) -> Result<(&Case, Verdict), VoidReason> {
        let case = self.case.as_ref().ok_or(VoidReason::PayloadPruned)?;
        let valid = |key: &&ApiKey| key.is_valid(snapshot.now());
        snapshot.key(action.key).filter(valid).ok_or(VoidReason::KeyInvalid)?;
        let resolved = case.resolved();
        let other = match resolved {
            Resolved::Served(served) => is_another(served, action),
            Resolved::AtEdge { .. } | Resolved::Unknown => false,
        };
        let gone = matches!(resolved, Resolved::Unknown);
        if !gone && (other || resolved.digest() != action.tool_digest) {
            return Err(VoidReason::ToolChanged);
        }
        let decided = decide_anew(case, snapshot, &action.charged);
        let verdict = decided.ok_or(VoidReason::PolicyUnavailable)?;
        match (verdict.decision.outcome, verdict.decision.code) {
            (DecisionOutcome::Deny, code) => {
                Err(code.map_or(VoidReason::PolicyDenied, VoidReason::from))
            }
            (DecisionOutcome::Allow | DecisionOutcome::RequireApproval, _) => Ok((case, verdict)),
        }
    }

    /// Lets it run as it was asked about; the decision that it waits by stays as it is.
    fn run(
        &self,
        mut action: Action,
        (case, verdict): (&Case, Verdict),
        snapshot: &Snapshot,
        mint: &Mint<'_>,
    ) -> (Entry, AfterTurn) {
        let mut entry = Entry::nothing();
        entry.changes.budgets = swapped(&action.charged, &verdict.charged, snapshot);
        entry.changes.budgets.extend(verdict.budgets);
        (action.charged, action.cost) = (verdict.charged, verdict.cost);
        if let Some(approval) = &mut action.approval {
            approval.status = ApprovalStatus::Approved;
        }
        allow(&mut action, case.resolved(), (&self.instance, &self.limits), mint);
        entry.changes.accepted_tools.extend(case.accepts(snapshot));
        entry.events.extend(approval_event(&action, mint));
        let action = Arc::new(action);
        entry.changes.actions.push(Arc::clone(&action));
        (entry, AfterTurn::of(action, case))
    }
}
