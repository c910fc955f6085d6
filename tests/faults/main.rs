//! The service while something dies: the service itself, its database, its clock, its threads.
#![expect(
    clippy::disallowed_methods,
    reason = "these tests find binaries by the environment, measure time and wait"
)]

#[cfg(test)]
mod asked;
#[cfg(test)]
mod clocks;
#[cfg(test)]
mod crash;
#[cfg(test)]
mod four;
#[cfg(test)]
mod instances;
#[cfg(test)]
mod log;
#[cfg(test)]
mod one_org;
#[cfg(test)]
mod outage;
#[cfg(test)]
mod panics;
#[cfg(test)]
mod people;
#[cfg(test)]
mod poolers;
#[cfg(test)]
mod restore;
#[cfg(test)]
mod shutdown;
#[cfg(test)]
mod standby;
#[cfg(test)]
mod storm;
#[cfg(test)]
mod witnessed;

#[cfg(test)]
use tests::{
    calls, change_log, edge, eventually, house, kill, pooled, receiver, seal_keys, untold, upkeep,
};
