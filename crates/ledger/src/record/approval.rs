//! What a person is asked about an action, and what was answered.

use model::{
    ActionId, ApprovalId, ApprovalStatus, Assurance, Digest, MailJobId, MemberId, Timestamp,
    UserId, VoidReason,
};
use policy::Excluded;
use serde::{Deserialize, Serialize};

use super::Voided;

/// The question to a person about one action.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Approval {
    /// The approval's id.
    pub id: ApprovalId,
    /// How it stands.
    pub status: ApprovalStatus,
    /// When no answer means no.
    pub expires_at: Timestamp,
    /// Who may answer.
    pub from: Vec<String>,
    /// How many must say yes.
    pub count: u8,
    /// The commitment to what a person is shown.
    pub context: deed::Commitment,
    /// SHA-256 of the canonical form of what a person is shown, which an answer must name; not
    /// kept of questions that are older than this field.
    #[serde(default)]
    pub context_digest: Option<Digest>,
    /// Who may not answer although `from` names them.
    #[serde(default = "beneficiary", with = "words")]
    pub exclude: Vec<Excluded>,
    /// How whoever answers must have shown who they are; nothing where each way will do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub assurance: Option<Assurance>,
    /// Who said what, in order.
    #[serde(default)]
    pub decisions: Vec<Answer>,
    /// When it was settled by a person, whatever they said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decided_at: Option<Timestamp>,
    /// What took it away, where it is void.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub void_reason: Option<VoidReason>,
    /// The Stop or the archiving of the agent that took it away, where one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub voided: Option<Voided>,
}

/// Who may not answer a question that is older than the field which says so.
fn beneficiary() -> Vec<Excluded> {
    vec![Excluded::OnBehalfOf]
}

/// What a person answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// The member that they were.
    pub by: MemberId,
    /// The revision of that member by which they might answer.
    pub revision: u32,
    /// Who they are, however often they left and came back.
    pub user: UserId,
    /// Whether the question named them by their address, which no turn looks up again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_address: bool,
    /// Yes or no.
    pub decision: deed::Vote,
    /// How they showed who they are.
    pub assurance: Assurance,
    /// When.
    pub at: Timestamp,
    /// What they say about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// The mails of a question, which are to be written to those who may answer it by then. Who they
/// are is found out behind the turn: no turn reads all of an org's people.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ApprovalMail {
    /// The job.
    pub job: MailJobId,
    /// The action that waits.
    pub action: ActionId,
    /// The question.
    pub approval: ApprovalId,
    /// From when on they are to be sent.
    pub run_at: Timestamp,
    /// When their links mean nothing any more.
    pub expires_at: Timestamp,
}

/// Who is excluded, in the words of policies.
mod words {
    use policy::Excluded;
    use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

    pub(super) fn serialize<S: Serializer>(all: &[Excluded], to: S) -> Result<S::Ok, S::Error> {
        all.iter().map(|one| one.as_str()).collect::<Vec<_>>().serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Vec<Excluded>, D::Error> {
        let known = |word: String| {
            let found = Excluded::ALL.into_iter().find(|one| one.as_str() == word);
            found.ok_or_else(|| D::Error::custom("not a word for who is excluded"))
        };
        Vec::<String>::deserialize(from)?.into_iter().map(known).collect()
    }
}
