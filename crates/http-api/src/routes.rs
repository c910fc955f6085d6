//! The table of the whole interface: what is served, by whom it may be called and what it reads;
//! and below it what this version does not serve yet.
//!
//! The access rule makes the caller that the handler takes, so a row with the wrong rule does not
//! compile. `docs/routes.md` is generated from here, and a test holds the table against the
//! interface description in both directions.

use crate::{
    access::{
        ACTION_READERS, ADMINS, AGENT_EXECUTE, CANCELLERS, OWNERS, PUBLIC, SIGNED_IN,
        STREAM_READERS, VIEWERS,
    },
    app::App,
    handlers::{actions, deeds, events, ledger, log, policies, system, tools},
    table::{
        Later, NOTHING,
        Patience::{Short, Waits},
        Route, Table, at, json, later, query,
    },
    wire::{DEEDS, ENTRIES, EXPORT, LIST},
};

/// Room for `args` of the largest permitted size in their least compact spelling.
const ACTION: usize = 2 * 1024 * 1024;
/// Room for a result of the largest permitted size.
const RESULT: usize = 2 * 1024 * 1024;
/// Room for a policy document or a file of tests of the largest permitted size, as a JSON string.
const DOCUMENT: usize = 4 * 1024 * 1024;
/// Room for a few short members.
const SMALL: usize = 64 * 1024;
/// Room for 500 tools.
const TOOLS: usize = 256 * 1024;

/// Room for what a check of a log is asked for, a checkpoint included.
const CHECK: usize = 16 * 1024;
/// Room for a file of evidence.
const DEEDS_TO_VERIFY: usize = 256 * 1024;

