//! What sign-in needs beside `people`: the work behind an answer, and who a session's person is in
//! its org.

use std::sync::Arc;

use admin::Remembered;
use ledger::Spawn;
use model::Digest;
use people::{PendingChallenge, People, Signup};
use tokio::sync::Semaphore;
use web::{ApiError, Site};

use crate::{access::Person, catalogue};

/// The most sign-ins whose work behind the answer is under way on this instance.
const BEHIND: usize = 64;

/// Where people sign in.
pub(crate) struct SignIn {
    pub(crate) people: Arc<People>,
    pub(crate) site: Site,
    pub(crate) signup: Signup,
    /// Whose sessions were looked up a moment ago, by the digest of their token; what this instance
    /// changes of sessions and members is forgotten at once.
    pub(crate) remembered: Remembered<Digest, Box<Person>>,
    spawn: Arc<dyn Spawn>,
    behind: Arc<Semaphore>,
}

impl SignIn {
    pub(crate) fn new(
        people: Arc<People>,
        spawn: Arc<dyn Spawn>,
        site: Site,
        signup: Signup,
    ) -> Self {
        let behind = Arc::new(Semaphore::new(BEHIND));
        Self { people, site, signup, remembered: Remembered::default(), spawn, behind }
    }

    /// Refuses whoever would become a member, or ask somebody to, where the operator lets nobody in.
    pub(crate) fn takes_people(&self) -> Result<(), ApiError> {
        match self.signup {
            Signup::Invite => Ok(()),
            Signup::Closed => {
                let message = "this server does not accept new users; its operator can allow them";
                Err(ApiError::new(catalogue::sign_in::SIGNUP_CLOSED, message))
            }
        }
    }

    /// Stores a challenge and queues its mail after the response, in a task that a graceful shutdown waits
    /// for. Its place is reserved before the response, so that no mail is announced that cannot be queued.
    pub(crate) fn store_challenge(&self, place: Place, pending: PendingChallenge) {
        let people = Arc::clone(&self.people);
        self.spawn.spawn(Box::pin(async move {
            let Place(_place) = place;
            if let Err(error) = people.store_challenge(pending).await {
                tracing::error!(%error, "a requested sign-in could not be stored");
            }
        }));
    }

    /// A place for the work behind one answer.
    pub(crate) fn place(&self) -> Result<Place, ApiError> {
        let place = Arc::clone(&self.behind).try_acquire_owned();
        place.map(Place).map_err(|_| {
            ApiError::unavailable("too many people are signing in at the moment; try again")
        })
    }
}

/// Room for the work behind one answer.
pub(crate) struct Place(tokio::sync::OwnedSemaphorePermit);
