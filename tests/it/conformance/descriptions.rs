//! What becomes of the descriptions that makers of public APIs publish: how many operations are tools,
//! and why the others are not.
//!
//! `CHANCERY_API_DESCRIPTIONS` names the folder of two of them, and `CHANCERY_MORE_API_DESCRIPTIONS` of
//! all; `cargo xtask conformance` fetches these.

use std::{collections::BTreeMap, path::Path};

use connectors::{Blueprint, Credential, rest};
use serde_json::{Value, json};

use crate::house::program;

/// The most tools that one connector has.
pub(super) const MOST_TOOLS: usize = 200;

/// Each reason with how often.
type Reasons = &'static [(usize, &'static str)];

/// A description, and what becomes of it.
struct Public {
    file: &'static str,
    tools: usize,
    /// Why operations are not served.
    not_served: Reasons,
    /// Why optional parameters and members of tools are left out.
    parts: Reasons,
}

const ELSEWHERE: &str = "it is served at an address of its own";
const LISTS: &str = "a list in the style `deepObject` with `explode: true`";

/// Those that every run looks at.
const USUAL: [Public; 2] = [
    Public {
        file: "github.json",
        tools: 1_221,
        not_served: &[
            (1, ELSEWHERE),
            (1, "its body is `text/plain` or `text/x-markdown`, and neither JSON nor a form"),
        ],
        parts: &[],
    },
    Public {
        file: "blockfrost.yaml",
        tools: 121,
        not_served: &[
            (6, ELSEWHERE),
            (2, "its body is `application/cbor`, and neither JSON nor a form"),
        ],
        parts: &[],
    },
];

const MORE: [Public; 6] = [
    Public {
        file: "stripe.json",
        tools: 441,
        not_served: &[
            (9, LISTS),
            (1, ELSEWHERE),
            (1, "a list or an object within another in the style `deepObject`"),
        ],
        parts: &[
            (466, LISTS),
            (130, "a list or an object within another in the style `deepObject`"),
            (35, "a single value in the style `deepObject` with `explode: true`"),
            (31, "a single value or a list in the style `deepObject` with `explode: true`"),
        ],
    },
    Public { file: "slack.json", tools: 174, not_served: &[], parts: &[] },
    Public {
        file: "kubernetes.json",
        tools: 839,
        not_served: &[(6, "tools do not have the method OPTIONS")],
        parts: &[],
    },
    Public { file: "bitbucket.json", tools: 305, not_served: &[], parts: &[] },
    Public { file: "twilio.json", tools: 195, not_served: &[], parts: &[] },
    Public {
        file: "jira.json",
        tools: 498,
        not_served: &[(1, "its body is `multipart/form-data`, and neither JSON nor a form")],
        parts: &[(2, "a list or an object within another in the style `form`")],
    },
];

#[test]
fn public_descriptions_become_tools_and_what_does_not_has_a_reason() {
    let Some(folder) = program("CHANCERY_API_DESCRIPTIONS") else { return };
    become_tools(&USUAL, &folder);
}

#[test]
fn descriptions_of_other_makers_become_tools_and_what_does_not_has_a_reason() {
    // `cargo xtask conformance` fetches and names them.
    let Some(folder) = program("CHANCERY_MORE_API_DESCRIPTIONS") else { return };
    become_tools(&MORE, &folder);
}

fn become_tools(descriptions: &[Public], folder: &Path) {
    println!("| description | operations | tools | not served | parts left out | bytes |");
    println!("|---|---|---|---|---|---|");
    let mut others = Vec::new();
    for Public { file, tools, not_served, parts } in descriptions {
        let description = std::fs::read_to_string(folder.join(file)).unwrap();
        let converted = rest::convert(&description, &[]).unwrap();
        let (left_parts, left): (Vec<_>, Vec<_>) =
            converted.left_out.iter().partition(|(of, _)| of.contains(", "));
        let operations = converted.tools + left.len();
        let row = [operations, converted.tools, left.len(), left_parts.len(), converted.bytes];
        println!("| {file} | {} |", row.map(|figure| figure.to_string()).join(" | "));
        let found = (converted.tools, reasons(&left), reasons(&left_parts));
        if found != (*tools, expected(not_served), expected(parts)) {
            others.push(format!("{file}: {found:#?}"));
        }
        let listed = converted.config["tools"].as_array().unwrap();
        assert_eq!(listed.iter().find(|tool| has_an_empty_body(tool)), None, "{file}");
        // A connector accepts each of them.
        for tools in listed.chunks(MOST_TOOLS) {
            let found = connectors::findings(&blueprint("https://api.example.com", tools)).unwrap();
            assert!(found.is_empty(), "{file}: {found:?}");
        }
    }
    assert!(others.is_empty(), "{}", others.join("\n"));
}

/// How often each reason is given. The part of the operation that a reason begins with is left away.
fn reasons(left: &[&(String, String)]) -> BTreeMap<String, usize> {
    let mut reasons = BTreeMap::new();
    for (_, reason) in left {
        let names_a_part =
            reason.starts_with("its body's `") || reason.starts_with("its parameter `");
        let of_part = reason.split_once("`: ").filter(|_| names_a_part);
        let reason = of_part.map_or(reason.as_str(), |(_, reason)| reason);
        *reasons.entry(reason.to_owned()).or_default() += 1;
    }
    reasons
}

fn expected(reasons: Reasons) -> BTreeMap<String, usize> {
    reasons.iter().map(|(count, reason)| ((*reason).to_owned(), *count)).collect()
}

/// Whether no argument fills the body of the tool.
fn has_an_empty_body(tool: &Value) -> bool {
    let body = &tool["body"];
    let members = body["members"].as_array();
    body.is_object() && body["arg"].is_null() && members.is_none_or(Vec::is_empty)
}

/// A connector with these tools that needs no credential.
pub(super) fn blueprint(base_url: &str, tools: &[Value]) -> Blueprint {
    Blueprint {
        org: "org_01h2xcejqtf2nbrexx3vqjhp41".parse().unwrap(),
        id: "con_01h2xcejqtf2nbrexx3vqjhp41".parse().unwrap(),
        name: "public".parse().unwrap(),
        kind: rest::KIND.to_owned(),
        revision: 1,
        config: json!({"base_url": base_url, "auth": "none", "tools": tools}),
        credential: Credential::default(),
        tools: BTreeMap::new(),
    }
}
