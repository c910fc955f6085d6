//! A service that is killed at each named point, one at a time, and the check that reads what is left.

use crate::{
    house::House,
    kill::{CELLS, Evidence, Scene, can_crash, die, recover},
};

#[tokio::test]
async fn a_service_that_is_killed_once_at_each_named_point_loses_nothing_and_repeats_nothing() {
    if !can_crash().await {
        return;
    }
    for scene in Scene::ALL {
        let house = House::new(scene.settings()).await.unwrap();
        let agent = house.agent("crasher").await;
        let mut evidence = Evidence::default();
        for cell in CELLS.iter().filter(|cell| cell.scene == scene) {
            die(cell, &house, &agent, &mut evidence, cell.point).await;
            // Nobody waits here until the lease of a dead instance runs out.
            house
                .control
                .run("update action set lease_until = now() where lease_until > now()")
                .await;
            recover(cell, &house, &agent, &mut evidence, cell.point).await;
        }
        let service = house.serve().await;
        let found = evidence.violations(&house, &service.caller(&agent.key)).await;
        assert!(found.is_empty(), "{scene:?}: {found:#?}");
    }
}

#[tokio::test]
async fn the_check_of_a_crash_finds_what_does_not_agree() {
    let Some(house) = House::new("").await else { return };
    let agent = house.agent("honest").await;
    let service = house.serve().await;
    let caller = service.caller(&agent.key);
    let mut evidence = Evidence::default();
    for mark in ["kept", "twice", "gone"] {
        Scene::Write.play(&caller, mark, &mut evidence).await;
    }
    assert_eq!(evidence.violations(&house, &caller).await, Vec::<String>::new());
    let tampered = "insert into lab_notes (mark) values ('twice'), ('unheard of');
                    delete from lab_notes where mark = 'gone';
                    update service.ledger set action_id = 'act_00000000000000000000000000'
                    where action_id = (select min(action_id) from service.ledger)";
    house.governed.run(tampered).await;
    house.control.run("update policy_active set digest = sha256('another')").await;
    evidence.note("kept", Some(serde_json::json!({ "id": "act_other", "deed": "deed_other" })));
    let found = evidence.violations(&house, &caller).await.join("\n");
    for violation in [
        "`twice` ran 2 times",
        "`unheard of` ran without a record",
        "the record breaks \"policy\"",
        "`gone` is (\"executed\", Some(\"succeeded\")) and left 0 rows",
        "`act` of 00000000-0000-0000-0000-000000000000 has no record",
        "`kept` was answered with several actions",
        "`kept`: the acknowledged deed_other is lost",
    ] {
        assert!(found.contains(violation), "not found: {violation}\n{found}");
    }
}
