//! The script by which the owner of the tables lets the log tell what it can.

use std::{collections::BTreeSet, fmt::Write as _};

use model::TableGap;

use super::{
    super::{config::Config, quote, template::filled},
    CoveredTable, KeyIdentity, Price,
};

const TEMPLATE: &str = include_str!("publish.sql");

pub(super) fn script(config: &Config, publication: &str, tables: &[CoveredTable]) -> String {
    let mut identities = String::new();
    let mut published: BTreeSet<String> = BTreeSet::new();
    // Writing to a string cannot fail.
    for table in tables {
        let name = whole(&table.name);
        if table.is_beyond_help() {
            let words: Vec<_> = table.missing.iter().map(|gap| gap.as_str()).collect();
            let _ = writeln!(
                identities,
                "-- Left out: {}, which a change log cannot witness ({}).\n",
                comment(&name),
                words.join(", ")
            );
            continue;
        }
        if table.refuses_full_identity() {
            identities.push_str(&key_identity(table, &name));
        } else {
            let _ = writeln!(identities, "-- {}: {}", comment(&name), price(&table.price));
            if table.missing.contains(&TableGap::IdentityNotFull) {
                let _ = writeln!(identities, "alter table {name} replica identity full;\n");
            } else {
                identities.push_str("-- Its old rows are already logged completely.\n\n");
            }
        }
        published.insert(name);
    }
    let own = ["service.ledger", "service.heartbeat"].map(str::to_owned);
    // What inherits from a table has an identity of its own, which nobody looked at.
    let all: Vec<String> =
        own.into_iter().chain(published).map(|it| format!("only {it}")).collect();
    let values = [
        ("{publication}", publication),
        ("{owner}", &config.owner),
        ("{conn}", &config.user),
        ("{decoder}", &config.decoder_user),
        ("{identities}\n", &identities),
        ("{tables}", &all.join(",\n    ")),
    ];
    filled(TEMPLATE, &values)
}

/// Why the old rows of a table are not logged in full, and what gives it a key as its identity.
fn key_identity(table: &CoveredTable, name: &str) -> String {
    let mut text = format!(
        "-- {}: only the key of an old row is logged, so that the log does not prove what is written \
         to it. If old rows were logged in full, its updates and deletes would fail:\n",
        comment(name)
    );
    if table.missing.contains(&TableGap::VirtualColumns) {
        text.push_str("-- it has virtual generated columns, which no publication publishes.\n");
    }
    for publication in &table.partial_publications {
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "-- the publication {} has a column list for it, or leaves out its generated columns. Once \
             that has changed, request this script again.",
            comment(&quote(publication))
        );
    }
    if table.by_key == Some(KeyIdentity::Possible) {
        let _ = writeln!(text, "alter table {name} replica identity default;");
    }
    text.push('\n');
    text
}

/// The whole name as SQL takes it; a schema's name has no dot here.
fn whole(name: &str) -> String {
    match name.split_once('.') {
        Some((schema, name)) => format!("{}.{}", quote(schema), quote(name)),
        None => quote(name),
    }
}

/// The name on a line of its own, whatever it holds.
fn comment(name: &str) -> String {
    name.replace(['\n', '\r'], " ")
}

fn price(price: &Price) -> String {
    match (price.row_bytes, price.bytes()) {
        (Some(row), Some(bytes)) => format!(
            "each update or delete writes the old row to the log too, about {row} bytes; {} of them \
             since the statistics began would have been {bytes} bytes.",
            price.changed_rows
        ),
        _ => "each update or delete writes the old row to the log too; the size of a row is \
              unknown, because the table has not been analysed."
            .to_owned(),
    }
}
