//! The service as a user sees it: a process, HTTP, two databases, and files to check offline.
#![expect(
    clippy::disallowed_methods,
    reason = "these tests find binaries by the environment, measure time and wait"
)]

#[cfg(test)]
mod archive;
#[cfg(test)]
mod asked;
#[cfg(test)]
mod bad_input;
#[cfg(test)]
mod check;
#[cfg(test)]
mod clients;
#[cfg(test)]
mod clocks;
#[cfg(test)]
mod conformance;
#[cfg(test)]
mod connectors;
#[cfg(test)]
mod console;
#[cfg(test)]
mod crash;
#[cfg(test)]
mod credentials;
#[cfg(test)]
mod events;
#[cfg(test)]
mod evidence;
#[cfg(test)]
mod failing;
#[cfg(test)]
mod four;
#[cfg(test)]
mod hostile;
#[cfg(test)]
mod house;
#[cfg(test)]
mod idempotency;
#[cfg(test)]
mod instances;
#[cfg(test)]
mod intents;
#[cfg(test)]
mod keys;
#[cfg(test)]
mod lists;
#[cfg(test)]
mod log;
#[cfg(test)]
mod memory;
mod neighbours;
#[cfg(test)]
mod offline;
#[cfg(test)]
mod one_org;
#[cfg(test)]
mod outage;
#[cfg(test)]
mod panics;
#[cfg(test)]
mod people;
#[cfg(test)]
mod policies;
#[cfg(test)]
mod promises;
#[cfg(test)]
mod proxy;
#[cfg(test)]
mod races;
#[cfg(test)]
mod reading;
#[cfg(test)]
mod restore;
#[cfg(test)]
mod retention;
#[cfg(test)]
mod rolling;
mod run_it;
#[cfg(test)]
mod secrets;
#[cfg(test)]
mod settings;
#[cfg(test)]
mod shares;
#[cfg(test)]
mod shutdown;
#[cfg(test)]
mod standby;
#[cfg(test)]
mod stops;
#[cfg(test)]
mod stories;
#[cfg(test)]
mod storm;
#[cfg(test)]
mod straight_way;
#[cfg(test)]
mod strain;
#[cfg(test)]
mod values;
#[cfg(test)]
mod verifiers;
#[cfg(test)]
mod waits;
