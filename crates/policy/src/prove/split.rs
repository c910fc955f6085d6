//! Splits a goal into the ways in which it can be met. Together the ways cover every call that
//! meets it; a single way may cover more.

use std::sync::Arc;

use super::{
    compare,
    cube::{Cube, NO_ELEMENTS},
    domain::{Edge, Limit},
    goal::{Goal, Splitter, Step, Want, Way},
    reading::{constant, texts},
    term::{At, Term, key, plain},
    texts::Test,
};
use crate::{
    document::Cost,
    expr::{Expr, Fact, Fold, Function, Kind, Sort, Sorts, Value},
    glob::Glob,
};

/// The ways in which the goal can be met.
pub(super) fn ways<'p>(goal: &Goal<'p>, cube: &Cube<'p>) -> Vec<Way<'p>> {
    match goal {
        Goal::Covered(globs) => {
            let tests = globs.iter().map(|glob| Limit::Passes(Test::Glob(glob.clone())));
            tests.map(|test| vec![Step::Limit(Term::fact(Fact::CallTool), test)]).collect()
        }
        Goal::Passes(rule) => {
            let tests = rule.globs.iter().map(|glob| Limit::FailsTest(Test::Glob(glob.clone())));
            let uncovered = tests.map(|test| Step::Limit(Term::fact(Fact::CallTool), test));
            let mut ways = vec![uncovered.collect()];
            if let Some(when) = &rule.when {
                ways.insert(0, vec![Step::Goal(Goal::Comes(when.expr(), Want::False))]);
            }
            ways
        }
        Goal::Charged(cost) => vec![charged(cost, cube)],
        Goal::Comes(expr, want) => Splitter { elements: NO_ELEMENTS, cube }.ways(expr, *want),
        Goal::Within(expr, want, elements) => {
            Splitter { elements: *elements, cube }.ways(expr, *want)
        }
        Goal::ComesOrFails(expr, want, elements) => {
            let splitter = Splitter { elements: *elements, cube };
            let mut ways = splitter.ways(expr, *want);
            ways.extend(splitter.ways(expr, Want::Fails));
            ways
        }
    }
}

