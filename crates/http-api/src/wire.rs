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

pub(crate) use action::ActionView;
pub(crate) use deeds::{DEEDS, DeedView, deed_filter, growth, verification};
pub(crate) use detail::{DetailView, deed_summary};
pub(crate) use export::ExportForm;
pub(crate) use filter::{LIST, action_filter};
pub(crate) use ledger::{
    ENTRIES, EXPORT, chain_check, chain_head, chain_part, entry, entry_filter, export_filter,
    export_form,
};
pub(crate) use policies::{
    Activate, ActivationView, ActiveView, DiffView, DryRunView, LintView, MakeVersion, PolicyView,
    TestRunView, TestsView, VersionView, WithDeed, case_results, document_alone, dry_call,
    findings, policy_activation, policy_edit, policy_new, policy_tests, policy_trial,
    policy_version_new, reason_alone,
};
pub(crate) use report::edge_report;
pub(crate) use submission::{SendRequest, wait_seconds};
pub(crate) use tools::{ResolveRequest, ToolView, VisibilityView};
