//! Follows where the heads of requests lie in what a client sends, to find what the HTTP library
//! reads without a word and others read in another way: lines that end in a bare line feed, a
//! `Content-Length` that stands twice or beside `Transfer-Encoding`, and a fragment.
//!
//! It refuses nothing by itself and decides no framing. Where it cannot tell what follows, it
//! stops looking; such a request is refused elsewhere and ends its connection.

use std::sync::{Arc, OnceLock};

/// The longest line that is looked at; nothing longer is read as a head.
const MAX_LINE: usize = 64 * 1024;

/// What parsers read in more than one way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ambiguity {
    /// A line that ends in a bare line feed.
    BareLineFeed,
    /// A `Content-Length` that is not the only header about the body's length.
    TwoLengths,
    /// A first line with a `#`, behind which the HTTP library reads nothing.
    Fragment,
}

/// The first such thing that stood in a head of a connection.
#[derive(Debug, Clone, Default)]
pub(crate) struct Ambiguous(Arc<OnceLock<Ambiguity>>);

impl Ambiguous {
    /// What it was, where there was one.
    pub(crate) fn found(&self) -> Option<Ambiguity> {
        self.0.get().copied()
    }

    fn tell(&self, found: Ambiguity) {
        // Only the first is told; the connection ends with it.
        let _ = self.0.set(found);
    }
}

/// What the next byte belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum At {
    /// The first line of a head.
    Start,
    /// A header.
    Header,
    /// A body with so many bytes left.
    Body(u64),
    /// The line with a chunk's size.
    Size,
    /// A chunk, with its line end, of so many bytes.
    Chunk(u64),
    /// A line behind the last chunk.
    Trailer,
    /// Nobody knows.
    Lost,
}

/// Looks for what is ambiguous in heads.
#[derive(Debug)]
pub(super) struct Heads {
    at: At,
    // What follows the head that is being read.
    next: At,
    line: Vec<u8>,
    // Whether the head that is being read has a `Content-Length`.
    has_length: bool,
    found: Ambiguous,
}

impl Heads {
    pub(super) fn new() -> Self {
        let (at, next) = (At::Start, At::Start);
        Self { at, next, line: Vec::new(), has_length: false, found: Ambiguous::default() }
    }

    pub(super) fn found(&self) -> Ambiguous {
        self.found.clone()
    }

    /// Looks at the next bytes.
    pub(super) fn see(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            bytes = match self.at {
                At::Lost => return,
                At::Body(left) => self.skip(bytes, left, (At::Body, At::Start)),
                At::Chunk(left) => self.skip(bytes, left, (At::Chunk, At::Size)),
                At::Start | At::Header | At::Size | At::Trailer => self.read_line(bytes),
            };
        }
    }

    fn skip<'b>(
        &mut self,
        bytes: &'b [u8],
        left: u64,
        (during, after): (fn(u64) -> At, At),
    ) -> &'b [u8] {
        let passed = bytes.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        let left = left - passed as u64;
        self.at = if left == 0 { after } else { during(left) };
        bytes.get(passed..).unwrap_or_default()
    }

    /// Takes what belongs to the line that is being read, and the line when it ends.
    fn read_line<'b>(&mut self, bytes: &'b [u8]) -> &'b [u8] {
        let end = bytes.iter().position(|byte| *byte == b'\n');
        let (more, rest) = bytes.split_at(end.map_or(bytes.len(), |end| end + 1));
        self.line.extend_from_slice(more);
        if self.line.len() > MAX_LINE {
            self.at = At::Lost;
        } else if end.is_some() {
            let line = std::mem::take(&mut self.line);
            if let Some(line) = line.strip_suffix(b"\r\n") {
                self.at = self.after(line);
            } else {
                self.found.tell(Ambiguity::BareLineFeed);
                self.at = At::Lost;
            }
        }
        rest
    }

    /// What follows a whole line.
    fn after(&mut self, line: &[u8]) -> At {
        match self.at {
            // Line ends before a request are passed over; behind trailers the next one begins.
            At::Start | At::Trailer if line.is_empty() => At::Start,
            At::Start => {
                if line.contains(&b'#') {
                    self.found.tell(Ambiguity::Fragment);
                }
                (self.next, self.has_length) = (At::Start, false);
                At::Header
            }
            At::Header if line.is_empty() => self.next,
            At::Header => {
                self.frame(line);
                At::Header
            }
            At::Size => match chunk_size(line) {
                Some(0) => At::Trailer,
                Some(size) => At::Chunk(size.saturating_add(2)),
                None => At::Lost,
            },
            At::Trailer => At::Trailer,
            At::Body(_) | At::Chunk(_) | At::Lost => At::Lost,
        }
    }

    /// Learns from a header how long the body is.
    fn frame(&mut self, line: &[u8]) {
        let Some((name, value)) = split(line) else { return };
        if name.eq_ignore_ascii_case(b"content-length") {
            if self.has_length || self.next != At::Start {
                return self.two_lengths();
            }
            self.has_length = true;
            let length = std::str::from_utf8(value).ok().and_then(|text| text.parse().ok());
            self.next = match length {
                Some(0) => At::Start,
                Some(length) => At::Body(length),
                None => At::Lost,
            };
        } else if name.eq_ignore_ascii_case(b"transfer-encoding") {
            if self.has_length {
                return self.two_lengths();
            }
            let chunked = value.eq_ignore_ascii_case(b"chunked") && self.next == At::Start;
            self.next = if chunked { At::Size } else { At::Lost };
        }
    }

    fn two_lengths(&mut self) {
        self.found.tell(Ambiguity::TwoLengths);
        self.next = At::Lost;
    }
}

fn split(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let colon = line.iter().position(|byte| *byte == b':')?;
    let (name, value) = line.split_at(colon);
    Some((name, value.get(1..)?.trim_ascii()))
}

fn chunk_size(line: &[u8]) -> Option<u64> {
    let size = line.split(|byte| *byte == b';').next()?.trim_ascii();
    u64::from_str_radix(std::str::from_utf8(size).ok()?, 16).ok()
}

#[cfg(test)]
mod tests;
