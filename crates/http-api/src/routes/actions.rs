//! Actions and tools, as agents send, see and report them.

use web::{
    Patience::{Lists, Short, Waits},
    Table, at, json, optional_json, query,
};

use crate::{
    access::{ACTION_READERS, AGENT_EXECUTE, CANCELLERS},
    app::App,
    handlers::{actions, tools},
    wire::filter::LIST,
};

/// Room for `args` of the largest permitted size and what stands beside them.
const ACTION: usize = 320 * 1024;
/// Room for a result of the largest size that an operator may permit.
const RESULT: usize = 1280 * 1024;
/// Room for 500 tools.
const TOOLS: usize = 256 * 1024;

/// Room for an object without members.
const EMPTY: usize = 1024;

/// The routes of this area.
#[rustfmt::skip]
pub(super) fn routes() -> Table<App> {
    vec![
        at("POST", "/v1/actions",                    "sendAction")    .with(AGENT_EXECUTE,  json(ACTION),           Waits, actions::send::send),
        at("GET",  "/v1/actions",                    "listActions")   .with(ACTION_READERS, query(LIST),            Lists, actions::read::list),
        at("GET",  "/v1/actions/{id}",               "getAction")     .with(ACTION_READERS, query(actions::read::DETAIL), Waits, actions::read::show),
        at("POST", "/v1/actions/{id}/result",        "reportResult")  .with(AGENT_EXECUTE,  json(RESULT),           Short, actions::report),
        at("POST", "/v1/actions/{id}/cancel",        "cancelAction")  .with(CANCELLERS,     optional_json(EMPTY),   Short, actions::cancel),
        at("GET",  "/v1/tools",                      "listTools")     .with(AGENT_EXECUTE,  query(tools::LIST),     Short, tools::list),
        at("POST", "/v1/tools/resolve",              "resolveTools")  .with(AGENT_EXECUTE,  json(TOOLS),            Short, tools::resolve),
    ]
}
