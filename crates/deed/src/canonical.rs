//! The RFC 8785 form of what is inside the deed profile, written straight from the types.
//!
//! The profile (names of `a-z0-9_`, no floats) makes the form simple enough for one pass: each
//! object's members are written as they come and put in order when it ends. Whatever is outside
//! the profile is a fault. It reads nothing back.

mod serializer;

use std::fmt::{self, Write as _};

use serde::{Serialize, ser};

use crate::body::{BodyFault, MAX_DEPTH};

/// Returns the RFC 8785 form of the value.
pub(crate) fn write<T: Serialize>(value: &T) -> Result<String, BodyFault> {
    let mut writer = Writer::default();
    value.serialize(&mut writer).map_err(|fault| fault.0)?;
    // Everything was written from texts, so this only checks.
    String::from_utf8(writer.out).map_err(|_| outside("bytes that are no text"))
}

fn outside(what: &str) -> BodyFault {
    BodyFault::Profile(what.to_owned())
}

/// Why a value cannot be written, in the form that serde asks for.
#[derive(Debug)]
struct Fault(BodyFault);

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl std::error::Error for Fault {}

impl ser::Error for Fault {
    fn custom<T: fmt::Display>(why: T) -> Self {
        Self(BodyFault::Shape(why.to_string()))
    }
}

/// Where one member of an object was written.
#[derive(Debug, Clone, Copy)]
struct Member {
    /// The quote before its name.
    from: usize,
    /// The quote after its name.
    name_end: usize,
    /// What follows its value.
    to: usize,
}

impl Member {
    fn name<'a>(&self, out: &'a [u8]) -> &'a [u8] {
        out.get(self.from + 1..self.name_end).unwrap_or_default()
    }
}

/// The text so far.
#[derive(Debug, Default)]
struct Writer {
    out: Vec<u8>,
    // The members of every object that is not ended yet, the innermost last.
    members: Vec<Member>,
    scratch: Vec<u8>,
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

    /// Notes the name that was just written from this place on.
    fn named(&mut self, from: usize) -> Result<Member, Fault> {
        let name = self.out.get(from..).unwrap_or_default();
        let word = |byte: &u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_');
        match name {
            [b'"', name @ .., b'"'] if !name.is_empty() && name.iter().all(word) => {}
            _ => return Err(Fault(outside("a key has other characters than `a-z0-9_`"))),
        }
        let name_end = self.out.len() - 1;
        self.out.push(b':');
        Ok(Member { from, name_end, to: 0 })
    }

    /// Puts the members of the object that began at `start` in the order of their names.
    fn sort(&mut self, start: usize, first: usize) -> Result<(), Fault> {
        let Self { out, members, scratch, .. } = self;
        let own = members.get_mut(first..).unwrap_or_default();
        if own.is_sorted_by(|a, b| a.name(out) < b.name(out)) {
            return Ok(());
        }
        own.sort_unstable_by(|a, b| a.name(out).cmp(b.name(out)));
        if own.array_windows().any(|[a, b]| a.name(out) == b.name(out)) {
            return Err(Fault(outside("a member stands twice")));
        }
        scratch.clear();
        scratch.extend_from_slice(out.get(start..).unwrap_or_default());
        out.truncate(start);
        for (place, member) in own.iter().enumerate() {
            if place > 0 {
                out.push(b',');
            }
            let range = member.from - start..member.to - start;
            out.extend_from_slice(scratch.get(range).unwrap_or_default());
        }
        Ok(())
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
    // Where its first member is, or would be.
    start: usize,
    // How many members of outer objects there are.
    outer: usize,
    // The member whose value is not written yet.
    open: Option<Member>,
}

impl<'a> Members<'a> {
    fn of(writer: &'a mut Writer) -> Self {
        writer.open(b'{');
        Self { start: writer.out.len(), outer: writer.members.len(), writer, open: None }
    }

    fn name<T: Serialize + ?Sized>(&mut self, name: &T) -> Result<(), Fault> {
        self.writer.deeper()?;
        if self.writer.out.len() > self.start {
            self.writer.out.push(b',');
        }
        let from = self.writer.out.len();
        name.serialize(&mut *self.writer)?;
        self.open = Some(self.writer.named(from)?);
        Ok(())
    }

    fn value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Fault> {
        value.serialize(&mut *self.writer)?;
        let to = self.writer.out.len();
        self.writer.members.extend(self.open.take().map(|member| Member { to, ..member }));
        Ok(())
    }

    fn member<T: Serialize + ?Sized>(&mut self, name: &str, value: &T) -> Result<(), Fault> {
        self.name(name)?;
        self.value(value)
    }

    fn ended(self) -> Result<(), Fault> {
        self.writer.sort(self.start, self.outer)?;
        self.writer.members.truncate(self.outer);
        self.writer.close(b'}');
        Ok(())
    }
}
