//! What the sign-in of people keeps, and what it asks of a store. All of it lies outside the turns of
//! orgs. Moments are the store's own: what must not be late is decided by the statement that does it.

use std::{collections::BTreeMap, time::Duration};

use async_trait::async_trait;
use ledger::StoreDown;
use model::{
    ApprovalId, ChallengeId, InviteId, MailJobId, MemberId, OrgId, Role, SessionId, Timestamp,
    UserId, Uuid, WebhookId,
};

use crate::{Address, LinkedTo};

/// The most wrong answers to one challenge.
pub const TRIES: u32 = 5;

/// The most challenges of a person that can be answered at once.
pub const LIVE: u32 = 3;
/// How long after a sign-in a session is fresh.
pub const FRESH: Duration = Duration::from_mins(15);

/// A MAC under the pepper.
pub type Mac = [u8; 32];

/// A try to sign in that is about to be kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewChallenge {
    /// Its id.
    pub id: ChallengeId,
    /// Who signs in; nobody where the address is nobody's.
    pub user: Option<UserId>,
    /// What its link and its code follow from, with its id and the pepper.
    pub salt: [u8; 16],
    /// The MAC of the token that the asking browser was given.
    pub browser: Mac,
    /// How long it may be answered.
    pub lives: Duration,
    /// The page that was asked for, on which the person goes on.
    pub next: Option<String>,
    /// The session that it makes fresh; without one it opens another.
    pub again: Option<SessionId>,
    /// The job of its mail.
    pub job: MailJobId,
}

/// A try to sign in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Challenge {
    /// Its id.
    pub id: ChallengeId,
    /// What its link and its code follow from, with its id and the pepper.
    pub salt: [u8; 16],
    /// The MAC of the token that the asking browser was given.
    pub browser: Mac,
}

/// Where a session is used from, as far as its owner needs it to tell it from others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Device {
    /// The network of the address, such as `203.0.113.0/24`.
    pub network: String,
    /// The family of the browser, such as `Firefox`.
    pub browser: String,
}

/// A session that is about to be opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewSession {
    /// Its id.
    pub id: SessionId,
    /// The MAC of its token.
    pub mac: Mac,
    /// How long it lives however it is used.
    pub lives: Duration,
    /// Where it is used from.
    pub device: Device,
}

/// A browser in which a person is signed in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    /// Its id.
    pub id: SessionId,
    /// Whose it is.
    pub user: UserId,
    /// When it was opened.
    pub created_at: Timestamp,
    /// When its person last showed that the mailbox is theirs.
    pub authenticated_at: Timestamp,
    /// When it was last used, to the minute.
    pub last_seen_at: Timestamp,
    /// When it ends however it is used.
    pub expires_at: Timestamp,
    /// Whether its person showed so within [`FRESH`].
    pub is_fresh: bool,
    /// The org that it was opened for or that its person chose, and what they were there then.
    pub chosen: Option<Chosen>,
    /// Where it is used from.
    pub device: Device,
}

/// The org of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chosen {
    /// The org.
    pub org: OrgId,
    /// Which member they were there: whoever comes back is another. A session that an older version
    /// wrote does not say.
    pub member: Option<MemberId>,
    /// What its person was there when they chose it: with another role the choice is void, so that a
    /// token that was stolen before rises with nobody.
    pub role: Role,
}

/// Whose sessions are meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Whose {
    /// The person.
    pub user: UserId,
    /// The org that a session must be for, where not all of the person's are meant.
    pub org: Option<OrgId>,
}

impl From<UserId> for Whose {
    fn from(user: UserId) -> Self {
        Self { user, org: None }
    }
}

/// A session that a challenge opened or made fresh.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opened {
    /// The session.
    pub session: Session,
    /// The page on which its person goes on.
    pub next: Option<String>,
}

/// A mail that this instance is to send, and all that its text is made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MailJob {
    /// The same for every attempt.
    pub id: MailJobId,
    /// Counts the claims; what was claimed before can change nothing any more.
    pub token: u64,
    /// How often it was claimed.
    pub attempt: u32,
    /// What it carries.
    pub carries: Carries,
    /// When what it carries means nothing any more.
    pub expires_at: Timestamp,
    /// Who gets it.
    pub to: Address,
}

/// What a mail carries, without a secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Carries {
    /// The link and the code of a challenge.
    SignIn {
        /// The challenge.
        challenge: ChallengeId,
        /// Its salt.
        salt: [u8; 16],
    },
    /// The link of an invitation.
    Invitation {
        /// The org.
        org: OrgId,
        /// The invitation.
        invite: InviteId,
        /// The org's name.
        org_name: String,
        /// What the person will be there.
        role: Role,
    },
    /// The link to a question.
    Question {
        /// What the link is good for.
        to: LinkedTo,
        /// The org's name.
        org_name: String,
        /// The name of the agent that waits.
        agent_name: String,
        /// What it wants to call.
        tool: String,
        /// Whether the rule accepts a decision by link.
        may_decide: bool,
    },
    /// That a webhook endpoint is disabled because it failed for too long.
    WebhookDisabled {
        /// The endpoint.
        webhook: WebhookId,
        /// The org's name.
        org_name: String,
        /// Scheme and host of the endpoint's address.
        origin: String,
        /// Since when it accepted nothing, where that is known.
        failing_since: Option<Timestamp>,
        /// Since when it is disabled.
        disabled_at: Timestamp,
    },
}

