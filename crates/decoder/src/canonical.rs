//! The one form of bytes in which changes are digested: every text with its length before it, so
//! that no two changes share a form.

/// A form in the making.
#[derive(Debug, Clone)]
pub(crate) struct Canonical(Vec<u8>);

impl Canonical {
    /// A form of this kind.
    pub(crate) fn new(kind: &[u8]) -> Self {
        let mut form = Self(Vec::new());
        form.blob(kind);
        form
    }

    pub(crate) fn byte(&mut self, byte: u8) {
        self.0.push(byte);
    }

    pub(crate) fn number(&mut self, number: u64) {
        self.0.extend(number.to_be_bytes());
    }

    pub(crate) fn signed(&mut self, number: i64) {
        self.0.extend(number.to_be_bytes());
    }

    pub(crate) fn length(&mut self, length: usize) {
        // A length in memory fits 64 bits on every system there is.
        self.number(u64::try_from(length).unwrap_or(u64::MAX));
    }

    pub(crate) fn blob(&mut self, bytes: &[u8]) {
        self.length(bytes.len());
        self.0.extend(bytes);
    }

    pub(crate) fn text(&mut self, text: &str) {
        self.blob(text.as_bytes());
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }
}
