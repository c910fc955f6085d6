//! Who acted, and what a deed is about.

use std::fmt;

use model::{
    ActionId, AgentId, ConnectorId, IntentKeyId, InviteId, KeyId, LogId, MemberId, OrgId, PolicyId,
    PolicyVersionId, WebhookId,
};
use serde::{Deserialize, Serialize, Serializer, ser::SerializeStruct};

use crate::text::{Ident, Thumbprint, UserId, Word};

/// Who acted.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "ActorForm")]
pub enum Actor {
    /// An agent, by one of its keys.
    Agent(AgentId),
    /// An org key.
    ApiKey(KeyId),
    /// A person.
    User(UserId),
    /// The service itself, or its operator; the word says which part.
    System(Word),
}

/// What a deed is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Subject {
    /// Which one.
    pub id: Ident,
    /// What kind of thing.
    #[serde(rename = "type")]
    pub kind: Word,
}

/// Defines one constructor of [`Subject`] per kind of id.
macro_rules! subjects {
    ($($name:ident($id:ty)),+ $(,)?) => {
        impl Subject {
            $(
                #[doc = concat!("Returns the subject that this `", stringify!($id), "` names.")]
                pub fn $name(id: $id) -> Self {
                    Self { kind: Word::of(stringify!($name)), id: Ident::from(id) }
                }
            )+
        }
    };
}

subjects! {
    action(ActionId), agent(AgentId), api_key(KeyId), agent_key(KeyId), intent_key(IntentKeyId), org(OrgId), log(LogId),
    policy(PolicyId), policy_version(PolicyVersionId), connector(ConnectorId), seal_key(Thumbprint),
    member(MemberId), invite(InviteId), webhook(WebhookId),
}

/// The members of [`Actor`].
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ActorForm {
    id: Box<str>,
    #[serde(rename = "type")]
    kind: ActorKind,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ActorKind {
    Agent,
    ApiKey,
    User,
    System,
}

impl Serialize for Actor {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut form = serializer.serialize_struct("Actor", 2)?;
        let kind = match self {
            Self::Agent(id) => {
                form.serialize_field("id", id)?;
                ActorKind::Agent
            }
            Self::ApiKey(id) => {
                form.serialize_field("id", id)?;
                ActorKind::ApiKey
            }
            Self::User(id) => {
                form.serialize_field("id", id)?;
                ActorKind::User
            }
            Self::System(word) => {
                form.serialize_field("id", word)?;
                ActorKind::System
            }
        };
        form.serialize_field("type", &kind)?;
        form.end()
    }
}

impl TryFrom<ActorForm> for Actor {
    type Error = String;

    fn try_from(form: ActorForm) -> Result<Self, String> {
        fn id<T: std::str::FromStr<Err: fmt::Display>>(form: &ActorForm) -> Result<T, String> {
            form.id.parse().map_err(|error: T::Err| error.to_string())
        }
        match form.kind {
            ActorKind::Agent => id::<AgentId>(&form).map(Self::Agent),
            ActorKind::ApiKey => id::<KeyId>(&form).map(Self::ApiKey),
            ActorKind::User => id::<UserId>(&form).map(Self::User),
            ActorKind::System => id::<Word>(&form).map(Self::System),
        }
    }
}
