//! The service killed around what people are asked: while a call begins to wait, around its mail, while
//! its answer is recorded or its time runs out, and between the yes and the end of the run. Afterwards
//! one answer holds, the call ran once or never, and whoever asks again is told the same.

use std::time::Duration;

use serde_json::{Value, json};

use crate::{
    asked::letters,
    house::{Answer, Browser, Caller, House, POLICY, Request, Start, call},
    kill::{Evidence, can_crash, rounds},
};

/// What ends the wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Word {
    Yes,
    No,
    /// The agent takes its call back.
    Cancel,
}

/// A point at which the service dies, what ends the wait, and how the action must end: its status,
/// and the code of its end where it has one.
type Cell = (&'static str, Word, (&'static str, Option<&'static str>));

const RAN: (&str, Option<&str>) = ("executed", None);
const LOST: (&str, Option<&str>) = ("failed", Some("instance_lost"));
const REFUSED: (&str, Option<&str>) = ("denied", None);
const TAKEN_BACK: (&str, Option<&str>) = ("cancelled", None);

#[rustfmt::skip]
const CELLS: &[Cell] = &[
    // The call begins to wait, and its agent is not told.
    ("append.unsent=kill",          Word::Yes,    RAN),
    ("append.unanswered=kill",      Word::Yes,    RAN),
    // The yes is not recorded: it is given again.
    ("turn.signed=2*kill",          Word::Yes,    RAN),
    ("append.unsent=2*kill",        Word::Yes,    RAN),
    // Yes and release are recorded as one, and nothing ran.
    ("append.unanswered=2*kill",    Word::Yes,    LOST),
    ("gate.permitted=kill",         Word::Yes,    LOST),
    // It ran, and that was not recorded, or nobody was told.
    ("connector.committed=kill",    Word::Yes,    RAN),
    ("gate.sealed=kill",            Word::Yes,    RAN),
    // The no, and the agent's own end, before and behind the record.
    ("append.unsent=2*kill",        Word::No,     REFUSED),
    ("append.unanswered=2*kill",    Word::No,     REFUSED),
    ("append.unsent=2*kill",        Word::Cancel, TAKEN_BACK),
    ("append.unanswered=2*kill",    Word::Cancel, TAKEN_BACK),
];

#[tokio::test]
async fn crash_around_a_persons_answer_keeps_one_answer_and_one_run() {
    if !can_crash().await {
        return;
    }
    let rounds = rounds();
    let played: Vec<_> = CELLS.iter().map(|cell| tokio::spawn(play(*cell, rounds))).collect();
    for cell in played {
        cell.await.unwrap();
    }
}

/// A house that asks a person about each call.
async fn asking() -> House {
    let house = House::new("").await.unwrap();
    let asking = POLICY.replace(
        "match: lab.*\n    outcome: allow",
        "match: lab.*\n    outcome: require_approval\n    reason: A person looks at each.",
    );
    assert_ne!(asking, POLICY);
    house.activate("asking", &asking).await;
    house
}

async fn play((point, word, end): Cell, rounds: u32) {
    let house = asking().await;
    let agent = house.agent("crasher").await;
    let browser = Browser::owner(&house, &house.serve().await, "ada@example.com").await;
    let mut evidence = Evidence::default();
    for round in 0..rounds {
        let mark = format!("{point} {word:?} {round}");
        let mut service = house.start(Start::Armed(point)).await;
        let people = service.anonymous();
        let scene = Scene { mark: &mark, word, browser: &browser };
        let _ = scene.play(&service.caller(&agent.key), &people, &mut evidence).await;
        let ended = service.ended(Duration::from_secs(20)).await;
        assert!(!ended.success(), "{point}: nothing was armed");
        let service = house.serve().await;
        let (caller, people) = (service.caller(&agent.key), service.anonymous());
        let action = scene.play(&caller, &people, &mut evidence).await.expect("nothing is armed");
        let seen = scene.end(&caller, action, &mut evidence).await;
        let code = seen["execution"]["error_code"].as_str();
        assert_eq!((seen["status"].as_str().unwrap(), code), end, "{point} {word:?}: {seen}");
        if word == Word::Yes {
            assert_eq!(seen["approval"]["status"], "approved", "{point}: {seen}");
        }
    }
    let service = house.serve().await;
    let found = evidence.violations(&house, &service.caller(&agent.key)).await;
    println!("{point:32} {word:?} {rounds} x {end:?}: {} violations", found.len());
    assert!(found.is_empty(), "{point} {word:?}: {found:#?}");
}

/// One call that waits, and who ends its wait.
#[derive(Clone, Copy)]
struct Scene<'a> {
    mark: &'a str,
    word: Word,
    browser: &'a Browser,
}

