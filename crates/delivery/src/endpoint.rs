//! Making endpoints and changing them: each change a turn with an admin deed.

use std::time::Duration;

use act::{Act, ActError, By, Changed, Fact, MayChange, MayView, Reason, Record};
use crypto::Secret;
use deed::Subject;
use ledger::{
    Needs, Snapshot,
    record::{OrgWebhooks, PreviousSecret, Webhook, WebhookDisabled, WebhookMail},
};
use model::{AgentId, EventType, MailJobId, OrgId, Timestamp, WebhookId, WebhookStatus};
use serde_json::{Value, json};

use crate::{
    LaneState, RECOVERED_WITHIN, SigningSecret, WebhookError, Webhooks, secret::is_under_first_key,
};

/// The longest that a secret signs beside the one that replaced it.
pub const MOST_OVERLAP: Duration = Duration::from_hours(24);

const MAX_DESCRIPTION: usize = 280;
const MAX_TYPES: usize = 64;

/// What an endpoint is made with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewWebhook {
    /// Where events are posted to.
    pub url: String,
    /// What it is for; may be empty.
    pub description: String,
    /// Event types and family wildcards; every type where there are none.
    pub types: Vec<String>,
    /// The agent whose events alone are posted.
    pub agent: Option<AgentId>,
}

/// What is to become of an endpoint.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WebhookEdit {
    /// Where events are posted to.
    pub url: Option<String>,
    /// What it is for.
    pub description: Option<String>,
    /// Event types and family wildcards.
    pub types: Option<Vec<String>>,
    /// The revision that the change was made for.
    pub expected_revision: Option<u32>,
}

/// An endpoint and how it fares.
#[derive(Debug, Clone, PartialEq)]
pub struct Shown {
    /// The endpoint.
    pub webhook: Webhook,
    /// How far it is.
    pub state: LaneState,
    /// While it fails, the earliest moment at which it is disabled.
    pub disables_at: Option<Timestamp>,
    /// Whether the vault decrypts its signing secret. Nothing is posted to it otherwise.
    pub is_secret_readable: bool,
    /// Until when the previous secret signs as well; nothing where the vault cannot decrypt it.
    pub previous_expires_at: Option<Timestamp>,
}

impl Shown {
    /// How the endpoint stands.
    pub fn status(&self) -> WebhookStatus {
        match (self.webhook.is_open(), self.state.lane.failing_since) {
            (false, _) => WebhookStatus::Disabled,
            (true, Some(_)) => WebhookStatus::Failing,
            (true, None) => WebhookStatus::Enabled,
        }
    }
}

impl Webhooks {
    /// The endpoints of an org, oldest first.
    pub async fn list(&self, caller: &impl MayView) -> Result<Vec<Shown>, WebhookError> {
        let org = caller.org();
        let webhooks = self.parts.store.webhooks(org).await?;
        let lanes = self.parts.store.lanes(org).await?;
        let shown = |webhook: Webhook| {
            let state = lanes.get(&webhook.id).copied().unwrap_or_default();
            self.shown(webhook, state)
        };
        Ok(webhooks.into_iter().map(shown).collect())
    }

    /// An endpoint whose lane stands so.
    pub fn shown(&self, webhook: Webhook, state: LaneState) -> Shown {
        let state = LaneState { lane: state.lane.of(&webhook), ..state };
        let disables_at = self.parts.limits.disables_at(&state.lane);
        let key = (webhook.org, webhook.id);
        let opens = |sealed: &str| SigningSecret::open(&self.parts.vault, key, sealed).is_ok();
        let previous = webhook.previous_secret.as_ref().filter(|previous| opens(&previous.sealed));
        Shown {
            disables_at: disables_at.filter(|_| webhook.is_open()),
            is_secret_readable: opens(&webhook.secret),
            previous_expires_at: previous.map(|previous| previous.expires_at),
            webhook,
            state,
        }
    }

    /// An endpoint of the org.
    pub async fn show(&self, caller: &impl MayView, id: WebhookId) -> Result<Shown, WebhookError> {
        let mut all = self.list(caller).await?.into_iter();
        let found = all.find(|shown| shown.webhook.id == id);
        Ok(found.ok_or(ActError::NotFound("webhook endpoint"))?)
    }

