mod addresses;

use std::{
    collections::VecDeque,
    io,
    net::IpAddr,
    sync::{Arc, Mutex},
    time::Duration,
};

use async_trait::async_trait;
use tokio::net::TcpListener;

use self::addresses::{LOOPBACK, NEVER, PRIVATE, PUBLIC};
use crate::{Egress, EgressError, PrivateNetworks, Reach, Resolver, Rules, reach};

/// Answers each look-up with the next list, so that a name can change its mind.
#[derive(Debug)]
struct Script(Mutex<VecDeque<Vec<IpAddr>>>);

#[async_trait]
impl Resolver for Script {
    async fn resolve(&self, _name: &str) -> io::Result<Vec<IpAddr>> {
        Ok(self.0.lock().unwrap().pop_front().unwrap_or_default())
    }
}

fn scripted(rules: Rules, answers: &[&[&str]]) -> Egress {
    let answers = answers.iter().map(|list| list.iter().map(|ip| ip.parse().unwrap()).collect());
    Egress::with_resolver(rules, Arc::new(Script(Mutex::new(answers.collect())))).unwrap()
}

fn development() -> Rules {
    Rules { private_networks: PrivateNetworks::Allowed, ..Rules::default() }
}

#[test]
fn every_special_range_is_known() {
    let table = [
        (NEVER, Reach::Never),
        (PRIVATE, Reach::Private),
        (LOOPBACK, Reach::Loopback),
        (PUBLIC, Reach::Public),
    ];
    for (addresses, expected) in table {
        for address in addresses {
            assert_eq!(reach(address.parse().unwrap()).0, expected, "{address}");
        }
    }
}

#[tokio::test]
async fn a_literal_address_is_judged_like_a_resolved_one() {
    let egress = scripted(Rules::default(), &[]);
    for address in NEVER.iter().chain(PRIVATE).chain(LOOPBACK) {
        let error = egress.vet(address, 443).await.unwrap_err();
        assert!(matches!(error, EgressError::Forbidden { .. }), "{address}: {error}");
        assert!(error.is_refusal());
    }
    for address in PUBLIC {
        assert_eq!(egress.vet(address, 443).await.unwrap().len(), 1, "{address}");
    }
}

#[tokio::test]
async fn development_admits_private_networks_and_this_machine_and_nothing_else() {
    let egress = scripted(development(), &[]);
    for address in PRIVATE.iter().chain(LOOPBACK).chain(PUBLIC) {
        assert!(egress.vet(address, 1).await.is_ok(), "{address}");
    }
    for address in NEVER {
        assert!(egress.vet(address, 1).await.is_err(), "{address}");
    }
}

#[tokio::test]
async fn texts_that_a_c_library_reads_as_addresses_are_no_hosts() {
    let egress = scripted(development(), &[&["8.8.8.8"]]);
    let texts = [
        "127.1",
        "2130706433",
        "0x7f.1",
        "0x7f000001",
        "0177.0.0.1",
        "0",
        "",
        ".",
        "a..b",
        "example.com.",
        "user@example.com",
        "example.com:5432",
        "-a.example",
        "fe80::1%eth0",
        "[127.0.0.1]",
        "exämple.com",
        "/var/run/postgresql",
        "a b",
        "1.2.3.4.5",
        "0X",
    ];
    for text in texts {
        let error = egress.vet(text, 443).await.unwrap_err();
        assert!(matches!(error, EgressError::BadHost { .. }), "{text}: {error}");
    }
    assert!(egress.vet("db-1.example_x.com", 443).await.is_ok());
}

#[tokio::test]
async fn a_port_is_no_reason_to_allow_or_refuse_an_address() {
    let egress = scripted(Rules::default(), &[]);
    for port in [22, 25, 80, 443, 5432, 6379, 65_535] {
        assert_eq!(egress.vet("8.8.8.8", port).await.unwrap()[0].port(), port);
        assert!(egress.vet("169.254.169.254", port).await.is_err(), "{port}");
        assert!(egress.vet("10.0.0.1", port).await.is_err(), "{port}");
    }
}

#[tokio::test]
async fn one_bad_address_among_good_ones_refuses_the_name() {
    let egress = scripted(Rules::default(), &[&["8.8.8.8", "169.254.169.254"]]);
    let error = egress.vet("mixed.example", 443).await.unwrap_err();
    assert!(matches!(error, EgressError::Forbidden { .. }), "{error}");
    assert!(error.to_string().contains("mixed.example"), "{error}");
}

