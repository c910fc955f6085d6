//! The links by which people answer what their org asks them: what stands in one, what is read from
//! it, and who gets one.

use async_trait::async_trait;
use crypto::{Secret, constant_time_eq};
use ledger::StoreDown;
use model::{ApprovalId, MemberId, OrgId};

use crate::{
    People,
    secrets::{About, Pepper},
};

/// What a link is good for: one question of an org, to one of its members.
///
/// A member who left and comes back is another one, so that links end with the membership.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinkedTo {
    /// The org.
    pub org: OrgId,
    /// The question.
    pub approval: ApprovalId,
    /// Whom it was sent to.
    pub member: MemberId,
}

/// Says who is to be written to about a question.
#[async_trait]
pub trait Deciders: Send + Sync {
    /// Up to this many members who may answer it at this moment; nobody where it waits no more.
    async fn deciders(
        &self,
        org: OrgId,
        approval: ApprovalId,
        most: usize,
    ) -> Result<Vec<MemberId>, StoreDown>;
}

impl People {
    /// What stands behind `t=` in the link; whoever has it answers as this member, once.
    pub fn question(&self, to: LinkedTo) -> Secret<String> {
        self.pepper.question(to)
    }

    /// What this text was made for; nothing of a text that this deployment did not make.
    pub fn asked_by(&self, shown: &Secret<String>) -> Option<LinkedTo> {
        self.pepper.asked_by(shown)
    }
}

impl Pepper {
    /// What stands in the link: what it is good for, and 256 bits. It needs no salt: without the
    /// pepper nobody can make it for ids that they know.
    pub(crate) fn question(&self, to: LinkedTo) -> Secret<String> {
        let LinkedTo { org, approval, member } = to;
        let of = format!("{org}.{approval}.{member}");
        let token = self.text(About::Question, of.as_bytes());
        Secret::new(format!("{of}.{}", token.expose()))
    }

    fn asked_by(&self, shown: &Secret<String>) -> Option<LinkedTo> {
        let mut parts = shown.expose().splitn(4, '.');
        let org = parts.next()?.parse().ok()?;
        let approval = parts.next()?.parse().ok()?;
        let member = parts.next()?.parse().ok()?;
        let to = LinkedTo { org, approval, member };
        let made = self.question(to);
        constant_time_eq(shown.expose().as_bytes(), made.expose().as_bytes()).then_some(to)
    }
}

/// The whole address behind the link.
pub(crate) fn question_link(base_url: &str, token: &Secret<String>) -> Secret<String> {
    let base_url = base_url.trim_end_matches('/');
    Secret::new(format!("{base_url}/approve?t={}", token.expose()))
}

#[cfg(test)]
mod tests {
    use crypto::Secret;
    use model::{ApprovalId, MemberId, OrgId, Uuid};

    use super::LinkedTo;
    use crate::secrets::Pepper;

    #[test]
    fn a_link_is_to_one_question_of_one_org_for_one_member_and_cannot_be_made_up() {
        let pepper = |text: &str| Pepper(Secret::new(text.as_bytes().to_vec()));
        let to = LinkedTo {
            org: OrgId::from_uuid(Uuid::from_u128(1)),
            approval: ApprovalId::from_uuid(Uuid::max()),
            member: MemberId::from_uuid(Uuid::from_u128(3)),
        };
        let ours = pepper("ours");
        let token = ours.question(to);
        assert_eq!(ours.asked_by(&token), Some(to));
        let text = token.expose();
        let other = Uuid::from_u128(2);
        for bad in [
            String::new(),
            "...".to_owned(),
            format!("{}.{}.{}", to.org, to.approval, to.member),
            format!("{}.{}.{}.", to.org, to.approval, to.member),
            format!("{text}x"),
            format!("{text}.x"),
            format!(" {text}"),
            text.to_ascii_uppercase(),
            text.replace(&to.org.to_string(), &OrgId::from_uuid(other).to_string()),
            text.replace(&to.approval.to_string(), &ApprovalId::from_uuid(other).to_string()),
            text.replace(&to.member.to_string(), &MemberId::from_uuid(other).to_string()),
            text.chars().take(text.len() - 1).collect(),
            pepper("theirs").question(to).expose().clone(),
        ] {
            assert_eq!(ours.asked_by(&Secret::new(bad.clone())), None, "{bad}");
        }
        assert!(!format!("{token:?}").contains(text.as_str()));
    }
}
