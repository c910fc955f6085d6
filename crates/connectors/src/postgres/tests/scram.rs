//! Logging in: impostors that ask for the password otherwise than by SCRAM, and what they get.

use std::{io, net::SocketAddr, time::Duration};

use egress::PrivateNetworks;
use futures_util::FutureExt;
use model::Fault;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, duplex},
    net::{TcpListener, TcpStream},
    task::JoinHandle,
    time::{sleep, timeout},
};

use super::{
    tls::{AUTHORITY, acceptor, secured},
    world::{LIMIT, blueprint, deps, read_tool},
};
use crate::{
    Blueprint, BuildError, build,
    postgres::scram::{MethodError, ScramOnly},
};

const CLEARTEXT: &[u8] = b"R\0\0\0\x08\0\0\0\x03";
const MD5: &[u8] = b"R\0\0\0\x0c\0\0\0\x05salt";
const TRUSTED: &[u8] = b"R\0\0\0\x08\0\0\0\0";
const SCRAM: &[u8] = b"R\0\0\0\x17\0\0\0\x0aSCRAM-SHA-256\0\0";
const SCRAM_OR_PLUS: &[u8] = b"R\0\0\0\x2a\0\0\0\x0aSCRAM-SHA-256-PLUS\0SCRAM-SHA-256\0\0";
/// What PostgreSQL says of a role without a line in `pg_hba.conf`, and another server in one field.
const ERROR: &[u8] = b"E\0\0\0\x1dSFATAL\0C28000\0Mno entry\0\0";
const SHORT_ERROR: &[u8] = b"E\0\0\0\x05\0";

/// First messages that are refused, each with the method that they ask for.
const REFUSED: &[(&[u8], &str)] = &[
    (CLEARTEXT, "a cleartext password"),
    (MD5, "an MD5 password"),
    (TRUSTED, "no password at all"),
    (b"R\0\0\0\x08\0\0\0\x07", "GSSAPI"),
    (b"R\0\0\0\x08\0\0\0\x09", "SSPI"),
    (b"R\0\0\0\x08\0\0\0\x02", "another method"),
    (b"R\0\0\0\x0c\0\0\0\x0bdata", "another method"),
    (b"R\0\0\0\x04\0\0\0\x0a\0", "another method"),
    (b"N\0\0\0\x0cMhello\0\0R\0\0\0\x08\0\0\0\x03", "another method"),
    (b"S\0\0\0\x08a\0b\0R\0\0\0\x08\0\0\0\x03", "another method"),
];

/// How an impostor sends its answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pace {
    AtOnce,
    ByteByByte,
}

/// A server that says what it likes to one client.
struct Impostor {
    address: SocketAddr,
    /// What the client sent after its start-up packet, once it has closed the connection.
    sent: JoinHandle<Vec<u8>>,
}

impl Impostor {
    /// One that answers the start-up packet and each message after it, in this order.
    async fn start(answers: &'static [&'static [u8]], pace: Pace) -> Self {
        let (listener, address) = listener().await;
        let sent = tokio::spawn(async move {
            let (client, _) = listener.accept().await.unwrap();
            converse(client, answers, pace).await
        });
        Self { address, sent }
    }

    /// The same inside of TLS.
    async fn start_secured(answers: &'static [&'static [u8]]) -> Self {
        let (listener, address) = listener().await;
        let sent = tokio::spawn(async move {
            let (client, _) = listener.accept().await.unwrap();
            converse(secured(client, acceptor()).await.unwrap(), answers, Pace::AtOnce).await
        });
        Self { address, sent }
    }

    async fn sent(self) -> Vec<u8> {
        timeout(LIMIT, self.sent).await.expect("the client closes the connection").unwrap()
    }
}

async fn listener() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    (listener, address)
}

/// Answers the client until it closes the connection, and returns what came after the start-up
/// packet.
async fn converse(
    mut client: impl AsyncRead + AsyncWrite + Unpin,
    answers: &[&[u8]],
    pace: Pace,
) -> Vec<u8> {
    let length = client.read_u32().await.unwrap();
    let mut startup = vec![0; usize::try_from(length).unwrap() - 4];
    client.read_exact(&mut startup).await.unwrap();
    let mut sent = Vec::new();
    for (at, answer) in answers.iter().enumerate() {
        // A client that has seen enough does not wait for the rest.
        let _ = say(&mut client, answer, pace).await;
        if at + 1 < answers.len() {
            let mut message = vec![0; 4096];
            let size = client.read(&mut message).await.unwrap_or(0);
            sent.extend_from_slice(&message[..size]);
        }
    }
    // A connection that is closed with bytes unread is reset, and one under TLS ends without a word.
    let _ = client.read_to_end(&mut sent).await;
    sent
}

