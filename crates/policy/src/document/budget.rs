//! Reads `budgets`.

use super::{
    Budget, Cost, MAX_RULES, Measure, Per, Window,
    place::Path,
    reader::{Field, Fields, Reader},
};
use crate::{
    error::Code,
    expr::{self, Decimal},
    tree::{Data, Mark, Node},
};

/// The keys of a budget.
pub(crate) const KEYS: [&str; 6] = ["id", "match", "per", "window", "count", "cost"];
/// The keys of `cost`.
pub(crate) const COST_KEYS: [&str; 4] = ["amount", "currency", "limit", "unit"];

/// Reads the budgets in the document's order.
pub(super) fn budgets(reader: &mut Reader<'_>, field: Option<Field<'_>>) -> Vec<Budget> {
    let Some(field) = field else { return Vec::new() };
    let Some(items) = reader.list(&field) else { return Vec::new() };
    if items.len() > MAX_RULES {
        let message = format!("expected at most {MAX_RULES} budgets, found {}", items.len());
        reader.push(Code::TooLarge, field.node.at, &field.path, message);
        return Vec::new();
    }
    let mut budgets: Vec<Budget> = Vec::new();
    for (place, node) in items.iter().enumerate() {
        let path = Path::Item(&field.path, place);
        budgets.extend(budget(reader, node, &path));
        reader.set_owner(None);
    }
    let ids: Vec<(&str, Mark)> =
        budgets.iter().map(|budget| (budget.id.as_str(), budget.at)).collect();
    reader.unique(ids.into_iter(), &field.path);
    budgets
}

fn budget(reader: &mut Reader<'_>, node: &Node, path: &Path<'_>) -> Option<Budget> {
    let fields = reader.map(node, path, &KEYS)?;
    let id = fields.need(reader, "id");
    let id = reader.id(id);
    reader.set_owner(id.as_deref());
    let globs = fields.need(reader, "match");
    let globs = reader.globs(globs);
    let window = fields.need(reader, "window");
    let windows = Window::ALL.map(|window| (window.as_str(), window));
    let window = window.and_then(|field| reader.word(&field, &windows));
    let per = fields.find("per").map_or_else(Vec::new, |field| per(reader, &field));
    let measure = measure(reader, &fields, node.at, path);
    let (globs, window, measure) = (globs?, window?, measure?);
    Some(Budget { id: id?, globs, per, window, measure, at: node.at })
}

fn per(reader: &mut Reader<'_>, field: &Field<'_>) -> Vec<Per> {
    let words = Per::ALL.map(|per| (per.as_str(), per));
    let items = reader.list(field).unwrap_or_default();
    let mut found: Vec<Per> = Vec::new();
    for (place, node) in items.iter().enumerate() {
        let item = Field { node, path: Path::Item(&field.path, place) };
        match reader.word(&item, &words) {
            Some(per) if found.contains(&per) => {
                reader.push(Code::BadValue, node.at, &item.path, "expected each entry once");
            }
            found_one => found.extend(found_one),
        }
    }
    found
}

fn measure(
    reader: &mut Reader<'_>,
    fields: &Fields<'_>,
    at: Mark,
    path: &Path<'_>,
) -> Option<Measure> {
    match (fields.find("count"), fields.find("cost")) {
        (Some(field), None) => count(reader, &field).map(Measure::Count),
        (None, Some(field)) => cost(reader, &field).map(Box::new).map(Measure::Cost),
        (Some(_), Some(_)) | (None, None) => {
            reader.push(Code::MissingKey, at, path, "expected either `count` or `cost`");
            None
        }
    }
}

fn count(reader: &mut Reader<'_>, field: &Field<'_>) -> Option<u64> {
    if let Data::Int(count) = field.node.data
        && let Ok(count) = count.try_into()
    {
        return Some(count);
    }
    reader.bad_value(field, "expected a number of calls, 0 or more")
}

fn cost(reader: &mut Reader<'_>, field: &Field<'_>) -> Option<Cost> {
    let fields = reader.map(field.node, &field.path, &COST_KEYS)?;
    let amount = fields.need(reader, "amount");
    let amount = reader.expression(amount, expr::amount);
    let currency = fields.find("currency");
    let has_currency = currency.is_some();
    let currency = reader.expression(currency, expr::text);
    let limit = fields.need(reader, "limit").and_then(|field| limit(reader, &field));
    let unit = fields.need(reader, "unit").and_then(|field| unit(reader, &field));
    if has_currency && currency.is_none() {
        return None;
    }
    Some(Cost { amount: amount?, currency, limit: limit?, unit: unit? })
}

fn limit(reader: &mut Reader<'_>, field: &Field<'_>) -> Option<Decimal> {
    let limit = match &field.node.data {
        Data::Int(whole) => Some(Decimal::from(*whole)),
        Data::Text(text) => text.parse().ok(),
        _ => None,
    };
    let limit = limit.filter(|limit: &Decimal| !limit.is_negative());
    limit.or_else(|| {
        let wanted = "expected an amount of 0 or more, a fraction in quotes, such as";
        reader.bad_value(field, format!("{wanted} `\"1250.00\"`"))
    })
}

fn unit(reader: &mut Reader<'_>, field: &Field<'_>) -> Option<String> {
    let text = reader.text(field, "a currency such as `EUR`")?;
    if (1..=16).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return Some(text.to_owned());
    }
    reader.bad_value(field, "expected 1 to 16 letters or digits, such as `EUR`")
}
