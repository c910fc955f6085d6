//! Tests of the interface at its own boundary: bytes in, bytes out.

mod access;
mod actions;
mod clients;
mod description;
mod events;
mod examples;
mod framing;
mod house;
mod kit;
mod lists;
mod pages;
mod policies;
mod retention;
mod shapes;
mod slow;
mod support;
mod system;
mod traffic;
mod waits;
