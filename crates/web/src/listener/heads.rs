//! Reads the head of each request before the HTTP library does. What the library would refuse in
//! words of its own, or read without a word where others read it in another way, is never shown to
//! it; the request is answered as one that cannot be read.
//!
//! It follows bodies only to know where the next head begins. Where it cannot tell, it stops
//! looking, and the answer to that request is the last one on its connection.

use std::sync::{
    Arc, OnceLock,
    atomic::{AtomicBool, Ordering},
};

use http::Uri;

/// The most bytes of a head, less than what the HTTP library would hold.
const MAX_HEAD: usize = 60 * 1024;
/// The most header lines, as many as the HTTP library takes.
const MAX_HEADERS: usize = 100;
/// The longest line between chunks.
const MAX_LINE: usize = 4 * 1024;

/// Why a head cannot be read, or not in one way only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unreadable {
    /// A line that ends in a bare line feed.
    BareLineFeed,
    /// A `Content-Length` that is not the only header about the body's length.
    TwoLengths,
    /// A `Content-Length` that is no number.
    Length,
    /// A `Transfer-Encoding` other than `chunked`, or one of HTTP/1.0.
    Coding,
    /// A first line with a `#`, behind which the HTTP library reads nothing.
    Fragment,
    /// A method, a target or a header in a form that is none.
    Form,
    /// Another version than HTTP/1.1 or HTTP/1.0.
    Version,
    /// A first line without an end.
    Target,
    /// Too many headers, or too large ones.
    Headers,
}

/// What keeps the heads of a connection from being read, if anything does.
#[derive(Debug, Clone, Default)]
pub(crate) struct Refused(Arc<Found>);

#[derive(Debug, Default)]
struct Found {
    why: OnceLock<Unreadable>,
    is_lost: AtomicBool,
}

impl Refused {
    /// Why the first head that could not be read could not.
    pub(crate) fn why(&self) -> Option<Unreadable> {
        self.0.why.get().copied()
    }

    /// Whether nobody knows any more where the next head begins.
    pub(crate) fn is_lost(&self) -> bool {
        self.0.is_lost.load(Ordering::Relaxed)
    }
}

/// What the next byte belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum At {
    /// The head of a request, or the line ends before it.
    Head,
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

/// Finds and judges the heads in what a client sends.
#[derive(Debug)]
pub(super) struct Heads {
    at: At,
    line: Vec<u8>,
    refused: Refused,
}

impl Heads {
    pub(super) fn new() -> Self {
        Self { at: At::Head, line: Vec::new(), refused: Refused::default() }
    }

    pub(super) fn refused(&self) -> &Refused {
        &self.refused
    }

    /// Whether the client may still be sending a body, or what nobody reads.
    pub(super) fn expect_more(&self) -> bool {
        self.at != At::Head || self.refused.why().is_some()
    }

    /// How many of these bytes may be read on. What is left is the beginning of a head, and is to
    /// be given again with what follows it.
    pub(super) fn pass(&mut self, bytes: &[u8]) -> usize {
        let mut rest = bytes;
        while !rest.is_empty() && self.refused.why().is_none() {
            let left = match self.at {
                At::Lost => return bytes.len(),
                At::Head => self.read_head(rest),
                At::Body(left) => self.skip(rest, left, (At::Body, At::Head)),
                At::Chunk(left) => self.skip(rest, left, (At::Chunk, At::Size)),
                At::Size | At::Trailer => self.read_line(rest),
            };
            if left.len() == rest.len() {
                break;
            }
            rest = left;
        }
        bytes.len() - rest.len()
    }

