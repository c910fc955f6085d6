//! Ends an action that waits for a person: it is cancelled, nobody answered in time, or its approval
//! is void.

use std::sync::Arc;

use ledger::{
    Entry, LedgerError, Needs, Request, Snapshot,
    record::{Action, ApiKey, Holder, Voided},
};
use model::{
    ActionId, AgentId, ApprovalStatus, EventType, KeyId, MemberId, Mint, OrgId, Role, State,
    Status, VoidReason,
};

use crate::{
    decide::release,
    deed_of::seal,
    events::{approval_event, event_of},
    gate::Gate,
    repeat::{Named, Repeat, Sender},
    report::Ended,
    settle::needs_of_end,
};

/// A wish to cancel an action that waits for a person.
#[derive(Debug, Clone)]
pub struct Cancellation {
    /// The org that the key belongs to.
    pub org: OrgId,
    /// The action.
    pub action: ActionId,
    /// Who cancels it.
    pub by: Canceller,
    /// The key that names this request for 24 hours.
    pub idempotency_key: Option<String>,
}

/// Who cancels an action.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Canceller {
    /// The agent that sent it, by this key.
    Agent(AgentId, KeyId),
    /// An org key.
    OrgKey(KeyId),
    /// A member of the org, by a session of theirs.
    Member(MemberId),
}

/// Why an action was not cancelled.
#[derive(Debug, Clone, thiserror::Error)]
pub enum CancelError {
    /// The key is not valid any more.
    #[error("the API key is missing, wrong, revoked or expired")]
    Unauthenticated,
    /// The member's role does not let them.
    #[error("your role in the org does not allow this")]
    RoleRequired,
    /// There is no such action, or it is another agent's.
    #[error("there is no such action")]
    NotFound,
    /// The action does not wait.
    #[error("{0}")]
    Conflict(&'static str),
    /// The idempotency key names a different request.
    #[error("this `Idempotency-Key` was used within the last 24 hours for a different request")]
    DifferentRequest,
    /// The record cannot be reached.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
}

impl Gate {
    /// Cancels an action that waits for a person.
    pub async fn cancel(&self, wish: Cancellation) -> Result<Ended, CancelError> {
        let (org, id) = (wish.org, wish.action);
        match self.parts.ledger.enter(org, Cancel(wish)).await?? {
            Cancelled::Now(action) => Ok(Ended::Now(action)),
            Cancelled::Repeat => Ok(Ended::Repeat(self.as_it_stands(org, id).await?)),
        }
    }
}

struct Cancel(Cancellation);

enum Cancelled {
    Now(Arc<Action>),
    Repeat,
}

impl Cancel {
    fn key(&self) -> Option<KeyId> {
        match self.0.by {
            Canceller::Agent(_, key) | Canceller::OrgKey(key) => Some(key),
            Canceller::Member(_) => None,
        }
    }

    /// The wish under the name that its sender gave it.
    fn named(&self) -> Option<Named> {
        let sender = match self.0.by {
            Canceller::Agent(agent, _) => Sender::Agent(agent),
            Canceller::OrgKey(key) => Sender::OrgKey(key),
            Canceller::Member(member) => Sender::Member(member),
        };
        let key = self.0.idempotency_key.as_ref()?;
        let fingerprint = crypto::sha256(self.0.action.to_string());
        Some(Named::new("cancel", sender, key, (self.0.action, fingerprint)))
    }

    /// The one agent whose actions may be cancelled, or nothing where all of the org's may.
    fn authenticated(&self, snapshot: &Snapshot) -> Result<Option<AgentId>, CancelError> {
        if let Canceller::Member(id) = self.0.by {
            let member = snapshot.member(id).filter(|member| member.is_live());
            return match member.ok_or(CancelError::Unauthenticated)?.role {
                Role::Viewer => Err(CancelError::RoleRequired),
                Role::Admin | Role::Owner => Ok(None),
            };
        }
        let valid = |key: &&ApiKey| key.is_valid(snapshot.now());
        let key = self.key().and_then(|key| snapshot.key(key)).filter(valid);
        match key.ok_or(CancelError::Unauthenticated)?.holder {
            Holder::Agent(agent) => Ok(Some(agent)),
            Holder::Org => Ok(None),
        }
    }

    fn open<'s>(
        &self,
        snapshot: &'s Snapshot,
        only: Option<AgentId>,
    ) -> Result<&'s Action, CancelError> {
        let may = |action: &&Arc<Action>| only.is_none_or(|agent| agent == action.agent.id);
        let action = snapshot.action(self.0.action).filter(may).ok_or(CancelError::NotFound)?;
        match action.state {
            State::PendingApproval => Ok(action),
            State::Executing => Err(CancelError::Conflict("The action is already executing.")),
            State::Witnessing => {
                Err(CancelError::Conflict("The call has run, and its effects are being witnessed."))
            }
            State::Sealed | State::Cancelled => {
                Err(CancelError::Conflict("The action has already finished."))
            }
        }
    }
}

impl Request for Cancel {
    type Answer = Result<Cancelled, CancelError>;

    fn needs(&self, snapshot: &Snapshot) -> Needs {
        let mut needs = needs_of_withdrawal(self.0.action, snapshot);
        needs.keys.extend(self.key());
        if let Canceller::Member(member) = self.0.by {
            needs.members.insert(member);
        }
        needs.idempotency_keys.extend(self.named().map(|named| named.need()));
        needs
    }

