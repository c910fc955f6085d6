use std::collections::BTreeMap;

use measures::Measures;
use since::{Area, Cost};
use source::Source;

use super::*;

/// The crate `a` with the files, whose paths begin in its folder `src`.
fn package_of(files: &[(&str, &str)]) -> Package {
    let paths: Vec<String> = files.iter().map(|(path, _)| format!("crates/a/src/{path}")).collect();
    let files: Vec<(&str, &str)> =
        paths.iter().map(String::as_str).zip(files.iter().map(|(_, text)| *text)).collect();
    Package::read(&Tree::of(&files), "a").unwrap()
}

/// Who imports from whom in the crate, as `from > to:line`.
fn imports_of(files: &[(&str, &str)]) -> Vec<String> {
    let package = package_of(files);
    let mut found = Vec::new();
    for (from, imported) in &package.imports {
        let from = package.short_path(*from);
        found.extend(
            imported
                .iter()
                .map(|(to, line)| format!("{from} > {}:{line}", package.short_path(*to))),
        );
    }
    found.sort();
    found
}

/// The files of each circle of the crate.
fn circles_of(files: &[(&str, &str)]) -> Vec<Vec<String>> {
    let package = package_of(files);
    let circles = circles::circles(&package.imports).into_iter().map(|circle| {
        let mut paths: Vec<String> =
            circle.into_iter().map(|file| package.short_path(file).to_owned()).collect();
        paths.sort();
        paths
    });
    circles.collect()
}

fn measures_of(text: &str) -> Measures {
    let mut measures = Measures::default();
    for source in package_of(&[("lib.rs", text)]).sources {
        measures.add(&source);
    }
    measures
}

#[test]
fn two_files_that_import_each_other_are_a_circle() {
    let files = [
        ("lib.rs", "mod x;\nmod y;\nmod z;"),
        ("x.rs", "use crate::y::Y;\npub struct X(Y);"),
        ("y.rs", "use super::x::X;\npub struct Y(Option<Box<X>>);"),
        ("z.rs", "use crate::x::X;\npub struct Z(X);"),
    ];
    assert_eq!(circles_of(&files), [["x.rs", "y.rs"]]);
    assert_eq!(imports_of(&files), ["x.rs > y.rs:1", "y.rs > x.rs:1", "z.rs > x.rs:1"]);
    let shown = circles::shown(&package_of(&files)).join("\n");
    assert_eq!(
        shown,
        "a: 1 circle\n\na circle of 2 files\n  x.rs\n    y.rs (line 1)\n  y.rs\n    x.rs (line 1)"
    );
}

#[test]
fn a_re_export_leads_to_the_file_that_defines() {
    let files = [
        ("lib.rs", "mod x;\nmod y;\npub use x::*;"),
        ("x.rs", "mod inner;\npub(crate) use inner::{Thing, Thing as Other};"),
        ("x/inner.rs", "use crate::y::Y;\npub struct Thing(Y);"),
        ("y.rs", "use crate::x::Other;\npub struct Y(Option<Box<Other>>);"),
    ];
    assert_eq!(imports_of(&files), ["x/inner.rs > y.rs:1", "y.rs > x/inner.rs:1"]);
    assert_eq!(circles_of(&files), [["x/inner.rs", "y.rs"]]);
}

#[test]
fn a_name_of_another_crate_belongs_to_the_file_that_re_exports_it() {
    let files = [
        ("lib.rs", "mod w;\nmod x;\nmod y;\nmod z;"),
        ("w.rs", "pub use crate::x::*;"),
        ("x.rs", "pub use bytes::Bytes;\nuse std::fmt;"),
        ("y.rs", "use crate::x::Bytes;\nuse bytes::Buf;"),
        ("z.rs", "use crate::w::*;\nfn z(_: Bytes) {}"),
    ];
    assert_eq!(imports_of(&files), ["y.rs > x.rs:1", "z.rs > w.rs:1", "z.rs > x.rs:2"]);
}

