//! The RFC 8785 form of what is inside the deed profile, written straight from the types.
//!
//! The profile (names of `a-z0-9_`, no floats) makes the form simple enough for one pass, because
//! the types name their members in order. Members out of order, like whatever else is outside the
//! profile, are a fault. It reads nothing back.

mod serializer;

use std::{
    fmt::{self, Write as _},
    ops::Range,
};

use serde::{Serialize, ser};

use crate::{
    body::error::{BodyError, MAX_DEPTH},
    text::is_word_byte,
};

/// A body is seldom longer, so its memory is asked for once.
const USUAL: usize = 4096;

/// The RFC 8785 form of the value.
pub(crate) fn write<T: Serialize>(value: &T) -> Result<String, BodyError> {
    // Everything is written from texts, so this only checks.
    String::from_utf8(written(value)?).map_err(|_| outside("bytes that are no text"))
}

/// Whether these bytes are the RFC 8785 form of the value.
pub(crate) fn is_written_as<T: Serialize>(value: &T, bytes: &[u8]) -> bool {
    written(value).is_ok_and(|text| text == bytes)
}

fn written<T: Serialize>(value: &T) -> Result<Vec<u8>, BodyError> {
    let mut writer = Writer { out: Vec::with_capacity(USUAL), depth: 0 };
    value.serialize(&mut writer).map_err(|fault| fault.0)?;
    Ok(writer.out)
}

fn outside(what: &str) -> BodyError {
    BodyError::Profile(what.to_owned())
}

/// Why a value cannot be written, in the form that serde asks for.
#[derive(Debug)]
struct Fault(BodyError);

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl std::error::Error for Fault {}

impl ser::Error for Fault {
    fn custom<T: fmt::Display>(why: T) -> Self {
        Self(BodyError::Shape(why.to_string()))
    }
}

/// The text so far.
#[derive(Debug)]
struct Writer {
    out: Vec<u8>,
    depth: usize,
}

impl Writer {
    fn integer(&mut self, value: impl TryInto<i64>) -> Result<(), Fault> {
        let limit = crypto::json::MAX_INTEGER;
        let value = value.try_into().ok().filter(|value| (-limit..=limit).contains(value));
        let value = value.ok_or_else(|| Fault(outside("a number is no integer within 2^53-1")))?;
        // Writing to memory cannot fail.
        let _ = write!(Unescaped(&mut self.out), "{value}");
        Ok(())
    }

    fn text(&mut self, text: &str) -> Result<(), Fault> {
        self.out.push(b'"');
        self.escaped(text)?;
        self.out.push(b'"');
        Ok(())
    }

    fn escaped(&mut self, text: &str) -> Result<(), Fault> {
        let mut rest = text.as_bytes();
        // Looking at every byte, whatever it finds, is what compilers make fast.
        if !rest.iter().fold(false, |any, byte| any | needs_escape(*byte)) {
            self.out.extend_from_slice(rest);
            return Ok(());
        }
        while let Some(place) = rest.iter().position(|byte| needs_escape(*byte)) {
            let (plain, after) = rest.split_at(place);
            self.out.extend_from_slice(plain);
            let Some((byte, after)) = after.split_first() else { break };
            self.escape(*byte)?;
            rest = after;
        }
        self.out.extend_from_slice(rest);
        Ok(())
    }

    fn escape(&mut self, byte: u8) -> Result<(), Fault> {
        let short = match byte {
            0 => return Err(Fault(outside("a string holds the NUL character"))),
            b'"' | b'\\' => byte,
            0x08 => b'b',
            b'\t' => b't',
            b'\n' => b'n',
            0x0c => b'f',
            b'\r' => b'r',
            _ => {
                let _ = write!(Unescaped(&mut self.out), "\\u{byte:04x}");
                return Ok(());
            }
        };
        self.out.extend_from_slice(&[b'\\', short]);
        Ok(())
    }

    /// Begins an array or object: what is in it lies one level deeper.
    fn open(&mut self, bracket: u8) {
        self.out.push(bracket);
        self.depth += 1;
    }

    fn close(&mut self, bracket: u8) {
        self.out.push(bracket);
        self.depth -= 1;
    }

    /// Makes ready for a value inside an array or object.
    fn deeper(&self) -> Result<(), Fault> {
        if self.depth > MAX_DEPTH { Err(Fault(outside("nested too deep"))) } else { Ok(()) }
    }
}

fn needs_escape(byte: u8) -> bool {
    byte < 0x20 || byte == b'"' || byte == b'\\'
}

/// Takes what is formatted as it is.
struct Unescaped<'a>(&'a mut Vec<u8>);

impl fmt::Write for Unescaped<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.extend_from_slice(text.as_bytes());
        Ok(())
    }
}

/// Takes what is formatted as part of a string.
struct Escaped<'a>(&'a mut Writer);

impl fmt::Write for Escaped<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.escaped(text).map_err(|_| fmt::Error)
    }
}

/// An array that is being written.
struct Items<'a> {
    writer: &'a mut Writer,
    first: bool,
}

impl Items<'_> {
    fn item<T: Serialize + ?Sized>(&mut self, item: &T) -> Result<(), Fault> {
        self.writer.deeper()?;
        if !std::mem::take(&mut self.first) {
            self.writer.out.push(b',');
        }
        item.serialize(&mut *self.writer)
    }

    fn ended(self) {
        self.writer.close(b']');
    }
}

/// An object that is being written.
struct Members<'a> {
    writer: &'a mut Writer,
    // Where the name before lies in the text; empty before the first.
    last: Range<usize>,
}

impl<'a> Members<'a> {
    fn of(writer: &'a mut Writer) -> Self {
        writer.open(b'{');
        Self { writer, last: 0..0 }
    }

    fn name<T: Serialize + ?Sized>(&mut self, name: &T) -> Result<(), Fault> {
        self.writer.deeper()?;
        if !self.last.is_empty() {
            self.writer.out.push(b',');
        }
        let from = self.writer.out.len() + 1;
        name.serialize(&mut *self.writer)?;
        let quoted = self.writer.out.get(from - 1..).unwrap_or_default();
        let [b'"', name @ .., b'"'] = quoted else { return Err(Fault(outside(NAMES))) };
        if name.is_empty() || !name.iter().copied().all(is_word_byte) {
            return Err(Fault(outside(NAMES)));
        }
        if name <= self.writer.out.get(self.last.clone()).unwrap_or_default() {
            return Err(Fault(outside("a member appears twice or is out of order")));
        }
        self.last = from..from + name.len();
        self.writer.out.push(b':');
        Ok(())
    }

    fn member<T: Serialize + ?Sized>(&mut self, name: &str, value: &T) -> Result<(), Fault> {
        self.name(name)?;
        value.serialize(&mut *self.writer)
    }

    fn ended(self) {
        self.writer.close(b'}');
    }
}

const NAMES: &str = "a key has other characters than `a-z0-9_`";
