//! Markers: what the service writes into the log in the transactions that are its own.

use std::str::FromStr;

use crypto::{Secret, constant_time_eq, hmac_sha256, json};
use model::{ActionId, ConnectorId, Digest};
use serde_json::{Map, Value};

use super::{Forgery, MarkerKind, Site};

const VERSION: u64 = 1;
const KEY_ID_PURPOSE: &[u8] = b"service.marker.key-id.v1";
const KEY_ID_BYTES: usize = 8;

/// A key that signs the markers of one connector.
#[derive(Debug)]
pub struct MarkerKey {
    key: Secret<Vec<u8>>,
    id: String,
}

impl MarkerKey {
    /// The key of these bytes: what the vault derives for `service.marker.v1` and the connector.
    pub fn new(key: Secret<Vec<u8>>) -> Self {
        let id = hmac_sha256(key.expose(), KEY_ID_PURPOSE);
        let id = hex(id.get(..KEY_ID_BYTES).unwrap_or_default());
        Self { key, id }
    }

    /// What markers call the key.
    pub fn id(&self) -> &str {
        &self.id
    }
}

/// A marker as it stands in the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Marker {
    /// Why it was written.
    pub kind: MarkerKind,
    /// The connector in whose database it was written.
    pub connector: ConnectorId,
    /// The action that it is about, if about any.
    pub action: Option<ActionId>,
    /// Which attempt at the action.
    pub attempt: u64,
    /// The transaction's number with its epoch, as the database prints it.
    pub xid: String,
    /// The database cluster's own number.
    pub system: String,
    /// The digest of what was asked.
    pub request_digest: Option<Digest>,
    /// What makes it unlike any other.
    pub nonce: String,
    /// The key that signed it.
    pub key_id: String,
    /// The signature, in hexadecimal.
    pub mac: String,
    signed: Vec<u8>,
}

impl Marker {
    /// Reads a message's content; `None` is one that is longer than a marker.
    pub fn read(content: Option<&[u8]>) -> Result<Self, Forgery> {
        content.and_then(read).ok_or(Forgery::MarkerUnreadable)
    }

    /// The marker, if it was signed for this site and the transaction of this number.
    pub fn checked(self, xid: u32, site: &Site<'_>) -> Result<Self, Forgery> {
        // Several connectors may lead to one database, and none has another's key.
        if self.connector != site.connector {
            return Err(Forgery::OtherConnector);
        }
        let key = site.keys.iter().find(|key| key.id == self.key_id).ok_or(Forgery::KeyUnknown)?;
        let mac = hex(&hmac_sha256(key.key.expose(), &self.signed));
        if !constant_time_eq(mac.as_bytes(), self.mac.as_bytes()) {
            return Err(Forgery::MacWrong);
        }
        if self.system != site.system {
            return Err(Forgery::OtherSystem);
        }
        // The stream tells the lower half of the number.
        let whole: Option<u64> = self.xid.parse().ok();
        if whole.map(|whole| whole & 0xffff_ffff) != Some(xid.into()) {
            return Err(Forgery::OtherTransaction);
        }
        Ok(self)
    }
}

fn read(content: &[u8]) -> Option<Marker> {
    let mut value = json::parse(content).ok()?;
    if json::canonical(&value) != content {
        return None;
    }
    let members = value.as_object_mut()?;
    let mac = members.remove("mac")?.as_str()?.to_owned();
    let action = optional(members, "act").ok()?;
    let request_digest = optional(members, "rd").ok()?;
    let text = |name: &str| members.get(name)?.as_str();
    if members.get("v")?.as_u64()? != VERSION {
        return None;
    }
    let kind = MarkerKind::from_word(text("kind")?)?;
    let (connector, xid, system) = (text("con")?.parse().ok()?, text("xid")?, text("sys")?);
    let (nonce, key_id) = (text("n")?.to_owned(), text("kid")?.to_owned());
    let (xid, system) = (xid.to_owned(), system.to_owned());
    let attempt = members.get("att")?.as_u64()?;
    let signed = json::canonical(&value);
    Some(Marker {
        kind,
        connector,
        action,
        attempt,
        xid,
        system,
        request_digest,
        nonce,
        key_id,
        mac,
        signed,
    })
}

/// A member that may be null or absent, and otherwise has to be readable.
fn optional<T: FromStr>(members: &Map<String, Value>, name: &str) -> Result<Option<T>, Forgery> {
    match members.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => {
            let read = value.as_str().and_then(|text| text.parse().ok());
            read.map(Some).ok_or(Forgery::MarkerUnreadable)
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a text cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}
