//! The house that the end-to-end tests share: a service as a process, its two databases, and those who
//! call it, look at it and let it die. The tests themselves are three targets over it: `it` asks
//! whether the service does what it says, `faults` whether it keeps that when something dies, and
//! `load` whether it keeps up with many.
//!
//! Only tests use this crate; it fails by panicking, as they do.
#![expect(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::missing_panics_doc,
    clippy::panic,
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "a test fails by panicking, finds binaries by the environment and waits"
)]

pub mod calls;
pub mod change_log;
pub mod edge;
pub mod house;
pub mod kill;
pub mod pooled;
pub mod receiver;
pub mod seal_keys;
pub mod untold;
pub mod up;
pub mod upkeep;

pub use testkit::eventually;
