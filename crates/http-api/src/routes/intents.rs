//! The keys of agents' signed intents, the intents that were used, and what a signer is checked by.

use web::{
    NOTHING,
    Patience::{Lists, Short},
    Table, at, json, query,
};

use crate::{
    access::{ADMINS, FRESH_ADMINS, INTENT_CHECKERS, PUBLIC, VIEWERS},
    app::App,
    handlers::intents,
    wire::intents::LIST,
};

/// Room for a key with its proof.
const KEY: usize = 4 * 1024;
/// Room for `args` of the largest permitted size, an intent and what stands beside them.
const CHECK: usize = 320 * 1024;

/// The routes of this area.
#[rustfmt::skip]
pub(super) fn routes() -> Table<App> {
    vec![
        at("GET",    "/v1/agents/{id}/intent_keys",       "listIntentKeys")  .with(VIEWERS,         NOTHING,     Short, intents::keys),
        at("POST",   "/v1/agents/{id}/intent_keys",       "addIntentKey")    .with(FRESH_ADMINS,    json(KEY),   Short, intents::add),
        at("DELETE", "/v1/agents/{id}/intent_keys/{key}", "revokeIntentKey") .with(ADMINS,          NOTHING,     Short, intents::revoke),
        at("GET",    "/v1/intents",                       "listIntents")     .with(VIEWERS,         query(LIST), Lists, intents::list),
        at("POST",   "/v1/intents/check",                 "checkIntent")     .with(INTENT_CHECKERS, json(CHECK), Short, intents::check),
        at("GET",    "/v1/intents/vectors",               "getIntentVectors").with(PUBLIC,          NOTHING,     Short, intents::vectors),
    ]
}
