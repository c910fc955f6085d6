//! Tests of the crate from its own boundary, by theme; `support` seals logs to work on.

mod attacks;
mod document;
mod evidence;
mod honesty;
mod intents;
mod keys;
mod known_answers;
mod mutations;
mod required;
mod sealing;
mod self_test;
mod support;
mod tampering;
mod transparency;
mod tree;
mod vectors;
mod verifying;
mod writing;
