//! The table of the whole interface: what is served, by whom it may be called and what it reads.
//! Each area has its rows in a file of its own; here they are joined, in the order of the docs.
//!
//! The access rule makes the caller that the handler takes, so a row with the wrong rule does not
//! compile. `docs/routes.md` is generated from here, and a test holds the table against the
//! interface description in both directions.

mod actions;
mod agents;
mod approvals;
mod deeds;
mod events;
mod intents;
mod ledger;
mod members;
mod org;
mod policies;
mod sign_in;
mod system;

use web::{Route, Table};

use crate::app::App;

/// Every route that is served.
pub fn table() -> Table<App> {
    let areas = [
        system::routes(),
        actions::routes(),
        approvals::routes(),
        agents::routes(),
        policies::routes(),
        ledger::routes(),
        deeds::routes(),
        intents::routes(),
        events::routes(),
        sign_in::routes(),
        members::routes(),
        org::routes(),
    ];
    areas.into_iter().flatten().collect()
}

/// The table of `docs/routes.md`.
pub fn routes_markdown() -> String {
    let mut lines = vec![
        "# Routes\n\nGenerated from `crates/http-api/src/routes.rs`.\n".to_owned(),
        "| Method | Path | Operation | Access | Who |\n|---|---|---|---|---|".to_owned(),
    ];
    lines.extend(table().iter().map(|route| {
        let Route { method, path, operation, access, who, .. } = route;
        format!("| {method} | `{path}` | `{operation}` | `{access}` | {who} |")
    }));
    lines.push(String::new());
    lines.join("\n")
}
