//! What stays open: waits for one action and streams of events, and what feeds them.

mod feed;
mod slots;
mod stream;
mod wait;

pub(crate) use feed::Feeds;
pub(crate) use slots::{Slot, Slots};
pub(crate) use stream::{Cursor, EventStream, Opening, Wanted};
pub(crate) use wait::{Ended, Wait, WaitBounds};
