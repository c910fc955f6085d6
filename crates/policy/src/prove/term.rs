//! What conditions look at: fields, facts and anything that is worked out from them, each known by
//! a text that is the same wherever the same thing is written.

use std::{fmt::Write as _, rc::Rc};

use crate::expr::{Access, Binary, Expr, Fact, Fold, Kind};

/// The element that the variable of each loop around stands for, by number.
pub(super) type Elements = [Option<usize>; 2];

/// Something that has one value, or none, for each call.
#[derive(Debug, Clone)]
pub(super) struct Term<'p> {
    pub(super) key: Rc<str>,
    pub(super) at: At<'p>,
    pub(super) elements: Elements,
}

/// What a term is.
#[derive(Debug, Clone, Copy)]
pub(super) enum At<'p> {
    /// Something known of the call.
    Fact(Fact),
    /// The call's arguments.
    Args,
    /// An element of a list.
    Element,
    /// A field of another term.
    Field(&'p Expr, &'p str),
    /// Something worked out.
    Worked(&'p Expr),
    /// Whether something holds of which nothing else is known.
    Opaque,
}

impl<'p> Term<'p> {
    /// The term that the expression is.
    pub(super) fn of(expr: &'p Expr, elements: Elements) -> Self {
        let expr = plain(expr);
        let at = match &expr.kind {
            Kind::Args => At::Args,
            Kind::Fact(fact) => At::Fact(*fact),
            Kind::Variable { depth, .. } => {
                let element = elements.get(*depth).copied().flatten();
                element.map_or(At::Worked(expr), |_| At::Element)
            }
            Kind::Field { of, name, .. } => At::Field(of, name),
            _ => At::Worked(expr),
        };
        Self { key: key(expr, elements), at, elements }
    }

    /// The term of a fact.
    pub(super) fn fact(fact: Fact) -> Self {
        Self { key: fact.name().into(), at: At::Fact(fact), elements: [None; 2] }
    }

    /// The field of this name of what the expression is.
    pub(super) fn field(of: &'p Expr, name: &'p str, elements: Elements) -> Self {
        let key = format!("{}.{name:?}", key(of, elements)).into();
        Self { key, at: At::Field(of, name), elements }
    }

    /// The element of a list.
    pub(super) fn element(number: usize) -> Self {
        Self { key: format!("#{number}").into(), at: At::Element, elements: [None; 2] }
    }

    /// A term of which only the key is known; it is true or false where it has a value.
    pub(super) fn opaque(key: String) -> Self {
        Self { key: key.into(), at: At::Opaque, elements: [None; 2] }
    }

    /// What a field lies in.
    pub(super) fn parent(&self) -> Option<Self> {
        match self.at {
            At::Field(of, _) => Some(Self::of(of, self.elements)),
            At::Fact(_) | At::Args | At::Element | At::Worked(_) | At::Opaque => None,
        }
    }

    /// Whether the term is read from the call as it is, and not worked out.
    pub(super) fn is_read(&self) -> bool {
        match self.at {
            At::Fact(_) | At::Args | At::Element => true,
            At::Field(..) => self.parent().is_none_or(|parent| parent.is_read()),
            At::Worked(_) | At::Opaque => false,
        }
    }
}

/// The expression that a numbered path stands for.
pub(super) fn plain(expr: &Expr) -> &Expr {
    match &expr.kind {
        Kind::Path { chain, .. } => plain(chain),
        _ => expr,
    }
}

/// A text that is the same for conditions which say the same but for spelling and the names
/// of constants.
pub(crate) fn essence(condition: &Expr) -> Rc<str> {
    key(condition, [None; 2])
}

/// The expression's text without spelling, constants' names, and the side on which a `>` or
/// a `<` opens.
pub(super) fn key(expr: &Expr, elements: Elements) -> Rc<str> {
    let mut out = String::new();
    Writer { elements, out: &mut out }.expr(expr);
    out.into()
}

struct Writer<'o> {
    elements: Elements,
    out: &'o mut String,
}

