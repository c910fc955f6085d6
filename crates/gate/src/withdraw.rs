//! Ends an action that waits for a person: it is cancelled, or nobody answered in time.

use ledger::{
    Change, Entry, LedgerError, Needs, Request, Snapshot,
    record::{Action, ApiKey, Holder},
};
use model::{ActionId, AgentId, ApprovalStatus, EventType, KeyId, Mint, OrgId, State, Status};

use crate::{
    Gate,
    begin::{event_of, release, seal},
    settle::needs_of_end,
};

/// Who cancels an action.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Canceller {
    /// The agent that sent it, by this key.
    Agent(AgentId, KeyId),
    /// An org key.
    OrgKey(KeyId),
}

/// Why an action was not cancelled.
#[derive(Debug, Clone, thiserror::Error)]
pub enum CancelError {
    /// The key is not valid any more.
    #[error("the API key is missing, wrong, revoked or expired")]
    Unauthenticated,
    /// There is no such action, or it is another agent's.
    #[error("there is no such action")]
    NotFound,
    /// The action does not wait.
    #[error("{0}")]
    Conflict(&'static str),
    /// The record cannot be reached.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
}

impl Gate {
    /// Cancels an action that waits for a person.
    pub async fn cancel(
        &self,
        org: OrgId,
        id: ActionId,
        by: Canceller,
    ) -> Result<Box<Action>, CancelError> {
        self.parts.ledger.enter(org, Cancel { action: id, by }).await?
    }
}

struct Cancel {
    action: ActionId,
    by: Canceller,
}

impl Cancel {
    fn key(&self) -> KeyId {
        match self.by {
            Canceller::Agent(_, key) | Canceller::OrgKey(key) => key,
        }
    }

    fn open<'s>(&self, snapshot: &'s Snapshot) -> Result<&'s Action, CancelError> {
        let valid = |key: &&ApiKey| key.is_valid(snapshot.now());
        let key = snapshot.key(self.key()).filter(valid).ok_or(CancelError::Unauthenticated)?;
        let may = |action: &&Action| match key.holder {
            Holder::Agent(agent) => agent == action.agent.id,
            Holder::Org => true,
        };
        let action = snapshot.action(self.action).filter(may).ok_or(CancelError::NotFound)?;
        match action.state {
            State::PendingApproval => Ok(action),
            State::Executing | State::Witnessing => {
                Err(CancelError::Conflict("The action is already executing."))
            }
            State::Sealed | State::Cancelled => {
                Err(CancelError::Conflict("The action has already finished."))
            }
        }
    }
}

impl Request for Cancel {
    type Answer = Result<Box<Action>, CancelError>;

    fn needs(&self, snapshot: &Snapshot) -> Needs {
        let mut needs = needs_of_end(self.action, snapshot);
        needs.keys.insert(self.key());
        needs
    }

    fn decide(&self, snapshot: &Snapshot, mint: &Mint<'_>) -> (Entry, Self::Answer) {
        match self.open(snapshot) {
            Ok(action) => {
                let (entry, ended) =
                    withdraw(action.clone(), ApprovalStatus::Cancelled, snapshot, mint);
                (entry, Ok(Box::new(ended)))
            }
            Err(error) => (Entry::nothing(), Err(error)),
        }
    }
}

/// Ends an action whose approval has expired, if it has.
pub(crate) struct Expire {
    pub(crate) action: ActionId,
}

impl Request for Expire {
    type Answer = ();

    fn needs(&self, snapshot: &Snapshot) -> Needs {
        needs_of_end(self.action, snapshot)
    }

    fn decide(&self, snapshot: &Snapshot, mint: &Mint<'_>) -> (Entry, ()) {
        let expired = |action: &&Action| {
            let approval = action.approval.as_ref();
            action.state == State::PendingApproval
                && approval.is_some_and(|approval| approval.expires_at <= snapshot.now())
        };
        match snapshot.action(self.action).filter(expired) {
            Some(action) => {
                let status = ApprovalStatus::Expired;
                (withdraw(action.clone(), status, snapshot, mint).0, ())
            }
            None => (Entry::nothing(), ()),
        }
    }
}

/// Seals a waiting action without a run: what it reserved is given back.
fn withdraw(
    mut action: Action,
    status: ApprovalStatus,
    snapshot: &Snapshot,
    mint: &Mint<'_>,
) -> (Entry, Action) {
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
    }
    (action.state, action.status) = (State::Sealed, ended);
    let mut entry = Entry::nothing();
    entry.changes.extend(release(&action.charged, snapshot).into_iter().map(Change::Budget));
    entry.deeds.push(seal(&mut action, mint));
    entry.events.push(event_of(&action, kind, mint));
    entry.changes.push(Change::ActionMoved(Box::new(action.clone())));
    (entry, action)
}
