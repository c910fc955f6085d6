//! Templates ask for what their pages have, and for fields that the interface has.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use minijinja::Environment;
use serde_json::Value;

use crate::{
    console::views::{
        ActionPage, ActionsPage, AgainPage, AgentPage, AgentStopPage, AgentsPage, ApprovalsPage,
        ConfirmPage, ConnectorPage, ConnectorsPage, DeedPage, JoinPage, LedgerPage, LinkPage,
        LoginPage, MorePage, OrgsPage, OverviewPage, Page, PoliciesPage, PolicyPage, RefusedPage,
        SettingsPage, StopPage, ToolPage, WebhookPage, WebhooksPage,
    },
    description::Validator,
};

/// What pages in the shell have beside their own members, and what every page has.
const OF_SHELL: [&str; 3] = ["shell", "people", "unread"];
const OF_ALL: [&str; 2] = ["now", "area"];
/// What a page of a list has whether or not it has fields for filters.
const OF_LIST: [&str; 2] = ["filters", "query"];

/// Names of fields that are read and that no schema of the interface has, by what they are of.
#[rustfmt::skip]
const BESIDE: [(&str, &[&str]); 8] = [
    ("loops of templates",              &["first"]),
    ("pages and their shell",           &["href", "is_fresh", "me", "more", "place", "q", "why", "word"]),
    ("links to the routes of forms",    &["approve", "deny"]),
    ("functions of templates",          &["adds", "ago", "bars", "begins", "clock", "columns", "counted", "day",
                                          "had_before", "half", "has_after", "head", "height", "icon", "is_near", "iso",
                                          "lasting", "lead", "look", "max", "minute", "others", "row", "sentence", "sentences",
                                          "share", "short", "step", "table", "text", "top", "untold", "what", "whole",
                                          "width", "words", "y"]),
    ("the context of an approval",      &["args_not_named", "args_not_shown", "args_shown"]),
    ("the target of a connector",       &["base_url", "database", "host", "port", "read_user", "search_path", "tls_name"]),
    ("the detail of a finding, a deed and the overview's attention",
                                        &["amends", "expected_digest", "fields_left_out", "observed", "observed_digest",
                                          "prev", "rows_left_out", "withheld"]),
    ("a config and its schema",          &["auth", "enum", "maximum", "minimum", "properties"]),
];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../web/pages")
}

/// Every template by its name.
fn templates() -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for below in ["", "app", "auth"] {
        for entry in fs::read_dir(folder().join(below)).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|kind| kind == "html") {
                let name = path.strip_prefix(folder()).unwrap().to_str().unwrap().to_owned();
                found.insert(name, fs::read_to_string(&path).unwrap());
            }
        }
    }
    found
}

/// The names that the text calls.
fn called(text: &str) -> BTreeSet<&str> {
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    text.split('(').filter_map(|before| before.rsplit(|letter| !is_part(letter)).next()).collect()
}

/// The templates that one of them takes in.
fn takes_in(text: &str) -> impl Iterator<Item = &str> {
    ["extends \"", "include \"", "from \"", "import \""].into_iter().flat_map(move |verb| {
        text.split(verb).skip(1).map(|rest| rest.split('"').next().unwrap_or_default())
    })
}

/// The names that a page of this template is asked for, and those that one of its templates sets.
fn asked<'t>(
    all: &'t BTreeMap<String, String>,
    template: &'t str,
) -> (BTreeSet<String>, BTreeSet<&'t str>) {
    let mut environment = Environment::new();
    let (mut open, mut seen) = (vec![template], BTreeSet::new());
    let (mut names, mut set) = (BTreeSet::new(), BTreeSet::new());
    while let Some(name) = open.pop() {
        if !seen.insert(name) {
            continue;
        }
        let text = &all[name];
        environment.add_template(name, text).unwrap();
        let called = called(text);
        let undeclared = environment.get_template(name).unwrap().undeclared_variables(false);
        names.extend(undeclared.into_iter().filter(|name| !called.contains(name.as_str())));
        // A template that is included has what the one around it sets.
        set.extend(text.split("{% set ").skip(1).filter_map(|rest| rest.split(' ').next()));
        open.extend(takes_in(text));
    }
    (names, set)
}

/// The template of a page, and the names of its members.
fn page<P: Page + Default>() -> (&'static str, BTreeSet<String>) {
    let Value::Object(members) = serde_json::to_value(P::default()).unwrap() else { panic!() };
    (P::TEMPLATE, members.into_iter().map(|(name, _)| name).collect())
}

