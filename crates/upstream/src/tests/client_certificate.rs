//! Servers that demand a certificate of their clients.

use std::sync::Arc;

use bytes::Bytes;
use crypto::Secret;
use egress::PrivateNetworks;
use http::{HeaderMap, Method};
use rustls::{
    RootCertStore, SupportedProtocolVersion,
    server::WebPkiClientVerifier,
    version::{TLS12, TLS13},
};

use super::{LIMITS, Shown, certificates_of, client, egress, pem, protected, versions};
use crate::{Address, Answer, Client, Identity, Reuse, Sent, Trust, TrustError, UpstreamError};

/// An authority whose key was thrown away, and a client's certificate that it signed, made for these
/// tests only.
const AUTHORITY: &str = include_str!("client-authority.pem");
const CERTIFICATE: &str = include_str!("client.pem");
const KEY: &str = include_str!("client.key.pem");

/// The port of a server that takes only clients of the authority, and what they showed.
async fn demanding(version: &'static SupportedProtocolVersion) -> (u16, Shown) {
    let mut roots = RootCertStore::empty();
    roots.add(certificates_of(AUTHORITY).remove(0)).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
    let verifier = verifier.build().unwrap();
    protected(versions(&[version]).with_client_cert_verifier(verifier)).await
}

fn trust(identity: Option<(&str, &str)>) -> Trust {
    let identity = identity.map(|(certificates, key)| Identity {
        certificates: certificates.to_owned(),
        key: Secret::new(key.to_owned()),
    });
    Trust { authorities: Some(pem("authority.pem")), identity }
}

/// A write to the server, by a client that is this.
async fn write(port: u16, trust: &Trust) -> Result<Answer, UpstreamError> {
    let to = Address::parse(&format!("https://localhost:{port}/")).unwrap();
    let body = (HeaderMap::new(), Bytes::from_static(b"{}"));
    client(trust).send((Method::POST, &to), body, (&LIMITS, Reuse::Fresh)).await
}

#[tokio::test]
async fn a_certificate_is_shown_to_a_server_that_demands_one() {
    for version in [&TLS12, &TLS13] {
        let (port, shown) = demanding(version).await;
        let answer = write(port, &trust(Some((CERTIFICATE, KEY)))).await.unwrap();
        assert!(answer.status.is_success());
        assert_eq!(*shown.lock().unwrap(), [certificates_of(CERTIFICATE)]);
    }
}

#[tokio::test]
async fn without_the_certificate_that_a_server_demands_nothing_is_received_and_tls_is_the_reason() {
    let (other, other_key) = (pem("server.pem"), pem("server.key.pem"));
    // Under TLS 1.3 the client has sent its request before the server refuses it. Nothing but the
    // server's own word says that it did not look at it, so of a write nobody knows.
    for (version, sent) in [(&TLS12, Sent::Never), (&TLS13, Sent::Perhaps)] {
        for identity in [None, Some((&*other, &*other_key))] {
            let (port, shown) = demanding(version).await;
            let error = write(port, &trust(identity)).await.unwrap_err();
            let is_shown = identity.is_some();
            let found = (error.class(), error.sent());
            assert_eq!(found, ("tls", sent), "{version:?}, {is_shown}: {error:?}");
            assert!(shown.lock().unwrap().is_empty());
        }
    }
}

#[test]
fn a_certificate_with_the_key_of_another_is_refused_before_anything_is_sent() {
    let other_key = pem("server.key.pem");
    for (key, expected) in [(KEY, Ok(())), (&*other_key, Err(TrustError::Pair))] {
        let egress = egress(PrivateNetworks::Refused);
        let made = Client::new(egress, &trust(Some((CERTIFICATE, key))), LIMITS.whole);
        assert_eq!(made.map(drop), expected);
    }
}
