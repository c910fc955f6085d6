//! The regular expressions of a document: each compiled once, all of them within one bound.

#[cfg(feature = "prover")]
use std::sync::OnceLock;
use std::{
    collections::{BTreeMap, btree_map::Entry},
    fmt,
    sync::Arc,
};

#[cfg(feature = "prover")]
use regex_syntax::hir::{Class, Hir, HirKind};

use regex_automata::{
    meta::{BuildError, Builder, Config, Regex},
    nfa::thompson::WhichCaptures,
    util::syntax,
};

/// The longest pattern, in bytes.
const MAX_BYTES: usize = 256;
/// The most that one pattern may be compiled to.
const MAX_SIZE: usize = 1 << 18;
/// The deepest nesting of one pattern.
const MAX_DEPTH: u32 = 16;
/// The most that all patterns of a document may take.
const MAX_TOTAL: usize = 48 << 20;
/// What a pattern takes beside what it is compiled to, however short it is.
const OVERHEAD: usize = 4 << 10;
/// A pattern that is smaller than this gets as much room for matching as if it were not.
const MIN_SIZE: usize = 8 << 10;

/// A regular expression.
pub(crate) struct Pattern {
    text: Box<str>,
    regex: Regex,
    #[cfg(feature = "prover")]
    made_of: OnceLock<MadeOf>,
}

/// What only proofs ask of a pattern.
#[cfg(feature = "prover")]
struct MadeOf {
    /// Whether anything may stand before what it describes, and behind it, although it does not say
    /// so by `.*`.
    opens: (bool, bool),
    example: String,
}

/// The patterns that a document has so far.
pub(crate) struct Patterns {
    known: BTreeMap<Box<str>, Arc<Pattern>>,
    /// What further ones may take, in bytes.
    room: usize,
}

/// Why a pattern is not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum PatternError {
    #[error("expected a pattern of at most {MAX_BYTES} bytes")]
    TooLong,
    #[error(
        "expected a regular expression without look-around and back-references, within the size limit"
    )]
    Unreadable,
    #[error(
        "expected different patterns that take at most {} MiB in total, which is enough for about \
         2,000 short ones; this one exceeds the limit, and `startsWith`, `endsWith`, `contains` \
         and `glob` do not count towards it",
        MAX_TOTAL >> 20
    )]
    TooMany,
}

impl Pattern {
    fn of(text: &str, regex: Regex) -> Self {
        Self {
            text: text.into(),
            regex,
            #[cfg(feature = "prover")]
            made_of: OnceLock::new(),
        }
    }

    /// Whether the expression is found in the text.
    pub(crate) fn is_match(&self, text: &str) -> bool {
        self.regex.is_match(text)
    }

    /// Whether longer texts pass than those that it describes: with something before, with something
    /// behind. One that says so by `.*` describes them.
    #[cfg(feature = "prover")]
    pub(crate) fn opens(&self) -> (bool, bool) {
        self.made_of().opens
    }

    /// The shortest text that it describes, or one that is nearly so; whoever uses it asks whether it
    /// matches.
    #[cfg(feature = "prover")]
    pub(crate) fn example(&self) -> &str {
        &self.made_of().example
    }

    #[cfg(feature = "prover")]
    fn made_of(&self) -> &MadeOf {
        self.made_of.get_or_init(|| MadeOf::of(&self.text))
    }

    /// The expression as it is written.
    #[cfg(feature = "prover")]
    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }
}

impl fmt::Debug for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Default for Patterns {
    fn default() -> Self {
        Self { known: BTreeMap::new(), room: MAX_TOTAL }
    }
}

impl Patterns {
    /// The pattern of this text, compiled where it is the first of it.
    pub(super) fn read(&mut self, text: &str) -> Result<Arc<Pattern>, PatternError> {
        if text.len() > MAX_BYTES {
            return Err(PatternError::TooLong);
        }
        let free = match self.known.entry(text.into()) {
            Entry::Occupied(known) => return Ok(Arc::clone(known.get())),
            Entry::Vacant(free) => free,
        };
        // Where nothing is left, nothing is compiled any more: that takes time as well.
        if self.room < OVERHEAD {
            return Err(PatternError::TooMany);
        }
        let compiled = compile(text);
        let rest = self.room.checked_sub(cost(&compiled));
        self.room = rest.unwrap_or(0);
        let regex = compiled.map_err(|_| PatternError::Unreadable)?;
        rest.ok_or(PatternError::TooMany)?;
        Ok(Arc::clone(free.insert(Arc::new(Pattern::of(text, regex)))))
    }
}

