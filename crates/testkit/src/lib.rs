//! What tests of the workspace share: clocks and dice that a test controls, tools and rows made
//! up for it, and the one contract that every store keeps.
//!
//! Only tests use this crate; it fails by panicking, as they do.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::missing_panics_doc,
    reason = "a test fails by panicking, and this is the inside of tests"
)]

mod clock;
pub mod contract;
mod entropy;
pub mod eventually;
mod fixture;
mod log;
pub mod sample;
mod scribe;
mod spawn;
mod tool;

pub use clock::ManualClock;
pub use entropy::SeededEntropy;
pub use fixture::{AUDIENCE, Fixture, Operator, Rows, START, limits, sealer};
pub use log::ScriptedLog;
pub use scribe::{Draft, Scribe};
pub use spawn::OnTokio;
pub use tool::{ScriptedTool, Shop, done};

#[cfg(test)]
mod tests;