#[test]
fn a_longer_path_leads_into_the_module_and_not_to_a_function_of_its_name() {
    let files = [
        ("lib.rs", "mod x;\nmod y;\npub fn x() {}"),
        ("x.rs", "pub fn f() {}"),
        ("y.rs", "fn y() {\n    crate::x::f();\n}"),
    ];
    assert_eq!(imports_of(&files), ["y.rs > x.rs:2"]);
}

#[test]
fn a_re_exported_name_that_the_file_uses_itself_is_an_import() {
    let files =
        [("lib.rs", "mod x;\npub use x::X;\n\npub struct Whole(X);"), ("x.rs", "pub struct X;")];
    assert_eq!(imports_of(&files), ["lib.rs > x.rs:4"]);
}

#[test]
fn a_function_of_the_name_of_its_module_is_in_the_file_of_the_module() {
    let files = [
        ("lib.rs", "mod x;\nmod y;\npub use x::x;"),
        ("x.rs", "pub fn x() {}\npub fn f() {}"),
        ("y.rs", "use crate::{x, x::f};"),
    ];
    assert_eq!(imports_of(&files), ["y.rs > x.rs:1"]);
}

#[test]
fn an_imported_module_leads_to_what_is_used_of_it() {
    let files = [
        ("lib.rs", "mod x;\nmod y;"),
        ("x.rs", "mod inner;\npub use inner::make;\npub fn other() {}"),
        ("x/inner.rs", "pub fn make() {}"),
        ("y.rs", "use crate::x;\n\nfn y() {\n    x::make();\n}"),
    ];
    assert_eq!(imports_of(&files), ["y.rs > x/inner.rs:4"]);
}

#[test]
fn what_only_tests_import_is_left_out() {
    let files = [
        (
            "lib.rs",
            "mod x;\nmod y;\n#[cfg(test)]\nmod z;\n#[cfg(feature = \"f\")]\npub mod testing;",
        ),
        (
            "x.rs",
            "#[cfg(test)]\nuse crate::y::Y;\n#[cfg(all(test, unix))]\nfn f() { crate::y::g(); }\n\
             #[cfg(test)]\nmod tests {\n    use super::*;\n    use crate::y::Y;\n}",
        ),
        ("y.rs", "use crate::x::X;"),
        ("z.rs", "use crate::x::X;"),
        ("testing.rs", "use crate::x::X;"),
    ];
    assert_eq!(imports_of(&files), ["y.rs > x.rs:1"]);
    assert_eq!(package_of(&files).sources.len(), 3);
    let with_feature =
        files.map(|(path, text)| (path, text.replace("(test)", "(any(test, unix))")));
    let with_feature: Vec<(&str, &str)> =
        with_feature.iter().map(|(path, text)| (*path, text.as_str())).collect();
    assert_eq!(circles_of(&with_feature), [["x.rs", "y.rs"]]);
}

#[test]
fn a_declaration_of_a_module_is_no_import() {
    let files = [("lib.rs", "mod x;\npub struct A;"), ("x.rs", "use crate::A;\npub struct X;")];
    assert_eq!(imports_of(&files), ["x.rs > lib.rs:1"]);
    assert!(circles_of(&files).is_empty());
}

#[test]
fn a_path_in_a_macro_is_an_import() {
    let files = [
        ("lib.rs", "mod x;\nmod y;"),
        ("x.rs", "fn x() {\n    let _ = vec![1, f(&[crate::y::Y::NEW])];\n}"),
        ("y.rs", "pub struct Y;\nmacro_rules! m { () => { $crate::x::x() } }"),
    ];
    assert_eq!(imports_of(&files), ["x.rs > y.rs:2", "y.rs > x.rs:2"]);
}

#[test]
fn a_path_by_super_or_self_is_an_import() {
    let files = [
        ("lib.rs", "mod x;"),
        ("x.rs", "mod inner;\nfn x() {\n    self::inner::f();\n}"),
        ("x/inner.rs", "pub fn f() {}\nmod deep {\n    fn g() { super::super::x(); }\n}"),
    ];
    assert_eq!(imports_of(&files), ["x.rs > x/inner.rs:3", "x/inner.rs > x.rs:3"]);
}

