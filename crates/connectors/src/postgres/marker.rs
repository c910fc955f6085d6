//! The marker: what a write of ours leaves in the change log, in the same transaction as the rows
//! it changed, so that evidence can say whose change it was.
//!
//! The transaction's own number is inside the MAC, so a copied marker is worthless in any other
//! transaction; the key never leaves the service, so a stolen database password makes no marker.

use crypto::{Secret, hmac_sha256, json, vault::Ring};
use model::{ActionId, ConnectorId, Digest, Entropy};
use serde_json::{Value, json};

use super::hex;

const VERSION: u32 = 1;
const NONCE_BYTES: usize = 16;

/// Why a ledger row is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// An action's write.
    Act,
    /// The tombstone of an action that must not be applied any more.
    Void,
    /// A beat, by which it is seen that the log is read to its end.
    Beat,
}

impl Kind {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Act => "act",
            Self::Void => "void",
            Self::Beat => "hb",
        }
    }
}

/// The key that signs one connector's markers.
#[derive(Debug)]
pub(super) struct MarkerKey {
    key: Secret<Vec<u8>>,
    id: String,
    connector: ConnectorId,
}

/// What a marker is about.
#[derive(Debug, Clone, Copy)]
pub(super) struct Subject<'a> {
    pub(super) kind: Kind,
    /// The action; a beat is about none.
    pub(super) action: Option<ActionId>,
    /// The digest of the request; a tombstone has none.
    pub(super) request_digest: Option<Digest>,
    /// The transaction's number as the database prints it.
    pub(super) xid: &'a str,
    /// The database cluster's own number.
    pub(super) system: &'a str,
}

/// A marker, ready to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Marker {
    /// The nonce, as the ledger row keeps it.
    pub(super) nonce: String,
    /// The MAC, as the ledger row keeps it.
    pub(super) mac: String,
    /// The whole marker, canonical JSON.
    pub(super) text: String,
}

/// What the vault derives the key of a connector's markers for.
pub(super) fn purpose(connector: ConnectorId) -> String {
    format!("service.marker.v1 {connector}")
}

impl MarkerKey {
    /// The key of one connector.
    pub(super) fn derive(vault: &Ring, connector: ConnectorId) -> Option<Self> {
        let key = vault.derive(&purpose(connector)).ok()?;
        let id = hmac_sha256(key.expose(), b"service.marker.key-id.v1");
        let id = hex(id.get(..8).unwrap_or_default());
        Some(Self { key, id, connector })
    }

    /// The marker of one transaction.
    pub(super) fn mark(&self, subject: &Subject<'_>, entropy: &dyn Entropy) -> Marker {
        let mut nonce = [0; NONCE_BYTES];
        entropy.fill(&mut nonce);
        let nonce = hex(&nonce);
        let mut body = json!({
            "v": VERSION,
            "kind": subject.kind.as_str(),
            "con": self.connector,
            "act": subject.action,
            "att": 1,
            "xid": subject.xid,
            "sys": subject.system,
            "rd": subject.request_digest,
            "n": nonce,
            "kid": self.id,
        });
        let mac = hex(&hmac_sha256(self.key.expose(), &json::canonical(&body)));
        if let Value::Object(members) = &mut body {
            members.insert("mac".to_owned(), mac.clone().into());
        }
        // Canonical JSON is UTF-8.
        let text = String::from_utf8(json::canonical(&body)).unwrap_or_default();
        Marker { nonce, mac, text }
    }
}
