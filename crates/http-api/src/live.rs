//! What stays open: waits for one action and streams of events, and what feeds them.

mod cursor;
mod feed;
mod stream;
mod wait;

pub(crate) use cursor::Cursor;
pub(crate) use feed::Feeds;
pub(crate) use stream::{EventStream, Opening, Wanted};
pub(crate) use wait::{Ended, Wait, WaitBounds};
