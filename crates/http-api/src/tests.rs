//! Tests of the interface at its own boundary: bytes in, bytes out.

mod framing;
mod kit;
mod pages;
mod slow;
mod support;
