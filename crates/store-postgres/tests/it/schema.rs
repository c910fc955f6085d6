//! The schema keeps the rules of `/migrations/README.md`, read back from PostgreSQL's catalogue.

use std::collections::BTreeSet;

use ledger::{EventStore, LedgerStore};
use store_postgres::{GRANTS, OF_NO_ORG, testing::TestDatabase};
use testkit::{Draft, Scribe};
use tokio_postgres::Client;

use crate::world::store;

async fn names(client: &Client, sql: &str) -> Vec<String> {
    client.query(sql, &[]).await.unwrap().iter().map(|row| row.get(0)).collect()
}

#[tokio::test]
async fn the_org_leads_every_key() {
    let Some(database) = TestDatabase::new().await else { return };
    let client = database.owner().await;
    let apart = OF_NO_ORG.join("', '");
    let sql = format!(
        "select format('%s of %s leads with %s', key.relname, rel.relname, first.attname)
        from pg_index as i
        join pg_class as rel on rel.oid = i.indrelid
        join pg_class as key on key.oid = i.indexrelid
        join pg_attribute as first on first.attrelid = rel.oid and first.attnum = i.indkey[0]
        where i.indisunique and rel.relnamespace = 'public'::regnamespace
            and first.attname <> 'org_id'
            and rel.relname not in ('{apart}')
        union all
        select format('%s of %s leads with %s', con.conname, rel.relname, first.attname)
        from pg_constraint as con
        join pg_class as rel on rel.oid = con.conrelid
        join pg_attribute as first on first.attrelid = rel.oid and first.attnum = con.conkey[1]
        where con.contype = 'f' and rel.relnamespace = 'public'::regnamespace
            and first.attname <> 'org_id' and rel.relname not in ('{apart}')"
    );
    assert_eq!(names(&client, &sql).await, Vec::<String>::new());
    let sql = "
        select count(*)::text from pg_index as i join pg_class as rel on rel.oid = i.indrelid
        where i.indisunique and rel.relnamespace = 'public'::regnamespace";
    let count: usize = names(&client, sql).await[0].parse().unwrap();
    assert!(count > 20, "the catalogue was looked for in the wrong place");
    let sql = "
        select rel.relname::text from pg_class as rel
        where rel.relkind = 'r' and rel.relnamespace = 'public'::regnamespace
            and not exists (select from pg_index where indrelid = rel.oid and indisprimary)";
    assert_eq!(names(&client, sql).await, Vec::<String>::new(), "a table has no primary key");
}

#[tokio::test]
async fn no_value_comes_from_the_database_itself() {
    let Some(database) = TestDatabase::new().await else { return };
    let client = database.owner().await;
    let public = "'public'::regnamespace";
    let defaults = "select adrelid::regclass::text from pg_attrdef";
    assert_eq!(names(&client, defaults).await, Vec::<String>::new());
    let triggers = "select tgname::text from pg_trigger where not tgisinternal";
    assert_eq!(names(&client, triggers).await, Vec::<String>::new());
    let others = format!(
        "select relname::text from pg_class
        where relnamespace = {public} and relkind not in ('r', 'i')
        union all select proname::text from pg_proc where pronamespace = {public}"
    );
    assert_eq!(names(&client, &others).await, Vec::<String>::new());
    let types = format!(
        "select distinct format('%s %s', a.attrelid::regclass, a.attname) from pg_attribute as a
        join pg_class as rel on rel.oid = a.attrelid and rel.relnamespace = {public}
        where a.atttypid in ('json'::regtype, 'jsonb'::regtype, 'timestamp'::regtype)"
    );
    assert_eq!(names(&client, &types).await, Vec::<String>::new());
}

#[tokio::test]
async fn the_service_has_exactly_the_rights_of_the_table() {
    let Some(database) = TestDatabase::new().await else { return };
    let client = database.owner().await;
    let sql = "
        select relname::text from pg_class
        where relkind = 'r' and relnamespace = 'public'::regnamespace";
    let tables: BTreeSet<_> = names(&client, sql).await.into_iter().collect();
    let granted: BTreeSet<_> = GRANTS.iter().map(|grant| grant.table.to_owned()).collect();
    assert_eq!(tables, granted);
    for grant in GRANTS {
        let sql = format!(
            "select lower(privilege_type) from information_schema.role_table_grants
            where grantee = '{}' and table_name = '{}'",
            database.role(),
            grant.table
        );
        let found: BTreeSet<_> = names(&client, &sql).await.into_iter().collect();
        let said: BTreeSet<_> = grant.privileges.split(", ").map(str::to_owned).collect();
        assert_eq!(found, said, "{}", grant.table);
    }
}

#[tokio::test]
async fn what_was_sealed_cannot_be_changed_or_removed_by_the_service() {
    let Some((database, store)) = store().await else { return };
    let mut scribe = Scribe::created(1, &*store).await;
    let draft = Draft {
        deeds: (0..256).map(|_| scribe.deed(None)).collect(),
        events: vec![scribe.event(None)],
        ..Draft::default()
    };
    scribe.append(&*store, draft).await.unwrap();
    let (client, connection) =
        tokio_postgres::connect(&database.url(), tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(connection);
    for table in ["deed", "log_node", "checkpoint", "event", "policy_version"] {
        for change in [
            format!("delete from {table}"),
            format!("update {table} set org_id = org_id"),
            format!("truncate {table}"),
            format!("alter table {table} add column x integer"),
        ] {
            let refused = client.batch_execute(&change).await.unwrap_err();
            let code = refused.code().map(tokio_postgres::error::SqlState::code);
            assert_eq!(code, Some("42501"), "{change}: {refused}");
        }
    }
    assert_eq!(store.last_event(scribe.org).await.unwrap(), 257 - 256);
    assert_eq!(store.base(scribe.org).await.unwrap().0.unwrap().head.chain.size(), 256);
}
