mod client_certificate;

use std::{
    net::SocketAddr,
    path::Path,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    time::Duration,
};

use bytes::Bytes;
use crypto::Secret;
use egress::{Egress, PrivateNetworks, Rules};
use http::{HeaderMap, Method, StatusCode};
use rustls::{
    ALL_VERSIONS, ConfigBuilder, ServerConfig, SupportedProtocolVersion, WantsVerifier,
    server::WantsServerCert,
};
use rustls_pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};
use tokio_rustls::TlsAcceptor;

use crate::{
    Address, AddressError, Answer, Body, Client, Identity, Limits, Reuse, Sent, Trust, TrustError,
    UpstreamError,
};

/// The certificates that each client showed whose request was received.
type Shown = Arc<Mutex<Vec<Vec<CertificateDer<'static>>>>>;

/// An authority and a certificate for `localhost`, made for tests alone.
const CERTIFICATES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../connectors/src/postgres/tests");

const LIMITS: Limits =
    Limits { whole: Duration::from_secs(5), idle: Duration::from_millis(300), answer_bytes: 1024 };

fn egress(private_networks: PrivateNetworks) -> Egress {
    Egress::new(Rules { private_networks, ..Rules::default() }).unwrap()
}

fn client(trust: &Trust) -> Client {
    Client::new(egress(PrivateNetworks::Allowed), trust, Duration::from_secs(2)).unwrap()
}

async fn post(to: &str, limits: &Limits, reuse: Reuse) -> Result<Answer, UpstreamError> {
    let to = Address::parse(to).unwrap();
    let body = Bytes::from_static(b"{}");
    client(&Trust::default())
        .send((Method::POST, &to), (HeaderMap::new(), body), (limits, reuse))
        .await
}

/// A server that reads one head and its two bytes of body, then writes these bytes and hangs up.
async fn answering(bytes: Vec<u8>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let bytes = bytes.clone();
            tokio::spawn(async move {
                read_request(&mut stream).await;
                let _ = stream.write_all(&bytes).await;
                let _ = stream.shutdown().await;
            });
        }
    });
    address
}

async fn read_request(stream: &mut TcpStream) -> Vec<u8> {
    let mut read = Vec::new();
    while !read.ends_with(b"\r\n\r\n{}") {
        let mut byte = [0];
        if stream.read(&mut byte).await.unwrap_or(0) == 0 {
            break;
        }
        read.extend_from_slice(&byte);
    }
    read
}

fn path_of(name: &str) -> std::path::PathBuf {
    Path::new(CERTIFICATES).join(name)
}

fn pem(name: &str) -> String {
    std::fs::read_to_string(path_of(name)).unwrap()
}

#[test]
fn an_address_is_absolute_and_names_nobody() {
    let cases = [
        ("https://api.example.com/hooks?of=me", Ok(("api.example.com", 443, "/hooks?of=me"))),
        ("https://api.example.com", Ok(("api.example.com", 443, "/"))),
        ("http://127.0.0.1:8080/x", Ok(("127.0.0.1", 8080, "/x"))),
        ("https://[2001:db8::1]:8443/", Ok(("2001:db8::1", 8443, "/"))),
        ("https://api.example.com/#part", Err(AddressError::Fragment)),
        ("https://user:pass@api.example.com/", Err(AddressError::User)),
        ("https://user@api.example.com/", Err(AddressError::User)),
        ("ftp://api.example.com/", Err(AddressError::Scheme)),
        ("file:///etc/passwd", Err(AddressError::Malformed)),
        ("//api.example.com/", Err(AddressError::Malformed)),
        ("/hooks", Err(AddressError::Malformed)),
        ("api.example.com", Err(AddressError::Malformed)),
        ("https://", Err(AddressError::Malformed)),
        ("https://api.example.com:0/", Err(AddressError::Malformed)),
        ("https://api.example.com:99999/", Err(AddressError::Malformed)),
        ("https://api.example.com/a b", Err(AddressError::Malformed)),
        ("https://api.example.com/\r\nX: y", Err(AddressError::Malformed)),
        ("", Err(AddressError::Malformed)),
    ];
    for (text, expected) in cases {
        let address = Address::parse(text);
        let seen = address.as_ref().map(|it| (it.host(), it.port(), it.path_and_query()));
        assert_eq!(seen.map_err(|error| *error), expected, "{text}");
    }
    let long = format!("https://api.example.com/{}", "a".repeat(2048));
    assert_eq!(Address::parse(&long), Err(AddressError::TooLong));
}

#[test]
fn another_path_stays_at_the_same_host() {
    let base = Address::parse("https://api.example.com:8443/v1").unwrap();
    assert_eq!(base.at("/v2?a=b").unwrap().to_string(), "https://api.example.com:8443/v2?a=b");
    for elsewhere in ["@evil.example/", "v2", "", "/v2#part", "/a b"] {
        assert!(base.at(elsewhere).is_err(), "{elsewhere}");
    }
    let same = base.at("//evil.example/").unwrap();
    assert_eq!(same.host(), "api.example.com");
}

