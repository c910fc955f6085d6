//! What is wrong with the record of one org is the matter of that org alone.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::{
    calls::note,
    house::House,
    upkeep::{neighbour, refused, stop},
};

#[tokio::test]
async fn a_head_that_cannot_be_read_stops_neither_the_start_nor_the_verbs_nor_another_org() {
    let Some(house) = House::new("").await else { return };
    let (org, agent) = neighbour(&house).await;
    let own = house.agent("unlucky").await;
    let service = house.serve().await;
    note(&service.caller(&own.key), "before").await;
    refused(&service, &agent).await;
    stop(service).await;
    let of = |org: &str| format!("(select org_id from org where record::jsonb ->> 'id' = '{org}')");
    let unlucky = of(&house.org);
    let broken = format!(
        "update org_head set frontier = frontier || decode(repeat('00', 128), 'hex') \
         where org_id = {unlucky}"
    );
    house.control.run(&broken).await;

    let service = house.serve().await;
    let answer = service.caller(&own.key).call("lab.note", json!({ "mark": "never" })).await;
    answer.error(503, "service_unavailable", None);
    assert_eq!(house.notes("never").await, 0, "nothing ran");
    refused(&service, &agent).await;
    house.verbs.run(&["agent", "create", "third", "--org", &org]).await;
    let sound = of(&org);
    let signed = format!(
        "select count(*) from checkpoint join org_head as head using (org_id, size) \
         where head.org_id = {sound}"
    );
    let deadline = Instant::now() + Duration::from_secs(30);
    while house.control.count(&signed).await == 0 {
        assert!(Instant::now() < deadline, "its checkpoints stopped: {}", service.log());
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    stop(service).await;
}
