//! People at a service that runs: they sign in by the mail that its outbox holds, and join.

use std::time::Duration;

use serde_json::Value;

use crate::house::{Browser, Caller, House, Start, binaries, invited};

async fn members(caller: &Caller) -> Vec<Value> {
    caller.get("/v1/members?limit=100").await.ok()["data"].as_array().unwrap().clone()
}

/// Where the service dies while somebody accepts.
const POINTS: [&str; 3] = ["turn.signed=kill", "append.unsent=kill", "append.unanswered=kill"];

#[tokio::test]
async fn one_member_or_none_comes_of_an_invitation_whenever_the_service_dies() {
    if binaries().is_none_or(|binaries| binaries.failpoints.is_none()) {
        return;
    }
    let Some(house) = House::new("").await else { return };
    let org_key = house.org_key().await;
    let people = async |number: usize, point: &'static str| {
        let email = format!("p{number}@example.com");
        let (origin, token) = invited(&house, &email).await;
        let browser = {
            let service = house.serve().await;
            Browser::sign_in(&house, &service, (&email, &origin)).await
        };
        let mut service = house.start(Start::Armed(point)).await;
        let accept = || browser.acceptance(&token);
        assert!(service.anonymous().try_send(accept()).await.is_err(), "{point}");
        assert!(!service.ended(Duration::from_secs(20)).await.success(), "{point}");
        let service = house.serve().await;
        let before = members(&service.caller(&org_key)).await;
        let mine = |all: &[Value]| all.iter().filter(|it| it["user"]["email"] == *email).count();
        let was_kept = point.starts_with("append.unanswered");
        assert_eq!(mine(&before), usize::from(was_kept), "{point}");
        let joined = service.anonymous().send(accept()).await.ok();
        assert_eq!(joined["deed"].is_null(), was_kept, "{point}: {joined}");
        let after = members(&service.caller(&org_key)).await;
        assert_eq!(mine(&after), 1, "{point}");
    };
    for (number, point) in POINTS.into_iter().enumerate() {
        people(number, point).await;
    }
    let found = house.verbs.run(&["check"]).await;
    assert!(found.contains("members"), "{found}");
}
