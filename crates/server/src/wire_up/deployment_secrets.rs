//! Whether the pepper and the vault's keys are those that this record was written with. Under others
//! nothing would fail at start, and every API key and credential afterwards.

use admin::SealKeyActivation;
use crypto::{Secret, hmac_sha256, vault::Ring};
use model::{Timestamp, causes};
use store_postgres::{PepperMac, PostgresStore, SealedSecrets};

use super::Strangers;
use crate::exit::Failure;

/// What the MAC is of by which a pepper is recognised. Nothing else is ever a MAC of this text.
const MARK: &[u8] = b"service.pepper.mark.v1";

/// What the operator says of secrets that are new to the record.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Admitted {
    /// From when on new seal keys count.
    pub(crate) activation: SealKeyActivation,
    /// What becomes of a seal key file without any of the registered keys.
    pub(crate) seal_keys: Strangers,
    /// What becomes of another pepper.
    pub(crate) pepper: Strangers,
    /// What the process is for.
    pub(crate) process: Process,
}

/// What a process is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Process {
    /// It serves. A vault that opens no credential keeps it from that, and its pepper is the one that
    /// a record of an earlier version is known by from then on.
    Serves,
    /// It runs a verb, perhaps the one that gives lost credentials again, and perhaps with a pepper
    /// that no verb looked at before. It notes a pepper only where no API key was made yet.
    Operates,
}

impl Admitted {
    /// What a process admits that serves: nothing new but seal keys beside those that it knows.
    pub(crate) const fn to_serve() -> Self {
        let refused = Strangers::Refused;
        let activation = SealKeyActivation::Ahead;
        Self { activation, seal_keys: refused, pepper: refused, process: Process::Serves }
    }

    /// What a verb admits.
    pub(crate) const fn to_operate() -> Self {
        Self { process: Process::Operates, ..Self::to_serve() }
    }
}

/// How the pepper of the settings stands to this record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pepper {
    /// It is the one that was noted.
    Known,
    /// None was noted yet.
    New,
    /// Another one was noted.
    Another,
}

impl Pepper {
    /// How this pepper stands to the record of this store.
    pub(crate) async fn of(
        store: &PostgresStore,
        pepper: &Secret<Vec<u8>>,
    ) -> Result<Self, Failure> {
        let noted = store.pepper().await.map_err(|error| Failure::internal(causes(&error)))?;
        Ok(match noted {
            None => Self::New,
            Some(noted) if noted == mark(pepper) => Self::Known,
            Some(_) => Self::Another,
        })
    }
}

/// How the pepper stands to the record; a pepper and a vault that are not this record's are refused,
/// as far as the operator does not admit them.
pub(super) async fn judge(
    store: &PostgresStore,
    (pepper, vault): (&Secret<Vec<u8>>, &Ring),
    admitted: Admitted,
) -> Result<Pepper, Failure> {
    let known = Pepper::of(store, pepper).await?;
    if known == Pepper::Another && admitted.pepper == Strangers::Refused {
        return Err(another_pepper());
    }
    if admitted.process == Process::Serves {
        refuse_another_vault(store, vault).await?;
    }
    Ok(known)
}

/// Notes the pepper that was judged so, where none was noted or the operator says that the other one
/// is lost. Nothing is written where it is known.
pub(super) async fn note(
    store: &PostgresStore,
    (pepper, known): (&Secret<Vec<u8>>, Pepper),
    (now, admitted): (Timestamp, Admitted),
) -> Result<(), Failure> {
    let (mark, unnoted) = (mark(pepper), |error| Failure::internal(causes(&error)));
    match known {
        Pepper::Known => Ok(()),
        Pepper::Another => store.replace_pepper(&mark, now).await.map_err(unnoted),
        Pepper::New => {
            let is_left_to_a_start =
                admitted.process == Process::Operates && admitted.pepper == Strangers::Refused;
            if is_left_to_a_start && store.has_api_keys().await.map_err(unnoted)? {
                return Ok(());
            }
            // Another instance may have been first with another pepper.
            let stands = store.note_pepper(&mark, now).await.map_err(unnoted)?;
            if stands == mark { Ok(()) } else { Err(another_pepper()) }
        }
    }
}

fn mark(pepper: &Secret<Vec<u8>>) -> PepperMac {
    hmac_sha256(pepper.expose(), MARK)
}

/// What is said of a pepper that is not this record's.
fn another_pepper() -> Failure {
    Failure::usage(
        "`SERVICE_API_KEY_PEPPER` is not the pepper that this record was written with, so no API \
         key, session or link of it would be valid: set the pepper that the other instances \
         have, and check that `SERVICE_DATABASE_URL` names the right database; only if that \
         pepper is lost, or a wrong one was recorded first, run `chancery key adopt-pepper`: \
         afterwards only API keys that were created under the adopted pepper are valid",
    )
}

/// Refuses a start with a vault that has none of the keys that the record's secrets are under, and
/// says how many are under others where it has some.
async fn refuse_another_vault(store: &PostgresStore, vault: &Ring) -> Result<(), Failure> {
    let counted = store.sealed_secrets(&vault.key_ids()).await;
    let SealedSecrets {
        known_credentials,
        unknown_credentials,
        unknown_webhook_secrets,
        unreached_orgs,
    } = counted.map_err(|error| Failure::internal(causes(&error)))?;
    if known_credentials == 0 && unknown_credentials > 0 {
        return Err(Failure::usage(format!(
            "`SERVICE_VAULT_KEY` has none of the keys that the {unknown_credentials} secrets of \
             connectors in this record are encrypted under: set the keys that the other \
             instances have, a new one in front of the old ones; only if those keys are lost, \
             set a credential again with `chancery connector credential NAME FILE`, after which \
             the service starts"
        )));
    }
    if unknown_credentials + unknown_webhook_secrets > 0 {
        tracing::error!(
            credentials = unknown_credentials,
            webhook_secrets = unknown_webhook_secrets,
            "some secrets are encrypted under a key that `SERVICE_VAULT_KEY` does not have; \
             `chancery check` lists them"
        );
    }
    if unreached_orgs > 0 {
        tracing::error!(
            orgs = unreached_orgs,
            "it is not known whether `SERVICE_VAULT_KEY` has the keys of all secrets: the secrets \
             of these orgs cannot be read. Run `chancery check` once they can be read"
        );
    }
    Ok(())
}
