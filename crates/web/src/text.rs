//! Text of an address. Whatever a path or a query says in words becomes a [`Text`], and nothing
//! else of them reaches a handler.

/// Text that every store can hold: percent-decoded once, UTF-8, without the NUL character, for
/// which PostgreSQL has no place. JSON bodies are held to the same by their parser, and headers are
/// visible ASCII.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Text(String);

impl Text {
    /// What the error says of a text that is none.
    pub(crate) const EXPECTED: &str = "expected percent-encoded UTF-8 without the NUL character";

    /// Reads a part of a path.
    pub(crate) fn of_path(raw: &str) -> Option<Self> {
        let text = String::from_utf8(decoded(raw.as_bytes())?).ok()?;
        (!text.contains('\0')).then_some(Self(text))
    }

    /// Reads a name or a value of a query, in which `+` is a space.
    pub(crate) fn of_query(raw: &str) -> Option<Self> {
        Self::of_path(&raw.replace('+', " "))
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

fn decoded(mut rest: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(rest.len());
    while let Some((first, tail)) = rest.split_first() {
        if *first == b'%' {
            let (pair, after) = tail.split_at_checked(2)?;
            bytes.push(u8::from_str_radix(hex(pair)?, 16).ok()?);
            rest = after;
        } else {
            bytes.push(*first);
            rest = tail;
        }
    }
    Some(bytes)
}

fn hex(pair: &[u8]) -> Option<&str> {
    let digits = pair.iter().all(u8::is_ascii_hexdigit);
    std::str::from_utf8(pair).ok().filter(|_| digits)
}
