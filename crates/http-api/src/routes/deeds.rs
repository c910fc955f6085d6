//! Deeds, files of evidence, and checks of what somebody was given.

use web::{
    NOTHING,
    Patience::{Lists, Short},
    Table, at, json, query,
};

use crate::{access::ACTION_READERS, app::App, handlers::deeds, wire::deeds::DEEDS};

/// Room for a file of evidence.
const DEEDS_TO_VERIFY: usize = 256 * 1024;

/// The routes of this area.
#[rustfmt::skip]
pub(super) fn routes() -> Table<App> {
    vec![
        at("GET",  "/v1/deeds",                      "listDeeds")     .with(ACTION_READERS, query(DEEDS),           Lists, deeds::list),
        at("GET",  "/v1/deeds/{id}",                 "getDeed")       .with(ACTION_READERS, NOTHING,                Short, deeds::show),
        at("GET",  "/v1/deeds/{id}/bundle",          "getDeedBundle") .with(ACTION_READERS, query(deeds::BUNDLE),   Short, deeds::bundle),
        at("POST", "/v1/deeds/verify",               "verifyDeeds")   .with(ACTION_READERS, json(DEEDS_TO_VERIFY),  Short, deeds::check),
    ]
}