    /// Makes an endpoint, and shows the secret that signs what is posted to it.
    pub async fn create(
        &self,
        caller: &impl MayChange,
        new: NewWebhook,
    ) -> Result<(Changed<Webhook>, Secret<String>), WebhookError> {
        description_fits(&new.description)?;
        types_fit(&new.types)?;
        self.parts.sender.check(&new.url).await?;
        let (org, most) = (caller.org(), self.parts.limits.max_endpoints);
        let id = self.parts.mint().await?.id(WebhookId::from_uuid);
        let secret = SigningSecret::new(&*self.parts.entropy);
        let webhook = Webhook {
            id,
            org,
            url: new.url,
            url_since: None,
            description: new.description,
            types: new.types,
            agent: new.agent,
            api_version: event::API_VERSION.to_owned(),
            disabled: None,
            secret: self.sealed(&secret, (org, id))?,
            previous_secret: None,
            revision: 1,
            created_at: Timestamp::EPOCH,
            deleted_at: None,
        };
        let needs = Needs { agents: webhook.agent.into_iter().collect(), ..Needs::default() };
        let made = self.turn(caller, (needs, None), move |at, record| {
            if webhook.agent.is_some_and(|agent| at.agent(agent).is_none()) {
                return Err(ActError::bad_input("agent", "an agent of the org").into());
            }
            if endpoints(at).live().count() >= most {
                return Err(WebhookError::LimitReached(most));
            }
            let webhook = Webhook { created_at: at.now(), ..webhook.clone() };
            Ok(changed((at, record), EventType::WebhookCreated, None, webhook))
        });
        Ok((made.await?, secret.text()))
    }

    /// Replaces what is given of an endpoint.
    pub async fn update(
        &self,
        caller: &impl MayChange,
        id: WebhookId,
        edit: WebhookEdit,
    ) -> Result<Changed<Webhook>, WebhookError> {
        edit.description.as_deref().map_or(Ok(()), description_fits)?;
        edit.types.as_deref().map_or(Ok(()), types_fit)?;
        if let Some(url) = &edit.url {
            self.parts.sender.check(url).await?;
        }
        let updated = self.turn(caller, (Needs::default(), None), move |at, record| {
            let before = found(at, id)?;
            if edit.expected_revision.is_some_and(|revision| revision != before.revision) {
                let sentence = "`expected_revision` is not the current revision of the endpoint";
                return Err(ActError::Stale { param: "expected_revision", sentence }.into());
            }
            let mut after = before.clone();
            let WebhookEdit { url, description, types, expected_revision: _ } = edit.clone();
            if let Some(url) = url.filter(|url| *url != before.url) {
                (after.url, after.url_since) = (url, Some(at.now()));
            }
            after.description = description.unwrap_or(after.description);
            after.types = types.unwrap_or(after.types);
            Ok(revised((at, record), EventType::WebhookUpdated, &before, after))
        });
        updated.await
    }

    /// Deletes an endpoint and its secret. What it did not get yet it never gets.
    pub async fn delete(
        &self,
        caller: &impl MayChange,
        id: WebhookId,
    ) -> Result<Changed<Webhook>, WebhookError> {
        let deleted = self.turn(caller, (Needs::default(), None), move |at, record| {
            let before = found(at, id)?;
            let after = Webhook {
                secret: String::new(),
                previous_secret: None,
                deleted_at: Some(at.now()),
                ..before.clone()
            };
            Ok(revised((at, record), EventType::WebhookDeleted, &before, after))
        });
        deleted.await
    }

    /// Posts events to an endpoint again, from now on.
    pub async fn enable(
        &self,
        caller: &impl MayChange,
        id: WebhookId,
        reason: Option<Reason>,
    ) -> Result<Changed<Webhook>, WebhookError> {
        let enabled = self.turn(caller, (Needs::default(), reason), move |at, record| {
            let before = found(at, id)?;
            if before.is_open() {
                return Err(ActError::Conflict("the endpoint is already enabled").into());
            }
            let after = Webhook { disabled: None, ..before.clone() };
            Ok(revised((at, record), EventType::WebhookEnabled, &before, after))
        });
        enabled.await
    }

    /// Posts nothing to an endpoint any more.
    pub async fn disable(
        &self,
        caller: &impl MayChange,
        id: WebhookId,
        reason: Option<Reason>,
    ) -> Result<Changed<Webhook>, WebhookError> {
        let disabled = self.turn(caller, (Needs::default(), reason), move |at, record| {
            disabled((at, record), id, false)
        });
        disabled.await
    }

