//! A report in lines for people: summed up, or deed by deed.

use std::collections::BTreeMap;

use deed::{
    ArchivedDeeds,
    verify::{
        ArchivedSummary, CheckStatus, DeedSummary, Grade, IntentShown, Report, Trust, Verdict,
        examine,
    },
};

use crate::print;

/// The verdict, how many deeds there are of each kind, and every check.
pub(crate) fn readable(report: &Report) -> Vec<String> {
    let deeds = match report.deeds.as_slice() {
        several @ [_, _, ..] => vec![counted(several)],
        few => few.iter().map(line).collect(),
    };
    framed(report, deeds)
}

/// The same with a line for every deed.
pub(crate) fn each(report: &Report) -> Vec<String> {
    framed(report, report.deeds.iter().map(line).collect())
}

fn framed(report: &Report, deeds: Vec<String>) -> Vec<String> {
    let grade = grade(report);
    let mut lines = vec![format!("{}{grade}", verdict(report.verdict))];
    lines.extend(deeds);
    lines.extend(report.archived.iter().map(|ArchivedSummary { from, to, partition, proved }| {
        let shown = match (report.verdict, proved) {
            (Verdict::Valid, true) => ", proved by the tree",
            (Verdict::Valid, false) => ", which no checkpoint vouches for",
            (Verdict::Invalid | Verdict::Undecidable | Verdict::Malformed, _) => "",
        };
        format!("  deeds {from} to {} are archived in {partition}{shown}", to - 1)
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

fn line(deed: &DeedSummary) -> String {
    let test = if deed.livemode { "" } else { "TEST " };
    let intent = match deed.intent {
        Some(IntentShown::Shown) => ", signed by its agent as shown",
        Some(IntentShown::NotShown) => ", signed by its agent, which is not shown",
        None => "",
    };
    format!("  {test}{} {} of {}, {}{intent}", deed.kind, deed.id, deed.subject, deed.issued_at)
}

fn counted(deeds: &[DeedSummary]) -> String {
    let mut kinds = BTreeMap::<_, usize>::new();
    for deed in deeds {
        *kinds.entry(deed.kind).or_default() += 1;
    }
    let kinds: Vec<_> = kinds.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
    let tests = deeds.iter().filter(|deed| !deed.livemode).count();
    let tests = if tests == 0 { String::new() } else { format!(", {tests} TEST") };
    let hidden = deeds.iter().filter(|deed| deed.intent == Some(IntentShown::NotShown)).count();
    let hidden = match hidden {
        0 => String::new(),
        _ => format!(", {hidden} signed by an agent, which is not shown"),
    };
    format!("  {} deeds: {}{tests}{hidden}", deeds.len(), kinds.join(", "))
}

/// What becomes of each line of deeds by itself: how many came to which verdict, and what is wrong
/// with those that fail. Nothing, where the input is not one deed a line.
pub(crate) fn alone(input: &[u8], trust: &Trust) -> Vec<String> {
    let lines = input.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    let is_deed = |line: &&[u8]| str::from_utf8(line).ok().and_then(ArchivedDeeds::read).is_none();
    let lines: Vec<_> = lines.filter(|line| !line.is_empty()).filter(is_deed).collect();
    let whole = |line: &&[u8]| line.starts_with(b"{") && line.ends_with(b"}");
    if lines.len() < 2 || !lines.iter().all(whole) {
        return Vec::new();
    }
    let trust = Trust { keys: trust.keys.clone(), ..Trust::default() };
    let (mut counts, mut failing) = (BTreeMap::<_, usize>::new(), Vec::new());
    let all = lines.len();
    for (place, line) in lines.into_iter().enumerate() {
        if place.is_multiple_of(1000) {
            print::progress(&format!("{place} of {all} deeds verified individually"));
        }
        let report = examine(line, &trust);
        let name = verdict(report.verdict).split(':').next().unwrap_or_default();
        *counts.entry(name).or_default() += 1;
        if matches!(report.verdict, Verdict::Invalid | Verdict::Malformed) {
            failing.push(wrong(place + 1, &report));
        }
    }
    print::progress("");
    let counts: Vec<_> = counts.iter().map(|(name, count)| format!("{count} {name}")).collect();
    let sum = format!("  each deed individually: {}", counts.join(", "));
    std::iter::once(sum).chain(failing).collect()
}

fn wrong(place: usize, report: &Report) -> String {
    let deed = report.deeds.first().map(|deed| format!(", {}", line(deed).trim_start()));
    format!("  line {place}{}: {report}", deed.unwrap_or_default())
}

pub(super) fn verdict(verdict: Verdict) -> &'static str {
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

fn grade(report: &Report) -> &'static str {
    match (report.grade, report.archived.is_empty()) {
        (None, _) => "",
        (Some(Grade::Signed), true) => ": signed",
        (Some(Grade::Signed), false) => ": signed, as far as it is here",
        (Some(Grade::Chained), true) => ": signed, and no deed of this part of the log is missing",
        (Some(Grade::Chained), false) => {
            ": signed, and no deed of this part of the log is missing; some are archived"
        }
        (Some(Grade::Checkpointed), true) => {
            ": signed, complete, and what the known checkpoint vouched for"
        }
        (Some(Grade::Checkpointed), false) => {
            ": signed, and what the known checkpoint vouched for; some of it is archived"
        }
    }
}
