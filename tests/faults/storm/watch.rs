//! Somebody outside who reads the log of a house while it is struck, keeps what was shown, and holds
//! the log against it afterwards.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Value, json};
use tokio::task::{JoinHandle, JoinSet};

use super::load::Line;
use crate::house::{Caller, Deed, House, Request, Service, Stream, lines, name};

/// Between two looks.
const BREATH: Duration = Duration::from_millis(700);
/// A stream that is silent for so long may be one of a service that is gone.
const SILENCE: Duration = Duration::from_secs(3);
/// How many proofs are asked for and checked at a time.
const AT_ONCE: usize = 4;
/// How long the service may take to check its own log.
const CHECKED_WITHIN: Duration = Duration::from_mins(2);

/// How much was shown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Seen {
    /// Deeds that event streams and lists told of.
    pub(crate) told: usize,
    /// Deeds that were read, byte by byte.
    pub(crate) read: usize,
    /// Checkpoints.
    pub(crate) checkpoints: usize,
}

/// What was shown of one deed.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Shown {
    place: Value,
    digest: Value,
    /// Payload and signature, where the deed itself was read.
    bytes: Option<(String, String)>,
}

/// Everything that was shown, in the order in which it was.
#[derive(Debug, Default)]
struct Notes {
    deeds: Vec<(String, Shown)>,
    checkpoints: BTreeMap<u64, Vec<String>>,
}

/// Readers at work.
#[derive(Debug)]
pub(crate) struct Watch {
    key: String,
    notes: Arc<Mutex<Notes>>,
    stop: Arc<AtomicBool>,
    readers: Vec<JoinHandle<()>>,
}

impl Watch {
    /// Lets somebody read from each of these services, and somebody hear its stream.
    pub(crate) async fn start(house: &House, lines: &[Line]) -> Self {
        let key = house.org_key().await;
        let (notes, stop): (Arc<Mutex<Notes>>, Arc<AtomicBool>) = Default::default();
        let mut readers = Vec::new();
        for line in lines {
            let reader = Reader {
                line: line.clone(),
                key: key.clone(),
                notes: Arc::clone(&notes),
                stop: Arc::clone(&stop),
            };
            readers.push(tokio::spawn(reader.clone().read()));
            readers.push(tokio::spawn(reader.listen()));
        }
        Self { key, notes, stop, readers }
    }

    /// Ends the reading, and returns how much was shown and what of it the log does not hold.
    pub(crate) async fn end(self, house: &House, service: &Service) -> (Seen, Vec<String>) {
        self.stop.store(true, Ordering::Relaxed);
        for reader in self.readers {
            reader.await.unwrap();
        }
        let notes = std::mem::take(&mut *self.notes.lock().unwrap());
        let caller = service.caller(&self.key);
        let log = house.deeds().await;
        let mut found = against_the_log(&notes, &log);
        found.extend(against_checkpoints(house, &caller, &notes, &log).await);
        let read = notes.deeds.iter().filter(|(_, shown)| shown.bytes.is_some()).count();
        let checkpoints = notes.checkpoints.values().map(Vec::len).sum();
        (Seen { told: notes.deeds.len() - read, read, checkpoints }, found)
    }
}

/// Reads from one service, wherever it is.
#[derive(Clone)]
struct Reader {
    line: Line,
    key: String,
    notes: Arc<Mutex<Notes>>,
    stop: Arc<AtomicBool>,
}

impl Reader {
    fn caller(&self) -> Option<Caller> {
        self.line.caller().map(|caller| Caller::new(caller.address, Some(&self.key)))
    }

    fn goes_on(&self) -> bool {
        !self.stop.load(Ordering::Relaxed)
    }

    async fn read(self) {
        while self.goes_on() {
            if let Some(caller) = self.caller() {
                self.read_once(&caller).await;
            }
            tokio::time::sleep(BREATH).await;
        }
    }

    async fn read_once(&self, caller: &Caller) {
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let listed = caller.try_send(Request::get("/v1/deeds?limit=20")).await.ok();
        let Some(listed) = listed.filter(|answer| answer.status == 200) else { return };
        let listed = listed.json()["data"].as_array().unwrap().clone();
        for deed in &listed {
            let (place, digest) = (deed["seq"].clone(), deed["digest"].clone());
            self.note(text(&deed["id"]), Shown { place, digest, bytes: None });
        }
        let path = format!("/v1/deeds/{}", text(&listed[0]["id"]));
        let deed = caller.try_send(Request::get(&path)).await.ok();
        if let Some(deed) = deed.filter(|answer| answer.status == 200) {
            let deed = deed.json();
            let bytes = Some((text(&deed["payload"]), text(&deed["signature"]["value"])));
            let (place, digest) = (deed["log"]["index"].clone(), deed["digest"].clone());
            self.note(text(&deed["id"]), Shown { place, digest, bytes });
        }
        let checkpoint = caller.try_send(Request::get("/v1/log/checkpoint")).await.ok();
        if let Some(note) = checkpoint.filter(|answer| answer.status == 200) {
            let note = String::from_utf8(note.body.to_vec()).unwrap();
            let size = note.lines().nth(1).unwrap().parse().unwrap();
            let mut notes = self.notes.lock().unwrap();
            let of_size = notes.checkpoints.entry(size).or_default();
            if !of_size.contains(&note) {
                of_size.push(note);
            }
        }
    }

