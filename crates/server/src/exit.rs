//! What the process says with its exit code.

use std::process::ExitCode;

/// How a verb ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// It did what it was asked.
    Ok,
    /// What it looked at is bad: an invalid deed, a lint error.
    FoundBad,
    /// It was asked wrongly, or settings or files that it needs are not there.
    Usage,
    /// Nothing bad was found and something could not be checked.
    Undecidable,
    /// What it was given to read is not what it reads.
    Malformed,
    /// It failed for a reason of its own or of its surroundings.
    Internal,
    /// The control database did not answer.
    Unavailable,
}

impl Exit {
    /// The number.
    pub fn code(self) -> u8 {
        match self {
            Self::Ok => 0,
            Self::FoundBad => 1,
            Self::Usage => 2,
            Self::Undecidable => 3,
            Self::Malformed => 4,
            Self::Internal => 5,
            Self::Unavailable => 6,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        exit.code().into()
    }
}

/// Why a verb could not do what it was asked: a sentence for the operator and the exit code.
#[derive(Debug, thiserror::Error)]
#[error("{sentence}")]
pub struct Failure {
    /// What the process ends with.
    pub exit: Exit,
    /// What went wrong and what to do.
    pub sentence: String,
}

impl Failure {
    /// A failure of the one who asked.
    pub fn usage(sentence: impl ToString) -> Self {
        Self { exit: Exit::Usage, sentence: sentence.to_string() }
    }

    /// A failure of what was given to read.
    pub fn malformed(sentence: impl ToString) -> Self {
        Self { exit: Exit::Malformed, sentence: sentence.to_string() }
    }

    /// The failure of a database that nobody answers at, or not yet.
    pub fn unavailable(sentence: impl ToString) -> Self {
        Self { exit: Exit::Unavailable, sentence: sentence.to_string() }
    }

    /// A failure of the service or its surroundings.
    pub fn internal(sentence: impl ToString) -> Self {
        Self { exit: Exit::Internal, sentence: sentence.to_string() }
    }
}
