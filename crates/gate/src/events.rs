//! The events that tell of an action.

use event::{thin_action, thin_approval, thin_void};
use ledger::record::{Action, Approval};
use model::{ApprovalStatus, EventId, EventType, Mint};
use serde_json::{Value, json};

use crate::case::Change;

/// The event that the call's tool is found to be another than the one that was accepted.
pub(crate) fn changed_event(
    action: &Action,
    (accepted, found): Change,
    mint: &Mint<'_>,
) -> event::Draft {
    event::Draft {
        object: event::thin_tool(&action.tool, accepted, found),
        ..event_of(action, EventType::ToolChanged, mint)
    }
}

/// The event that people are asked about the action, or how that ended.
pub(crate) fn approval_event(action: &Action, mint: &Mint<'_>) -> Option<event::Draft> {
    let approval = action.approval.as_ref()?;
    let kind = match approval.status {
        ApprovalStatus::Pending => EventType::ApprovalRequested,
        ApprovalStatus::Approved => EventType::ApprovalApproved,
        ApprovalStatus::Denied => EventType::ApprovalDenied,
        ApprovalStatus::Expired => EventType::ApprovalExpired,
        ApprovalStatus::Cancelled => EventType::ApprovalCancelled,
        ApprovalStatus::Voided => EventType::ApprovalVoided,
    };
    Some(event::Draft { object: thin(action, approval), ..event_of(action, kind, mint) })
}

/// The event that somebody said yes to the action, and more people must.
pub(crate) fn answered_event(
    (action, approval): (&Action, &Approval),
    mint: &Mint<'_>,
) -> event::Draft {
    let kind = EventType::ApprovalAnswered;
    event::Draft { object: thin(action, approval), ..event_of(action, kind, mint) }
}

fn thin(action: &Action, approval: &Approval) -> Value {
    let thin = thin_approval(approval.id, approval.status, (action.id, approval.expires_at));
    match approval.void_reason {
        Some(reason) => thin_void(thin, reason, approval.voided.as_ref().map(|it| json!(it.by))),
        None => thin,
    }
}

/// An event of an action as it stands.
pub(crate) fn event_of(action: &Action, kind: EventType, mint: &Mint<'_>) -> event::Draft {
    event::Draft {
        id: mint.id(EventId::from_uuid),
        kind,
        livemode: action.livemode,
        agent: Some(action.agent.id),
        action: Some(action.id),
        object: thin_action(action.id, action.state, action.status),
    }
}
