//! What stays open: waits for one action and streams of events, and what feeds them.

pub(crate) mod cursor;
pub(crate) mod feed;
pub(crate) mod stream;
pub(crate) mod wait;
