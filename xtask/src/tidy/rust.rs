//! The rules about files of Rust.

use super::literals::literals;
use super::tree::{File, Tree};

/// The most lines a file may have; a longer one has two subjects.
const LONGEST: usize = 500;

/// What must not be left in the code, put together so that this file does not hold it.
const UNDONE: [&str; 6] = [
    concat!("TO", "DO"),
    concat!("FIX", "ME"),
    concat!("todo", "!"),
    concat!("unimplemented", "!"),
    concat!("#[", "ignore"),
    concat!("should", "_panic"),
];

/// Where statements for a database may stand, tests aside.
const SQL_HOMES: [&str; 6] = [
    "crates/store-postgres/",
    "crates/connectors/",
    "crates/server/",
    "crates/testkit/",
    "bench/",
    "xtask/",
];

/// How a statement begins, and what else it then holds.
const STATEMENTS: [(&str, &str); 12] = [
    ("select ", " from "),
    ("select ", "("),
    ("insert into ", "("),
    ("insert into ", " select "),
    ("update ", " set "),
    ("delete from ", ""),
    ("create table ", "("),
    ("create schema ", ""),
    ("alter table ", ""),
    ("drop table ", ""),
    ("grant ", " on "),
    ("with ", " as ("),
];

/// Folders whose files are built on their own, without a module above them.
const BUILT_ALONE: [&str; 4] = ["tests", "examples", "benches", "bin"];

/// Every file that is no test says in its first line what it is.
pub(crate) fn files_open_with_what_they_are(tree: &Tree) -> Vec<String> {
    let silent = tree.rust().filter(|file| !file.is_test() && !file.text.starts_with("//!"));
    silent.map(|file| format!("{}:1: open with `//!` and what the file is", file.path)).collect()
}

/// No file that is no test is too long to be read at once.
pub(crate) fn files_stay_short(tree: &Tree) -> Vec<String> {
    let lengths =
        tree.rust().filter(|file| !file.is_test()).map(|file| (file, file.lines().count()));
    lengths
        .filter(|(_, lines)| *lines > LONGEST)
        .map(|(file, lines)| {
            format!("{}: {lines} lines; split it by subject, {LONGEST} at most", file.path)
        })
        .collect()
}

/// Nothing is put off, switched off, or expected to panic.
pub(crate) fn nothing_is_left_undone(tree: &Tree) -> Vec<String> {
    let mut found = Vec::new();
    for file in tree.rust() {
        for (number, line) in file.lines() {
            let undone = UNDONE.iter().filter(|word| line.contains(**word));
            found.extend(undone.map(|word| format!("{}:{number}: holds `{word}`", file.path)));
        }
    }
    found
}

/// Every file belongs to a module or is a target's root; one that does not is never built, and its
/// tests never run.
pub(crate) fn modules_are_named(tree: &Tree) -> Vec<String> {
    let built = |file: &&File| is_root(file) || is_named(tree, file) || is_target(tree, file);
    let forgotten = tree.rust().filter(|file| !built(file));
    forgotten
        .map(|file| format!("{}: no module names it, so it is never built", file.path))
        .collect()
}

/// Statements for a database stand only where the database is.
pub(crate) fn sql_stays_in_its_crates(tree: &Tree) -> Vec<String> {
    let at_home = |file: &&File| SQL_HOMES.iter().any(|home| file.path.starts_with(home));
    let mut found = Vec::new();
    for file in tree.rust().filter(|file| !file.is_test() && !at_home(file)) {
        let statements = literals(&file.text).into_iter().filter(|literal| is_sql(literal.text));
        found.extend(statements.map(|literal| {
            format!(
                "{}:{}: a statement for a database; its place is a store",
                file.path, literal.line
            )
        }));
    }
    found
}

/// Whether the text is a statement for a database.
pub(super) fn is_sql(text: &str) -> bool {
    let words = text.split_whitespace().filter(|word| *word != "\\");
    let text = words.collect::<Vec<_>>().join(" ").to_lowercase();
    STATEMENTS.iter().any(|(start, then)| text.starts_with(start) && text.contains(then))
}

fn is_root(file: &File) -> bool {
    ["main", "lib", "build"].contains(&file.folder_and_stem().1)
}

/// Whether the manifest two folders above gives the file as a target's path.
fn is_target(tree: &Tree, file: &File) -> bool {
    let (folder, stem) = file.folder_and_stem();
    let Some((package, last)) = folder.rsplit_once('/') else { return false };
    let path = format!("path = \"{last}/{stem}.rs\"");
    tree.file(&format!("{package}/Cargo.toml")).is_some_and(|file| file.text.contains(&path))
}

fn is_named(tree: &Tree, file: &File) -> bool {
    let (folder, stem) = file.folder_and_stem();
    let above = [format!("{folder}.rs"), format!("{folder}/lib.rs"), format!("{folder}/main.rs")];
    let mut parents = above.iter().filter_map(|path| tree.file(path)).peekable();
    if parents.peek().is_none() {
        let last = folder.rsplit('/').next().unwrap_or(folder);
        return BUILT_ALONE.contains(&last);
    }
    let declared = format!("mod {stem};");
    parents.any(|parent| parent.text.lines().any(|line| declares(line, &declared)))
}

fn declares(line: &str, declared: &str) -> bool {
    let line = line.trim_start();
    let code = line.split_once("//").map_or(line, |(code, _)| code).trim_end();
    code == declared || code.ends_with(&format!(" {declared}"))
}
