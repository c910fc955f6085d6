//! What people are asked, and their answers.

use web::{
    NOTHING,
    Patience::{Lists, Short},
    Table, at, json, query,
};

use crate::{
    access::{APPROVAL_READERS, APPROVERS},
    app::App,
    handlers::approvals,
    wire::approvals::LIST,
};

/// Room for a digest and a note.
const BODY: usize = 4 * 1024;

/// The routes of this area.
#[rustfmt::skip]
pub(super) fn routes() -> Table<App> {
    vec![
        at("GET",  "/v1/approvals",              "listApprovals").with(APPROVAL_READERS, query(LIST), Lists, approvals::list),
        at("GET",  "/v1/approvals/{id}",         "getApproval")  .with(APPROVAL_READERS, NOTHING,     Short, approvals::show),
        at("POST", "/v1/approvals/{id}/approve", "approveApproval").with(APPROVERS,        json(BODY),  Short, approvals::approve),
        at("POST", "/v1/approvals/{id}/deny",    "denyApproval")   .with(APPROVERS,        json(BODY),  Short, approvals::deny),
    ]
}
