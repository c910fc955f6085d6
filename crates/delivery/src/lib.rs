//! Webhooks: what happened in an org, posted to the systems of customers under Standard Webhooks.
//!
//! The org's events are the queue. Each endpoint has a *lane*: the place up to which every event had
//! its first try, and the deliveries that are to be tried again. A turn that makes an event writes
//! nothing for webhooks. [`Webhooks`] is what an org changes and reads of its endpoints; [`Courier`]
//! posts. It sends nothing by itself: requests leave through a [`Sender`].

mod courier;
mod deliveries;
mod endpoint;
mod error;
mod lookout;
mod pages;
mod schedule;
mod secret;
mod sender;
mod sign;
mod store;

use std::sync::Arc;

use crypto::vault::Ring;
use ledger::{EventStore, Ledger, StoreDown};
use model::{Clock, Entropy, Mint};

pub use courier::{Claimed, Courier, Worked};
pub use deliveries::{
    DeliveryCounts, DeliveryTally, MOST_RECOVERED, RECOVERED_WITHIN, Recovered, ShownDelivery,
};
pub use endpoint::{MOST_OVERLAP, NewWebhook, Shown, WebhookEdit};
pub use error::WebhookError;
pub use lookout::Lookout;
pub use schedule::{Limits, RETRIES};
pub use secret::SigningSecret;
pub use sender::{Aside, Post, Sender, UrlError};
pub use sign::signature;
pub use store::{
    Adding, Claim, Delivery, DeliveryList, DeliveryStore, Hold, Key, Lane, LaneState, Noted, Try,
    Waiting,
};

/// What webhooks are made of.
#[derive(Clone)]
pub struct Parts {
    /// Takes the turns.
    pub ledger: Ledger,
    /// Where endpoints, lanes and deliveries are kept.
    pub store: Arc<dyn DeliveryStore>,
    /// Where what happened is read.
    pub events: Arc<dyn EventStore>,
    /// How requests leave.
    pub sender: Arc<dyn Sender>,
    /// Encrypts the secrets of endpoints.
    pub vault: Arc<Ring>,
    /// Randomness for ids and secrets.
    pub entropy: Arc<dyn Entropy>,
    /// This process's count of time. What time it is the store tells.
    pub clock: Arc<dyn Clock>,
    /// What the operator sets.
    pub limits: Limits,
}

/// The webhook endpoints of every org.
#[derive(Debug, Clone)]
pub struct Webhooks {
    parts: Parts,
}

impl std::fmt::Debug for Parts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Parts").field("limits", &self.limits).finish_non_exhaustive()
    }
}

impl Parts {
    /// Makes ids at the store's time.
    async fn mint(&self) -> Result<Mint<'_>, StoreDown> {
        Ok(Mint::new(self.store.time().await?, self.entropy.as_ref()))
    }
}

impl Webhooks {
    /// Webhooks over these parts.
    pub fn new(parts: Parts) -> Self {
        Self { parts }
    }
}
