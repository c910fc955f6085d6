//! `chancery listen`: events printed as they come, and posted to a receiver that is being written.

use std::{fs, process::Stdio};

use serde_json::json;
use tokio::process::{Child, Command};

use crate::{
    eventually::until,
    house::{House, Service, Start, binaries, name},
    receiver::{Manner, Receiver},
};

/// Listens from this folder, and writes what it says to files there.
fn listen(house: &House, environment: &[(&str, &str)], words: &[&str]) -> Child {
    let file = |name: &str| fs::File::create(house.folder().join(name)).unwrap();
    let mut command = Command::new(binaries().unwrap().plain);
    command.arg("listen").args(words).current_dir(house.folder()).kill_on_drop(true);
    command.env_clear().envs(environment.iter().copied()).stdin(Stdio::null());
    command.stdout(file("listen.out")).stderr(file("listen.err")).spawn().unwrap()
}

fn said(house: &House) -> (String, String) {
    let read = |name: &str| fs::read_to_string(house.folder().join(name)).unwrap();
    (read("listen.out"), read("listen.err"))
}

#[tokio::test(flavor = "multi_thread")]
async fn events_are_printed_and_posted_signed_and_a_cut_stream_is_opened_again() {
    let Some(house) = House::new("").await else { return };
    let agent = house.agent(&name()).await;
    let key = house.org_key().await;
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let fixed = house.verbs.with("SERVICE_LISTEN", &free.to_string());
    let mut service = Service::start(&fixed, Start::Plain).await;
    let receiver = Receiver::start(Manner::Takes).await;
    let url = receiver.url();
    let base = format!("http://{free}");
    let environment = [("SERVICE_API_KEY", &*key), ("SERVICE_BASE_URL", &*base)];
    let words = ["--forward", &*url, "--types", "action.witnessed,deed.sealed"];
    let mut listening = listen(&house, &environment, &words);
    until("it listens", async || said(&house).1.contains("listening")).await;
    let executed = service.caller(&agent.key).executed("lab.note", json!({ "mark": "one" })).await;
    until("both arrive", async || receiver.seen().len() == 2).await;
    let (out, _) = said(&house);
    let secret = out.split_whitespace().find(|word| word.starts_with("whsec_")).unwrap();
    for seen in receiver.seen() {
        assert!(seen.is_signed(secret), "{seen:?}");
    }
    let kinds: Vec<_> =
        receiver.seen().iter().map(|seen| seen.header("service-event-type").to_owned()).collect();
    assert_eq!(kinds, ["action.witnessed", "deed.sealed"]);
    until("what became of both is printed", async || {
        said(&house).0.matches("    accepted: 204").count() == 2
    })
    .await;
    let printed = "  action.witnessed  evt_";
    let (out, _) = said(&house);
    let line = out.lines().find(|line| line.contains(printed)).unwrap();
    assert!(line.ends_with(executed["id"].as_str().unwrap()), "{out}");
    // Another instance at the same address knows nothing of the place in the old one's stream.
    service.kill();
    let service = Service::start(&fixed, Start::Plain).await;
    until("it says that it may have missed something", async || {
        said(&house).1.contains("events may have been missed: cursor_expired")
    })
    .await;
    receiver.now(Manner::Answers(500));
    service.caller(&agent.key).executed("lab.note", json!({ "mark": "two" })).await;
    until("it says what was not taken", async || {
        said(&house).0.matches("    not accepted: 500").count() == 2
    })
    .await;
    assert!(listening.try_wait().unwrap().is_none());
    let (out, err) = said(&house);
    assert!(!out.contains(&key) && !err.contains(&key));
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_sent_to_another_machine_unasked_and_a_refusal_ends_it() {
    let Some(house) = House::new("").await else { return };
    let service = house.serve().await;
    let base = format!("http://{}", service.address);
    let wrong = "svc_live_C4NARYofAKeyThatIsNone";
    let with_key = [("SERVICE_API_KEY", wrong), ("SERVICE_BASE_URL", &*base)];
    let elsewhere = ["--forward", "http://10.0.0.1/hook"];
    let plain = ["--service", "http://10.0.0.1"];
    for (environment, words, expected) in [
        (&with_key[..], &elsewhere[..], "`http://10.0.0.1/hook` is not an address of this machine"),
        (&with_key[..], &plain[..], "is not an address of this machine"),
        (&with_key[..1], &[], "expected `--service`"),
        (&with_key[1..], &[], "as `SERVICE_API_KEY`"),
        (&with_key[..], &["--types", "nothing.*"], "the service returned 4"),
        (&with_key[..], &[], "the service returned 401 Unauthorized: "),
    ] {
        let status = listen(&house, environment, words).wait().await.unwrap();
        let (out, err) = said(&house);
        assert_eq!(status.code(), Some(2), "{words:?}: {out}{err}");
        assert!(err.contains(expected) && !err.contains(wrong), "{words:?}: {err}");
    }
}
