//! Tests of the kit at its own boundary: bytes in, bytes out.

mod clients;
mod credentials;
mod framing;
mod kit;
mod slow;
mod support;