impl Scene<'_> {
    /// Sends the call and ends its wait, as far as the service lives; the action when nothing more is
    /// to be done about it but to wait.
    async fn play(
        self,
        caller: &Caller,
        people: &Caller,
        evidence: &mut Evidence,
    ) -> Option<Value> {
        let mut body = call("lab.note", json!({ "mark": self.mark }));
        body["wait"] = json!(0);
        let sent = caller.try_send(Request::post("/v1/actions", &body).keyed(self.mark)).await;
        let Ok(answer) = sent else {
            evidence.note(self.mark, None);
            return None;
        };
        let action = told(&answer);
        evidence.note(self.mark, Some(action.clone()));
        if action["status"] != "pending_approval" {
            return Some(action);
        }
        let path = match self.word {
            Word::Cancel => format!("/v1/actions/{}/cancel", text(&action["id"])),
            Word::Yes | Word::No => format!("/v1/approvals/{}", text(&action["approval"]["id"])),
        };
        let answered = match self.word {
            Word::Cancel => caller.try_send(Request::post(&path, &json!({}))).await,
            Word::Yes | Word::No => {
                let shown = people.try_send(self.browser.page(Request::get(&path))).await.ok()?;
                let body = json!({ "context_digest": shown.ok()["context_digest"] });
                let verb = if self.word == Word::Yes { "approve" } else { "deny" };
                let answer = Request::post(&format!("{path}/{verb}"), &body);
                people.try_send(self.browser.page(answer)).await
            }
        };
        answered.ok().map(|answer| {
            answer.ok();
            action
        })
    }

    /// Waits until the action is sealed.
    async fn end(self, caller: &Caller, mut action: Value, evidence: &mut Evidence) -> Value {
        while action["state"] != "sealed" {
            let path = format!("/v1/actions/{}?wait=25", text(&action["id"]));
            action = caller.get(&path).await.ok();
            evidence.note(self.mark, Some(action.clone()));
        }
        caller.detail(&action).await
    }
}

/// The action in an answer, which stands in the error where the action was refused.
fn told(answer: &Answer) -> Value {
    let body = answer.json();
    let refused = &body["error"]["action"];
    let action = if refused.is_object() { refused.clone() } else { body };
    assert!(action["id"].is_string(), "{answer:?}");
    action
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}

/// The points around the end of what nobody answered: found, decided, and recorded or not, half way
/// through several that end together.
const LAPSES: &[&str] = &[
    "gate.approval_overdue=kill",
    "gate.approval_overdue=2*kill",
    "turn.signed=kill",
    "append.unsent=kill",
    "append.unanswered=kill",
];

/// How many end together.
const TOGETHER: usize = 3;

#[tokio::test]
async fn crash_over_what_nobody_answers_ends_each_once_and_runs_none() {
    if !can_crash().await {
        return;
    }
    let rounds = rounds();
    let played: Vec<_> = LAPSES.iter().map(|point| tokio::spawn(lapse(point, rounds))).collect();
    for cell in played {
        cell.await.unwrap();
    }
}

