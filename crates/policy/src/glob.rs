//! Patterns over names with `*` for any run of characters, matched in linear time.
//!
//! There is nothing else: no `?`, no classes, no escapes, no negation.

use std::fmt;

const MAX_BYTES: usize = 200;
const MAX_STARS: usize = 3;

/// A pattern such as `crm.*` or `*.read_*`.
///
/// `*` covers any run of characters, dots and the empty run included; upper and lower case differ.
///
/// ```
/// use policy::Glob;
///
/// let reads = Glob::parse("*.read_*")?;
/// assert!(reads.is_match("crm.read_customer") && !reads.is_match("crm.write"));
/// assert!(Glob::parse("*")?.covers(&reads) && reads.overlaps(&Glob::parse("crm.*")?));
/// # Ok::<(), policy::GlobError>(())
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Glob {
    // Invariant: 1 to 200 bytes with at most three stars.
    text: Box<str>,
}

/// A text that is not a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected a pattern of 1 to {MAX_BYTES} bytes with at most {MAX_STARS} `*`")]
pub struct GlobError;

impl Glob {
    /// Reads a pattern.
    pub fn parse(text: &str) -> Result<Self, GlobError> {
        let stars = text.bytes().filter(|byte| *byte == b'*').count();
        let fits = (1..=MAX_BYTES).contains(&text.len()) && stars <= MAX_STARS;
        if fits { Ok(Self { text: text.into() }) } else { Err(GlobError) }
    }

    /// The pattern's text.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether the pattern covers the name.
    pub fn is_match(&self, name: &str) -> bool {
        let Some((prefix, rest)) = self.text.split_once('*') else { return *self.text == *name };
        let Some(mut name) = name.strip_prefix(prefix) else { return false };
        let (middle, suffix) = rest.rsplit_once('*').unwrap_or(("", rest));
        // The leftmost place of each part leaves the most for the next one, so no place is
        // ever taken back.
        for part in middle.split('*') {
            let Some((_, after)) = name.split_once(part) else { return false };
            name = after;
        }
        name.ends_with(suffix)
    }

    /// Whether every name that `other` covers is covered by this pattern too.
    pub fn covers(&self, other: &Self) -> bool {
        let (start, end) = self.ends();
        other.text.starts_with(start)
            && other.text.ends_with(end)
            && covers(self.text.as_bytes(), other.text.as_bytes())
    }

    /// Whether some name is covered by both patterns.
    pub fn overlaps(&self, other: &Self) -> bool {
        let ((start, end), (other_start, other_end)) = (self.ends(), other.ends());
        (start.starts_with(other_start) || other_start.starts_with(start))
            && (end.ends_with(other_end) || other_end.ends_with(end))
            && overlaps(self.text.as_bytes(), other.text.as_bytes())
    }

    /// What stands before the first star and after the last; most pairs of patterns differ
    /// there already.
    fn ends(&self) -> (&str, &str) {
        let start = self.text.split_once('*').map_or(&*self.text, |(start, _)| start);
        let end = self.text.rsplit_once('*').map_or(&*self.text, |(_, end)| end);
        (start, end)
    }

    /// The name when the pattern covers exactly one.
    pub fn literal(&self) -> Option<&str> {
        (!self.text.contains('*')).then_some(&*self.text)
    }

    /// The pattern for SQL's `like` with `\` as the escape character.
    pub fn to_like(&self) -> String {
        let mut like = String::with_capacity(self.text.len() + 4);
        for character in self.text.chars() {
            match character {
                '*' => like.push('%'),
                '%' | '_' | '\\' => like.extend(['\\', character]),
                _ => like.push(character),
            }
        }
        like
    }
}

/// What is left of two patterns from one place in each, and what holds further on.
struct Cell {
    left: Option<u8>,
    right: Option<u8>,
    /// The answer with one byte less on the left, on the right, on both sides.
    next_left: bool,
    next_right: bool,
    next_both: bool,
}

/// A star of the outer pattern swallows anything of the inner one, stars included; a star of the
/// inner one stands for arbitrary text and so is only covered by a star of the outer.
fn covers(outer: &[u8], inner: &[u8]) -> bool {
    walk(outer, inner, |cell| match (cell.left, cell.right) {
        (None, None) => true,
        (Some(b'*'), _) => cell.next_left || cell.next_right,
        (left, right) => left == right && cell.next_both,
    })
}

fn overlaps(left: &[u8], right: &[u8]) -> bool {
    walk(left, right, |cell| match (cell.left, cell.right) {
        (None, None) => true,
        (Some(b'*'), _) | (_, Some(b'*')) => cell.next_left || cell.next_right,
        (left, right) => left == right && cell.next_both,
    })
}

/// Answers for two patterns from their ends to their starts, in the product of their lengths.
fn walk(left: &[u8], right: &[u8], answer: impl Fn(Cell) -> bool) -> bool {
    let mut below: Vec<bool> = Vec::new();
    for row in (0..=left.len()).rev() {
        let mut line = vec![false; right.len() + 1];
        let (mut next_right, mut next_both) = (false, false);
        for column in (0..=right.len()).rev() {
            let next_left = below.get(column).copied().unwrap_or_default();
            let (left, right) = (left.get(row).copied(), right.get(column).copied());
            let holds = answer(Cell { left, right, next_left, next_right, next_both });
            line.get_mut(column).into_iter().for_each(|place| *place = holds);
            (next_right, next_both) = (holds, next_left);
        }
        below = line;
    }
    below.first().copied().unwrap_or_default()
}

impl fmt::Display for Glob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for Glob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
