//! Webhooks over the store in memory, a clock that a test moves, and a receiver that it scripts.

#[cfg(test)]
mod courier;
#[cfg(test)]
mod endpoints;
#[cfg(test)]
mod judged;
#[cfg(test)]
mod missed;
#[cfg(test)]
mod signing;
#[cfg(test)]
mod world;