async fn lapse(point: &'static str, rounds: u32) {
    let house = asking().await;
    let agent = house.agent("crasher").await;
    let mut evidence = Evidence::default();
    for round in 0..rounds {
        let mut service = house.serve().await;
        let caller = service.caller(&agent.key);
        let mut held = Vec::new();
        for number in 0..TOGETHER {
            let mark = format!("{point} {round} {number}");
            let mut body = call("lab.note", json!({ "mark": mark }));
            body["wait"] = json!(0);
            let sent = Request::post("/v1/actions", &body).keyed(&mark);
            let action = caller.send(sent).await.is(202);
            evidence.note(&mark, Some(action.clone()));
            held.push((mark, action));
        }
        service.kill();
        bring_the_end_near(&house).await;
        let mut service = house.start(Start::Armed(point)).await;
        let ended = service.ended(Duration::from_secs(30)).await;
        assert!(!ended.success(), "{point}: nothing was armed");
        let service = house.serve().await;
        let caller = service.caller(&agent.key);
        for (mark, mut action) in held {
            while action["state"] != "sealed" {
                let path = format!("/v1/actions/{}?wait=25", text(&action["id"]));
                action = told(&caller.send(Request::get(&path)).await);
                evidence.note(&mark, Some(action.clone()));
            }
            let seen = caller.detail(&action).await;
            assert_eq!([&seen["status"], &seen["approval"]["status"]], ["denied", "expired"]);
            assert_eq!((&seen["execution"], house.notes(&mark).await), (&Value::Null, 0), "{mark}");
            let events = seen["events"].as_array().unwrap().iter();
            let expired = events.filter(|event| event["type"] == "approval.expired").count();
            let deeds = seen["deeds"].as_array().unwrap().len();
            assert_eq!((expired, deeds), (1, 1), "{mark}: {seen}");
        }
    }
    let service = house.serve().await;
    let found = evidence.violations(&house, &service.caller(&agent.key)).await;
    println!("{point:32} lapse {rounds} x {TOGETHER} expired: {} violations", found.len());
    assert!(found.is_empty(), "{point}: {found:#?}");
}

/// The points around a mail to those who are asked: before it goes, and before that is noted.
const LETTERS: &[&str] = &["mail.unsent=kill", "mail.sent=kill"];

#[tokio::test]
async fn crash_around_a_mail_sends_each_and_decides_nothing() {
    if !can_crash().await {
        return;
    }
    let rounds = rounds();
    let played: Vec<_> = LETTERS.iter().map(|point| tokio::spawn(letter(point, rounds))).collect();
    for cell in played {
        cell.await.unwrap();
    }
}

async fn letter(point: &'static str, rounds: u32) {
    let house = asking().await;
    let agent = house.agent("crasher").await;
    let browser = Browser::owner(&house, &house.serve().await, "ada@example.com").await;
    let mut evidence = Evidence::default();
    for round in 0..rounds {
        let mark = format!("{point} {round}");
        let mut service = house.start(Start::Armed(point)).await;
        let mut body = call("lab.note", json!({ "mark": mark }));
        body["wait"] = json!(0);
        let sent = Request::post("/v1/actions", &body).keyed(&mark);
        let held = service.caller(&agent.key).send(sent).await.is(202);
        evidence.note(&mark, Some(held));
        let ended = service.ended(Duration::from_secs(20)).await;
        assert!(!ended.success(), "{point}: nothing was armed");
        // Nobody waits here for the lease of whoever is gone to run out.
        house.control.run("update approval_mail set lease_until = now()").await;
        let service = house.serve().await;
        let waits = "select count(*) from approval_mail";
        for _ in 0..400 {
            if house.control.count(waits).await == 0 {
                break;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        assert_eq!(house.control.count(waits).await, 0, "{point}: a mail is left");
        assert_eq!(letters(&house).len() as u64, u64::from(round) + 1, "{point}");
        let (caller, people) = (service.caller(&agent.key), service.anonymous());
        let scene = Scene { mark: &mark, word: Word::Yes, browser: &browser };
        let action = scene.play(&caller, &people, &mut evidence).await.expect("nothing is armed");
        let seen = scene.end(&caller, action, &mut evidence).await;
        assert_eq!(seen["status"], "executed", "{point}: {seen}");
    }
    let service = house.serve().await;
    let found = evidence.violations(&house, &service.caller(&agent.key)).await;
    println!("{point:32} letter {rounds} x sent and decided: {} violations", found.len());
    assert!(found.is_empty(), "{point}: {found:#?}");
}

/// Lets whatever waits expire in a few seconds; nobody may remember by then when it was to.
async fn bring_the_end_near(house: &House) {
    let sql = "
        update action set approval_expires_at = near.at, record = regexp_replace(
            record::text, '(\"approval\":.*?\"expires_at\":)\"[^\"]*\"',
            '\\1\"' || to_char(near.at at time zone 'utc', 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"') || '\"')
        from (select date_trunc('milliseconds', now() + interval '4 seconds') as at) as near
        where state = 'pending_approval'";
    house.control.run(sql).await;
}
