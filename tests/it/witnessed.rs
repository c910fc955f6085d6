//! A governed database's change log as evidence: followed by the service, and what its verdicts say then.

mod shapes;

use serde_json::{Value, json};

use crate::{
    change_log::{IMPATIENT, Scene, amended, reasons},
    evidence::checked,
    house::{Caller, name},
};

/// What is wrong with a call that needs the log while nobody reads it.
const NOBODY_READS: [&str; 2] = ["decoder_off", "required_level_unmet"];

#[tokio::test]
async fn a_write_is_verified_by_the_log_and_a_lie_is_caught_until_nobody_reads_it_any_more() {
    let Some(scene) = Scene::new("gate: { wait_timeout: 25s }\n").await else { return };
    let before = scene.caller.executed("kept.note", json!({ "mark": name() })).await;
    assert_eq!(before["witness"]["verdict"], "UNVERIFIABLE");
    assert_eq!(reasons(&before), NOBODY_READS);

    scene.enable().await;
    let honest = scene.witnessed("kept.note").await;
    let witness = &honest["witness"];
    assert_eq!(witness["verdict"], "VERIFIED", "{witness}\n{}", scene.service.log());
    assert_eq!((&witness["level"], &witness["method"]), (&json!("L2"), &json!("change_log")));
    assert_eq!(scene.slots().await, 1);

    let lie = scene.caller.executed("kept.lie", json!({ "mark": name() })).await;
    assert_eq!(lie["witness"]["verdict"], "MISMATCH", "{}", lie["witness"]);
    assert_eq!(lie["witness"]["level"], "L2");
    assert!(reasons(&lie).contains(&"extra_rows"), "{}", lie["witness"]);
    let path = format!("/v1/actions/{}?expand[]=witness.detail", lie["id"].as_str().unwrap());
    let detail = scene.caller.read(&path).await["witness"]["detail"].to_string();
    assert!(detail.contains(", unasked"), "the row is not named: {detail}");

    // Rows are not in clear in the control database.
    let sql = "select count(*) from log_frame where record like '%unasked%'
        or position('unasked'::bytea in images) > 0";
    assert_eq!(scene.house.control.count(sql).await, 0);
    assert!(scene.house.control.count("select count(*) from log_frame where is_own").await >= 2);

    scene.disable().await;
    let after = scene.caller.executed("kept.note", json!({ "mark": name() })).await;
    assert_eq!(after["witness"]["verdict"], "UNVERIFIABLE");
    assert_eq!(reasons(&after), NOBODY_READS);
}

/// Holds what is told of an action, whose deed was amended, to the action as it was sealed; returns the
/// evidence.
async fn told_everywhere(caller: &Caller, sealed: &Value, detail: &Value) -> Value {
    for member in ["status", "execution", "witness", "deed", "result_digest"] {
        let as_sealed =
            if member == "execution" { &detail[member]["status"] } else { &detail[member] };
        let before =
            if member == "execution" { &sealed[member]["status"] } else { &sealed[member] };
        assert_eq!(as_sealed, before, "{member} stays");
    }
    let amendment = detail["amendment"]["deed"].as_str().unwrap();
    let deeds = detail["deeds"].as_array().unwrap();
    assert_eq!(
        deeds.iter().map(|deed| &deed["id"]).collect::<Vec<_>>(),
        [&sealed["deed"], &json!(amendment)]
    );
    let amends = &deeds[1]["body"]["amendment"]["amends"];
    assert_eq!((&amends["id"], &amends["digest"]), (&deeds[0]["id"], &deeds[0]["digest"]));
    assert!(!deeds[1]["disclosures"].as_array().unwrap().is_empty());
    let events = detail["events"].as_array().unwrap();
    let last = events.last().unwrap();
    assert_eq!(
        (&last["type"], &last["data"]["object"]["id"]),
        (&json!("deed.amended"), &json!(amendment))
    );

    let shown = caller.get(&format!("/v1/deeds/{}", sealed["deed"].as_str().unwrap())).await;
    assert_eq!(shown.header("service-amended-by"), Some(amendment));
    assert_eq!(caller.read(&format!("/v1/deeds/{amendment}")).await, deeds[1]);
    let kinds = caller.read("/v1/deeds?kind=amendment").await;
    let mut listed = kinds["data"].as_array().unwrap().iter();
    assert!(listed.any(|deed| deed["id"] == amendment), "{kinds}");
    let actions = caller.read("/v1/actions").await;
    let mut listed = actions["data"].as_array().unwrap().iter();
    let listed = listed.find(|action| action["id"] == sealed["id"]).unwrap();
    assert_eq!(listed["amendment"]["deed"], amendment);

    let file = caller.read(&format!("/v1/deeds/{}/bundle", sealed["deed"].as_str().unwrap())).await;
    assert_eq!(file["deeds"].as_array().unwrap().len(), 2);
    file
}

#[tokio::test]
async fn what_the_log_tells_behind_the_seal_amends_the_deed_and_every_verifier_takes_both() {
    let Some(mut scene) = Scene::new(IMPATIENT).await else { return };
    scene.enable().await;
    scene.witnessed("kept.note").await;
    scene.service.kill();
    let agent = scene.house.agent("early").await;
    let mut calls = Vec::new();
    for (tool, verdict) in [("kept.note", "VERIFIED"), ("kept.lie", "MISMATCH")] {
        calls.push((scene.unwitnessed(&agent.key, (tool, &name())).await, verdict));
    }
    let awaited = "select count(*) from kept_report where awaited_since is not null";
    assert_eq!(scene.house.control.count(awaited).await, 2);

    let Scene { house, connector, .. } = scene;
    let service = house.serve().await;
    let (caller, org) = (service.caller(&agent.key), service.caller(&house.org_key().await));
    let keys = org.read("/.well-known/service/keys.json").await;
    let keys = house.write("published.json", &keys.to_string());
    for (sealed, verdict) in calls {
        let detail = amended(&caller, &sealed).await;
        let later = &detail["amendment"]["witness"];
        assert_eq!(
            (&later["verdict"], &later["level"]),
            (&json!(verdict), &json!("L2")),
            "{later}"
        );
        let file = told_everywhere(&caller, &sealed, &detail).await;
        for (code, told) in checked(&house, &keys, &file).await {
            assert_eq!(code, Some(0), "{told}");
        }
        let mut without = file.clone();
        without["deeds"].as_array_mut().unwrap().pop();
        for (code, told) in checked(&house, &keys, &without).await {
            assert_ne!(code, Some(0), "an amendment that is left out is missed: {told}");
        }
    }
    assert_eq!(house.control.count("select count(*) from kept_report").await, 0);
    assert_eq!(house.broken_invariants().await, Vec::<String>::new());
    house.sound_log(&caller).await;
    let scene = Scene { house, service, caller, org, connector };
    scene.disable().await;
}
