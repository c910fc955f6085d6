//! Who must say yes: `approval` of a rule, read together with `approvals` of the policy.

use std::{sync::Arc, time::Duration};

use model::{Assurance, DecisionOutcome, Role};

use super::{
    ApprovalClause, Clause, Excluded,
    place::Path,
    reader::{Field, Reader},
};
use crate::{
    error::Code,
    tree::{Data, Mark},
};

/// The keys of `approval`.
pub(crate) const KEYS: [&str; 7] =
    ["from", "count", "expires_in", "exclude", "show", "estimate", "assurance"];
/// The keys of `approvals`.
pub(crate) const POLICY_KEYS: [&str; 1] = ["expires_in"];

const MOST_PEOPLE: i64 = 5;
const MOST_ENTRIES: usize = 50;

impl ApprovalClause {
    /// What the policy asks of people, from what the rule says and what holds for all of
    /// the policy; nothing where the outcome asks nobody.
    pub(crate) fn of(
        outcome: DecisionOutcome,
        clause: Option<Clause>,
        expires_in: Option<Duration>,
    ) -> Option<Arc<Self>> {
        if outcome != DecisionOutcome::RequireApproval {
            return None;
        }
        let clause = clause.unwrap_or_default();
        Some(Arc::new(Self {
            from: clause.from,
            count: clause.count.unwrap_or(1),
            expires_in: clause.expires_in.or(expires_in),
            exclude: clause.exclude.unwrap_or_else(|| vec![Excluded::OnBehalfOf]),
            show: clause.show,
            estimate: clause.estimate,
            assurance: clause.assurance,
        }))
    }
}

/// Reads who must say yes.
pub(super) fn clause(reader: &mut Reader<'_>, field: &Field<'_>) -> Option<Clause> {
    let fields = reader.map(field.node, &field.path, &KEYS)?;
    let (from, _) = texts(reader, fields.find("from"), approver);
    let (show, show_at) = texts(reader, fields.find("show"), shown);
    let exclude = fields.find("exclude").map(|field| excluded(reader, &field));
    Some(Clause {
        from,
        count: fields.find("count").and_then(|field| count(reader, &field)),
        expires_in: reader.span(fields.find("expires_in")),
        exclude,
        show,
        show_at,
        estimate: fields.find("estimate").is_some_and(|field| reader.switch(&field)),
        assurance: fields.find("assurance").and_then(|field| {
            reader.word(&field, &[(Assurance::Session.as_str(), Assurance::Session)])
        }),
    })
}

/// Reads what holds for every approval of the policy.
pub(super) fn policy_wide(reader: &mut Reader<'_>, field: Option<Field<'_>>) -> Option<Duration> {
    let field = field?;
    let fields = reader.map(field.node, &field.path, &POLICY_KEYS)?;
    reader.span(fields.find("expires_in"))
}

fn count(reader: &mut Reader<'_>, field: &Field<'_>) -> Option<u8> {
    if let Data::Int(count @ 1..=MOST_PEOPLE) = field.node.data {
        return u8::try_from(count).ok();
    }
    reader.bad_value(field, format!("expected a number of people from 1 to {MOST_PEOPLE}"))
}

fn excluded(reader: &mut Reader<'_>, field: &Field<'_>) -> Vec<Excluded> {
    let words = Excluded::ALL.map(|value| (value.as_str(), value));
    let items = reader.list(field).unwrap_or_default();
    let fields = items
        .iter()
        .enumerate()
        .map(|(place, node)| Field { node, path: Path::Item(&field.path, place) });
    fields.filter_map(|field| reader.word(&field, &words)).collect()
}

/// Reads a list of texts, each with its place, that pass the check; the check's words say what would have.
fn texts(
    reader: &mut Reader<'_>,
    field: Option<Field<'_>>,
    check: fn(&str) -> Result<(), &'static str>,
) -> (Vec<String>, Vec<Mark>) {
    let Some(field) = field else { return Default::default() };
    let Some(items) = reader.list(&field) else { return Default::default() };
    if items.is_empty() || items.len() > MOST_ENTRIES {
        let message = format!("expected 1 to {MOST_ENTRIES} entries");
        reader.push(Code::BadValue, field.node.at, &field.path, message);
    }
    let mut texts = Vec::new();
    for (place, node) in items.iter().enumerate() {
        let item = Field { node, path: Path::Item(&field.path, place) };
        let Some(text) = reader.text(&item, "a text") else { continue };
        match check(text) {
            Ok(()) => texts.push((text.to_owned(), node.at)),
            Err(wanted) => reader.push(Code::BadValue, node.at, &item.path, wanted),
        }
    }
    texts.into_iter().unzip()
}

fn approver(text: &str) -> Result<(), &'static str> {
    let fits = match text.split_once(':') {
        Some(("role", role)) => role.parse::<Role>().is_ok(),
        Some(("member", member)) => {
            (1..=256).contains(&member.len())
                && member.chars().all(|letter| !letter.is_whitespace() && !letter.is_control())
        }
        _ => false,
    };
    fits.then_some(()).ok_or("expected `role:viewer`, `role:admin`, `role:owner` or `member:…`")
}

fn shown(text: &str) -> Result<(), &'static str> {
    let name = |part: &str| {
        !part.is_empty()
            && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
    };
    let fits = text.len() <= 256
        && text.strip_prefix("args.").is_some_and(|path| path.split('.').all(name));
    fits.then_some(()).ok_or("expected a field of the arguments, such as `args.customer.id`")
}
