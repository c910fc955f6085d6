//! The PostgreSQL store on a real server: contract, schema, migrations, faults.
//!
//! `CHANCERY_TEST_POSTGRES` names the server; without it these tests are left out.

#[cfg(test)]
mod append;
#[cfg(test)]
mod archive;
#[cfg(test)]
mod contract;
#[cfg(test)]
mod copies;
mod deployment_secrets;
#[cfg(test)]
mod distribute;
#[cfg(test)]
mod drift;
#[cfg(test)]
mod faults;
#[cfg(test)]
mod held;
#[cfg(test)]
mod migrations;
#[cfg(test)]
mod nodes;
#[cfg(test)]
mod outbox;
#[cfg(test)]
mod people;
#[cfg(test)]
mod plans;
#[cfg(test)]
mod proxy;
#[cfg(test)]
mod questions;
#[cfg(test)]
mod schema;
#[cfg(test)]
mod statements;
#[cfg(test)]
mod tampering;
#[cfg(test)]
mod webhook_mails;
#[cfg(test)]
mod world;
