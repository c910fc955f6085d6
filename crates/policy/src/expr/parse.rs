//! Tokens to a tree, by operator precedence. Names are resolved here, kinds of values are not.

mod member;

use std::{collections::BTreeMap, sync::Arc};

use serde_json::Value as Json;

use super::{
    ast::{Expr, Kind, Problem, Span},
    lex::{Lexer, Token},
    ops::Binary,
    pattern::Patterns,
};

/// The longest text of one expression, in bytes.
pub(crate) const MAX_BYTES: usize = 4096;
/// The deepest nesting of one expression; the evaluator recurses no further.
pub(crate) const MAX_DEPTH: usize = 32;
/// The most nodes of one expression.
pub(crate) const MAX_NODES: usize = 500;
/// The most loops inside each other.
const MAX_LOOPS: usize = 2;

/// The constants that the policy defines.
pub(crate) type Constants = BTreeMap<String, Arc<Json>>;

/// An expression and how large it is.
#[derive(Debug, Clone)]
pub(crate) struct Parsed {
    pub(crate) expr: Expr,
    pub(crate) nodes: usize,
}

/// Reads one expression; its regular expressions are among those of the document.
pub(crate) fn parse(
    text: &str,
    constants: &Constants,
    patterns: &mut Patterns,
) -> Result<Parsed, Problem> {
    if text.len() > MAX_BYTES {
        let message = format!("expected an expression of at most {MAX_BYTES} bytes");
        return Err(Problem::new(Span::new(0, 0), message));
    }
    let mut lexer = Lexer::new(text);
    let (token, span) = lexer.next()?;
    let mut parser = Parser {
        lexer,
        token,
        span,
        last: Span::default(),
        constants,
        patterns,
        loops: Vec::new(),
        depth: 0,
        nodes: 0,
    };
    let expr = parser.expression()?;
    if parser.token != Token::End {
        return Err(parser.unexpected("an operator or the end"));
    }
    refuse_open_chains(&expr)?;
    refuse_deep_trees(&expr, 1)?;
    Ok(Parsed { expr, nodes: parser.nodes })
}

struct Parser<'t> {
    lexer: Lexer<'t>,
    token: Token,
    span: Span,
    /// The place of the token before the present one.
    last: Span,
    constants: &'t Constants,
    patterns: &'t mut Patterns,
    /// The variables of the loops around this place.
    loops: Vec<String>,
    depth: usize,
    nodes: usize,
}

