//! A connector's credential: sealed field by field, bound to its org, its connector, whom it is given to
//! and its field, so that a ciphertext moved elsewhere does not open, and none opens for another server
//! than the one that it was set for.

use std::{collections::BTreeMap, fmt::Write};

use act::ActError;
use base64::{Engine, engine::general_purpose::STANDARD};
use crypto::{
    Secret,
    vault::{Ring, VaultError},
};
use ledger::record::Connector;
use model::{ConnectorId, Digest, Entropy, OrgId};
use serde_json::Value;

/// The fields of a credential by name.
pub type Credential = BTreeMap<String, Secret<String>>;

const MAX_FIELDS: usize = 16;
const MAX_VALUE: usize = 8 * 1024;
/// How much of a value a hint shows, and how long the value is at least.
const HINT_LEN: usize = 4;
const LONG_VALUE: usize = 24;

/// The credential of a connector, for the adapter that gives it to this receiver
/// ([`ConnectorCheck::receiver`](crate::ConnectorCheck::receiver)). Sealed for another, it does not open.
pub fn open_credential(
    vault: &Ring,
    connector: &Connector,
    receiver: &Value,
) -> Result<Credential, VaultError> {
    let receiver = digest(receiver);
    open(vault, connector, |field| context((connector.org, connector.id), &receiver, field))
}

/// The credential of a connector as versions sealed it that bound it to no receiver. It is opened to be
/// sealed anew, and for nothing else.
pub(crate) fn open_unbound(vault: &Ring, connector: &Connector) -> Result<Credential, VaultError> {
    let Connector { org, id, .. } = connector;
    open(vault, connector, |field| format!("service.credential.v1/{org}/{id}/{field}").into_bytes())
}

fn open(
    vault: &Ring,
    connector: &Connector,
    context: impl Fn(&str) -> Vec<u8>,
) -> Result<Credential, VaultError> {
    let open = |(field, sealed): (&String, &String)| {
        let context = context(field);
        let sealed = STANDARD.decode(sealed).map_err(|_| VaultError::Refused)?;
        let plain = vault.open(&context, &sealed)?;
        let text = std::str::from_utf8(plain.expose()).map_err(|_| VaultError::Refused)?;
        Ok((field.clone(), Secret::new(text.to_owned())))
    };
    connector.credential.iter().map(open).collect()
}

/// The id of the key that a credential is under, in hex; nothing where there is none.
pub fn key_id(connector: &Connector) -> Option<String> {
    let sealed = STANDARD.decode(connector.credential.values().next()?).ok()?;
    let id = Ring::key_id_of(&sealed)?;
    Some(id.iter().fold(String::new(), |mut hex, byte| {
        // Writing to a string cannot fail.
        let _ = write!(hex, "{byte:02x}");
        hex
    }))
}

/// Whether all of a credential is under the key that the ring encrypts with; so is one that is empty.
pub(crate) fn is_under_first_key(vault: &Ring, connector: &Connector) -> bool {
    connector.credential.values().all(|sealed| {
        let sealed = STANDARD.decode(sealed).unwrap_or_default();
        Ring::key_id_of(&sealed).is_some_and(|id| id == vault.first_key_id())
    })
}

/// The last characters of the first value that is long enough to stay unknown without them.
pub(crate) fn hint(credential: &Credential) -> Option<String> {
    let long = credential.values().find(|value| value.expose().chars().count() >= LONG_VALUE)?;
    let count = long.expose().chars().count();
    Some(long.expose().chars().skip(count - HINT_LEN).collect())
}

/// Seals the fields of connectors' credentials.
pub(crate) struct Envelope<'a> {
    pub(crate) vault: &'a Ring,
    pub(crate) entropy: &'a dyn Entropy,
    pub(crate) org: OrgId,
    pub(crate) connector: ConnectorId,
    /// Whom the credential is given to, and nobody else.
    pub(crate) receiver: &'a Value,
}

impl Envelope<'_> {
    /// The credential as stores keep it.
    pub(crate) fn seal(
        &self,
        credential: &Credential,
    ) -> Result<BTreeMap<String, String>, VaultError> {
        let receiver = digest(self.receiver);
        let seal = |(field, value): (&String, &Secret<String>)| {
            let context = context((self.org, self.connector), &receiver, field);
            let sealed = self.vault.seal(&context, value.expose().as_bytes(), self.entropy)?;
            Ok((field.clone(), STANDARD.encode(sealed)))
        };
        credential.iter().map(seal).collect()
    }
}

/// Refuses a credential whose fields cannot be kept; which fields there must be, the connector's
/// adapter says.
pub(crate) fn check(credential: &Credential) -> Result<(), ActError> {
    let name_fits = |name: &str| {
        (1..=64).contains(&name.len())
            && name.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_'))
    };
    let fits = credential.len() <= MAX_FIELDS
        && credential.iter().all(|(name, value)| {
            name_fits(name) && (1..=MAX_VALUE).contains(&value.expose().len())
        });
    if fits { Ok(()) } else { Err(ActError::bad_input("credential", CREDENTIAL)) }
}

/// The ids and the digest have a fixed length and the field comes last, so no two places share a context.
fn context((org, connector): (OrgId, ConnectorId), receiver: &Digest, field: &str) -> Vec<u8> {
    format!("service.credential.v2/{org}/{connector}/{receiver}/{field}").into_bytes()
}

fn digest(receiver: &Value) -> Digest {
    crypto::sha256(crypto::json::canonical(receiver))
}

const CREDENTIAL: &str = "at most 16 fields, each a name of 1 to 64 characters of `a-z0-9_` and a \
                          value of 1 to 8192 bytes";

#[cfg(test)]
mod tests;
