//! Conditions that hold for more calls than they seem to, where that lets a call through: a pattern
//! that is found inside a longer text, a start or an end that stops inside a host, `all` over an empty
//! list.
//!
//! The call that is told is one of those that the condition means, with the one value changed that it
//! reads too loosely, and the evaluator says what becomes of it.

use std::{collections::BTreeSet, sync::Arc};

use serde_json::{Map, Value, json};

use super::{Report, reach, schema, strictness};
use crate::{
    call::Call,
    catalog::KnownTool,
    document::place::within,
    error::{Code, Severity},
    expr::{Expr, Fold, Function, Kind, Pattern},
    prove::{Answer, First, Judgement, Prover, Want, first},
};

/// A part of a condition that is read too loosely.
struct Loose<'p> {
    expr: &'p Expr,
    /// Whether the whole condition is true where this part is, as far as it hangs on this one.
    holds: bool,
    place: Place<'p>,
    kind: Looseness<'p>,
}

/// In which way.
enum Looseness<'p> {
    Pattern(&'p Pattern),
    Start(&'p str),
    End(&'p str),
    Empty,
}

/// A field of the arguments.
#[derive(Clone)]
struct Place<'p> {
    path: Vec<&'p str>,
    /// The value is an element of the list there.
    is_element: bool,
    /// What of the text there is read.
    part: Part,
}

/// What is read of a text.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Whole,
    /// The domain of the mail address that it is.
    Domain,
    /// The host of the URL that it is.
    Host,
}

/// Tells each of them with a call that gets through.
pub(super) fn check<'k>(report: &mut Report<'_, 'k>, prover: &mut Prover<'k>) {
    let (Some(when), Some(own)) = (&report.rule.when, &report.own.when) else { return };
    let mut found = Vec::new();
    collect(own.expr(), true, &mut Vec::new(), &mut found);
    let mut told = BTreeSet::new();
    for loose in found {
        if told.contains(&loose.expr.span.start) {
            continue;
        }
        let Some(example) = through(report, prover, &loose) else { continue };
        told.insert(loose.expr.span.start);
        let at = within(&report.facts.document.text, when.at, &when.text, loose.expr.span.start);
        let (code, message) = loose.kind.told();
        report.push_at(code, Severity::Warning, (at, ".when"), message);
        report.show(Some(example));
    }
}

/// A call that gets through since the part is read loosely.
fn through<'k>(
    report: &Report<'_, 'k>,
    prover: &mut Prover<'k>,
    loose: &Loose<'_>,
) -> Option<Box<Call>> {
    let want = if loose.holds { Want::True } else { Want::False };
    let bent = |sample: &Call| {
        loose.bent(sample).find(|bent| {
            gets_through(report, bent, loose.holds) && is_sent(report, loose, sample, bent)
        })
    };
    let answer = prover.ask(reach::goals(report.own, want), |sample| {
        if bent(sample).is_some() { Judgement::Yes } else { Judgement::No }
    });
    match answer {
        Answer::Example(sample) => bent(&sample).map(Box::new),
        Answer::Never(_) | Answer::NotProven => None,
    }
}

/// Whether the tool takes the arguments, as far as it is known.
fn is_sent(report: &Report<'_, '_>, loose: &Loose<'_>, sample: &Call, bent: &Call) -> bool {
    let known = report.facts.tools.iter().find(|tool| tool.name == bent.tool);
    known.is_none_or(|KnownTool { input_schema: schema, .. }| {
        schema::fits_at(schema, &loose.place.path, &bent.args)
            && (schema::fits(schema, &bent.args) || !schema::fits(schema, &sample.args))
    })
}

/// Whether the rule lets the call through that another one would have held up, or lets it pass by to
/// one that holds up less.
fn gets_through(report: &Report<'_, '_>, call: &Call, holds: bool) -> bool {
    let own = report.own.outcome;
    match first(report.facts.policy, call) {
        First::Rule(place, _) if place == report.place => {
            holds && strictness(own) < strictness(report.below(call))
        }
        First::Rule(place, rule) if place > report.place => {
            !holds && strictness(rule.outcome) < strictness(own)
        }
        First::Default => {
            let default = report.facts.policy.document.default.outcome;
            !holds && strictness(default) < strictness(own)
        }
        First::Rule(..) | First::Failed(..) => false,
    }
}

