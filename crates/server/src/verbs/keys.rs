//! `keys`: makes seal keys, and activates, retires, revokes and lists them.

use std::{path::Path, time::Duration};

use act::Changed;
use admin::{RETIRED_AFTER, Revocation, SealKeyActivation, SealKeyError, SealKeyStore};
use crypto::SystemEntropy;
use deed::{KeySet, SealKey, SealKeys, Standing, Thumbprint};
use model::{Clock, Timestamp, causes};

use super::load;
use crate::{
    cli::Keys,
    clock::SystemClock,
    core::Stores,
    exit::{Exit, Failure},
    print, secrets,
    settings::{LogLevel, Settings},
    telemetry,
    wire_up::{Admitted, Strangers, Wired, open_store, seal_keys, wire_up_with},
};

/// Does what the operator asked of the seal keys.
pub(super) async fn run(config: Option<&Path>, what: Keys) -> Result<Exit, Failure> {
    let activation_asked = matches!(what, Keys::Activate { .. });
    let activation = match &what {
        Keys::New { out } => return new(out),
        Keys::List => return list(&quiet(config)?).await,
        Keys::Activate { at_once: true, .. } => SealKeyActivation::AtOnce,
        Keys::Activate { at_once: false, .. } | Keys::Retire { .. } | Keys::Revoke { .. } => {
            SealKeyActivation::Ahead
        }
    };
    let adopted = matches!(what, Keys::Activate { adopt_keys: true, .. });
    let seal_keys = if adopted { Strangers::Adopted } else { Strangers::Refused };
    let settings = quiet(config)?;
    // Whatever the file has that is not registered is registered by this.
    let admitted = Admitted { activation, seal_keys, ..Admitted::to_operate() };
    let wired = wire_up_with(&settings, admitted).await?;
    let ended = act(&wired, what).await;
    wired.tasks.idle().await;
    ended?;
    if activation_asked { list(&settings).await } else { Ok(Exit::Ok) }
}

/// The settings, with nothing said but what goes wrong.
fn quiet(config: Option<&Path>) -> Result<Settings, Failure> {
    let settings = load(config)?;
    telemetry::start(settings.env, LogLevel::quiet());
    Ok(settings)
}

fn new(out: &Path) -> Result<Exit, Failure> {
    let text = SealKeys::generate_pem(&SystemEntropy::new());
    let keys = SealKeys::from_pem(text.expose()).map_err(Failure::internal)?;
    secrets::write_new(out, &text).map_err(|error| {
        Failure::usage(format!("could not write a new seal key file `{}`: {error}", out.display()))
    })?;
    for (purpose, key) in keys.keys() {
        print::line(format!("{:10} {}", purpose.as_str(), deed::thumbprint(key.public())));
    }
    Ok(Exit::Ok)
}

async fn act(wired: &Wired, what: Keys) -> Result<(), Failure> {
    let deployment = wired.core.deployment();
    match what {
        // Being wired up was all that it takes.
        Keys::New { .. } | Keys::Activate { .. } | Keys::List => Ok(()),
        Keys::Retire { kid, at } => {
            // A second more than is asked for, which may pass on the way.
            let soon = SystemClock.now() + RETIRED_AFTER + Duration::from_secs(1);
            told(deployment.retire_seal_key(&kid, at.unwrap_or(soon)).await)
        }
        Keys::Revoke { kid, reason, compromised_since } => {
            let why = Revocation { reason, compromised_since };
            told(deployment.revoke_seal_key(&kid, why).await)
        }
    }
}

/// Prints every registered key, and changes nothing.
async fn list(settings: &Settings) -> Result<Exit, Failure> {
    let database = settings.database.as_ref();
    let database = database.ok_or_else(|| Failure::usage("set `SERVICE_DATABASE_URL`"))?;
    let store = open_store(settings, database).await?;
    let registered = store.seal_keys().await.map_err(|error| Failure::internal(causes(&error)))?;
    let set = KeySet::new(registered).map_err(Failure::internal)?;
    let file = settings.seal_key_file.as_deref().map(seal_keys::read).transpose()?;
    let loaded: Vec<Thumbprint> = file
        .iter()
        .flat_map(SealKeys::keys)
        .map(|(_, key)| deed::thumbprint(key.public()))
        .collect();
    let now = seal_keys::database_time(&Stores::of(&store)).await?;
    for key in set.keys() {
        let here = if loaded.contains(&key.kid()) { "" } else { "  not in the seal key file" };
        print::line(format!("{}{here}", described(key, now)));
    }
    Ok(Exit::Ok)
}

fn told(changed: Result<Changed<SealKey>, SealKeyError>) -> Result<(), Failure> {
    let Changed { object, deed } = changed.map_err(|error| failure(&error))?;
    print::line(format!("{}, deed {deed}", described(&object, SystemClock.now())));
    Ok(())
}

fn described(key: &SealKey, now: Timestamp) -> String {
    let until = match (key.revoked_at, key.retired_at) {
        (Some(at), _) => format!(", revoked {at}"),
        (None, Some(at)) => format!(", until {at}"),
        (None, None) => String::new(),
    };
    let word = match key.standing(now) {
        Standing::Active if key.retired_at.is_some() => "retiring",
        standing => standing.as_str(),
    };
    let (kid, purpose, from) = (key.kid(), key.purpose.as_str(), key.activated_at);
    format!("{kid}  {purpose:10}  {word:9}  from {from}{until}")
}

fn failure(error: &SealKeyError) -> Failure {
    let sentence = causes(error);
    match error {
        SealKeyError::Unknown(_)
        | SealKeyError::Ended(_)
        | SealKeyError::Last(_)
        | SealKeyError::TooSoon { .. } => Failure::usage(sentence),
        SealKeyError::BadSet(_) | SealKeyError::Store(_) | SealKeyError::NotSealed(_) => {
            Failure::internal(sentence)
        }
    }
}