    fn decide(&self, snapshot: &Snapshot, mint: &Mint<'_>) -> (Entry, Self::Answer) {
        let only = match self.authenticated(snapshot) {
            Ok(only) => only,
            Err(error) => return (Entry::nothing(), Err(error)),
        };
        let named = self.named();
        match named.as_ref().map_or(Repeat::First, |named| named.repeat(snapshot)) {
            Repeat::First => {}
            Repeat::Same => return (Entry::nothing(), Ok(Cancelled::Repeat)),
            Repeat::Different => return (Entry::nothing(), Err(CancelError::DifferentRequest)),
        }
        match self.open(snapshot, only) {
            Ok(action) if is_void(action, snapshot) => {
                let (entry, _) = withdraw(action, ApprovalStatus::Voided, snapshot, mint);
                (entry, Err(CancelError::Conflict("The action has already finished.")))
            }
            Ok(action) => {
                let (mut entry, ended) =
                    withdraw(action, ApprovalStatus::Cancelled, snapshot, mint);
                entry.changes.idempotency_keys.extend(named.map(|named| named.row(mint)));
                (entry, Ok(Cancelled::Now(ended)))
            }
            Err(error) => (Entry::nothing(), Err(error)),
        }
    }
}

/// Ends an action whose approval is void or has expired, if it is or has.
pub(crate) struct End {
    pub(crate) action: ActionId,
}

impl Request for End {
    type Answer = ();

    fn needs(&self, snapshot: &Snapshot) -> Needs {
        needs_of_withdrawal(self.action, snapshot)
    }

    fn decide(&self, snapshot: &Snapshot, mint: &Mint<'_>) -> (Entry, ()) {
        let waits = |action: &&Arc<Action>| action.state == State::PendingApproval;
        let Some(action) = snapshot.action(self.action).filter(waits) else {
            return (Entry::nothing(), ());
        };
        match over(action, snapshot) {
            Some(status) => (withdraw(action, status, snapshot, mint).0, ()),
            None => (Entry::nothing(), ()),
        }
    }
}

/// How the wait of an action that still waits is over by now, if it is.
pub(crate) fn over(action: &Action, snapshot: &Snapshot) -> Option<ApprovalStatus> {
    let expires_at = action.approval.as_ref().map(|approval| approval.expires_at);
    if is_void(action, snapshot) {
        return Some(ApprovalStatus::Voided);
    }
    expires_at.is_some_and(|end| end <= snapshot.now()).then_some(ApprovalStatus::Expired)
}

/// What must be known to end an action that waits: its agent too, which says whether its approval
/// is void.
pub(crate) fn needs_of_withdrawal(id: ActionId, snapshot: &Snapshot) -> Needs {
    let mut needs = needs_of_end(id, snapshot);
    needs.agents.extend(snapshot.action(id).map(|action| action.agent.id));
    needs
}

/// Whether the approval that the action waits for was made void, by a Stop or by the end of its
/// agent. Whatever decides an approval must ask this, since those that are void are ended one by one
/// behind the turn that made them so.
///
/// A call that was recorded in the very millisecond of a Stop, behind it, would be taken for one
/// that waited before: it is refused, which a Stop may do.
pub(crate) fn is_void(action: &Action, snapshot: &Snapshot) -> bool {
    voided_by(action, snapshot).is_some()
}

/// What made the action's approval void, and who: the first of what did.
fn voided_by(action: &Action, snapshot: &Snapshot) -> Option<(VoidReason, Option<Voided>)> {
    let of_org =
        snapshot.org().and_then(|org| Some((org.voids?, VoidReason::OrgStopped, &org.voided)));
    let of_agent = snapshot.agent(action.agent.id).and_then(|agent| {
        let is_end = agent.archived_at == agent.voids;
        let reason = if is_end { VoidReason::AgentArchived } else { VoidReason::AgentStopped };
        Some((agent.voids?, reason, &agent.voided))
    });
    let marks = of_org.into_iter().chain(of_agent);
    let first = marks.filter(|(until, ..)| action.created_at <= *until).min_by_key(|it| it.0);
    first.map(|(_, reason, voided)| (reason, voided.clone()))
}

/// Seals a waiting action without a run: what it reserved is given back.
pub(crate) fn withdraw(
    action: &Action,
    status: ApprovalStatus,
    snapshot: &Snapshot,
    mint: &Mint<'_>,
) -> (Entry, Arc<Action>) {
    let void = voided_by(action, snapshot);
    let mut action = action.clone();
    let (ended, kind) = match status {
        ApprovalStatus::Cancelled => (Status::Cancelled, EventType::ActionCancelled),
        ApprovalStatus::Pending
        | ApprovalStatus::Approved
        | ApprovalStatus::Denied
        | ApprovalStatus::Expired
        | ApprovalStatus::Voided => (Status::Denied, EventType::ActionDenied),
    };
    if let Some(approval) = &mut action.approval {
        approval.status = status;
        // A release that was refused has said why.
        if let (ApprovalStatus::Voided, None, Some((reason, voided))) =
            (status, approval.void_reason, void)
        {
            (approval.void_reason, approval.voided) = (Some(reason), voided);
        }
    }
    (action.state, action.status) = (State::Sealed, ended);
    let mut entry = Entry::nothing();
    entry.changes.budgets = release(&action.charged, snapshot);
    entry.deeds.push(seal(&mut action, mint));
    entry.events.push(event_of(&action, kind, mint));
    entry.events.extend(approval_event(&action, mint));
    let action = Arc::new(action);
    entry.changes.actions.push(Arc::clone(&action));
    (entry, action)
}
