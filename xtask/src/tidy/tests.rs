use super::*;
use literals::literals;

type Rule = fn(&Tree) -> Vec<String>;

/// What the rule finds in a tree of one file.
fn in_file(rule: Rule, path: &str, text: &str) -> Vec<String> {
    rule(&Tree::of(&[(path, text)]))
}

#[test]
fn the_tree_is_tidy() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let found = findings(&root).unwrap();
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn a_file_without_a_header_is_found_unless_it_is_a_test() {
    let rule = rust::files_open_with_what_they_are;
    assert_eq!(in_file(rule, "a/src/x.rs", "fn x() {}").len(), 1);
    assert!(in_file(rule, "a/src/x.rs", "//! An x.\n").is_empty());
    assert!(in_file(rule, "a/src/tests.rs", "fn x() {}").is_empty());
}

#[test]
fn a_file_over_the_budget_is_found() {
    let rule = rust::files_stay_short;
    assert!(in_file(rule, "a/src/x.rs", &"\n".repeat(500)).is_empty());
    assert_eq!(in_file(rule, "a/src/x.rs", &"\n".repeat(501)).len(), 1);
}

#[test]
fn what_is_left_undone_is_found_in_tests_too() {
    let rule = rust::nothing_is_left_undone;
    let text = concat!("fn x() {\n    to", "do!()\n}");
    assert_eq!(
        in_file(rule, "a/src/tests.rs", text),
        [concat!("a/src/tests.rs:2: holds `to", "do!`")]
    );
}

#[test]
fn a_file_that_no_module_names_is_found() {
    let rule = rust::modules_are_named;
    let tree = Tree::of(&[
        ("tests/it/main.rs", "mod known;\n// mod forgotten;\n"),
        ("tests/it/known.rs", ""),
        ("tests/it/forgotten.rs", ""),
        ("a/src/lib.rs", "pub(crate) mod x;"),
        ("a/src/x.rs", "mod tests;"),
        ("a/src/x/tests.rs", ""),
        ("a/src/y/z.rs", ""),
        ("a/tests/whole.rs", ""),
    ]);
    let found = rule(&tree);
    let paths: Vec<&str> = found.iter().map(|line| line.split(':').next().unwrap()).collect();
    assert_eq!(paths, ["tests/it/forgotten.rs", "a/src/y/z.rs"]);
}

#[test]
fn a_statement_outside_the_stores_is_found() {
    let rule = rust::sql_stays_in_its_crates;
    let text = "const Q: &str = \"\n    select id\n    from action\";";
    assert_eq!(in_file(rule, "crates/gate/src/x.rs", text).len(), 1);
    assert!(in_file(rule, "crates/gate/src/tests.rs", text).is_empty());
    assert!(in_file(rule, "crates/store-postgres/src/x.rs", text).is_empty());
    let sentence = "const S: &str = \"update the policy first\"; // select a from b";
    assert!(in_file(rule, "crates/gate/src/x.rs", sentence).is_empty());
}

#[test]
fn literals_are_told_from_comments_characters_and_lifetimes() {
    let source = concat!(
        "// \"no\" 'x\n/* \"no\" /* \"no\" */ \"no\" */\n",
        "fn f<'a>(x: &'a str) { g('\"', '\\'', b\"b\\\"yes\", r#\"raw \"yes\"\"#, \"\n\", r\"\\\"); }\n",
        "\"last\"",
    );
    let found: Vec<(usize, &str)> =
        literals(source).into_iter().map(|literal| (literal.line, literal.text)).collect();
    assert_eq!(found, [(3, "b\\\"yes"), (3, "raw \"yes\""), (3, "\n"), (4, "\\"), (5, "last")]);
}

#[test]
fn a_package_without_the_lints_is_found() {
    let rule = project::packages_take_the_lints;
    assert_eq!(in_file(rule, "crates/a/Cargo.toml", "[package]\n").len(), 1);
    assert!(in_file(rule, "crates/a/Cargo.toml", "[lints]\nworkspace = true\n").is_empty());
}

#[test]
fn a_migration_that_the_store_does_not_list_is_found() {
    let tree = Tree::of(&[
        ("migrations/0001_orgs.sql", ""),
        ("migrations/0002_keys.sql", ""),
        ("crates/store-postgres/src/schema.rs", "include_str!(\"../0001_orgs.sql\")"),
    ]);
    let found = project::migrations_are_listed(&tree);
    assert_eq!(found, ["migrations/0002_keys.sql: `store-postgres` does not list it"]);
}

#[test]
fn the_architecture_page_may_name_only_what_exists() {
    let page = "`gate/src/stages.rs` `crates/gate` `Submission` `gate::Submission` `/v1/actions`\n\
                `application/json` `PROXY` `a b`\n```\n`Gone`\n```\n\
                `gate/src/gone.rs` `Gone` `gate::Gone` `gone.md`\n";
    let tree = Tree::of(&[
        ("docs/architecture.md", page),
        ("crates/gate/src/stages.rs", "pub struct Submission; use gate;"),
    ]);
    let found = project::architecture_names_what_exists(&tree).join("\n");
    assert_eq!(
        found,
        "docs/architecture.md:6: `gate/src/gone.rs` is not there\n\
         docs/architecture.md:6: `Gone` is not there\n\
         docs/architecture.md:6: `gate::Gone` is not there\n\
         docs/architecture.md:6: `gone.md` is not there"
    );
}

#[test]
fn two_decisions_with_one_number_are_found() {
    let tree = Tree::of(&[
        ("docs/decisions/0001-a.md", ""),
        ("docs/decisions/0001-b.md", ""),
        ("docs/decisions/dependencies.md", ""),
    ]);
    assert_eq!(decisions::decisions_are_numbered_once(&tree).len(), 1);
}

#[test]
fn a_library_without_its_line_is_found() {
    let manifest = "[workspace]\n\n[workspace.dependencies]\nmodel = { path = \"crates/model\" }\n\
                    # Why.\nring = \"0.17\"\nserde = \"1\"\n\n[profile.dev]\nlto = \"thin\"\n";
    let tree = Tree::of(&[
        ("Cargo.toml", manifest),
        ("docs/decisions/dependencies.md", "| `serde` | JSON |\n"),
    ]);
    let found = project::dependencies_are_explained(&tree);
    assert_eq!(found, ["docs/decisions/dependencies.md: say what `ring` is for"]);
}

#[test]
fn a_word_from_outside_the_project_is_found() {
    let text = concat!("see /wo", "rk/main\n");
    let found = in_file(project::the_project_speaks_of_itself, "docs/README.md", text);
    assert_eq!(found.len(), 1);
}
