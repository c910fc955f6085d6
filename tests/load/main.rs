//! The service under load: rates, latencies, and races of many. Run on a quiet machine.
#![expect(
    clippy::disallowed_methods,
    reason = "these tests find binaries by the environment, measure time and wait"
)]

#[cfg(test)]
mod hostile;
#[cfg(test)]
mod idempotency;
#[cfg(test)]
mod instances;
#[cfg(test)]
mod keys;
#[cfg(test)]
mod memory;
#[cfg(test)]
mod neighbours;
#[cfg(test)]
mod people;
#[cfg(test)]
mod races;
#[cfg(test)]
mod rolling;
#[cfg(test)]
mod shares;
#[cfg(test)]
mod stops;
#[cfg(test)]
mod stories;
#[cfg(test)]
mod strain;
#[cfg(test)]
mod waits;

#[cfg(test)]
use tests::{calls, edge, eventually, house, kill, seal_keys, up, upkeep};
