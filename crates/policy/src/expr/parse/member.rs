//! Names, literals, selections, calls and loops: everything that binds tighter than an operator.

use std::sync::Arc;

use serde_json::Value as Json;

use super::{MAX_LOOPS, Parser};
use crate::{
    error::Code,
    expr::{
        ast::{Access, Expr, Fold, Kind, Problem, Span},
        functions::{Form, Function, SIGNATURES, SPECIAL},
        lex::Token,
        names::{Fact, hint},
        pattern::PatternError,
    },
    glob::Glob,
};

impl Parser<'_> {
    pub(super) fn member(&mut self) -> Result<Expr, Problem> {
        let primary = self.primary()?;
        self.selections(primary)
    }

    /// Reads what follows a value: `.field`, `.?field`, `[key]`, `.method(…)`.
    pub(super) fn selections(&mut self, mut of: Expr) -> Result<Expr, Problem> {
        loop {
            if self.eat("[")? {
                let key = self.expression()?;
                self.expect("]")?;
                of = self.index(of, key)?;
            } else if self.eat(".?")? {
                let name = self.field_name()?;
                of = self.field(of, name, Access::May)?;
            } else if self.eat(".")? {
                let name = self.field_name()?;
                let name_span = self.last;
                of = if self.eat("(")? {
                    self.method(of, &name, name_span)?
                } else {
                    self.field(of, name, Access::Must)?
                };
            } else if matches!(self.token, Token::Sign("[?")) {
                return Err(self.unexpected("`.?field` or `[key]`"));
            } else {
                return Ok(of);
            }
        }
    }

    fn field(&mut self, of: Expr, name: String, access: Access) -> Result<Expr, Problem> {
        let span = of.span.to(self.last);
        self.node(span, Kind::Field { of: Box::new(of), name: name.into(), access })
    }

    fn index(&mut self, of: Expr, key: Expr) -> Result<Expr, Problem> {
        if let Kind::Literal(value) = &key.kind
            && let Json::String(name) = &**value
        {
            let name = name.clone();
            return self.field(of, name, Access::Must);
        }
        let span = of.span.to(self.last);
        self.node(span, Kind::Index { of: Box::new(of), key: Box::new(key) })
    }

    fn field_name(&mut self) -> Result<String, Problem> {
        match self.token {
            Token::Name(_) => {}
            _ => return Err(self.unexpected("a field name")),
        }
        match self.advance()? {
            Token::Name(name) => Ok(name),
            _ => Err(self.unexpected("a field name")),
        }
    }

    fn primary(&mut self) -> Result<Expr, Problem> {
        let start = self.span;
        if self.eat("(")? {
            let inner = self.expression()?;
            self.expect(")")?;
            return Ok(inner);
        }
        if self.eat("[")? {
            return self.list(start);
        }
        let value = match &self.token {
            Token::Int(value) => Json::from(*value),
            Token::Double(value) => Json::from(*value),
            Token::Text(text) => Json::from(text.clone()),
            Token::Name(name) if name == "true" => Json::from(true),
            Token::Name(name) if name == "false" => Json::from(false),
            Token::Name(name) if name == "null" => Json::Null,
            Token::Name(_) => return self.name(start),
            Token::IntBound => {
                return Err(Problem::new(start, "expected a 64-bit integer or a finite fraction"));
            }
            Token::Sign("{") => {
                return Err(Problem::new(start, "expected a value; the language has no mappings"));
            }
            Token::Sign(_) | Token::End => return Err(self.unexpected("a value")),
        };
        self.advance()?;
        self.node(start, Kind::Literal(Arc::new(value)))
    }

    fn list(&mut self, start: Span) -> Result<Expr, Problem> {
        let items = self.items("]")?;
        let span = start.to(self.last);
        let values: Option<Vec<Json>> = items
            .iter()
            .map(|item| match &item.kind {
                Kind::Literal(value) => Some(Json::clone(value)),
                _ => None,
            })
            .collect();
        match values {
            Some(values) => self.node(span, Kind::Literal(Arc::new(Json::Array(values)))),
            None => self.node(span, Kind::List(items)),
        }
    }

    /// Reads expressions and commas up to the closing sign.
    fn items(&mut self, close: &str) -> Result<Vec<Expr>, Problem> {
        let mut items = Vec::new();
        while !self.eat(close)? {
            if !items.is_empty() {
                self.expect(",")?;
                if close == "]" && self.eat(close)? {
                    break;
                }
            }
            items.push(self.expression()?);
        }
        Ok(items)
    }

    fn name(&mut self, start: Span) -> Result<Expr, Problem> {
        let name = self.field_name()?;
        if self.eat("(")? {
            return self.plain_call(&name, start);
        }
        if let Some(depth) = self.loops.iter().position(|variable| *variable == name) {
            return self.node(start, Kind::Variable { depth, name: name.into() });
        }
        match name.as_str() {
            "args" => self.node(start, Kind::Args),
            "now" => self.node(start, Kind::Fact(Fact::Now)),
            "constants" => self.constant(start),
            "agent" | "call" => self.fact(&name, start),
            _ => {
                let roots = ["args", "agent", "call", "now", "constants", "true", "false", "null"];
                let known = roots.into_iter().chain(self.loops.iter().map(String::as_str));
                let near = hint(&name, known);
                let message = format!(
                    "`{name}` is not a known name{near}; expected `args`, `agent`, `call`, `now` or `constants`"
                );
                Err(Problem::coded(start, Code::UnknownName, message))
            }
        }
    }

    fn fact(&mut self, root: &str, start: Span) -> Result<Expr, Problem> {
        self.expect(".")?;
        let field = self.field_name()?;
        let span = start.to(self.last);
        if let Some(fact) = Fact::named(&format!("{root}.{field}")) {
            return self.node(span, Kind::Fact(fact));
        }
        let fields: Vec<&str> = Fact::NAMES
            .iter()
            .filter_map(|(name, _)| name.strip_prefix(root)?.strip_prefix('.'))
            .collect();
        let near = hint(&field, fields.iter().copied());
        let message = format!("`{root}` has no `{field}`{near}; it has {}", fields.join(", "));
        Err(Problem::coded(span, Code::UnknownName, message))
    }

    fn constant(&mut self, start: Span) -> Result<Expr, Problem> {
        self.expect(".")?;
        let name = self.field_name()?;
        let span = start.to(self.last);
        if let Some(value) = self.constants.get(&name) {
            let value = Arc::clone(value);
            return self.node(span, Kind::Literal(value));
        }
        let near = hint(&name, self.constants.keys().map(String::as_str));
        let message = format!("the policy has no constant `{name}`{near}");
        Err(Problem::coded(span, Code::UnknownName, message))
    }

    fn plain_call(&mut self, name: &str, start: Span) -> Result<Expr, Problem> {
        let args = self.items(")")?;
        let span = start.to(self.last);
        match name {
            "has" => self.has(args, span),
            "glob" => self.glob(args, span),
            _ => match Function::named(name, Form::Plain) {
                Some(function) => self.call(function, Form::Plain, args, span),
                None => Err(unknown_function(name, Form::Plain, start)),
            },
        }
    }

    fn method(&mut self, of: Expr, name: &str, name_span: Span) -> Result<Expr, Problem> {
        let fold = match name {
            "all" => Some(Fold::All),
            "exists" => Some(Fold::Exists),
            "exists_one" => Some(Fold::ExistsOne),
            _ => None,
        };
        if let Some(fold) = fold {
            return self.fold(fold, of);
        }
        let start = of.span;
        let mut args = self.items(")")?;
        let span = start.to(self.last);
        match (name, args.len()) {
            ("matches", 1) => self.matches(of, args, span),
            ("orValue" | "hasValue", _) if !of.is_chain() => {
                Err(Problem::new(span, format!("expected a chain with `.?` before `.{name}`")))
            }
            ("hasValue", 0) => self.node(span, Kind::HasValue(Box::new(of))),
            ("orValue", 1) => {
                let default = args.pop().ok_or_else(|| Problem::new(span, "expected a default"))?;
                let kind = Kind::OrValue { chain: Box::new(of), default: Box::new(default) };
                self.node(span, kind)
            }
            ("matches" | "orValue" | "hasValue", _) => {
                Err(Problem::new(span, format!("`.{name}` takes a different number of arguments")))
            }
            _ => match Function::named(name, Form::Method) {
                Some(function) => {
                    args.insert(0, of);
                    self.call(function, Form::Method, args, span)
                }
                None => Err(unknown_function(name, Form::Method, name_span)),
            },
        }
    }

    fn call(
        &mut self,
        function: Function,
        form: Form,
        args: Vec<Expr>,
        span: Span,
    ) -> Result<Expr, Problem> {
        let mut rows = function.signatures().filter(|row| row.form == form);
        if !rows.any(|row| row.takes.len() == args.len()) {
            let message = format!("`{}` takes a different number of arguments", function.name());
            return Err(Problem::new(span, message));
        }
        self.node(span, Kind::Call { function, args })
    }

    fn has(&mut self, mut args: Vec<Expr>, span: Span) -> Result<Expr, Problem> {
        let wanted = "expected one field in `has(…)`, such as `has(args.amount)`";
        let (Some(part), true) = (args.pop(), args.is_empty()) else {
            return Err(Problem::new(span, wanted));
        };
        let kind = match part.kind {
            Kind::Field { of, name, access: Access::Must } if !of.is_chain() => {
                Kind::Has { of, name }
            }
            Kind::Fact(fact) if fact != Fact::Now => Kind::HasFact(fact),
            _ => return Err(Problem::new(span, wanted)),
        };
        self.node(span, kind)
    }

    fn matches(&mut self, of: Expr, args: Vec<Expr>, span: Span) -> Result<Expr, Problem> {
        let (text, at) = constant_text(&args, "`.matches` takes a literal pattern", span)?;
        let pattern = self.patterns.read(text).map_err(|error| {
            let code =
                if error == PatternError::TooMany { Code::TooLarge } else { Code::BadExpression };
            Problem::coded(at, code, error.to_string())
        })?;
        self.node(span, Kind::Matches { of: Box::new(of), pattern })
    }

    fn glob(&mut self, mut args: Vec<Expr>, span: Span) -> Result<Expr, Problem> {
        if args.len() != 2 {
            return Err(Problem::new(span, "`glob` takes a text and a pattern"));
        }
        let pattern = args.split_off(1);
        let (text, at) = constant_text(&pattern, "`glob` takes a literal pattern", span)?;
        let pattern = Glob::parse(text).map_err(|error| Problem::new(at, error.to_string()))?;
        let of = args.pop().ok_or_else(|| Problem::new(span, "`glob` takes a text"))?;
        self.node(span, Kind::Glob { of: Box::new(of), pattern })
    }

    fn fold(&mut self, fold: Fold, over: Expr) -> Result<Expr, Problem> {
        let variable_span = self.span;
        let variable = self.field_name()?;
        self.expect(",")?;
        let reserved = ["args", "agent", "call", "now", "constants", "true", "false", "null", "in"];
        if reserved.contains(&variable.as_str()) || self.loops.contains(&variable) {
            let message =
                format!("`{variable}` is already used; give the loop variable another name");
            return Err(Problem::new(variable_span, message));
        }
        let depth = self.loops.len();
        if depth >= MAX_LOOPS {
            let message = format!("expected at most {MAX_LOOPS} loops inside each other");
            return Err(Problem::new(variable_span, message));
        }
        self.loops.push(variable);
        let body = self.expression();
        self.loops.pop();
        let body = body?;
        self.expect(")")?;
        let span = over.span.to(self.last);
        self.node(span, Kind::Fold { fold, over: Box::new(over), body: Box::new(body), depth })
    }
}

fn constant_text<'e>(
    args: &'e [Expr],
    message: &str,
    span: Span,
) -> Result<(&'e str, Span), Problem> {
    match args.first().map(|arg| (&arg.kind, arg.span)) {
        Some((Kind::Literal(value), at)) => {
            value.as_str().map(|text| (text, at)).ok_or_else(|| Problem::new(at, message))
        }
        _ => Err(Problem::new(span, message)),
    }
}

fn unknown_function(name: &str, form: Form, span: Span) -> Problem {
    let other = match form {
        Form::Plain => Form::Method,
        Form::Method => Form::Plain,
    };
    let message = if Function::named(name, other).is_some() || SPECIAL.contains(&name) {
        match other {
            Form::Plain => format!("`{name}` is written `{name}(…)`"),
            Form::Method => format!("`{name}` is written `….{name}(…)`"),
        }
    } else {
        let known = SIGNATURES.iter().map(|row| row.name).chain(SPECIAL);
        format!("there is no function `{name}`{}", hint(name, known))
    };
    Problem::coded(span, Code::UnknownName, message)
}
