//! What is written to people, and the port by which it leaves.
//!
//! A [`Letter`] has all that a mail says and nothing of how it looks. Whoever implements [`Mailer`]
//! renders it and hands it on; it may be asked for the same letter again after a failure or a
//! crash, with the same [`Letter::job`], by which a provider can tell the repetition.

use async_trait::async_trait;
use crypto::Secret;
use model::{MailJobId, Role, Timestamp};

use crate::Address;

/// One mail to one person.
#[derive(Debug, Clone)]
pub enum Letter {
    /// Lets somebody sign in.
    SignIn(SignIn),
    /// Asks somebody to join an org.
    Invitation(Invitation),
    /// Asks somebody for a yes or a no.
    Question(Question),
    /// Tells an owner that a webhook endpoint is disabled because it failed for too long.
    WebhookDisabled(WebhookDisabled),
}

/// A mail that lets somebody sign in, by the link or by the code.
#[derive(Debug, Clone)]
pub struct SignIn {
    /// The same for every attempt to send this mail.
    pub job: MailJobId,
    /// Who gets it.
    pub to: Address,
    /// The whole address behind the link; whoever has it signs in.
    pub link: Secret<String>,
    /// The code to type in the browser that asked.
    pub code: Secret<String>,
    /// When both mean nothing any more.
    pub expires_at: Timestamp,
}

/// A mail that asks somebody to join an org.
#[derive(Debug, Clone)]
pub struct Invitation {
    /// The same for every attempt to send this mail.
    pub job: MailJobId,
    /// Who gets it.
    pub to: Address,
    /// The whole address behind the link; whoever has it and signs in by this address may join.
    pub link: Secret<String>,
    /// The org's name, in the words of its people.
    pub org_name: String,
    /// What they will be there.
    pub role: Role,
    /// Who asks, where a person does and has a name.
    pub inviter: Option<String>,
    /// When the link means nothing any more.
    pub expires_at: Timestamp,
}

/// A mail that asks somebody for a yes or a no to what an agent wants to do.
///
/// It has no argument of the call: a mailbox keeps what it gets for longer than a payload is kept.
#[derive(Debug, Clone)]
pub struct Question {
    /// The same for every attempt to send this mail.
    pub job: MailJobId,
    /// Who gets it.
    pub to: Address,
    /// The whole address behind the link; whoever has it sees what is asked, and answers once.
    pub link: Secret<String>,
    /// The org's name, in the words of its people.
    pub org_name: String,
    /// The name of the agent that waits.
    pub agent_name: String,
    /// What it wants to call.
    pub tool: String,
    /// Whether the link accepts a decision, or only shows the request.
    pub may_decide: bool,
    /// When the link means nothing any more.
    pub expires_at: Timestamp,
}

/// A mail that tells an owner of an org that a webhook endpoint is disabled because it failed for too
/// long.
///
/// It has no secret: its link leads to a page behind sign-in.
#[derive(Debug, Clone)]
pub struct WebhookDisabled {
    /// The same for every attempt to send this mail.
    pub job: MailJobId,
    /// Who gets it.
    pub to: Address,
    /// The whole address of the endpoint's page.
    pub link: String,
    /// The org's name, in the words of its people.
    pub org_name: String,
    /// Scheme and host of the endpoint's address: its path and query may hold secrets.
    pub origin: String,
    /// Since when the endpoint accepted nothing, where that is known.
    pub failing_since: Option<Timestamp>,
    /// Since when it is disabled.
    pub disabled_at: Timestamp,
    /// When the mail is not worth sending any more.
    pub expires_at: Timestamp,
}

impl Letter {
    /// The same for every attempt to send this mail: an idempotency key for providers.
    pub fn job(&self) -> MailJobId {
        match self {
            Self::SignIn(SignIn { job, .. })
            | Self::Invitation(Invitation { job, .. })
            | Self::Question(Question { job, .. })
            | Self::WebhookDisabled(WebhookDisabled { job, .. }) => *job,
        }
    }

    /// Who gets it.
    pub fn to(&self) -> &Address {
        match self {
            Self::SignIn(SignIn { to, .. })
            | Self::Invitation(Invitation { to, .. })
            | Self::Question(Question { to, .. })
            | Self::WebhookDisabled(WebhookDisabled { to, .. }) => to,
        }
    }

    /// When what it carries means nothing any more, so that it need not be sent.
    pub fn expires_at(&self) -> Timestamp {
        match self {
            Self::SignIn(SignIn { expires_at, .. })
            | Self::Invitation(Invitation { expires_at, .. })
            | Self::Question(Question { expires_at, .. })
            | Self::WebhookDisabled(WebhookDisabled { expires_at, .. }) => *expires_at,
        }
    }
}

/// Why a mail was not taken; neither text says an address, a link or a code.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MailError {
    /// It may be taken later: nobody answered, or the answer was of those that pass.
    #[error("the mail could not be sent at the moment: {0}")]
    TryAgain(String),
    /// It will never be taken as it is.
    #[error("the mail was rejected: {0}")]
    Refused(String),
}

/// Hands mails on.
#[async_trait]
pub trait Mailer: Send + Sync {
    /// Hands the mail to whoever delivers it, and answers once they have taken it.
    ///
    /// It ends by itself within 20 seconds, below the 30 for which a job is leased: a mail that
    /// takes longer would be sent by another instance, too.
    async fn send(&self, letter: &Letter) -> Result<(), MailError>;

    /// Goes as far as a mail would without one: whether whoever delivers them would take any now. It
    /// ends within the same time.
    async fn check(&self) -> Result<(), MailError>;
}
