//! The pages, the files that they load, and the one form that no route of the interface takes.

use web::{
    NOTHING,
    Patience::{Lists, Short},
    Table, at, json_or_form, query,
};

use crate::{
    access::{PUBLIC, SIGNED_IN, VISITORS},
    app::App,
    console::{self, approvals, connectors, rooms, settings, sign_in, webhooks},
    handlers::{agents, figures::OVERVIEW, policies},
    wire::{filter, ledger::ENTRIES, next::JOIN},
};

/// Room for the token of a form.
const FORM: usize = 4 * 1024;

/// The pages.
#[rustfmt::skip]
pub(super) fn pages() -> Table<App> {
    vec![
        at("GET",  "/",                     "pageRoot")      .with(PUBLIC,    NOTHING,                 Short, sign_in::root),
        at("GET",  "/login",                "pageLogin")     .with(PUBLIC,    query(sign_in::LOGIN),   Short, sign_in::login),
        at("GET",  "/auth/confirm",         "pageConfirm")   .with(PUBLIC,    query(sign_in::CONFIRM), Short, sign_in::confirm),
        at("GET",  "/approve",              "pageApprove")   .with(PUBLIC,    query(approvals::LINK),  Short, approvals::linked),
        at("GET",  "/auth/assets/{file}",   "pageFileOfSignIn")  .with(PUBLIC, NOTHING,                Short, console::file),
        at("GET",  "/approve/assets/{file}", "pageFileOfApprove").with(PUBLIC, NOTHING,                Short, console::file),
        at("GET",  "/app/assets/{file}",    "pageFile")      .with(PUBLIC,    NOTHING,                 Short, console::file),
        at("GET",  "/app",                  "pageOverview")  .with(VISITORS,  query(OVERVIEW),         Lists, rooms::overview),
        at("GET",  "/app/orgs",             "pageOrgs")      .with(SIGNED_IN, query(sign_in::ORGS),    Short, sign_in::orgs),
        at("GET",  "/app/join",             "pageJoin")      .with(SIGNED_IN, query(JOIN),             Short, sign_in::join),
        at("GET",  "/app/again",            "pageAgain")     .with(SIGNED_IN, query(sign_in::AGAIN),   Short, sign_in::again),
        at("POST", "/app/sign-out",         "pageSignOut")   .with(SIGNED_IN, json_or_form(FORM),      Short, sign_in::sign_out),
        at("GET",  "/app/approvals",        "pageApprovals") .with(VISITORS,  query(approvals::ROOM),  Lists, approvals::list),
        at("GET",  "/app/approvals/{id}",   "pageApproval")  .with(VISITORS,  query(approvals::ROOM),  Lists, approvals::one),
        at("GET",  "/app/actions",          "pageActions")   .with(VISITORS,  query(filter::LIST),     Lists, rooms::actions),
        at("GET",  "/app/actions/{id}",     "pageAction")    .with(VISITORS,  NOTHING,                 Short, rooms::action),
        at("GET",  "/app/agents",           "pageAgents")    .with(VISITORS,  query(agents::LIST),     Short, rooms::agents),
        at("GET",  "/app/agents/{id}",      "pageAgent")     .with(VISITORS,  NOTHING,                 Lists, rooms::agent),
        at("GET",  "/app/agents/{id}/stop", "pageAgentStop") .with(VISITORS,  NOTHING,                 Lists, rooms::agent_stop),
        at("GET",  "/app/stop",             "pageStop")      .with(VISITORS,  NOTHING,                 Lists, rooms::stop),
        at("GET",  "/app/policies",         "pagePolicies")  .with(VISITORS,  query(policies::LIST),   Short, rooms::policies),
        at("GET",  "/app/policies/{id}",    "pagePolicy")    .with(VISITORS,  query(rooms::POLICY),    Short, rooms::policy),
        at("GET",  "/app/connectors",       "pageConnectors").with(VISITORS,  query(connectors::ROOM), Short, connectors::list),
        at("GET",  "/app/connectors/{id}",  "pageConnector") .with(VISITORS,  NOTHING,                 Lists, connectors::one),
        at("GET",  "/app/connectors/{id}/tools/{tool}", "pageConnectorTool").with(VISITORS, NOTHING,   Short, connectors::tool),
        at("GET",  "/app/webhooks",         "pageWebhooks")  .with(VISITORS,  NOTHING,                 Short, webhooks::list),
        at("GET",  "/app/webhooks/{id}",    "pageWebhook")   .with(VISITORS,  query(webhooks::ROOM),   Short, webhooks::one),
        at("GET",  "/app/ledger",           "pageLedger")    .with(VISITORS,  query(ENTRIES),          Lists, rooms::ledger),
        at("GET",  "/app/deeds/{id}",       "pageDeed")      .with(VISITORS,  NOTHING,                 Short, rooms::deed),
        at("GET",  "/app/settings",         "pageSettings")  .with(VISITORS,  NOTHING,                 Short, settings::first),
        at("GET",  "/app/settings/{tab}",   "pageSettingsPart").with(VISITORS, NOTHING,                Short, settings::part),
        at("GET",  "/app/more",             "pageMore")      .with(VISITORS,  NOTHING,                 Short, rooms::more),
        at("GET",  "/app/go",               "pageGo")        .with(VISITORS,  query(rooms::GO),        Short, rooms::go),
    ]
}
