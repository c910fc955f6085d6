//! How letters leave, as the settings say it together.

use super::*;

fn server() -> Sources {
    Sources::default()
        .with("SERVICE_MAIL_SMTP", "smtp.example.com:587")
        .with("SERVICE_MAIL_FROM", "Chancery@Example.com")
}

#[test]
fn a_server_a_folder_or_nothing_takes_the_letters() {
    assert_eq!(load(&Sources::default()).expect("accepted").mail, Mail::Off);
    let from = Sources::default().with("SERVICE_MAIL_FROM", "chancery@example.com");
    assert_eq!(load(&from).expect("accepted").mail, Mail::Off);
    let folder = Sources::default().with("SERVICE_MAIL_OUTBOX", "letters");
    let outbox = Mail::Outbox { folder: "letters".into(), from: None };
    assert_eq!(load(&folder).expect("accepted").mail, outbox);
    let whole = server()
        .with("SERVICE_MAIL_TLS", "implicit")
        .with("SERVICE_MAIL_CA_FILE", "ca.pem")
        .with("SERVICE_MAIL_USER", "chancery")
        .with("SERVICE_MAIL_PASSWORD_FILE", "password");
    let Mail::Smtp(found) = load(&whole).expect("accepted").mail else { panic!("a server") };
    assert_eq!((found.at.parts(), found.tls), (("smtp.example.com", 587), MailTls::Implicit));
    assert_eq!(found.login, Some(("chancery".to_owned(), "password".into())));
    assert_eq!(found.from.as_str(), "chancery@example.com");
    assert_eq!(HostPort::parse("[::1]:25").expect("a place").parts(), ("::1", 25));
}

#[test]
fn what_does_not_fit_together_is_told_by_the_setting_that_is_missing_or_too_much() {
    let alone = Sources::default().with("SERVICE_MAIL_SMTP", "smtp.example.com:587");
    for (sources, setting) in [
        (alone, "SERVICE_MAIL_FROM"),
        (server().with("SERVICE_MAIL_OUTBOX", "letters"), "SERVICE_MAIL_OUTBOX"),
        (server().with("SERVICE_MAIL_USER", "u"), "SERVICE_MAIL_PASSWORD_FILE"),
        (server().with("SERVICE_MAIL_PASSWORD_FILE", "f"), "SERVICE_MAIL_USER"),
    ] {
        let [problem] = problems(&sources).try_into().expect("one");
        assert!(problem.starts_with(&format!("`{setting}`")), "{problem}");
    }
}

#[test]
fn prod_sends_letters_under_tls_with_a_password_that_is_its_own() {
    let path = std::env::temp_dir().join(format!("chancery-password-{}", std::process::id()));
    std::fs::write(&path, "secret").unwrap();
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o644)).unwrap();
    let server = prod()
        .with("SERVICE_MAIL_SMTP", "smtp.example.com:587")
        .with("SERVICE_MAIL_FROM", "chancery@example.com");
    assert!(load(&server).is_ok());
    let open = server
        .with("SERVICE_MAIL_TLS", "none")
        .with("SERVICE_MAIL_USER", "u")
        .with("SERVICE_MAIL_PASSWORD_FILE", path.to_str().unwrap());
    let found = problems(&open).join("\n");
    assert!(found.contains("`SERVICE_MAIL_TLS`"), "{found}");
    assert!(found.contains("`SERVICE_MAIL_PASSWORD_FILE`"), "{found}");
    std::fs::remove_file(path).unwrap();
    // One on this machine may do without TLS; a private network is another machine.
    for (place, is_taken) in [
        ("localhost:25", true),
        ("127.0.0.1:25", true),
        ("[::1]:25", true),
        ("10.0.0.1:25", false),
        ("localhost.example.com:25", false),
    ] {
        let relay = prod()
            .with("SERVICE_MAIL_SMTP", place)
            .with("SERVICE_MAIL_FROM", "chancery@example.com")
            .with("SERVICE_MAIL_TLS", "none");
        assert_eq!(load(&relay).is_ok(), is_taken, "{place}");
    }
    let outbox = prod().with("SERVICE_MAIL_OUTBOX", "letters");
    assert!(problems(&outbox).concat().starts_with("`SERVICE_MAIL_OUTBOX`"));
}
