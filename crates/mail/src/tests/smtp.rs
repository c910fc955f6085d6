//! Letters to a real server of SMTP, and to ones that misbehave.

use std::{future::Future, time::Duration};

use egress::{Egress, Rules};
use serde_json::json;
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    net::{TcpListener, TcpStream},
    time::timeout,
};

use super::{
    server::{Server, authorities, relay, smtp},
    *,
};
use crate::{Authorities, Limits, Login, Protection, Relay, Smtp};

fn login(password: &str) -> Login {
    Login { user: "chancery".to_owned(), password: Secret::new(password.to_owned()) }
}

fn short() -> Limits {
    let (connect, command) = (Duration::from_secs(5), Duration::from_millis(500));
    Limits { connect, command, whole: Duration::from_secs(5) }
}

async fn later(smtp: &Smtp, address: &str) -> String {
    match smtp.send(&sign_in(address)).await {
        Err(MailError::TryAgain(why)) => why,
        other => panic!("{other:?}"),
    }
}

async fn refused(smtp: &Smtp, address: &str) -> String {
    match smtp.send(&sign_in(address)).await {
        Err(MailError::Refused(why)) => why,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_letter_goes_under_tls_with_a_login() {
    let both = [
        ("starttls", Protection::StartTls(authorities())),
        ("implicit", Protection::Implicit(authorities())),
    ];
    for (kind, protection) in both {
        let Some(mut server) = Server::start(kind) else { return };
        let login = (kind == "starttls").then(|| login("right"));
        let smtp = smtp(Relay { login, ..relay(server.port, protection) });
        assert_eq!(smtp.check().await, Ok(()));
        smtp.send(&sign_in("bob@example.org")).await.unwrap();
        let taken = server.taken();
        assert_eq!(taken["to"], json!(["bob@example.org"]));
        assert_eq!(taken["from"], "chancery@chancery.example");
        assert_eq!((&taken["tls"], &taken["hello"]), (&json!(true), &json!("chancery.example")));
        let user = if kind == "starttls" { json!("chancery") } else { json!(null) };
        assert_eq!(taken["user"], user);
        let sent = sender().compose(&sign_in("bob@example.org")).unwrap().bytes;
        assert_eq!(
            taken["content"].as_str().unwrap().trim_end(),
            String::from_utf8(sent).unwrap().trim_end()
        );
    }
}

#[tokio::test]
async fn a_server_says_for_good_and_for_now() {
    let Some(mut server) = Server::start("starttls") else { return };
    let relay = relay(server.port, Protection::StartTls(authorities()));
    let smtp = smtp(Relay { limits: short(), ..relay });
    for (address, code) in [("refused@example.org", "550"), ("spam@example.org", "554")] {
        let why = refused(&smtp, address).await;
        assert!(why.contains(code) && !why.contains("example.org"), "{why}");
    }
    let why = later(&smtp, "grey@example.org").await;
    assert!(why.contains("451"), "{why}");
    smtp.send(&sign_in("grey@example.org")).await.unwrap();
    assert_eq!(server.taken()["to"], json!(["grey@example.org"]));
    let why = later(&smtp, "hang@example.org").await;
    assert!(why.contains("too long"), "{why}");
    later(&smtp, "drop@example.org").await;
    smtp.send(&sign_in("bob@example.org")).await.unwrap();
    let content = server.taken()["content"].as_str().unwrap().to_owned();
    assert!(
        content.contains("Message-ID: <job_01k6djwz2xbw0t38pctkjyc1rr@chancery.example>"),
        "{content}"
    );
}

#[tokio::test]
async fn a_certificate_of_another_name_or_authority_gets_no_letter() {
    for kind in ["starttls", "implicit"] {
        let Some(server) = Server::start(kind) else { return };
        let protected = |authorities| match kind {
            "starttls" => Protection::StartTls(authorities),
            _ => Protection::Implicit(authorities),
        };
        let elsewhere =
            Relay { host: "127.0.0.1".to_owned(), ..relay(server.port, protected(authorities())) };
        let stranger = relay(server.port, protected(Authorities::default()));
        for relay in [elsewhere, stranger] {
            let smtp = smtp(relay);
            let why = later(&smtp, "bob@example.org").await;
            assert!(why.contains("certificate"), "{why}");
            assert_eq!(smtp.check().await, Err(MailError::TryAgain(why)));
        }
    }
}

#[tokio::test]
async fn a_wrong_password_is_not_the_letters_fault() {
    let Some(server) = Server::start("starttls") else { return };
    let relay = relay(server.port, Protection::StartTls(authorities()));
    let smtp = smtp(Relay { login: Some(login("wrong")), ..relay });
    let why = later(&smtp, "bob@example.org").await;
    assert!(why.contains("535") && !why.contains("wrong"), "{why}");
    assert_eq!(smtp.check().await, Err(MailError::TryAgain(why)));
}

#[tokio::test]
async fn an_address_in_unicode_goes_out_in_the_form_that_every_server_knows() {
    let Some(mut server) = Server::start("plain") else { return };
    let smtp = smtp(relay(server.port, Protection::Loopback));
    smtp.send(&sign_in("Anna@Bücher.example")).await.unwrap();
    let taken = server.taken();
    assert_eq!(taken["to"], json!(["anna@xn--bcher-kva.example"]));
    let content = taken["content"].as_str().unwrap();
    assert!(content.contains("To: anna@xn--bcher-kva.example\r\n") && content.is_ascii());
}

#[tokio::test]
async fn a_server_that_has_no_tls_gets_no_letter() {
    let Some(server) = Server::start("plain") else { return };
    let why =
        later(&smtp(relay(server.port, Protection::StartTls(authorities()))), "a@b.example").await;
    assert!(why.contains("STARTTLS"), "{why}");
}

#[tokio::test]
async fn a_letter_goes_only_where_the_way_out_is_open() {
    let Some(server) = Server::start("plain") else { return };
    let closed = Egress::new(Rules::default()).unwrap();
    let smtp = Smtp::new(relay(server.port, Protection::Loopback), closed, sender());
    let why = later(&smtp, "bob@example.org").await;
    assert!(why.contains("may not be reached"), "{why}");
}

/// A server that does with each connection as the test says.
async fn stub<F>(serve: impl Fn(TcpStream) -> F + Send + 'static) -> u16
where
    F: Future<Output = ()> + Send + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(serve(stream));
        }
    });
    port
}

