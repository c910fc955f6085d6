//! Does what the operator asked. One module per verb; each returns how it ended.

mod docs;
mod keys;
mod policy;
mod verify;

use std::path::Path;

use crate::{
    cli::{Cli, Keys, Policy, Verb},
    exit::{Exit, Failure},
    print,
};

/// Runs one verb and prints what it has to say.
pub fn run(cli: Cli) -> Exit {
    let ended = match cli.verb {
        Verb::Demo => in_runtime(crate::demo::run()),
        Verb::Verify(what) => verify::run(&what),
        Verb::Policy(Policy::Lint { file }) => policy::lint(&file),
        Verb::Keys(Keys::New { out }) => keys::new(&out),
        Verb::InternalDocs { page } => Ok(docs::print(page)),
    };
    ended.unwrap_or_else(|failure| {
        print::complaint(format!("chancery: {failure}"));
        failure.exit
    })
}

/// Runs what a verb does on a runtime of its own.
fn in_runtime(work: impl Future<Output = Result<Exit, Failure>>) -> Result<Exit, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    runtime.map_err(Failure::internal)?.block_on(work)
}

/// Returns the bytes of a file that the operator named.
fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    std::fs::read(path).map_err(|error| {
        Failure::usage(format!("could not read the file `{}`: {error}", path.display()))
    })
}

/// Returns the text of a file that the operator named.
fn read_text(path: &Path) -> Result<String, Failure> {
    String::from_utf8(read(path)?)
        .map_err(|_| Failure::malformed(format!("the file `{}` is not UTF-8 text", path.display())))
}

#[cfg(test)]
mod tests;
