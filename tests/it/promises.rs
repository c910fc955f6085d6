//! The page of promises names tests; each must be there under its name.

use std::{
    fs,
    path::{Path, PathBuf},
};

const PAGE: &str = include_str!("../../docs/promises.md");

/// The targets of the end-to-end tests.
const TARGETS: [&str; 3] = ["tests/it", "tests/faults", "tests/load"];

/// The tests that the page names, as the folders that may hold it, the module and the function.
fn named() -> Vec<(Vec<PathBuf>, &'static str, &'static str)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let quoted = PAGE.split('`').skip(1).step_by(2);
    let test = |text: &'static str| {
        let (module, function) = text.split_once("::")?;
        let place = match module.split_once('/') {
            Some((name, module)) => (vec![root.join("crates").join(name)], module),
            None => (TARGETS.map(|target| root.join(target)).to_vec(), module),
        };
        function.contains('_').then_some((place.0, place.1, function))
    };
    quoted.filter_map(test).collect()
}

/// Whether a file of this module, somewhere in the folder, has the test.
fn has_test(folder: &Path, module: &str, function: &str) -> bool {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.into_iter().any(|path| {
        if path.is_dir() {
            return has_test(&path, module, function);
        }
        path.file_stem().is_some_and(|stem| stem == module)
            && fs::read_to_string(&path).unwrap().contains(&format!("fn {function}()"))
    })
}

#[test]
fn what_is_named_here_exists() {
    let named = named();
    assert!(named.len() > 40, "the page is read wrongly: {}", named.len());
    let gone = named.iter().filter(|(folders, module, name)| {
        !folders.iter().any(|folder| has_test(folder, module, name))
    });
    assert_eq!(gone.collect::<Vec<_>>(), Vec::<&_>::new());
}
