//! The signed body of a deed: written one way, read strictly.
//!
//! A body is read as a deed only if writing it again gives the very same bytes, so no member can be
//! missing, unknown or spelled in a second way.

pub(crate) mod error;

use model::{DeedId, DeedKind, Digest, OrgId, Timestamp};
use serde::{Deserialize, Serialize, Serializer, ser::SerializeStruct};
use serde_json::Value;

pub use error::BodyError;
use error::MAX_DEPTH;

use crate::{
    canonical::{self, is_written_as},
    content::{ActionContent, Actor, AdminContent, AmendmentContent, Content, Subject},
    text::{LogOrigin, Thumbprint, is_word_byte},
};

/// The most bytes that a body has.
pub const MAX_BODY: usize = 16 * 1024;

/// What the first deed format is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Format {
    /// The format that this crate writes and reads.
    #[serde(rename = "service.deed.v1")]
    V1,
}

/// The signed body of a deed.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(try_from = "BodyForm")]
pub struct Body {
    /// The format.
    pub format: Format,
    /// The deed's id.
    pub id: DeedId,
    /// The kind, which names the member with the content.
    pub kind: DeedKind,
    /// The org.
    pub org: OrgId,
    /// Whether this is no test.
    pub livemode: bool,
    /// The log.
    pub log: LogOrigin,
    /// The place in the log and in its tree, from 0.
    pub seq: u64,
    /// The digest of the deed before.
    pub prev: Digest,
    /// When the deed was sealed.
    pub issued_at: Timestamp,
    /// The key that signed.
    pub key_id: Thumbprint,
    /// Who acted.
    pub actor: Actor,
    /// What the deed is about.
    pub subject: Subject,
    /// What happened.
    pub content: Content,
}

impl Serialize for Body {
    /// Writes the members in the order of their names, the content among them by that of its kind.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut form = serializer.serialize_struct("Body", 13)?;
        if let Content::Action(action) = &self.content {
            form.serialize_field("action", action)?;
        }
        form.serialize_field("actor", &self.actor)?;
        match &self.content {
            Content::Action(_) => {}
            Content::Admin(admin) => form.serialize_field("admin", admin)?,
            Content::Amendment(amendment) => form.serialize_field("amendment", amendment)?,
        }
        form.serialize_field("format", &self.format)?;
        form.serialize_field("id", &self.id)?;
        form.serialize_field("issued_at", &self.issued_at)?;
        form.serialize_field("key_id", &self.key_id)?;
        form.serialize_field("kind", &self.kind)?;
        form.serialize_field("livemode", &self.livemode)?;
        form.serialize_field("log", &self.log)?;
        form.serialize_field("org", &self.org)?;
        form.serialize_field("prev", &self.prev)?;
        form.serialize_field("seq", &self.seq)?;
        form.serialize_field("subject", &self.subject)?;
        form.end()
    }
}

/// The members of [`Body`] as they are read: the contents side by side, so that none has to be
/// kept aside until its name is known.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BodyForm {
    format: Format,
    id: DeedId,
    kind: DeedKind,
    org: OrgId,
    livemode: bool,
    log: LogOrigin,
    seq: u64,
    prev: Digest,
    issued_at: Timestamp,
    key_id: Thumbprint,
    actor: Actor,
    subject: Subject,
    action: Option<Box<ActionContent>>,
    admin: Option<AdminContent>,
    amendment: Option<Box<AmendmentContent>>,
}

impl TryFrom<BodyForm> for Body {
    type Error = &'static str;

    fn try_from(form: BodyForm) -> Result<Self, Self::Error> {
        let content = match (form.action, form.admin, form.amendment) {
            (Some(action), None, None) => Content::Action(action),
            (None, Some(admin), None) => Content::Admin(admin),
            (None, None, Some(amendment)) => Content::Amendment(amendment),
            _ => return Err("a deed has the content of one kind"),
        };
        let BodyForm { format, id, kind, org, livemode, log, seq, prev, issued_at, .. } = form;
        let BodyForm { key_id, actor, subject, .. } = form;
        Ok(Self {
            format,
            id,
            kind,
            org,
            livemode,
            log,
            seq,
            prev,
            issued_at,
            key_id,
            actor,
            subject,
            content,
        })
    }
}

impl Body {
    /// The bytes to be signed.
    pub fn write(&self) -> Result<String, BodyError> {
        let text = canonical::write(self)?;
        if text.len() > MAX_BODY {
            return Err(BodyError::Profile(format!("longer than {MAX_BODY} bytes")));
        }
        Ok(text)
    }

    /// Reads exactly what [`Body::write`] writes.
    pub fn read(bytes: &[u8]) -> Result<Self, BodyError> {
        if bytes.len() > MAX_BODY {
            return Err(BodyError::Profile(format!("longer than {MAX_BODY} bytes")));
        }
        // What is written again as the very same bytes is strict, canonical and whole by that
        // alone. Everything else is looked at step by step, to say what is wrong with it.
        let text = std::str::from_utf8(bytes).unwrap_or_default();
        match serde_json::from_str::<Self>(text) {
            Ok(body) if body.kind == body.content.kind() && is_written_as(&body, bytes) => Ok(body),
            Ok(_) | Err(_) => Self::read_slowly(bytes),
        }
    }

    fn read_slowly(bytes: &[u8]) -> Result<Self, BodyError> {
        let value = crypto::json::parse(bytes).map_err(|e| BodyError::Json(e.to_string()))?;
        check_profile(&value)?;
        if value.to_string().as_bytes() != bytes {
            return Err(BodyError::NotCanonical);
        }
        check_known(&value)?;
        let body: Self =
            serde_json::from_value(value).map_err(|e| BodyError::Shape(e.to_string()))?;
        if body.kind != body.content.kind() {
            return Err(BodyError::Shape("`kind` and the content differ".into()));
        }
        if body.write()?.as_bytes() != bytes {
            return Err(BodyError::Shape("a member is missing or unknown".into()));
        }
        Ok(body)
    }
}

fn check_known(value: &Value) -> Result<(), BodyError> {
    let text = |name: &str| value.get(name).and_then(Value::as_str);
    if text("format").is_some_and(|format| format != "service.deed.v1") {
        return Err(BodyError::Unknown("format"));
    }
    if text("kind").is_some_and(|kind| !DeedKind::WORDS.contains(&kind)) {
        return Err(BodyError::Unknown("kind"));
    }
    Ok(())
}

/// An error unless the value has ASCII word keys, no floats, and is not too deep.
fn check_profile(value: &Value) -> Result<(), BodyError> {
    profile(value, 0)
}

fn profile(value: &Value, depth: usize) -> Result<(), BodyError> {
    let fault = |what: &str| Err(BodyError::Profile(what.to_owned()));
    if depth > MAX_DEPTH {
        return fault("nested too deep");
    }
    match value {
        Value::Null | Value::Bool(_) | Value::String(_) => Ok(()),
        Value::Number(number) => {
            let limit = crypto::json::MAX_INTEGER;
            let fits = number.as_i64().is_some_and(|n| (-limit..=limit).contains(&n));
            if fits { Ok(()) } else { fault("a number is no integer within 2^53-1") }
        }
        Value::Array(items) => items.iter().try_for_each(|item| profile(item, depth + 1)),
        Value::Object(members) => members.iter().try_for_each(|(key, item)| {
            if key.is_empty() || !key.bytes().all(is_word_byte) {
                return fault("a key has other characters than `a-z0-9_`");
            }
            profile(item, depth + 1)
        }),
    }
}
