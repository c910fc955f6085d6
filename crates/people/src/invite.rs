//! What stands in the link of an invitation, and what is read from it.

use crypto::{Secret, constant_time_eq};
use model::{InviteId, OrgId};

use crate::{People, secrets::Pepper};

/// Who may become a member of an org.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Signup {
    /// People with an invitation.
    #[default]
    Invite,
    /// Nobody: who is in stays, and nobody is asked or joins.
    Closed,
}

impl Signup {
    /// The word of the interface.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Invite => "invite",
            Self::Closed => "closed",
        }
    }
}

impl std::str::FromStr for Signup {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        match text {
            "invite" => Ok(Self::Invite),
            "closed" => Ok(Self::Closed),
            _ => Err(()),
        }
    }
}

impl People {
    /// What stands behind `invite=` in the link of an invitation; whoever has it and signs in as the
    /// person who is asked may join.
    pub fn invitation(&self, org: OrgId, id: InviteId) -> Secret<String> {
        self.pepper.invitation(org, id)
    }

    /// The invitation that this text was made for; none of a text that this deployment did not make.
    pub fn invited(&self, shown: &Secret<String>) -> Option<(OrgId, InviteId)> {
        self.pepper.invited(shown)
    }
}

impl Pepper {
    /// The invitation that this text was made for.
    fn invited(&self, shown: &Secret<String>) -> Option<(OrgId, InviteId)> {
        let mut parts = shown.expose().splitn(3, '.');
        let org = parts.next()?.parse().ok()?;
        let id = parts.next()?.parse().ok()?;
        let made = self.invitation(org, id);
        constant_time_eq(shown.expose().as_bytes(), made.expose().as_bytes()).then_some((org, id))
    }
}

/// The whole address behind the link of an invitation.
pub fn invitation_link(base_url: &str, token: &Secret<String>) -> Secret<String> {
    let base_url = base_url.trim_end_matches('/');
    Secret::new(format!("{base_url}/login?invite={}", token.expose()))
}

#[cfg(test)]
mod tests {
    use crypto::Secret;
    use model::{InviteId, OrgId, Uuid};

    use crate::secrets::Pepper;

    #[test]
    fn a_link_names_one_invitation_of_one_org_and_cannot_be_made_up() {
        let pepper = |text: &str| Pepper(Secret::new(text.as_bytes().to_vec()));
        let (org, id) = (OrgId::from_uuid(Uuid::from_u128(1)), InviteId::from_uuid(Uuid::max()));
        let ours = pepper("ours");
        let token = ours.invitation(org, id);
        assert_eq!(ours.invited(&token), Some((org, id)));
        let text = token.expose();
        let anothers = OrgId::from_uuid(Uuid::from_u128(2)).to_string();
        for bad in [
            String::new(),
            "..".to_owned(),
            format!("{org}.{id}"),
            format!("{org}.{id}."),
            format!("{text}x"),
            format!(" {text}"),
            text.replace(&org.to_string(), &anothers),
            text.chars().take(text.len() - 1).collect(),
            pepper("theirs").invitation(org, id).expose().clone(),
        ] {
            assert_eq!(ours.invited(&Secret::new(bad.clone())), None, "{bad}");
        }
    }
}
