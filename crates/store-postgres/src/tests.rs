//! What needs no database: addresses, moments, and what an error means.

use std::time::{Duration, SystemTime};

use crypto::Secret;
use model::Timestamp;

use crate::{
    BadSettings, MIGRATIONS, Plans, PostgresStore, Settings,
    database::{Call, Database, PoolKind, Unanswered},
    migrate::statements,
    pipeline::Reach,
    rows::system_time,
};

/// Where a test is about no deadline, so that it does not measure the machine.
const PATIENT: Duration = Duration::from_secs(20);

fn open(url: &str, ca_pem: Option<&str>) -> Result<PostgresStore, BadSettings> {
    let mut settings = Settings::new(Secret::new(url.to_owned()));
    settings.ca_pem = ca_pem.map(str::to_owned);
    PostgresStore::new(&settings)
}

#[test]
fn addresses_of_every_form_are_read() {
    for url in [
        "postgres://user:password@host:5432/database",
        "postgresql://user@host/database?sslmode=verify-full",
        "postgres://user@host/database?sslmode=require&application_name=mine",
        "postgres:///database?host=/run/postgresql",
        "host=localhost user=me sslmode=disable",
    ] {
        assert!(open(url, None).is_ok(), "{url}");
    }
}

#[test]
fn an_address_that_is_none_is_refused_without_being_repeated() {
    for url in [
        "",
        "http://user:canary@host/database",
        "postgres://user:canary@host:port/database",
        "postgres://user:canary@host/database?sslmode=allow",
        "user=me password=canary",
    ] {
        let error = open(url, None).unwrap_err();
        assert!(matches!(error, BadSettings::Url), "{url}");
        assert!(!format!("{error:?} {error}").contains("canary"), "{url}");
    }
}

#[test]
fn certificates_that_are_none_are_refused_where_tls_is_asked_for() {
    let url = "postgres://user@host/database?sslmode=require";
    for pem in
        ["", "not a certificate", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----"]
    {
        assert!(matches!(open(url, Some(pem)), Err(BadSettings::CaPem)), "{pem}");
    }
}

#[test]
fn moments_before_and_after_the_epoch_keep_their_milliseconds() {
    let epoch = SystemTime::UNIX_EPOCH;
    let at = Timestamp::from_unix_millis;
    assert_eq!(system_time(at(1)), epoch + Duration::from_millis(1));
    assert_eq!(system_time(at(0)), epoch);
    assert_eq!(system_time(at(-1)), epoch - Duration::from_millis(1));
}

#[tokio::test]
async fn a_statement_that_cannot_be_sent_keeps_the_commit_behind_it_from_going_out() {
    let Some(database) = crate::testing::TestDatabase::new().await else { return };
    let mut settings = Settings::new(Secret::new(database.url()));
    (settings.pool_size, settings.deadline) = (1, PATIENT);
    let pool = Database::new(&settings, PoolKind::Turns).unwrap();
    let insert = "insert into org (org_id, created_at, record) values ($1, now(), $2)";
    let row = |record| Call::new(insert).with(uuid::Uuid::from_u128(7)).with(record);
    let calls = [
        Call::new("begin isolation level read committed"),
        row("{}"),
        // PostgreSQL wants a text here, and the driver does not send a number for one.
        Call::new("select $1::text").with(5_i64),
        Call::new("commit"),
    ];
    let Err(Unanswered::Failed(failed)) = pool.session(&calls).await.unwrap().send(&calls).await
    else {
        panic!("a number was taken for a text")
    };
    assert_eq!((failed.at, failed.reach), (2, Reach::CutOff));
    // The pool's one connection was inside a transaction; whoever comes next has another.
    let rows = pool.ask_one("look", Call::new("select record from org")).await.unwrap();
    assert!(rows.is_empty());
    pool.ask_one("insert", row(r#"{"whole":true}"#)).await.unwrap();
    let owner = database.owner().await;
    let rows = owner.query("select record from org", &[]).await.unwrap();
    assert_eq!(rows.iter().map(|row| row.get(0)).collect::<Vec<String>>(), [r#"{"whole":true}"#]);
}

#[tokio::test]
async fn plans_are_as_the_server_wants_them_and_as_the_operator_says() {
    let Some(database) = crate::testing::TestDatabase::new().await else { return };
    let (plain, own) = (database.url(), "options=-c%20plan_cache_mode%3Dforce_custom_plan");
    let sign = if plain.contains('?') { '&' } else { '?' };
    let own = format!("{plain}{sign}{own}");
    let mode = async |url: &str, plans| {
        let mut settings = Settings::new(Secret::new(url.to_owned()));
        (settings.plans, settings.deadline) = (plans, PATIENT);
        let call = Call::new("select current_setting('plan_cache_mode')");
        let rows =
            Database::new(&settings, PoolKind::Turns).unwrap().ask_one("look", call).await.unwrap();
        rows[0].get::<_, String>(0)
    };
    assert_eq!(mode(&plain, Plans::Detect).await, "force_generic_plan");
    assert_eq!(mode(&plain, Plans::Auto).await, "auto");
    assert_eq!(mode(&own, Plans::Detect).await, "force_custom_plan");
    let sql = "
        insert into pg_extension (oid, extname, extowner, extnamespace, extrelocatable, extversion)
        select 999999, 'citus', oid, 'public'::regnamespace, false, '0' from pg_roles
        where rolname = current_user";
    database.owner().await.batch_execute(sql).await.unwrap();
    assert_eq!(mode(&plain, Plans::Detect).await, "auto");
    assert_eq!(mode(&plain, Plans::Generic).await, "force_generic_plan");
    assert_eq!(mode(&own, Plans::Detect).await, "force_custom_plan");
}

#[test]
fn a_migration_is_taken_apart_where_its_statements_end() {
    let sql = "-- It's a comment; no statement.\ncreate table a (b text); -- not; here\n\n\
        insert into a values ('x;''y'); select 1 -- the last; needs none\n";
    let parts: Vec<_> = statements(sql).into_iter().map(str::trim).collect();
    let [first, second, third] = parts.as_slice() else { panic!("{parts:?}") };
    assert!(first.ends_with("create table a (b text);"), "{first}");
    assert!(second.ends_with("insert into a values ('x;''y');"), "{second}");
    assert!(third.starts_with("select 1"), "{third}");
    assert!(statements("-- nothing; at all\n").is_empty());
    for migration in MIGRATIONS {
        assert_eq!(statements(migration.sql).concat().trim_end(), migration.sql.trim_end());
        assert!(!migration.sql.contains("/*") && !migration.sql.contains("$$"));
    }
}

#[test]
fn a_later_migration_passes_on_tables_that_are_spread() {
    let later = MIGRATIONS.iter().filter(|migration| migration.version > 13);
    for statement in later.flat_map(|migration| statements(migration.sql)) {
        let adds = statement.contains("add column");
        let constrains = ["check", "unique", "references", "primary key"];
        assert!(!adds || !constrains.iter().any(|word| statement.contains(word)), "{statement}");
        assert!(!statement.contains("set storage"), "{statement}");
    }
}
