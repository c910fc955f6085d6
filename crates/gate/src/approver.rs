//! Who may answer what a person is asked: told by the rule that asked, and by who people are now.

use ledger::record::{Action, Answer, Approval, Member};
use model::{MemberId, Role};
use policy::Excluded;

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
    /// They have said yes, which counts once.
    Answered,
}

impl Approver<'_> {
    /// Why this person may not answer; nothing where they may.
    pub fn barred(&self, question: Question<'_>) -> Option<Barred> {
        let said = |answer: &Answer| answer.user == self.member.user;
        self.unfit(question)
            .or_else(|| question.approval.decisions.iter().any(said).then_some(Barred::Answered))
    }

    /// Why an answer of this person counts for nothing, whether they have given one or not.
    pub(crate) fn unfit(&self, question: Question<'_>) -> Option<Barred> {
        let Question { approval, .. } = question;
        let named = approval.from.is_empty() || approval.from.iter().any(|who| self.is_named(who));
        if !self.member.is_live() || !self.member.can_approve || !named {
            return Some(Barred::NotAnApprover);
        }
        let excluded = approval.exclude.iter().any(|excluded| self.is(*excluded, question));
        excluded.then_some(Barred::Excluded)
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
                question.action.on_behalf_of.as_deref().is_some_and(|name| self.goes_by(name))
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
            || self.address.is_some_and(|address| address.eq_ignore_ascii_case(name))
    }
}
