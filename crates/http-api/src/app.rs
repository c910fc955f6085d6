//! What the handlers share.

use std::{net::IpAddr, sync::Arc, time::Duration};

use admin::Admin;
use async_trait::async_trait;
use crypto::{Secret, sha256};
use delivery::Webhooks;
use gate::Gate;
use ledger::{Spawn, StoreDown};
use model::{AgentId, Clock, Entropy, OrgId, UserId, Uuid};
use people::store::Session;
use records::Records;
use web::{
    AdmissionRequest, ApiError, Credential, Cursors, Lifecycle, LookupError, Patience, Place,
    Refused, Reply, Slots, State, Trust,
};

use crate::{
    access::{Person, Principal, Seat, VIEWERS, Viewer, accounts::principal},
    description::{Made, Published},
    health::Health,
    key_set::KeySetCache,
    lists::Lists,
    live::feed::Feeds,
    overview::cache::Overviews,
    sign_in::SignIn,
    trials::Trials,
};

/// What is running.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Build {
    /// The version of the program.
    pub version: String,
    /// The commit that it was built from, where that is known.
    pub commit: Option<String>,
}

/// The state of every handler.
pub struct App {
    pub(crate) gate: Gate,
    pub(crate) admin: Arc<Admin>,
    pub(crate) records: Records,
    pub(crate) webhooks: Webhooks,
    pub(crate) feeds: Feeds,
    pub(crate) streams: Slots<Uuid>,
    pub(crate) waits: Slots<Waiter>,
    pub(crate) sign_in: SignIn,
    pub(crate) trials: Trials,
    pub(crate) lists: Lists,
    pub(crate) overviews: Overviews,
    pub(crate) cursors: Cursors,
    pub(crate) refusal_page: RefusalPage,
    /// The description as a page for people.
    pub(crate) reference: Made<Published>,
    pub(crate) health: Health,
    pub(crate) key_set: KeySetCache,
    pub(crate) lifecycle: Lifecycle,
    /// Runs what is left to do behind an answer.
    pub(crate) behind: Arc<dyn Spawn>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) entropy: Arc<dyn Entropy>,
    pub(crate) wait_timeout: Duration,
    pub(crate) build: Build,
    /// The name of this run of this instance in stream cursors.
    pub(crate) instance: String,
}

/// Makes the page that is answered in place of a refusal; `None` where no browser waits for one.
pub(crate) type RefusalPage = fn(&App, &ApiError, &Refused<'_>) -> Option<Reply>;

/// Whose waits are counted together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Waiter {
    Agent(AgentId),
    /// A key of the org's own, or a session.
    Other(Uuid),
}

impl std::fmt::Debug for App {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("App").field("instance", &self.instance).finish_non_exhaustive()
    }
}

#[async_trait]
impl State for App {
    type Holder = Principal;

    async fn holder(
        &self,
        key: &Secret<String>,
        client: Option<IpAddr>,
    ) -> Result<Option<Principal>, LookupError> {
        principal(&self.admin, key, client).await
    }

    async fn signed_in(
        &self,
        token: &Secret<String>,
        trust: Trust,
    ) -> Result<Option<Principal>, LookupError> {
        let down = |down: StoreDown| LookupError(down.into());
        let known = sha256(token.expose().as_bytes());
        // The moment before the look-up, so that nothing is remembered too long.
        let now = self.clock.now();
        let remembered = self.sign_in.remembered.get(&known, now);
        if let Some(person) = remembered.filter(|_| trust == Trust::Remembered) {
            return Ok(Some(Principal::Person(person)));
        }
        let people = &self.sign_in.people;
        let session = match trust {
            Trust::Remembered | Trust::Anew => people.session(token).await,
            Trust::Still => people.session_unused(token).await,
        };
        let Some(session) = session.map_err(down)? else { return Ok(None) };
        let person = Box::new(self.person(session).await.map_err(down)?);
        self.sign_in.remembered.put(known, person.clone(), now);
        Ok(Some(Principal::Person(person)))
    }

    fn is_csrf(&self, shown: &str, token: &Secret<String>) -> bool {
        self.sign_in.people.is_csrf(shown, token)
    }

    fn refused(&self, error: &ApiError, refused: &Refused<'_>) -> Option<Reply> {
        (self.refusal_page)(self, error, refused)
    }

    fn number(&self, holder: &Principal) -> u128 {
        holder.number().as_u128()
    }

    fn place(&self, holder: &Principal, patience: Patience) -> Result<Place, ApiError> {
        match patience {
            Patience::Lists => match holder.org() {
                Some(org) => self.lists.take(org, holder.number()),
                // Whoever is in no org is let into no list.
                None => Ok(Place::unbounded()),
            },
            Patience::Short | Patience::Waits => Ok(Place::unbounded()),
        }
    }
}

/// What is held open by clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeldOpen {
    /// Event streams.
    pub streams: usize,
    /// Waits for an action.
    pub waits: usize,
    /// Tests, lints and comparisons of policies that are being worked on.
    pub policy_runs: usize,
}

impl App {
    /// The person of a session, with who they are now in its org.
    ///
    /// Where they are another member than they chose the org as, or have another role, the choice is
    /// void: the session chooses again, and goes on under a new token.
    pub(crate) async fn person(&self, session: Session) -> Result<Person, StoreDown> {
        let seat = match session.chosen {
            None => None,
            Some(chosen) => {
                let seat = self.seat(chosen.org, session.user).await?;
                seat.filter(|seat| {
                    let is_who = chosen.member.is_none_or(|member| member == seat.member);
                    is_who && seat.role == chosen.role
                })
            }
        };
        Ok(Person { session, seat })
    }

    /// Who the person is in the org now.
    pub(crate) async fn seat(&self, org: OrgId, user: UserId) -> Result<Option<Seat>, StoreDown> {
        Ok(self.admin.member_of(org, user).await?.as_ref().map(Seat::of))
    }

    /// Whether the credential still makes this caller, for an answer that goes on for long. A record
    /// that cannot be asked says nothing about the credential.
    pub(crate) async fn still_lets_in(&self, caller: &Viewer, shown: Option<&Credential>) -> bool {
        match VIEWERS.admit(again(shown), self).await {
            Ok((now, _)) => now == *caller,
            Err(error) => error.status().is_server_error(),
        }
    }

    /// What clients hold open now.
    pub fn held_open(&self) -> HeldOpen {
        let (streams, waits) = (self.streams.open(), self.waits.open());
        HeldOpen { streams, waits, policy_runs: self.trials.running() }
    }

    /// The steps that tests of policies took so far.
    pub fn policy_steps(&self) -> u64 {
        self.trials.steps()
    }
}

/// The credential of an answer that goes on, as it is looked up again.
pub(crate) fn again(shown: Option<&Credential>) -> AdmissionRequest<'_> {
    AdmissionRequest { shown, client: None, patience: Patience::Short, trust: Trust::Still }
}
