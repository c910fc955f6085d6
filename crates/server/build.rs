//! Tells the program which commit it is built from: the one that a packager names in
//! `CHANCERY_COMMIT`, or else the checkout's `HEAD`. A build from neither, such as one from an
//! archive of sources, has none and says so.
//!
//! Whatever makes this run again makes the whole package compile again, its library too. So it
//! watches no commits where it need not: it names the file in which git keeps them, and the program
//! reads the last one out of it when it is compiled.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

/// Where a packager names the commit, and where the program reads it when it is compiled.
const COMMIT: &str = "CHANCERY_COMMIT";
/// Where the program is told the file whose last line has the commit; an empty one for none.
const HEAD_LOG: &str = "CHANCERY_HEAD_LOG";

#[expect(clippy::disallowed_methods, reason = "a packager says by a variable what is built")]
fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed={COMMIT}");
    let named = env::var(COMMIT).ok().filter(|commit| !commit.is_empty());
    let log = if named.is_none() { head_log() } else { None };
    let asked = || if log.is_none() { head() } else { None };
    if let Some(commit) = named.or_else(asked) {
        println!("cargo::rustc-env={COMMIT}={commit}");
    }
    let empty = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default()).join("no-commits");
    let written = fs::write(&empty, "");
    println!("cargo::rustc-env={HEAD_LOG}={}", log.unwrap_or(empty).display());
    if let Err(error) = written {
        println!("cargo::error=could not write an empty file: {error}");
    }
}

/// The file to which git adds a line for every commit that the checkout is put to, where it does.
fn head_log() -> Option<PathBuf> {
    // Its file of settings goes when git goes.
    watch(&git(&["rev-parse", "--git-path", "config"])?);
    let log = fs::canonicalize(git(&["rev-parse", "--git-path", "logs/HEAD"])?).ok()?;
    let text = fs::read_to_string(&log).ok()?;
    let last = text.lines().last()?.split(' ').nth(1)?;
    (last.len() == 40 && commit()? == last).then_some(log)
}

/// The checkout's commit, looked at again after every one.
fn head() -> Option<String> {
    // The second changes with every commit; the first where no such log is kept.
    for file in ["HEAD", "logs/HEAD"] {
        watch(&git(&["rev-parse", "--git-path", file])?);
    }
    commit()
}

/// The commit of the checkout that has this package. Sources that were unpacked inside of another
/// project's checkout are no part of it.
fn commit() -> Option<String> {
    git(&["ls-files", "--error-unmatch", "build.rs"])?;
    git(&["rev-parse", "HEAD"])
}

fn watch(path: &str) {
    if Path::new(path).exists() {
        println!("cargo::rerun-if-changed={path}");
    }
}

fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}
