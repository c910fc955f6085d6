//! What needs no database: addresses, moments, and what an error means.

use std::time::{Duration, SystemTime};

use crypto::Secret;
use model::Timestamp;

use crate::{BadSettings, PostgresStore, Settings, rows::system_time};

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