impl Writer<'_> {
    fn expr(&mut self, expr: &Expr) {
        match &expr.kind {
            Kind::Literal(value) => self.text(&value.to_string()),
            Kind::Args => self.text("args"),
            Kind::Path { chain, .. } => self.expr(chain),
            Kind::Fact(fact) => self.text(fact.name()),
            Kind::HasFact(fact) => self.text(&format!("has {}", fact.name())),
            Kind::Variable { depth, .. } => self.variable(*depth),
            Kind::Field { of, name, .. } => self.field(of, name),
            Kind::Has { of, name } => {
                self.text("has ");
                self.field(of, name);
            }
            Kind::List(parts) => self.joined("[", ",", parts),
            Kind::And(parts) => self.joined("(", "&&", parts),
            Kind::Or(parts) => self.joined("(", "||", parts),
            Kind::Call { function, args } => self.joined(&format!("{function:?}("), ",", args),
            Kind::Index { of, key } => self.pair("at", of, key),
            Kind::OrValue { chain, default } => {
                self.pair(&format!("or{}", links(chain)), chain, default);
            }
            Kind::HasValue(chain) => self.wrap(&format!("value{}", links(chain)), chain),
            Kind::Not(part) => self.wrap("!", part),
            Kind::Negate(part) => self.wrap("-", part),
            Kind::Choose { choice, then, otherwise } => {
                self.wrap("if", choice);
                self.pair("", then, otherwise);
            }
            Kind::Binary { op, left, right } => self.binary(*op, left, right),
            Kind::Matches { of, pattern } => {
                self.wrap(&format!("matches{:?}", pattern.as_str()), of);
            }
            Kind::Glob { of, pattern } => self.wrap(&format!("glob{:?}", pattern.as_str()), of),
            Kind::Fold { fold, over, body, depth } => self.fold(*fold, (over, body), *depth),
        }
    }

    fn text(&mut self, text: &str) {
        self.out.push_str(text);
    }

    fn variable(&mut self, depth: usize) {
        // Writing to a string cannot fail.
        let _ = match self.elements.get(depth).copied().flatten() {
            Some(element) => write!(self.out, "#{element}"),
            None => write!(self.out, "${depth}"),
        };
    }

    fn field(&mut self, of: &Expr, name: &str) {
        self.expr(of);
        let _ = write!(self.out, ".{name:?}");
    }

    fn joined(&mut self, open: &str, by: &str, parts: &[Expr]) {
        self.text(open);
        for part in parts {
            self.expr(part);
            self.text(by);
        }
        self.text(")");
    }

    fn wrap(&mut self, name: &str, part: &Expr) {
        self.joined(&format!("{name}("), "", std::slice::from_ref(part));
    }

    fn pair(&mut self, name: &str, left: &Expr, right: &Expr) {
        self.text(&format!("{name}("));
        self.expr(left);
        self.text(",");
        self.expr(right);
        self.text(")");
    }

    fn binary(&mut self, op: Binary, left: &Expr, right: &Expr) {
        match op {
            Binary::Greater => self.pair("<", right, left),
            Binary::GreaterOrEqual => self.pair("<=", right, left),
            Binary::Equal | Binary::NotEqual => {
                let (one, other) = (key(left, self.elements), key(right, self.elements));
                let (one, other) = if one <= other { (one, other) } else { (other, one) };
                self.text(&format!("{}({one},{other})", op.sign()));
            }
            Binary::Less
            | Binary::LessOrEqual
            | Binary::In
            | Binary::Add
            | Binary::Subtract
            | Binary::Multiply => self.pair(op.sign(), left, right),
        }
    }

    fn fold(&mut self, fold: Fold, (over, body): (&Expr, &Expr), depth: usize) {
        self.text(&format!("{fold:?}{depth}("));
        self.expr(over);
        self.text(",");
        let around = self.elements;
        // The loop's own variable hides what stood at its depth.
        self.elements.get_mut(depth).into_iter().for_each(|own| *own = None);
        self.expr(body);
        self.elements = around;
        self.text(")");
    }
}

/// Which links of a chain may be missing.
fn links(chain: &Expr) -> String {
    match &chain.kind {
        Kind::Field { of, access: Access::May, .. } => links(of) + "?",
        Kind::Field { of, .. } => links(of) + ".",
        Kind::Index { of, .. } => links(of) + "@",
        _ => String::new(),
    }
}
