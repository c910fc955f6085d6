//! Every route with every kind of credential: what the rule's name promises.

use model::Scope::{ActionsExecute, ActionsRead};

use super::house::{House, request};
use crate::routes;

/// What a credential meets behind an access rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Met {
    Through,
    Unauthenticated,
    Forbidden,
}

const CREDENTIALS: [&str; 5] = ["none", "wrong", "reading agent", "executing agent", "org"];

fn expected(rule: &str) -> [Met; 5] {
    use Met::{Forbidden as F, Through as T, Unauthenticated as U};
    match rule {
        "PUBLIC" => [T, T, T, T, T],
        "AGENT_EXECUTE" => [U, U, F, T, F],
        "ACTION_READERS" | "STREAM_READERS" => [U, U, T, F, T],
        "CANCELLERS" => [U, U, F, T, T],
        other => panic!("the rule `{other}` has no line here"),
    }
}

#[tokio::test]
async fn every_route_admits_whom_its_rule_names_and_nobody_else() {
    let house = House::new().await;
    let reading = house.key_with(vec![ActionsRead]).await;
    let executing = house.key_with(vec![ActionsExecute]).await;
    let keys = ["", "svc_live_wrong", &reading, &executing, &house.org_key];
    for route in routes::table() {
        let path = route
            .path
            .replace("{id}", "act_01h455vb4pex5vsknk084sn02q")
            .replace("{code}", "not_found");
        for ((credential, key), expected) in
            CREDENTIALS.iter().zip(keys).zip(expected(route.access))
        {
            let response = house.router.answer(request(route.method, &path, key, &[], None)).await;
            let met = match response.status().as_u16() {
                401 => Met::Unauthenticated,
                403 => Met::Forbidden,
                _ => Met::Through,
            };
            assert_eq!(met, expected, "{} with {credential}", route.operation);
            let challenged = response.headers().contains_key("www-authenticate");
            assert_eq!(challenged, met != Met::Through, "{} with {credential}", route.operation);
        }
    }
}
