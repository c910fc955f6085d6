//! Why a change did not happen, one enum for each family of operations. `http-api` and the
//! program's verbs decide how each is shown.

use std::time::Duration;

use act::ActError;
use crypto::vault::VaultError;
use ledger::StoreDown;

/// Why an org, an agent or a key was not changed.
#[derive(Debug, thiserror::Error)]
pub enum ChangeError {
    /// As with every change to an org.
    #[error(transparent)]
    Act(#[from] ActError),
    /// The name belongs to another one.
    #[error("the name `{0}` is taken")]
    NameTaken(String),
    /// There are as many as there may be.
    #[error("{0}")]
    LimitReached(&'static str),
    /// So many of them were made lately that the next has to wait.
    #[error("{sentence}")]
    TooOften {
        /// How many may be made.
        sentence: &'static str,
        /// How long the next has to wait.
        left: Duration,
    },
    /// What owners alone may give.
    #[error("`{0}`: only an owner may grant this")]
    OwnersGive(&'static str),
    /// Org keys are made and revoked by people only.
    #[error("an API key may not create or revoke org keys")]
    PersonRequired,
    /// The person is in the org.
    #[error("this person is already a member")]
    AlreadyMember,
    /// The org would be nobody's.
    #[error("an org must have an owner; make another member an owner first")]
    LastOwner,
    /// Members do not change what they themselves may do.
    #[error("members may not change their own role or permission; ask another owner")]
    SelfChange,
    /// The invitation is somebody else's, or means nothing any more; nobody is told which.
    #[error("the invitation is for another person, was revoked, or has expired")]
    InviteGone,
    /// What must be known first could not be read.
    #[error(transparent)]
    Store(#[from] StoreDown),
}

/// Why a policy was not changed.
#[derive(Debug, thiserror::Error)]
pub enum PolicyError {
    /// As with every change.
    #[error(transparent)]
    Change(#[from] ChangeError),
    /// The document cannot decide, or must not; the findings say where.
    #[error("the policy document is not valid")]
    Invalid(#[source] policy::DocumentError),
    /// The tests of the policy cannot be read; the findings say where.
    #[error("the file of tests is not valid")]
    BadTests(#[source] policy::DocumentError),
    /// The policy's own tests fail under the version; these did.
    #[error("{} of the policy's tests fail under this version", .0.len())]
    TestsFailed(Vec<policy::CaseResult>),
    /// Whoever proposed an activation is not the second person for it.
    #[error("the person who proposed the activation cannot confirm it; another person must")]
    OwnProposal,
    /// A version of the policy is active.
    #[error("a version of the policy is active; activate another policy first")]
    Active,
    /// Nobody waits for the outcome any more.
    #[error("the work was stopped because the client no longer waits for its result")]
    Stopped,
    /// The org has as many policies as it may have.
    #[error("the org has {0} policies, the maximum; archive one first")]
    LimitReached(usize),
}

impl From<ActError> for PolicyError {
    fn from(error: ActError) -> Self {
        Self::Change(error.into())
    }
}

impl From<StoreDown> for PolicyError {
    fn from(down: StoreDown) -> Self {
        Self::Change(down.into())
    }
}

/// Why a connector was not changed.
#[derive(Debug, thiserror::Error)]
pub enum ConnectorError {
    /// As with every change.
    #[error(transparent)]
    Change(#[from] ChangeError),
    /// The connector's adapter does not take the config or the credential.
    #[error(transparent)]
    Unfit(#[from] UnfitError),
    /// Its type of governed system keeps no change log that could be read.
    #[error("a connector of the type `{0}` has no change log to read")]
    NoChangeLog(String),
    /// The governed system is not prepared for its change log to be read; one sentence for each thing
    /// that is missing.
    #[error("the governed database is not prepared for the witness: {}", .0.join("; "))]
    NotReady(Vec<String>),
    /// The credential could not be encrypted.
    #[error("could not encrypt the credential")]
    Vault(#[from] VaultError),
}

impl From<ActError> for ConnectorError {
    fn from(error: ActError) -> Self {
        Self::Change(error.into())
    }
}

impl From<StoreDown> for ConnectorError {
    fn from(down: StoreDown) -> Self {
        Self::Change(down.into())
    }
}

/// Why a connector's adapter does not take what it is given; none of it repeats a secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnfitError {
    /// No adapter has this type.
    #[error("there is no connector type `{0}`")]
    UnknownKind(String),
    /// The config or the credential is wrong; one sentence for each fault.
    #[error("the connector's config is not valid: {}", .0.join("; "))]
    Config(Vec<String>),
    /// The egress rules forbid the address.
    #[error("the connector's address is not allowed: {0}")]
    Egress(String),
    /// The governed system could not be asked.
    #[error("the governed system could not be queried: {0}")]
    Unreachable(String),
}

/// Why nobody was authenticated.
#[derive(Debug, thiserror::Error)]
pub enum AuthenticateError {
    /// The key is malformed, unknown, wrong, revoked or expired; nobody is told which.
    #[error("the API key is not valid")]
    Unauthenticated,
    /// Keys could not be read.
    #[error(transparent)]
    Unavailable(#[from] StoreDown),
}

/// Why the seal keys cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SealKeyError {
    /// The registered keys do not make a set that a verifier would trust.
    #[error("the registered seal keys are not valid")]
    BadSet(#[from] deed::KeySetError),
    /// No registered key has this id.
    #[error("no seal key `{0}` is registered; `chancery keys list` shows the registered keys")]
    Unknown(deed::Thumbprint),
    /// The key counts no more.
    #[error("the seal key `{0}` is already retired or revoked")]
    Ended(deed::Thumbprint),
    /// Nothing could be sealed without the key.
    #[error(
        "`{0}` would be the last loaded and valid key of its purpose at that time; activate \
         another key first"
    )]
    Last(deed::Thumbprint),
    /// Not every instance would know in time.
    #[error("expected a retirement time at or after `{earliest}`, got `{got}`")]
    TooSoon {
        /// The earliest that is accepted.
        earliest: model::Timestamp,
        /// What was asked for.
        got: model::Timestamp,
    },
    /// The registered keys could not be read or written.
    #[error(transparent)]
    Store(#[from] StoreDown),
    /// The deed about the act could not be sealed; the act itself stands.
    #[error(
        "the key set was changed, but the deed about it was not sealed; run the same command again"
    )]
    NotSealed(#[source] ChangeError),
}
