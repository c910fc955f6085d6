//! Text to tokens. Knows the spelling of literals and operators, nothing of their meaning.

use super::ast::{Problem, Span};

/// One token.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Token {
    Int(i64),
    /// 2^63, which only fits after a minus sign.
    IntBound,
    Double(f64),
    Text(String),
    Name(String),
    /// An operator or bracket.
    Sign(&'static str),
    End,
}

/// The operators and brackets, longer ones first; the last four are read to be refused by name.
const SIGNS: [&str; 28] = [
    "&&", "||", "==", "!=", "<=", ">=", ".?", "[?", "<", ">", "+", "-", "*", "!", "?", ":", ".",
    ",", "(", ")", "[", "]", "{", "}", "/", "%", "=", "&",
];

pub(crate) struct Lexer<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Lexer<'t> {
    pub(crate) fn new(text: &'t str) -> Self {
        Self { text, at: 0 }
    }

    /// The next token and its place; [`Token::End`] for ever after the last.
    pub(crate) fn next(&mut self) -> Result<(Token, Span), Problem> {
        self.skip_blanks();
        let start = self.at;
        let Some(first) = self.rest().chars().next() else {
            return Ok((Token::End, Span::new(start, start)));
        };
        let token = if first.is_ascii_digit() || self.starts_fraction() {
            self.number()?
        } else if let Some(prefix) = self.string_prefix() {
            self.string(prefix)?
        } else if first.is_ascii_alphabetic() || first == '_' {
            Token::Name(self.take_while(|c| c.is_ascii_alphanumeric() || c == '_').to_owned())
        } else if let Some(sign) = SIGNS.iter().find(|sign| self.rest().starts_with(**sign)) {
            self.at += sign.len();
            Token::Sign(sign)
        } else {
            let message = format!("expected an expression, found the character `{first}`");
            return Err(Problem::new(Span::new(start, start + first.len_utf8()), message));
        };
        Ok((token, Span::new(start, self.at)))
    }

    fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn take_while(&mut self, keep: impl Fn(char) -> bool) -> &'t str {
        let rest = self.rest();
        let len = rest.find(|c| !keep(c)).unwrap_or(rest.len());
        self.at += len;
        rest.get(..len).unwrap_or_default()
    }

    fn eat(&mut self, text: &str) -> bool {
        let found = self.rest().starts_with(text);
        self.at += if found { text.len() } else { 0 };
        found
    }

    fn skip_blanks(&mut self) {
        loop {
            self.take_while(|c| matches!(c, ' ' | '\t' | '\r' | '\n' | '\u{c}'));
            if !self.rest().starts_with("//") {
                return;
            }
            self.take_while(|c| c != '\n');
        }
    }

    fn starts_fraction(&self) -> bool {
        let mut bytes = self.rest().bytes();
        bytes.next() == Some(b'.') && bytes.next().is_some_and(|byte| byte.is_ascii_digit())
    }

    fn number(&mut self) -> Result<Token, Problem> {
        let start = self.at;
        if self.eat("0x") || self.eat("0X") {
            let digits = self.take_while(|c| c.is_ascii_hexdigit());
            let value = u64::from_str_radix(digits, 16).ok();
            return self.whole(start, value);
        }
        let digits = self.take_while(|c| c.is_ascii_digit());
        let is_whole = !self.starts_fraction() && !self.starts_exponent();
        if is_whole {
            return self.whole(start, digits.parse().ok());
        }
        if self.starts_fraction() {
            self.at += 1;
            self.take_while(|c| c.is_ascii_digit());
        }
        if self.starts_exponent() {
            self.at += 1;
            let _ = self.eat("+") || self.eat("-");
            self.take_while(|c| c.is_ascii_digit());
        }
        let text = self.text.get(start..self.at).unwrap_or_default();
        match text.parse::<f64>() {
            Ok(value) if value.is_finite() && !self.continues_a_word() => Ok(Token::Double(value)),
            _ => Err(self.bad_number(start)),
        }
    }

    fn starts_exponent(&self) -> bool {
        let Some(rest) = self.rest().strip_prefix(['e', 'E']) else { return false };
        rest.strip_prefix(['+', '-']).unwrap_or(rest).starts_with(|c: char| c.is_ascii_digit())
    }

    fn whole(&mut self, start: usize, value: Option<u64>) -> Result<Token, Problem> {
        if self.rest().starts_with(['u', 'U']) {
            let span = Span::new(start, self.at + 1);
            return Err(Problem::new(
                span,
                "expected an `int`; the language has no unsigned numbers",
            ));
        }
        let token = match value {
            Some(value) if value == i64::MIN.unsigned_abs() => Some(Token::IntBound),
            Some(value) => i64::try_from(value).ok().map(Token::Int),
            None => None,
        };
        token.filter(|_| !self.continues_a_word()).ok_or_else(|| self.bad_number(start))
    }

    fn continues_a_word(&self) -> bool {
        self.rest().starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_')
    }

    fn bad_number(&self, start: usize) -> Problem {
        let message = "expected a 64-bit integer or a finite fraction";
        Problem::new(Span::new(start, self.at), message)
    }

    fn string_prefix(&self) -> Option<Prefix> {
        let (raw, rest) = match self.rest().strip_prefix(['r', 'R']) {
            Some(rest) => (Escapes::Kept, rest),
            None => (Escapes::Read, self.rest()),
        };
        let quote =
            ["'''", "\"\"\"", "'", "\""].into_iter().find(|quote| rest.starts_with(quote))?;
        Some(Prefix { quote, escapes: raw, len: self.rest().len() - rest.len() + quote.len() })
    }

    fn string(&mut self, prefix: Prefix) -> Result<Token, Problem> {
        let start = self.at;
        self.at += prefix.len;
        let mut text = String::new();
        loop {
            if self.eat(prefix.quote) {
                return Ok(Token::Text(text));
            }
            let piece = self.at;
            match self.rest().chars().next() {
                Some('\\') if prefix.escapes == Escapes::Read => {
                    self.at += 1;
                    let character = self.escape();
                    text.push(character.ok_or_else(|| {
                        Problem::new(
                            Span::new(piece, self.at),
                            "expected a known escape after `\\`",
                        )
                    })?);
                }
                Some(character) if character != '\n' || prefix.quote.len() == 3 => {
                    self.at += character.len_utf8();
                    text.push(character);
                }
                Some(_) | None => {
                    let message = format!("expected {} at the end of the text", prefix.quote);
                    return Err(Problem::new(Span::new(start, self.at), message));
                }
            }
        }
    }

    fn escape(&mut self) -> Option<char> {
        let kind = self.rest().chars().next()?;
        self.at += kind.len_utf8();
        match kind {
            'a' => Some('\u{7}'),
            'b' => Some('\u{8}'),
            'f' => Some('\u{c}'),
            'n' => Some('\n'),
            'r' => Some('\r'),
            't' => Some('\t'),
            'v' => Some('\u{b}'),
            '\\' | '\'' | '"' | '`' | '?' => Some(kind),
            'x' | 'X' => self.code_point(2, 16),
            'u' => self.code_point(4, 16),
            'U' => self.code_point(8, 16),
            '0'..='3' => {
                self.at -= 1;
                self.code_point(3, 8)
            }
            _ => None,
        }
    }

    fn code_point(&mut self, digits: usize, radix: u32) -> Option<char> {
        let text = self.rest().get(..digits)?;
        if !text.chars().all(|digit| digit.is_digit(radix)) {
            return None;
        }
        self.at += digits;
        char::from_u32(u32::from_str_radix(text, radix).ok()?)
    }
}

struct Prefix {
    quote: &'static str,
    escapes: Escapes,
    len: usize,
}

#[derive(PartialEq)]
enum Escapes {
    Read,
    Kept,
}