#[tokio::test]
async fn a_server_that_says_nothing_or_goes_on_forever_is_left() {
    let silent = stub(|stream| async move {
        tokio::time::sleep(Duration::from_mins(1)).await;
        drop(stream);
    });
    let endless = stub(|mut stream| async move {
        // One line after the other, each in good time: the whole has a limit, too.
        while stream.write_all(b"220-more\r\n").await.is_ok() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    });
    let gone = stub(|stream| async move { drop(stream) });
    for port in [silent.await, endless.await, gone.await] {
        for protection in [Protection::Loopback, Protection::Implicit(authorities())] {
            let smtp = smtp(Relay { limits: short(), ..relay(port, protection) });
            let ended = timeout(Duration::from_secs(30), later(&smtp, "bob@example.org"));
            ended.await.expect("in time");
        }
    }
}

#[tokio::test]
async fn what_is_said_before_tls_is_not_taken_for_an_answer_under_tls() {
    let port = stub(|stream| async move {
        let mut stream = BufReader::new(stream);
        stream.get_mut().write_all(b"220 here\r\n").await.unwrap();
        let mut line = String::new();
        stream.read_line(&mut line).await.unwrap();
        stream.get_mut().write_all(b"250-here\r\n250 STARTTLS\r\n").await.unwrap();
        stream.read_line(&mut line).await.unwrap();
        // In one segment: the yes, and answers to all that is yet to be asked.
        let injected = b"220 go\r\n250 here\r\n250 yes\r\n250 yes\r\n354 go\r\n250 taken\r\n";
        stream.get_mut().write_all(injected).await.unwrap();
        tokio::time::sleep(Duration::from_mins(1)).await;
    });
    let relay = relay(port.await, Protection::StartTls(authorities()));
    let why = later(&smtp(relay), "bob@example.org").await;
    assert!(why.contains("corrupt") || why.contains("TLS"), "{why}");
    assert!(!why.contains("too long"), "{why}");
}

#[tokio::test]
async fn a_letter_that_was_taken_counts_as_sent_whatever_follows() {
    let port = stub(|stream| async move {
        let mut stream = BufReader::new(stream);
        let mut line = String::new();
        let answers = ["220 here", "250 here", "250 yes", "250 yes", "354 go"];
        for answer in answers {
            stream.get_mut().write_all(format!("{answer}\r\n").as_bytes()).await.unwrap();
            stream.read_line(&mut line).await.unwrap();
        }
        while !line.ends_with("\r\n.\r\n") {
            stream.read_line(&mut line).await.unwrap();
        }
        stream.get_mut().write_all(b"250 taken\r\n").await.unwrap();
        // No goodbye ever comes.
        tokio::time::sleep(Duration::from_mins(1)).await;
    });
    // Far longer than the letter takes; the goodbye is waited for to its end.
    let limits = Limits { whole: Duration::from_secs(5), ..Limits::default() };
    let smtp = smtp(Relay { limits, ..relay(port.await, Protection::Loopback) });
    smtp.send(&sign_in("bob@example.org")).await.unwrap();
}

#[tokio::test]
async fn a_server_that_takes_nothing_of_us_takes_it_later() {
    let port = stub(|stream| async move {
        let mut stream = BufReader::new(stream);
        let mut line = String::new();
        for answer in ["220 here", "250 here", "530 sign in first"] {
            stream.get_mut().write_all(format!("{answer}\r\n").as_bytes()).await.unwrap();
            stream.read_line(&mut line).await.unwrap();
        }
    });
    let smtp = smtp(relay(port.await, Protection::Loopback));
    let why = later(&smtp, "bob@example.org").await;
    assert!(why.contains("530") && why.contains("the sender"), "{why}");
}

#[tokio::test]
async fn an_answer_that_is_none_is_not_repeated() {
    let port = stub(|mut stream| async move {
        drop(stream.write_all(b"bob@example.org is known here\r\n").await);
    });
    let why = later(&smtp(relay(port.await, Protection::Loopback)), "bob@example.org").await;
    assert!(why.contains("not valid SMTP") && !why.contains("bob"), "{why}");
}