/// Returns every route that is served.
#[rustfmt::skip]
pub fn table() -> Table<App> {
    vec![
        // System
        at("GET",  "/v1/health",                     "getHealth")     .with(PUBLIC,         NOTHING,                Short, system::health),
        at("GET",  "/v1/version",                    "getVersion")    .with(PUBLIC,         NOTHING,                Short, system::version),
        at("GET",  "/api/openapi.yaml",              "getDescription").with(PUBLIC,         NOTHING,                Short, system::description),
        at("GET",  "/api/openapi.json",              "getDescriptionAsJson").with(PUBLIC,   NOTHING,                Short, system::description_json),
        at("GET",  "/docs",                          "getReference")  .with(PUBLIC,         NOTHING,                Short, system::reference),
        at("GET",  "/docs/errors",                   "getErrorPages") .with(PUBLIC,         NOTHING,                Short, system::error_pages),
        at("GET",  "/docs/errors/{code}",            "getErrorPage")  .with(PUBLIC,         NOTHING,                Short, system::error_page),
        at("GET",  "/.well-known/service/keys.json", "getSealKeys")   .with(PUBLIC,         NOTHING,                Short, system::keys),
        // Gate
        at("POST", "/v1/actions",                    "sendAction")    .with(AGENT_EXECUTE,  json(ACTION),           Waits, actions::send),
        at("GET",  "/v1/actions",                    "listActions")   .with(ACTION_READERS, query(LIST),            Short, actions::list),
        at("GET",  "/v1/actions/{id}",               "getAction")     .with(ACTION_READERS, query(actions::DETAIL), Waits, actions::show),
        at("POST", "/v1/actions/{id}/result",        "reportResult")  .with(AGENT_EXECUTE,  json(RESULT),           Short, actions::report),
        at("POST", "/v1/actions/{id}/cancel",        "cancelAction")  .with(CANCELLERS,     NOTHING,                Short, actions::cancel),
        at("GET",  "/v1/tools",                      "listTools")     .with(AGENT_EXECUTE,  query(tools::LIST),     Short, tools::list),
        at("POST", "/v1/tools/resolve",              "resolveTools")  .with(AGENT_EXECUTE,  json(TOOLS),            Short, tools::resolve),
        // Policies
        at("GET",    "/v1/policies",                   "listPolicies")       .with(VIEWERS, query(policies::LIST),            Short, policies::list),
        at("POST",   "/v1/policies",                   "createPolicy")       .with(ADMINS,  json(SMALL),                      Short, policies::create),
        at("GET",    "/v1/policies/{id}",              "getPolicy")          .with(VIEWERS, NOTHING,                          Short, policies::show),
        at("POST",   "/v1/policies/{id}",              "updatePolicy")       .with(ADMINS,  json(SMALL),                      Short, policies::update),
        at("DELETE", "/v1/policies/{id}",              "archivePolicy")      .with(ADMINS,  NOTHING,                          Short, policies::archive),
        at("GET",    "/v1/policies/{id}/versions",     "listPolicyVersions") .with(VIEWERS, query(policies::versions::PAGE),  Short, policies::versions::list),
        at("POST",   "/v1/policies/{id}/versions",     "createPolicyVersion").with(ADMINS,  json(DOCUMENT),                   Short, policies::versions::create),
        at("GET",    "/v1/policy_versions/{id}",       "getPolicyVersion")   .with(VIEWERS, NOTHING,                          Short, policies::versions::show),
        at("GET",    "/v1/policy_versions/{id}/diff",  "diffPolicyVersions") .with(VIEWERS, query(policies::trial::AGAINST),  Short, policies::trial::diff),
        at("POST",   "/v1/policies/lint",              "lintPolicy")         .with(VIEWERS, json(DOCUMENT),                   Short, policies::trial::lint),
        at("POST",   "/v1/policies/dry_run",           "dryRunPolicy")       .with(VIEWERS, json(DOCUMENT),                   Short, policies::trial::dry_run),
        at("GET",    "/v1/policies/{id}/tests",        "getPolicyTests")     .with(VIEWERS, NOTHING,                          Short, policies::versions::tests),
        at("PUT",    "/v1/policies/{id}/tests",        "putPolicyTests")     .with(ADMINS,  json(DOCUMENT),                   Short, policies::versions::put_tests),
        at("POST",   "/v1/policies/test",              "testPolicy")         .with(VIEWERS, json(2 * DOCUMENT),               Short, policies::trial::test),
        at("POST",   "/v1/policies/{id}/activate",     "activatePolicy")     .with(ADMINS,  json(SMALL),                      Short, policies::activation::activate),
        at("POST",   "/v1/policies/shadow/deactivate", "deactivateShadow")   .with(ADMINS,  json(SMALL),                      Short, policies::activation::end_shadow),
        at("GET",    "/v1/policies/active",            "getActivePolicies")  .with(VIEWERS, NOTHING,                          Short, policies::activation::active),
        at("GET",    "/v1/policies/activations",       "listPolicyActivations").with(VIEWERS, query(policies::versions::PAGE), Short, policies::activation::history),
        // Ledger and deeds
        at("GET",  "/v1/ledger",                     "searchLedger")  .with(ACTION_READERS, query(ENTRIES),         Short, ledger::search),
        at("GET",  "/v1/ledger/export",              "exportLedger")  .with(ADMINS,         query(EXPORT),          Short, ledger::export),
        at("GET",  "/v1/ledger/head",                "getLedgerHead") .with(VIEWERS,        NOTHING,                Short, ledger::head),
        at("GET",  "/v1/ledger/chain_checks",        "listChainChecks").with(VIEWERS,       query(ledger::CHECKS),  Short, ledger::checks),
        at("POST", "/v1/ledger/chain_checks",        "askChainCheck") .with(ADMINS,         json(CHECK),            Short, ledger::ask_check),
        at("GET",  "/v1/ledger/chain_checks/{id}",   "getChainCheck") .with(VIEWERS,        NOTHING,                Short, ledger::check),
        at("GET",  "/v1/log/checkpoint",             "getCheckpoint") .with(ACTION_READERS, query(log::CHECKPOINT), Short, log::checkpoint),
        at("GET",  "/v1/log/proof",                  "getProof")      .with(ACTION_READERS, query(log::PROOF),      Short, log::proof),
        at("GET",  "/v1/log/consistency",            "getConsistency").with(ACTION_READERS, query(log::CONSISTENCY), Short, log::consistency),
        at("GET",  "/v1/deeds",                      "listDeeds")     .with(ACTION_READERS, query(DEEDS),           Short, deeds::list),
        at("GET",  "/v1/deeds/{id}",                 "getDeed")       .with(ACTION_READERS, NOTHING,                Short, deeds::show),
        at("GET",  "/v1/deeds/{id}/bundle",          "getDeedBundle") .with(ACTION_READERS, query(deeds::BUNDLE),   Short, deeds::bundle),
        at("POST", "/v1/deeds/verify",               "verifyDeeds")   .with(ACTION_READERS, json(DEEDS_TO_VERIFY),  Short, deeds::check),
        // Events
        at("GET",  "/v1/events",                     "streamEvents")  .with(STREAM_READERS, query(events::QUERY),   Short, events::stream),
    ]
}

