//! Texts that pass patterns: whether there can be one, and one that might.

use std::sync::Arc;

use crate::{expr::Pattern, glob::Glob};

/// A question about a text.
#[derive(Debug, Clone)]
pub(super) enum Test {
    Glob(Glob),
    Regex(Arc<Pattern>),
}

impl Test {
    /// Whether the text passes.
    pub(super) fn is_match(&self, text: &str) -> bool {
        match self {
            Self::Glob(glob) => glob.is_match(text),
            Self::Regex(regex) => regex.is_match(text),
        }
    }
}

/// Whether no text passes all of the first and none of the second, for certain.
pub(super) fn contradict(passes: &[Test], fails: &[Test]) -> bool {
    let apart = |one: &Test, other: &Test| match (one, other) {
        (Test::Glob(one), Test::Glob(other)) => !one.overlaps(other),
        (Test::Glob(_) | Test::Regex(_), _) => false,
    };
    let within = |inner: &Test, outer: &Test| match (inner, outer) {
        (Test::Glob(inner), Test::Glob(outer)) => outer.covers(inner),
        (Test::Regex(inner), Test::Regex(outer)) => inner.as_str() == outer.as_str(),
        (Test::Glob(inner), Test::Regex(outer)) => {
            inner.literal().is_some_and(|text| outer.is_match(text))
        }
        (Test::Regex(_), Test::Glob(outer)) => outer.as_str() == "*",
    };
    passes.iter().enumerate().any(|(place, test)| {
        passes.iter().take(place).any(|other| apart(test, other))
            || fails.iter().any(|outer| within(test, outer))
    }) || fails.iter().any(|test| matches!(test, Test::Glob(glob) if glob.as_str() == "*"))
}

/// Texts that may pass all of the patterns, the likeliest first.
pub(super) fn instances(passes: &[Test]) -> Vec<String> {
    let globs: Vec<&Glob> = passes
        .iter()
        .filter_map(|test| match test {
            Test::Glob(glob) => Some(glob),
            Test::Regex(_) => None,
        })
        .collect();
    let longest = |part: fn(&Glob) -> &str| {
        globs.iter().map(|glob| part(glob)).max_by_key(|text| text.len()).unwrap_or_default()
    };
    let (start, end) = (longest(start), longest(end));
    let middle: String = globs.iter().flat_map(|glob| middles(glob)).collect();
    let mut texts: Vec<String> =
        globs.iter().filter_map(|glob| glob.literal()).map(str::to_owned).collect();
    for filler in ["x", "", "1", "other"] {
        texts.push(format!("{start}{middle}{filler}{end}"));
        texts.push(format!("{start}{filler}{middle}{end}"));
    }
    // The start of one pattern may reach into the end of another.
    texts.extend((0..end.len()).filter_map(|cut| {
        let (head, tail) = end.split_at_checked(cut)?;
        start.ends_with(head).then(|| format!("{start}{tail}"))
    }));
    let plain = passes.iter().filter_map(|test| match test {
        Test::Regex(regex) => Some(regex.example().to_owned()),
        Test::Glob(_) => None,
    });
    texts.extend(plain);
    texts
}

fn start(glob: &Glob) -> &str {
    glob.as_str().split_once('*').map_or("", |(start, _)| start)
}

fn end(glob: &Glob) -> &str {
    glob.as_str().rsplit_once('*').map_or("", |(_, end)| end)
}

fn middles(glob: &Glob) -> impl Iterator<Item = &str> {
    let rest = glob.as_str().split_once('*').map_or("", |(_, rest)| rest);
    let middle = rest.rsplit_once('*').map_or("", |(middle, _)| middle);
    middle.split('*')
}
