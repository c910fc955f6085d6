//! A change log as evidence while those who read it die, and while something hides from it.

mod gaps;

use serde_json::{Value, json};

use crate::{
    change_log::Scene,
    eventually::eventually,
    house::{Request, Start, binaries, call, name},
};

#[tokio::test]
async fn of_two_instances_one_follows_and_the_other_goes_on_when_it_is_gone() {
    let Some(scene) = Scene::new("decoder: { lease: 5s }\ngate: { wait_timeout: 25s }\n").await
    else {
        return;
    };
    scene.enable().await;
    assert_eq!(scene.witnessed("kept.note").await["witness"]["verdict"], "VERIFIED");
    let Scene { house, mut service, connector, .. } = scene;
    let second = house.serve().await;
    let caller = second.caller(&house.agent("second").await.key);
    let org = second.caller(&house.org_key().await);
    // It waits for what the other one reads.
    let beside = caller.executed("kept.note", json!({ "mark": name() })).await;
    assert_eq!(beside["witness"]["verdict"], "VERIFIED", "{}", beside["witness"]);
    assert_eq!(house.control.count("select token from log_reader").await, 1);
    service.kill();
    let taken_over = caller.executed("kept.note", json!({ "mark": name() })).await;
    assert_eq!(taken_over["witness"]["verdict"], "VERIFIED", "{}", taken_over["witness"]);
    assert_eq!(house.control.count("select token from log_reader").await, 2);
    let twice = "select count(*) from (select action_id from log_frame where is_own
        group by action_id having count(*) > 1) as twice";
    assert_eq!(house.control.count(twice).await, 0);
    assert_eq!(house.control.count("select count(*) from log_gap").await, 0);
    let scene = Scene { house, service: second, caller, org, connector };
    scene.disable().await;
}

#[tokio::test]
async fn a_call_that_waits_for_the_log_outlives_its_instance_with_its_own_report() {
    // So seldom that the log is not read between the run and the first look at it.
    let settings = "decoder: { lease: 5s, poll_idle: 5s }\ngate: { wait_timeout: 25s }\n";
    let Some(scene) = Scene::new(settings).await else { return };
    if binaries().is_none_or(|binaries| binaries.failpoints.is_none()) {
        eprintln!("left out: it needs `CHANCERY_FAILPOINT_BIN`; `cargo xtask test` sets it");
        return;
    }
    scene.enable().await;
    let first = scene.witnessed("kept.note").await;
    assert_eq!(first["witness"]["verdict"], "VERIFIED", "{}", first["witness"]);
    let agent = scene.house.agent("mortal").await;
    for (tool, verdict) in [("kept.note", "VERIFIED"), ("kept.lie", "MISMATCH")] {
        let mut first = scene.house.start(Start::Held("witness.claimed")).await;
        let mark = name();
        let mut body = call(tool, json!({ "mark": mark }));
        body["wait"] = json!(0);
        let begun =
            first.caller(&agent.key).send(Request::post("/v1/actions", &body)).await.is(202);
        let path = format!("/v1/actions/{}", begun["id"].as_str().unwrap());
        let waits = eventually(async || {
            let action = scene.org.get(&path).await.ok();
            (action["state"] == "witnessing").then_some(action)
        })
        .await;
        assert_eq!((&waits["status"], &waits["witness"]), (&json!("processing"), &Value::Null));
        let refused = scene.org.send(Request::post(&format!("{path}/cancel"), &json!({}))).await;
        refused.error(409, "conflict", None);
        first.kill();
        let end = eventually(async || {
            let action = scene.org.get(&path).await.ok();
            (action["state"] == "sealed").then_some(action)
        })
        .await;
        assert_eq!(end["witness"]["verdict"], verdict, "{}", end["witness"]);
        assert_eq!(end["witness"]["level"], "L2");
        assert_eq!(end["execution"]["status"], "succeeded");
        assert!(end["result"].to_string().contains(&mark), "{end}");
        let sql = format!("select count(*) from lab_notes where mark = '{mark}'");
        assert_eq!(scene.house.governed.count(&sql).await, 1, "it ran once");
    }
    assert_eq!(scene.house.control.count("select count(*) from kept_report").await, 0);
    assert_eq!(scene.house.broken_invariants().await, Vec::<String>::new());
    scene.disable().await;
}