async fn say(client: &mut (impl AsyncWrite + Unpin), answer: &[u8], pace: Pace) -> io::Result<()> {
    let size = if pace == Pace::AtOnce { answer.len() } else { 1 };
    for part in answer.chunks(size) {
        client.write_all(part).await?;
        client.flush().await?;
        if pace == Pace::ByteByByte {
            sleep(Duration::from_millis(2)).await;
        }
    }
    Ok(())
}

fn tools() -> Value {
    json!([read_tool("one", "select 1 as one", json!({}), "row")])
}

fn plain(impostor: &Impostor) -> Blueprint {
    blueprint(("127.0.0.1", impostor.address.port()), "shop", tools())
}

fn under_tls(impostor: &Impostor) -> Blueprint {
    let mut blueprint = blueprint(("localhost", impostor.address.port()), "shop", tools());
    blueprint.config["tls"] = json!({"mode": "verify-full", "ca_pem": AUTHORITY});
    blueprint
}

/// What comes of connecting.
async fn refusal(blueprint: &Blueprint) -> Fault {
    let built = timeout(LIMIT, build(blueprint, &deps(PrivateNetworks::Allowed))).await.unwrap();
    match built {
        Err(BuildError::Connect(fault)) => fault,
        other => panic!("{other:?}"),
    }
}

/// The client was asked for this method, refused, and has sent nothing.
async fn assert_refused(impostor: Impostor, blueprint: Blueprint, method: &str) {
    let fault = refusal(&blueprint).await;
    let said = format!("the governed database requested {method}: expected SCRAM-SHA-256");
    assert_eq!(fault.code.as_str(), "connector_auth_failed", "{fault:?}");
    assert!(fault.message.starts_with(&said), "{fault:?}");
    assert!(fault.message.contains("`pg_hba.conf`"), "{fault:?}");
    assert_eq!(impostor.sent().await, b"", "{method}");
}

#[tokio::test]
async fn an_impostor_that_asks_otherwise_than_by_scram_gets_nothing() {
    for (first, method) in REFUSED {
        let impostor = Impostor::start(std::slice::from_ref(first), Pace::AtOnce).await;
        let blueprint = plain(&impostor);
        assert_refused(impostor, blueprint, method).await;
    }
}

#[tokio::test]
async fn an_impostor_that_asks_byte_by_byte_gets_nothing() {
    for (first, method) in &REFUSED[..3] {
        let impostor = Impostor::start(std::slice::from_ref(first), Pace::ByteByByte).await;
        let blueprint = plain(&impostor);
        assert_refused(impostor, blueprint, method).await;
    }
}

#[tokio::test]
async fn an_impostor_inside_of_tls_gets_nothing() {
    for (first, method) in &REFUSED[..3] {
        let impostor = Impostor::start_secured(std::slice::from_ref(first)).await;
        let blueprint = under_tls(&impostor);
        assert_refused(impostor, blueprint, method).await;
    }
}

#[tokio::test]
async fn an_impostor_that_begins_scram_and_proves_nothing_gets_no_password() {
    for then in [TRUSTED, CLEARTEXT] {
        let answers: &'static [_] = vec![SCRAM, then].leak();
        let impostor = Impostor::start(answers, Pace::AtOnce).await;
        refusal(&plain(&impostor)).await;
        let sent = impostor.sent().await;
        assert_eq!(sent[0], b'p');
        assert_eq!(sent.len(), 1 + usize::try_from(length(&sent[1..])).unwrap(), "one message");
        assert!(sent[5..].starts_with(b"SCRAM-SHA-256\0"), "{sent:?}");
        let password = b"conn_password of a test";
        assert!(!sent.windows(password.len()).any(|window| window == password), "{sent:?}");
    }
}

fn length(bytes: &[u8]) -> u32 {
    u32::from_be_bytes(*bytes.first_chunk().unwrap())
}

#[tokio::test]
async fn a_server_that_offers_channel_binding_inside_of_tls_is_bound_to() {
    let impostor = Impostor::start_secured(&[SCRAM_OR_PLUS, ERROR]).await;
    let fault = refusal(&under_tls(&impostor)).await;
    assert_eq!(fault.code.as_str(), "connector_auth_failed", "{fault:?}");
    let sent = impostor.sent().await;
    let first = sent[5..].strip_prefix(b"SCRAM-SHA-256-PLUS\0").expect("the bound mechanism");
    assert!(first[4..].starts_with(b"p=tls-server-end-point,,"), "{first:?}");
}

