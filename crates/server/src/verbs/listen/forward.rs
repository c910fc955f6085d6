//! Events on their way to a receiver that is being written, signed as webhooks are.

use std::time::Duration;

use crypto::SystemEntropy;
use delivery::{Post, Sender, SigningSecret, signature};
use model::{Clock, EventId, EventType};
use serde_json::Value;
use upstream::{Address, Trust};

use super::{Reach, address, client};
use crate::{adapters::WebhookSender, clock::SystemClock, exit::Failure};

/// How long a receiver may take.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Posts events to one address.
pub(super) struct Forward {
    sender: WebhookSender,
    to: Address,
    secret: SigningSecret,
}

impl Forward {
    /// Posts to this address, if it is one that may be reached, with a new secret.
    pub(super) fn to(text: &str, reach: Reach) -> Result<Self, Failure> {
        let to = address(text)?;
        let client = client(&to, (reach, Trust::default()))?;
        let secret = SigningSecret::new(&SystemEntropy::new());
        Ok(Self { sender: WebhookSender::over(client, TIMEOUT), to, secret })
    }

    /// What a receiver must know.
    pub(super) fn told(&self) -> String {
        format!(
            "events are posted to {}, signed with the secret {}",
            self.to,
            self.secret.text().expose()
        )
    }

    /// Posts an event once, and says what came of it.
    pub(super) async fn post(&self, event: &Value) -> String {
        let word = |name: &str| event.get(name).and_then(Value::as_str).unwrap_or_default();
        let (Ok(id), Ok(kind)) = (word("id").parse::<EventId>(), word("type").parse::<EventType>())
        else {
            return "    not posted: this version does not support this event".to_owned();
        };
        let body = event.to_string();
        let timestamp = SystemClock.now().unix_millis().div_euclid(1_000);
        let secrets = std::slice::from_ref(&self.secret);
        let signature = signature(secrets, (&id.to_string(), timestamp), body.as_bytes());
        let url = self.to.to_string();
        let post =
            Post { url: &url, id, kind, timestamp, signature: &signature, body: body.as_bytes() };
        match self.sender.post(post).await {
            Ok(status @ 200..=299) => format!("    accepted: {status}"),
            Ok(status) => format!("    not accepted: {status}"),
            Err(error) => format!("    not accepted: {error}"),
        }
    }
}
