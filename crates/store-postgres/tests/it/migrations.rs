//! Migrations bring a database to this build's schema, once, and start-up believes no other.

use std::error::Error;

use crypto::Secret;
use ledger::{LedgerStore as _, Needs, record::ApprovalSettings};
use store_postgres::{
    CheckError, Durability, MIGRATIONS, MigrateError, PostgresStore, Settings, migrate,
    testing::TestDatabase,
};
use testkit::{Scribe, sample};

use crate::world::{settings, store};

fn owner(database: &TestDatabase) -> Settings {
    Settings::new(Secret::new(database.owner_url()))
}

async fn check(database: &TestDatabase) -> Result<(), CheckError> {
    PostgresStore::new(&settings(database)).unwrap().check(Durability::SurvivesACrash).await
}

#[tokio::test]
async fn an_empty_database_is_refused_until_it_is_migrated() {
    let Some(database) = TestDatabase::empty().await else { return };
    let refused = check(&database).await;
    assert!(
        matches!(refused, Err(CheckError::Missing { version: 1, name: "orgs" })),
        "{refused:?}"
    );
    let names: Vec<_> = MIGRATIONS.iter().map(|migration| migration.name).collect();
    assert_eq!(migrate(&owner(&database), database.role()).await.unwrap(), names);
    check(&database).await.unwrap();
    assert!(migrate(&owner(&database), database.role()).await.unwrap().is_empty());
}

#[tokio::test]
async fn orgs_that_had_one_name_before_names_were_unique_keep_it() {
    let Some(database) = TestDatabase::new().await else { return };
    let client = database.owner().await;
    let made = MIGRATIONS.iter().find(|migration| migration.name == "org_name").unwrap();
    let before = format!(
        "drop table org_name; delete from schema_migration where version = {};
         insert into org (org_id, created_at, record)
         select gen_random_uuid(), now() + n * interval '1 s', '{{\"name\": \"Acme\"}}'
         from generate_series(1, 3) as n",
        made.version
    );
    client.batch_execute(&before).await.unwrap();
    let applied = migrate(&owner(&database), database.role()).await.unwrap();
    assert_eq!(applied, ["org_name"]);
    let held = "select name from org_name natural join org where created_at <
                (select min(created_at) + interval '1 s' from org)";
    let held: Vec<String> =
        client.query(held, &[]).await.unwrap().iter().map(|row| row.get(0)).collect();
    assert_eq!(held, ["Acme"]);
}

#[tokio::test]
async fn settings_that_an_older_version_wrote_say_nothing_of_what_it_did_not_know() {
    let Some((database, store)) = store().await else { return };
    let scribe = Scribe::created(1, &*store).await;
    let row = "insert into org_settings (org_id, retention_days, updated_at)
               select org_id, 30, now() from org";
    database.owner().await.batch_execute(row).await.unwrap();
    let needs = Needs { settings: [scribe.org].into(), ..Needs::default() };
    let found = store.load(scribe.org, &needs).await.unwrap().settings.remove(0);
    assert_eq!((found.retention_days, found.revision), (30, 1));
    assert_eq!(found.approvals, ApprovalSettings::default());
}

#[tokio::test]
async fn of_many_migrations_at_once_one_works() {
    let Some(database) = TestDatabase::empty().await else { return };
    let mut all = tokio::task::JoinSet::new();
    for _ in 0..6 {
        let (settings, role) = (owner(&database), database.role());
        all.spawn(async move { migrate(&settings, role).await.unwrap().len() });
    }
    let mut applied = all.join_all().await;
    applied.sort_unstable();
    assert_eq!(applied, [0, 0, 0, 0, 0, MIGRATIONS.len()]);
}

