//! Sign-in: a person requests it, a mail is sent, and its link or code is confirmed in the same browser. A
//! *challenge* is a pending sign-in.

use std::{collections::BTreeMap, time::Duration};

use crypto::{Secret, constant_time_eq};
use ledger::StoreDown;
use model::{ChallengeId, MailJobId, SessionId, Timestamp, UserId};

use crate::{
    Address, People, SignInError,
    secrets::{About, format_code, is_token, normalize_code, token},
    session::LIVES,
    store::{Chosen, Device, Mac, NewChallenge, NewSession, Opened, Session},
};

/// How long a link and a code are valid.
pub const ANSWERABLE_FOR: Duration = Duration::from_mins(10);
/// Maximum number of sign-in requests for one address in [`WINDOW`].
pub const ASKED_OF_ADDRESS: u32 = 5;
/// Maximum number of sign-in requests from one network in [`WINDOW`].
pub const ASKED_FROM_NETWORK: u32 = 20;
/// The window in which they are counted, which begins with the first.
pub const WINDOW: Duration = Duration::from_hours(1);

/// A request to sign in.
#[derive(Debug, Clone)]
pub struct SignInRequest {
    /// The e-mail address.
    pub address: Address,
    /// The network that the request comes from.
    pub network: String,
    /// The page to open after the sign-in.
    pub next: Option<String>,
    /// The existing session that a confirmation makes fresh; `None` for a new session.
    pub again: Option<SessionId>,
    /// The token of the browser from an earlier request. A browser keeps one token and can confirm each mail
    /// that it requested.
    pub browser: Option<Secret<String>>,
}

/// The response to a sign-in request; no part of it depends on whether the address belongs to a person.
#[derive(Debug)]
pub struct StartedSignIn {
    /// The id of the challenge.
    pub challenge: ChallengeId,
    /// The token that the browser keeps and sends with the link or the code.
    pub browser: Secret<String>,
    /// When the challenge expires.
    pub expires_at: Timestamp,
}

/// A challenge that is stored after the response has been sent, so that the time of the response does not
/// depend on whether the address belongs to a person.
#[derive(Debug)]
#[must_use = "without `People::store_challenge` no mail is sent"]
pub struct PendingChallenge {
    id: ChallengeId,
    asking: SignInRequest,
    browser: Mac,
}

