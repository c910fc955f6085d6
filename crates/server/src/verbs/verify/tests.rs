//! `verify --url` against services of this test: honest ones whose connections break, and ones that
//! forge, cut, mix up or repeat.

mod archived;

use std::{
    io::{Read as _, Write as _},
    net::{TcpListener, TcpStream},
    path::PathBuf,
    sync::{Arc, Mutex},
    thread,
};

use clap::Parser;
use crypto::SystemEntropy;
use deed::{
    Amended, ArchivedDeeds, Body, ChainHead, Exhibit, Exhibits, SealKeys, Sealed, Sealer, api_form,
    specimen, tree::Tree,
};
use model::{Mint, OrgId, Timestamp};

use crate::{
    cli::{Cli, Verb},
    exit::{Exit, Failure},
    verbs::run,
};

/// A log with everything that a service says of it.
#[derive(Clone)]
struct Log {
    keys: String,
    lines: Vec<String>,
    /// The checkpoint of each size from 0.
    notes: Vec<String>,
    evidence: String,
    /// After so many answers with deeds no key is valid any more.
    shuts_after: Option<usize>,
    sealed: Vec<Sealed>,
    /// The places that are archived, from one up to another.
    archived: Vec<(usize, usize)>,
    /// Whether archived parts go on behind a checkpoint that somebody says to have kept.
    keeps_together: bool,
    /// Whether deeds are sent behind those that were asked for.
    overruns: bool,
    /// What becomes of a line that stands for archived deeds.
    spoils: Option<fn(&mut ArchivedDeeds)>,
}

impl Log {
    fn is_shut(&self, asked: &Mutex<Vec<String>>) -> bool {
        let asked = asked.lock().unwrap();
        let answers = asked.iter().filter(|it| it.starts_with("/v1/log/deeds")).count();
        self.shuts_after.is_some_and(|most| answers > most)
    }
}

/// Seals one deed after the other.
struct Scribe {
    sealer: Sealer,
    head: ChainHead,
    org: OrgId,
    sealed: Vec<Sealed>,
    log: Log,
}

impl Scribe {
    fn new() -> Self {
        let entropy = SystemEntropy::new();
        let mint = Mint::new(Timestamp::from_unix_millis(1_790_000_000_000), &entropy);
        let keys = SealKeys::from_pem(SealKeys::generate_pem(&entropy).expose()).unwrap();
        let set = keys.key_set(mint.now()).unwrap();
        let log = Log {
            keys: set.to_json(),
            lines: vec![],
            notes: vec![],
            evidence: String::new(),
            shuts_after: None,
            sealed: vec![],
            archived: vec![],
            keeps_together: false,
            overruns: false,
            spoils: None,
        };
        let head = ChainHead::genesis(specimen::log(&mint).unwrap());
        let org = specimen::org(&mint);
        let mut scribe = Self { sealer: Sealer::new(keys, set), head, org, sealed: vec![], log };
        scribe.sign(mint.now());
        scribe
    }

    fn sign(&mut self, at: Timestamp) {
        self.log.notes.push(self.sealer.checkpoint(&self.head, at).unwrap());
    }

