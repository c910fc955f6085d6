//! Gathers the examples of a crate's README and documentation into one page, for a build script. The
//! page becomes the documentation of a case, whose doc tests are then the examples.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

/// Gathers the examples of the README and of all sources of the crate in this folder.
pub fn gather(folder: &str) {
    let mut sources = vec![Path::new(folder).join("README.md")];
    walk(&Path::new(folder).join("src"), &mut sources);
    write(&sources);
}

/// Gathers the examples of the README alone.
pub fn gather_readme(folder: &str) {
    write(&[Path::new(folder).join("README.md")]);
}

fn walk(folder: &Path, sources: &mut Vec<PathBuf>) {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{folder:?}: {error}"));
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            walk(&path, sources);
        } else if path.extension().is_some_and(|end| end == "rs") {
            sources.push(path);
        }
    }
}

fn write(sources: &[PathBuf]) {
    let page: String = sources.iter().map(|path| examples(path)).collect();
    assert!(!page.is_empty(), "no example in {sources:?}");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("build scripts have it"));
    fs::write(out.join("examples.md"), page).expect("the page is written");
}

/// The examples of one file, each below a line that says where it stands.
fn examples(path: &Path) -> String {
    println!("cargo::rerun-if-changed={}", path.display());
    let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{path:?}: {error}"));
    let is_page = path.extension().is_some_and(|end| end == "md");
    let mut page = String::new();
    let mut within = None;
    for (number, line) in (1..).zip(text.lines()) {
        let bare = line.trim_start();
        let doc = bare.strip_prefix("//!").or_else(|| bare.strip_prefix("///"));
        let Some(doc) = (if is_page { Some(line) } else { doc }) else { continue };
        match (doc.trim().strip_prefix("```"), within) {
            (Some(info), None) => {
                within = Some(is_rust(info));
                if is_rust(info) {
                    page += &format!("`{}:{number}`\n\n```{info}\n", path.display());
                }
            }
            (Some(_), Some(was_rust)) => {
                within = None;
                page += if was_rust { "```\n\n" } else { "" };
            }
            (None, Some(true)) => page += &format!("{doc}\n"),
            (None, Some(false) | None) => {}
        }
    }
    page
}

/// A block is Rust unless it says something else, as rustdoc takes it.
fn is_rust(info: &str) -> bool {
    let tags = ["rust", "no_run", "compile_fail"];
    info.split(',').all(|tag| tag.is_empty() || tags.contains(&tag.trim()))
}
