//! Who a request is taken to come from, and what one client may hold.

use std::{net::IpAddr, sync::Arc, time::Duration};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Request};
use http_body_util::Empty;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::{advance, timeout},
};

use super::support::*;
use crate::{
    Bounds, Control, Open, TrustedProxies,
    client::{Peer, counted},
};

fn proxies(networks: &[&str]) -> TrustedProxies {
    TrustedProxies::new(networks.iter().map(|network| network.parse().unwrap()).collect())
}

#[test]
fn forwarded_addresses_count_as_far_as_the_hops_are_trusted() {
    let trusted = proxies(&["10.0.0.0/8", "fd00::/8"]);
    #[rustfmt::skip]
    let cases: [(&str, &[&str], &str); 18] = [
        // From nobody's proxy nothing is believed.
        ("192.0.2.1",        &["203.0.113.9"],                          "192.0.2.1"),
        ("192.0.2.1",        &["10.0.0.2"],                             "192.0.2.1"),
        ("10.0.0.1",         &[],                                       "10.0.0.1"),
        ("10.0.0.1",         &["203.0.113.9"],                          "203.0.113.9"),
        ("10.0.0.1",         &[" 203.0.113.9 "],                        "203.0.113.9"),
        // What stands left of the first hop that is not trusted was written by that hop.
        ("10.0.0.1",         &["198.51.100.1, 203.0.113.9"],            "203.0.113.9"),
        ("10.0.0.1",         &["198.51.100.1, 203.0.113.9, 10.0.0.2"],  "203.0.113.9"),
        ("10.0.0.1",         &["198.51.100.1", "203.0.113.9, 10.0.0.2"],"203.0.113.9"),
        ("10.0.0.1",         &["203.0.113.9", "10.0.0.2"],              "203.0.113.9"),
        ("10.0.0.1",         &["10.0.0.3, 10.0.0.2"],                   "10.0.0.3"),
        ("fd00::1",          &["2001:db8::7"],                          "2001:db8::7"),
        ("::ffff:10.0.0.1",  &["::ffff:203.0.113.9"],                   "203.0.113.9"),
        // Malformed lists tell nothing.
        ("10.0.0.1",         &["unknown"],                              "10.0.0.1"),
        ("10.0.0.1",         &[""],                                     "10.0.0.1"),
        ("10.0.0.1",         &["203.0.113.9,"],                         "10.0.0.1"),
        ("10.0.0.1",         &["203.0.113.9:443"],                      "10.0.0.1"),
        ("10.0.0.1",         &["203.0.113.9, x, 10.0.0.2"],             "10.0.0.1"),
        // Left of the client nothing is looked at, so nothing there can be malformed.
        ("10.0.0.1",         &["x, 203.0.113.9"],                       "203.0.113.9"),
    ];
    for (peer, lines, client) in cases {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append("x-forwarded-for", HeaderValue::from_str(line).unwrap());
        }
        let found = trusted.client(peer.parse().unwrap(), &headers);
        assert_eq!(found, client.parse::<IpAddr>().unwrap(), "{peer} {lines:?}");
    }
}

#[test]
fn addresses_are_counted_by_host() {
    let same =
        |left: &str, right: &str| counted(left.parse().unwrap()) == counted(right.parse().unwrap());
    assert!(same("192.0.2.1", "::ffff:192.0.2.1"));
    assert!(!same("192.0.2.1", "192.0.2.2"));
    assert!(same("2001:db8::1", "2001:db8::ffff:1:2:3"));
    assert!(!same("2001:db8:0:1::1", "2001:db8:0:2::1"));
}

fn request(peer: &str, forwarded: Option<&str>) -> Request<Empty<Bytes>> {
    let mut request = Request::get("/v1/never").header("host", "a");
    if let Some(forwarded) = forwarded {
        request = request.header("x-forwarded-for", forwarded);
    }
    let mut request = request.body(Empty::new()).unwrap();
    request.extensions_mut().insert(Peer(peer.parse().unwrap()));
    request
}

#[tokio::test(start_paused = true)]
async fn one_client_has_so_many_requests_under_way_and_no_forged_header_gives_it_more() {
    let (_control, lifecycle) = Control::new();
    let router = router(proxies(&["10.0.0.0/8"]), lifecycle);
    let send = |peer: &'static str, forwarded: Option<String>| {
        let router = router.clone();
        tokio::spawn(async move {
            router.answer(request(peer, forwarded.as_deref())).await.status().as_u16()
        })
    };
    for number in 0..1024 {
        send("192.0.2.1", Some(format!("203.0.113.{}", number % 250)));
        send("10.0.0.1", Some("198.51.100.1".to_owned()));
    }
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(send("192.0.2.1", Some("203.0.113.9".to_owned())).await.unwrap(), 429);
    assert_eq!(send("10.0.0.1", Some("198.51.100.1".to_owned())).await.unwrap(), 429);
    // Another client of the same proxy, and the proxy itself, are let in; the route is slow.
    assert_eq!(send("10.0.0.1", Some("198.51.100.2".to_owned())).await.unwrap(), 503);
    assert_eq!(send("10.0.0.1", None).await.unwrap(), 503);
    let again = router.answer(request("192.0.2.1", None)).await;
    assert_eq!(again.status(), 503, "ended requests make room");
}

#[test]
fn what_is_open_is_counted_while_it_is_held() {
    let open = Arc::new(Open::default());
    let (one, two) = (open.hold(), open.hold());
    assert_eq!(open.get(), 2);
    drop(one);
    assert_eq!(open.get(), 1);
    drop(two);
    assert_eq!(open.get(), 0);
}

#[tokio::test(start_paused = true)]
async fn it_is_known_for_how_long_nothing_was_open() {
    let open = Arc::new(Open::default());
    advance(Duration::from_secs(3)).await;
    assert_eq!(open.idle_for(), Some(Duration::MAX), "nothing ever was");
    let (one, two) = (open.hold(), open.hold());
    drop(one);
    assert_eq!(open.idle_for(), None);
    drop(two);
    advance(Duration::from_secs(7)).await;
    assert_eq!(open.idle_for(), Some(Duration::from_secs(7)));
    let _three = open.hold();
    assert_eq!(open.idle_for(), None);
}

#[tokio::test]
async fn one_address_has_so_many_connections_unless_it_is_a_proxy() {
    let bounds = || Bounds { connections_of_one: 2, header_time: WITHIN * 2, ..quick() };
    let ping = "GET /v1/ping HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    let server = start(bounds()).await;
    let first = TcpStream::connect(server.address).await.unwrap();
    let _second = TcpStream::connect(server.address).await.unwrap();
    let mut third = TcpStream::connect(server.address).await.unwrap();
    // It is closed, and nothing is answered; the request may not even be taken.
    let _ = third.write_all(ping.as_bytes()).await;
    let mut answer = Vec::new();
    let ended = timeout(WITHIN, third.read_to_end(&mut answer)).await;
    assert!(ended.is_ok() && answer.is_empty(), "{answer:?}");
    drop(first);
    until("the first one is gone", async || server.open.get() == 1).await;
    assert!(exchange(server.address, ping).await.contains("pong"));
    let server = start_behind(proxies(&["127.0.0.0/8"]), bounds()).await;
    let mut open = Vec::new();
    for _ in 0..3 {
        open.push(TcpStream::connect(server.address).await.unwrap());
    }
    assert!(exchange(server.address, ping).await.contains("pong"));
}