#[test]
fn a_glob_is_an_import_from_the_file_of_the_module() {
    let files = [
        ("lib.rs", "mod x;"),
        ("x.rs", "mod inner;\nmod kept;\npub use kept::Kept;"),
        ("x/inner.rs", "use super::*;\n\nfn f() -> Kept {\n    Kept::new()\n}"),
        ("x/kept.rs", "pub struct Kept;"),
    ];
    assert_eq!(imports_of(&files), ["x/inner.rs > x.rs:1", "x/inner.rs > x/kept.rs:3"]);
}

#[test]
fn imports_in_a_circle_come_to_an_end() {
    let files = [
        ("lib.rs", "mod x;\nmod y;"),
        ("x.rs", "pub use crate::y::*;\npub use crate::y::Gone;"),
        ("y.rs", "pub use crate::x::*;\npub use crate::x::Gone;\nfn f() { Gone::new(); }"),
    ];
    assert!(circles_of(&files).is_empty());
}

#[test]
fn a_percentile_is_one_of_the_numbers() {
    let numbers: Vec<usize> = (1..=200).rev().collect();
    let found = [50, 95, 99, 100].map(|percent| table::percentile(&numbers, percent));
    assert_eq!(found, [100, 190, 198, 200]);
    assert_eq!(table::percentile(&[7], 50), 7);
    assert_eq!(table::percentile(&[], 50), 0);
}

#[test]
fn a_rate_is_rounded() {
    assert_eq!(table::rate(1, 3, 100), "33.3");
    assert_eq!(table::rate(2, 3, 100), "66.7");
    assert_eq!(table::rate(1, 0, 100), "0.0");
}

#[test]
fn a_function_reaches_from_its_signature_to_its_brace() {
    let measures = measures_of(
        "/// Doc.\n#[inline]\npub fn a(\n    x: u8,\n) {\n}\ntrait T {\n    fn b();\n    fn c() {}\n}\n\
         impl A {\n    fn d() {\n        fn e() {}\n    }\n}\n#[cfg(test)]\nfn f() {\n}",
    );
    assert_eq!(measures.functions, [4, 1, 3, 1]);
    assert_eq!(measures.files, [15]);
}

#[test]
fn public_items_are_counted_with_and_without_a_doc_comment() {
    let measures = measures_of(
        "/// Doc.\npub struct A { pub a: u8 }\npub fn b() {}\npub(crate) fn c() {}\n\
         impl A {\n    /// Doc.\n    pub const D: u8 = 0;\n    pub fn e() {}\n}\n\
         #[cfg(test)]\npub fn f() {}\n#[doc = \"Doc.\"]\npub trait G {}\npub use x::H;",
    );
    assert_eq!((measures.documented, measures.public), (3, 5));
}

#[test]
fn calls_that_can_panic_are_counted_in_macros_too() {
    let measures = measures_of(
        "fn a() {\n    b().unwrap();\n    b.expect(\"c\").d();\n    b.unwrap_or(0);\n    unwrap();\n\
         \x20   println!(\"{}\", [b.unwrap(), b.expect]);\n}\n\
         #[cfg(test)]\nfn c() {\n    b().unwrap();\n    vec![b().unwrap()];\n}",
    );
    assert_eq!(measures.panicking, 3);
}

#[test]
fn definitions_of_macros_are_counted() {
    let measures = measures_of(
        "macro_rules! a { () => {} }\na!();\nfn f() {\n    macro_rules! b { () => {} }\n}",
    );
    assert_eq!(measures.macros, 2);
}

#[test]
fn comments_and_lines_of_code_are_told_from_doc_comments_and_texts() {
    let measures = measures_of(
        "//! Doc.\n\n// One.\n/// Doc with // in it.\nfn a() { // Two.\n    let _ = \"// not\n\n\";\n\
         \x20   /* block */\n} // Three, é.\n#[cfg(test)]\nfn b() {\n    // Not.\n}\n// Four.\n",
    );
    assert_eq!((measures.comments, measures.code), (4, 5));
}

