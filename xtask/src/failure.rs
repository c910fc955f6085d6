//! What stops a verb: one sentence for the person at the terminal, and the exit code that goes
//! with it. Not a place for recovery: nothing here is retried.

use std::io;
use std::path::Path;
use std::process::ExitStatus;

/// What every fallible function of this crate gives back.
pub(crate) type Result<T, E = Failure> = std::result::Result<T, E>;

/// Why a verb could not be carried out.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// Something a person has to change; the sentence says what.
    #[error("{0}")]
    Sentence(String),
    /// The operating system refused.
    #[error("could not {attempt}: {source}")]
    Io {
        /// What was tried, as the end of "could not".
        attempt: String,
        /// What the system answered.
        source: io::Error,
    },
    /// A program ran and said no.
    #[error("`{program}` ended with {status}")]
    Command {
        /// The program and its arguments.
        program: String,
        /// How it ended.
        status: ExitStatus,
    },
    /// A check found something, already printed line by line.
    #[error("{check}: {count} to mend")]
    Findings {
        /// The verb that looked.
        check: &'static str,
        /// How many lines it printed.
        count: usize,
    },
    /// Ctrl-C, or another request to stop.
    #[error("stopped")]
    Interrupted,
}

impl Failure {
    /// A failure that reads as the given sentence.
    pub(crate) fn because(sentence: impl Into<String>) -> Self {
        Self::Sentence(sentence.into())
    }

    /// A maker of failures for `map_err`, naming the attempt and the path it was made on.
    pub(crate) fn on(attempt: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let attempt = format!("{attempt} `{}`", path.display());
        move |source| Self::Io { attempt, source }
    }

    /// The exit code that the whole of `xtask` ends with.
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Self::Command { status, .. } => {
                status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1)
            }
            Self::Interrupted => 130,
            Self::Sentence(_) | Self::Io { .. } | Self::Findings { .. } => 1,
        }
    }
}
