//! The service as a user sees it: a process, HTTP, two databases, and files to check offline.
#[cfg(test)]
mod archive;
#[cfg(test)]
mod bad_input;
#[cfg(test)]
mod canaries;
#[cfg(test)]
mod check;
#[cfg(test)]
mod clients;
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
mod first_refund;
#[cfg(test)]
mod hostile;
#[cfg(test)]
mod idempotency;
#[cfg(test)]
mod intents;
#[cfg(test)]
mod keys;
#[cfg(test)]
mod lists;
#[cfg(test)]
mod mails;
#[cfg(test)]
mod nodes;
#[cfg(test)]
mod offline;
#[cfg(test)]
mod policies;
#[cfg(test)]
mod poolers;
#[cfg(test)]
mod promises;
#[cfg(test)]
mod proxy;
#[cfg(test)]
mod reading;
#[cfg(test)]
mod rest;
#[cfg(test)]
mod retention;
#[cfg(test)]
mod run_it;
#[cfg(test)]
mod secrets;
#[cfg(test)]
mod settings;
#[cfg(test)]
mod starts;
#[cfg(test)]
mod stops;
#[cfg(test)]
mod stories;
#[cfg(test)]
mod straight_way;
#[cfg(test)]
mod targets;
#[cfg(test)]
mod values;
#[cfg(test)]
mod vault;
#[cfg(test)]
mod verifiers;
#[cfg(test)]
mod waits;
#[cfg(test)]
mod webhooks;
#[cfg(test)]
mod witnessed;

#[cfg(test)]
use tests::{
    calls, change_log, edge, eventually, house, kill, pooled, receiver, seal_keys, untold, up,
};
