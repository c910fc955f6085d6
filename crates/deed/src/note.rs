//! Signed notes (C2SP `signed-note`) with Ed25519 signatures: a text and who vouches for it.

use base64::{Engine, engine::general_purpose::STANDARD};
use crypto::ed25519::{PublicKey, SigningKey};

/// The most bytes of a note that is read.
pub const MAX_NOTE: usize = 64 * 1024;
/// The most signatures of a note that is read; the format demands at least 16.
pub const MAX_SIGNATURES: usize = 32;

const ED25519: u8 = 0x01;

/// A text that is not a note that counts.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NoteError {
    /// The text has not the form of a signed note.
    #[error("expected a signed note: {0}")]
    Form(&'static str),
    /// None of the known keys signed it.
    #[error("no known key signed the note")]
    NoKnownKey,
    /// A known key's signature is wrong.
    #[error("the signature of `{0}` on the note is wrong")]
    Signature(String),
}

/// A key that vouches for notes, by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoteKey {
    name: String,
    public: PublicKey,
}

impl NoteKey {
    /// The key under this name.
    pub fn new(name: &str, public: PublicKey) -> Result<Self, NoteError> {
        if is_name(name) {
            Ok(Self { name: name.to_owned(), public })
        } else {
            Err(NoteError::Form("a key name is not empty and has no spaces and no `+`"))
        }
    }

    /// Reads the text form, `<name>+<id in hex>+<base64>`.
    pub fn from_vkey(text: &str) -> Result<Self, NoteError> {
        let bad = NoteError::Form("a verifier key is `<name>+<id>+<base64>` with an Ed25519 key");
        let mut parts = text.splitn(3, '+');
        let (Some(name), Some(id), Some(key)) = (parts.next(), parts.next(), parts.next()) else {
            return Err(bad);
        };
        let Ok(key) = STANDARD.decode(key) else { return Err(bad) };
        let Some((&ED25519, key)) = key.split_first() else { return Err(bad) };
        let Ok(public) = PublicKey::from_bytes(key) else { return Err(bad) };
        let key = Self::new(name, public)?;
        if hex(key.id()) == id { Ok(key) } else { Err(bad) }
    }

    /// The text form, as tools for transparency logs take it.
    pub fn to_vkey(&self) -> String {
        let key = STANDARD.encode([&[ED25519], self.public.as_bytes().as_slice()].concat());
        format!("{}+{}+{key}", self.name, hex(self.id()))
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.name
    }

    fn id(&self) -> [u8; 4] {
        let named = [self.name.as_bytes(), b"\n", &[ED25519], self.public.as_bytes()].concat();
        let [a, b, c, d, ..] = *crypto::sha256(named).as_bytes();
        [a, b, c, d]
    }
}

/// The note of this text, signed under this name. The text ends in a newline.
pub fn sign(text: &str, name: &str, key: &SigningKey) -> Result<String, NoteError> {
    let signer = NoteKey::new(name, *key.public())?;
    if !text.ends_with('\n') || text.chars().any(is_control) {
        return Err(NoteError::Form("the text ends in a newline and has no control characters"));
    }
    let signature = [signer.id().as_slice(), &key.sign(text.as_bytes())].concat();
    Ok(format!("{text}\n\u{2014} {name} {}\n", STANDARD.encode(signature)))
}

/// The text of a note that at least one of these keys signed and none signed wrongly.
pub fn open<'a>(note: &'a str, keys: &[NoteKey]) -> Result<&'a str, NoteError> {
    let (text, signatures) = split(note)?;
    let mut known = false;
    for line in signatures.lines() {
        let (name, id, signature) = signature_line(line)?;
        for key in keys.iter().filter(|key| key.name == name && key.id() == id) {
            if !key.public.verifies(text.as_bytes(), &signature) {
                return Err(NoteError::Signature(name.to_owned()));
            }
            known = true;
        }
    }
    if known { Ok(text) } else { Err(NoteError::NoKnownKey) }
}

/// The text and the signature lines, without having checked who signed.
pub(crate) fn split(note: &str) -> Result<(&str, &str), NoteError> {
    if note.len() > MAX_NOTE {
        return Err(NoteError::Form("it is longer than 64 KiB"));
    }
    if note.chars().any(is_control) {
        return Err(NoteError::Form("it has a control character"));
    }
    let (before, signatures) = note
        .rsplit_once("\n\n")
        .ok_or(NoteError::Form("an empty line must precede the signatures"))?;
    let text = note.get(..=before.len()).unwrap_or_default();
    if signatures.is_empty() || !signatures.ends_with('\n') {
        return Err(NoteError::Form("it ends in signature lines"));
    }
    if signatures.lines().count() > MAX_SIGNATURES {
        return Err(NoteError::Form("it has more than 32 signatures"));
    }
    Ok((text, signatures))
}

fn signature_line(line: &str) -> Result<(&str, [u8; 4], Vec<u8>), NoteError> {
    let bad = NoteError::Form("a signature line is `\u{2014} <name> <base64>`");
    let parts = line.strip_prefix("\u{2014} ").and_then(|rest| rest.split_once(' '));
    let Some((name, base64)) = parts.filter(|(name, _)| is_name(name)) else { return Err(bad) };
    let Ok(bytes) = STANDARD.decode(base64) else { return Err(bad) };
    let Some((id, signature)) = bytes.split_first_chunk::<4>() else { return Err(bad) };
    if signature.is_empty() {
        return Err(bad);
    }
    Ok((name, *id, signature.to_vec()))
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && !name.chars().any(|c| c.is_whitespace() || c.is_control() || c == '+')
}

fn is_control(c: char) -> bool {
    c < ' ' && c != '\n'
}

fn hex(id: [u8; 4]) -> String {
    format!("{:08x}", u32::from_be_bytes(id))
}
