//! Numbers for people who look.

use web::{Patience::Lists, Table, at, query};

use crate::{
    access::{ACTION_READERS, VIEWERS},
    app::App,
    handlers::figures,
    wire::figures::{BUDGETS, COUNTS},
};

/// The routes of this area.
#[rustfmt::skip]
pub(super) fn routes() -> Table<App> {
    vec![
        at("GET", "/v1/overview",       "getOverview")  .with(VIEWERS,        query(figures::OVERVIEW), Lists, figures::overview),
        at("GET", "/v1/actions/counts", "countActions") .with(ACTION_READERS, query(COUNTS),            Lists, figures::counts),
        at("GET", "/v1/budgets",        "listBudgets")  .with(VIEWERS,        query(BUDGETS),           Lists, figures::budgets),
    ]
}
