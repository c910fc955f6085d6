//! A whole log in one request: it verifies as it came, is taken up where it broke, and breaks off
//! rather than leave a deed out.

use deed::verify::{Grade, Trust, examine};
use http_body_util::BodyExt;
use serde_json::Value;

use super::house::{Answer, House, request};

const LOG: &str = "/v1/log/deeds";

async fn read(house: &House, query: &str) -> Answer {
    house.get(&format!("{LOG}{query}"), &house.org_key).await
}

fn range(answer: &Answer) -> &str {
    answer.headers["service-log-range"].to_str().unwrap()
}

/// A house whose log is read in several steps.
async fn grown() -> House {
    let house = House::new().await;
    for amount in 0..80 {
        house.refund(amount % 2).await;
    }
    house
}

#[tokio::test]
async fn a_log_is_read_out_in_one_request_and_verifies_as_it_came() {
    let house = grown().await;
    let all = read(&house, "").await;
    assert_eq!(all.status, 200);
    let size = all.bytes.split(|byte| *byte == b'\n').count() - 1;
    assert!(size > 80, "{size} deeds");
    assert_eq!(range(&all), format!("0-{size}/{size}"));
    let keys = house.get("/.well-known/service/keys.json", "").await;
    let note = house.get("/v1/log/checkpoint", &house.org_key).await;
    let trust = Trust {
        keys: Some(deed::KeySet::parse(&keys.bytes).unwrap()),
        known_checkpoint: Some(String::from_utf8(note.bytes.to_vec()).unwrap()),
        expected_size: Some(size as u64),
    };
    assert_eq!(examine(&all.bytes, &trust).grade, Some(Grade::Checkpointed));
    let first: Value =
        serde_json::from_slice(&house.get("/v1/deeds?limit=1", &house.org_key).await.bytes)
            .unwrap();
    let one = house
        .get(&format!("/v1/deeds/{}", first["data"][0]["id"].as_str().unwrap()), &house.org_key)
        .await;
    assert!(all.bytes.ends_with(format!("{}\n", one.body).as_bytes()), "as each by itself");
    // Taken up at any place it is the same.
    for cut in [1, 63, 64, 65, size] {
        let (head, tail) = (
            read(&house, &format!("?to={cut}")).await,
            read(&house, &format!("?from={cut}")).await,
        );
        assert_eq!(range(&head), format!("0-{cut}/{size}"));
        assert_eq!([head.bytes, tail.bytes].concat(), all.bytes, "cut at {cut}");
    }
}

#[tokio::test]
async fn a_part_that_the_log_does_not_have_is_refused() {
    let house = House::new().await;
    let size = range(&read(&house, "").await).split_once('/').unwrap().1.parse::<u64>().unwrap();
    for query in [
        format!("?from={}", size + 1),
        format!("?to={}", size + 1),
        "?from=2&to=1".to_owned(),
        "?from=-1".to_owned(),
    ] {
        let answer = read(&house, &query).await;
        assert_eq!(
            (answer.code(), answer.param()),
            ((400, "validation_failed"), Some("from")),
            "{query}"
        );
    }
    let other = read(&house, "?log=test/logs/log_00000000000000000000000000").await;
    assert_eq!((other.code(), other.param()), ((400, "validation_failed"), Some("log")));
    let agent = house.get(LOG, &house.support.key).await;
    assert_eq!(agent.code(), (403, "insufficient_scope"));
}

#[tokio::test]
async fn a_log_that_cannot_be_read_on_breaks_off_and_does_not_end() {
    let house = grown().await;
    let response = house.router.answer(request("GET", LOG, &house.org_key, &[], None)).await;
    house.store.fail_next("read the deeds of a log", 1);
    response.into_body().collect().await.unwrap_err();
    // What cannot be read at all is no answer of 200.
    house.store.fail_next("read what opens a deed", 1);
    assert_eq!(read(&house, "").await.code(), (503, "service_unavailable"));
}

#[tokio::test]
async fn a_log_that_is_being_read_out_is_one_of_the_few_lists_of_its_key() {
    let house = grown().await;
    let ask = async || house.router.answer(request("GET", LOG, &house.org_key, &[], None)).await;
    let mut under_way = Vec::new();
    for _ in 0..4 {
        under_way.push(ask().await);
    }
    assert_eq!(read(&house, "").await.code(), (429, "rate_limited"));
    under_way.pop().unwrap().into_body().collect().await.unwrap();
    assert_eq!(read(&house, "").await.status, 200);
}
