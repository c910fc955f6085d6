//! `verify`: checks deeds offline, or a service's log while it comes in, and prints what was found.

mod archive;
mod follow;
mod remote;
mod sum;
mod walk;

pub(crate) use sum::readable;
#[cfg(test)]
pub(super) use sum::{alone, each};

use std::path::Path;

use deed::{
    KeySet,
    verify::{CheckStatus, Progress, Report, Trust, Verdict, verify_telling},
};

use crate::{
    cli::Verify,
    exit::{Exit, Failure},
    print,
};

pub(super) fn run(what: &Verify) -> Result<Exit, Failure> {
    if let Some(url) = &what.url {
        return super::in_runtime(follow::run(what, url));
    }
    let file = what.file.as_deref().ok_or_else(|| Failure::usage("no file was given"))?;
    let input = archive::Archive::open(&what.archived)?.fill(super::input(file)?)?;
    let trust = trust(what)?;
    let (exit, report) = match verify_telling(&input, &trust, &mut come) {
        Ok(verified) => (Exit::Ok, verified.into_report()),
        Err(report) => (exit(report.verdict), *report),
    };
    print::progress("");
    if what.json {
        print::line(serde_json::to_string_pretty(&report).map_err(Failure::internal)?);
        return Ok(exit);
    }
    let mut lines = if what.each { sum::each(&report) } else { readable(&report) };
    if exit != Exit::Ok {
        lines.extend(sum::alone(&input, &trust));
    }
    print::outcome(exit, &lines);
    Ok(exit)
}

/// Says how far it has come.
fn come(so_far: Progress) {
    print::progress(&match so_far {
        Progress::Read { done, all } => format!("{done} of {all} lines read"),
        Progress::Checked { done, all } => format!("{done} of {all} deeds checked"),
    });
}

fn trust(what: &Verify) -> Result<Trust, Failure> {
    let keys = what.keys.as_deref().map(keys_of).transpose()?;
    let known_checkpoint = what.known_checkpoint.as_deref().map(super::read_text).transpose()?;
    Ok(Trust { keys, known_checkpoint, expected_size: what.expected_size })
}

/// The published keys of a file.
pub(super) fn keys_of(path: &Path) -> Result<KeySet, Failure> {
    KeySet::parse(&super::read(path)?)
        .map_err(|error| Failure::malformed(format!("the key file `{}`: {error}", path.display())))
}

/// The exit code of a verdict.
pub(crate) fn exit(verdict: Verdict) -> Exit {
    match verdict {
        Verdict::Valid => Exit::Ok,
        Verdict::Invalid => Exit::FoundBad,
        Verdict::Undecidable => Exit::Undecidable,
        Verdict::Malformed => Exit::Malformed,
    }
}

/// The verdict and the first thing that was wrong, in one line.
pub(crate) fn told(report: &Report) -> String {
    let failed = report.checks.iter().find(|check| check.status == CheckStatus::Failed);
    let why = failed.map(|check| format!(": {}, {}", check.id.as_str(), check.detail));
    format!("{}{}", sum::verdict(report.verdict), why.unwrap_or_default())
}

#[cfg(test)]
mod tests;
