//! Finds the string literals of Rust source, so that a rule can look at what a program says and not
//! at its comments. Understands no more of the language than that takes.

/// A string literal and the line it begins on.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Literal<'a> {
    /// The number of the line.
    pub(crate) line: usize,
    /// What stands between the quotes, escapes and all.
    pub(crate) text: &'a str,
}

/// The string literals of the source, in order.
pub(crate) fn literals(source: &str) -> Vec<Literal<'_>> {
    let mut scanner = Scanner { source, at: 0, found: Vec::new() };
    while scanner.step() {}
    scanner.found
}

struct Scanner<'a> {
    source: &'a str,
    at: usize,
    found: Vec<Literal<'a>>,
}

impl<'a> Scanner<'a> {
    /// Passes one token; false at the end of the source.
    fn step(&mut self) -> bool {
        let rest = self.rest();
        let Some(first) = rest.chars().next() else { return false };
        if rest.starts_with("//") {
            self.at += rest.find('\n').unwrap_or(rest.len());
        } else if rest.starts_with("/*") {
            self.pass_block_comment();
        } else if first == '"' {
            self.pass_string();
        } else if first == '\'' {
            self.pass_quote();
        } else if is_word(first) {
            self.pass_word();
        } else {
            self.at += first.len_utf8();
        }
        true
    }

    fn rest(&self) -> &'a str {
        self.source.get(self.at..).unwrap_or_default()
    }

    fn pass_block_comment(&mut self) {
        let mut depth = 0_usize;
        while !self.rest().is_empty() {
            if self.rest().starts_with("/*") {
                depth += 1;
                self.at += 2;
            } else if self.rest().starts_with("*/") {
                depth = depth.saturating_sub(1);
                self.at += 2;
                if depth == 0 {
                    return;
                }
            } else {
                self.at += self.rest().chars().next().map_or(0, char::len_utf8);
            }
        }
    }

    fn pass_string(&mut self) {
        let body = self.rest().get(1..).unwrap_or_default();
        let mut escaped = false;
        let end = body.find(|character| {
            let ends = character == '"' && !escaped;
            escaped = character == '\\' && !escaped;
            ends
        });
        self.take(1, end.unwrap_or(body.len()), 1);
    }

    /// Passes a word, and the raw string that it may begin.
    fn pass_word(&mut self) {
        let rest = self.rest();
        let end = rest.find(|character| !is_word(character)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        self.at += end;
        let hashes = after.len() - after.trim_start_matches('#').len();
        let opens = after.get(hashes..).is_some_and(|text| text.starts_with('"'));
        if opens && ["r", "br", "cr"].contains(&word) {
            let close = format!("\"{}", "#".repeat(hashes));
            let body = after.get(hashes + 1..).unwrap_or_default();
            self.take(hashes + 1, body.find(&close).unwrap_or(body.len()), close.len());
        }
    }

    /// Passes a character or the tick of a lifetime.
    fn pass_quote(&mut self) {
        let body = self.rest().get(1..).unwrap_or_default();
        let mut characters = body.char_indices();
        let end = match characters.next() {
            Some((_, '\\')) => {
                characters.next();
                characters.find(|(_, character)| *character == '\'').map(|(index, _)| index)
            }
            Some(_) => characters.next().filter(|(_, next)| *next == '\'').map(|(index, _)| index),
            None => None,
        };
        self.at += end.map_or(1, |index| index + 2);
    }

    /// Notes the literal that begins so many bytes from here, and passes it with its closing.
    fn take(&mut self, opening: usize, length: usize, closing: usize) {
        let start = self.at + opening;
        let line = 1 + self.source.get(..self.at).unwrap_or_default().matches('\n').count();
        let text = self.source.get(start..start + length).unwrap_or_default();
        self.found.push(Literal { line, text });
        self.at = start + length + closing;
    }
}

fn is_word(character: char) -> bool {
    character == '_' || character.is_alphanumeric()
}
