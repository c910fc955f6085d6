//! Percent-encoding (RFC 3986, 2.1).

use std::{borrow::Cow, fmt::Write as _};

/// Writes the text so that it has no meaning in an address beyond itself.
pub(super) fn encode(text: &str, to: &mut String) {
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            to.push(char::from(byte));
        } else {
            // Writing to a string cannot fail.
            let _ = write!(to, "%{byte:02X}");
        }
    }
}

/// The text with its escapes decoded once. A percent sign without two hexadecimal digits is kept, and
/// bytes that are not UTF-8 become replacement characters.
pub(super) fn decoded(text: &str) -> Cow<'_, str> {
    if !text.contains('%') {
        return Cow::Borrowed(text);
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let digits = after.get(..2).filter(|_| *first == b'%');
        let digits = digits.filter(|digits| digits.iter().all(u8::is_ascii_hexdigit));
        let text = digits.and_then(|digits| std::str::from_utf8(digits).ok());
        let byte = text.and_then(|text| u8::from_str_radix(text, 16).ok());
        bytes.push(byte.unwrap_or(*first));
        rest = if byte.is_some() { after.get(2..).unwrap_or_default() } else { after };
    }
    Cow::Owned(String::from_utf8_lossy(&bytes).into_owned())
}
