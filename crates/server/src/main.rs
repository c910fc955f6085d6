//! The binary `chancery`: parses the command line and runs the verb.

use std::process::ExitCode;

use clap::Parser;

/// A turn is made of many small texts; the system's allocator took a quarter of the service's time.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The commit in the last line of git's own log of the checkout. It is read here and not in the
/// library, which need not be compiled anew for every commit.
const CHECKED_OUT: Option<[u8; 40]> = last_commit(include_bytes!(env!("CHANCERY_HEAD_LOG")));

fn main() -> ExitCode {
    let cli = server::cli::Cli { commit: commit(), ..server::cli::Cli::parse() };
    server::verbs::run(cli).into()
}

/// The commit that the program is built from, where there is one: what the packager named, or what
/// was checked out.
fn commit() -> Option<String> {
    let named = option_env!("CHANCERY_COMMIT").filter(|commit| !commit.is_empty());
    let checked_out = || String::from_utf8(CHECKED_OUT?.to_vec()).ok();
    named.map(str::to_owned).or_else(checked_out)
}

/// The second word of the last line, where both first words are commits. It gives a copy, so that
/// nothing else of the log is in the program.
const fn last_commit(log: &[u8]) -> Option<[u8; 40]> {
    let log = log.trim_ascii_end();
    let mut before = log;
    while let [rest @ .., last] = before
        && *last != b'\n'
    {
        before = rest;
    }
    let (_, line) = log.split_at(before.len());
    match line.split_first_chunk::<41>() {
        Some(([.., b' '], rest)) => rest.first_chunk().copied(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_build_tells_the_commit_of_its_checkout_and_nothing_where_there_is_none() {
        let git = |arguments: &[&str]| {
            let output = Command::new("git").args(arguments).output().ok()?;
            let text = String::from_utf8(output.stdout).ok()?;
            output.status.success().then(|| text.trim().to_owned())
        };
        #[expect(
            clippy::disallowed_methods,
            reason = "a packager says by a variable what is built"
        )]
        let named = std::env::var("CHANCERY_COMMIT").ok().filter(|commit| !commit.is_empty());
        let head = git(&["ls-files", "--error-unmatch", "build.rs"])
            .and_then(|_| git(&["rev-parse", "HEAD"]));
        assert_eq!(commit(), named.or(head));
    }

    #[test]
    fn the_last_commit_of_a_log_is_the_second_word_of_its_last_line() {
        let [old, new] = ["a", "b"].map(|digit| digit.repeat(40));
        let line = format!("{old} {new} Somebody <s@example> 1 +0000\tcommit: one\n");
        let log = format!("{new} {old} Somebody <s@example> 0 +0000\tclone\n{line}");
        for text in [&*line, &*log] {
            assert_eq!(
                last_commit(text.as_bytes()).map(|commit| commit.to_vec()),
                Some(new.clone().into())
            );
        }
        for text in ["", "\n", "word", &old, &format!("{old} "), &format!("{old}{new}{new}")] {
            assert_eq!(last_commit(text.as_bytes()), None, "{text}");
        }
    }
}
