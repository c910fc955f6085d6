//! `verify --url`: fetches a service's log and checks it while it comes.

use std::{path::Path, time::Duration};

use crypto::Secret;
use deed::{ArchivedDeeds, Checkpoint, KeySet, verify::Verdict};
use http_body_util::BodyExt;
use serde_json::json;
use tokio::time::{sleep, timeout};

use super::{
    super::{read, read_text},
    archive::Archive,
    exit, keys_of, readable,
    remote::{PATIENCE, Remote, RemoteError, broken, late},
    walk::{Unfit, Walk},
};
use crate::{
    cli::Verify,
    exit::{Exit, Failure},
    print,
};

/// The variable that has the API key.
const KEY: &str = "CHANCERY_API_KEY";
/// So many bytes of whole lines are checked at once.
const PART: usize = 4 * 1024 * 1024;
/// A line of archived deeds begins so.
const ARCHIVED: &[u8] = b"{\"object\":\"archived_deeds\"";
/// A line is no longer than this.
const LONGEST: usize = 64 * 1024 * 1024;
/// So often in a row a connection may break without one deed more.
const TRIES: u32 = 6;

/// What a log is held to.
struct Held {
    keys: KeySet,
    note: String,
    now: Checkpoint,
    known: Option<Checkpoint>,
}

/// Why a log was not read to its end.
enum Stopped {
    Remote(RemoteError),
    Unfit(Unfit),
    Failed(Failure),
}