impl Parser<'_> {
    fn advance(&mut self) -> Result<Token, Problem> {
        let (token, span) = self.lexer.next()?;
        self.last = std::mem::replace(&mut self.span, span);
        Ok(std::mem::replace(&mut self.token, token))
    }

    fn eat(&mut self, sign: &str) -> Result<bool, Problem> {
        let found = matches!(&self.token, Token::Sign(found) if *found == sign);
        if found {
            self.advance()?;
        }
        Ok(found)
    }

    fn expect(&mut self, sign: &str) -> Result<(), Problem> {
        if self.eat(sign)? { Ok(()) } else { Err(self.unexpected(&format!("`{sign}`"))) }
    }

    fn unexpected(&self, wanted: &str) -> Problem {
        let found = match &self.token {
            Token::Sign("/" | "%") => {
                let message = "expected another operator; the language has no division";
                return Problem::new(self.span, message);
            }
            Token::Sign("=") => "`=` (equality is `==`)".to_owned(),
            Token::Sign("&") => "`&` (and is `&&`)".to_owned(),
            Token::Sign(sign) => format!("`{sign}`"),
            Token::Name(name) => format!("`{name}`"),
            Token::Int(_) | Token::IntBound | Token::Double(_) => "a number".to_owned(),
            Token::Text(_) => "a text".to_owned(),
            Token::End => "the end".to_owned(),
        };
        Problem::new(self.span, format!("expected {wanted}, found {found}"))
    }

    fn node(&mut self, span: Span, kind: Kind) -> Result<Expr, Problem> {
        self.nodes += 1;
        if self.nodes > MAX_NODES {
            let message = format!("expected an expression of at most {MAX_NODES} parts");
            return Err(Problem::new(span, message));
        }
        Ok(Expr { span, kind })
    }

    /// Guards the parser's own recursion, which parentheses deepen without making nodes.
    fn nested<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, Problem>,
    ) -> Result<T, Problem> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(too_deep(self.span));
        }
        let result = read(self);
        self.depth -= 1;
        result
    }

    fn expression(&mut self) -> Result<Expr, Problem> {
        self.nested(|parser| {
            let choice = parser.any_of()?;
            if !parser.eat("?")? {
                return Ok(choice);
            }
            let then = parser.any_of()?;
            parser.expect(":")?;
            let otherwise = parser.expression()?;
            let span = choice.span.to(otherwise.span);
            let (choice, then) = (Box::new(choice), Box::new(then));
            parser.node(span, Kind::Choose { choice, then, otherwise: Box::new(otherwise) })
        })
    }

    fn any_of(&mut self) -> Result<Expr, Problem> {
        let first = self.all_of()?;
        let mut parts = vec![first];
        while self.eat("||")? {
            parts.push(self.all_of()?);
        }
        self.chain(parts, Kind::Or)
    }

    fn all_of(&mut self) -> Result<Expr, Problem> {
        let first = self.binary(0)?;
        let mut parts = vec![first];
        while self.eat("&&")? {
            parts.push(self.binary(0)?);
        }
        self.chain(parts, Kind::And)
    }

    /// Keeps `a && b && c` as one node, so that long chains are not deep ones.
    fn chain(
        &mut self,
        mut parts: Vec<Expr>,
        kind: fn(Vec<Expr>) -> Kind,
    ) -> Result<Expr, Problem> {
        match (parts.pop(), parts.first()) {
            (Some(only), None) => Ok(only),
            (Some(last), Some(first)) => {
                let span = first.span.to(last.span);
                parts.push(last);
                self.node(span, kind(parts))
            }
            (None, _) => Err(self.unexpected("an expression")),
        }
    }

    /// Reads comparisons (0), sums (1) and products (2), each from left to right.
    fn binary(&mut self, level: usize) -> Result<Expr, Problem> {
        if level > 2 {
            return self.unary();
        }
        let mut left = self.binary(level + 1)?;
        while let Some(op) = self.operator(level) {
            self.advance()?;
            let right = self.binary(level + 1)?;
            let span = left.span.to(right.span);
            left =
                self.node(span, Kind::Binary { op, left: Box::new(left), right: Box::new(right) })?;
        }
        Ok(left)
    }

    fn operator(&self, level: usize) -> Option<Binary> {
        let sign = match &self.token {
            Token::Sign(sign) => *sign,
            Token::Name(name) => name.as_str(),
            _ => return None,
        };
        let ops: &[Binary] = match level {
            0 => &[
                Binary::Equal,
                Binary::NotEqual,
                Binary::Less,
                Binary::LessOrEqual,
                Binary::Greater,
                Binary::GreaterOrEqual,
                Binary::In,
            ],
            1 => &[Binary::Add, Binary::Subtract],
            _ => &[Binary::Multiply],
        };
        ops.iter().copied().find(|op| op.sign() == sign)
    }

    fn unary(&mut self) -> Result<Expr, Problem> {
        let start = self.span;
        if self.eat("!")? {
            let part = self.nested(Self::unary)?;
            return self.node(start.to(part.span), Kind::Not(Box::new(part)));
        }
        if !self.eat("-")? {
            return self.member();
        }
        match self.token {
            Token::Int(value) => self.literal(start, Json::from(-value)),
            Token::Double(value) => self.literal(start, Json::from(-value)),
            Token::IntBound => self.literal(start, Json::from(i64::MIN)),
            _ => {
                let part = self.nested(Self::unary)?;
                self.node(start.to(part.span), Kind::Negate(Box::new(part)))
            }
        }
    }

    fn literal(&mut self, start: Span, value: Json) -> Result<Expr, Problem> {
        self.advance()?;
        let literal = self.node(start.to(self.last), Kind::Literal(Arc::new(value)))?;
        self.selections(literal)
    }
}

/// A chain with `.?` has no value of its own, so it may stand only where it is closed.
fn refuse_open_chains(expr: &Expr) -> Result<(), Problem> {
    if expr.is_chain() {
        let message = "expected `.orValue(…)` or `.hasValue()` after a chain with `.?`";
        return Err(Problem::new(expr.span, message));
    }
    match &expr.kind {
        Kind::HasValue(chain) => return links(chain),
        Kind::OrValue { chain, default } => {
            return links(chain).and_then(|()| refuse_open_chains(default));
        }
        _ => {}
    }
    expr.parts().into_iter().try_for_each(refuse_open_chains)
}

/// Goes along the links of a chain and looks at what hangs off them.
fn links(chain: &Expr) -> Result<(), Problem> {
    match &chain.kind {
        Kind::Field { of, .. } => links(of),
        Kind::Index { of, key } => links(of).and_then(|()| refuse_open_chains(key)),
        _ => refuse_open_chains(chain),
    }
}

fn refuse_deep_trees(expr: &Expr, depth: usize) -> Result<(), Problem> {
    if depth > MAX_DEPTH {
        return Err(too_deep(expr.span));
    }
    expr.parts().into_iter().try_for_each(|part| refuse_deep_trees(part, depth + 1))
}

fn too_deep(span: Span) -> Problem {
    Problem::new(span, format!("expected at most {MAX_DEPTH} levels of nesting"))
}
