//! The shapes of requests and responses. They exist here alone: the domain's records are turned
//! into them field by field, and no domain type is written to the wire as it is.

mod action;
mod detail;
mod filter;
mod report;
mod submission;
mod tools;

use serde::Serialize;

pub(crate) use action::ActionView;
pub(crate) use detail::{DetailView, deed_summary};
pub(crate) use filter::{LIST, ListRequest};
pub(crate) use report::edge_report;
pub(crate) use submission::{SendRequest, wait_seconds};
pub(crate) use tools::{ResolveRequest, ToolView, VisibilityView};

/// The envelope of every list.
#[derive(Debug, Serialize)]
pub(crate) struct ListView<T> {
    object: &'static str,
    pub(crate) data: Vec<T>,
    pub(crate) has_more: bool,
    pub(crate) next_cursor: Option<String>,
}

impl<T> ListView<T> {
    /// Returns a list with nothing behind it.
    pub(crate) fn whole(data: Vec<T>) -> Self {
        Self { object: "list", data, has_more: false, next_cursor: None }
    }

    /// Returns a page; a cursor says that more lies behind it.
    pub(crate) fn page(data: Vec<T>, next_cursor: Option<String>) -> Self {
        Self { object: "list", data, has_more: next_cursor.is_some(), next_cursor }
    }
}
