//! The rules about the project's other files: manifests, migrations and pages.

use std::collections::BTreeSet;

use super::tree::{File, Tree};

/// The page whose names must exist.
const ARCHITECTURE: &str = "docs/architecture.md";

/// The page that says what each library is for.
const DEPENDENCIES: &str = "docs/decisions/dependencies.md";

/// Endings of names that can only be files.
const FILE_ENDINGS: [&str; 6] = [".rs", ".md", ".toml", ".sql", ".yaml", ".html"];

/// Words that speak of where the project was written, and the one file that may hold each. Put
/// together so that this file does not hold them.
const FOREIGN: [(&str, &str); 2] =
    [(concat!("/wo", "rk/"), ""), (concat!("../sha", "red"), "xtask/src/test.rs")];

/// Every package takes the lints of the workspace.
pub(crate) fn packages_take_the_lints(tree: &Tree) -> Vec<String> {
    let ours = |file: &&File| !file.text.contains("\n[workspace]\n");
    let manifests = tree.files().iter().filter(|file| file.path.ends_with("/Cargo.toml"));
    let manifests = manifests.filter(ours);
    let without = manifests.filter(|file| !file.text.contains("[lints]\nworkspace = true"));
    without.map(|file| format!("{}: add `[lints]` with `workspace = true`", file.path)).collect()
}

/// Every migration is named by the store that applies it.
pub(crate) fn migrations_are_listed(tree: &Tree) -> Vec<String> {
    let migrations = tree.under("migrations").filter(|file| file.has_ending("sql"));
    let listed = |file: &File| {
        let name = file.path.rsplit('/').next().unwrap_or_default();
        tree.under("crates/store-postgres").any(|source| source.text.contains(name))
    };
    let forgotten = migrations.filter(|file| !listed(file));
    forgotten.map(|file| format!("{}: `store-postgres` does not list it", file.path)).collect()
}

/// Files and types that the architecture page names are there.
pub(crate) fn architecture_names_what_exists(tree: &Tree) -> Vec<String> {
    let Some(page) = tree.file(ARCHITECTURE) else { return Vec::new() };
    let known = words_of_rust(tree);
    let mut found = Vec::new();
    for (number, name) in quoted(page) {
        let gone = if is_path(tree, name) { !exists(tree, name) } else { !is_known(&known, name) };
        if gone {
            found.push(format!("{ARCHITECTURE}:{number}: `{name}` is not there"));
        }
    }
    found
}

/// Every library that the workspace names has its line on the page of dependencies.
pub(crate) fn dependencies_are_explained(tree: &Tree) -> Vec<String> {
    let text = |path| tree.file(path).map(|file| file.text.as_str()).unwrap_or_default();
    let sections = text("Cargo.toml").split("\n[");
    let section = sections.filter_map(|section| section.strip_prefix("workspace.dependencies]"));
    let lines = section.flat_map(str::lines).filter(|line| !line.contains("path ="));
    let names = lines.filter_map(|line| line.split_once(" = ")).map(|(name, _)| name);
    let silent = names.filter(|name| !text(DEPENDENCIES).contains(&format!("`{name}`")));
    silent.map(|name| format!("{DEPENDENCIES}: say what `{name}` is for")).collect()
}

/// The project does not speak of the place it was written in.
pub(crate) fn the_project_speaks_of_itself(tree: &Tree) -> Vec<String> {
    let mut found = Vec::new();
    for file in tree.files() {
        for (word, _) in FOREIGN.iter().filter(|(_, home)| *home != file.path) {
            let lines = file.lines().filter(|(_, line)| line.contains(word));
            found.extend(lines.map(|(number, _)| {
                format!("{}:{number}: holds `{word}`, which is no part of the project", file.path)
            }));
        }
    }
    found
}

/// What stands between backticks on the page, outside blocks of code.
fn quoted(page: &File) -> Vec<(usize, &str)> {
    let mut in_code = false;
    let mut found = Vec::new();
    for (number, line) in page.lines() {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
        } else if !in_code {
            found.extend(line.split('`').skip(1).step_by(2).map(|name| (number, name)));
        }
    }
    found
}

/// Whether the name reads as a file or folder of the checkout, and not as a route, a media
/// type or a pattern.
fn is_path(tree: &Tree, name: &str) -> bool {
    let plain = |character: char| character.is_ascii_alphanumeric() || "._-/".contains(character);
    if name.starts_with('/') || !name.chars().all(plain) {
        return false;
    }
    let inner = name.split_once('/').is_some_and(|(first, _)| exists(tree, first));
    inner || FILE_ENDINGS.iter().any(|ending| name.ends_with(ending))
}

/// Looks from the root and from the folder of the crates.
fn exists(tree: &Tree, path: &str) -> bool {
    tree.has(path) || tree.has(&format!("crates/{path}"))
}

/// Whether every part of a name that reads as Rust's is used somewhere in Rust.
fn is_known(known: &BTreeSet<&str>, name: &str) -> bool {
    let parts: Vec<&str> = name.trim_end_matches("()").split("::").collect();
    let is_word = |part: &&str| !part.is_empty() && part.chars().all(is_word_character);
    let reads_as_rust = parts.iter().all(is_word) && (parts.len() > 1 || is_type(name));
    !reads_as_rust || parts.iter().all(|part| known.contains(part))
}

fn is_type(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_uppercase())
        && name.chars().any(|character| character.is_ascii_lowercase())
}

fn words_of_rust(tree: &Tree) -> BTreeSet<&str> {
    tree.rust()
        .flat_map(|file| file.text.split(|character| !is_word_character(character)))
        .collect()
}

fn is_word_character(character: char) -> bool {
    character == '_' || character.is_ascii_alphanumeric()
}