#[tokio::test]
async fn a_server_without_channel_binding_is_told_that_it_could_have_been_bound_to() {
    let impostor = Impostor::start_secured(&[SCRAM, ERROR]).await;
    refusal(&under_tls(&impostor)).await;
    let sent = impostor.sent().await;
    let first = sent[5..].strip_prefix(b"SCRAM-SHA-256\0").unwrap();
    assert!(first[4..].starts_with(b"y,,"), "{first:?}");
}

#[tokio::test]
async fn an_error_in_place_of_a_method_is_told_as_it_is() {
    for pace in [Pace::AtOnce, Pace::ByteByByte] {
        let impostor = Impostor::start(&[ERROR], pace).await;
        let fault = refusal(&plain(&impostor)).await;
        assert_eq!(fault.code.as_str(), "connector_auth_failed", "{fault:?}");
        assert!(fault.message.ends_with("SQLSTATE 28000: no entry"), "{fault:?}");
        assert_eq!(impostor.sent().await, b"");
    }
}

#[tokio::test]
async fn a_server_that_says_nothing_is_unreachable() {
    for first in [&b""[..], b"R\0\0\0\x08\0\0\0"] {
        let (listener, address) = listener().await;
        let silent = tokio::spawn(async move {
            let (mut client, _) = listener.accept().await.unwrap();
            let mut startup = [0; 1024];
            let _ = client.read(&mut startup).await.unwrap();
            TcpStream::write_all(&mut client, first).await.unwrap();
        });
        let blueprint = blueprint(("127.0.0.1", address.port()), "shop", tools());
        assert_eq!(refusal(&blueprint).await.code.as_str(), "connector_unreachable");
        silent.await.unwrap();
    }
}

/// What is read of a stream on which this comes, in pieces of at most `size` bytes.
async fn read_of(message: &[u8], size: usize) -> (Vec<u8>, io::Result<usize>) {
    let (mut server, client) = duplex(size);
    let mut guarded = ScramOnly::new(client);
    let mut read = Vec::new();
    let (said, ended) = tokio::join!(
        async move {
            let said = server.write_all(message).await;
            drop(server);
            said
        },
        async {
            let ended = guarded.read_to_end(&mut read).await;
            drop(guarded);
            ended
        },
    );
    drop(said);
    (read, ended)
}

#[tokio::test]
async fn the_guard_passes_on_what_may_be_said_first_and_all_after_it() {
    for first in [SCRAM, SCRAM_OR_PLUS, ERROR, SHORT_ERROR] {
        let message = [first, CLEARTEXT, b"anything"].concat();
        for size in [1, 2, 8, 9, 10, 4096] {
            let (read, ended) = read_of(&message, size).await;
            assert_eq!((read, ended.unwrap()), (message.clone(), message.len()));
        }
    }
}

#[tokio::test]
async fn the_guard_names_the_method_that_it_refuses_and_passes_nothing_on() {
    for (first, method) in REFUSED {
        for size in [1, 2, 8, 9, 10, 4096] {
            let (read, ended) = read_of(first, size).await;
            let error = ended.unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::PermissionDenied);
            let inner = error.get_ref().unwrap().downcast_ref::<MethodError>().unwrap();
            assert!(inner.to_string().contains(&format!("requested {method}: ")), "{inner}");
            assert_eq!(read, b"");
        }
    }
}

#[tokio::test]
async fn the_guard_refuses_each_time_that_it_is_asked() {
    let (mut server, client) = duplex(64);
    let mut guarded = ScramOnly::new(client);
    server.write_all(&[CLEARTEXT, SCRAM].concat()).await.unwrap();
    for _ in 0..3 {
        let error = guarded.read_u8().await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::PermissionDenied);
    }
}

#[tokio::test]
async fn the_guard_holds_the_head_back_until_it_is_whole() {
    let (mut server, client) = duplex(64);
    let mut guarded = ScramOnly::new(client);
    let mut byte = [0];
    for came in &SCRAM[..8] {
        server.write_all(&[*came]).await.unwrap();
        assert!(guarded.read(&mut byte).now_or_never().is_none());
    }
    server.write_all(&SCRAM[8..]).await.unwrap();
    for came in SCRAM {
        assert_eq!(guarded.read(&mut byte).now_or_never().unwrap().unwrap(), 1);
        assert_eq!(byte, [*came]);
    }
}

#[tokio::test]
async fn the_guard_ends_where_the_stream_ends_within_the_head() {
    for size in 0..9 {
        let (read, ended) = read_of(&SCRAM[..size], 4096).await;
        assert_eq!((read, ended.unwrap()), (Vec::new(), 0));
    }
}