#[tokio::test]
async fn a_missing_an_unknown_and_a_changed_migration_are_refused() {
    let Some(database) = TestDatabase::new().await else { return };
    let client = database.owner().await;
    check(&database).await.unwrap();
    let last = MIGRATIONS.last().unwrap();

    let sql = "delete from schema_migration where version = $1";
    client.execute(sql, &[&last.version]).await.unwrap();
    let refused = check(&database).await;
    assert!(matches!(refused, Err(CheckError::Missing { version, .. }) if version == last.version));

    let sql = "insert into schema_migration values ($1, 'late', $2, now())";
    let digest = last.digest();
    let digest = &digest.as_bytes()[..];
    client.execute(sql, &[&last.version, &digest]).await.unwrap();
    client.execute(sql, &[&9_000, &digest]).await.unwrap();
    assert!(matches!(check(&database).await, Err(CheckError::Unknown { version: 9_000 })));
    let refused = migrate(&owner(&database), database.role()).await;
    assert!(matches!(refused, Err(MigrateError::Unknown { version: 9_000 })));

    client.batch_execute("delete from schema_migration where version = 9000").await.unwrap();
    check(&database).await.unwrap();
    let sql = "update schema_migration set digest = sha256('another') where version = 1";
    client.batch_execute(sql).await.unwrap();
    assert!(matches!(check(&database).await, Err(CheckError::Unknown { version: 1 })));
    let refused = migrate(&owner(&database), database.role()).await;
    assert!(matches!(refused, Err(MigrateError::Unknown { version: 1 })));
}

#[tokio::test]
async fn a_role_that_lacks_a_right_is_told_which_grant_gives_it() {
    let Some(database) = TestDatabase::empty().await else { return };
    let as_service = settings(&database);
    let told = async || match migrate(&as_service, database.role()).await {
        Err(MigrateError::NoRight { role, mend, .. }) if role == database.role() => mend,
        other => panic!("{other:?}"),
    };
    let grant = told().await.split('`').nth(3).unwrap().to_owned();
    assert!(grant.starts_with("grant usage, create on schema public to "), "{grant}");
    // The tables of somebody else are for that role to change.
    migrate(&owner(&database), database.role()).await.unwrap();
    let client = database.owner().await;
    let name: String = client.query_one("select current_user::text", &[]).await.unwrap().get(0);
    assert_eq!(told().await, format!("the tables are those of `{name}`; migrate as that role"));
    // What is told is enough.
    let Some(another) = TestDatabase::empty().await else { return };
    another.owner().await.batch_execute(&grant).await.unwrap();
    let applied = migrate(&settings(&another), another.role()).await.unwrap();
    assert_eq!(applied.len(), MIGRATIONS.len());
}

#[tokio::test]
async fn a_service_role_that_is_not_there_is_named() {
    let Some(database) = TestDatabase::empty().await else { return };
    let refused = migrate(&owner(&database), "nobody's \"role\"").await.unwrap_err();
    assert!(refused.to_string().contains("nobody's \"role\""), "{refused}");
    assert!(matches!(refused, MigrateError::NoRole { .. }));
}

#[tokio::test]
async fn a_migration_that_fails_leaves_the_database_as_it_was() {
    let Some(database) = TestDatabase::empty().await else { return };
    let client = database.owner().await;
    // The third migration finds its table taken.
    client.batch_execute("create table action (mine integer)").await.unwrap();
    let failed = migrate(&owner(&database), database.role()).await.unwrap_err();
    assert_eq!(failed.to_string(), "could not apply migration 3 `actions`");
    assert!(failed.source().unwrap().to_string().contains("42P07"), "{failed:?}");
    let rows = client.query("select version from schema_migration order by 1", &[]).await.unwrap();
    assert_eq!(rows.iter().map(|row| row.get(0)).collect::<Vec<i32>>(), [1, 2]);
    let half = client.query_one("select to_regclass('idempotency') is null", &[]).await.unwrap();
    assert!(half.get::<_, bool>(0));
    client.batch_execute("drop table action").await.unwrap();
    let applied = migrate(&owner(&database), database.role()).await.unwrap();
    let rest: Vec<_> = MIGRATIONS.iter().skip(2).map(|migration| migration.name).collect();
    assert_eq!(applied, rest);
    check(&database).await.unwrap();
}

