//! Why an office could not do as it was told.

use std::{error::Error, fmt};

/// What went wrong, with its causes, in the words of the use case that it went wrong in.
#[derive(Debug)]
pub struct OfficeError(Box<dyn Error + Send + Sync>);

impl OfficeError {
    pub(super) fn of(cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self(cause.into())
    }
}

impl fmt::Display for OfficeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)?;
        let mut cause = self.0.source();
        while let Some(error) = cause {
            write!(f, ": {error}")?;
            cause = error.source();
        }
        Ok(())
    }
}

// The causes are told by `Display` already, so there is no source to tell them again.
impl Error for OfficeError {}
