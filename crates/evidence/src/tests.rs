//! The follower over a log that a test writes, and the answers that come of what is kept.

mod following;
mod pace;
mod reconciling;
mod telling;
mod world;
