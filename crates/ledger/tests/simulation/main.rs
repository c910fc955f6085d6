//! A deterministic simulation: several ledgers write one org over one store, requests race, the
//! head is lost, answers to commits are lost, commits come late, processes die, clocks run apart.
//! Each seed is one history; a failing seed fails again.

#[cfg(test)]
mod fronted;
#[cfg(test)]
mod histories;
#[cfg(test)]
mod network;
#[cfg(test)]
mod restored;
#[cfg(test)]
mod turns;
#[cfg(test)]
mod world;
