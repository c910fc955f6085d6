//! The script by which the owner of the tables lets the log tell what it can.

use std::{collections::BTreeSet, fmt::Write as _};

use model::TableGap;

use super::{
    super::{config::Config, quote},
    CoveredTable, Price,
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
        let _ = writeln!(identities, "-- {}: {}", comment(&name), price(&table.price));
        if table.missing.contains(&TableGap::IdentityNotFull) {
            let _ = writeln!(identities, "alter table {name} replica identity full;\n");
        } else {
            identities.push_str("-- Its old rows are already logged completely.\n\n");
        }
        published.insert(name);
    }
    let own = ["service.ledger", "service.heartbeat"].map(str::to_owned);
    let all: Vec<String> = own.into_iter().chain(published).collect();
    TEMPLATE
        .replace("{publication}", publication)
        .replace("{owner}", &config.owner)
        .replace("{conn}", &config.user)
        .replace("{decoder}", &config.decoder_user)
        .replace("{identities}\n", &identities)
        .replace("{tables}", &all.join(",\n    "))
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
