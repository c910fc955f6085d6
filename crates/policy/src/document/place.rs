//! Where something stands: the path in the tree, and the place of an expression's part in the text.

use std::fmt;

use crate::tree::Mark;

/// A path in the document's tree, built on the way down and printed only for findings.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Path<'p> {
    Root,
    Key(&'p Path<'p>, &'p str),
    Item(&'p Path<'p>, usize),
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root => Ok(()),
            Self::Key(Self::Root, key) => f.write_str(key),
            Self::Key(parent, key) => write!(f, "{parent}.{key}"),
            Self::Item(parent, place) => write!(f, "{parent}[{place}]"),
        }
    }
}

/// Where the byte `offset` of a scalar's content stands in the document's text.
///
/// Content and source are walked side by side. They differ in quotes, escapes, indentation and
/// folded lines, all of which the source has more of, so a source character that is not the next
/// of the content is passed over.
pub(crate) fn within(text: &str, scalar: Mark, content: &str, offset: usize) -> Mark {
    let source = text.get(scalar.start..scalar.end).unwrap_or_default();
    let header = match source.as_bytes().first() {
        Some(b'|' | b'>') => source.find('\n').map_or(0, |end| end + 1),
        _ => 0,
    };
    let mut at = header;
    for wanted in content.get(..offset).unwrap_or_default().chars() {
        at = after(source, at, wanted);
    }
    let rest = source.get(at..).unwrap_or_default();
    let next = content.get(offset..).and_then(|rest| rest.chars().next());
    at += next.and_then(|next| rest.find(next)).unwrap_or(0);
    moved(text, scalar, at)
}

fn after(source: &str, at: usize, wanted: char) -> usize {
    let rest = source.get(at..).unwrap_or_default();
    if wanted.is_whitespace() {
        let skipped = rest.find(|next: char| !next.is_whitespace()).unwrap_or(rest.len());
        return at + skipped;
    }
    rest.find(wanted).map_or(at, |found| at + found + wanted.len_utf8())
}

fn moved(text: &str, scalar: Mark, by: usize) -> Mark {
    let start = scalar.start + by;
    let passed = text.get(scalar.start..start).unwrap_or_default();
    let lines = passed.matches('\n').count();
    let column = match passed.rsplit_once('\n') {
        Some((_, last)) => last.chars().count() + 1,
        None => passed.chars().count() + usize::try_from(scalar.column).unwrap_or(1),
    };
    Mark {
        line: scalar.line.saturating_add(u32::try_from(lines).unwrap_or(u32::MAX)),
        column: u32::try_from(column).unwrap_or(u32::MAX),
        start,
        end: scalar.end,
    }
}
