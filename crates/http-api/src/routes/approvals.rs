//! What people are asked, and their answers.

use web::{
    NOTHING,
    Patience::{Lists, Short},
    Table, at, json_or_form, query,
};

use crate::{
    access::{APPROVAL_READERS, APPROVERS, SIGNING_IN},
    app::App,
    handlers::{approval_links, approvals},
    wire::approvals::LIST,
};

/// Room for a link, a digest and a note.
const BODY: usize = 4 * 1024;

/// The routes of this area.
#[rustfmt::skip]
pub(super) fn routes() -> Table<App> {
    vec![
        at("GET",  "/v1/approvals",              "listApprovals").with(APPROVAL_READERS, query(LIST), Lists, approvals::list),
        at("GET",  "/v1/approvals/{id}",         "getApproval")  .with(APPROVAL_READERS, NOTHING,     Short, approvals::show),
        at("POST", "/v1/approvals/link",         "answerByLink") .with(SIGNING_IN,       json_or_form(BODY), Short, approval_links::answer),
        at("POST", "/v1/approvals/{id}/approve", "approveApproval").with(APPROVERS,        json_or_form(BODY), Short, approvals::approve),
        at("POST", "/v1/approvals/{id}/deny",    "denyApproval")   .with(APPROVERS,        json_or_form(BODY), Short, approvals::deny),
    ]
}