fn pages() -> Vec<(&'static str, BTreeSet<String>)> {
    vec![
        page::<ActionPage>(),
        page::<ActionsPage>(),
        page::<AgainPage>(),
        page::<AgentPage>(),
        page::<AgentStopPage>(),
        page::<AgentsPage>(),
        page::<ApprovalsPage<'_>>(),
        page::<ConfirmPage<'_>>(),
        page::<ConnectorPage>(),
        page::<ConnectorsPage>(),
        page::<DeedPage>(),
        page::<JoinPage<'_>>(),
        page::<LedgerPage>(),
        page::<LinkPage<'_>>(),
        page::<LoginPage<'_>>(),
        page::<MorePage>(),
        page::<OrgsPage<'_>>(),
        page::<OverviewPage<'_>>(),
        page::<PoliciesPage>(),
        page::<PolicyPage<'_>>(),
        page::<RefusedPage<'_>>(),
        page::<SettingsPage<'_>>(),
        page::<StopPage>(),
        page::<ToolPage>(),
        page::<WebhookPage<'_>>(),
        page::<WebhooksPage<'_>>(),
    ]
}

#[test]
fn every_template_asks_for_what_its_page_has() {
    let all = templates();
    let mut whole: BTreeSet<_> = pages().iter().map(|(template, _)| *template).collect();
    for (template, members) in pages() {
        let (asked, set) = asked(&all, template);
        let is_in_shell = template.starts_with("app/");
        let given = |name: &str| {
            OF_ALL.contains(&name)
                || set.contains(name)
                || is_in_shell && OF_SHELL.contains(&name)
                || members.contains(name)
        };
        let missing: Vec<_> = asked.iter().filter(|name| !given(name)).collect();
        assert!(missing.is_empty(), "{template} asks for {missing:?}, which its page has not");
        let is_of_page = |name: &&String| !OF_LIST.contains(&name.as_str());
        let idle: Vec<_> = members.difference(&asked).filter(is_of_page).collect();
        assert!(idle.is_empty(), "{template} does not ask for {idle:?}");
        let mut open = vec![template];
        while let Some(name) = open.pop() {
            for taken in takes_in(&all[name]) {
                if whole.insert(taken) {
                    open.push(taken);
                }
            }
        }
    }
    let known: BTreeSet<&str> = all.keys().map(String::as_str).collect();
    assert_eq!(known, whole, "a template that no page has is not looked at");
}

#[test]
fn templates_read_no_field_that_the_interface_has_not() {
    let description = Validator::embedded().unwrap();
    let mut fields = BTreeSet::new();
    let mut open = vec![description.part("/components/schemas").unwrap()];
    while let Some(value) = open.pop() {
        if let Some(properties) = value.get("properties").and_then(Value::as_object) {
            fields.extend(properties.keys().map(String::as_str));
        }
        match value {
            Value::Object(members) => open.extend(members.values()),
            Value::Array(items) => open.extend(items),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    let mut read = BTreeMap::new();
    for (template, text) in templates() {
        for code in code(&text) {
            read.extend(
                read_in(code).into_iter().map(|field| (field.to_owned(), template.clone())),
            );
        }
    }
    let beside: BTreeSet<&str> =
        BESIDE.iter().flat_map(|(_, names)| names.iter().copied()).collect();
    let unknown: Vec<_> = read
        .iter()
        .filter(|(field, _)| !fields.contains(field.as_str()) && !beside.contains(field.as_str()))
        .collect();
    assert!(unknown.is_empty(), "no schema of the interface has {unknown:?}");
    let idle: Vec<_> = beside.iter().filter(|name| !read.contains_key(**name)).collect();
    assert!(idle.is_empty(), "no template reads {idle:?}");
}

/// The parts of a template between its marks, without texts.
fn code(template: &str) -> impl Iterator<Item = &str> {
    let marked = ["{{", "{%"].into_iter().flat_map(move |mark| template.split(mark).skip(1));
    marked.flat_map(|part| {
        let end = ["}}", "%}"]
            .into_iter()
            .fold(part, |part, mark| part.split(mark).next().unwrap_or_default());
        end.split('"').step_by(2)
    })
}

/// The fields that are read of something.
fn read_in(code: &str) -> Vec<&str> {
    let is_part = |letter: char| letter.is_ascii_lowercase() || letter == '_';
    let is_end = |last: char| last.is_ascii_alphanumeric() || "_)]".contains(last);
    let pieces: Vec<_> = code.split('.').collect();
    let read = pieces.windows(2).filter(|two| two[0].ends_with(is_end));
    let fields = read.filter_map(|two| two[1].split(|letter| !is_part(letter)).next());
    fields.filter(|field| !field.is_empty()).collect()
}
