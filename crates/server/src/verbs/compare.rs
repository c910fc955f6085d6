//! `consistency`, `diff` and `export`: two states of one log beside each other, and deeds in the
//! form that other tools take. Everything is decided by `deed`.

use std::path::Path;

use deed::{
    ArchivedDeeds, Checkpoint, KeySet,
    verify::{Comparison, Trust, Verified, compare, envelopes},
};
use model::Digest;
use serde_json::{Value, json};

use super::verify::{self, keys_of};
use crate::{
    cli::{Consistency, Diff},
    exit::{Exit, Failure},
    print,
};

/// Says whether the log of the newer checkpoint grew from the older one's.
pub(super) fn consistency(what: &Consistency) -> Result<Exit, Failure> {
    let keys = keys_of(&what.keys)?;
    let (older, newer) = (checkpoint(&what.older, &keys)?, checkpoint(&what.newer, &keys)?);
    let (from, to) = (older.tree.size, newer.tree.size);
    let proof = match &what.proof {
        Some(file) => path(file)?,
        None if from == to => Vec::new(),
        None => {
            print::line(format!("UNDECIDABLE: a proof from {from} to {to} deeds is needed"));
            return Ok(Exit::Undecidable);
        }
    };
    if newer.grew_from(&older, &proof) {
        print::line(format!("CONSISTENT: `{}` grew from {from} to {to} deeds", newer.log));
        return Ok(Exit::Ok);
    }
    print::line(if newer.contradicts(&older) {
        forked(&newer)
    } else {
        let (older, newer) = (older.log, newer.log);
        format!("INCONSISTENT: not shown that `{older}` at {from} deeds became `{newer}` at {to}")
    });
    Ok(Exit::FoundBad)
}

/// Says whether two histories of one log have the same deeds where both have one.
pub(super) fn diff(what: &Diff) -> Result<Exit, Failure> {
    let keys = keys_of(&what.keys)?;
    let (left, right) = (super::input(&what.left)?, super::input(&what.right)?);
    match (is_note(&left), is_note(&right)) {
        (true, true) => {
            let opened = |file, bytes| opened(file, &String::from_utf8_lossy(bytes), &keys);
            let (left, right) = (opened(&what.left, &left)?, opened(&what.right, &right)?);
            return Ok(checkpoints(&left, &right));
        }
        (false, false) => {}
        (true, false) | (false, true) => {
            return Err(Failure::usage(
                "expected deeds on both sides, or a checkpoint on both; `chancery verify \
                 --known-checkpoint` compares deeds with a checkpoint",
            ));
        }
    }
    let trust = Trust::from(keys);
    let verified =
        |input: &[u8], file| deed::verify::verify(input, &trust).map_err(|report| (file, report));
    let sides = verified(&left, &what.left).and_then(|left| {
        verified(&right, &what.right).map(|right: Verified| compare(&left, &right))
    });
    match sides {
        Ok(comparison) => Ok(told(&comparison)),
        Err((file, report)) => {
            print::line(format!("in `{}`:", file.display()));
            print::outcome(verify::exit(report.verdict), &verify::readable(&report));
            Ok(verify::exit(report.verdict))
        }
    }
}

/// Prints the deeds of a file as DSSE envelopes, one a line.
pub(super) fn export(file: &Path) -> Result<Exit, Failure> {
    let input = super::input(file)?;
    for line in String::from_utf8_lossy(&input).lines() {
        if let Some(Ok(ArchivedDeeds { from, to, .. })) = ArchivedDeeds::read(line) {
            let last = to.saturating_sub(1);
            print::complaint(format!("deeds {from} to {last} are archived and were omitted"));
        }
    }
    let envelopes = envelopes(&input)
        .map_err(|why| Failure::malformed(format!("`{}`: {why}", file.display())))?;
    for envelope in envelopes {
        print::line(json!(envelope).to_string());
    }
    Ok(Exit::Ok)
}

fn told(comparison: &Comparison) -> Exit {
    match comparison {
        Comparison::Agree { shared } => {
            print::line(format!("AGREE at all {shared} positions that both have"));
            Exit::Ok
        }
        Comparison::Forked { seq, left, right } => {
            print::line(format!(
                "FORKED: deed {seq} is {left} on the left and {right} on the right"
            ));
            Exit::FoundBad
        }
        Comparison::Apart => {
            print::line("UNDECIDABLE: they have no position of the same log in common");
            Exit::Undecidable
        }
    }
}

fn checkpoints(left: &Checkpoint, right: &Checkpoint) -> Exit {
    if left.contradicts(right) {
        print::line(forked(left));
        return Exit::FoundBad;
    }
    if left == right {
        print::line("AGREE: both vouch for the same log");
        return Exit::Ok;
    }
    print::line("UNDECIDABLE: the sizes or logs differ; `chancery consistency` accepts a proof");
    Exit::Undecidable
}

fn forked(one: &Checkpoint) -> String {
    format!("FORKED: two roots of `{}` at {} deeds were signed", one.log, one.tree.size)
}

/// Whether the bytes are meant for a signed note, whoever signed it.
fn is_note(bytes: &[u8]) -> bool {
    let text = str::from_utf8(bytes).unwrap_or_default();
    !text.starts_with(['{', '[']) && text.contains("\n\n\u{2014} ")
}

fn checkpoint(file: &Path, keys: &KeySet) -> Result<Checkpoint, Failure> {
    opened(file, &super::read_text(file)?, keys)
}

/// The checkpoint that the file's text is.
fn opened(file: &Path, text: &str, keys: &KeySet) -> Result<Checkpoint, Failure> {
    Checkpoint::open_with(text, keys).map_err(|error| {
        Failure::malformed(format!("the checkpoint `{}`: {error}", file.display()))
    })
}

/// The hashes of a proof: a list of digests, or an object whose `path` is one.
fn path(file: &Path) -> Result<Vec<Digest>, Failure> {
    let expected = || {
        let file = file.display();
        Failure::malformed(format!("`{file}`: expected a JSON list of digests, or one as `path`"))
    };
    let value = crypto::json::parse(&super::read(file)?).map_err(|_| expected())?;
    let path = match value {
        Value::Object(mut members) => members.remove("path").ok_or_else(expected)?,
        Value::Array(_) | Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            value
        }
    };
    serde_json::from_value(path).map_err(|_| expected())
}
