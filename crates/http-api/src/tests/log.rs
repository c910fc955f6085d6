//! A whole log in one request: it verifies as it came, is taken up where it broke, and breaks off
//! rather than leave a deed out.

use std::time::Duration;

use deed::{
    Checkpoint,
    tree::TreeHead,
    verify::{Grade, Trust, examine},
};
use http_body_util::BodyExt;
use model::Scope;
use serde_json::Value;

use super::house::{Answer, House, holder, named_org_key, request};

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
    for amount in 0..2 {
        house.refund(amount).await;
    }
    for number in 0..80 {
        holder(&house.operator(), &format!("number-{number}")).await;
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

#[tokio::test]
async fn a_log_is_read_out_no_further_by_a_key_that_was_revoked() {
    let house = grown().await;
    let admins = house.operator();
    let export = "/v1/ledger/export?created_at[gte]=2026-10-01T00:00:00Z&created_at[lt]=2026-10-02T00:00:00Z";
    for path in [LOG, export] {
        let whole = house.get(path, &house.org_key).await.bytes;
        let (id, key) = named_org_key(&admins, Scope::AdminRead).await;
        let response = house.router.answer(request("GET", path, &key, &[], None)).await;
        assert_eq!(response.status(), 200);
        admins.revoke_key(id).await.unwrap();
        house.clock.pass(Duration::from_secs(1));
        let mut body = response.into_body();
        let mut came = Vec::new();
        let broke = loop {
            match body.frame().await {
                Some(Ok(frame)) => came.extend_from_slice(frame.data_ref().unwrap()),
                end => break end.is_some(),
            }
        };
        assert!(whole.starts_with(&came) && came.len() < whole.len(), "{path}");
        // An export has a last line instead.
        assert_eq!(broke, path == LOG);
        assert_eq!(house.get(path, &key).await.code(), (401, "unauthenticated"));
    }
}

#[tokio::test]
async fn a_closed_log_is_read_out_by_its_name_and_verifies_beside_the_one_that_follows() {
    let house = House::new().await;
    let note = async |query: &str| {
        let path = format!("/v1/log/checkpoint{query}");
        let answer = house.get(&path, &house.org_key).await;
        String::from_utf8(answer.bytes.to_vec()).unwrap()
    };
    let keys = house.get("/.well-known/service/keys.json", "").await;
    let keys = deed::KeySet::parse(&keys.bytes).unwrap();
    let old = Checkpoint::open_with(&note("").await, &keys).unwrap();
    // Somebody kept a checkpoint of more deeds than there are.
    let lost = TreeHead { size: old.tree.size + 2, root: crypto::sha256("lost") };
    let known = Checkpoint { log: old.log.clone(), tree: lost };
    house.operator().recover_log(known, Some("A disk died.")).await.unwrap();
    house.refund(1).await;
    let both = [format!("?log={}", old.log), String::new()];
    let mut sizes = Vec::new();
    for query in &both {
        let all = read(&house, query).await;
        let size = all.bytes.split(|byte| *byte == b'\n').count() - 1;
        assert_eq!(range(&all), format!("0-{size}/{size}"));
        let trust = Trust {
            keys: Some(keys.clone()),
            known_checkpoint: Some(note(query).await),
            expected_size: Some(size as u64),
        };
        let report = examine(&all.bytes, &trust);
        assert_eq!(report.grade, Some(Grade::Checkpointed), "{query}: {:?}", report.verdict);
        let joint = if query.is_empty() { "?" } else { "&" };
        let tail = read(&house, &format!("{query}{joint}from=1")).await;
        assert!(all.bytes.ends_with(&tail.bytes), "{query}");
        sizes.push(size as u64);
    }
    assert_eq!(sizes, [old.tree.size, 2], "the closed one as it stood, and what came since");
}

#[tokio::test]
async fn a_log_that_lost_deeds_breaks_off_before_them_and_is_read_on_behind_them() {
    let house = grown().await;
    let all = read(&house, "").await.bytes;
    let lines: Vec<_> = all.split_inclusive(|byte| *byte == b'\n').collect();
    house.store.take_away(house.org, 70..75);
    let mut body =
        house.router.answer(request("GET", LOG, &house.org_key, &[], None)).await.into_body();
    let mut came = Vec::new();
    while let Ok(frame) = body.frame().await.expect("it breaks and does not end") {
        came.extend_from_slice(frame.data_ref().unwrap());
    }
    assert!(came == lines[..70].concat(), "the deeds before them");
    let near = read(&house, "?from=64&to=70").await;
    assert!(near.bytes == lines[64..70].concat());
    let lost = read(&house, "?from=70").await;
    assert_eq!(lost.code(), (404, "not_found"), "{}", lost.body);
    let told = lost.body["error"]["message"].as_str().unwrap();
    assert!(told.contains("the deed at place 70 is missing"), "{told}");
    assert_eq!(read(&house, "?from=75").await.bytes, lines[75..].concat());
}

#[tokio::test]
async fn a_log_whose_payloads_are_gone_is_read_out_without_them_and_verifies() {
    let house = House::new().await;
    house.refund(5).await;
    house.clock.pass(Duration::from_hours(24 * 365));
    assert_eq!(house.deployment().prune().await.unwrap(), 1);
    let all = read(&house, "").await;
    let forms = all.bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let forms: Vec<Value> = forms.map(|line| serde_json::from_slice(line).unwrap()).collect();
    let acted = forms.iter().find(|form| form["kind"] == "action").unwrap();
    assert_eq!(acted["disclosures"], Value::Array(Vec::new()));
    let keys = house.get("/.well-known/service/keys.json", "").await;
    let keys = Some(deed::KeySet::parse(&keys.bytes).unwrap());
    let report = examine(&all.bytes, &Trust { keys, ..Trust::default() });
    assert_eq!(report.grade, Some(Grade::Chained));
}