/// The loose parts of a condition, in the order of the text.
fn collect<'p>(
    expr: &'p Expr,
    holds: bool,
    loops: &mut Vec<Option<Place<'p>>>,
    found: &mut Vec<Loose<'p>>,
) {
    let mut add = |of: &'p Expr, kind: Looseness<'p>| {
        found.extend(place(of, loops).map(|place| Loose { expr, holds, place, kind }));
    };
    match &expr.kind {
        Kind::Not(part) => collect(part, !holds, loops, found),
        Kind::And(parts) | Kind::Or(parts) => {
            for part in parts {
                collect(part, holds, loops, found);
            }
        }
        Kind::Choose { choice: _, then, otherwise } => {
            collect(then, holds, loops, found);
            collect(otherwise, holds, loops, found);
        }
        Kind::Matches { of, pattern } if pattern.opens() != (false, false) => {
            add(of, Looseness::Pattern(pattern));
        }
        Kind::Call { function, args } => {
            let [of, text] = args.as_slice() else { return };
            let Kind::Literal(text) = &text.kind else { return };
            match (function, text.as_str()) {
                (Function::StartsWith, Some(text)) if ends_in_host(text) => {
                    add(of, Looseness::Start(text));
                }
                (Function::EndsWith, Some(text)) if is_domain(text) => {
                    add(of, Looseness::End(text));
                }
                _ => {}
            }
        }
        Kind::Fold { fold, over, body, .. } => {
            let list = place(over, loops);
            // A list inside a list is not looked at.
            let own = list.clone().filter(|list| *fold == Fold::All && !list.is_element);
            let kind = Looseness::Empty;
            found.extend(own.map(|place| Loose { expr, holds, place, kind }));
            let element = list.map(|list| Place { is_element: true, ..list });
            loops.push(element.filter(|_| loops.is_empty()));
            collect(body, holds, loops, found);
            loops.pop();
        }
        _ => {}
    }
}

/// The field that the expression is, where it is one.
fn place<'p>(expr: &'p Expr, loops: &[Option<Place<'p>>]) -> Option<Place<'p>> {
    match &expr.kind {
        Kind::Path { path, .. } => {
            let path = path.iter().map(|name| &**name).collect();
            Some(Place { path, is_element: false, part: Part::Whole })
        }
        Kind::Args => Some(Place { path: Vec::new(), is_element: false, part: Part::Whole }),
        Kind::Field { of, name, .. } => {
            let mut outer = place(of, loops).filter(|outer| !outer.is_element)?;
            outer.path.push(name);
            Some(outer)
        }
        Kind::Variable { depth, .. } => loops.get(*depth)?.clone(),
        Kind::OrValue { chain, .. } => place(chain, loops),
        Kind::Call { function, args } => {
            let [of] = args.as_slice() else { return None };
            let inner = place(of, loops)?;
            match function {
                Function::LowerAscii => Some(inner),
                Function::EmailDomain => Some(Place { part: Part::Domain, ..inner }),
                Function::UrlHost => Some(Place { part: Part::Host, ..inner }),
                _ => None,
            }
        }
        _ => None,
    }
}

impl Loose<'_> {
    /// The call with values in the place that the part takes and does not seem to mean.
    fn bent(&self, sample: &Call) -> impl Iterator<Item = Call> {
        let texts = match self.kind {
            Looseness::Empty => return vec![self.place.put(sample, json!([]))].into_iter(),
            Looseness::Pattern(pattern) => longer(pattern, self.place.text(sample)),
            Looseness::Start(start) => vec![beyond_host(start)],
            Looseness::End(end) => vec![format!("evil{end}")],
        };
        let calls: Vec<Call> =
            texts.into_iter().map(|text| self.place.put(sample, self.place.value(text))).collect();
        calls.into_iter()
    }
}

