//! The tables are spread over a Citus cluster in an order that it takes, and a table that a later
//! migration makes goes where the others went.
//!
//! Citus itself is seldom to be had where tests run: its two functions stand in for it here, and keep
//! its rules that what a table points at is spread before it, and that a transaction changes one spread
//! table unless it uses one connection for a node. `CHANCERY_TEST_CITUS` names the coordinator of a real
//! cluster, as a superuser, for the one test that needs it.

use std::{sync::Arc, time::Duration};

use crypto::Secret;
use store_postgres::{
    GRANTS, MIGRATIONS, MigrateError, OF_NO_ORG, PostgresStore, Settings, Spread, distribute,
    migrate, spreading, testing::TestDatabase,
};
use testkit::contract;
use tokio_postgres::Client;

fn owner(database: &TestDatabase) -> Settings {
    Settings::new(Secret::new(database.owner_url()))
}

/// Makes what there is of Citus where it is installed, as far as the migrator knows it.
async fn stand_in(client: &Client) {
    let sql = "
        insert into pg_extension (oid, extname, extowner, extnamespace, extrelocatable, extversion)
        select 999999, 'citus', oid, 'public'::regnamespace, false, '0' from pg_roles
        where rolname = current_user;
        create table pg_dist_partition (logicalrelid regclass primary key, beside text);
        create function create_reference_table(named regclass) returns void language sql
        as $$ insert into pg_dist_partition values ($1, null) $$;
        create function create_distributed_table(named regclass, key text, colocate_with text)
        returns void language plpgsql as $$ begin
            if exists (
                select from pg_constraint where contype = 'f' and conrelid = named
                    and confrelid not in (select logicalrelid from pg_dist_partition)
            ) then
                raise '% points at a table that is not spread', named;
            end if;
            insert into pg_dist_partition values (named, colocate_with);
        end $$;
        create function one_table() returns event_trigger language plpgsql as $$
        declare
            before text := current_setting('stand_in.changed', true);
            mode text := current_setting('citus.multi_shard_modify_mode', true);
        begin
            if before = 'yes' and mode is distinct from 'sequential'
                and exists (select from pg_dist_partition) then
                raise 'cannot modify table because there was a parallel operation';
            end if;
            perform set_config('stand_in.changed', 'yes', true);
        end $$;
        create event trigger one_table on ddl_command_end when tag in ('GRANT', 'REVOKE')
            execute function one_table()";
    client.batch_execute(sql).await.unwrap();
}

async fn spread(client: &Client) -> Vec<(String, Option<String>)> {
    let sql = "select logicalrelid::text, beside from pg_dist_partition order by 1";
    let rows = client.query(sql, &[]).await.unwrap();
    rows.iter().map(|row| (row.get(0), row.get(1))).collect()
}

#[tokio::test]
async fn a_plain_postgresql_is_not_spread() {
    let Some(database) = TestDatabase::new().await else { return };
    assert!(matches!(spreading(&owner(&database)).await, Err(MigrateError::NoCitus)));
}

#[tokio::test]
async fn every_table_is_spread_once_and_after_those_that_it_points_at() {
    let Some(database) = TestDatabase::new().await else { return };
    let client = database.owner().await;
    stand_in(&client).await;
    let tables = spreading(&owner(&database)).await.unwrap();
    assert_eq!(tables.len(), GRANTS.len());
    let whole = tables.iter().filter(|table| table.spread == Spread::Everywhere);
    let mut whole: Vec<_> = whole.map(|table| table.table).collect();
    whole.sort_unstable();
    let mut of_no_org = OF_NO_ORG;
    of_no_org.sort_unstable();
    assert_eq!(whole, of_no_org);
    assert_eq!(tables[OF_NO_ORG.len()].to_string(), "org: distributed by org_id");
    // Half of it is a run that was broken off.
    distribute(&owner(&database), &tables[..10]).await.unwrap();
    let rest = spreading(&owner(&database)).await.unwrap();
    assert_eq!(rest, &tables[10..]);
    distribute(&owner(&database), &rest).await.unwrap();
    let found = spread(&client).await;
    assert_eq!(found.len(), GRANTS.len());
    for (table, beside) in found {
        let due = match table.as_str() {
            "org" => Some("none"),
            name if OF_NO_ORG.contains(&name) => None,
            _ => Some("org"),
        };
        assert_eq!(beside.as_deref(), due, "{table}");
    }
    assert_eq!(spreading(&owner(&database)).await.unwrap(), []);
}

#[tokio::test]
async fn a_table_that_a_later_migration_makes_is_spread_by_it() {
    let Some(database) = TestDatabase::new().await else { return };
    let client = database.owner().await;
    stand_in(&client).await;
    let tables = spreading(&owner(&database)).await.unwrap();
    distribute(&owner(&database), &tables).await.unwrap();
    // As it was before the migration that made the settings of an org.
    let made = MIGRATIONS.iter().find(|migration| migration.name == "org_settings").unwrap();
    let sql = format!(
        "delete from pg_dist_partition where logicalrelid = 'org_settings'::regclass;
        drop table org_settings; delete from schema_migration where version = {}",
        made.version
    );
    client.batch_execute(&sql).await.unwrap();
    assert_eq!(migrate(&owner(&database), database.role()).await.unwrap(), ["org_settings"]);
    assert!(spread(&client).await.contains(&("org_settings".to_owned(), Some("org".to_owned()))));
    let sql = "select has_table_privilege($1, 'org_settings', 'insert')";
    assert!(client.query_one(sql, &[&database.role()]).await.unwrap().get::<_, bool>(0));
}

#[tokio::test]
async fn a_spread_database_is_migrated_again_and_again() {
    let Some(database) = TestDatabase::new().await else { return };
    let client = database.owner().await;
    stand_in(&client).await;
    for _ in 0..2 {
        let tables = spreading(&owner(&database)).await.unwrap();
        distribute(&owner(&database), &tables).await.unwrap();
        assert!(migrate(&owner(&database), database.role()).await.unwrap().is_empty());
    }
    // The stand-in refuses what Citus does.
    let at_once = "begin; revoke all on org from public; revoke all on deed from public; commit";
    let refused = client.batch_execute(at_once).await.unwrap_err();
    assert!(refused.as_db_error().unwrap().message().contains("parallel operation"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[expect(clippy::disallowed_methods, reason = "the run tells its tests where Citus is")]
async fn the_contract_is_kept_on_citus() {
    let Ok(url) = std::env::var("CHANCERY_TEST_CITUS") else {
        println!("`CHANCERY_TEST_CITUS` is not set: the test on a Citus cluster is left out");
        return;
    };
    let mut settings = Settings::new(Secret::new(url));
    settings.deadline = Duration::from_secs(20);
    migrate(&settings, "postgres").await.unwrap();
    distribute(&settings, &spreading(&settings).await.unwrap()).await.unwrap();
    let store = Arc::new(PostgresStore::new(&settings).unwrap());
    contract::ledger_store(store.clone()).await;
    contract::event_store(store.clone()).await;
    contract::action_store(store.clone()).await;
    contract::account_stores(store.clone()).await;
    contract::record_store(store).await;
}