#[tokio::test]
async fn a_database_that_forgets_is_refused_where_deeds_must_last() {
    let Some(database) = TestDatabase::new().await else { return };
    let forgetful = format!("alter role {} set synchronous_commit = off", database.role());
    let client = database.owner().await;
    // The setting is the role's in this one database, so that other tests do not see it.
    let name: String =
        client.query_one("select quote_ident(current_database())", &[]).await.unwrap().get(0);
    let scoped = forgetful.replace(" set ", &format!(" in database {name} set "));
    client.batch_execute(&scoped).await.unwrap();
    let store = PostgresStore::new(&settings(&database)).unwrap();
    let refused = store.check(Durability::SurvivesACrash).await.unwrap_err();
    assert!(refused.to_string().contains("`synchronous_commit` is `off`"), "{refused}");
    store.check(Durability::MayBeLost).await.unwrap();
}

#[tokio::test]
async fn a_role_that_may_change_what_was_sealed_is_refused_where_deeds_must_last() {
    let Some(database) = TestDatabase::new().await else { return };
    check(&database).await.unwrap();
    let store = PostgresStore::new(&owner(&database)).unwrap();
    let refused = store.check(Durability::SurvivesACrash).await.unwrap_err();
    assert!(matches!(&refused, CheckError::Mighty { table, .. } if table == "checkpoint"));
    store.check(Durability::MayBeLost).await.unwrap();
    let client = database.owner().await;
    for (right, table) in [("delete", "deed"), ("truncate", "event"), ("update", "closed_log")] {
        let (give, take) = (
            format!("grant {right} on {table} to {}", database.role()),
            format!("revoke {right} on {table} from {}", database.role()),
        );
        client.batch_execute(&give).await.unwrap();
        let refused = check(&database).await.unwrap_err();
        assert!(matches!(&refused, CheckError::Mighty { table: told, .. } if told == table));
        client.batch_execute(&take).await.unwrap();
        check(&database).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn indexes_are_made_beside_a_serving_instance_and_a_broken_run_is_taken_up() {
    let Some(database) = TestDatabase::new().await else { return };
    let client = database.owner().await;
    // As it was before, but for what a run had done that was broken off.
    let before = "
        delete from schema_migration where version = 15;
        drop index action_sealed_of_tool;
        create index action_of_tool on action (org_id, tool, id) where tool is not null;
        alter table action add constraint action_state_check check (state <> 'none')";
    client.batch_execute(before).await.unwrap();
    let store = PostgresStore::new(&settings(&database)).unwrap();
    let mut scribe = Scribe::created(31, &store).await;
    let agent = scribe.agent("busy");
    let (by, role) = (owner(&database), database.role());
    let migrating = tokio::spawn(async move { migrate(&by, role).await });
    let mut turns = 0;
    while !migrating.is_finished() || turns < 3 {
        let mint = scribe.mint();
        let (request, disclosure) = sample::request(&serde_json::json!({}), &mint);
        let begun = sample::begun(sample::action(&agent, request, &mint), vec![disclosure]);
        scribe.append(&store, vec![begun]).await.unwrap();
        turns += 1;
    }
    assert_eq!(migrating.await.unwrap().unwrap(), ["cheaper_actions"]);
    let sql = "
        select indexrelid::regclass::text from pg_index
        where indrelid = 'action'::regclass and indisvalid
        union all select conname from pg_constraint where conname = 'action_state_check'";
    let rows = client.query(sql, &[]).await.unwrap();
    let found: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
    let has = |name: &str| found.iter().any(|found| found == name);
    assert!(has("action_sealed_of_tool") && has("action_sealed_of_agent"), "{found:?}");
    assert!(!has("action_of_tool") && !has("action_state_check"), "{found:?}");
}