#[test]
fn the_table_has_a_row_for_each_crate_and_a_total() {
    let tree = Tree::of(&[
        ("crates/a/src/lib.rs", "//! A.\n"),
        ("crates/b/src/main.rs", "mod x;\nuse x::X;\nstruct M;\n"),
        ("crates/b/src/x.rs", "use crate::M;\npub struct X(M);\n"),
        ("crates/b/tests/whole.rs", "not Rust"),
        ("crates/testkit/src/lib.rs", "not Rust"),
    ]);
    let shown = summary::shown(&packages(&tree).unwrap());
    assert_eq!(
        shown.get(..4).unwrap(),
        [
            "crate  lines  files  largest file  largest circle  circles",
            "b          5      2             3               2        1",
            "a          1      1             1               0        0",
            "total      6      3             3               2        1",
        ]
    );
}

#[test]
fn a_crate_that_is_not_there_is_named_among_those_that_are() {
    let tree = Tree::of(&[("crates/a/src/lib.rs", ""), ("crates/b/src/lib.rs", "")]);
    let failure = package(&tree, "c").err().unwrap();
    assert_eq!(failure.to_string(), "`c` is none of the crates: a, b");
}

#[test]
fn a_file_that_does_not_parse_is_named_with_the_line() {
    let tree = Tree::of(&[("crates/a/src/lib.rs", "fn a() {}\nfn {}")]);
    let failure = Source::parse(tree.file("crates/a/src/lib.rs").unwrap()).err().unwrap();
    let said = failure.to_string();
    assert!(said.starts_with("could not parse `crates/a/src/lib.rs`, line 2: "), "{said}");
}

#[test]
fn a_change_is_counted_by_area() {
    let tests = BTreeSet::from(["crates/gate/src/model.rs".to_owned()]);
    let printed = "3\t1\tcrates/gate/src/gate.rs\0\
                   4\t0\tcrates/gate/src/case.rs\0\
                   5\t0\tcrates/gate/src/gate/tests.rs\0\
                   1\t0\tcrates/gate/src/model.rs\0\
                   0\t9\t\0crates/gate/src/old.rs\0tests/it/new.rs\0\
                   -\t-\tdocs/picture.png\0";
    let product = Cost { files: 2, added: 7, removed: 1 };
    let tests_of = Cost { files: 2, added: 6, removed: 0 };
    let expected = BTreeMap::from([
        (Area::Product("gate".to_owned()), product),
        (Area::TestsOf("gate".to_owned()), tests_of),
        (Area::Docs, Cost { files: 1, added: 0, removed: 0 }),
        (Area::Tests, Cost { files: 1, added: 0, removed: 9 }),
    ]);
    assert_eq!(since::costs(printed, &tests), expected);
}

#[test]
fn each_path_has_its_area() {
    let area = |path: &str| Area::of(path, &BTreeSet::new()).to_string();
    assert_eq!(area("crates/http-api/api/openapi.yaml"), "HTTP API description");
    assert_eq!(area("crates/http-api/tests/api/a.rs"), "crates/http-api tests");
    assert_eq!(area("crates/store-postgres/src/a.sql"), "migrations and SQL of the store");
    assert_eq!(area("crates/store-postgres/tests/it/a.sql"), "crates/store-postgres tests");
    assert_eq!(area("migrations/0001_a.sql"), "migrations and SQL of the store");
    assert_eq!(area("crates/testkit/src/lib.rs"), "crates/testkit tests");
    assert_eq!(area("crates/deed/fuzz/a.rs"), "crates/deed tests");
    assert_eq!(area("crates/deed/README.md"), "docs");
    assert_eq!(area("CHANGELOG.md"), "docs");
    assert_eq!(area("xtask/src/tests.rs"), "xtask");
    assert_eq!(area("tests/it/main.rs"), "tests");
    assert_eq!(area("Cargo.lock"), "other");
}
