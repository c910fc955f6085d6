//! Signing in: somebody asks, a mail goes out, and its link or its code is answered in the browser
//! that asked.

use std::{collections::BTreeMap, time::Duration};

use crypto::{Secret, constant_time_eq};
use ledger::StoreDown;
use model::{ChallengeId, MailJobId, SessionId, Timestamp, UserId};

use crate::{
    Address, People, SignInError,
    secrets::{About, is_token, shown, token, typed},
    session::LIVES,
    store::{Chosen, Device, Mac, NewChallenge, NewSession, Opened, Session},
};

/// How long a link and a code may be answered.
pub const ANSWERABLE_FOR: Duration = Duration::from_mins(10);
/// How many sign-ins may be asked for one address in [`WINDOW`].
pub const ASKED_OF_ADDRESS: u32 = 5;
/// How many sign-ins may be asked from one network in [`WINDOW`].
pub const ASKED_FROM_NETWORK: u32 = 20;
/// The time in which they are counted, from the first on.
pub const WINDOW: Duration = Duration::from_hours(1);

/// Somebody who asks to sign in.
#[derive(Debug, Clone)]
pub struct Asking {
    /// With this address.
    pub address: Address,
    /// From this network.
    pub network: String,
    /// The page that they want.
    pub next: Option<String>,
    /// The session that they have, where it is to be made fresh.
    pub again: Option<SessionId>,
    /// What their browser was given when it asked before: it keeps one, and may be shown the answer of
    /// each mail that it asked for.
    pub browser: Option<Secret<String>>,
}

/// What somebody who asks to sign in is answered; nothing of it depends on whose the address is.
#[derive(Debug)]
pub struct Asked {
    /// The challenge.
    pub challenge: ChallengeId,
    /// What the asking browser keeps, and shows with the link or the code.
    pub browser: Secret<String>,
    /// When the challenge means nothing any more.
    pub expires_at: Timestamp,
}

/// What is left to do once somebody was answered: how long it takes tells nothing then.
#[derive(Debug)]
#[must_use = "without `People::write` no mail goes out"]
pub struct Unwritten {
    id: ChallengeId,
    asking: Asking,
    browser: Mac,
}

