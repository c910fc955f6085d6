//! The release of an action that enough people said yes to: everything that let it wait is looked at
//! again, and what refuses it by now takes the approval away.

use std::sync::Arc;

use ledger::{
    Entry, Needs, Snapshot,
    record::{Action, ApiKey},
};
use model::{ApprovalStatus, DecisionOutcome, Mint, Mode, VoidReason};

use crate::{
    begin::{Permitted, Verdict, allow, approval_event, budgets, swapped},
    case::Case,
    limits::Limits,
    recover::is_another,
    resolved::Resolved,
    withdraw::withdraw,
};

/// What a release is decided on beside the record.
pub(crate) struct Release {
    /// The call with its tool as it is now; nothing where its arguments are gone.
    pub(crate) case: Option<Case>,
    pub(crate) instance: String,
    pub(crate) limits: Limits,
}

/// What became of an action that enough people said yes to.
pub(crate) enum Released {
    /// The agent's edge may run it, or it was refused and sealed.
    Settled(Arc<Action>),
    /// The tool may run now.
    Permitted(Box<Permitted>),
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
    ) -> (Entry, Released) {
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
                (entry, Released::Settled(sealed))
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
        let decided = case.decide_anew(snapshot, &action.charged);
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
    ) -> (Entry, Released) {
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
        let released = match case.resolved() {
            Resolved::Served(served) if action.mode == Mode::Gateway => {
                let (tool, args) = (Arc::clone(&served.tool), Arc::clone(case.args().value()));
                Released::Permitted(Box::new(Permitted { action, tool, args }))
            }
            Resolved::Served(_) | Resolved::AtEdge { .. } | Resolved::Unknown => {
                Released::Settled(action)
            }
        };
        (entry, released)
    }
}