impl From<Failure> for Stopped {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

impl From<RemoteError> for Stopped {
    fn from(error: RemoteError) -> Self {
        Self::Remote(error)
    }
}

impl From<Unfit> for Stopped {
    fn from(unfit: Unfit) -> Self {
        Self::Unfit(unfit)
    }
}

pub(super) async fn run(what: &Verify, url: &str) -> Result<Exit, Failure> {
    let ca = what.ca.as_deref().map(read).transpose()?;
    let remote = Remote::new(url, key(what.key_file.as_deref())?, ca.as_deref())?;
    let keys = what.keys.as_deref().map(keys_of).transpose()?;
    let kept = what.known_checkpoint.as_deref().map(read_text).transpose()?;
    let held = match held(what, &remote, (keys, kept)).await {
        Ok(held) => held,
        Err(stopped) => return ended(what, stopped),
    };
    let mut archive = Archive::open(&what.archived)?;
    let checkpoints = [&held.now].into_iter().chain(&held.known).cloned().collect();
    let mut walk = Walk::new(held.keys.clone(), checkpoints);
    let whole = async {
        walk.held_to()?;
        whole(&remote, (&mut walk, &mut archive), &held, what).await?;
        amendments(&remote, &walk).await
    };
    let read = whole.await;
    match read {
        Ok(()) => {}
        Err(Stopped::Remote(refused @ RemoteError::Refused { .. })) if walk.size() > 0 => {
            return Err(Failure::usage(cut(&refused, walk.size(), &held.now)));
        }
        Err(stopped) => return ended(what, stopped),
    }
    if let Some(file) = &what.save_checkpoint {
        std::fs::write(file, &held.note).map_err(|error| {
            Failure::usage(format!("could not write `{}`: {error}", file.display()))
        })?;
    }
    archive.tell_unused();
    told(what, &walk, &held);
    Ok(Exit::Ok)
}

/// The API key: never of the command line, where every process of the machine can read it.
#[expect(clippy::disallowed_methods, reason = "it is an auditor's, no setting of the service")]
fn key(file: Option<&Path>) -> Result<Secret<String>, Failure> {
    let text = match file {
        Some(file) => read_text(file)?,
        None => std::env::var(KEY).map_err(|_| {
            Failure::usage(format!("an org's API key is needed: in `{KEY}`, or by `--key-file`"))
        })?,
    };
    Ok(Secret::new(text.trim().to_owned()))
}

/// Reads what the log is held to: keys, the service's own checkpoint, and the one that was kept.
async fn held(
    what: &Verify,
    remote: &Remote,
    (keys, kept): (Option<KeySet>, Option<String>),
) -> Result<Held, Stopped> {
    let keys = if let Some(keys) = keys {
        keys
    } else {
        let keys = remote.read("/.well-known/service/keys.json").await?;
        KeySet::parse(&keys).map_err(|error| unfit(format!("the service's keys: {error}")))?
    };
    let note = remote.read(&asking("/v1/log/checkpoint", what, &[])).await?;
    let note = String::from_utf8_lossy(&note).into_owned();
    let opened = |note: &str, whose: &str| {
        Checkpoint::open_with(note, &keys)
            .map_err(|error| unfit(format!("the checkpoint {whose}: {error}")))
    };
    let now = opened(&note, "of the service")?;
    let known = kept.map(|note| opened(&note, "that was kept")).transpose()?;
    fits(what, &now, known.as_ref())?;
    Ok(Held { keys, note, now, known })
}

/// The sizes and names of the checkpoints, before a deed is read.
fn fits(what: &Verify, now: &Checkpoint, known: Option<&Checkpoint>) -> Result<(), Stopped> {
    let size = now.tree.size;
    if let Some(known) = known.filter(|known| known.log != now.log) {
        return Err(unfit(format!(
            "the checkpoint that was kept is of `{}`, the service's log is `{}`; after a recovery \
             `--log` names the closed one",
            known.log, now.log
        )));
    }
    if let Some(known) = known.filter(|known| known.tree.size > size) {
        let kept = known.tree.size;
        return Err(unfit(format!(
            "the checkpoint that was kept has {kept} deeds, the log {size}: the tail is cut"
        )));
    }
    match what.expected_size.filter(|expected| *expected != size) {
        None => Ok(()),
        Some(expected) => {
            Err(unfit(format!("expected a log of {expected} deeds, the service signs for {size}")))
        }
    }
}

fn unfit(why: String) -> Stopped {
    Stopped::Unfit(Unfit::Log(why))
}

/// Reads the log to its end, taking it up again where a connection broke.
async fn whole(
    remote: &Remote,
    (walk, archive): (&mut Walk, &mut Archive),
    held: &Held,
    what: &Verify,
) -> Result<(), Stopped> {
    let (mut tries, now) = (0, &held.now);
    while walk.size() < now.tree.size {
        let from = walk.size();
        let why = match piece(remote, (walk, archive), held, what).await {
            Ok(()) if walk.size() > from => continue,
            Ok(()) => {
                let size = now.tree.size;
                return Err(unfit(format!(
                    "the service has {from} deeds and signs for {size}: the tail is cut"
                )));
            }
            Err(Stopped::Remote(RemoteError::Broken(why))) => why,
            Err(other) => return Err(other),
        };
        tries = if walk.size() > from { 0 } else { tries + 1 };
        if tries == TRIES {
            let at = format!("{} of {} deeds were read: {why}", walk.size(), now.tree.size);
            return Err(RemoteError::Broken(at).into());
        }
        print::complaint(format!("{} deeds; resuming the log: {why}", walk.size()));
        sleep(Duration::from_millis(100 << tries)).await;
    }
    Ok(())
}

/// Reads as much of the log as one answer gives.
async fn piece(
    remote: &Remote,
    (walk, archive): (&mut Walk, &mut Archive),
    held: &Held,
    what: &Verify,
) -> Result<(), Stopped> {
    let size = held.now.tree.size;
    let mut places = vec![("from", walk.size()), ("to", size)];
    // No line stands for archived deeds on both sides of the checkpoint that was kept.
    places.extend(held.known.as_ref().map(|known| ("known_size", known.tree.size)));
    let mut body = remote.open(&asking("/v1/log/deeds", what, &places)).await?.into_body();
    let mut text = Vec::new();
    loop {
        let frame = timeout(PATIENCE, body.frame()).await.map_err(|_| late());
        let frame = frame.map(|frame| frame.transpose().map_err(|error| broken(&error)));
        let read = frame.and_then(|frame| frame);
        if let Ok(Some(frame)) = &read {
            text.extend_from_slice(frame.data_ref().map(AsRef::as_ref).unwrap_or_default());
        }
        let goes_on = matches!(read, Ok(Some(_)));
        let end = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
        if end > 0 && (text.len() >= PART || !goes_on) {
            // What is no whole line yet waits for the rest of it.
            let rest = text.split_off(end);
            take((walk, archive), &text)?;
            print::progress(&format!("{} of {size} deeds", walk.size()));
            text = rest;
        }
        if text.len() > LONGEST {
            return Err(unfit(format!("deed {} is not a line of deeds", walk.size())));
        }
        if read?.is_none() {
            return Ok(());
        }
    }
}

/// Takes the next whole lines: deeds, and lines that stand for archived ones, of which the files that
/// the caller has may have the deeds.
fn take((walk, archive): (&mut Walk, &mut Archive), text: &[u8]) -> Result<(), Stopped> {
    let mut deeds = Vec::new();
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        // A deed is a long line, and not parsed here for nothing.
        let is_archived = line.starts_with(ARCHIVED);
        let archived = str::from_utf8(line).ok().filter(|_| is_archived);
        let Some(archived) = archived.and_then(ArchivedDeeds::read) else {
            deeds.extend_from_slice(line);
            continue;
        };
        let archived = archived.map_err(Unfit::Log)?;
        if !deeds.is_empty() {
            walk.part(&std::mem::take(&mut deeds))?;
        }
        walk.note_away(&archived);
        if archive.has(&archived)? {
            let told = archive.read(&archived, |lines| walk.part(lines).map_err(Stopped::from));
            if let Err(Stopped::Unfit(_)) = told {
                let last = archived.to - 1;
                let of = format!("deeds {} to {last} are those of `--archived`", archived.from);
                print::complaint(of);
            }
            told?;
        } else {
            walk.archived(archived)?;
        }
    }
    if deeds.is_empty() { Ok(()) } else { Ok(walk.part(&deeds)?) }
}