    /// Gives an endpoint another secret, and shows it. The previous one signs as well for this long.
    pub async fn roll_secret(
        &self,
        caller: &impl MayChange,
        id: WebhookId,
        overlap: Duration,
    ) -> Result<(Changed<Webhook>, Secret<String>), WebhookError> {
        if overlap > MOST_OVERLAP {
            let expected = "a whole number of seconds from 0 to 86400";
            return Err(ActError::bad_input("expires_in", expected).into());
        }
        let secret = SigningSecret::new(&*self.parts.entropy);
        let sealed = self.sealed(&secret, (caller.org(), id))?;
        let rolled = self.turn(caller, (Needs::default(), None), move |at, record| {
            let before = found(at, id)?;
            let previous =
                PreviousSecret { sealed: before.secret.clone(), expires_at: at.now() + overlap };
            let after = Webhook {
                secret: sealed.clone(),
                previous_secret: (!overlap.is_zero()).then_some(previous),
                ..before.clone()
            };
            Ok(revised((at, record), EventType::WebhookSecretRolled, &before, after))
        });
        Ok((rolled.await?, secret.text()))
    }

    /// Encrypts an endpoint's secrets, which stay the same, under the vault's first key; nothing where
    /// they are. A previous secret that signs no longer is dropped.
    pub async fn reencrypt(
        &self,
        caller: &impl MayChange,
        webhook: &Webhook,
    ) -> Result<Option<Changed<Webhook>>, WebhookError> {
        let (key, vault) = ((webhook.org, webhook.id), &self.parts.vault);
        let kept = webhook.previous_secret.iter().map(|previous| &previous.sealed);
        if kept.chain([&webhook.secret]).all(|sealed| is_under_first_key(vault, sealed)) {
            return Ok(None);
        }
        let moved = |sealed: &str| {
            let secret = SigningSecret::open(vault, key, sealed)?;
            self.sealed(&secret, key)
        };
        let secret = moved(&webhook.secret)?;
        let now = self.parts.store.time().await?;
        let previous = webhook.previous_secret.as_ref().filter(|it| now < it.expires_at);
        let previous = match previous {
            None => None,
            Some(PreviousSecret { sealed, expires_at }) => {
                Some(PreviousSecret { sealed: moved(sealed)?, expires_at: *expires_at })
            }
        };
        let (id, checked) = (webhook.id, webhook.revision);
        let done = self.turn(caller, (Needs::default(), None), move |at, record| {
            let before = found(at, id)?;
            if before.revision != checked {
                return Err(ActError::Conflict(
                    "the endpoint was changed in the meantime; try again",
                )
                .into());
            }
            let after = Webhook {
                secret: secret.clone(),
                previous_secret: previous.clone(),
                ..before.clone()
            };
            Ok(revised((at, record), EventType::WebhookSecretReencrypted, &before, after))
        });
        done.await.map(Some)
    }

    fn sealed(
        &self,
        secret: &SigningSecret,
        key: (OrgId, WebhookId),
    ) -> Result<String, WebhookError> {
        Ok(secret.seal(&self.parts.vault, key, &*self.parts.entropy)?)
    }

    /// Has a change decided in a turn of the caller's org that knows its endpoints.
    pub(crate) async fn turn<F, T>(
        &self,
        caller: &impl MayChange,
        (needs, reason): (Needs, Option<Reason>),
        decide: F,
    ) -> Result<T, WebhookError>
    where
        F: Fn(&Snapshot, &mut Record<'_>) -> Result<T, WebhookError> + Send + 'static,
        T: Send + 'static,
    {
        let needs = Needs { webhooks: [caller.org()].into(), ..needs };
        let act = Act::new(caller.by(), decide).because(reason).needing(needs);
        act.enter(&self.parts.ledger, caller.org()).await
    }
}

/// Disables an endpoint that failed for too long, if it still stands in this revision, and lets the org's
/// owners be written to. One that was enabled again has not failed yet.
pub(crate) fn disabling(
    (org, id): (OrgId, WebhookId),
    revision: u32,
) -> Act<impl Fn(&Snapshot, &mut Record<'_>) -> Result<Changed<Webhook>, WebhookError>> {
    let needs = Needs { webhooks: [org].into(), ..Needs::default() };
    Act::new(By::Service, move |at: &Snapshot, record: &mut Record<'_>| {
        if found(at, id)?.revision != revision {
            return Err(ActError::Conflict("the endpoint was changed in the meantime").into());
        }
        disabled((at, record), id, true)
    })
    .needing(needs)
}

