//! Sessions: who is signed in where, and how that ends.

use std::{collections::BTreeMap, time::Duration};

use crypto::{Secret, constant_time_eq};
use ledger::StoreDown;
use model::{OrgId, SessionId, Timestamp, UserId, causes};

use crate::{
    People,
    secrets::About,
    store::{Session, Whose},
};

/// How long a session lives however it is used.
pub const LIVES: Duration = Duration::from_hours(7 * 24);
/// How long a session lives unused.
pub const IDLE: Duration = Duration::from_hours(12);
/// How exactly it is known when a session was last used: not every read is worth a write.
const SEEN_EVERY: Duration = Duration::from_mins(1);

impl People {
    /// The session with this token, unless it ended.
    pub async fn session(&self, token: &Secret<String>) -> Result<Option<Session>, StoreDown> {
        let mac = self.pepper.mac(About::Session, token.expose().as_bytes());
        let Some(session) = self.parts.store.session(&mac, IDLE).await? else { return Ok(None) };
        if self.parts.clock.now().since(session.last_seen_at) >= SEEN_EVERY {
            // What is not noted ends the session sooner, and turns nobody away now.
            if let Err(error) = self.parts.store.touch(session.id).await {
                let error = causes(&error);
                tracing::warn!(session = %session.id, error, "the last use of a session could not be recorded");
            }
            if let Some(chosen) = session.chosen {
                self.note_use(chosen.org, session.user).await;
            }
        }
        Ok(Some(session))
    }

    /// Notes that the person is in the org now. Nothing is decided by that, so nobody is turned away where
    /// it cannot be noted.
    pub(crate) async fn note_use(&self, org: OrgId, user: UserId) {
        if let Err(error) = self.parts.store.note_use(org, user).await {
            tracing::warn!(%org, %user, error = causes(&error), "the activity of a member in an org could not be recorded");
        }
    }

    /// The session with this token, unless it ended, as somebody sees it who is answered for long: that
    /// a page is left open is no use of the session.
    pub async fn session_unused(
        &self,
        token: &Secret<String>,
    ) -> Result<Option<Session>, StoreDown> {
        let mac = self.pepper.mac(About::Session, token.expose().as_bytes());
        self.parts.store.session(&mac, IDLE).await
    }

    /// When these people last used a session for the org, to the minute, of those who ever did.
    pub async fn uses(
        &self,
        org: OrgId,
        users: &[UserId],
    ) -> Result<BTreeMap<UserId, Timestamp>, StoreDown> {
        self.parts.store.uses(org, users).await
    }

    /// What a page of the session shows with every change, and no page of others can know.
    pub fn csrf(&self, token: &Secret<String>) -> Secret<String> {
        self.pepper.text(About::Csrf, token.expose().as_bytes())
    }

    /// Whether this was shown by a page of the session with this token.
    pub fn is_csrf(&self, shown: &str, token: &Secret<String>) -> bool {
        constant_time_eq(shown.as_bytes(), self.csrf(token).expose().as_bytes())
    }

    /// Up to this many live sessions below this one, newest first.
    pub async fn sessions(
        &self,
        whose: impl Into<Whose>,
        below: Option<SessionId>,
        limit: usize,
    ) -> Result<Vec<Session>, StoreDown> {
        self.parts.store.sessions(whose.into(), IDLE, below, limit).await
    }

    /// The person whose live session for this org it is.
    pub async fn person_of(&self, org: OrgId, id: SessionId) -> Result<Option<UserId>, StoreDown> {
        self.parts.store.person_of(org, id).await
    }

    /// Ends a session, and says whether there was one.
    pub async fn end(&self, whose: impl Into<Whose>, id: SessionId) -> Result<bool, StoreDown> {
        self.parts.store.end(whose.into(), id).await
    }

    /// Ends every session of this person that is for the org, and says how many.
    pub async fn end_in(&self, org: OrgId, user: UserId) -> Result<u64, StoreDown> {
        self.parts.store.end_in(org, user).await
    }

    /// Ends every session of this person but one, and says how many.
    pub async fn end_others(&self, user: UserId, but: SessionId) -> Result<u64, StoreDown> {
        self.parts.store.end_others(user, but).await
    }
}