/// A question about which nobody was written to yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unaddressed {
    /// The job of all its mails.
    pub id: MailJobId,
    /// Counts the claims, as that of a [`MailJob`].
    pub token: u64,
    /// The org.
    pub org: OrgId,
    /// The question.
    pub approval: ApprovalId,
}

/// Where people, their challenges and sessions are kept.
#[async_trait]
pub trait PeopleStore: Send + Sync {
    /// The person with this address.
    async fn person(&self, address: &Address) -> Result<Option<UserId>, StoreDown>;

    /// The person with this address; created with this id if there is none.
    async fn find_or_create_person(
        &self,
        address: &Address,
        id: UserId,
    ) -> Result<UserId, StoreDown>;

    /// The addresses of these people, as far as they have one.
    async fn addresses(&self, users: &[UserId]) -> Result<BTreeMap<UserId, Address>, StoreDown>;

    /// Counts one more of what the MAC names, and says how many there are in the window that the
    /// first of them began, and how long it lasts.
    async fn count(&self, subject: &Mac, window: Duration) -> Result<(u32, Duration), StoreDown>;

    /// Keeps a challenge and the job of its mail. No mail goes to nobody, and none to a person of
    /// whom [`LIVE`] challenges can be answered: theirs is kept as if it were nobody's.
    async fn put_challenge(&self, new: &NewChallenge) -> Result<(), StoreDown>;

    /// A challenge, however it stands.
    async fn challenge(&self, id: ChallengeId) -> Result<Option<Challenge>, StoreDown>;

    /// Counts an attempt; false if the challenge has no attempts left, was used or has expired.
    async fn consume_attempt(&self, id: ChallengeId) -> Result<bool, StoreDown>;

    /// Uses the challenge up and opens the session of its person, or makes the session fresh that it
    /// is for, which gets the new token. It does so or does neither: a challenge is used once,
    /// whoever asks at the same moment, and not when it is too old or its session ended.
    async fn open(
        &self,
        challenge: ChallengeId,
        new: &NewSession,
    ) -> Result<Option<Opened>, StoreDown>;

    /// Gives the live session with this token this org and another token, and ends the one that it had.
    async fn choose(
        &self,
        (had, given): (&Mac, &Mac),
        chosen: Chosen,
    ) -> Result<Option<Session>, StoreDown>;

    /// Gives the live session with this token this org, if it has none.
    async fn enter(&self, mac: &Mac, chosen: Chosen) -> Result<Option<Session>, StoreDown>;

    /// The session with this token, unless it ended, is too old or was idle for too long.
    async fn session(&self, mac: &Mac, idle: Duration) -> Result<Option<Session>, StoreDown>;

    /// Notes that the session is used now.
    async fn touch(&self, id: SessionId) -> Result<(), StoreDown>;

    /// Notes that the person is in the org now.
    async fn note_use(&self, org: OrgId, user: UserId) -> Result<(), StoreDown>;

    /// When these people were last noted to be in the org, of those who ever were.
    async fn uses(
        &self,
        org: OrgId,
        users: &[UserId],
    ) -> Result<BTreeMap<UserId, Timestamp>, StoreDown>;

    /// Live sessions, newest first.
    async fn sessions(
        &self,
        whose: Whose,
        idle: Duration,
        below: Option<SessionId>,
        limit: usize,
    ) -> Result<Vec<Session>, StoreDown>;

    /// The person whose live session for this org it is.
    async fn person_of(&self, org: OrgId, id: SessionId) -> Result<Option<UserId>, StoreDown>;

    /// Ends a live session, and says whether there was one.
    async fn end(&self, whose: Whose, id: SessionId) -> Result<bool, StoreDown>;

    /// Ends every session of this person that is for the org, and says how many.
    async fn end_in(&self, org: OrgId, user: UserId) -> Result<u64, StoreDown>;

    /// Ends every session of this person but one, and says how many.
    async fn end_others(&self, user: UserId, but: SessionId) -> Result<u64, StoreDown>;
}

/// Where mails wait to be sent.
#[async_trait]
pub trait MailQueue: Send + Sync {
    /// Claims up to this many mails that are due, the longest due first, for this long; those about
    /// questions go from org to org, so that no org's hold up another's, and take turns with those about
    /// endpoints.
    ///
    /// What another instance holds is left to it until its lease ends. What carries nothing of
    /// worth any more is removed and never claimed.
    async fn claim(
        &self,
        holder: Uuid,
        most: usize,
        lease: Duration,
    ) -> Result<Vec<MailJob>, StoreDown>;

    /// Claims a question about which nobody was written to yet, for this long: the longest due of the
    /// org that comes next.
    async fn claim_unaddressed(
        &self,
        holder: Uuid,
        lease: Duration,
    ) -> Result<Option<Unaddressed>, StoreDown>;

    /// Lets a mail wait for each of these members in place of the question, if it is still held by
    /// this claim; nobody gets two.
    async fn address(
        &self,
        question: &Unaddressed,
        to: &[(MailJobId, MemberId)],
    ) -> Result<bool, StoreDown>;

    /// Removes a mail that is done with, if it is still held by this claim.
    async fn finish(&self, job: &MailJob) -> Result<bool, StoreDown>;

    /// Lets a mail wait, if it is still held by this claim.
    async fn put_off(&self, job: &MailJob, wait: Duration) -> Result<bool, StoreDown>;

    /// Removes up to this many rows of each kind that ended a day ago and more, and returns the most
    /// that it removed of one kind.
    async fn sweep_out(&self, limit: usize) -> Result<usize, StoreDown>;
}
