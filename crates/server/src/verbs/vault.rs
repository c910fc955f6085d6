//! `vault`: encrypts what is kept of credentials and of the secrets of webhook endpoints under the
//! vault's first key.

use act::{ActError, By, Changed, MayChange, MayView};
use admin::{ChangeError, ConnectorError, Orgs};
use crypto::vault::VaultError;
use delivery::{WebhookError, Webhooks};
use ledger::record::{Connector, Webhook};
use model::OrgId;

use super::{AWAY, connector::failure, orgs, unread};
use crate::{
    cli::Vault,
    core::Core,
    exit::{Exit, Failure},
    print,
    wire_up::Wired,
};

/// How often a credential is looked at again that somebody else changed meanwhile.
const TRIES: u32 = 3;

/// Whoever runs the deployment, in one of its orgs.
struct Operator(OrgId);

impl MayView for Operator {
    fn org(&self) -> OrgId {
        self.0
    }

    fn by(&self) -> By {
        By::Operator
    }
}

impl MayChange for Operator {}

pub(super) async fn run(wired: &Wired, what: Vault) -> Result<Exit, Failure> {
    match what {
        Vault::Rotate => rotate(&wired.core, &Webhooks::new(wired.webhooks.clone())).await,
    }
}

/// What became of the secrets that were looked at.
#[derive(Default)]
struct Tally {
    moved: u32,
    there: u32,
    stuck: u32,
}

impl Tally {
    /// Counts what became of one secret, and says it. The others do not wait until one that does not
    /// open is mended.
    fn count(&mut self, done: Result<Option<String>, Failure>) {
        match done {
            Ok(Some(told)) => {
                print::line(told);
                self.moved += 1;
            }
            Ok(None) => self.there += 1,
            Err(failure) => {
                print::complaint(failure.sentence);
                self.stuck += 1;
            }
        }
    }

    fn end(self) -> Result<Exit, Failure> {
        let Self { moved, there, stuck } = self;
        print::line(format!("{moved} re-encrypted, {there} already under the first key"));
        match stuck {
            0 => Ok(Exit::Ok),
            stuck => Err(Failure::usage(format!(
                "{stuck} could not be re-encrypted; the reasons are above"
            ))),
        }
    }
}

async fn rotate(core: &Core, webhooks: &Webhooks) -> Result<Exit, Failure> {
    let mut tally = Tally::default();
    let Orgs { found, unreached } = orgs(core).await?;
    // A key that is taken out afterwards must be nobody's.
    if !unreached.is_empty() {
        let orgs = unreached.len();
        return Err(Failure::unavailable(format!("nothing was re-encrypted: {orgs} {AWAY}")));
    }
    for org in found {
        let connectors = core.stores.accounts.connectors(org.id).await.map_err(unread)?;
        let kept = |connector: &Connector| !connector.credential.is_empty();
        for connector in connectors.into_iter().filter(kept) {
            let done = reencrypted(core, org.id, &connector).await;
            let told =
                |Changed { object: Connector { id, name, .. }, deed }: Changed<Connector>| {
                    format!("{id} {name} of {}: re-encrypted, deed {deed}", org.id)
                };
            tally.count(done.map(|done| done.map(told)));
        }
        let endpoints = webhooks.list(&Operator(org.id)).await.map_err(Failure::internal)?;
        for endpoint in endpoints {
            let id = endpoint.webhook.id;
            let done = moved_secret(webhooks, org.id, endpoint.webhook).await;
            let told = |Changed { deed, .. }: Changed<Webhook>| {
                format!("{id} of {}: re-encrypted, deed {deed}", org.id)
            };
            tally.count(done.map(|done| done.map(told)));
        }
    }
    tally.end()
}

/// The connector with its credential under the first key; nothing where it was there already.
async fn reencrypted(
    core: &Core,
    org: OrgId,
    connector: &Connector,
) -> Result<Option<Changed<Connector>>, Failure> {
    let mut tries = TRIES;
    loop {
        let done = core.operator(org).reencrypt_credential(connector.id).await;
        tries -= 1;
        match done {
            Ok(done) => {
                let _ = failpoint::hit("vault.reencrypted");
                return Ok(done);
            }
            Err(error) if tries > 0 && is_conflict(&error) => {}
            Err(ConnectorError::Vault(cause)) => return Err(stuck(org, connector, &cause)),
            Err(error) => return Err(failure(&error)),
        }
    }
}

/// The endpoint with its secret under the first key; nothing where it was there already, or where the
/// endpoint is gone meanwhile.
async fn moved_secret(
    webhooks: &Webhooks,
    org: OrgId,
    mut webhook: Webhook,
) -> Result<Option<Changed<Webhook>>, Failure> {
    let (operator, mut tries) = (Operator(org), TRIES);
    loop {
        let done = webhooks.reencrypt(&operator, &webhook).await;
        tries -= 1;
        match done {
            Ok(done) => {
                let _ = failpoint::hit("vault.reencrypted");
                return Ok(done);
            }
            Err(WebhookError::Act(ActError::Conflict(_))) if tries > 0 => {
                match webhooks.show(&operator, webhook.id).await {
                    Ok(shown) => webhook = shown.webhook,
                    Err(WebhookError::Act(ActError::NotFound(_))) => return Ok(None),
                    Err(error) => return Err(Failure::internal(model::causes(&error))),
                }
            }
            Err(WebhookError::Act(ActError::NotFound(_))) => return Ok(None),
            Err(WebhookError::Vault(cause)) => {
                let what = format!("the secret of {} of {org}", webhook.id);
                return Err(unopened(&what, &cause));
            }
            Err(error) => return Err(Failure::internal(model::causes(&error))),
        }
    }
}

fn stuck(org: OrgId, connector: &Connector, cause: &VaultError) -> Failure {
    let Connector { id, name, .. } = connector;
    unopened(&format!("the credential of {id} {name} of {org}"), cause)
}

fn unopened(what: &str, cause: &VaultError) -> Failure {
    Failure::usage(format!(
        "could not re-encrypt {what}: {cause}; `SERVICE_VAULT_KEY` must list the new key first, \
         followed by every key that was used before"
    ))
}

fn is_conflict(error: &ConnectorError) -> bool {
    matches!(error, ConnectorError::Change(ChangeError::Act(ActError::Conflict(_))))
}
