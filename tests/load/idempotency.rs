//! One key names one action, also when many send it at once to two instances.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::house::{Caller, House, Request, call};

fn note(mark: &str) -> Request {
    Request::post("/v1/actions", &call("lab.note", json!({ "mark": mark })))
}

#[tokio::test]
async fn of_64_clients_on_two_instances_with_one_key_one_acts() {
    let Some(house) = House::new("").await else { return };
    let (one, other) = tokio::join!(house.serve(), house.serve());
    let agent = house.agent("racer").await;
    for round in 0..5 {
        let mark = format!("race {round}");
        let callers = [one.caller(&agent.key), other.caller(&agent.key)];
        let sent = (0..64).map(|number: usize| {
            let (caller, mark) = (callers[number % 2].clone(), mark.clone());
            tokio::spawn(async move { settled(&caller, &mark).await })
        });
        let mut ids = BTreeSet::new();
        for sent in sent.collect::<Vec<_>>() {
            ids.insert(sent.await.unwrap());
        }
        assert_eq!(ids.len(), 1, "{ids:?}");
        assert_eq!(house.notes(&mark).await, 1);
    }
    house.sound_log(&one.anonymous()).await;
}

/// Sends the call and returns the id of the action that answers it.
async fn settled(caller: &Caller, mark: &str) -> String {
    let answer = caller.send(note(mark).keyed(mark)).await;
    let Value::String(id) = answer.ok()["id"].clone() else { panic!("{answer:?}") };
    id
}
