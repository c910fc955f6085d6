//! Tests of the interface at its own boundary: bytes in, bytes out.

mod actions;
mod description;
mod framing;
mod house;
mod kit;
mod lists;
mod pages;
mod slow;
mod support;
mod system;
