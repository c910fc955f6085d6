//! failpoint
