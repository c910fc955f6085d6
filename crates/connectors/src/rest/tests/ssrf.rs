//! Attempts to lead a connector to where it may not go, against a listener that counts who comes.

// The addresses that the guarded way out itself is tried with.
#[path = "../../../../egress/src/tests/addresses.rs"]
mod addresses;
mod names;
mod tokens;

use std::{
    collections::VecDeque,
    io,
    net::IpAddr,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
};

use async_trait::async_trait;
use egress::{Egress, PrivateNetworks, Resolver, Rules};
use serde_json::json;

use self::addresses::{LOOPBACK, NEVER, PRIVATE, PUBLIC};
use super::world::{Stub, blueprint, deps_over, named, run, tool, word};
use crate::{Blueprint, BuildError, build};

/// Answers each look-up with the next list, the last for ever.
#[derive(Debug)]
struct Script {
    answers: Mutex<VecDeque<Vec<IpAddr>>>,
    asked: AtomicUsize,
}

#[async_trait]
impl Resolver for Script {
    async fn resolve(&self, _: &str) -> io::Result<Vec<IpAddr>> {
        self.asked.fetch_add(1, Relaxed);
        let mut answers = self.answers.lock().unwrap();
        let next = if answers.len() > 1 { answers.pop_front() } else { answers.front().cloned() };
        Ok(next.unwrap_or_default())
    }
}

fn scripted(private: PrivateNetworks, answers: &[&[&str]]) -> (Egress, Arc<Script>) {
    let answers = answers.iter().map(|list| list.iter().map(|ip| ip.parse().unwrap()).collect());
    let script =
        Arc::new(Script { answers: Mutex::new(answers.collect()), asked: AtomicUsize::new(0) });
    let rules = Rules { private_networks: private, ..Rules::default() };
    let resolver = Arc::clone(&script) as Arc<dyn Resolver>;
    (Egress::with_resolver(rules, resolver).unwrap(), script)
}

/// A connector at this host, with its tools accepted already, as one that stands for long has them.
fn standing(host: &str, port: u16) -> Blueprint {
    let config = json!({
        "base_url": format!("http://{host}:{port}"), "auth": "none", "timeout_ms": 600,
        "tools": [tool("POST", "/p", &[])],
    });
    blueprint(config)
}

async fn accepted(host: &str, port: u16) -> Blueprint {
    pinned(standing(host, port)).await
}

/// The same with its tools accepted.
async fn pinned(before: Blueprint) -> Blueprint {
    let (egress, _) = scripted(PrivateNetworks::Allowed, &[&["127.0.0.1"]]);
    let tools = build(&before, &deps_over(egress)).await.unwrap().tool_schemas();
    Blueprint { tools, ..before }
}

#[tokio::test]
async fn a_name_that_changes_its_mind_is_judged_at_every_call() {
    let stub = Stub::saying("200 OK", b"{}").await;
    let blueprint = accepted("api.example.com", stub.at.port()).await;
    let (egress, script) = scripted(
        PrivateNetworks::Allowed,
        &[&["127.0.0.1"], &["169.254.169.254"], &["127.0.0.1"], &["127.0.0.1", "fd00:ec2::254"]],
    );
    let connector = build(&blueprint, &deps_over(egress)).await.unwrap();
    let tool = named(&*connector, "pets.tool");
    for (call, expected) in
        ["succeeded", "failed egress_refused", "succeeded", "failed egress_refused"]
            .iter()
            .enumerate()
    {
        assert_eq!(word(&run(&*tool, json!({})).await), *expected, "call {call}");
    }
    // One look-up for each call: the address that was judged is the one that is dialled.
    assert_eq!(script.asked.load(Relaxed), 4);
    assert_eq!(stub.seen().len(), 2);
}

#[tokio::test]
async fn no_name_leads_to_an_address_that_may_not_be_reached() {
    let stub = Stub::saying("200 OK", b"{}").await;
    let blueprint = accepted("api.example.com", stub.at.port()).await;
    for address in NEVER {
        // Even where private networks may be reached.
        for answer in [&[*address][..], &["127.0.0.1", address]] {
            let (egress, _) = scripted(PrivateNetworks::Allowed, &[answer]);
            let connector = build(&blueprint, &deps_over(egress)).await.unwrap();
            let outcome = run(&*named(&*connector, "pets.tool"), json!({})).await;
            assert_eq!(word(&outcome), "failed egress_refused", "{answer:?}");
        }
    }
    assert!(stub.seen().is_empty());
}

#[tokio::test]
async fn outside_development_neither_this_machine_nor_a_private_network_is_reached() {
    let stub = Stub::saying("200 OK", b"{}").await;
    let port = stub.at.port();
    let blueprint = accepted("api.example.com", port).await;
    let mut secure = standing("api.example.com", port);
    secure.config["base_url"] = json!(format!("https://api.example.com:{port}"));
    // Under TLS it is the address that is refused, and without TLS already that.
    for blueprint in [blueprint, pinned(secure).await] {
        for address in PRIVATE.iter().chain(LOOPBACK).chain(NEVER) {
            let (egress, _) = scripted(PrivateNetworks::Refused, &[&[address]]);
            let connector = build(&blueprint, &deps_over(egress)).await.unwrap();
            let outcome = run(&*named(&*connector, "pets.tool"), json!({})).await;
            assert_eq!(word(&outcome), "failed egress_refused", "{address}");
        }
    }
    assert!(stub.seen().is_empty());
}

