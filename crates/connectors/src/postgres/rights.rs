//! What the roles of a connector may do on its tables now, held against what its tools declare.

use std::collections::BTreeSet;

use tokio_postgres::Client;

use super::{
    check::{advice, fail, pass},
    config::Config,
    fault::sentence,
    setup::{Columns, needs, table_name, tables},
};
use crate::CheckLine;

/// What a role needs on one table.
#[derive(Debug)]
pub(super) struct Want {
    table: String,
    operations: BTreeSet<&'static str>,
    // The columns that updates may set, where not all of them.
    columns: Vec<String>,
}

/// What the role that runs writes needs.
pub(super) fn of_writer(config: &Config) -> Vec<Want> {
    let needs = needs(config);
    let want = |table: &str| {
        let mut operations = BTreeSet::from(["select"]);
        let mut columns = Vec::new();
        if let Some(need) = needs.get(table) {
            operations.extend(&need.operations);
            match &need.update {
                None => {}
                Some(Columns::All) => {
                    operations.insert("update");
                }
                Some(Columns::Some(some)) => columns.extend(some.iter().cloned()),
            }
        }
        Want { table: table_name(table), operations, columns }
    };
    tables(config, &needs).into_iter().map(want).collect()
}

/// What the role that runs reads needs.
pub(super) fn of_reader(config: &Config) -> Vec<Want> {
    let reads = |want| Want { operations: BTreeSet::from(["select"]), columns: Vec::new(), ..want };
    of_writer(config).into_iter().map(reads).collect()
}

impl Want {
    /// Asks as the role itself.
    pub(super) async fn line(&self, client: &Client, user: &str) -> CheckLine {
        let name = format!("rights of `{user}` on {}", self.table);
        match self.held(client).await {
            Ok(None) => fail(&name, "the table does not exist".to_owned()),
            Ok(Some(held)) => self.judge(&name, &held),
            Err(error) => {
                let said = error.as_db_error().map(sentence).unwrap_or_default();
                fail(&name, format!("the check could not be run; {said}"))
            }
        }
    }

    /// The rights that the role has, those on columns as `update (column)`; nothing where there is no
    /// such table.
    async fn held(
        &self,
        client: &Client,
    ) -> Result<Option<BTreeSet<String>>, tokio_postgres::Error> {
        let types = [tokio_postgres::types::Type::TEXT, tokio_postgres::types::Type::TEXT_ARRAY];
        let [text, texts] = types;
        let rows = client.query_typed(HELD, &[(&self.table, text), (&self.columns, texts)]).await?;
        let mut there = false;
        let mut held = BTreeSet::new();
        for row in &rows {
            there |= row.try_get::<_, bool>(0)?;
            held.extend(row.try_get::<_, Option<String>>(1)?);
        }
        Ok(there.then_some(held))
    }

    fn judge(&self, name: &str, held: &BTreeSet<String>) -> CheckLine {
        let all_updates = held.contains("update");
        let columns = self.columns.iter().map(|column| format!("update ({column})"));
        let wanted = self.operations.iter().map(|operation| (*operation).to_owned());
        let wanted: BTreeSet<String> = wanted.chain(columns).collect();
        let has =
            |right: &str| held.contains(right) || (all_updates && right.starts_with("update ("));
        let lacks = |right: &&String| !has(right);
        let lacking: Vec<&str> = wanted.iter().filter(lacks).map(String::as_str).collect();
        let spare: Vec<&str> = held.difference(&wanted).map(String::as_str).collect();
        if !lacking.is_empty() {
            fail(name, format!("lacks {}: run the setup script", lacking.join(", ")))
        } else if !spare.is_empty() {
            let detail = "which no tool declares: run the setup script";
            advice(name, format!("may {} too, {detail}", spare.join(", ")))
        } else {
            pass(name)
        }
    }
}

const HELD: &str = "
    select to_regclass($1) is not null, right_
    from unnest(array['select', 'insert', 'update', 'delete', 'truncate']) as right_
    where coalesce(has_table_privilege(to_regclass($1), right_), false)
    union all
    select true, 'update (' || attname || ')'
    from pg_catalog.pg_attribute
    where attrelid = to_regclass($1) and attname = any ($2) and attnum > 0
        and has_column_privilege(attrelid, attnum, 'update')
    union all
    select to_regclass($1) is not null, null";
