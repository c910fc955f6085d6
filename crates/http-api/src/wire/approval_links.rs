//! The link of a mail to whoever is asked, as requests show it and responses tell of it.

use crypto::Secret;
use deed::Vote;
use gate::Link;
use ledger::record::{Action, Answer, Member};
use model::{
    ActionId, ApprovalId, ApprovalStatus, Assurance, Digest, Level, MemberId, State, Status,
    Timestamp, Verdict, VoidReason,
};
use serde::Serialize;
use web::{ApiError, Fields, Word};

use super::approvals::{ApprovalDetail, note};

/// Longer than any link's token.
const MAX_TOKEN: usize = 256;

/// An answer.
pub(crate) struct Given {
    pub(crate) vote: Vote,
    pub(crate) shown: Digest,
    pub(crate) note: Option<String>,
}

/// Takes the link. It is read before all else, so that whatever else is refused is told on its page.
pub(crate) fn link_of(fields: &mut Fields) -> Result<Secret<String>, ApiError> {
    let token: String = fields.required("token")?;
    if token.len() > MAX_TOKEN {
        return Err(ApiError::invalid("token", "expected the part of the link after `t=`"));
    }
    Ok(Secret::new(token))
}

impl Given {
    /// Reads what stands beside the link: an answer, or nothing where somebody only looks.
    pub(crate) fn read(mut fields: Fields) -> Result<Option<Self>, ApiError> {
        let decision: Option<String> = fields.optional("decision")?;
        let shown: Option<Word<Digest>> = fields.optional("context_digest")?;
        let note = note(&mut fields)?;
        fields.finish()?;
        let Some(decision) = decision else {
            if shown.is_some() || note.is_some() {
                return Err(ApiError::invalid("decision", "this field is required"));
            }
            return Ok(None);
        };
        let vote = match &*decision {
            "approve" => Vote::Approve,
            "deny" => Vote::Deny,
            _ => return Err(ApiError::invalid("decision", "expected `approve` or `deny`")),
        };
        let Some(Word(shown)) = shown else {
            return Err(ApiError::invalid("context_digest", "this field is required"));
        };
        Ok(Some(Self { vote, shown, note }))
    }
}

/// How a link stands, and what became of what it asks.
#[derive(Debug, Serialize)]
pub(crate) struct LinkView<'a> {
    object: &'static str,
    approval: Option<ApprovalId>,
    member: MemberId,
    status: LinkStatus,
    expires_at: Timestamp,
    used_at: Option<Timestamp>,
    follows_until: Option<Timestamp>,
    decision: Option<Vote>,
    approval_status: Option<ApprovalStatus>,
    void_reason: Option<VoidReason>,
    decisions: Vec<LinkDecision>,
    action: FollowedAction,
    question: Option<ApprovalDetail<'a>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum LinkStatus {
    /// It may answer.
    Open,
    /// It answered.
    Used,
    /// Others settled what it asks.
    Settled,
}

/// An answer without its note, which may repeat what was asked.
#[derive(Debug, Serialize)]
struct LinkDecision {
    by: MemberId,
    decision: Vote,
    assurance: Assurance,
    at: Timestamp,
}

#[derive(Debug, Serialize)]
struct FollowedAction {
    id: ActionId,
    state: State,
    status: Status,
    verdict: Option<Verdict>,
    level: Option<Level>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rows_changed: Option<u64>,
}

impl<'a> LinkView<'a> {
    /// The link of this member, without what is asked.
    pub(crate) fn of(action: &Action, member: &Member, link: &Link) -> Self {
        let status = match &link.used {
            Some(_) => LinkStatus::Used,
            None if action.state == State::PendingApproval => LinkStatus::Open,
            None => LinkStatus::Settled,
        };
        let approval = action.approval.as_ref();
        Self {
            object: "approval_link",
            approval: approval.map(|it| it.id),
            member: member.id,
            status,
            expires_at: link.expires_at,
            used_at: link.used.as_ref().map(|used| used.answer.at),
            follows_until: link.used.as_ref().map(|used| used.follows_until),
            decision: link.used.as_ref().map(|used| used.answer.decision),
            approval_status: approval.map(|it| it.status),
            void_reason: approval.and_then(|it| it.void_reason),
            decisions: approval.into_iter().flat_map(|it| &it.decisions).map(decision).collect(),
            action: FollowedAction {
                id: action.id,
                state: action.state,
                status: action.status,
                verdict: action.witness.as_ref().map(|witness| witness.verdict),
                level: action.witness.as_ref().map(|witness| witness.level),
                rows_changed: action.execution.as_ref().and_then(|run| run.rows_changed),
            },
            question: None,
        }
    }

    /// Whether the link may answer.
    pub(crate) fn is_open(&self) -> bool {
        self.status == LinkStatus::Open
    }

    /// The link with what it asks.
    pub(crate) fn asking(self, question: ApprovalDetail<'a>) -> Self {
        Self { question: Some(question), ..self }
    }
}

fn decision(answer: &Answer) -> LinkDecision {
    LinkDecision {
        by: answer.by,
        decision: answer.decision,
        assurance: answer.assurance,
        at: answer.at,
    }
}
