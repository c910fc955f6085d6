//! How far a verification has come, for whoever waits for a long one.

/// How far a verification of several deeds has come. Deeds are read first and checked then.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// Lines were read.
    Read {
        /// So many.
        done: usize,
        /// Of so many.
        all: usize,
    },
    /// Deeds were checked by themselves.
    Checked {
        /// So many.
        done: usize,
        /// Of so many.
        all: usize,
    },
}