/// The proof that a person has access to the mailbox.
#[derive(Debug, Clone, Copy)]
pub enum Proof<'a> {
    /// The token in the query parameter `t` of the link.
    Link(&'a Secret<String>),
    /// The code as it was typed.
    Code(ChallengeId, &'a Secret<String>),
}

/// The browser in which the link of a mail was opened.
#[derive(Debug)]
pub enum OpenedIn {
    /// The browser that requested the mail: the link signs in here.
    SameBrowser,
    /// Another browser; this is the code, formatted for display, to be typed in the browser that requested
    /// the mail.
    OtherBrowser(Secret<String>),
}

/// The result of a completed sign-in.
#[derive(Debug)]
pub struct SignedIn {
    /// The session.
    pub session: Session,
    /// Its token, which only its browser gets.
    pub token: Secret<String>,
    /// The page to open.
    pub next: Option<String>,
}

impl People {
    /// The person with this address, who is created if there is none.
    pub async fn find_or_create_person(&self, address: &Address) -> Result<UserId, SignInError> {
        Ok(self
            .parts
            .store
            .find_or_create_person(address, self.mint().id(UserId::from_uuid))
            .await?)
    }

    /// The address of a person.
    pub async fn address(&self, user: UserId) -> Result<Option<Address>, SignInError> {
        Ok(self.addresses(&[user]).await?.remove(&user))
    }

    /// The addresses of these people, if they have one. They must not be logged.
    pub async fn addresses(
        &self,
        users: &[UserId],
    ) -> Result<BTreeMap<UserId, Address>, StoreDown> {
        self.parts.store.addresses(users).await
    }

    /// The token that identifies a browser: its earlier one if that is valid, or a new one.
    pub fn browser(&self, before: Option<Secret<String>>) -> Secret<String> {
        before.filter(is_token).unwrap_or_else(|| token(&self.mint()))
    }

    /// Starts a sign-in, within the limits of the network and the address.
    ///
    /// A new challenge does not end earlier ones; otherwise anyone who knows an address could invalidate the
    /// mails of its owner. The limit of an address can still be used up by others: it then delays further
    /// mails for at most an hour, and the mails that were sent stay valid.
    pub async fn ask(
        &self,
        asking: SignInRequest,
    ) -> Result<(StartedSignIn, PendingChallenge), SignInError> {
        let from = self.pepper.mac(About::Network, asking.network.as_bytes());
        self.count(&from, ASKED_FROM_NETWORK).await?;
        let of = self.pepper.mac(About::Address, asking.address.as_str().as_bytes());
        self.count(&of, ASKED_OF_ADDRESS).await?;
        let mint = self.mint();
        let id = mint.id(ChallengeId::from_uuid);
        let token = self.browser(asking.browser.clone());
        let browser = self.pepper.mac(About::Browser, token.expose().as_bytes());
        let expires_at = mint.now() + ANSWERABLE_FOR;
        let asked = StartedSignIn { challenge: id, browser: token, expires_at };
        Ok((asked, PendingChallenge { id, asking, browser }))
    }

    /// Stores the challenge, and queues its mail if the address belongs to a person.
    pub async fn store_challenge(&self, pending: PendingChallenge) -> Result<(), SignInError> {
        let PendingChallenge { id, asking, browser } = pending;
        let SignInRequest { address, next, again, network: _, browser: _ } = asking;
        let user = self.parts.store.person(&address).await?;
        let mint = self.mint();
        let job = mint.id(MailJobId::from_uuid);
        let salt = mint.bytes::<16>();
        let lives = ANSWERABLE_FOR;
        let new = NewChallenge { id, user, salt, browser, lives, next, again, job };
        Ok(self.parts.store.put_challenge(&new).await?)
    }

    /// Opens a session for the valid link or code, in the browser that requested it.
    ///
    /// An attempt from another browser is not counted, so that knowing the id of a challenge is not enough to
    /// use up its attempts.
    pub async fn confirm(
        &self,
        proof: Proof<'_>,
        browser: &Secret<String>,
        device: Device,
    ) -> Result<SignedIn, SignInError> {
        let store = &self.parts.store;
        let id = proof.challenge().ok_or(SignInError::Unauthenticated)?;
        let found = store.challenge(id).await?.ok_or(SignInError::Unauthenticated)?;
        let browser = self.pepper.mac(About::Browser, browser.expose().as_bytes());
        if !constant_time_eq(&browser, &found.browser) {
            return Err(SignInError::Unauthenticated);
        }
        // Counted before the comparison, so that concurrent guesses are counted each.
        if !store.consume_attempt(id).await? {
            return Err(SignInError::Expired);
        }
        let (presented, expected) = match proof {
            Proof::Link(link) => (link.clone(), self.pepper.link(id, &found.salt)),
            Proof::Code(_, code) => {
                (normalize_code(code.expose()), self.pepper.code(id, &found.salt))
            }
        };
        if !constant_time_eq(presented.expose().as_bytes(), expected.expose().as_bytes()) {
            return Err(SignInError::Unauthenticated);
        }
        let mint = self.mint();
        let token = token(&mint);
        let mac = self.pepper.mac(About::Session, token.expose().as_bytes());
        let new = NewSession { id: mint.id(SessionId::from_uuid), mac, lives: LIVES, device };
        let opened = store.open(id, &new).await?.ok_or(SignInError::Expired)?;
        let Opened { session, next } = opened;
        Ok(SignedIn { session, token, next })
    }

    /// Whether a link was opened in the browser that requested it, with the code to type there if not; `None`
    /// for an incomplete or unknown link. It counts no attempt and changes nothing, because mail scanners open
    /// links.
    ///
    /// [`People::confirm`] reports whether the link was used or has expired.
    pub async fn opened(
        &self,
        link: &Secret<String>,
        browser: Option<&Secret<String>>,
    ) -> Result<Option<OpenedIn>, SignInError> {
        let Some(id) = Proof::Link(link).challenge() else { return Ok(None) };
        let Some(found) = self.parts.store.challenge(id).await? else { return Ok(None) };
        let made = self.pepper.link(id, &found.salt);
        if !constant_time_eq(link.expose().as_bytes(), made.expose().as_bytes()) {
            return Ok(None);
        }
        let mac =
            |token: &Secret<String>| self.pepper.mac(About::Browser, token.expose().as_bytes());
        let asked = browser.is_some_and(|token| constant_time_eq(&mac(token), &found.browser));
        let code = || format_code(&self.pepper.code(id, &found.salt));
        Ok(Some(if asked { OpenedIn::SameBrowser } else { OpenedIn::OtherBrowser(code()) }))
    }

    /// Selects the org of the session with this token, and changes the token; `None` if the session has ended
    /// or already has another token.
    pub async fn choose(
        &self,
        had: &Secret<String>,
        chosen: Chosen,
    ) -> Result<Option<SignedIn>, SignInError> {
        let token = token(&self.mint());
        let mac =
            |token: &Secret<String>| self.pepper.mac(About::Session, token.expose().as_bytes());
        let session = self.parts.store.choose((&mac(had), &mac(&token)), chosen).await?;
        if let Some(session) = &session {
            self.note_use(chosen.org, session.user).await;
        }
        Ok(session.map(|session| SignedIn { session, token, next: None }))
    }

    /// Selects the org that the person has just joined for the session with this token, and keeps the token;
    /// `None` if the session has ended, has an org or already has another token.
    pub async fn enter(
        &self,
        token: &Secret<String>,
        joined: Chosen,
    ) -> Result<Option<Session>, StoreDown> {
        let mac = self.pepper.mac(About::Session, token.expose().as_bytes());
        let session = self.parts.store.enter(&mac, joined).await?;
        if let Some(session) = &session {
            self.note_use(joined.org, session.user).await;
        }
        Ok(session)
    }

    async fn count(&self, subject: &Mac, most: u32) -> Result<(), SignInError> {
        let (count, left) = self.parts.store.count(subject, WINDOW).await?;
        if count > most { Err(SignInError::TooMany(left)) } else { Ok(()) }
    }
}

impl Proof<'_> {
    /// The id of its challenge; `None` for an incomplete link.
    fn challenge(&self) -> Option<ChallengeId> {
        match self {
            Self::Link(link) => link.expose().split_once('.')?.0.parse().ok(),
            Self::Code(id, _) => Some(*id),
        }
    }
}