#[tokio::test]
async fn an_answer_comes_with_its_status_and_body() {
    let at = answering(b"HTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\nok".to_vec()).await;
    let answer = post(&format!("http://{at}/"), &LIMITS, Reuse::Kept).await.unwrap();
    assert_eq!(answer.status, StatusCode::CREATED);
    assert_eq!(answer.body, Body::Whole(Bytes::from_static(b"ok")));
}

#[tokio::test]
async fn a_redirect_is_an_answer_and_nothing_to_follow() {
    let head = b"HTTP/1.1 307 Go\r\nLocation: http://169.254.169.254/\r\nContent-Length: 0\r\n\r\n";
    let at = answering(head.to_vec()).await;
    let answer = post(&format!("http://{at}/"), &LIMITS, Reuse::Kept).await.unwrap();
    assert_eq!(answer.status, StatusCode::TEMPORARY_REDIRECT);
}

#[tokio::test]
async fn no_more_is_read_than_was_to_be() {
    let mut bytes = b"HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n".to_vec();
    bytes.extend(std::iter::repeat_n(b'x', 100_000));
    let at = answering(bytes).await;
    let answer = post(&format!("http://{at}/"), &LIMITS, Reuse::Kept).await.unwrap();
    assert_eq!(answer.body, Body::Cut(Bytes::from(vec![b'x'; 1024])));
}

#[tokio::test]
async fn an_answer_that_is_cut_off_anywhere_is_none() {
    let whole = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
    for length in 0..whole.len() {
        let at = answering(whole.iter().take(length).copied().collect()).await;
        let error = post(&format!("http://{at}/"), &LIMITS, Reuse::Fresh).await.unwrap_err();
        assert_eq!((error.class(), error.sent()), ("connection", Sent::Perhaps), "{length}");
    }
}

#[tokio::test]
async fn what_is_not_http_is_no_answer() {
    let storm = b"HTTP/1.1 100 Continue\r\n\r\n".repeat(1000);
    let heads: [&[u8]; 5] = [
        b"SSH-2.0-OpenSSH_9.6\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok",
        b"HTTP/1.1 200 OK\r\nContent-Length: -2\r\n\r\nok",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        &storm,
    ];
    for head in heads {
        let at = answering(head.to_vec()).await;
        let error = post(&format!("http://{at}/"), &LIMITS, Reuse::Fresh).await.unwrap_err();
        assert_eq!((error.class(), error.sent()), ("connection", Sent::Perhaps), "{head:?}");
    }
    let long = [b"HTTP/1.1 200 OK\r\nX: ", "x".repeat(1_000_000).as_bytes(), b"\r\n\r\n"].concat();
    let at = answering(long).await;
    let error = post(&format!("http://{at}/"), &LIMITS, Reuse::Fresh).await.unwrap_err();
    assert_eq!(error.class(), "connection");
}

#[tokio::test]
async fn a_body_that_stops_coming_ends_the_wait() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = listener.local_addr().unwrap();
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        read_request(&mut stream).await;
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\no").await.unwrap();
        std::future::pending::<()>().await;
    });
    let error = post(&format!("http://{at}/"), &LIMITS, Reuse::Fresh).await.unwrap_err();
    assert_eq!((error.class(), error.sent()), ("timeout", Sent::Perhaps));
}

#[tokio::test]
async fn silence_ends_with_the_whole_time_and_was_perhaps_received() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = listener.local_addr().unwrap();
    let limits = Limits { whole: Duration::from_millis(200), ..LIMITS };
    let error = post(&format!("http://{at}/"), &limits, Reuse::Fresh).await.unwrap_err();
    assert_eq!((error.class(), error.sent()), ("timeout", Sent::Perhaps));
    // TLS with a server that says nothing never comes about, so nothing was sent.
    let error = post(&format!("https://{at}/"), &limits, Reuse::Fresh).await.unwrap_err();
    assert_eq!((error.class(), error.sent()), ("timeout", Sent::Never));
}

#[tokio::test]
async fn where_nobody_listens_nothing_was_sent() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = listener.local_addr().unwrap();
    drop(listener);
    let error = post(&format!("http://{at}/"), &LIMITS, Reuse::Kept).await.unwrap_err();
    assert_eq!((error.class(), error.sent()), ("unreachable", Sent::Never));
}

#[tokio::test]
async fn private_addresses_and_plain_http_are_refused_outside_development() {
    let guarded =
        Client::new(egress(PrivateNetworks::Refused), &Trust::default(), LIMITS.whole).unwrap();
    for to in [
        "https://127.0.0.1/",
        "https://169.254.169.254/latest/meta-data/",
        "https://[::ffff:10.0.0.1]/",
        "https://[fd00:ec2::254]/",
        "http://example.com/",
        "http://8.8.8.8/",
    ] {
        let to = Address::parse(to).unwrap();
        let sent = guarded
            .send((Method::GET, &to), (HeaderMap::new(), Bytes::new()), (&LIMITS, Reuse::Kept))
            .await;
        let error = sent.unwrap_err();
        assert_eq!((error.class(), error.sent()), ("egress_refused", Sent::Never), "{to}");
    }
}

