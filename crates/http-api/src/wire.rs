//! The shapes of requests and responses. They exist here alone: the domain's records are turned
//! into them field by field, and no domain type is written to the wire as it is.

mod action;
mod deeds;
mod detail;
mod export;
mod filter;
mod ledger;
mod policies;
mod report;
mod submission;
mod tools;

use serde::Serialize;

pub(crate) use action::ActionView;
pub(crate) use deeds::{DEEDS, DeedView, deed_filter, growth, verification};
pub(crate) use detail::{DetailView, deed_summary};
pub(crate) use export::ExportForm;
pub(crate) use filter::{LIST, ListRequest};
pub(crate) use ledger::{
    ENTRIES, EXPORT, chain_check, chain_head, chain_part, entry, entry_filter, export_filter,
    export_form,
};
pub(crate) use policies::{
    Activate, ActivationView, ActiveView, DiffView, DryRunView, LintView, MakeVersion, PolicyView,
    TestRunView, TestsView, VersionView, WithDeed, case_results, document_alone, dry_call,
    findings, page_limit, policy_activation, policy_edit, policy_new, policy_tests, policy_trial,
    policy_version_new, reason_alone,
};
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