/// The address as a part of a URL.
fn bracketed(address: &str) -> String {
    if address.contains(':') { format!("[{address}]") } else { address.to_owned() }
}

/// Why a connector with this base is not built; nothing where it is.
async fn refused(base_url: String, private: PrivateNetworks) -> Option<String> {
    let mut blueprint = standing("127.0.0.1", 80);
    blueprint.config["base_url"] = json!(base_url);
    match build(&blueprint, &deps_over(scripted(private, &[]).0)).await {
        Ok(_) => None,
        Err(BuildError::Connect(fault)) => Some(fault.code.as_str().to_owned()),
        Err(other) => panic!("{base_url}: {other}"),
    }
}

#[tokio::test]
async fn no_address_that_may_not_be_reached_is_a_base() {
    let stub = Stub::saying("200 OK", b"{}").await;
    let at = |scheme: &str, address: &str| {
        format!("{scheme}://{}:{}", bracketed(address), stub.at.port())
    };
    for address in NEVER {
        let found = refused(at("http", address), PrivateNetworks::Allowed).await;
        assert_eq!(found.as_deref(), Some("egress_refused"), "{address}");
    }
    for address in NEVER.iter().chain(PRIVATE).chain(LOOPBACK) {
        let found = refused(at("https", address), PrivateNetworks::Refused).await;
        assert_eq!(found.as_deref(), Some("egress_refused"), "{address}");
    }
    assert!(stub.seen().is_empty());
}

#[tokio::test]
async fn an_allowed_address_is_one_at_every_port_but_without_tls_at_none() {
    for address in PUBLIC {
        for port in [1, 22, 25, 80, 443, 5432, 8443, 65_535] {
            let at = |scheme: &str| format!("{scheme}://{}:{port}", bracketed(address));
            assert_eq!(refused(at("https"), PrivateNetworks::Refused).await, None, "{port}");
            let plain = refused(at("http"), PrivateNetworks::Refused).await;
            assert_eq!(plain.as_deref(), Some("egress_refused"), "{port}");
        }
    }
}

#[tokio::test]
async fn no_spelling_of_an_address_gets_past() {
    let stub = Stub::saying("200 OK", b"{}").await;
    let port = stub.at.port();
    for host in [
        "127.1",
        "2130706433",
        "0x7f.1",
        "0x7f000001",
        "0177.0.0.1",
        "0",
        "127.0.0.1.",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[64:ff9b::7f00:1]",
        "[fe80::1]",
        "localhost.",
    ] {
        let (egress, _) = scripted(PrivateNetworks::Allowed, &[&["127.0.0.1"]]);
        let error = build(&standing(host, port), &deps_over(egress)).await.unwrap_err();
        let refused = match &error {
            BuildError::Connect(fault) => fault.code.as_str() == "egress_refused",
            BuildError::Config { findings } => findings[0].at == "/base_url",
            BuildError::UnknownKind { .. } | BuildError::Credential { .. } => false,
        };
        assert!(refused, "{host}: {error}");
    }
    for url in [
        "http://user:password@127.0.0.1",
        "http://example.com@127.0.0.1",
        "ftp://example.com",
        "gopher://example.com",
        "file:///etc/passwd",
        "http://",
        "//127.0.0.1",
        "http://127.0.0.1:0",
        "http://127.0.0.1:99999",
        "http://exa mple.com",
        "http://127.0.0.1/#a",
        "http://127.0.0.1/?a",
    ] {
        let mut blueprint = standing("127.0.0.1", port);
        blueprint.config["base_url"] = json!(url);
        let (egress, _) = scripted(PrivateNetworks::Allowed, &[&["127.0.0.1"]]);
        let error = build(&blueprint, &deps_over(egress)).await.unwrap_err();
        assert!(matches!(error, BuildError::Config { .. }), "{url}: {error}");
    }
    assert!(stub.seen().is_empty());
}

#[tokio::test]
async fn a_path_leads_to_no_other_host() {
    let stub = Stub::saying("200 OK", b"{}").await;
    let other = Stub::saying("200 OK", b"{}").await;
    for path in [
        format!("//{}/p", other.at),
        format!("/http://{}/p", other.at),
        format!("/@{}/p", other.at),
    ] {
        let mut blueprint = standing("127.0.0.1", stub.at.port());
        blueprint.config["tools"][0]["path"] = json!(path);
        let (egress, _) = scripted(PrivateNetworks::Allowed, &[&["127.0.0.1"]]);
        let connector = build(&blueprint, &deps_over(egress)).await.unwrap();
        assert_eq!(word(&run(&*named(&*connector, "pets.tool"), json!({})).await), "succeeded");
    }
    assert_eq!((stub.seen().len(), other.seen().len()), (3, 0));
}

#[tokio::test]
async fn the_services_own_database_is_not_reached() {
    let stub = Stub::saying("200 OK", b"{}").await;
    let rules = Rules { own_database: vec!["8.8.8.8".parse().unwrap()], ..Rules::default() };
    let egress = Egress::new(rules).unwrap();
    let mut blueprint = standing("8.8.8.8", stub.at.port());
    blueprint.config["base_url"] = json!("https://8.8.8.8:5432");
    let error = build(&blueprint, &deps_over(egress)).await.unwrap_err();
    assert!(error.to_string().contains("own database"), "{error}");
}
