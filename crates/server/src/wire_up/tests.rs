//! What is told before anything is reached; the rest is tested end to end.

use super::*;
use crate::{
    exit::Exit,
    settings::{self, Sources},
};

fn settings(sources: Sources) -> Settings {
    settings::load(&sources).expect("settings")
}

#[tokio::test]
async fn everything_that_is_missing_is_named_at_once() {
    let failure = wire_up(&settings(Sources::default())).await.expect_err("refused");
    assert_eq!(failure.exit, Exit::Usage);
    for name in ["DATABASE_URL", "SEAL_KEY_FILE", "VAULT_KEY", "API_KEY_PEPPER"] {
        assert!(failure.sentence.contains(&format!("`SERVICE_{name}`")), "{failure}");
    }
}

#[tokio::test]
async fn a_database_that_is_not_there_is_an_answer_and_no_wait() {
    let key = crate::secrets::random_key();
    let sources = Sources::default()
        .with("SERVICE_DATABASE_URL", "postgres://app:s3cret@127.0.0.1:1/chancery")
        .with("SERVICE_SEAL_KEY_FILE", "/nowhere/seal.pem")
        .with("SERVICE_VAULT_KEY", key.expose().as_str())
        .with("SERVICE_API_KEY_PEPPER", key.expose().as_str());
    let failure = wire_up(&settings(sources)).await.expect_err("refused");
    assert_eq!(failure.exit, Exit::Unavailable);
    let place = "the control database does not respond at `127.0.0.1:1` (`SERVICE_DATABASE_URL`)";
    assert!(failure.sentence.contains(place), "{failure}");
    assert!(!failure.sentence.contains("s3cret"), "{failure}");
}

#[test]
fn a_host_that_cannot_name_a_log_is_refused() {
    let at = |base_url: &str| settings(Sources::default().with("SERVICE_BASE_URL", base_url));
    assert_eq!(log_host(&at("https://Chancery.Example:8443")).expect("a host"), "chancery.example");
    assert_eq!(log_host(&at("http://[::1]:8080")).expect("a host"), "[::1]");
    assert!(log_host(&at("http://my_host")).is_err());
}

#[test]
fn the_bounds_of_the_gate_are_those_of_the_settings() {
    let text = "gate: {max_args_bytes: 1025, max_result_bytes: 1026, execute_timeout: 7s, \
                edge_result_timeout: 8s}\napprovals: {default_expires_in: 9m, estimate_timeout: 60ms, \
                context_max_bytes: 8193, link_max_ttl: 6m, link_status_window: 2m}\n";
    let file = Some(text.to_owned().into());
    let limits = limits(&settings(Sources { file, ..Sources::default() }));
    assert_eq!((limits.max_args_bytes, limits.max_result_bytes), (1025, 1026));
    assert_eq!(limits.execute_timeout, Duration::from_secs(7));
    assert_eq!(limits.edge_result_timeout, Duration::from_secs(8));
    assert_eq!(limits.approval_expires_in, Duration::from_mins(9));
    assert_eq!(limits.estimate_timeout, Duration::from_millis(60));
    assert_eq!(limits.context_max_bytes, 8193);
    assert_eq!(limits.link_max_ttl, Duration::from_mins(6));
    assert_eq!(limits.link_status_window, Duration::from_mins(2));
    assert!(!limits.writes_mails);
    let mails = Sources::default()
        .with("SERVICE_MAIL_SMTP", "smtp.example.com:465")
        .with("SERVICE_MAIL_FROM", "chancery@example.com");
    assert!(self::limits(&settings(mails)).writes_mails);
}

#[test]
fn a_file_that_mail_needs_and_cannot_use_is_named_by_its_setting() {
    let egress = egress::Egress::new(egress::Rules::default()).expect("rules");
    let mailer = |sources: Sources| post::mailer(&settings(sources), &egress);
    assert!(mailer(Sources::default()).expect("none is asked for").is_none());
    let server = || {
        Sources::default()
            .with("SERVICE_MAIL_SMTP", "smtp.example.com:465")
            .with("SERVICE_MAIL_FROM", "chancery@example.com")
    };
    assert!(mailer(server()).expect("a mailer").is_some());
    let no_certificate = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    for (sources, setting) in [
        (server().with("SERVICE_MAIL_CA_FILE", "/nowhere/ca.pem"), "SERVICE_MAIL_CA_FILE"),
        (server().with("SERVICE_MAIL_CA_FILE", no_certificate), "SERVICE_MAIL_CA_FILE"),
        (
            server()
                .with("SERVICE_MAIL_USER", "chancery")
                .with("SERVICE_MAIL_PASSWORD_FILE", "/nowhere/password"),
            "SERVICE_MAIL_PASSWORD_FILE",
        ),
        (Sources::default().with("SERVICE_MAIL_OUTBOX", no_certificate), "SERVICE_MAIL_OUTBOX"),
    ] {
        let Err(failure) = mailer(sources) else { panic!("{setting}") };
        assert_eq!(failure.exit, Exit::Usage);
        assert!(failure.sentence.contains(&format!("`{setting}`")), "{failure}");
    }
}