    async fn listen(self) {
        let mut last: Option<String> = None;
        while self.goes_on() {
            let mut request = Request::get("/v1/events");
            if let Some(last) = &last {
                request = request.header("Last-Event-ID", last);
            }
            if let Some(caller) = self.caller()
                && let Some(mut stream) = Stream::follow(&caller, request).await
            {
                while self.goes_on()
                    && let Some(message) = stream.next_within(SILENCE).await
                {
                    if message.event == "deed.sealed" {
                        let deed = &message.data["data"]["object"];
                        let (place, digest) = (deed["seq"].clone(), deed["digest"].clone());
                        let id = deed["id"].as_str().unwrap().to_owned();
                        self.note(id, Shown { place, digest, bytes: None });
                        last = Some(message.id);
                    }
                }
            }
            tokio::time::sleep(BREATH).await;
        }
    }

    fn note(&self, id: String, shown: Shown) {
        let mut notes = self.notes.lock().unwrap();
        let known = notes.deeds.iter().rev().take(200);
        if known.into_iter().all(|known| (&known.0, &known.1) != (&id, &shown)) {
            notes.deeds.push((id, shown));
        }
    }
}

/// What was shown of a deed and is not so in the log.
fn against_the_log(notes: &Notes, log: &[Deed]) -> Vec<String> {
    let mut stored = BTreeMap::new();
    let mut found = Vec::new();
    for deed in log {
        let id = deed.json()["id"].as_str().unwrap().to_owned();
        if stored.insert(id.clone(), deed).is_some() {
            found.push(format!("{id} stands twice in the log"));
        }
    }
    for (id, shown) in &notes.deeds {
        let Some(deed) = stored.get(id) else {
            found.push(format!("{id} was shown and is lost"));
            continue;
        };
        let digest = json!(crypto::sha256(&deed.body));
        if (&shown.place, &shown.digest) != (&json!(deed.seq), &digest) {
            found.push(format!("{id} is another one than {shown:?}"));
        }
        let bytes = (STANDARD.encode(&deed.body), STANDARD.encode(&deed.signature));
        if shown.bytes.as_ref().is_some_and(|shown| *shown != bytes) {
            found.push(format!("{id} has other bytes than it was shown with"));
        }
    }
    found
}

/// Which checkpoints the log did not grow from, by the verbs that anybody runs.
async fn against_checkpoints(
    house: &House,
    caller: &Caller,
    notes: &Notes,
    log: &[Deed],
) -> Vec<String> {
    let mut found = Vec::new();
    let all: Vec<_> = notes.checkpoints.values().flatten().collect();
    let Some(middle) = all.get(all.len() / 2) else {
        return vec!["no checkpoint was ever handed out".to_owned()];
    };
    let file = house.write(&format!("{}.checkpoint", name()), middle);
    let known = ["--known-checkpoint", file.to_str().unwrap()];
    let checked = house.verify(caller, &lines(log), &known).await;
    if (checked.code, &checked.report["grade"]) != (0, &json!("checkpointed")) {
        found.push(format!("the log beside a checkpoint of it: {}", checked.report));
    }
    found.extend(checked_by_the_service(caller, middle).await);
    let keys = caller.get("/.well-known/service/keys.json").await.ok().to_string();
    let now = caller.get("/v1/log/checkpoint").await;
    let now = String::from_utf8(now.body.to_vec()).unwrap();
    let size = now.lines().nth(1).unwrap().to_owned();
    let files = [house.write("final-keys.json", &keys), house.write("final.checkpoint", &now)];
    let [keys, newer] = files.each_ref().map(|file| file.to_str().unwrap());
    for some in all.chunks(AT_ONCE) {
        let mut checks = JoinSet::new();
        for note in some {
            let from = note.lines().nth(1).unwrap();
            let path = format!("/v1/log/consistency?from={from}&to={size}");
            let proof = caller.get(&path).await.ok().to_string();
            let name = name();
            let older = house.write(&format!("{name}.checkpoint"), note);
            let proof = house.write(&format!("{name}.proof"), &proof);
            let (older, proof) = (older.to_str().unwrap(), proof.to_str().unwrap());
            let words = ["consistency", older, newer, "--keys", keys, "--proof", proof];
            let (words, verbs) = (words.map(str::to_owned), house.verbs.clone());
            checks.spawn(async move { (words[1].clone(), verbs.output(&words).await) });
        }
        while let Some(check) = checks.join_next().await {
            let (older, output) = check.unwrap();
            if !output.status.success() {
                let said = String::from_utf8_lossy(&output.stdout).into_owned();
                found.push(format!("the log did not grow from the checkpoint in {older}: {said}"));
            }
        }
    }
    found
}

/// Has the service check its whole log, beside a checkpoint of it.
async fn checked_by_the_service(caller: &Caller, checkpoint: &str) -> Option<String> {
    let asked = Request::post("/v1/ledger/chain_checks", &json!({ "checkpoint": checkpoint }));
    let asked = caller.send(asked).await.is(202);
    let path = format!("/v1/ledger/chain_checks/{}", asked["id"].as_str().unwrap());
    let deadline = std::time::Instant::now() + CHECKED_WITHIN;
    loop {
        let check = caller.get(&path).await.ok();
        if check["result"] != Value::Null {
            return (check["result"] != "passed").then(|| format!("its own check: {check}"));
        }
        if std::time::Instant::now() > deadline {
            return Some(format!("its own check does not end: {check}"));
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}
