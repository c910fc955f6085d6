//! Connections under TLS. The certificate is for `localhost`, signed by the authority beside it,
//! both made for these tests alone.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use rustls::{ServerConfig, crypto::ring};
use rustls_pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject};
use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional},
    net::{TcpListener, TcpStream},
};
use tokio_rustls::{TlsAcceptor, server::TlsStream};

use super::world::{World, action, read_tool, result};
use crate::BuildError;

pub(crate) const AUTHORITY: &str = include_str!("authority.pem");
const CERTIFICATE: &str = include_str!("server.pem");
const KEY: &str = include_str!("server.key.pem");

/// What makes a server of these tests `localhost`.
pub(crate) fn acceptor() -> TlsAcceptor {
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(
            vec![CertificateDer::from_pem_slice(CERTIFICATE.as_bytes()).unwrap()],
            PrivateKeyDer::from_pem_slice(KEY.as_bytes()).unwrap(),
        )
        .unwrap();
    TlsAcceptor::from(Arc::new(config))
}

/// Begins TLS with a client as PostgreSQL does; nothing where the client gives it up.
pub(crate) async fn secured(
    mut client: TcpStream,
    acceptor: TlsAcceptor,
) -> Option<TlsStream<TcpStream>> {
    let mut request = [0; 8];
    client.read_exact(&mut request).await.unwrap();
    assert_eq!(request, *b"\0\0\0\x08\x04\xd2\x16\x2f", "the client asks for TLS first");
    client.write_all(b"S").await.unwrap();
    acceptor.accept(client).await.ok()
}

/// Starts a server that speaks TLS as PostgreSQL does and passes on what is inside.
async fn start(server: SocketAddr) -> SocketAddr {
    let acceptor = acceptor();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            tokio::spawn(carry(client, server, acceptor.clone()));
        }
    });
    address
}

async fn carry(client: TcpStream, server: SocketAddr, acceptor: TlsAcceptor) {
    if let Some(mut client) = secured(client, acceptor).await {
        let mut server = TcpStream::connect(server).await.unwrap();
        drop(copy_bidirectional(&mut client, &mut server).await);
    }
}

async fn world() -> Option<World> {
    let tools = json!([
        read_tool("one", "select 1 as one", json!({}), "row"),
        read_tool("hang", "select pg_sleep(30)::text as x", json!({}), "row"),
    ]);
    let mut world = World::new(tools).await?;
    let proxy = start(world.address).await;
    world.blueprint.config["host"] = json!("localhost");
    world.blueprint.config["port"] = json!(proxy.port());
    world.blueprint.config["tls"] = json!({"mode": "verify-full", "ca_pem": AUTHORITY});
    Some(world)
}

fn message(error: BuildError) -> String {
    match error {
        BuildError::Connect(fault) => {
            assert_eq!(fault.code.as_str(), "connector_misconfigured");
            fault.message
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_verified_connection_runs_and_cancels_under_tls() {
    let Some(world) = world().await else { return };
    assert_eq!(result(world.call("one", json!({})).await), json!({"one": 1}));
    let tool = world.tool("hang").await;
    let run = world.run(&*tool, action(), json!({}), Duration::from_secs(20));
    tokio::select! {
        outcome = run => panic!("{outcome:?}"),
        () = world.until_asleep(true) => {}
    }
    world.until_asleep(false).await;
    world.end().await;
}

#[tokio::test]
async fn a_certificate_of_another_name_or_authority_is_refused() {
    let Some(mut world) = world().await else { return };
    world.blueprint.config["host"] = json!("127.0.0.1");
    let said = message(world.build().await.unwrap_err());
    assert!(said.contains("certificate"), "{said}");
    world.blueprint.config["host"] = json!("localhost");
    world.blueprint.config["tls"] = json!({"mode": "verify-full"});
    let said = message(world.build().await.unwrap_err());
    assert!(said.contains("certificate"), "{said}");
    world.end().await;
}

#[tokio::test]
async fn a_server_without_tls_is_refused_when_tls_is_asked_for() {
    let Some(mut world) = world().await else { return };
    world.blueprint.config["port"] = json!(world.address.port());
    let said = message(world.build().await.unwrap_err());
    assert!(said.contains("does not support TLS"), "{said}");
    world.end().await;
}

#[tokio::test]
async fn certificates_that_are_none_are_a_finding() {
    let Some(mut world) = world().await else { return };
    world.blueprint.config["tls"] = json!({"mode": "verify-full", "ca_pem": "no certificate"});
    let Err(BuildError::Config { findings }) = world.build().await else { panic!() };
    assert_eq!(findings[0].at, "/tls/ca_pem");
    world.end().await;
}
