//! Tells the program which commit it is built from: the one that a packager names in
//! `CHANCERY_COMMIT`, or else the checkout's `HEAD`. A build from neither, such as one from an
//! archive of sources, has none and says so.

use std::{env, path::Path, process::Command};

/// Where a packager names the commit, and where the program reads it when it is compiled.
const COMMIT: &str = "CHANCERY_COMMIT";

#[expect(clippy::disallowed_methods, reason = "a packager says by a variable what is built")]
fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed={COMMIT}");
    let named = env::var(COMMIT).ok().filter(|commit| !commit.is_empty());
    if let Some(commit) = named.or_else(head) {
        println!("cargo::rustc-env={COMMIT}={commit}");
    }
}

/// The commit of the checkout that has this package. Sources that were unpacked inside of another
/// project's checkout are no part of it.
fn head() -> Option<String> {
    // The second changes with every commit; the first where no such log is kept.
    for file in ["HEAD", "logs/HEAD"] {
        let path = git(&["rev-parse", "--git-path", file])?;
        if Path::new(&path).exists() {
            println!("cargo::rerun-if-changed={path}");
        }
    }
    git(&["ls-files", "--error-unmatch", "build.rs"])?;
    git(&["rev-parse", "HEAD"])
}

fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}
