//! A tool that knows nothing but the interface description calls the live service with everything
//! that it can think of, well formed and not: no answer may be a fault of the service's, and none
//! may be another than is described.
//!
//! `CHANCERY_SCHEMATHESIS` names the tool; `cargo xtask conformance` installs it and sets that.

mod descriptions;
mod mock;
mod sample;

use std::process::Stdio;

use serde_json::json;
use tokio::process::Command;

use crate::{
    edge::authorized,
    house::{House, Request, call, program},
};

/// A stream has no end to wait for; its answers are held against the description elsewhere.
const WITHOUT_END: &str = "streamEvents";

/// Checks of the tool's that ask for more than the description promises: a schema cannot say how
/// members go together, and a GET with a body is refused before its method is looked at. Both have
/// tests of their own.
const NOT_PROMISED: &str = "positive_data_acceptance,unsupported_method";

/// A form with a link is answered by the page of that link, which says what was wrong with the form.
const SETTINGS: &str = r#"
[[operations]]
include-operation-id = "answerByLink"
checks.negative_data_rejection.expected-statuses = ["303", "4xx"]
"#;

#[tokio::test]
async fn the_service_answers_whatever_is_sent_as_its_description_says() {
    // `cargo xtask conformance` installs and names it.
    let Some(tool) = program("CHANCERY_SCHEMATHESIS") else { return };
    let house = House::new("").await.expect("`cargo xtask conformance` starts PostgreSQL");
    let service = house.serve().await;
    let agent = house.agent("explorer").await;
    let caller = service.caller(&agent.key);
    // Something to find.
    let note = call("lab.note", json!({ "mark": "note" }));
    caller.insist(Request::post("/v1/actions", &note).keyed("note")).await.ok();
    let held = json!({ "order": 10, "amount": 60, "reason": "broken" });
    caller.call("shop.refunds.create", held).await.is(202);
    authorized(&caller).await;
    let org_key = house.org_key().await;
    house.write("schemathesis.toml", SETTINGS);
    for (whose, key) in [("an agent", &agent.key), ("the org", &org_key)] {
        println!("with the key of {whose}");
        let base = format!("http://{}", service.address);
        let mut command = Command::new(&tool);
        command.args(["run", &format!("{base}/api/openapi.yaml"), "--url", &base]);
        command.args(["--header", &format!("Authorization: Bearer {key}")]);
        command.args(["--checks", "all", "--exclude-checks", NOT_PROMISED]);
        command.args(["--max-examples", "20", "--seed", "1", "--no-color"]);
        command.args(["--exclude-operation-id", WITHOUT_END, "--request-timeout", "40"]);
        // A call may be waited for.
        command.args(["--max-response-time", "30"]);
        command.args(["--suppress-health-check", "all", "--continue-on-failure"]);
        command.current_dir(house.folder()).stdin(Stdio::null());
        let status = command.status().await.unwrap();
        assert!(status.success(), "see above what was not as described");
    }
    assert!(!service.log().contains("panicked"), "{}", service.log());
    assert_eq!(house.broken_invariants().await, Vec::<String>::new());
    house.sound_log(&caller).await;
}
