use super::*;

/// Two crates of ours, one of which uses the other and a library, and a third for tests.
fn metadata() -> Metadata {
    let package = |name: &str, more: &str, dependencies: &str| {
        format!(
            r#"{{"name":"{name}","version":"0.3.0","id":"path+file:///w/{name}#0.3.0","source":null,
                "dependencies":[{dependencies}],"targets":[],"features":{{"quick":[]}},{more}
                "manifest_path":"/w/crates/{name}/Cargo.toml","edition":"2024"}}"#
        )
    };
    let dependency = |name: &str, kind: &str, path: &str| {
        format!(
            r#"{{"name":"{name}","source":null,"req":"^1.2","kind":{kind},"optional":false,
                "uses_default_features":false,"features":["std"],"target":null{path}}}"#
        )
    };
    let ours = |name: &str| format!(r#","path":"/w/crates/{name}""#);
    let uses = [
        dependency("seal-words", "null", &ours("seal-words")),
        dependency("serde", "null", ""),
        dependency("testkit", r#""dev""#, &ours("testkit")),
    ];
    let packages = [
        package("deed", r#""description":"Seals.","license":"MIT","#, &uses.join(",")),
        package("seal-words", "", ""),
        package("testkit", "", ""),
    ];
    let text = format!(
        r#"{{"packages":[{}],"workspace_members":[],"resolve":null,"workspace_root":"/w",
            "target_directory":"/w/target","version":1,"metadata":null}}"#,
        packages.join(",")
    );
    MetadataCommand::parse(text).unwrap()
}

#[test]
fn a_crate_comes_with_what_it_is_built_from_and_not_with_what_tests_it() {
    let metadata = metadata();
    let found = built_from(&metadata, &["deed"]).unwrap();
    let names: Vec<&str> = found.iter().map(|package| package.name.as_str()).collect();
    assert_eq!(names, ["deed", "seal-words"]);
    assert!(built_from(&metadata, &["dead"]).is_err());
}

#[test]
fn a_manifest_names_ours_with_the_prefix_and_takes_nothing_from_a_workspace() {
    let metadata = metadata();
    let text = manifest::of(&metadata.packages[0], "");
    let repository = env!("CARGO_PKG_REPOSITORY");
    let text = text.replace(&format!("repository = {repository:?}\n"), "repository = here\n");
    let expected = r#"[package]
name = "chancery-deed"
version = "0.3.0"
edition = "2024"
description = "Seals."
license = "MIT"
repository = here
autobenches = false
autotests = false

[lib]
name = "deed"

[features]
quick = []

[dependencies.seal-words]
package = "chancery-seal-words"
path = "../seal-words"
version = "=0.3.0"
features = ["std"]
default-features = false

[dependencies.serde]
package = "serde"
version = "^1.2"
features = ["std"]
default-features = false
"#;
    assert_eq!(text, expected);
}

#[test]
fn a_crate_without_a_description_is_described_by_the_first_words_of_its_code() {
    let metadata = metadata();
    let text =
        manifest::of(&metadata.packages[1], "//! Words that\n//! seals use.\n//!\n//! More.\n");
    assert!(text.contains("description = \"Words that seals use.\"\n"), "{text}");
    assert!(text.contains("name = \"seal_words\"\n"), "{text}");
    assert_eq!(manifest::published("chancery"), "chancery");
}

#[test]
fn what_is_unpacked_finds_the_others_beside_it() {
    let metadata = metadata();
    let packages: Vec<&Package> = metadata.packages.iter().take(2).collect();
    let expected = r#"[workspace]
resolver = "3"
members = ["chancery-deed-0.3.0", "chancery-seal-words-0.3.0"]

[patch.crates-io]
chancery-deed = { path = "chancery-deed-0.3.0" }
chancery-seal-words = { path = "chancery-seal-words-0.3.0" }
"#;
    assert_eq!(manifest::of_packed(&packages), expected);
}
