//! Reading a tool's SQL: one statement, its `$name` parameters rewritten to `$1`, `$2`, ….
//!
//! This is a scanner and no parser: it knows where literals, quoted identifiers, dollar quotes and
//! comments end, so that what stands inside them is never taken for a parameter or for the end of
//! the statement. The server itself has the last word when it prepares the statement.

use std::fmt::Write as _;

/// The statements that a tool may be, by their first word.
const VERBS: &[(&str, Verb)] = &[
    ("select", Verb::Query),
    ("values", Verb::Query),
    ("table", Verb::Query),
    ("with", Verb::Query),
    ("insert", Verb::Change),
    ("update", Verb::Change),
    ("delete", Verb::Change),
    ("merge", Verb::Change),
];

/// What a statement's first word says that it does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verb {
    /// It asks; it may still change rows inside.
    Query,
    /// It changes rows.
    Change,
}

/// One statement as the server takes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Statement {
    /// The text with numbered parameters.
    pub(super) text: String,
    /// The parameters' names; the first is `$1`.
    pub(super) names: Vec<String>,
    /// What the first word says.
    pub(super) verb: Verb,
}

/// A text that is not one statement.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum BadStatement {
    #[error("expected one statement, found more after the first `;`")]
    Several,
    #[error(
        "expected a statement that begins with one of `select`, `values`, `table`, `with`, `insert`, `update`, `delete`, `merge`"
    )]
    Verb,
    #[error("expected named parameters such as `$id`, found `${0}`")]
    Positional(char),
    #[error("{0} never ends")]
    Unterminated(&'static str),
    #[error("the statement holds the NUL character")]
    Nul,
}

/// Reads the text as one statement.
pub(super) fn parse(sql: &str) -> Result<Statement, BadStatement> {
    if sql.contains('\0') {
        return Err(BadStatement::Nul);
    }
    let mut scan = Scan { rest: sql, text: String::with_capacity(sql.len()), ..Scan::default() };
    while let Some(next) = scan.rest.chars().next() {
        scan.step(next)?;
    }
    let verb = scan.first_word.as_deref().and_then(verb).ok_or(BadStatement::Verb)?;
    Ok(Statement { text: scan.text.trim().to_owned(), names: scan.names, verb })
}

fn verb(word: &str) -> Option<Verb> {
    VERBS.iter().find(|(known, _)| word.eq_ignore_ascii_case(known)).map(|(_, verb)| *verb)
}

#[derive(Default)]
struct Scan<'a> {
    rest: &'a str,
    text: String,
    names: Vec<String>,
    first_word: Option<String>,
}

impl<'a> Scan<'a> {
    /// Reads the token that starts with `next`.
    fn step(&mut self, next: char) -> Result<(), BadStatement> {
        match next {
            '\'' => self.quoted('\'', Backslash::Plain, "a text literal"),
            '"' => self.quoted('"', Backslash::Plain, "a quoted identifier"),
            '$' => self.dollar(),
            ';' => self.end(),
            '-' if self.rest.starts_with("--") => {
                let length = self.rest.find('\n').unwrap_or(self.rest.len());
                self.keep(length);
                Ok(())
            }
            '/' if self.rest.starts_with("/*") => {
                let length = comment_length(self.rest)?;
                self.keep(length);
                Ok(())
            }
            _ if is_word(next) => self.word(),
            _ => {
                self.keep(next.len_utf8());
                Ok(())
            }
        }
    }

    /// Moves this many bytes to the text.
    fn keep(&mut self, length: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at_checked(length).unwrap_or((self.rest, ""));
        self.text.push_str(taken);
        self.rest = rest;
        taken
    }

    fn word(&mut self) -> Result<(), BadStatement> {
        let length = word_length(self.rest);
        let word = self.keep(length);
        if self.first_word.is_none() {
            self.first_word = Some(word.to_owned());
        }
        // `E'…'` is the one literal in which a backslash escapes a quote.
        if word.eq_ignore_ascii_case("e") && self.rest.starts_with('\'') {
            return self.quoted('\'', Backslash::Escapes, "a text literal");
        }
        Ok(())
    }

    /// A doubled quote needs no rule of its own: it ends one literal and begins the next.
    fn quoted(
        &mut self,
        quote: char,
        backslash: Backslash,
        what: &'static str,
    ) -> Result<(), BadStatement> {
        let mut inner = self.rest.char_indices().skip(1);
        while let Some((at, next)) = inner.next() {
            if next == quote {
                self.keep(at + 1);
                return Ok(());
            }
            if next == '\\' && backslash == Backslash::Escapes {
                inner.next();
            }
        }
        Err(BadStatement::Unterminated(what))
    }

    /// A `$` begins a dollar quote, a parameter, or something that only the server understands.
    fn dollar(&mut self) -> Result<(), BadStatement> {
        let after = self.rest.strip_prefix('$').unwrap_or_default();
        if let Some(digit) = after.chars().next().filter(char::is_ascii_digit) {
            return Err(BadStatement::Positional(digit));
        }
        let name_length = after.find(|next| !is_word(next)).unwrap_or(after.len());
        let (name, rest) = after.split_at_checked(name_length).unwrap_or((after, ""));
        if let Some(body) = rest.strip_prefix('$') {
            let tag_length = name.len() + 2;
            let tag = self.rest.get(..tag_length).unwrap_or_default();
            let end = body.find(tag).ok_or(BadStatement::Unterminated("a dollar-quoted text"))?;
            self.keep(tag_length + end + tag_length);
            return Ok(());
        }
        if name.is_empty() {
            self.keep(1);
            return Ok(());
        }
        self.parameter(name);
        self.rest = rest;
        Ok(())
    }

    fn parameter(&mut self, name: &str) {
        let known = self.names.iter().position(|known| known == name);
        let at = known.unwrap_or_else(|| {
            self.names.push(name.to_owned());
            self.names.len() - 1
        });
        // Writing to a string cannot fail.
        let _ = write!(self.text, "${}", at + 1);
    }

    /// After the `;` only space and comments may follow; neither goes to the server.
    fn end(&mut self) -> Result<(), BadStatement> {
        let mut rest = self.rest.strip_prefix(';').unwrap_or_default().trim_start();
        while !rest.is_empty() {
            let length = if rest.starts_with("--") {
                rest.find('\n').unwrap_or(rest.len())
            } else if rest.starts_with("/*") {
                comment_length(rest)?
            } else {
                return Err(BadStatement::Several);
            };
            rest = rest.get(length..).unwrap_or_default().trim_start();
        }
        self.rest = "";
        Ok(())
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Backslash {
    Plain,
    Escapes,
}

/// The server's comments nest.
fn comment_length(text: &str) -> Result<usize, BadStatement> {
    let mut depth = 0_usize;
    let mut bytes = text.bytes().enumerate().peekable();
    while let Some((at, byte)) = bytes.next() {
        let next = bytes.peek().map(|(_, next)| *next);
        match (byte, next) {
            (b'/', Some(b'*')) => depth += 1,
            (b'*', Some(b'/')) => depth -= 1,
            _ => continue,
        }
        bytes.next();
        if depth == 0 {
            return Ok(at + 2);
        }
    }
    Err(BadStatement::Unterminated("a comment"))
}

fn word_length(text: &str) -> usize {
    text.find(|next| !is_word(next) && next != '$').unwrap_or(text.len())
}

fn is_word(next: char) -> bool {
    next.is_ascii_alphanumeric() || next == '_' || !next.is_ascii()
}
