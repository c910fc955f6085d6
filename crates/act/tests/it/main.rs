//! Tests of what a change adds to its turn, and of who may make one, on the store in memory.

#[cfg(test)]
mod acts;
#[cfg(test)]
mod facts;
#[cfg(test)]
mod world;
