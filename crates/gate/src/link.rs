//! The links that are mailed to those who are asked: until when one answers, and what it tells
//! afterwards. Nothing of a link is stored. That it was used stands in the question itself, as the
//! answer that was given with it, so that it is used once whoever else tries in the same moment.

use ledger::record::{Action, Answer, Approval, ApprovalMail};
use model::{Assurance, MailJobId, MemberId, Mint, Timestamp};

use crate::{gate::Gate, limits::Limits};

/// How a member's link to a question stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// When it answers nothing any more, used or not.
    pub expires_at: Timestamp,
    /// The answer that was given with it.
    pub used: Option<Used>,
}

/// A link that was used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Used {
    /// What was answered.
    pub answer: Answer,
    /// Until when it tells what becomes of the action.
    pub follows_until: Timestamp,
}

impl Link {
    /// The link of this member to what the action asks.
    pub(crate) fn of(
        (action, approval): (&Action, &Approval),
        member: MemberId,
        limits: &Limits,
    ) -> Self {
        let by_link =
            |it: &&Answer| it.by == member && matches!(it.assurance, Assurance::EmailLink);
        let used = approval.decisions.iter().find(by_link).map(|answer| Used {
            answer: answer.clone(),
            follows_until: answer.at + limits.link_status_window,
        });
        Self { expires_at: end((action, approval), limits), used }
    }

    /// Whether it may still answer, as far as its own time goes.
    pub fn is_live(&self, now: Timestamp) -> bool {
        self.used.is_none() && now < self.expires_at
    }
}

impl Gate {
    /// The link of this member to what the action asks; nothing where it asks nothing.
    pub fn link(&self, action: &Action, member: MemberId) -> Option<Link> {
        let approval = action.approval.as_ref()?;
        Some(Link::of((action, approval), member, &self.parts.limits))
    }
}

/// When links to the question mean nothing any more: never behind the question's own end.
fn end((action, approval): (&Action, &Approval), limits: &Limits) -> Timestamp {
    approval.expires_at.min(action.created_at + limits.link_max_ttl)
}

/// The mails that are to be written about what the action asks, where any are.
pub(crate) fn mail(action: &Action, limits: &Limits, mint: &Mint<'_>) -> Option<ApprovalMail> {
    let approval = action.approval.as_ref().filter(|_| limits.writes_mails)?;
    Some(ApprovalMail {
        job: mint.id(MailJobId::from_uuid),
        action: action.id,
        approval: approval.id,
        run_at: mint.now(),
        expires_at: end((action, approval), limits),
    })
}
