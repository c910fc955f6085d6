//! The manifest of a crate as it is published: nothing of it is taken from a workspace, and the
//! crates that it uses are named with the project's prefix and called what code calls them.

use std::fmt::Write;

use cargo_metadata::{Dependency, DependencyKind, Package};

/// What the names of packages begin with in a registry, which has one `policy` for everybody.
const PREFIX: &str = "chancery";
/// Where all of this is kept: one place for every crate, this one too.
const REPOSITORY: &str = env!("CARGO_PKG_REPOSITORY");

/// The name that a crate has in a registry.
pub(super) fn published(name: &str) -> String {
    if name == PREFIX { name.to_owned() } else { format!("{PREFIX}-{name}") }
}

/// The manifest of the workspace of copies.
pub(super) fn workspace(names: &[&str]) -> String {
    format!("[workspace]\nresolver = \"3\"\nmembers = {names:?}\n")
}

/// What a crate's package is called: its file but for the ending, and the folder in it.
pub(super) fn packed(package: &Package) -> String {
    format!("{}-{}", published(&package.name), package.version)
}

/// The manifest of the workspace of unpacked packages: each finds the others here and nowhere else.
pub(super) fn of_packed(packages: &[&Package]) -> String {
    let folders: Vec<String> = packages.iter().map(|package| packed(package)).collect();
    let names: Vec<&str> = folders.iter().map(String::as_str).collect();
    let mut text = workspace(&names) + "\n[patch.crates-io]\n";
    for (package, folder) in packages.iter().zip(&folders) {
        line(&mut text, format_args!("{} = {{ path = {folder:?} }}", published(&package.name)));
    }
    text
}

/// The manifest of a crate whose `lib.rs` is this.
pub(super) fn of(package: &Package, library: &str) -> String {
    let name = package.name.as_str();
    let mut text = format!(
        "[package]\nname = {:?}\nversion = {:?}\nedition = {:?}\ndescription = {:?}\n",
        published(name),
        package.version.to_string(),
        package.edition.to_string(),
        description(package, library),
    );
    let rust = package.rust_version.as_ref().map(ToString::to_string);
    let readme = package.readme.as_ref().map(ToString::to_string);
    for (key, value) in [
        ("license", package.license.clone()),
        ("repository", Some(REPOSITORY.to_owned())),
        ("rust-version", rust),
        ("readme", readme),
    ] {
        if let Some(value) = value {
            line(&mut text, format_args!("{key} = {value:?}"));
        }
    }
    line(&mut text, format_args!("autobenches = false\nautotests = false\n\n[lib]"));
    line(&mut text, format_args!("name = {:?}\n\n[features]", name.replace('-', "_")));
    for (feature, parts) in &package.features {
        line(&mut text, format_args!("{feature} = {parts:?}"));
    }
    for dependency in &package.dependencies {
        // What tests alone use is published only where it comes from a registry.
        if dependency.kind == DependencyKind::Normal || dependency.path.is_none() {
            text.push_str(&dependency_of(dependency, &package.version.to_string()));
        }
    }
    text
}

/// What the crate says that it is: in its manifest, or in the first words of its code.
fn description(package: &Package, library: &str) -> String {
    let first = || {
        let lines = library.lines().map_while(|line| line.strip_prefix("//!"));
        let words = lines.map(str::trim).take_while(|line| !line.is_empty());
        words.collect::<Vec<_>>().join(" ")
    };
    package.description.clone().unwrap_or_else(first)
}

/// The table of a dependency; our own crates are all of one version.
fn dependency_of(dependency: &Dependency, ours: &str) -> String {
    let kind = match dependency.kind {
        DependencyKind::Development => "dev-dependencies",
        DependencyKind::Build => "build-dependencies",
        DependencyKind::Normal | DependencyKind::Unknown => "dependencies",
    };
    let table = match &dependency.target {
        Some(target) => format!("target.{:?}.{kind}", target.to_string()),
        None => kind.to_owned(),
    };
    let called = dependency.rename.as_deref().unwrap_or(&dependency.name);
    let mut text = format!("\n[{table}.{called}]\n");
    if dependency.path.is_some() {
        let (package, path) = (published(&dependency.name), format!("../{}", dependency.name));
        line(
            &mut text,
            format_args!("package = {package:?}\npath = {path:?}\nversion = \"={ours}\""),
        );
    } else {
        let (package, version) = (&dependency.name, dependency.req.to_string());
        line(&mut text, format_args!("package = {package:?}\nversion = {version:?}"));
    }
    let (features, default) = (&dependency.features, dependency.uses_default_features);
    line(&mut text, format_args!("features = {features:?}\ndefault-features = {default}"));
    if dependency.optional {
        line(&mut text, format_args!("optional = true"));
    }
    text
}

fn line(text: &mut String, line: std::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    let _ = writeln!(text, "{line}");
}
