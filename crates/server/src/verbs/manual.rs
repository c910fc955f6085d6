//! `completions` and `man`: the verbs as a shell and as `man` know them, both from the command
//! line's own description.

use std::{fs, path::Path};

use clap::CommandFactory;
use clap_complete::Shell;

use crate::{
    cli::Cli,
    exit::{Exit, Failure},
    print,
};

/// The name that the binary is called by.
const NAME: &str = "chancery";

/// Prints what makes this shell complete the verbs.
pub(super) fn completions(shell: Shell) -> Exit {
    print::line(script(shell).trim_end());
    Exit::Ok
}

fn script(shell: Shell) -> String {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), NAME, &mut text);
    String::from_utf8_lossy(&text).into_owned()
}

/// Writes a page of the manual for `chancery` and for each of its verbs.
pub(super) fn pages(folder: &Path) -> Result<Exit, Failure> {
    let written =
        fs::create_dir_all(folder).and_then(|()| clap_mangen::generate_to(Cli::command(), folder));
    written.map_err(|error| {
        Failure::usage(format!("could not write pages to `{}`: {error}", folder.display()))
    })?;
    Ok(Exit::Ok)
}

#[cfg(test)]
mod tests {
    use clap::{Command, ValueEnum};

    use super::*;

    /// Every verb that is shown, with those that it is below, joined by hyphens.
    fn verbs(command: &Command, below: &str) -> Vec<String> {
        let shown = command.get_subcommands().filter(|verb| !verb.is_hide_set());
        let each = shown.flat_map(|verb| {
            let name = format!("{below}-{}", verb.get_name());
            let further = verbs(verb, &name);
            [vec![name], further].concat()
        });
        each.collect()
    }

    #[test]
    fn every_verb_has_a_page_of_the_manual() {
        let folder = std::env::temp_dir().join(format!("chancery-man-{}", std::process::id()));
        assert_eq!(pages(&folder).expect("written"), Exit::Ok);
        let verbs = verbs(&Cli::command(), NAME);
        assert!(verbs.len() > 40, "{verbs:?}");
        for verb in verbs {
            let page = fs::read_to_string(folder.join(format!("{verb}.1")));
            let page = page.unwrap_or_else(|error| panic!("{verb}: {error}"));
            assert!(page.contains(".SH SYNOPSIS"), "{verb}");
        }
        assert!(pages(&folder.join("chancery.1")).is_err(), "a file is no folder");
        fs::remove_dir_all(folder).expect("removed");
    }

    #[test]
    fn every_shell_completes_every_verb() {
        for shell in Shell::value_variants() {
            let script = script(*shell);
            for verb in verbs(&Cli::command(), NAME) {
                let word = verb.rsplit('-').next().expect("a word");
                assert!(script.contains(word), "{shell}: {verb}");
            }
        }
    }
}
