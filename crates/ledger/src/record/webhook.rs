//! Webhook endpoints: where an org's events are posted to.

use model::{AgentId, DeliveryId, EventId, MailJobId, OrgId, Timestamp, WebhookId};
use serde::{Deserialize, Serialize};

use super::Row;

/// An endpoint that an org's events are posted to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Webhook {
    /// The endpoint's id.
    pub id: WebhookId,
    /// The org that it belongs to.
    pub org: OrgId,
    /// Where events are posted to.
    pub url: String,
    /// When that was changed last: what failed before failed at another address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url_since: Option<Timestamp>,
    /// What people say it is for; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// The types and families of the events that are posted, as they were asked for; every type
    /// where there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub types: Vec<String>,
    /// The agent whose events alone are posted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentId>,
    /// The version of the interface whose envelopes are posted.
    pub api_version: String,
    /// When nothing was to be posted any more, where that is so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disabled: Option<WebhookDisabled>,
    /// The secret that signs, under the vault ring, in base64; empty once the endpoint is deleted.
    pub secret: String,
    /// The secret before it, which signs beside it for a while.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous_secret: Option<PreviousSecret>,
    /// Counts the changes.
    pub revision: u32,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was deleted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deleted_at: Option<Timestamp>,
}

/// That an endpoint is disabled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct WebhookDisabled {
    /// Since when.
    pub at: Timestamp,
    /// Whether it failed for too long; otherwise somebody disabled it.
    pub is_failed: bool,
}

/// A secret that is being replaced.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PreviousSecret {
    /// The secret, under the vault ring, in base64.
    pub sealed: String,
    /// Until when it signs.
    pub expires_at: Timestamp,
}

impl Webhook {
    /// Whether events are posted to it.
    pub fn is_open(&self) -> bool {
        self.disabled.is_none() && self.deleted_at.is_none()
    }

    /// The scheme, host and port of its address: what may be shown to people, since a path or a query may
    /// hold a secret.
    pub fn origin(&self) -> String {
        let (scheme, rest) = self.url.split_once("://").unwrap_or(("https", &self.url));
        let authority = rest.split(['/', '?', '#', '\\']).next().unwrap_or_default();
        let host = authority.rsplit('@').next().unwrap_or_default();
        format!("{scheme}://{host}")
    }

    /// The secrets under the vault ring that sign at this moment, the newest first.
    pub fn sealed_secrets(&self, now: Timestamp) -> impl Iterator<Item = &str> {
        let previous = self.previous_secret.as_ref().filter(|secret| now < secret.expires_at);
        std::iter::once(&*self.secret).chain(previous.map(|secret| &*secret.sealed))
    }
}

/// The endpoints of one org as one row, so that a turn can count them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OrgWebhooks {
    /// The org.
    pub org: OrgId,
    /// Its endpoints, those among them that were deleted since the row was loaded.
    pub endpoints: Vec<Webhook>,
}

impl OrgWebhooks {
    /// The endpoints that were not deleted.
    pub fn live(&self) -> impl Iterator<Item = &Webhook> {
        self.endpoints.iter().filter(|webhook| webhook.deleted_at.is_none())
    }

    /// The endpoint of this id, if it was not deleted.
    pub fn get(&self, id: WebhookId) -> Option<&Webhook> {
        self.live().find(|webhook| webhook.id == id)
    }

    /// The same endpoints with this one in its new form.
    #[must_use]
    pub fn with(&self, changed: Webhook) -> Self {
        let id = changed.id;
        let others = self.live().filter(|webhook| webhook.id != id).cloned();
        Self { org: self.org, endpoints: others.chain([changed]).collect() }
    }
}

impl Row for OrgWebhooks {
    type Key = OrgId;

    fn key(&self) -> OrgId {
        self.org
    }
}

/// The mails about an endpoint that the turn disabled because it failed for too long, which are to be
/// written to the owners of the org. Who they are is found out behind the turn: no turn reads all of an
/// org's people.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WebhookMail {
    /// The job.
    pub job: MailJobId,
    /// The endpoint.
    pub webhook: WebhookId,
    /// When it was disabled, and from when on they are to be sent.
    pub disabled_at: Timestamp,
    /// When they are not worth sending any more.
    pub expires_at: Timestamp,
}

/// An event of the turn that is posted to one endpoint, whatever it asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WebhookSend {
    /// The delivery.
    pub id: DeliveryId,
    /// The endpoint.
    pub webhook: WebhookId,
    /// The event, which is one of the same turn.
    pub event: EventId,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_an_address_people_are_shown_nothing_that_may_be_a_secret() {
        let table = [
            ("https://hooks.example.com/in/C4NARY", "https://hooks.example.com"),
            ("https://hooks.example.com?key=C4NARY", "https://hooks.example.com"),
            ("https://hooks.example.com#C4NARY", "https://hooks.example.com"),
            ("https://ann:C4NARY@hooks.example.com/in", "https://hooks.example.com"),
            ("https://ann:C4N@RY@hooks.example.com/in@c", "https://hooks.example.com"),
            ("http://[2001:db8::1]:8443/in?a=://b", "http://[2001:db8::1]:8443"),
            ("hooks.example.com/C4NARY", "https://hooks.example.com"),
        ];
        for (url, origin) in table {
            let webhook = Webhook {
                id: WebhookId::from_uuid(model::Uuid::nil()),
                org: OrgId::from_uuid(model::Uuid::nil()),
                url: url.to_owned(),
                url_since: None,
                description: String::new(),
                types: Vec::new(),
                agent: None,
                api_version: String::new(),
                disabled: None,
                secret: String::new(),
                previous_secret: None,
                revision: 1,
                created_at: Timestamp::EPOCH,
                deleted_at: None,
            };
            assert_eq!(webhook.origin(), origin, "{url}");
        }
    }
}
