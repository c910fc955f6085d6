//! Names: those that lead elsewhere than they say, that change while a connection is kept, and that no
//! resolver has a response for.

use std::{
    collections::BTreeMap,
    io,
    net::{IpAddr, SocketAddr},
    sync::{Arc, Mutex, atomic::Ordering::Relaxed},
    time::Duration,
};

use async_trait::async_trait;
use egress::{Egress, PrivateNetworks, Resolver, Rules};
use serde_json::json;
use tokio::{
    io::AsyncWriteExt,
    net::TcpListener,
    time::{Instant, timeout},
};

use super::{
    super::world::{deps_over, named, read_request, run, said, word},
    pinned, scripted, standing,
};
use crate::{Blueprint, BuildError, CheckState, build, check};

fn over(private_networks: PrivateNetworks, resolver: impl Resolver + 'static) -> Egress {
    let rules = Rules { private_networks, ..Rules::default() };
    Egress::with_resolver(rules, Arc::new(resolver)).unwrap()
}

/// A zone in which names stand for others, as a resolver follows them: what it returns does not say so.
#[derive(Debug)]
struct Zone(BTreeMap<&'static str, &'static str>);

#[async_trait]
impl Resolver for Zone {
    async fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        let mut found = *self.0.get(name).ok_or(io::ErrorKind::NotFound)?;
        while let Some(next) = self.0.get(found) {
            found = next;
        }
        Ok(vec![found.parse().map_err(io::Error::other)?])
    }
}

#[tokio::test]
async fn an_alias_of_an_internal_name_is_refused_and_says_nothing_of_it() {
    let zone = [
        ("metadata.example.com", "metadata.internal"),
        ("metadata.internal", "169.254.169.254"),
        ("db.example.com", "alias.example.com"),
        ("alias.example.com", "db.internal"),
        ("db.internal", "10.1.2.3"),
        ("own.example.com", "localhost"),
        ("localhost", "127.0.0.1"),
    ];
    for host in ["metadata.example.com", "db.example.com", "own.example.com"] {
        let mut blueprint = standing(host, 443);
        blueprint.config["base_url"] = json!(format!("https://{host}"));
        let deps = deps_over(over(PrivateNetworks::Refused, Zone(zone.into())));
        let error = build(&blueprint, &deps).await.unwrap_err();
        let BuildError::Connect(fault) = error else { panic!("{host}: {error}") };
        assert_eq!(fault.code.as_str(), "egress_refused", "{host}");
        for untold in ["internal", "alias", "169.254", "10.1.2.3", "127.0.0.1", "localhost"] {
            assert!(!fault.message.contains(untold), "{}", fault.message);
        }
    }
}

#[tokio::test]
async fn the_systems_own_names_of_this_machine_are_refused() {
    let mut blueprint = standing("localhost", 443);
    blueprint.config["base_url"] = json!("https://localhost");
    let deps = deps_over(Egress::new(Rules::default()).unwrap());
    let error = build(&blueprint, &deps).await.unwrap_err();
    let BuildError::Connect(fault) = error else { panic!("{error}") };
    assert_eq!(fault.code.as_str(), "egress_refused");
}

/// A resolver that never returns anything.
#[derive(Debug)]
struct Hangs;

#[async_trait]
impl Resolver for Hangs {
    async fn resolve(&self, _: &str) -> io::Result<Vec<IpAddr>> {
        std::future::pending().await
    }
}

#[tokio::test(start_paused = true)]
async fn a_resolver_that_hangs_holds_up_neither_building_nor_checking_nor_a_call() {
    // Of what takes longer than this the test says so, and does not hang itself.
    const MOST: Duration = Duration::from_mins(1);
    let mut blueprint = standing("api.example.com", 80);
    blueprint.config["connect_ms"] = json!(500);
    let deps = deps_over(over(PrivateNetworks::Allowed, Hangs));
    let began = Instant::now();
    // A name without an address may have one later, so the connector is built.
    let connector = timeout(MOST, build(&blueprint, &deps)).await.unwrap().unwrap();
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    let outcome = timeout(MOST, run(&*named(&*connector, "pets.tool"), json!({}))).await.unwrap();
    assert_eq!(word(&outcome), "failed connector_unreachable");
    let lines = timeout(MOST, check(&blueprint, &deps)).await.unwrap().unwrap();
    let state = |name: &str| lines.iter().find(|line| line.name == name).unwrap().state;
    assert_eq!((state("address"), state("answers")), (CheckState::Pass, CheckState::Fail));
}

/// An API that takes this many requests on each connection, then ends it; with how many requests each
/// connection brought.
async fn keeping(requests: usize) -> (SocketAddr, Arc<Mutex<Vec<usize>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (at, brought) = (listener.local_addr().unwrap(), Arc::<Mutex<Vec<usize>>>::default());
    let noted = Arc::clone(&brought);
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            noted.lock().unwrap().push(0);
            for _ in 0..requests {
                if read_request(&mut stream).await.is_empty() {
                    break;
                }
                *noted.lock().unwrap().last_mut().unwrap() += 1;
                stream.write_all(&said("200 OK", b"{}")).await.unwrap();
            }
        }
    });
    (at, brought)
}

#[tokio::test]
async fn a_kept_connection_stays_with_the_address_that_was_judged() {
    let (at, brought) = keeping(3).await;
    let mut reading = standing("api.example.com", at.port());
    reading.config["tools"][0]["method"] = json!("GET");
    reading.config["timeout_ms"] = json!(30_000);
    let reading: Blueprint = pinned(reading).await;
    let (egress, script) = scripted(
        PrivateNetworks::Allowed,
        &[&["127.0.0.1"], &["169.254.169.254"], &["10.0.0.1", "::ffff:127.0.0.1"], &["127.0.0.1"]],
    );
    let connector = build(&reading, &deps_over(egress)).await.unwrap();
    let tool = named(&*connector, "pets.tool");
    // From the second read on the name leads elsewhere. While the connection is kept nobody looks it up.
    for _ in 0..3 {
        assert_eq!(word(&run(&*tool, json!({})).await), "succeeded");
    }
    assert_eq!((&*brought.lock().unwrap(), script.asked.load(Relaxed)), (&vec![3], 1));
    // A new connection goes to no address that was not judged for it.
    for _ in 0..2 {
        assert_eq!(word(&run(&*tool, json!({})).await), "failed egress_refused");
    }
    assert_eq!((&*brought.lock().unwrap(), script.asked.load(Relaxed)), (&vec![3], 3));
    assert_eq!(word(&run(&*tool, json!({})).await), "succeeded");
    assert_eq!(*brought.lock().unwrap(), [3, 1]);
}

#[tokio::test]
async fn a_write_looks_its_name_up_although_a_connection_is_kept() {
    let (at, brought) = keeping(usize::MAX).await;
    let mut both = standing("api.example.com", at.port());
    both.config["timeout_ms"] = json!(30_000);
    let mut read = both.config["tools"][0].clone();
    (read["name"], read["method"]) = (json!("read"), json!("GET"));
    both.config["tools"].as_array_mut().unwrap().push(read);
    let both = pinned(both).await;
    let (egress, _) = scripted(PrivateNetworks::Allowed, &[&["127.0.0.1"], &["169.254.169.254"]]);
    let connector = build(&both, &deps_over(egress)).await.unwrap();
    let (read, write) = (named(&*connector, "pets.read"), named(&*connector, "pets.tool"));
    assert_eq!(word(&run(&*read, json!({})).await), "succeeded");
    assert_eq!(word(&run(&*write, json!({})).await), "failed egress_refused");
    assert_eq!(*brought.lock().unwrap(), [1]);
}