    fn seal(&mut self, make: impl FnOnce(&Mint<'_>) -> specimen::Specimen) {
        let entropy = SystemEntropy::new();
        let mint = Mint::new(Timestamp::from_unix_millis(1_790_000_000_000), &entropy);
        let (draft, disclosures) = make(&mint);
        let sealed = self.sealer.seal(&mut self.head, draft, self.org, mint.now()).unwrap();
        let form = api_form(&sealed.body, &sealed.signature, &disclosures).unwrap();
        self.log.lines.push(format!("{form}\n"));
        self.sealed.push(sealed);
        self.sign(mint.now());
    }

    /// An action, many admin deeds, and an amendment of the action, with evidence for it.
    fn log(deeds: usize) -> Log {
        let mut scribe = Self::new();
        scribe.seal(|mint| specimen::action(mint).unwrap());
        for _ in 0..deeds - 2 {
            scribe.seal(specimen::admin);
        }
        let first = scribe.sealed[0].clone();
        let amends = Amended { id: first.id, digest: first.digest, seq: first.seq };
        let subject = Body::read(first.body.as_bytes()).unwrap().subject;
        scribe.seal(|mint| specimen::amendment(mint, amends, subject).unwrap());
        let tree = Tree::of(scribe.sealed.iter().map(|sealed| sealed.digest));
        let size = scribe.sealed.len() as u64;
        let exhibit = |place: usize| Exhibit {
            body: scribe.sealed[place].body.clone(),
            signature: scribe.sealed[place].signature,
            path: deed::tree::inclusion(&tree, place as u64, size).unwrap(),
            disclosures: vec![],
            intent: None,
        };
        let deeds = vec![exhibit(0), exhibit(scribe.sealed.len() - 1)];
        let checkpoint = scribe.log.notes.last().unwrap().clone();
        let exhibits = Exhibits { deeds, checkpoint, consistency: vec![] };
        let at = Timestamp::from_unix_millis(1_790_000_000_000);
        let evidence = scribe.sealer.evidence(&exhibits, at).unwrap();
        Log { evidence, sealed: scribe.sealed, ..scribe.log }
    }
}

/// What becomes of a log.
type Change<'a> = &'a dyn Fn(&mut Log);

/// A service on this machine.
struct Service {
    url: String,
    asked: Arc<Mutex<Vec<String>>>,
    folder: PathBuf,
}

impl Service {
    /// Serves the log; of an answer with deeds so many bytes go out before its connection breaks.
    fn of(log: Log, breaks_after: Option<usize>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let port = listener.local_addr().unwrap().port();
        let name = format!("chancery-url-{}-{port}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("key"), "the-key\n").unwrap();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let heard = Arc::clone(&asked);
        thread::spawn(move || {
            for stream in listener.incoming() {
                answer(stream.unwrap(), &log, breaks_after, &heard);
            }
        });
        Self { url, asked, folder }
    }

    fn verify(&self, more: &[&str]) -> Exit {
        let key = self.file("key");
        let words = ["chancery", "verify", "--url", &self.url, "--key-file", &key];
        run(Cli::try_parse_from([&words, more].concat()).unwrap())
    }

    /// What it is that makes the verb fail.
    fn failure(&self) -> Failure {
        let key = self.file("key");
        let words = ["chancery", "verify", "--url", &self.url, "--key-file", &key];
        let Verb::Verify(what) = Cli::try_parse_from(words).unwrap().verb else { unreachable!() };
        super::run(&what).unwrap_err()
    }

    fn file(&self, name: &str) -> String {
        self.folder.join(name).display().to_string()
    }

    fn put(&self, name: &str, text: &str) -> String {
        std::fs::write(self.folder.join(name), text).unwrap();
        self.file(name)
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn answer(mut stream: TcpStream, log: &Log, breaks: Option<usize>, asked: &Mutex<Vec<String>>) {
    let (mut request, mut buffer) = (String::new(), [0; 4096]);
    while !request.contains("\r\n\r\n") {
        let count = stream.read(&mut buffer).unwrap();
        request.push_str(std::str::from_utf8(&buffer[..count]).unwrap());
    }
    let target = request.split(' ').nth(1).unwrap().to_owned();
    asked.lock().unwrap().push(target.clone());
    let (path, query) = target.split_once('?').unwrap_or((&target, ""));
    let number = |name: &str| {
        let found = query.split('&').find_map(|pair| pair.strip_prefix(name));
        found.map(|text| text.parse::<usize>().unwrap())
    };
    let body = match path {
        "/.well-known/service/keys.json" => log.keys.clone(),
        _ if !request.contains("authorization: Bearer the-key\r\n") || log.is_shut(asked) => {
            return drop(stream.write_all(b"HTTP/1.1 401 No\r\ncontent-length: 2\r\n\r\nno"));
        }
        "/v1/log/checkpoint" => log.notes.last().unwrap().clone(),
        "/v1/log/deeds" => {
            let from = number("from=").unwrap().min(log.lines.len());
            let to = number("to=").filter(|_| !log.overruns).unwrap_or(log.lines.len());
            let to = to.min(log.lines.len());
            archived::read_out(log, (from, to), number("known_size="))
        }
        // There is no evidence for an amendment of a deed that is archived.
        _ if log.archived.iter().any(|(from, _)| *from == 0) => {
            return drop(stream.write_all(b"HTTP/1.1 404 No\r\ncontent-length: 2\r\n\r\nno"));
        }
        _ => log.evidence.clone(),
    };
    let cut = breaks.filter(|cut| path == "/v1/log/deeds" && *cut < body.len());
    let sent = &body.as_bytes()[..cut.unwrap_or(body.len())];
    let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", body.len());
    drop(stream.write_all(&[head.as_bytes(), sent].concat()));
}

#[test]
fn a_log_is_followed_to_its_end_however_often_its_connection_breaks() {
    let log = Scribe::log(20);
    let longest = log.lines.iter().map(String::len).max().unwrap();
    let all = log.lines.concat().len();
    let kept = log.notes[7].clone();
    let size = log.lines.len();
    for breaks in [None, Some(longest), Some(all / 3), Some(all * 2 / 3)] {
        let service = Service::of(log.clone(), breaks);
        let kept = service.put("kept", &kept);
        let saved = service.file("saved");
        let more =
            ["--known-checkpoint", &kept, "--expected-size", "20", "--save-checkpoint", &saved];
        assert_eq!(service.verify(&more), Exit::Ok, "{breaks:?}");
        assert_eq!(std::fs::read_to_string(&saved).unwrap(), log.notes[size]);
        let asked = service.asked.lock().unwrap();
        let times = asked.iter().filter(|it| it.starts_with("/v1/log/deeds")).count();
        assert_eq!(times > 1, breaks.is_some(), "{asked:?}");
        // An amendment that came in another part than its deed is held to it by evidence.
        let evidence = asked.iter().any(|it| it.ends_with("/bundle"));
        assert_eq!(evidence, breaks.is_some(), "{asked:?}");
    }
}

#[test]
fn a_log_that_is_refused_on_the_way_is_said_to_be_cut_and_where_it_goes_on() {
    let log = Scribe::log(20);
    let half = log.lines[..10].concat().len();
    let service = Service::of(Log { shuts_after: Some(1), ..log }, Some(half));
    let failure = service.failure();
    assert_eq!(failure.exit, Exit::Usage);
    for part in ["the log is cut: 10 of 20 deeds", "401", "?from=10&to=20"] {
        assert!(failure.sentence.contains(part), "{part}: {}", failure.sentence);
    }
}

#[test]
fn a_log_that_was_forged_cut_or_mixed_up_is_refused() {
    let (log, other) = (Scribe::log(12), Scribe::log(12));
    let changes: [(&str, Change<'_>); 6] = [
        ("a deed that stands twice", &|log| log.lines[3] = log.lines[4].clone()),
        ("a deed that is left out", &|log| drop(log.lines.remove(3))),
        ("the tail that is cut", &|log| drop(log.lines.pop())),
        ("another log's deed", &|log| log.lines[3] = other.lines[3].clone()),
        ("another log", &|log| log.lines.clone_from(&other.lines)),
        ("a checkpoint that somebody else signed", &|log| log.notes.clone_from(&other.notes)),
    ];
    for (what, change) in changes {
        let mut forged = log.clone();
        change(&mut forged);
        // Whose keys are not known, of that nothing can be shown.
        let refused = [Exit::FoundBad, Exit::Undecidable];
        assert!(refused.contains(&Service::of(forged, None).verify(&[])), "{what}");
    }
    let garbled = Log { lines: vec!["{}\n".to_owned()], ..log.clone() };
    assert_eq!(Service::of(garbled, None).verify(&[]), Exit::Malformed);
    // Evidence of something else does not vouch for an amendment.
    let longest = log.lines.iter().map(String::len).max().unwrap();
    let unproved = Log { evidence: other.evidence.clone(), ..log.clone() };
    assert_ne!(Service::of(unproved, Some(longest * 3)).verify(&[]), Exit::Ok);
}

#[test]
fn a_log_that_was_put_back_is_refused_by_what_was_kept_from_before() {
    let (log, other) = (Scribe::log(12), Scribe::log(12));
    let back =
        Log { lines: log.lines[..9].to_vec(), notes: log.notes[..=9].to_vec(), ..log.clone() };
    let service = Service::of(back, None);
    assert_eq!(service.verify(&[]), Exit::Ok, "nothing shows it");
    let kept = service.put("kept", &log.notes[12]);
    assert_eq!(service.verify(&["--known-checkpoint", &kept]), Exit::FoundBad);
    assert_eq!(service.verify(&["--expected-size", "12"]), Exit::FoundBad);
    let keys = service.put("keys.json", &other.keys);
    assert_eq!(service.verify(&["--keys", &keys]), Exit::FoundBad, "other keys were kept");
}

#[test]
fn what_cannot_be_asked_is_said_and_no_key_goes_over_a_network_in_clear() {
    let service = Service::of(Scribe::log(3), None);
    service.put("key", "another-key");
    assert_eq!(service.verify(&[]), Exit::Usage, "the service refuses the key");
    for url in ["http://chancery.example", "ftp://localhost", "chancery", "https://u:p@a.example"] {
        let key = service.file("key");
        let words = ["chancery", "verify", "--url", url, "--key-file", &key];
        assert_eq!(run(Cli::try_parse_from(words).unwrap()), Exit::Usage, "{url}");
    }
    for words in [
        &["verify"][..],
        &["verify", "deeds", "--url", "https://a.example"],
        &["verify", "deeds", "--key-file", "k"],
    ] {
        assert!(Cli::try_parse_from([&["chancery"], words].concat()).is_err(), "{words:?}");
    }
}