/// Holds the amendments of deeds that came much earlier to them.
async fn amendments(remote: &Remote, walk: &Walk) -> Result<(), Stopped> {
    for (amended, amendment) in walk.amendments() {
        let evidence = remote.read(&format!("/v1/deeds/{amendment}/bundle")).await?;
        walk.evidence((amended, amendment), &evidence)?;
    }
    Ok(())
}

fn asking(path: &str, what: &Verify, more: &[(&str, u64)]) -> String {
    let log = what.log.iter().map(|log| format!("log={log}"));
    let more = more.iter().map(|(name, value)| format!("{name}={value}"));
    let query: Vec<_> = log.chain(more).collect();
    if query.is_empty() { path.to_owned() } else { format!("{path}?{}", query.join("&")) }
}

/// Says how far a log was read that is refused from there on, as after the key was revoked.
fn cut(refused: &RemoteError, read: u64, now: &Checkpoint) -> String {
    let size = now.tree.size;
    format!(
        "the log is cut: {read} of {size} deeds were read, and hold; then {refused}. The others begin \
         at `/v1/log/deeds?from={read}&to={size}`; to check the log whole, run this again once the \
         service gives them"
    )
}

/// Says why a log does not hold, or was not read.
fn ended(what: &Verify, stopped: Stopped) -> Result<Exit, Failure> {
    let (verdict, lines) = match stopped {
        Stopped::Failed(failure) => return Err(failure),
        Stopped::Remote(RemoteError::Broken(why)) => return Err(Failure::internal(why)),
        Stopped::Remote(refused @ RemoteError::Refused { .. }) => {
            return Err(Failure::usage(refused));
        }
        Stopped::Unfit(Unfit::Deeds(report)) if what.json => {
            let text = serde_json::to_string_pretty(&report).map_err(Failure::internal)?;
            (report.verdict, vec![text])
        }
        Stopped::Unfit(Unfit::Deeds(report)) => {
            let mut report = *report;
            report.deeds.clear();
            (report.verdict, readable(&report))
        }
        Stopped::Unfit(Unfit::Log(why)) if what.json => {
            (Verdict::Invalid, vec![json!({ "verdict": "invalid", "why": why }).to_string()])
        }
        Stopped::Unfit(Unfit::Log(why)) => (Verdict::Invalid, vec![format!("INVALID: {why}")]),
    };
    if what.json {
        lines.iter().for_each(print::line);
    } else {
        print::outcome(exit(verdict), &lines);
    }
    Ok(exit(verdict))
}

/// Sums up a log that holds.
fn told(what: &Verify, walk: &Walk, held: &Held) {
    let (sum, now) = (walk.sum(), &held.now);
    let known = held.known.as_ref().map(|known| known.tree.size);
    if what.json {
        let tree = json!({ "size": now.tree.size, "root": now.tree.root });
        print::line(
            json!({
                "verdict": "valid", "grade": "checkpointed", "log": now.log, "tree": tree,
                "sum": sum, "known_checkpoint": known, "keys_given": what.keys.is_some(),
                "archived": walk.left_out(),
            })
            .to_string(),
        );
        return;
    }
    let kinds: Vec<_> = sum.kinds.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
    let tests = if sum.tests == 0 { String::new() } else { format!(", {} TEST", sum.tests) };
    let left_out = walk.left_out();
    let verdict = match left_out.deeds {
        0 => "VALID: signed, complete, and what the service's checkpoint vouches for".to_owned(),
        deeds => format!(
            "VALID: {deeds} deeds of {} are archived, proved by the tree; the others are signed, and \
             what the service's checkpoint vouches for",
            walk.size()
        ),
    };
    print::outcome(Exit::Ok, &[verdict]);
    print::line(format!("  log         {}", now.log));
    let here = walk.size() - left_out.deeds;
    let kinds = if here == 0 { String::new() } else { format!(": {}{tests}", kinds.join(", ")) };
    print::line(format!("  deeds       {here}{kinds}"));
    left_out.lines().iter().for_each(print::line);
    if let (Some(from), Some(to)) = (sum.from, sum.to) {
        print::line(format!("  sealed      {from} to {to}"));
    }
    print::line(format!("  root        {}", now.tree.root));
    print::line(match known {
        Some(size) => format!("  kept        the checkpoint of {size} deeds: the log grew from it"),
        None => "  kept        no checkpoint: it is not shown whether the log grew from an \
                 earlier one"
            .to_owned(),
    });
    print::line(match &what.keys {
        Some(file) => format!("  keys        those of `{}`", file.display()),
        None => "  keys        those that the service publishes now".to_owned(),
    });
}