impl<'p> Splitter<'_, 'p> {
    fn ways(&self, expr: &'p Expr, want: Want) -> Vec<Way<'p>> {
        let expr = plain(expr);
        match &expr.kind {
            Kind::Not(part) => match want {
                Want::True => vec![vec![self.goal(part, Want::False)]],
                Want::False => vec![vec![self.goal(part, Want::True)]],
                Want::Fails => vec![vec![self.goal(part, Want::Fails)]],
            },
            Kind::And(parts) => self.junction(parts, (Want::True, want)),
            Kind::Or(parts) => self.junction(parts, (Want::False, want)),
            Kind::Choose { choice, then, otherwise } => {
                let mut ways = vec![
                    vec![self.goal(choice, Want::True), self.goal(then, want)],
                    vec![self.goal(choice, Want::False), self.goal(otherwise, want)],
                ];
                if want == Want::Fails {
                    ways.push(vec![self.goal(choice, Want::Fails)]);
                }
                ways
            }
            Kind::Has { of, name } => self.has((of, name), want),
            Kind::HasFact(fact) => has_fact(*fact, want),
            Kind::HasValue(chain) => self.has_value(chain, want),
            Kind::Binary { op, left, right } => compare::ways(self, expr, (*op, left, right), want),
            Kind::Matches { of, pattern } => self.test(of, Test::Regex(Arc::clone(pattern)), want),
            Kind::Glob { of, pattern } => self.test(of, Test::Glob(pattern.clone()), want),
            Kind::Call { function, args } => match affix(*function, args) {
                Some((of, glob)) => self.test(of, Test::Glob(glob), want),
                None => self.plain_truth(expr, want),
            },
            Kind::Fold { fold, over, body, depth } => {
                self.fold(expr, (*fold, over, body, *depth), want)
            }
            Kind::Literal(value) => match (value.as_bool(), want) {
                (Some(true), Want::True) | (Some(false), Want::False) | (None, Want::Fails) => {
                    vec![Vec::new()]
                }
                (Some(_) | None, _) => Vec::new(),
            },
            Kind::OrValue { chain, default } => {
                let mut ways = vec![vec![
                    Step::Limit(Term::of(chain, self.elements), Limit::Present),
                    self.truth(chain, want),
                ]];
                for mut way in self.missing(chain) {
                    way.push(self.goal(default, want));
                    ways.push(way);
                }
                if want == Want::Fails {
                    ways.extend(self.unread(chain));
                }
                ways
            }
            Kind::Args
            | Kind::Path { .. }
            | Kind::Fact(_)
            | Kind::Variable { .. }
            | Kind::Field { .. }
            | Kind::Index { .. }
            | Kind::List(_)
            | Kind::Negate(_) => self.plain_truth(expr, want),
        }
    }

    fn goal(&self, expr: &'p Expr, want: Want) -> Step<'p> {
        Step::Goal(Goal::Within(expr, want, self.elements))
    }

    /// `all` is what every part must come to for the junction to come to the same: true for `&&`,
    /// false for `||`. One part of the other kind settles it.
    fn junction(&self, parts: &'p [Expr], (all, want): (Want, Want)) -> Vec<Way<'p>> {
        if want == all {
            return vec![parts.iter().map(|part| self.goal(part, all)).collect()];
        }
        if want != Want::Fails {
            return parts.iter().map(|part| vec![self.goal(part, want)]).collect();
        }
        // One part fails, and none of the others settles it.
        let failing = parts.iter().enumerate().map(|(place, part)| {
            let others = parts.iter().enumerate().filter(|(other, _)| *other != place);
            let others =
                others.map(|(_, other)| Step::Goal(Goal::ComesOrFails(other, all, self.elements)));
            std::iter::once(self.goal(part, Want::Fails)).chain(others).collect()
        });
        failing.collect()
    }

    fn has(&self, (of, name): (&'p Expr, &'p str), want: Want) -> Vec<Way<'p>> {
        let field = Term::field(of, name, self.elements);
        let holder = Term::of(of, self.elements);
        let is_map = Limit::Sorts(Sorts::only(Sort::Map));
        match want {
            Want::True => vec![vec![Step::Limit(field, Limit::Present)]],
            Want::False => {
                vec![vec![Step::Limit(holder, is_map), Step::Limit(field, Limit::Absent)]]
            }
            Want::Fails => self.no_map(of),
        }
    }

    fn has_value(&self, chain: &'p Expr, want: Want) -> Vec<Way<'p>> {
        match want {
            Want::True => {
                vec![vec![Step::Limit(Term::of(chain, self.elements), Limit::Present)]]
            }
            Want::False => self.missing(chain),
            Want::Fails => self.unread(chain),
        }
    }

    fn test(&self, of: &'p Expr, test: Test, want: Want) -> Vec<Way<'p>> {
        let mut ways = Vec::new();
        for (mut way, operand) in compare::operands(self, of) {
            match (operand, want) {
                (compare::Operand::Const(value), Want::True | Want::False) => {
                    let Value::Text(word) = &value else { continue };
                    if test.is_match(word) == (want == Want::True) {
                        ways.push(way);
                    }
                }
                (compare::Operand::Term(term), Want::True) => {
                    way.push(Step::Limit(term, Limit::Passes(test.clone())));
                    ways.push(way);
                }
                (compare::Operand::Term(term), Want::False) => {
                    way.push(Step::Limit(term, Limit::FailsTest(test.clone())));
                    ways.push(way);
                }
                (compare::Operand::Const(value), Want::Fails) => {
                    ways.extend((value.sort() != Sort::Text).then_some(way));
                }
                (compare::Operand::Term(term), Want::Fails) => {
                    let others = Sorts::ALL.without(Sorts::only(Sort::Text));
                    way.push(Step::Limit(term, Limit::Sorts(others)));
                    ways.push(way);
                }
            }
        }
        if want == Want::Fails {
            ways.extend(self.unread(of));
        }
        ways
    }

    fn fold(
        &self,
        expr: &'p Expr,
        (fold, over, body, depth): (Fold, &'p Expr, &'p Expr, usize),
        want: Want,
    ) -> Vec<Way<'p>> {
        let truth = self.plain_truth(expr, want);
        let list = Term::of(over, self.elements);
        let wanted = match (fold, want) {
            (Fold::Exists | Fold::ExistsOne, Want::True) => Want::True,
            (Fold::All, Want::False) => Want::False,
            _ => return truth,
        };
        if !list.is_read() || matches!(list.at, At::Fact(_)) {
            return truth;
        }
        let mut elements = self.elements;
        let number = self.cube.lists.len();
        elements.get_mut(depth).into_iter().for_each(|own| *own = Some(number));
        // Among the elements is one that settles it; that one is spoken of from here on.
        let holders = Sorts::only(Sort::List).or(Sorts::only(Sort::Map));
        let steps = [
            Step::Limit(list.clone(), Limit::Sorts(holders)),
            Step::Element(list),
            Step::Goal(Goal::Within(body, wanted, elements)),
        ];
        truth.into_iter().map(|way| way.into_iter().chain(steps.clone()).collect()).collect()
    }

    /// What comes true or false, and nothing more is known of it.
    pub(super) fn plain_truth(&self, expr: &'p Expr, want: Want) -> Vec<Way<'p>> {
        if want == Want::Fails {
            let mut ways = self.unread(expr);
            ways.push(vec![self.truth(expr, want)]);
            return ways;
        }
        let mut way = self.reads(expr);
        way.push(self.truth(expr, want));
        way.extend(texts(expr).into_iter().map(Step::Hint));
        vec![way]
    }

    fn truth(&self, expr: &'p Expr, want: Want) -> Step<'p> {
        let term = match &expr.kind {
            Kind::Fold { .. } => Term::opaque(key(expr, self.elements).to_string()),
            _ => Term::of(expr, self.elements),
        };
        let limit = match want {
            Want::True => Limit::OneOf(vec![Value::Bool(true)]),
            Want::False => Limit::OneOf(vec![Value::Bool(false)]),
            Want::Fails => Limit::Sorts(Sorts::ALL.without(Sorts::only(Sort::Bool))),
        };
        Step::Limit(term, limit)
    }
}

/// What is needed to tell what a call costs.
fn charged<'p>(cost: &'p Cost, cube: &Cube<'p>) -> Way<'p> {
    let splitter = Splitter { elements: NO_ELEMENTS, cube };
    let mut way = splitter.reads(cost.amount.expr());
    if constant(plain(cost.amount.expr())).is_none() {
        let amount = Term::of(cost.amount.expr(), NO_ELEMENTS);
        way.push(Step::Limit(amount, Limit::AtLeast(Value::Int(0), Edge::Closed)));
    }
    if let Some(currency) = &cost.currency {
        way.extend(splitter.reads(currency.expr()));
        let unit = Limit::OneOf(vec![Value::Text(cost.unit.clone().into())]);
        if constant(plain(currency.expr())).is_none() {
            way.push(Step::Limit(Term::of(currency.expr(), NO_ELEMENTS), unit));
        }
    }
    way
}

fn has_fact<'p>(fact: Fact, want: Want) -> Vec<Way<'p>> {
    let null = vec![Value::Null];
    let limit = match want {
        Want::True => Limit::NoneOf(null),
        Want::False => Limit::OneOf(null),
        Want::Fails => return Vec::new(),
    };
    vec![vec![Step::Limit(Term::fact(fact), limit)]]
}

/// The pattern that says the same as a question about the start, the end or a part.
fn affix(function: Function, args: &[Expr]) -> Option<(&Expr, Glob)> {
    let [of, text] = args else { return None };
    let Kind::Literal(text) = &text.kind else { return None };
    let text = text.as_str().filter(|text| !text.contains('*'))?;
    let pattern = match function {
        Function::StartsWith => format!("{text}*"),
        Function::EndsWith => format!("*{text}"),
        Function::Contains => format!("*{text}*"),
        _ => return None,
    };
    Glob::parse(&pattern).ok().map(|glob| (of, glob))
}
