//! Reads the settings file into a flat list of leaves that know their place.
//!
//! It knows the shape of the file (one mapping of plain texts and lists) and no setting. Errors
//! name line and column and never quote the source, which may hold secrets.

use std::fmt;

use serde_saphyr::granit_parser::{
    Event, Marker, Parser, ScalarStyle, Span, StrInput, Tag, options,
};

/// The largest file that is read.
pub(super) const MAX_BYTES: usize = 64 * 1024;
const MAX_DEPTH: usize = 8;

/// A place in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    /// The line, from one.
    pub line: usize,
    /// The column, from one.
    pub column: usize,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}", self.line, self.column)
    }
}

/// What stands at the end of a path.
#[derive(Clone, PartialEq, Eq)]
pub(super) enum Content {
    /// A text, a number or a boolean, as written.
    Text(String),
    /// A list of them.
    List(Vec<String>),
}

/// One value of the file.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Leaf {
    /// The keys that lead to it.
    pub path: Vec<String>,
    /// Where the value stands.
    pub place: Position,
    /// The value.
    pub content: Content,
}

impl fmt::Debug for Leaf {
    /// Shows where the value stands and not what it is.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Leaf({} at {})", self.path.join("."), self.place)
    }
}

/// Why a file is not a settings file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {sentence}")]
pub(super) struct Unreadable {
    /// Where.
    pub place: Position,
    /// What was found and what is accepted.
    pub sentence: String,
}

/// Every leaf of the file in order; a key with nothing behind it has none.
pub(super) fn read(text: &str) -> Result<Vec<Leaf>, Unreadable> {
    if text.len() > MAX_BYTES {
        let sentence = format!("the file has {} bytes; the maximum is {MAX_BYTES}", text.len());
        return Err(Unreadable { place: START, sentence });
    }
    let mut options = options! {
        disallow_directives: true,
        emit_unresolved_aliases: true,
        flow_nesting_limit: MAX_DEPTH * 2,
        block_nesting_limit: MAX_DEPTH * 2,
    };
    options.set_emit_comments(false);
    let parser = Parser::new_from_str_with_options(text, options);
    let mut reader = Reader { parser, path: Vec::new(), leaves: Vec::new() };
    reader.file()?;
    Ok(reader.leaves)
}

const START: Position = Position { line: 1, column: 1 };

struct Reader<'t> {
    parser: Parser<'t, StrInput<'t>>,
    path: Vec<String>,
    leaves: Vec<Leaf>,
}

impl<'t> Reader<'t> {
    fn file(&mut self) -> Result<(), Unreadable> {
        let mut documents = 0;
        loop {
            let (event, span) = self.next()?;
            match event {
                Event::StreamEnd => return Ok(()),
                Event::StreamStart | Event::DocumentEnd => {}
                Event::DocumentStart(..) if documents == 0 => documents += 1,
                Event::DocumentStart(..) => {
                    return Err(unreadable(span, "expected one document, but found a second one"));
                }
                Event::MappingStart(_, anchor, tag) => {
                    refuse_extras(span, anchor, tag.as_deref())?;
                    self.mapping()?;
                }
                Event::Scalar(text, ScalarStyle::Plain, 0, None) if is_nothing(&text) => {}
                _ => return Err(unreadable(span, "expected one mapping of settings")),
            }
        }
    }

    fn next(&mut self) -> Result<(Event<'t>, Span), Unreadable> {
        match self.parser.next_event() {
            Some(Ok(event)) => Ok(event),
            Some(Err(error)) => Err(Unreadable {
                place: place(error.marker()),
                sentence: "the text is not valid YAML here".to_owned(),
            }),
            None => Ok((Event::StreamEnd, Span::default())),
        }
    }

    /// Reads the rest of a mapping whose start was read.
    fn mapping(&mut self) -> Result<(), Unreadable> {
        let mut keys: Vec<String> = Vec::new();
        loop {
            let (event, span) = self.next()?;
            if event == Event::MappingEnd {
                return Ok(());
            }
            let key = key(event, span)?;
            if keys.contains(&key) {
                return Err(unreadable(span, "duplicate key"));
            }
            keys.push(key.clone());
            self.path.push(key);
            self.value(span)?;
            self.path.pop();
        }
    }

    fn value(&mut self, key: Span) -> Result<(), Unreadable> {
        if self.path.len() > MAX_DEPTH {
            return Err(unreadable(key, format!("expected at most {MAX_DEPTH} levels")));
        }
        let (event, span) = self.next()?;
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                refuse_extras(span, anchor, tag.as_deref())?;
                if style != ScalarStyle::Plain || !is_nothing(&text) {
                    self.leaf(span, Content::Text(text.into_owned()));
                }
            }
            Event::MappingStart(_, anchor, tag) => {
                refuse_extras(span, anchor, tag.as_deref())?;
                self.mapping()?;
            }
            Event::SequenceStart(_, anchor, tag) => {
                refuse_extras(span, anchor, tag.as_deref())?;
                let items = self.items()?;
                self.leaf(span, Content::List(items));
            }
            Event::Alias(_) | Event::UnresolvedAlias(_) => {
                return Err(unreadable(span, "aliases are not accepted; write the value out"));
            }
            _ => return Err(unreadable(span, "expected a value")),
        }
        Ok(())
    }

    /// Reads the rest of a list whose start was read.
    fn items(&mut self) -> Result<Vec<String>, Unreadable> {
        let mut items = Vec::new();
        loop {
            match self.next()? {
                (Event::SequenceEnd, _) => return Ok(items),
                (Event::Scalar(text, _, anchor, tag), span) => {
                    refuse_extras(span, anchor, tag.as_deref())?;
                    items.push(text.into_owned());
                }
                (_, span) => return Err(unreadable(span, "expected a string in this list")),
            }
        }
    }

    fn leaf(&mut self, span: Span, content: Content) {
        let place = place(&span.start);
        self.leaves.push(Leaf { path: self.path.clone(), place, content });
    }
}

fn key(event: Event<'_>, span: Span) -> Result<String, Unreadable> {
    let Event::Scalar(text, style, anchor, tag) = event else {
        return Err(unreadable(span, "expected the name of a setting"));
    };
    refuse_extras(span, anchor, tag.as_deref())?;
    if style == ScalarStyle::Plain && text == "<<" {
        return Err(unreadable(span, "merge keys are not accepted; write the settings out"));
    }
    Ok(text.into_owned())
}

fn refuse_extras(span: Span, anchor: usize, tag: Option<&Tag>) -> Result<(), Unreadable> {
    if anchor != 0 {
        return Err(unreadable(span, "anchors are not accepted; write the value out"));
    }
    match tag {
        Some(_) => Err(unreadable(span, "tags are not accepted; write the plain value")),
        None => Ok(()),
    }
}

fn is_nothing(text: &str) -> bool {
    matches!(text, "" | "~" | "null" | "Null" | "NULL")
}

fn place(marker: &Marker) -> Position {
    Position { line: marker.line().max(1), column: marker.col() + 1 }
}

fn unreadable(span: Span, sentence: impl Into<String>) -> Unreadable {
    Unreadable { place: place(&span.start), sentence: sentence.into() }
}
