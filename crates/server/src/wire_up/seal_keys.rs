//! The seal keys at start: read from their file, registered, and tried.

use std::{os::unix::fs::PermissionsExt, path::Path};

use admin::{SealKeyActivation, SealKeyStore};
use deed::{SealKey, SealKeys, Sealer};
use model::{Timestamp, causes};
use zeroize::Zeroizing;

use crate::{core::Stores, exit::Failure, settings::Settings};

/// The sealer, and the keys that were not registered before.
pub(crate) async fn load(
    file: &Path,
    stores: &Stores,
    (now, activation): (Timestamp, SealKeyActivation),
) -> Result<(Sealer, Vec<SealKey>), Failure> {
    let keys = read(file)?;
    let registered = admin::register_seal_keys(stores.accounts.as_ref(), &keys, (now, activation))
        .await
        .map_err(|error| Failure::internal(format!("the seal keys: {}", causes(&error))))?;
    let sealer = Sealer::new(keys, registered.set);
    sealer.self_test(now).map_err(|error| {
        Failure::internal(format!("nothing can be sealed with these keys: {error}"))
    })?;
    Ok((sealer, registered.new))
}

/// Whether the file that the settings name has a key that this record does not know.
pub(crate) async fn is_new_here(
    settings: &Settings,
    store: &dyn SealKeyStore,
) -> Result<bool, Failure> {
    let Some(file) = &settings.seal_key_file else { return Ok(false) };
    let keys = read(file)?;
    let registered = store.seal_keys().await.map_err(|error| Failure::internal(causes(&error)))?;
    let mut here = keys.keys().map(|(_, private)| deed::thumbprint(private.public()));
    Ok(here.any(|kid| registered.iter().all(|key| key.kid() != kid)))
}

/// The database's time.
pub(crate) async fn database_time(stores: &Stores) -> Result<Timestamp, Failure> {
    let (_, now) = stores.ledger.base(admin::OPERATOR_ORG).await.map_err(|error| {
        Failure::internal(format!("the database's time is not known: {}", causes(&error)))
    })?;
    Ok(now)
}

/// The keys of a seal key file.
pub(crate) fn read(file: &Path) -> Result<SealKeys, Failure> {
    let named = |error: &dyn std::fmt::Display| {
        Failure::usage(format!("the seal key file `{}`: {error}", file.display()))
    };
    let mode = std::fs::metadata(file).map_err(|error| named(&error))?.permissions().mode();
    if mode & 0o077 != 0 {
        let mode = mode & 0o777;
        tracing::warn!(file = %file.display(), "others may read the seal key file (mode {mode:o})");
    }
    let text = std::fs::read_to_string(file).map_err(|error| named(&error))?;
    SealKeys::from_pem(&Zeroizing::new(text)).map_err(|error| named(&error))
}