#[tokio::test]
async fn of_a_name_nothing_is_told_but_that_it_may_not_be_reached() {
    let own_database = vec!["8.8.8.8".parse().unwrap()];
    let inside: [&[&str]; 5] =
        [&["10.1.2.3"], &["127.0.0.1"], &["169.254.169.254"], &["fd12::1"], &["8.8.8.8"]];
    let rules = Rules { own_database, ..Rules::default() };
    let egress = scripted(rules.clone(), &inside);
    let mut told = std::collections::BTreeSet::new();
    for _ in inside {
        told.insert(egress.vet("db.internal", 443).await.unwrap_err().to_string());
    }
    let said = "`db.internal` has an address that may not be reached; the log of the service says \
                which";
    assert_eq!(told, [said.to_owned()].into());
    // Who says the address knows it.
    let egress = scripted(rules, &[]);
    for (address, expected) in
        [("169.254.169.254", "metadata"), ("10.1.2.3", "may allow"), ("8.8.8.8", "own database")]
    {
        let error = egress.vet(address, 443).await.unwrap_err().to_string();
        assert!(error.contains(address) && error.contains(expected), "{error}");
    }
}

#[tokio::test]
async fn a_name_is_looked_up_once_and_the_judged_address_is_dialled() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    // The second answer would be refused; it must never be asked for.
    let egress = scripted(development(), &[&["127.0.0.1"], &["169.254.169.254"]]);
    let stream = egress.connect("rebind.example", port, Duration::from_secs(5)).await.unwrap();
    assert_eq!(stream.peer_addr().unwrap(), listener.local_addr().unwrap());
    let second = egress.connect("rebind.example", port, Duration::from_secs(5)).await.unwrap_err();
    assert!(second.is_refusal());
}

#[tokio::test]
async fn the_next_address_is_dialled_when_one_does_not_answer() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let egress = scripted(development(), &[&["127.0.0.2", "127.0.0.1"]]);
    assert!(egress.connect("two.example", port, Duration::from_secs(5)).await.is_ok());
}

#[tokio::test]
async fn a_closed_port_is_unreachable_and_no_refusal() {
    let port = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port();
    let egress = scripted(development(), &[]);
    let error = egress.connect("127.0.0.1", port, Duration::from_secs(5)).await.unwrap_err();
    assert!(matches!(error, EgressError::Unreachable { .. }), "{error}");
    assert!(!error.is_refusal());
}

#[tokio::test]
async fn a_name_without_an_address_is_unresolved() {
    let egress = scripted(Rules::default(), &[]);
    let error = egress.vet("nowhere.example", 443).await.unwrap_err();
    assert!(matches!(error, EgressError::Unresolved { .. }), "{error}");
}

#[tokio::test]
async fn a_named_private_range_is_reached_without_opening_the_others() {
    let rules = Rules { allowed: vec!["10.20.0.0/16".parse().unwrap()], ..Rules::default() };
    let egress = scripted(rules, &[]);
    assert!(egress.vet("10.20.3.4", 5432).await.is_ok());
    assert!(egress.vet("10.21.3.4", 5432).await.is_err());
    assert!(egress.vet("127.0.0.1", 5432).await.is_err());
}

#[test]
fn ranges_that_may_never_be_reached_cannot_be_allowed() {
    for range in [
        "0.0.0.0/0",
        "127.0.0.0/8",
        "169.254.169.254/32",
        "8.8.8.0/24",
        "10.0.0.0/7",
        "::/0",
        "::ffff:0:0/96",
        "64:ff9b::/96",
        "fd00:ec2::254/128",
        "::1/128",
    ] {
        let rules = Rules { allowed: vec![range.parse().unwrap()], ..Rules::default() };
        assert!(Egress::new(rules).is_err(), "{range}");
    }
    for range in ["10.0.0.0/8", "192.168.1.0/24", "100.64.0.0/10", "fd12::/16", "10.1.2.3/32"] {
        let rules = Rules { allowed: vec![range.parse().unwrap()], ..Rules::default() };
        assert!(Egress::new(rules).is_ok(), "{range}");
    }
}

#[tokio::test]
async fn the_own_database_is_reached_only_by_its_exact_address() {
    let rules = |allowed: &[&str], own: &str| Rules {
        allowed: allowed.iter().map(|range| range.parse().unwrap()).collect(),
        own_database: vec![own.parse().unwrap()],
        ..Rules::default()
    };
    let table: [(&[&str], &str, bool); 4] = [
        (&[], "8.8.8.8", false),
        (&["8.8.8.8/32"], "8.8.8.8", true),
        (&["10.0.0.0/8"], "10.1.2.3", false),
        (&["10.0.0.0/8", "10.1.2.3/32"], "10.1.2.3", true),
    ];
    for (allowed, own, reached) in table {
        let egress = scripted(rules(allowed, own), &[]);
        assert_eq!(egress.vet(own, 5432).await.is_ok(), reached, "{allowed:?} {own}");
    }
    assert!(Egress::new(rules(&["127.0.0.1/32"], "127.0.0.1")).is_ok());
    let loopback = scripted(rules(&["127.0.0.1/32"], "127.0.0.1"), &[]);
    assert!(loopback.vet("127.0.0.1", 5432).await.is_err(), "loopback stays closed");
}
