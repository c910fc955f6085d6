//! Tests of the kit at its own boundary: bytes in, bytes out.

mod clients;
mod framing;
mod kit;
mod slow;
mod support;