/// What somebody shows to prove that the mailbox is theirs.
#[derive(Debug, Clone, Copy)]
pub enum Proof<'a> {
    /// What stands behind `t=` in the link.
    Link(&'a Secret<String>),
    /// The code, as it was typed.
    Code(ChallengeId, &'a Secret<String>),
}

/// What the link of a mail is good for in the browser that opened it.
#[derive(Debug)]
pub enum Opens {
    /// It asked: the link signs in here.
    Here,
    /// Another asked: this is the code, as people are shown it, to be typed there.
    Elsewhere(Secret<String>),
}

/// Somebody who has just signed in.
#[derive(Debug)]
pub struct SignedIn {
    /// The session.
    pub session: Session,
    /// Its token, for its browser alone.
    pub token: Secret<String>,
    /// The page on which they go on.
    pub next: Option<String>,
}

impl People {
    /// The person with this address, who is made where there is none.
    pub async fn meet(&self, address: &Address) -> Result<UserId, SignInError> {
        Ok(self.parts.store.meet(address, self.mint().id(UserId::from_uuid)).await?)
    }

    /// The address of a person.
    pub async fn address(&self, user: UserId) -> Result<Option<Address>, SignInError> {
        Ok(self.addresses(&[user]).await?.remove(&user))
    }

    /// The addresses of these people, as far as they have one; no log may have them.
    pub async fn addresses(
        &self,
        users: &[UserId],
    ) -> Result<BTreeMap<UserId, Address>, StoreDown> {
        self.parts.store.addresses(users).await
    }

    /// What a browser keeps to be known by when it asks: what it was given before, or something new.
    pub fn browser(&self, before: Option<Secret<String>>) -> Secret<String> {
        before.filter(is_token).unwrap_or_else(|| token(&self.mint()))
    }

    /// Answers somebody who asks to sign in.
    ///
    /// A challenge ends no other: who knows an address could keep its owner out by asking.
    pub async fn ask(&self, asking: Asking) -> Result<(Asked, Unwritten), SignInError> {
        let from = self.pepper.mac(About::Network, asking.network.as_bytes());
        self.count(&from, ASKED_FROM_NETWORK).await?;
        let of = self.pepper.mac(About::Address, asking.address.as_str().as_bytes());
        self.count(&of, ASKED_OF_ADDRESS).await?;
        let mint = self.mint();
        let id = mint.id(ChallengeId::from_uuid);
        let token = self.browser(asking.browser.clone());
        let browser = self.pepper.mac(About::Browser, token.expose().as_bytes());
        let expires_at = mint.now() + ANSWERABLE_FOR;
        let asked = Asked { challenge: id, browser: token, expires_at };
        Ok((asked, Unwritten { id, asking, browser }))
    }

    /// Keeps the challenge that was answered, and has its mail sent where the address is somebody's.
    pub async fn write(&self, unwritten: Unwritten) -> Result<(), SignInError> {
        let Unwritten { id, asking, browser } = unwritten;
        let Asking { address, next, again, network: _, browser: _ } = asking;
        let user = self.parts.store.person(&address).await?;
        let mint = self.mint();
        let job = mint.id(MailJobId::from_uuid);
        let salt = mint.bytes::<16>();
        let lives = ANSWERABLE_FOR;
        let new = NewChallenge { id, user, salt, browser, lives, next, again, job };
        Ok(self.parts.store.put_challenge(&new).await?)
    }

    /// Opens a session for whoever shows the link or the code in the browser that asked.
    ///
    /// Another browser's answer takes no try: who knows the id of a challenge and nothing else
    /// cannot use it up.
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
        // Before the comparison, so that guesses at one moment are counted each.
        if !store.take_try(id).await? {
            return Err(SignInError::Expired);
        }
        let (shown, made) = match proof {
            Proof::Link(link) => (link.clone(), self.pepper.link(id, &found.salt)),
            Proof::Code(_, code) => (typed(code.expose()), self.pepper.code(id, &found.salt)),
        };
        if !constant_time_eq(shown.expose().as_bytes(), made.expose().as_bytes()) {
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

    /// What a link is good for in this browser, before anybody presses anything; nothing of one that
    /// is not whole. It takes no try and uses nothing up: programs that look at mails open links.
    ///
    /// Whether it was used or is too old is said by [`People::confirm`].
    pub async fn opened(
        &self,
        link: &Secret<String>,
        browser: Option<&Secret<String>>,
    ) -> Result<Option<Opens>, SignInError> {
        let Some(id) = Proof::Link(link).challenge() else { return Ok(None) };
        let Some(found) = self.parts.store.challenge(id).await? else { return Ok(None) };
        let made = self.pepper.link(id, &found.salt);
        if !constant_time_eq(link.expose().as_bytes(), made.expose().as_bytes()) {
            return Ok(None);
        }
        let mac =
            |token: &Secret<String>| self.pepper.mac(About::Browser, token.expose().as_bytes());
        let asked = browser.is_some_and(|token| constant_time_eq(&mac(token), &found.browser));
        let code = || shown(&self.pepper.code(id, &found.salt));
        Ok(Some(if asked { Opens::Here } else { Opens::Elsewhere(code()) }))
    }

    /// Lets the session with this token go on in this org, under a new token; nothing of one that ended
    /// or has another token by now.
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

    /// Puts the session with this token into the org that its person has just joined, under the same
    /// token; nothing of one that ended, is for an org or has another token by now.
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
    /// The challenge that it answers; none of a link that is not whole.
    fn challenge(&self) -> Option<ChallengeId> {
        match self {
            Self::Link(link) => link.expose().split_once('.')?.0.parse().ok(),
            Self::Code(id, _) => Some(*id),
        }
    }
}
