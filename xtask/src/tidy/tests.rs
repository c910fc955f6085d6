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

/// What the rule finds in a list of these rows, beside the pages 1, 2 and 10 and the other files.
fn in_list(rows: &str) -> Vec<String> {
    let list = format!("# Decisions\n\n| Number | Decision | Status |\n|---|---|---|\n{rows}");
    decisions::decisions_are_listed(&Tree::of(&[
        ("docs/decisions/0001-a.md", ""),
        ("docs/decisions/0002-b.md", ""),
        ("docs/decisions/0010-c.md", ""),
        ("docs/decisions/README.md", &list),
        ("docs/decisions/dependencies.md", ""),
        ("docs/decisions/picture.svg", ""),
    ]))
}

const A: &str = "| [1](0001-a.md) | It is so. | accepted |\n";
const B: &str = "| [2](0002-b.md) | It is so. | superseded in part by 10 |\n";
const C: &str = "| [10](0010-c.md) | It is so. | accepted |\n";

#[test]
fn a_whole_list_of_decisions_passes() {
    assert!(in_list(&[A, B, C].concat()).is_empty());
}

#[test]
fn a_decision_without_a_row_is_found() {
    let mention = "\nSee [2](0002-b.md).\n";
    let row = "docs/decisions/0002-b.md: add its row to docs/decisions/README.md";
    assert_eq!(in_list(&[A, C, mention].concat()), [row]);
    let without_a_list = Tree::of(&[("docs/decisions/0001-a.md", "")]);
    assert_eq!(decisions::decisions_are_listed(&without_a_list).len(), 1);
}

#[test]
fn a_row_without_a_page_is_found() {
    let gone = "| [11](0011-d.md) | It was so. | accepted |\n";
    let found = in_list(&[A, B, C, gone].concat());
    assert_eq!(found, ["docs/decisions/README.md:8: there is no page `0011-d.md`"]);
}

#[test]
fn a_row_with_the_number_of_another_page_is_found() {
    let found = in_list(&[A, "| [3](0002-b.md) | It is so. | accepted |\n", C].concat());
    assert_eq!(found, ["docs/decisions/README.md:6: `0002-b.md` has another number than 3"]);
}

#[test]
fn a_row_out_of_order_or_twice_is_found() {
    let rule = "one row each, by number";
    let behind = format!("docs/decisions/README.md:7: `0002-b.md` comes after `0010-c.md`; {rule}");
    assert_eq!(in_list(&[A, C, B].concat()), [behind]);
    let twice = format!("docs/decisions/README.md:7: `0002-b.md` comes after `0002-b.md`; {rule}");
    assert_eq!(in_list(&[A, B, B, C].concat()), [twice]);
}

/// The lines that the rule names in a decision of this text.
fn long_passages(text: &str) -> Vec<String> {
    let found =
        in_file(decisions::paragraphs_of_decisions_are_short, "docs/decisions/0001-a.md", text);
    found.iter().map(|line| line.split(':').nth(1).unwrap().to_owned()).collect()
}

#[test]
fn a_paragraph_of_too_many_words_is_found() {
    let (most, rest) = ("word\n".repeat(60), "word ".repeat(40));
    assert!(long_passages(&format!("# 1. A\n\n{most}{rest}")).is_empty());
    assert_eq!(long_passages(&format!("# 1. A\n\n{most}{rest}word")), ["3"]);
    assert!(long_passages(&format!("{most}\n{most}\n## B\n{most}")).is_empty());
}

#[test]
fn an_item_of_too_many_words_is_found_with_all_that_belongs_to_it() {
    let words = "word ".repeat(60);
    for marker in ["-", "*", "12."] {
        assert!(
            long_passages(&format!("{words}\n{marker} {words}\n  {marker} {words}\n")).is_empty()
        );
        assert_eq!(long_passages(&format!("A:\n\n{marker} {words}\n  {words}\n")), ["3"]);
    }
    assert_eq!(long_passages(&format!("- {words}\n\n  {words}\n")), ["1"]);
    assert!(long_passages(&format!("- {words}\n\n{words}\n")).is_empty());
    assert_eq!(long_passages(&format!("*A* {words}\n*B* {words}\n")), ["1"]);
}

#[test]
fn tables_code_and_other_pages_may_have_more_words() {
    let words = "word ".repeat(101);
    assert!(long_passages(&format!("| A |\n|---|\n| {words} |\n\n```\n{words}\n```\n")).is_empty());
    assert_eq!(long_passages(&format!("```\n```\n{words}\n")), ["3"]);
    let rule = decisions::paragraphs_of_decisions_are_short;
    assert!(in_file(rule, "docs/decisions/dependencies.md", &words).is_empty());
    assert!(in_file(rule, "docs/run-it.md", &words).is_empty());
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

#[test]
fn a_word_that_a_term_replaces_is_found_in_every_text_that_a_user_reads() {
    let rule = terms::texts_use_the_terms;
    let found = |path: &str, text: &str| in_file(rule, path, text).len();
    for (path, text) in [
        ("web/pages/app/x.html", "<p>The tool\nanswered.</p>"),
        ("web/mail/x.txt", "Ask whoever runs it."),
        ("web/assets/x.js", "say(\"It ran out.\");"),
        ("docs/x.md", "Nothing of it\nis told."),
        ("README.md", "It works no\nmore."),
        ("crates/http-api/api/x.yaml", "description: \"It stands.\""),
        ("crates/gate/src/x.rs", "const X: &str = \"it is no \\\n     more\";"),
        ("crates/server/src/cli/x.rs", "/// Stops at once.\nstruct X;"),
    ] {
        assert_eq!(found(path, text), 1, "{path}");
    }
}

#[test]
fn code_comments_tests_and_excepted_phrases_are_free_to_use_any_word() {
    let rule = terms::texts_use_the_terms;
    for (path, text) in [
        ("web/pages/app/x.html", "No answer means no. An answer_id, and a stand-in."),
        ("web/assets/x.js", "const told = answer(\"alone\");"),
        ("docs/x.md", "```sh\ntell it\n```\nThe word `alone`, `no\nmore` and no more\nthan 3."),
        ("docs/decisions/0001-x.md", "It is told."),
        ("CHANGELOG.md", "It is told."),
        ("crates/http-api/api/x.yaml", "answer: { $ref: \"#/x\" }\nrequired: [answer]"),
        ("crates/http-api/api/examples/answers.yaml", "x: \"It is told.\""),
        (
            "crates/gate/src/x.rs",
            "/// It is told.\nconst X: &str = \"alone\";\nlet x = \"{told} `alone` \";",
        ),
        ("crates/gate/src/x/tests.rs", "const X: &str = \"it is told\";"),
    ] {
        assert_eq!(in_file(rule, path, text), [""; 0], "{path}");
    }
}

#[test]
fn the_line_of_a_word_is_that_of_the_file() {
    let text = "//! An x.\nconst X: &str = \"it \\\n    is told\";\n";
    let found = in_file(terms::texts_use_the_terms, "crates/gate/src/x.rs", text);
    let line = "crates/gate/src/x.rs:3: `told`; say: shows, says, returns, reports";
    assert_eq!(found, [line]);
}
