//! What people are asked by mail at a service that runs: one link each, in the outbox and nowhere else,
//! good for one answer, whatever the service died over.

use std::{collections::BTreeMap, fs, time::Duration};

use serde_json::{Value, json};

use crate::{
    house::{Browser, House, POLICY, Request, Service, Start, binaries, call},
    untold::assert_untold,
};

const SETTINGS: &str = "server: { log_level: trace }\n";
const ARGUMENT: &str = "C4NARY of an argument";

/// A house that asks people about each call, with two owners who may answer.
async fn asking(settings: &str) -> Option<House> {
    let house = House::new(settings).await?;
    let asking = POLICY.replace(
        "match: lab.*\n    outcome: allow",
        "match: lab.*\n    outcome: require_approval\n    reason: A person looks at each.",
    );
    assert_ne!(asking, POLICY);
    house.activate("asking", &asking).await;
    let service = house.serve().await;
    for email in ["ada@example.com", "bob@example.com"] {
        Browser::owner(&house, &service, email).await;
    }
    Some(house)
}

/// The letters with a link to a question: to whom each is, and its text.
pub(crate) fn letters(house: &House) -> Vec<(String, String)> {
    let files = fs::read_dir(house.folder().join("outbox")).into_iter().flatten().flatten();
    let letters = files.filter_map(|file| fs::read_to_string(file.path()).ok());
    let to = |text: &str| text.lines().find_map(|it| it.strip_prefix("To: ").map(str::to_owned));
    let asks = letters.filter(|text| text.contains("/approve?t="));
    asks.map(|text| (to(&text).unwrap(), text)).collect()
}

/// What stands behind `t=` in the letter of each, once there are so many.
async fn links(house: &House, count: usize) -> BTreeMap<String, String> {
    let token = |text: &str| {
        let line = text.lines().find(|line| line.starts_with("http") && line.contains("/approve?"));
        line.unwrap().split_once("?t=").unwrap().1.trim().to_owned()
    };
    for _ in 0..600 {
        let found = letters(house);
        if found.len() >= count {
            return found.into_iter().map(|(to, text)| (to, token(&text))).collect();
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("{} letters came, not {count}", letters(house).len());
}

fn shown(body: &Value) -> Request {
    Request::post("/v1/approvals/link", body)
}

async fn read(service: &Service, token: &str) -> Value {
    service.anonymous().send(shown(&json!({ "token": token }))).await.ok()
}

#[tokio::test]
async fn two_browsers_that_show_one_link_at_once_give_one_answer_and_nothing_tells_the_link() {
    let Some(house) = asking(SETTINGS).await else { return };
    let service = house.serve().await;
    let agent = house.agent("asks").await;
    let caller = service.caller(&agent.key);
    let mut body = call("lab.note", json!({ "mark": ARGUMENT }));
    body["wait"] = json!(0);
    let held = caller.send(Request::post("/v1/actions", &body)).await.is(202);
    assert_eq!(held["status"], "pending_approval");
    let links = links(&house, 2).await;
    let to: Vec<_> = links.keys().map(String::as_str).collect();
    assert_eq!(to, ["ada@example.com", "bob@example.com"]);
    for (_, letter) in letters(&house) {
        assert!(letter.contains("asks") && letter.contains("lab.note"), "{letter}");
        assert!(!letter.contains("C4NARY"), "{letter}");
    }
    let token = &links["ada@example.com"];
    let open = read(&service, token).await;
    assert_eq!(open["question"]["context"]["args_shown"]["args.mark"], ARGUMENT);
    let digest = &open["question"]["context_digest"];
    let answer = json!({ "token": token, "decision": "approve", "context_digest": digest });
    let (one, other) = (service.anonymous(), service.anonymous());
    let (one, other) = tokio::join!(one.send(shown(&answer)), other.send(shown(&answer)));
    let mut statuses = [one.status.as_u16(), other.status.as_u16()];
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 410], "{one:?} {other:?}");
    let path = format!("/v1/actions/{}?wait=25", held["id"].as_str().unwrap());
    let mut ended = caller.get(&path).await.ok();
    while ended["state"] != "sealed" {
        ended = caller.get(&path).await.ok();
    }
    assert_eq!(ended["status"], "executed");
    let followed = read(&service, token).await;
    assert_eq!([&followed["status"], &followed["question"]], [&json!("used"), &Value::Null]);
    assert_eq!(followed["action"]["status"], "executed");
    let settled = read(&service, &links["bob@example.com"]).await;
    assert_eq!([&settled["status"], &settled["question"]], [&json!("settled"), &Value::Null]);
    // What is told of it names the member and the way, and neither link nor address.
    let org = service.caller(&house.org_key().await);
    let deed = ended["deed"].as_str().unwrap();
    let deed = org.get(&format!("/v1/deeds/{deed}")).await.ok().to_string();
    assert!(deed.contains("email_link"), "{deed}");
    let detail = caller.detail(&ended).await.to_string();
    let log = service.log();
    assert!(log.contains("TRACE") || log.contains("DEBUG"), "the log is not talkative");
    let secrets = links.iter().flat_map(|(to, link)| {
        let secret = link.rsplit('.').next().unwrap().to_owned();
        [("a link".to_owned(), secret), ("an address".to_owned(), to.clone())]
    });
    let secrets: Vec<_> = secrets.collect();
    assert!(detail.contains("approval.requested"), "{detail}");
    for (place, text) in [("the deed", &deed), ("the events", &detail), ("the log", &log)] {
        assert_untold(place, text, &secrets);
    }
}

#[tokio::test]
async fn mails_come_of_what_was_recorded_and_of_nothing_else_whenever_the_service_dies() {
    if binaries().is_none_or(|binaries| binaries.failpoints.is_none()) {
        return;
    }
    let Some(house) = asking("").await else { return };
    let agent = house.agent("asks").await;
    let mut body = call("lab.note", json!({ "mark": "one" }));
    body["wait"] = json!(0);
    // Not recorded, recorded and not told: the same call is sent again each time.
    for point in ["append.unsent=kill", "append.unanswered=kill"] {
        let mut service = house.start(Start::Armed(point)).await;
        let sent = Request::post("/v1/actions", &body).keyed("one");
        assert!(service.caller(&agent.key).try_send(sent).await.is_err(), "{point}");
        assert!(!service.ended(Duration::from_secs(20)).await.success(), "{point}");
    }
    let service = house.serve().await;
    let sent = Request::post("/v1/actions", &body).keyed("one");
    let held = service.caller(&agent.key).send(sent).await.is(202);
    assert_eq!(held["status"], "pending_approval");
    let links = links(&house, 2).await;
    // None comes behind them: all that waits has gone.
    let waits = "select count(*) from approval_mail";
    for _ in 0..200 {
        if house.control.count(waits).await == 0 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(house.control.count(waits).await, 0);
    assert_eq!((links.len(), letters(&house).len()), (2, 2));
    let open = read(&service, &links["bob@example.com"]).await;
    assert_eq!(open["action"]["id"], held["id"]);
}
