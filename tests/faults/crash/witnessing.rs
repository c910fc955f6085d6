//! The service killed around the evidence of a call: before its report is kept and behind that, before
//! the log is asked and once it has told, and around the seal. Afterwards another service ends the call,
//! which ran once; a report that was kept is never lost.
//!
//! `CHANCERY_CRASH_AT` says how the names of the points begin; all of them without it.

use std::{env, time::Duration};

use serde_json::{Value, json};

use crate::{
    change_log::{IMPATIENT, Scene, amended},
    eventually::eventually,
    house::{Request, Start, call},
    kill::{can_crash, rounds},
    storm::alone,
};

/// What is left of a call whose service died.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Left {
    /// Its report, by which it is verified.
    Report,
    /// What the governed database says of the run.
    Run,
    /// One of these: the log is read beside the call.
    Either,
}

#[rustfmt::skip]
const CELLS: &[(&str, Left)] = &[
    // It ran, and its report is kept nowhere.
    ("gate.answered=kill",        Left::Run),
    ("append.unsent=2*kill",      Left::Run),
    // Its report is kept, and nobody was told.
    ("append.unanswered=2*kill",  Left::Report),
    ("witness.reported=kill",     Left::Report),
    ("witness.claimed=kill",      Left::Report),
    // The evidence is in, and that is not recorded.
    ("witness.observed=kill",     Left::Report),
    ("gate.witnessed=kill",       Left::Report),
    ("append.unsent=3*kill",      Left::Report),
    // It is sealed, and nobody was told.
    ("append.unanswered=3*kill",  Left::Report),
    ("gate.sealed=kill",          Left::Report),
    // Its transaction is read and not kept; is kept, and the database not told; the database is told.
    ("evidence.judged=kill",      Left::Either),
    ("evidence.kept=kill",        Left::Either),
    ("evidence.confirmed=kill",   Left::Either),
];

/// The points of one that takes a report up, all of them behind the death of the one that kept it.
#[rustfmt::skip]
const TAKEN_UP: &[&str] = &[
    "recover.taken=kill",
    "recover.taken_up=kill",
    "witness.claimed=kill",
    "witness.observed=kill",
    "append.unanswered=2*kill",
];

/// The points of one that amends a deed.
#[rustfmt::skip]
const LATE: &[&str] = &[
    "amend.observed=kill",
    "append.unsent=kill",
    "append.unanswered=kill",
    "amend.sealed=kill",
];

#[tokio::test]
async fn crash_around_late_evidence_amends_a_deed_once() {
    if !can_crash().await {
        return;
    }
    let Some(mut scene) = Scene::new(IMPATIENT).await else { return };
    scene.enable().await;
    scene.witnessed("kept.note").await;
    scene.service.kill();
    let agent = scene.house.agent("crasher").await;
    let mut service = None;
    for round in 0..rounds() {
        for point in LATE.iter().filter(|point| is_asked_for(point)) {
            drop(service.take());
            let mark = format!("late, {point} {round}");
            let sealed = scene.unwitnessed(&agent.key, ("kept.note", &mark)).await;
            let mut dies = scene.house.start(Start::Armed(point)).await;
            let ended = dies.ended(Duration::from_mins(1)).await;
            assert!(!ended.success(), "{point}: nothing was armed");
            let lives = service.insert(scene.house.serve().await);
            let detail = amended(&lives.caller(&agent.key), &sealed).await;
            assert_eq!(detail["amendment"]["witness"]["verdict"], "VERIFIED", "{mark}: {detail}");
            assert_eq!(detail["deeds"].as_array().unwrap().len(), 2, "{mark}: {detail}");
            println!("{mark:40} amended once");
        }
    }
    let service = match service {
        Some(service) => service,
        None => scene.house.serve().await,
    };
    assert_eq!(scene.house.control.count("select count(*) from kept_report").await, 0);
    assert_eq!(scene.house.broken_invariants().await, Vec::<String>::new());
    scene.house.sound_log(&service.caller(&agent.key)).await;
}

/// How a call's services die: the one that runs it, and the one that takes it up from there.
#[derive(Debug, Clone, Copy)]
struct Deaths {
    first: &'static str,
    second: Option<&'static str>,
    left: Left,
}

fn deaths() -> impl Iterator<Item = Deaths> {
    let cells = CELLS.iter().map(|&(first, left)| Deaths { first, second: None, left });
    let taken_up = TAKEN_UP.iter().map(|&second| Deaths {
        first: "witness.reported=kill",
        second: Some(second),
        left: Left::Report,
    });
    cells.chain(taken_up).filter(|deaths| is_asked_for(deaths.second.unwrap_or(deaths.first)))
}

