//! The table of the whole interface: what is served, by whom it may be called and what it reads.
//! Each area has its rows in a file of its own; here they are joined, in the order of the docs.
//!
//! The access rule makes the caller that the handler takes, so a row with the wrong rule does not
//! compile. `docs/routes.md` is generated from here, and a test holds the table against the
//! interface description in both directions.

mod actions;
mod agents;
mod approvals;
mod connectors;
mod console;
mod deeds;
mod events;
mod figures;
mod intents;
mod ledger;
mod members;
mod org;
mod policies;
pub(crate) mod reference;
mod sign_in;
mod system;
mod webhooks;

use web::{Route, Table};

use crate::app::App;

/// Every route that is served: the interface, and the pages over it.
pub fn table() -> Table<App> {
    interface().into_iter().chain(console::pages()).collect()
}

/// Every route of the interface, which its description describes.
pub fn interface() -> Table<App> {
    let areas = [
        system::routes(),
        actions::routes(),
        figures::routes(),
        approvals::routes(),
        agents::routes(),
        policies::routes(),
        connectors::routes(),
        ledger::routes(),
        deeds::routes(),
        intents::routes(),
        events::routes(),
        webhooks::routes(),
        sign_in::routes(),
        members::routes(),
        org::routes(),
    ];
    areas.into_iter().flatten().collect()
}

/// The tables of `docs/routes.md`.
pub fn routes_markdown() -> String {
    let mut lines =
        vec!["# Routes\n\nGenerated from `crates/http-api/src/routes.rs`.\n".to_owned()];
    lines.extend(rows(&interface()));
    let pages = "\n## Pages\n\nPages that people see in a browser. Each page shows the responses of API reads.\n";
    lines.push(pages.to_owned());
    lines.extend(rows(&console::pages()));
    lines.push(String::new());
    lines.join("\n")
}

fn rows(table: &Table<App>) -> impl Iterator<Item = String> {
    let head = "| Method | Path | Operation | Access | Who |\n|---|---|---|---|---|";
    let rows = table.iter().map(|route| {
        let Route { method, path, operation, access, who, .. } = route;
        format!("| {method} | `{path}` | `{operation}` | `{access}` | {who} |")
    });
    std::iter::once(head.to_owned()).chain(rows)
}
