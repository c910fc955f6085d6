//! Who may answer what a person is asked: told by the rule that asked, and by who people are now.

use deed::Vote;
use ledger::record::{Action, Answer, Approval, Member};
use model::{MemberId, Role};
use policy::Excluded;

use crate::reference::Reference;

/// A person as a question knows them.
#[derive(Debug, Clone, Copy)]
pub struct Approver<'a> {
    /// Who they are in the org.
    pub member: &'a Member,
    /// Their address in its one form, where it is known.
    pub address: Option<&'a str>,
}

/// What a person is asked, and of what.
#[derive(Debug, Clone, Copy)]
pub struct Question<'a> {
    /// The action that waits.
    pub action: &'a Action,
    /// The question.
    pub approval: &'a Approval,
    /// For whom the agent says that it acts.
    pub stated: &'a Reference,
    /// Who made the policy version that asked, where that is known.
    pub author: Option<&'a str>,
    /// The member who owns the agent, where one does.
    pub owner: Option<MemberId>,
}

/// Why a person may not answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Barred {
    /// They are not among those whom the rule names, or may not answer anything.
    NotAnApprover,
    /// The rule excludes them: the call is on their behalf, or the rule is their own.
    Excluded,
    /// They have said yes, and it counts: nobody's does twice.
    Answered,
}

impl Approver<'_> {
    /// Why this person may not answer; nothing where they may.
    pub fn barred(&self, question: Question<'_>) -> Option<Barred> {
        let said = |answer: &Answer| counts(answer, self.member, question);
        self.unfit(question)
            .or_else(|| question.approval.decisions.iter().any(said).then_some(Barred::Answered))
    }

    /// Why an answer of this person counts for nothing, whether they have given one or not.
    pub(crate) fn unfit(&self, question: Question<'_>) -> Option<Barred> {
        if !self.may_answer() || !self.is_among(question.approval) {
            return Some(Barred::NotAnApprover);
        }
        self.is_excluded(question).then_some(Barred::Excluded)
    }

    /// Whether the question names them by their address.
    pub(crate) fn is_named_by_address(&self, approval: &Approval) -> bool {
        approval.from.iter().any(|who| match who.split_once(':') {
            Some(("member", name)) => self.has_address(name),
            _ => false,
        })
    }

    fn may_answer(&self) -> bool {
        self.member.is_live() && self.member.can_approve
    }

    fn is_among(&self, approval: &Approval) -> bool {
        approval.from.is_empty() || approval.from.iter().any(|who| self.is_named(who))
    }

    fn is_excluded(&self, question: Question<'_>) -> bool {
        question.approval.exclude.iter().any(|excluded| self.is(*excluded, question))
    }

    /// Whether `role:…` or `member:…` names them.
    fn is_named(&self, who: &str) -> bool {
        match who.split_once(':') {
            Some(("role", role)) => {
                role.parse::<Role>().is_ok_and(|role| self.member.role.is_at_least(role))
            }
            Some(("member", name)) => self.goes_by(name),
            _ => false,
        }
    }

    fn is(&self, excluded: Excluded, question: Question<'_>) -> bool {
        match excluded {
            Excluded::OnBehalfOf => {
                let Reference { members, users, addresses: _ } = question.stated;
                members.contains(&self.member.id)
                    || users.contains(&self.member.user)
                    || self.address.is_some_and(|address| question.stated.has(address))
            }
            Excluded::PolicyAuthor => question.author.is_some_and(|name| self.goes_by(name)),
            Excluded::AgentOwner => question.owner == Some(self.member.id),
        }
    }

    /// Whether it is a name of theirs: an id, or the address in any spelling of its letters.
    fn goes_by(&self, name: &str) -> bool {
        let name = name.trim();
        name == self.member.id.to_string()
            || name == self.member.user.to_string()
            || self.has_address(name)
    }

    fn has_address(&self, name: &str) -> bool {
        self.address.is_some_and(|address| address.eq_ignore_ascii_case(name.trim()))
    }
}

/// Whether an answer is a yes of this member that counts as things stand.
///
/// No turn looks up addresses, and what hangs on one does not change: whether it named them stands in
/// the answer, and whom it excludes was never let answer. With the revision by which they answered
/// nothing else has changed for which the question names them. All else is asked again.
pub(crate) fn counts(answer: &Answer, member: &Member, question: Question<'_>) -> bool {
    let known = Approver { member, address: None };
    let is_named = answer.by_address
        || answer.revision == member.revision
        || known.is_among(question.approval);
    answer.decision == Vote::Approve
        && answer.by == member.id
        && is_named
        && known.may_answer()
        && !known.is_excluded(question)
}