#[tokio::test]
async fn crash_around_the_evidence_of_a_call_loses_no_report_and_runs_nothing_twice() {
    if !can_crash().await {
        return;
    }
    let _alone = alone().await;
    // Most of a call's way is waiting for the leases of the dead, so three orgs go it at a time.
    let part = |lane| die_and_end(deaths().skip(lane).step_by(3).collect());
    tokio::join!(part(0), part(1), part(2));
}

/// Each death over a call of its own, whose end is looked at, all in one org.
async fn die_and_end(deaths: Vec<Deaths>) {
    if deaths.is_empty() {
        return;
    }
    let settings = "decoder: { lease: 5s }\nwitness: { readback_timeout: 30s }\n\
        gate: { wait_timeout: 25s }\n";
    let Some(mut scene) = Scene::new(settings).await else { return };
    scene.enable().await;
    assert_eq!(scene.witnessed("kept.note").await["witness"]["verdict"], "VERIFIED");
    scene.service.kill();
    let agent = scene.house.agent("crasher").await;
    let (before, mut calls) = (frames(&scene).await, 0);
    for round in 0..rounds() {
        for Deaths { first, second, left } in &deaths {
            let mark = format!("{first} {} {round}", second.unwrap_or("alone"));
            dies(&scene, &agent.key, (&mark, first)).await;
            if let Some(point) = second {
                let mut second = scene.house.start(Start::Armed(point)).await;
                let ended = second.ended(Duration::from_mins(1)).await;
                assert!(!ended.success(), "{point}: nothing was armed");
            }
            ends(&scene, &agent.key, (&mark, *left)).await;
            calls += 1;
        }
    }
    let service = scene.house.serve().await;
    // Each call's transaction is kept; none is kept twice, which its place in the log forbids.
    eventually(async || (frames(&scene).await == before + calls).then_some(())).await;
    assert_eq!(scene.house.broken_invariants().await, Vec::<String>::new());
    scene.house.sound_log(&service.caller(&agent.key)).await;
}

fn is_asked_for(point: &str) -> bool {
    env::var("CHANCERY_CRASH_AT").is_ok_and(|beginning| point.starts_with(&beginning))
        || env::var_os("CHANCERY_CRASH_AT").is_none()
}

/// How many transactions were taken for calls.
async fn frames(scene: &Scene) -> i64 {
    scene.house.control.count("select count(*) from log_frame where is_own").await
}

fn note(mark: &str) -> Request {
    let mut body = call("kept.note", json!({ "mark": mark }));
    body["wait"] = json!(25);
    Request::post("/v1/actions", &body).keyed(mark)
}

/// Sends the call to a service that dies over it at this point.
async fn dies(scene: &Scene, key: &str, (mark, point): (&str, &str)) {
    let mut service = scene.house.start(Start::Armed(point)).await;
    let _ = service.caller(key).try_send(note(mark)).await;
    let ended = service.ended(Duration::from_mins(1)).await;
    assert!(!ended.success(), "{point}: nothing was armed");
}

/// Sends the call again to a service that lives, and holds how it ended against what was left of it.
async fn ends(scene: &Scene, key: &str, (mark, left): (&str, Left)) {
    let mut service = scene.house.serve().await;
    let caller = service.caller(key);
    // A busy machine may take longer than a call is waited for.
    let action = eventually(async || {
        let answer = caller.send(note(mark)).await;
        matches!(answer.status.as_u16(), 200 | 202).then(|| answer.json())
    })
    .await;
    let sealed = eventually(async || {
        let detail = caller.detail(&action).await;
        (detail["state"] == "sealed").then_some(detail)
    })
    .await;
    let (witness, result) = (&sealed["witness"], &sealed["result"]);
    assert_eq!(sealed["execution"]["status"], "succeeded", "{mark}: {sealed}");
    let has_report = match left {
        Left::Report => true,
        Left::Run => false,
        Left::Either => *result != Value::Null,
    };
    if has_report {
        assert_eq!(witness["verdict"], "VERIFIED", "{mark}: {sealed}");
        assert!(result.to_string().contains(mark), "{mark}: not its own result: {result}");
    } else {
        assert_eq!(witness["verdict"], "UNVERIFIABLE", "{mark}: {sealed}");
        assert_eq!(*result, Value::Null, "{mark}: {sealed}");
    }
    let sql = format!("select count(*) from lab_notes where mark = '{mark}'");
    assert_eq!(scene.house.governed.count(&sql).await, 1, "{mark}: it ran once");
    service.kill();
    println!("{mark:40} {left:?}: {}", witness["verdict"]);
}