impl Looseness<'_> {
    fn told(&self) -> (Code, String) {
        match self {
            Self::Pattern(pattern) => (
                Code::UnanchoredMatch,
                format!(
                    "`{}` matches anywhere in the text, so longer texts match too: write `^…$`, or \
                     `.*` if any characters may surround it",
                    pattern.as_str()
                ),
            ),
            Self::Start(start) => (
                Code::OpenHost,
                format!(
                    "`{start}` ends inside the host, so other hosts match too: write a `/` after \
                     the host, or compare `urlHost(…)` in addition to the start `https://`"
                ),
            ),
            Self::End(end) => (
                Code::OpenDomain,
                format!(
                    "other texts end in `{end}` too: for a domain, write `.{end}` or `@{end}`, or \
                     compare with `==`"
                ),
            ),
            Self::Empty => (
                Code::AllOfNone,
                "`all` is true for an empty list: write `(size(…) > 0 && ….all(…))`".to_owned(),
            ),
        }
    }
}

impl Place<'_> {
    /// The text that stands there.
    fn text<'c>(&self, call: &'c Call) -> Option<&'c str> {
        let value = self.path.iter().try_fold(&*call.args, |value, name| value.get(name))?;
        let value = if self.is_element { value.get(0)? } else { value };
        let text = value.as_str()?;
        match self.part {
            Part::Whole => Some(text),
            Part::Domain => text.split_once('@').map(|(_, domain)| domain),
            Part::Host => text.split_once("://").and_then(|(_, rest)| rest.split('/').next()),
        }
    }

    /// The value that has the text where it is read.
    fn value(&self, text: String) -> Value {
        let text = match self.part {
            Part::Whole => text,
            Part::Domain => format!("x@{text}"),
            Part::Host => format!("https://{text}/"),
        };
        if self.is_element { json!([text]) } else { Value::String(text) }
    }

    /// The call with this value there.
    fn put(&self, sample: &Call, value: Value) -> Call {
        let mut call = sample.clone();
        let mut at = Arc::make_mut(&mut call.args);
        for name in &self.path {
            if !at.is_object() {
                *at = Value::Object(Map::new());
            }
            at = &mut at[*name];
        }
        *at = value;
        call
    }
}

/// Texts in which the pattern is found and that are longer than what it describes.
fn longer(pattern: &Pattern, known: Option<&str>) -> Vec<String> {
    let bases = known.into_iter().chain([pattern.example()]);
    let longer = bases.filter(|base| pattern.is_match(base)).flat_map(|base| {
        let after = [format!("{base}.evil.test"), format!("{base} and more")];
        let before = [format!("evil-{base}"), format!("evil {base}")];
        let (opens, closes) = pattern.opens();
        let lines = [format!("evil\n{base}\nevil")];
        let after = after.into_iter().filter(move |_| closes);
        let before = before.into_iter().filter(move |_| opens);
        after.chain(before).chain(lines)
    });
    longer.filter(|text| pattern.is_match(text)).collect()
}

/// Whether the text is the start of a URL that stops inside its host.
fn ends_in_host(text: &str) -> bool {
    let host = text.split_once("://").map(|(_, rest)| rest);
    host.is_some_and(|host| !host.is_empty() && !host.contains(['/', '?', '#']))
}

/// A URL of another host that begins so. Behind a port, what came before is the name of a user.
fn beyond_host(start: &str) -> String {
    let host = start.split_once("://").map_or("", |(_, host)| host);
    let between = match host.chars().last() {
        _ if host.contains(':') => "@",
        Some('.' | '@') => "",
        _ => ".",
    };
    format!("{start}{between}evil.test/")
}

/// Whether the text is a domain without a dot before it.
fn is_domain(text: &str) -> bool {
    let letters = |byte: u8| byte.is_ascii_alphanumeric() || b".-".contains(&byte);
    text.contains('.') && !text.starts_with(['.', '-']) && text.bytes().all(letters)
}
