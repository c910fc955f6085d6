//! Text and numbers in addresses, and bodies that say nothing.

use model::Role;
use serde_json::{Value, json};

use super::{
    access::{PEOPLES, filled, missing},
    house::{House, request},
};
use crate::{description::Validator, routes};

const ODD_NUMBERS: [&str; 12] =
    ["%2B5", "+5", "05", "5.", ".5", "1e1", "-0", "5%20", "inf", "0x5", "%D9%A5", ""];

#[tokio::test]
async fn the_nul_character_is_refused_in_every_text_of_every_address() {
    let house = House::new().await;
    let browser = house.browser("ada@example.com", Role::Owner).await.key;
    let mut tried = 0;
    for route in routes::interface() {
        // An agent's key reads what an org's does, but not what admins do, and the other way round.
        let key = match route.access {
            "AGENT_EXECUTE" | "INTENT_CHECKERS" => &house.support.key,
            access if PEOPLES.contains(&access) => &browser,
            _ => &house.org_key,
        };
        for param in route.input.query {
            for text in ["%00", "ab%00", "a%00bc"] {
                let path = format!("{}?{}={text}", filled(route.path, &missing()), param.name());
                let answer = house.send(request(route.method, &path, key, &[], None)).await;
                let expected = ((400, "validation_failed"), Some(param.name()));
                assert_eq!((answer.code(), answer.param()), expected, "{path}");
                tried += 1;
            }
        }
        if route.path.contains('{') {
            let path = route.path.replace("{id}", "x%00").replace("{code}", "not%00found");
            let answer = house.send(request(route.method, &path, key, &[], None)).await;
            assert!(matches!(answer.status, 400 | 404 | 415), "{path}: {}", answer.status);
        }
    }
    assert!(tried > 100, "{tried}");
}

#[tokio::test]
async fn a_number_of_an_address_is_written_in_digits_and_in_no_other_way() {
    let (house, description) = (House::new().await, Validator::embedded().unwrap());
    let browser = house.browser("ada@example.com", Role::Owner).await.key;
    let mut tried = 0;
    for (path, _, operation) in description.operations().filter(|(_, it, _)| *it == "get") {
        let parameters = operation["parameters"].as_array().into_iter().flatten();
        for parameter in parameters.map(|it| description.follow(it)).filter(|it| is_number(it)) {
            let name = parameter["name"].as_str().unwrap();
            // The one number that another one must stand beside.
            let beside = if name == "to" { "&from=1" } else { "" };
            for text in ODD_NUMBERS {
                let path = format!("{}?{name}={text}{beside}", filled(path, &missing()));
                let is_peoples = |own: &&str| path.starts_with(*own);
                let is_peoples = ["/v1/sessions", "/v1/api_keys"].iter().any(is_peoples);
                let key = if is_peoples { &browser } else { &house.org_key };
                let answer = house.get(&path, key).await;
                let expected = ((400, "validation_failed"), Some(name));
                assert_eq!((answer.code(), answer.param()), expected, "{path}");
                tried += 1;
            }
        }
    }
    assert!(tried > 80, "{tried}");
}

fn is_number(parameter: &Value) -> bool {
    let kind = &parameter["schema"]["type"];
    parameter["in"] == "query" && (kind == "integer" || kind == "number")
}

#[tokio::test]
async fn a_body_that_has_nothing_to_say_is_left_out_or_is_an_object_without_members() {
    let house = House::new().await;
    let cancel = format!("/v1/actions/{}/cancel", house.refund(500).await.id());
    for path in [&cancel, "/v1/ledger/chain_checks"] {
        for body in [None, Some(json!({}))] {
            let sent = request("POST", path, &house.org_key, &[], body);
            let status = house.send(sent).await.status;
            // The action is cancelled once, and one check of an org is asked for at a time.
            assert!(matches!(status, 200 | 202 | 409), "{path}: {status}");
        }
        for body in [json!({ "more": 1 }), json!([]), json!(1)] {
            let sent = request("POST", path, &house.org_key, &[], Some(body));
            assert_eq!(house.send(sent).await.code(), (400, "validation_failed"), "{path}");
        }
        let typed = [("content-length", "2"), ("content-type", "text/plain")];
        let sent = request("POST", path, &house.org_key, &typed, None);
        assert_eq!(house.send(sent).await.code(), (415, "media_type_unsupported"), "{path}");
    }
}
