//! The history of an org and its log.

use web::{
    NOTHING,
    Patience::{Lists, Short},
    Table, at, optional_json, query,
};

use crate::{
    access::{ACTION_READERS, ADMINS, VIEWERS},
    app::App,
    handlers::{ledger, log},
    wire::ledger::{ENTRIES, EXPORT},
};

/// Room for what a check of a log is asked for, a checkpoint included.
const CHECK: usize = 16 * 1024;

/// The routes of this area.
#[rustfmt::skip]
pub(super) fn routes() -> Table<App> {
    vec![
        at("GET",  "/v1/ledger",                     "searchLedger")  .with(ACTION_READERS, query(ENTRIES),         Lists, ledger::search),
        at("GET",  "/v1/ledger/export",              "exportLedger")  .with(VIEWERS,        query(EXPORT),          Lists, ledger::export),
        at("GET",  "/v1/ledger/head",                "getLedgerHead") .with(VIEWERS,        NOTHING,                Short, ledger::head),
        at("GET",  "/v1/ledger/chain_checks",        "listChainChecks").with(VIEWERS,       query(ledger::CHECKS),  Short, ledger::checks),
        at("POST", "/v1/ledger/chain_checks",        "askChainCheck") .with(ADMINS,         optional_json(CHECK),           Short, ledger::ask_check),
        at("GET",  "/v1/ledger/chain_checks/{id}",   "getChainCheck") .with(VIEWERS,        NOTHING,                Short, ledger::check),
        at("GET",  "/v1/log/checkpoint",             "getCheckpoint") .with(ACTION_READERS, query(log::CHECKPOINT), Short, log::checkpoint),
        at("GET",  "/v1/log/deeds",                  "readLog")       .with(VIEWERS,        query(log::DEEDS),      Lists, log::deeds),
        at("GET",  "/v1/log/proof",                  "getProof")      .with(ACTION_READERS, query(log::PROOF),      Short, log::proof),
        at("GET",  "/v1/log/consistency",            "getConsistency").with(ACTION_READERS, query(log::CONSISTENCY), Short, log::consistency),
    ]
}
