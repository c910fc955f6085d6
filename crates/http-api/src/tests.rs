//! Tests of the interface at its own boundary: bytes in, bytes out.

mod access;
mod actions;
mod agents;
mod approval_links;
mod approvals;
mod copies;
mod description;
mod events;
mod examples;
mod house;
mod intents;
mod lists;
mod log;
mod members;
mod org;
mod pages;
mod policies;
mod retention;
mod shapes;
mod sign_in;
mod stops;
mod system;
mod texts;
mod traffic;
mod waits;