/// A server that keeps its connections open; how many were opened is counted.
async fn keeping() -> (SocketAddr, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (at, opened) = (listener.local_addr().unwrap(), Arc::new(AtomicUsize::new(0)));
    let counted = Arc::clone(&opened);
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            counted.fetch_add(1, Relaxed);
            tokio::spawn(async move {
                while !read_request(&mut stream).await.is_empty() {
                    let head = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
                    stream.write_all(head).await.unwrap();
                }
            });
        }
    });
    (at, opened)
}

#[tokio::test]
async fn a_connection_is_used_again_only_where_it_may_be() {
    for (reuse, expected) in [(Reuse::Kept, 1), (Reuse::Fresh, 3)] {
        let (at, opened) = keeping().await;
        let (client, to) = (client(&Trust::default()), format!("http://{at}/"));
        let to = Address::parse(&to).unwrap();
        for _ in 0..3 {
            let body = Bytes::from_static(b"{}");
            let request = (Method::POST, &to);
            let sent = client.send(request, (HeaderMap::new(), body), (&LIMITS, reuse)).await;
            assert_eq!(sent.unwrap().body, Body::Whole(Bytes::from_static(b"ok")));
        }
        assert_eq!(opened.load(Relaxed), expected, "{reuse:?}");
    }
}

/// What begins the settings of a server under TLS in these versions.
fn versions(
    versions: &[&'static SupportedProtocolVersion],
) -> ConfigBuilder<ServerConfig, WantsVerifier> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    ServerConfig::builder_with_provider(provider).with_protocol_versions(versions).unwrap()
}

/// The port of `localhost`'s server under TLS with these settings, and the certificates that the clients
/// showed whose requests it received.
async fn protected(config: ConfigBuilder<ServerConfig, WantsServerCert>) -> (u16, Shown) {
    let certificates = certificates_of(&pem("server.pem"));
    let key = pem("server.key.pem");
    let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap();
    let config = config.with_single_cert(certificates, key).unwrap();
    let (acceptor, listener) =
        (TlsAcceptor::from(Arc::new(config)), TcpListener::bind("127.0.0.1:0").await.unwrap());
    let (port, shown) = (listener.local_addr().unwrap().port(), Shown::default());
    let noted = Arc::clone(&shown);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let (acceptor, noted) = (acceptor.clone(), Arc::clone(&noted));
            tokio::spawn(async move {
                let Ok(mut stream) = acceptor.accept(stream).await else { return };
                let mut read = [0; 4096];
                let _ = stream.read(&mut read).await;
                let certificates = stream.get_ref().1.peer_certificates().unwrap_or_default();
                noted.lock().unwrap().push(certificates.to_vec());
                let head = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
                let _ = stream.write_all(head).await;
                let _ = stream.shutdown().await;
            });
        }
    });
    (port, shown)
}

fn certificates_of(pem: &str) -> Vec<CertificateDer<'static>> {
    let found = CertificateDer::pem_slice_iter(pem.as_bytes());
    found.collect::<Result<_, _>>().unwrap()
}

#[tokio::test]
async fn a_certificate_is_verified_with_its_name() {
    let (port, _) = protected(versions(ALL_VERSIONS).with_no_client_auth()).await;
    let own = Trust { authorities: Some(pem("authority.pem")), identity: None };
    let cases = [
        (&own, "localhost", None),
        (&own, "127.0.0.1", Some("tls")),
        (&Trust::default(), "localhost", Some("tls")),
    ];
    for (trust, host, expected) in cases {
        let to = Address::parse(&format!("https://{host}:{port}/")).unwrap();
        let body = (HeaderMap::new(), Bytes::from_static(b"{}"));
        let sent = client(trust).send((Method::POST, &to), body, (&LIMITS, Reuse::Fresh)).await;
        assert_eq!(sent.as_ref().err().map(UpstreamError::class), expected, "{host}");
        assert!(sent.err().is_none_or(|error| error.sent() == Sent::Never));
    }
}

#[test]
fn certificates_that_are_none_are_told_apart() {
    let identity = |certificates: &str, key: &str| Trust {
        authorities: None,
        identity: Some(Identity {
            certificates: certificates.to_owned(),
            key: Secret::new(key.to_owned()),
        }),
    };
    let (own, key) = (pem("server.pem"), pem("server.key.pem"));
    let cases = [
        (Trust { authorities: Some(String::new()), identity: None }, Err(TrustError::Authorities)),
        (Trust { authorities: Some(key.clone()), identity: None }, Err(TrustError::Authorities)),
        (identity("none", &key), Err(TrustError::Certificates)),
        (identity(&own, "none"), Err(TrustError::Key)),
        (identity(&pem("authority.pem"), &key), Err(TrustError::Pair)),
        (identity(&own, &key), Ok(())),
    ];
    for (trust, expected) in cases {
        let made = Client::new(egress(PrivateNetworks::Refused), &trust, LIMITS.whole);
        assert_eq!(made.map(drop), expected);
    }
    let shown = format!("{:?}", identity(&own, &key));
    assert!(!shown.contains("PRIVATE KEY"), "{shown}");
}