fn disabled(
    (at, record): (&Snapshot, &mut Record<'_>),
    id: WebhookId,
    is_failed: bool,
) -> Result<Changed<Webhook>, WebhookError> {
    let before = found(at, id)?;
    if !before.is_open() {
        return Err(ActError::Conflict("the endpoint is already disabled").into());
    }
    if is_failed {
        record.write(WebhookMail {
            job: record.id(MailJobId::from_uuid),
            webhook: id,
            disabled_at: at.now(),
            // What was missed by then cannot be recovered any later.
            expires_at: at.now() + RECOVERED_WITHIN,
        });
    }
    let disabled = Some(WebhookDisabled { at: at.now(), is_failed });
    let after = Webhook { disabled, ..before.clone() };
    Ok(revised((at, record), EventType::WebhookDisabled, &before, after))
}

/// The org's endpoints; none where it never had any.
pub(crate) fn endpoints(at: &Snapshot) -> OrgWebhooks {
    let none = || OrgWebhooks { org: at.org_id(), endpoints: Vec::new() };
    at.webhooks().cloned().unwrap_or_else(none)
}

pub(crate) fn found(at: &Snapshot, id: WebhookId) -> Result<Webhook, ActError> {
    let webhook = at.webhooks().and_then(|all| all.get(id)).cloned();
    webhook.ok_or(ActError::NotFound("webhook endpoint"))
}

fn revised(
    turn: (&Snapshot, &mut Record<'_>),
    event: EventType,
    before: &Webhook,
    after: Webhook,
) -> Changed<Webhook> {
    let revision = before.revision.saturating_add(1);
    changed(turn, event, Some(before), Webhook { revision, ..after })
}

fn changed(
    (at, record): (&Snapshot, &mut Record<'_>),
    event: EventType,
    before: Option<&Webhook>,
    after: Webhook,
) -> Changed<Webhook> {
    let deed = record.seal(Fact {
        event,
        subject: Subject::webhook(after.id),
        before: before.map(told),
        after: after.deleted_at.is_none().then(|| told(&after)),
        data: vec![("revision", json!(after.revision)), ("status", json!(status(&after)))],
        object: thin(&after),
    });
    record.write(endpoints(at).with(after.clone()));
    Changed { object: after, deed }
}

/// How an endpoint stands by what turns know of it, which is not whether it fails.
pub(crate) fn status(webhook: &Webhook) -> WebhookStatus {
    if webhook.is_open() { WebhookStatus::Enabled } else { WebhookStatus::Disabled }
}

/// The thin object of an endpoint, as events tell it.
pub(crate) fn thin(webhook: &Webhook) -> Value {
    json!({ "object": "webhook_endpoint", "id": webhook.id, "status": status(webhook) })
}

/// An endpoint as deeds commit to it: without its secrets.
fn told(webhook: &Webhook) -> Value {
    json!({
        "id": webhook.id,
        "url": webhook.url,
        "description": webhook.description,
        "types": webhook.types,
        "agent": webhook.agent,
        "api_version": webhook.api_version,
        "status": status(webhook),
        "disabled": webhook.disabled,
        "previous_secret_expires_at":
            webhook.previous_secret.as_ref().map(|previous| previous.expires_at),
        "revision": webhook.revision,
    })
}

fn description_fits(text: &str) -> Result<(), ActError> {
    if text.chars().count() <= MAX_DESCRIPTION && !text.contains('\0') {
        return Ok(());
    }
    Err(ActError::bad_input("description", "at most 280 characters"))
}

fn types_fit(types: &[String]) -> Result<(), ActError> {
    let bad = |expected: String| ActError::bad_input("types", expected);
    if types.is_empty() {
        return Ok(());
    }
    if types.len() > MAX_TYPES {
        return Err(bad(format!("at most {MAX_TYPES} event types and family wildcards")));
    }
    // Each by itself: a comma would make two of one.
    let comma = types.iter().find(|item| item.contains(','));
    if let Some(item) = comma {
        return Err(bad(format!(
            "one event type or family wildcard for each item; `{item}` is several"
        )));
    }
    match event::Types::parse(&types.join(",")) {
        Ok(_) => Ok(()),
        Err(error) => {
            Err(bad(format!("event types and family wildcards such as `action.*`: {error}")))
        }
    }
}
