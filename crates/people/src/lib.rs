//! People: who they are, how they sign in, and what is written to them. It serves no routes and
//! sends nothing by itself; mail leaves through [`mail::Mailer`].
//!
//! A sign-in request ([`People::ask`]) gets its response before anything is looked up; then
//! [`People::store_challenge`] stores the challenge, and [`Post`] sends its mail. The link and the code
//! of the mail open a session ([`People::confirm`]) only in the browser that requested it. None of this
//! is a part of the turns of orgs.

mod address;
mod error;
mod invite;
pub mod mail;
mod post;
mod question;
mod secrets;
mod session;
mod sign_in;
pub mod store;

use std::sync::Arc;

use crypto::Secret;
use model::{Clock, Entropy, Mint};

pub use address::{Address, AddressError};
pub use error::SignInError;
pub use invite::{Signup, invitation_link};
pub use post::{Leaving, Post, Questions, Way};
pub use question::{Deciders, LinkedTo};
pub use session::{IDLE, LIVES};
pub use sign_in::{
    ANSWERABLE_FOR, ASKED_FROM_NETWORK, ASKED_OF_ADDRESS, OpenedIn, PendingChallenge, Proof,
    SignInRequest, SignedIn, StartedSignIn, WINDOW,
};

use crate::{secrets::Pepper, store::PeopleStore};

/// What the sign-in of people is made of.
pub struct Parts {
    /// Where people are kept.
    pub store: Arc<dyn PeopleStore>,
    /// Randomness for ids and tokens.
    pub entropy: Arc<dyn Entropy>,
    /// This process's clock; what must not be late is decided by the store's.
    pub clock: Arc<dyn Clock>,
    /// What links, codes and MACs follow from; a new one ends all sessions.
    pub pepper: Secret<Vec<u8>>,
}

/// People and their sessions.
pub struct People {
    parts: Parts,
    pepper: Pepper,
}

impl std::fmt::Debug for Parts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Parts").finish_non_exhaustive()
    }
}

impl std::fmt::Debug for People {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("People").finish_non_exhaustive()
    }
}

impl People {
    /// People over these parts.
    pub fn new(parts: Parts) -> Self {
        let pepper = Pepper(parts.pepper.clone());
        Self { parts, pepper }
    }

    fn mint(&self) -> Mint<'_> {
        Mint::new(self.parts.clock.now(), self.parts.entropy.as_ref())
    }
}
