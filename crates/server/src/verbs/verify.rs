//! `verify`: checks deeds offline, or a service's log while it comes in, and prints what was found.

mod follow;
mod remote;
mod walk;

use std::path::Path;

use deed::{
    KeySet,
    verify::{CheckStatus, Grade, Report, Trust, Verdict},
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
    let file = what.file.as_deref().ok_or_else(|| Failure::usage("no file was named"))?;
    let input = super::input(file)?;
    let (exit, report) = match deed::verify::verify(&input, &trust(what)?) {
        Ok(verified) => (Exit::Ok, verified.into_report()),
        Err(report) => (exit(report.verdict), *report),
    };
    if what.json {
        print::line(serde_json::to_string_pretty(&report).map_err(Failure::internal)?);
    } else {
        readable(&report).into_iter().for_each(print::line);
    }
    Ok(exit)
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

/// The report in lines for people: the verdict, the deeds, and every check.
pub(crate) fn readable(report: &Report) -> Vec<String> {
    let grade = report.grade.map(grade).unwrap_or_default();
    let mut lines = vec![format!("{}{grade}", verdict(report.verdict))];
    lines.extend(report.deeds.iter().map(|deed| {
        let test = if deed.livemode { "" } else { "TEST " };
        format!("  {test}{} {} of {}, {}", deed.kind, deed.id, deed.subject, deed.issued_at)
    }));
    lines.extend(report.checks.iter().map(|check| {
        let mark = match check.status {
            CheckStatus::Passed => "pass",
            CheckStatus::Undecided => "open",
            CheckStatus::Failed => "FAIL",
        };
        format!("  {mark}  {:12} {}", check.id.as_str(), check.detail).trim_end().to_owned()
    }));
    lines
}

/// The verdict and the first thing that was wrong, in one line.
pub(crate) fn told(report: &Report) -> String {
    let failed = report.checks.iter().find(|check| check.status == CheckStatus::Failed);
    let why = failed.map(|check| format!(": {}, {}", check.id.as_str(), check.detail));
    format!("{}{}", verdict(report.verdict), why.unwrap_or_default())
}

fn verdict(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Valid => "VALID",
        Verdict::Invalid => "INVALID",
        Verdict::Undecidable => "UNDECIDABLE: nothing failed, and something could not be checked",
        Verdict::Malformed => {
            "MALFORMED: expected a deed in its API form, a DSSE envelope, lines of either, or a \
             file of evidence"
        }
    }
}

fn grade(grade: Grade) -> &'static str {
    match grade {
        Grade::Signed => ": signed",
        Grade::Chained => ": signed, and no deed of this part of the log is missing",
        Grade::Checkpointed => ": signed, complete, and what the known checkpoint vouched for",
    }
}

#[cfg(test)]
mod tests;