#[cfg(feature = "prover")]
impl MadeOf {
    fn of(text: &str) -> Self {
        let config = syntax::Config::new().nest_limit(MAX_DEPTH);
        let Ok(parsed) = syntax::parse_with(text, &config) else {
            return Self { opens: (false, false), example: String::new() };
        };
        let looks = parsed.properties();
        let before = !looks.look_set_prefix().contains_anchor_haystack();
        let after = !looks.look_set_suffix().contains_anchor_haystack();
        let says = |part: Option<&str>| part.is_some_and(|part| part == ".*" || part == ".+");
        let last = text.len().checked_sub(2).and_then(|at| text.get(at..));
        let opens = (before && !says(text.get(..2)), after && !says(last));
        Self { opens, example: example(&parsed) }
    }
}

/// A text of the parsed expression. Repeated parts stand there as often as they must, once at least, up
/// to what a pattern may have bytes.
#[cfg(feature = "prover")]
fn example(parsed: &Hir) -> String {
    match parsed.kind() {
        HirKind::Empty | HirKind::Look(_) => String::new(),
        HirKind::Literal(literal) => String::from_utf8_lossy(&literal.0).into_owned(),
        HirKind::Class(class) => letter(class).map(String::from).unwrap_or_default(),
        HirKind::Repetition(repetition) => {
            let times = usize::try_from(repetition.min.max(1)).unwrap_or(1);
            example(&repetition.sub).repeat(times.min(MAX_BYTES))
        }
        HirKind::Capture(capture) => example(&capture.sub),
        HirKind::Concat(parts) => parts.iter().map(example).collect(),
        HirKind::Alternation(parts) => parts.first().map(example).unwrap_or_default(),
    }
}

/// A letter of the class, one that people know where there is one.
#[cfg(feature = "prover")]
fn letter(class: &Class) -> Option<char> {
    let ranges: Vec<(char, char)> = match class {
        Class::Unicode(class) => class.iter().map(|it| (it.start(), it.end())).collect(),
        Class::Bytes(class) => {
            class.iter().map(|it| (char::from(it.start()), char::from(it.end()))).collect()
        }
    };
    let known = ['a', '1', 'A', '-', ' '].into_iter();
    let mut known =
        known.filter(|letter| ranges.iter().any(|(from, to)| (from..=to).contains(&letter)));
    known.next().or(ranges.first().map(|(from, _)| *from))
}

/// Compiles the pattern, and gives it room for matching that is in proportion to its size: a fixed
/// one would be far too much for most patterns, or too little to match the others quickly.
fn compile(text: &str) -> Result<Regex, Box<BuildError>> {
    let build = |room: usize| {
        let config = Config::new()
            // Only whether there is a match is ever asked.
            .which_captures(WhichCaptures::None)
            .nfa_size_limit(Some(MAX_SIZE))
            .onepass(false)
            .backtrack(false)
            // Whether this engine is there hangs on what else is built, and how much a pattern takes must not.
            .dfa(false)
            .hybrid_cache_capacity(room);
        let syntax = syntax::Config::new().nest_limit(MAX_DEPTH);
        Builder::new().configure(config).syntax(syntax).build(text).map_err(Box::new)
    };
    let size = build(0)?.memory_usage();
    build(room(size))
}

/// How much a pattern of this size may take while it is matched, beside what stands for its
/// places in a text, which is less than its size.
const fn room(size: usize) -> usize {
    let size = if size < MIN_SIZE { MIN_SIZE } else { size };
    size * 2
}

/// What the pattern is counted with. One that is too large is counted too: time went into it.
fn cost(compiled: &Result<Regex, Box<BuildError>>) -> usize {
    let size = match compiled {
        Ok(regex) => regex.memory_usage(),
        Err(error) => error.size_limit().unwrap_or(0),
    };
    OVERHEAD + size * 2 + room(size)
}
