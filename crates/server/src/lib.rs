//! Chancery as one process: settings, wiring, workers, and the operator's verbs.
//!
//! Everything that decides, seals or stores lives in the crates below; this one reads what the
//! operator said, puts the parts together and prints.

pub mod adapters;
mod change_logs;
pub mod checkpoints;
pub mod cli;
pub mod clock;
pub mod core;
pub mod demo;
pub mod exit;
mod household;
mod keyring;
pub mod metrics;
mod outages;
mod print;
mod probe;
pub mod runtime;
mod secrets;
pub mod service;
pub mod settings;
pub mod shutdown;
pub mod telemetry;
pub mod up;
pub mod verbs;
pub mod wire_up;
pub mod work;
pub mod workers;
