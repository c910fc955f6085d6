//! Tests of administration on the store in memory, with its real ledger and sealer.

#[cfg(test)]
mod connectors;
#[cfg(test)]
mod faults;
#[cfg(test)]
mod keys;
#[cfg(test)]
mod members;
#[cfg(test)]
mod orgs;
#[cfg(test)]
mod policies;
#[cfg(test)]
mod recovery;
#[cfg(test)]
mod seal_keys;
#[cfg(test)]
mod settings;
#[cfg(test)]
mod stops;
#[cfg(test)]
mod world;
