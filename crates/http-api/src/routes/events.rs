//! The live stream.

use web::{Patience::Short, Table, at, query};

use crate::{access::STREAM_READERS, app::App, handlers::events};

/// The routes of this area.
#[rustfmt::skip]
pub(super) fn routes() -> Table<App> {
    vec![
        at("GET",  "/v1/events",                     "streamEvents")  .with(STREAM_READERS, query(events::QUERY),   Short, events::stream),
    ]
}
