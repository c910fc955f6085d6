//! The policies and the call that every engine gets: rules of a pattern over the tool and two to
//! four comparisons, of which only the last rule holds.

use serde_json::{Value, json};

pub(crate) const TOOL: &str = "pg-main.orders_update";
pub(crate) const AGENT: &str = "support";

/// How the rules are spread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// One rule in five covers the tool.
    Mixed,
    /// Every rule covers the tool.
    Dense,
    /// Every rule covers the tool, and no test for equality tells rules apart.
    Hostile,
}

/// One comparison of a rule.
#[derive(Debug, Clone)]
pub(crate) enum Test {
    AmountAbove(i64),
    Currency(&'static str),
    EmailEnds(String),
    TableIn([String; 5]),
    Agent(String),
    ItemsAbove(i64),
}

#[derive(Debug, Clone)]
pub(crate) struct Rule {
    pub(crate) pattern: String,
    pub(crate) tests: Vec<Test>,
}

#[derive(Debug)]
pub(crate) struct Workload {
    pub(crate) rules: Vec<Rule>,
    pub(crate) args: Value,
}

impl Workload {
    pub(crate) fn new(kind: Kind, size: usize) -> Self {
        let mut rules: Vec<Rule> = (0..size - 1).map(|number| rule(kind, number)).collect();
        let tests = vec![Test::AmountAbove(100), Test::Currency("EUR")];
        rules.push(Rule { pattern: "pg-main.orders_*".to_owned(), tests });
        Self { rules, args: args() }
    }

    /// The rules as a policy of ours.
    pub(crate) fn document(&self) -> String {
        let mut text = "schema: 1\ndefault: { outcome: deny }\nrules:\n".to_owned();
        for (number, rule) in self.rules.iter().enumerate() {
            let when = serde_json::to_string(&rule.cel()).unwrap_or_default();
            let outcome = if number % 2 == 0 { "allow" } else { "deny" };
            text += &format!(
                "- {{ id: \"r{number}\", match: \"{}\", when: {when}, outcome: {outcome} }}\n",
                rule.pattern
            );
        }
        text
    }
}

impl Rule {
    /// The comparisons in CEL.
    pub(crate) fn cel(&self) -> String {
        let tests = self.tests.iter().map(|test| match test {
            Test::AmountAbove(bound) => format!("args.amount > {bound}"),
            Test::Currency(word) => format!("args.currency == '{word}'"),
            Test::EmailEnds(end) => format!("args.customer.email.endsWith('{end}')"),
            Test::TableIn(tables) => format!("args.table in ['{}']", tables.join("', '")),
            Test::Agent(name) => format!("agent.name == '{name}'"),
            Test::ItemsAbove(count) => format!("args.count > {count}"),
        });
        tests.collect::<Vec<_>>().join(" && ")
    }

    /// Whether the pattern covers the tool, for engines that have no patterns of their own.
    pub(crate) fn covers(&self, tool: &str) -> bool {
        let mut parts = self.pattern.split('*');
        let first = parts.next().unwrap_or_default();
        let Some(mut rest) = tool.strip_prefix(first) else { return false };
        let parts: Vec<&str> = parts.collect();
        let Some((last, middle)) = parts.split_last() else { return rest.is_empty() };
        for part in middle {
            match rest.split_once(part) {
                Some((_, after)) => rest = after,
                None => return false,
            }
        }
        rest.ends_with(last)
    }
}

fn rule(kind: Kind, number: usize) -> Rule {
    let covers = kind != Kind::Mixed || number % 5 == 0;
    let pattern = if covers {
        ["pg-main.*", "*_update", "pg-main.orders_*", "*orders*", TOOL][number % 5].to_owned()
    } else {
        match number % 4 {
            0 => "crm.*".to_owned(),
            1 => "*.delete".to_owned(),
            2 => format!("*.send_{number}"),
            _ => format!("shop-{number}.refund"),
        }
    };
    let above = 100_000 + number as i64;
    let tests = if kind == Kind::Hostile {
        vec![Test::AmountAbove(above), Test::ItemsAbove(1_000 + number as i64)]
    } else {
        let tables = [0, 1, 2, 3, 4].map(|table| format!("table_{number}_{table}"));
        match number % 4 {
            0 => vec![Test::AmountAbove(10), Test::TableIn(tables)],
            1 => vec![Test::EmailEnds(format!("@company{number}.example")), Test::Currency("EUR")],
            2 => vec![
                Test::Agent(format!("agent-{number}")),
                Test::AmountAbove(above),
                Test::Currency("EUR"),
            ],
            _ => vec![
                Test::AmountAbove(10),
                Test::Agent(format!("agent-{number}")),
                Test::TableIn(tables),
                Test::ItemsAbove(1),
            ],
        }
    };
    Rule { pattern, tests }
}

/// About 1 KB with 13 fields at the top.
fn args() -> Value {
    let item = |number: i64| {
        json!({ "sku": format!("SKU-{number:08}"), "title": "A thing of some length", "quantity": number,
            "price": 1_990 + number, "tags": ["new", "sale"] })
    };
    json!({
        "amount": 1_250, "currency": "EUR", "table": "orders", "count": 3, "order": "ord_01J9Z8",
        "customer": { "id": "cus_184467", "email": "ann@example.org", "name": "Ann Example",
            "address": { "street": "Example Street 12", "city": "Vienna", "country": "AT" } },
        "items": [item(1), item(2), item(3)], "note": "Please deliver in the afternoon, second floor.",
        "paid": true, "channel": "web", "created": "2026-10-01T12:00:00Z",
        "shipping": { "method": "express", "cost": 990, "insured": false },
        "reference": "0000-1111-2222-3333",
    })
}
