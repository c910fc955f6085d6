//! The seal keys at start: read from their file, held against those that are registered, and tried.
//! What is registered is published for good, so that comes last and apart.

use std::{os::unix::fs::PermissionsExt, path::Path};

use admin::SealKeyStore;
use deed::{SealKey, SealKeys, Sealer};
use model::{Timestamp, causes};
use zeroize::Zeroizing;

use super::Admitted;
use crate::{
    core::{Core, Stores},
    exit::Failure,
    settings::Settings,
};

/// What becomes of secrets that are not those of the record: a seal key file none of whose keys is
/// registered while others are, and another pepper.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Strangers {
    /// They are refused: wrong seal keys would be published for good.
    Refused,
    /// They are taken; the operator says that the others are lost.
    Adopted,
}

/// How the keys of the seal key file stand to those of the record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Standing {
    /// All are registered, or there is no file.
    Known,
    /// A key will be registered by the next start.
    New,
    /// A start refuses the file, and says this.
    Refused(String),
}

/// The sealer, and the keys that are still to be registered by [`register`].
pub(crate) async fn load(
    file: &Path,
    stores: &Stores,
    (now, Admitted { activation, seal_keys: strangers, .. }): (Timestamp, Admitted),
) -> Result<(Sealer, Vec<SealKey>), Failure> {
    let keys = read(file)?;
    let store = stores.accounts.as_ref();
    let registered = store.seal_keys().await.map_err(|error| Failure::internal(causes(&error)))?;
    if strangers == Strangers::Refused && shares_none(&keys, &registered) {
        return Err(Failure::usage(refusal(file, &registered)));
    }
    let proposed =
        admin::propose_seal_keys(store, &keys, (now, activation)).await.map_err(unusable)?;
    let sealer = Sealer::new(keys, proposed.set);
    sealer.self_test(now).map_err(|error| {
        Failure::internal(format!(
            "nothing can be sealed with the keys of `{}`, and none was registered: {error}; to \
             replace a lost key, run `chancery keys activate --at-once`",
            file.display()
        ))
    })?;
    Ok((sealer, proposed.new))
}

/// Registers keys for good.
pub(crate) async fn register(stores: &Stores, new: &[SealKey]) -> Result<(), Failure> {
    admin::put_seal_keys(stores.accounts.as_ref(), new).await.map_err(unusable)
}

/// Registers keys for good, and seals that.
pub(super) async fn register_and_seal(core: &Core, new: Vec<SealKey>) -> Result<(), Failure> {
    register(&core.stores, &new).await?;
    for key in new {
        core.deployment().seal_key_registered(key).await.map_err(Failure::internal)?;
    }
    Ok(())
}

fn unusable(error: admin::SealKeyError) -> Failure {
    Failure::internal(format!("the seal keys: {}", causes(&error)))
}

/// Whether other keys are registered, and none of these.
fn shares_none(keys: &SealKeys, registered: &[SealKey]) -> bool {
    let mut here = keys.keys().map(|(_, private)| deed::thumbprint(private.public()));
    !registered.is_empty() && here.all(|kid| registered.iter().all(|key| key.kid() != kid))
}

fn refusal(file: &Path, registered: &[SealKey]) -> String {
    let known: Vec<_> = registered.iter().map(|key| key.kid().to_string()).collect();
    format!(
        "the seal key file `{}` has none of the keys that this record is sealed by ({}), and \
         nothing was registered: check that `SERVICE_SEAL_KEY_FILE` names the right file and \
         `SERVICE_DATABASE_URL` the right database; only if those keys are lost, run `chancery \
         keys activate --at-once --adopt-keys`",
        file.display(),
        known.join(", ")
    )
}

/// How the file that the settings name stands to this record.
pub(crate) async fn standing(
    settings: &Settings,
    store: &dyn SealKeyStore,
) -> Result<Standing, Failure> {
    let Some(file) = &settings.seal_key_file else { return Ok(Standing::Known) };
    let keys = read(file)?;
    let registered = store.seal_keys().await.map_err(|error| Failure::internal(causes(&error)))?;
    if shares_none(&keys, &registered) {
        return Ok(Standing::Refused(refusal(file, &registered)));
    }
    let mut here = keys.keys().map(|(_, private)| deed::thumbprint(private.public()));
    let new = here.any(|kid| registered.iter().all(|key| key.kid() != kid));
    Ok(if new { Standing::New } else { Standing::Known })
}

/// The database's time.
pub(crate) async fn database_time(stores: &Stores) -> Result<Timestamp, Failure> {
    stores.accounts.now().await.map_err(|error| {
        Failure::internal(format!("the database's time is not known: {}", causes(&error)))
    })
}

/// The keys of a seal key file.
pub(crate) fn read(file: &Path) -> Result<SealKeys, Failure> {
    let named = |error: &dyn std::fmt::Display| {
        Failure::usage(format!("the seal key file `{}`: {error}", file.display()))
    };
    let mode = std::fs::metadata(file).map_err(|error| named(&error))?.permissions().mode();
    if mode & 0o077 != 0 {
        let mode = mode & 0o777;
        tracing::warn!(
            file = %file.display(),
            "other users may read the seal key file (mode {mode:o})"
        );
    }
    let text = std::fs::read_to_string(file).map_err(|error| named(&error))?;
    SealKeys::from_pem(&Zeroizing::new(text)).map_err(|error| named(&error))
}