/// Every route of the interface that this version answers with 404 `route_unknown`.
#[rustfmt::skip]
pub const LATER: &[Later] = &[
    // Gate: undo
    later("POST",            "/v1/actions/{id}/undo/preview",                         &ADMINS),
    later("POST",            "/v1/actions/{id}/undo",                                 &ADMINS),
    // Overview
    later("GET",             "/v1/overview",                                          &VIEWERS),
    // MCP
    later("GET",             "/.well-known/oauth-protected-resource",                 &PUBLIC),
    later("GET",             "/.well-known/oauth-protected-resource/mcp/native",      &PUBLIC),
    later("GET",             "/.well-known/oauth-protected-resource/mcp/{connector}", &PUBLIC),
    later("POST",            "/mcp/native",                                           &AGENT_EXECUTE),
    later("POST",            "/mcp/{connector}",                                      &AGENT_EXECUTE),
    // Pages
    later("GET",             "/approve",                                              &PUBLIC),
    later("GET",             "/approve/assets/{file}",                                &PUBLIC),
    later("GET",             "/login",                                                &PUBLIC),
    later("GET",             "/auth/confirm",                                         &PUBLIC),
    later("GET",             "/auth/assets/{file}",                                   &PUBLIC),
    later("GET",             "/app",                                                  &SIGNED_IN),
    later("GET",             "/app/{*path}",                                          &SIGNED_IN),
    // People
    later("POST",            "/v1/auth/start",                                        &PUBLIC),
    later("POST",            "/v1/auth/confirm",                                      &PUBLIC),
    later("POST",            "/v1/auth/reauth",                                       &SIGNED_IN),
    later("GET DELETE",      "/v1/session",                                           &SIGNED_IN),
    later("POST",            "/v1/session/org",                                       &SIGNED_IN),
    later("GET",             "/v1/sessions",                                          &SIGNED_IN),
    later("DELETE",          "/v1/sessions/{id}",                                     &SIGNED_IN),
    later("POST",            "/v1/sessions/revoke_others",                            &SIGNED_IN),
    later("GET",             "/v1/org",                                               &VIEWERS),
    later("POST",            "/v1/org",                                               &OWNERS),
    later("GET",             "/v1/members",                                           &VIEWERS),
    later("GET",             "/v1/members/{id}",                                      &VIEWERS),
    later("POST DELETE",     "/v1/members/{id}",                                      &OWNERS),
    later("GET POST",        "/v1/invites",                                           &ADMINS),
    later("DELETE",          "/v1/invites/{id}",                                      &ADMINS),
    later("POST",            "/v1/invites/{id}/resend",                               &ADMINS),
    later("POST",            "/v1/invites/accept",                                    &SIGNED_IN),
    later("GET POST",        "/v1/api_keys",                                          &OWNERS),
    later("POST",            "/v1/api_keys/{id}/roll",                                &OWNERS),
    later("DELETE",          "/v1/api_keys/{id}",                                     &OWNERS),
    // Agents
    later("GET",             "/v1/agents",                                            &VIEWERS),
    later("POST",            "/v1/agents",                                            &ADMINS),
    later("GET",             "/v1/agents/{id}",                                       &VIEWERS),
    later("POST DELETE",     "/v1/agents/{id}",                                       &ADMINS),
    later("POST",            "/v1/agents/{id}/stop",                                  &ADMINS),
    later("POST",            "/v1/agents/{id}/start",                                 &ADMINS),
    later("POST",            "/v1/agents/{id}/suspend",                               &ADMINS),
    later("POST",            "/v1/agents/{id}/resume",                                &ADMINS),
    later("POST",            "/v1/org/stop",                                          &ADMINS),
    later("POST",            "/v1/org/start",                                         &ADMINS),
    later("GET",             "/v1/agents/{id}/keys",                                  &VIEWERS),
    later("POST",            "/v1/agents/{id}/keys",                                  &ADMINS),
    later("POST",            "/v1/agents/{id}/keys/{key}/roll",                       &ADMINS),
    later("DELETE",          "/v1/agents/{id}/keys/{key}",                            &ADMINS),
    later("GET POST",        "/v1/agents/{id}/intent_keys",                           &ADMINS),
    later("DELETE",          "/v1/agents/{id}/intent_keys/{key}",                     &ADMINS),
    // Intents
    later("POST",            "/v1/intents/check",                                     &AGENT_EXECUTE),
    later("GET",             "/v1/intents/vectors",                                   &PUBLIC),
    later("GET",             "/v1/intents",                                           &VIEWERS),
    // Policies
    later("POST",            "/v1/policies/activations/{id}/confirm",                 &ADMINS),
    later("POST",            "/v1/policies/activations/{id}/reject",                  &ADMINS),
    // Approvals
    later("GET",             "/v1/approvals",                                         &ACTION_READERS),
    later("GET",             "/v1/approvals/{id}",                                    &ACTION_READERS),
    later("POST",            "/v1/approvals/{id}/approve",                            &SIGNED_IN),
    later("POST",            "/v1/approvals/{id}/deny",                               &SIGNED_IN),
    later("POST",            "/v1/approvals/link",                                    &PUBLIC),
    // Connectors
    later("GET",             "/v1/connector_types",                                   &VIEWERS),
    later("GET",             "/v1/connectors",                                        &VIEWERS),
    later("POST",            "/v1/connectors",                                        &ADMINS),
    later("GET",             "/v1/connectors/{id}",                                   &VIEWERS),
    later("POST DELETE",     "/v1/connectors/{id}",                                   &ADMINS),
    later("PUT DELETE",      "/v1/connectors/{id}/credential",                        &ADMINS),
    later("POST",            "/v1/connectors/{id}/test",                              &ADMINS),
    later("POST",            "/v1/connectors/{id}/enable",                            &ADMINS),
    later("POST",            "/v1/connectors/{id}/disable",                           &ADMINS),
    later("GET",             "/v1/connectors/{id}/tools",                             &VIEWERS),
    later("POST",            "/v1/connectors/{id}/tools/refresh",                     &ADMINS),
    later("POST",            "/v1/connectors/{id}/tools/{tool}",                      &ADMINS),
    later("POST",            "/v1/connectors/{id}/tools/{tool}/pin",                  &ADMINS),
    later("GET",             "/v1/connectors/{id}/witness",                           &VIEWERS),
    later("POST",            "/v1/connectors/{id}/witness/setup",                     &ADMINS),
    later("POST",            "/v1/connectors/{id}/witness/enable",                    &ADMINS),
    later("POST",            "/v1/connectors/{id}/witness/disable",                   &ADMINS),
    later("POST",            "/v1/connectors/{id}/witness/recreate_slot",             &ADMINS),
    // Insights
    later("GET",             "/v1/insights/replays",                                  &VIEWERS),
    later("POST",            "/v1/insights/replays",                                  &ADMINS),
    later("GET",             "/v1/insights/replays/{id}",                             &VIEWERS),
    later("GET",             "/v1/insights/replays/{id}/differences",                 &VIEWERS),
    later("POST",            "/v1/insights/replays/{id}/cancel",                      &ADMINS),
    later("GET",             "/v1/insights/shadow",                                   &VIEWERS),
    later("GET",             "/v1/insights/stats",                                    &VIEWERS),
    later("GET",             "/v1/insights/anomalies",                                &VIEWERS),
    later("GET",             "/v1/insights/anomalies/{id}",                           &VIEWERS),
    later("POST",            "/v1/insights/anomalies/{id}/acknowledge",               &ADMINS),
    later("POST",            "/v1/insights/anomalies/{id}/resolve",                   &ADMINS),
    // Observe
    later("GET",             "/v1/observe/sessions",                                  &VIEWERS),
    later("POST",            "/v1/observe/sessions",                                  &ADMINS),
    later("GET",             "/v1/observe/sessions/{id}",                             &VIEWERS),
    later("GET",             "/v1/observe/sessions/{id}/changes",                     &VIEWERS),
    later("POST",            "/v1/observe/sessions/{id}/end",                         &ADMINS),
    later("POST",            "/v1/observe/sessions/{id}/seal",                        &ADMINS),
    later("GET",             "/v1/observe/sessions/{id}/undo.sql",                    &ADMINS),
    later("POST",            "/v1/observe/sessions/{id}/undo/preview",                &ADMINS),
    later("POST",            "/v1/observe/sessions/{id}/undo",                        &ADMINS),
    // Security pack
    later("GET",             "/v1/security_pack",                                     &VIEWERS),
    later("GET",             "/v1/security_pack/questions/{n}",                       &VIEWERS),
    later("POST",            "/v1/security_pack/questions/{n}/attest",                &ADMINS),
    later("GET",             "/v1/security_pack/documents",                           &VIEWERS),
    later("POST",            "/v1/security_pack/documents",                           &ADMINS),
    later("GET",             "/v1/security_pack/documents/{id}",                      &VIEWERS),
    later("GET",             "/v1/security_pack/documents/{id}/content",              &VIEWERS),
    later("POST",            "/v1/security_pack/documents/{id}/share",                &ADMINS),
    later("DELETE",          "/v1/security_pack/documents/{id}",                      &ADMINS),
    // Webhooks
    later("GET",             "/v1/webhook_endpoints",                                 &VIEWERS),
    later("POST",            "/v1/webhook_endpoints",                                 &ADMINS),
    later("GET",             "/v1/webhook_endpoints/{id}",                            &VIEWERS),
    later("POST DELETE",     "/v1/webhook_endpoints/{id}",                            &ADMINS),
    later("POST",            "/v1/webhook_endpoints/{id}/enable",                     &ADMINS),
    later("POST",            "/v1/webhook_endpoints/{id}/disable",                    &ADMINS),
    later("POST",            "/v1/webhook_endpoints/{id}/secret/roll",                &ADMINS),
    later("POST",            "/v1/webhook_endpoints/{id}/ping",                       &ADMINS),
    later("GET",             "/v1/webhook_endpoints/{id}/deliveries",                 &VIEWERS),
    later("POST",            "/v1/webhook_endpoints/{id}/recover",                    &ADMINS),
    later("GET",             "/v1/webhook_deliveries/{id}",                           &VIEWERS),
    later("POST",            "/v1/webhook_deliveries/{id}/redeliver",                 &ADMINS),
];

/// Returns the tables of `docs/routes.md`.
pub fn routes_markdown() -> String {
    let mut lines = vec![
        "# Routes\n\nGenerated from `crates/http-api/src/routes.rs`.\n\n## Served\n".to_owned(),
        "| Method | Path | Operation | Access | Who |\n|---|---|---|---|---|".to_owned(),
    ];
    lines.extend(table().iter().map(|route| {
        let Route { method, path, operation, access, who, .. } = route;
        format!("| {method} | `{path}` | `{operation}` | `{access}` | {who} |")
    }));
    lines.push("\n## Not yet served\n\nThese answer 404 `route_unknown`.\n".to_owned());
    lines.push("| Methods | Path | Access |\n|---|---|---|".to_owned());
    lines.extend(
        LATER.iter().map(|Later { methods, path, access }| {
            format!("| {methods} | `{path}` | `{access}` |")
        }),
    );
    lines.push(String::new());
    lines.join("\n")
}