    /// What stands behind a whole head; everything while it is not whole.
    fn read_head<'b>(&mut self, bytes: &'b [u8]) -> &'b [u8] {
        match judge(bytes) {
            Ok(Some((length, next))) => {
                self.at = next;
                bytes.get(length..).unwrap_or_default()
            }
            Ok(None) => bytes,
            Err(why) => {
                // Only the first is told; the connection ends with it.
                let _ = self.refused.0.why.set(why);
                bytes
            }
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
            self.at = line.strip_suffix(b"\r\n").map_or(At::Lost, |line| self.after(line));
        }
        if self.at == At::Lost {
            self.refused.0.is_lost.store(true, Ordering::Relaxed);
        }
        rest
    }

    /// What follows a whole line between chunks.
    fn after(&self, line: &[u8]) -> At {
        match (self.at, chunk_size(line)) {
            (At::Trailer, _) if line.is_empty() => At::Head,
            (At::Trailer, _) | (At::Size, Some(0)) => At::Trailer,
            (At::Size, Some(size)) => At::Chunk(size.saturating_add(2)),
            (At::Size | At::Head | At::Body(_) | At::Chunk(_) | At::Lost, _) => At::Lost,
        }
    }
}

/// The length of the head that these bytes begin with and what follows it; nothing while the head
/// is not whole.
fn judge(bytes: &[u8]) -> Result<Option<(usize, At)>, Unreadable> {
    let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let mut parsed = httparse::Request::new(&mut headers);
    let whole = match parsed.parse(bytes) {
        Ok(httparse::Status::Complete(length)) => bytes.get(..length),
        Ok(httparse::Status::Partial) => None,
        Err(_) if has_bare_line_feed(bytes) => return Err(Unreadable::BareLineFeed),
        Err(httparse::Error::TooManyHeaders) => return Err(Unreadable::Headers),
        Err(httparse::Error::Version) => return Err(Unreadable::Version),
        Err(_) => return Err(Unreadable::Form),
    };
    let head = whole.unwrap_or(bytes);
    if has_bare_line_feed(head) {
        return Err(Unreadable::BareLineFeed);
    }
    if head.len() > MAX_HEAD {
        let has_line = head.contains(&b'\n');
        return Err(if has_line { Unreadable::Headers } else { Unreadable::Target });
    }
    if whole.is_none() {
        return Ok(None);
    }
    let target = parsed.path.unwrap_or_default();
    if target.contains('#') {
        return Err(Unreadable::Fragment);
    }
    if target.parse::<Uri>().is_err() {
        return Err(Unreadable::Form);
    }
    Ok(Some((head.len(), framing(&parsed)?)))
}

fn has_bare_line_feed(head: &[u8]) -> bool {
    let before = std::iter::once(&b' ').chain(head);
    head.iter().zip(before).any(|(byte, before)| *byte == b'\n' && *before != b'\r')
}

/// What follows a head, as its headers say.
fn framing(head: &httparse::Request<'_, '_>) -> Result<At, Unreadable> {
    let (mut length, mut coded) = (None, false);
    for header in &*head.headers {
        let value = header.value.trim_ascii();
        if header.name.eq_ignore_ascii_case("content-length") {
            if length.is_some() || coded {
                return Err(Unreadable::TwoLengths);
            }
            length = Some(whole_number(value).ok_or(Unreadable::Length)?);
        } else if header.name.eq_ignore_ascii_case("transfer-encoding") {
            if length.is_some() {
                return Err(Unreadable::TwoLengths);
            }
            if coded || head.version == Some(0) || !value.eq_ignore_ascii_case(b"chunked") {
                return Err(Unreadable::Coding);
            }
            coded = true;
        }
    }
    Ok(match length {
        _ if coded => At::Size,
        None | Some(0) => At::Head,
        Some(length) => At::Body(length),
    })
}

/// The number of bytes that a header names, in digits alone.
fn whole_number(text: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(text).ok().filter(|it| it.bytes().all(|it| it.is_ascii_digit()));
    // The largest numbers have meanings of their own in the HTTP library.
    text?.parse().ok().filter(|number| *number < u64::MAX / 2)
}

fn chunk_size(line: &[u8]) -> Option<u64> {
    let size = line.split(|byte| *byte == b';').next()?.trim_ascii();
    u64::from_str_radix(std::str::from_utf8(size).ok()?, 16).ok()
}

#[cfg(test)]
mod tests;
