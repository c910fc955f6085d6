//! Compares what a tool reported with the evidence there is and gives a verdict.
//!
//! Pure: the evidence comes in, a [`Finding`] goes out. This build judges at level L0, where the
//! only evidence is the report itself and the tool's own declaration; a call that needs more gets
//! `UNVERIFIABLE`, never a verdict that it did not earn.

use model::{Digest, Footprint, Level, Outcome, SideEffect, Verdict, WitnessMethod};
use serde_json::{Value, json};

/// Everything that is known of a run when it is judged.
#[derive(Debug, Clone, Copy)]
pub struct Evidence<'a> {
    /// What the run came to.
    pub outcome: &'a Outcome,
    /// Who reported it.
    pub reporter: Reporter,
    /// What the tool does to the world, where that was declared.
    pub side_effect: Option<SideEffect>,
    /// The most that the tool said it would change.
    pub footprint: Option<&'a Footprint>,
    /// How much evidence the call needs.
    pub required_level: Level,
}

/// Who reported a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reporter {
    /// A connector of the service.
    Connector,
    /// The agent's edge.
    Edge,
    /// Nobody.
    Nobody,
}

/// What the witness found.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// How much evidence the verdict rests on.
    pub level: Level,
    /// How much was asked for.
    pub required_level: Level,
    /// What was found.
    pub verdict: Verdict,
    /// Where the evidence came from.
    pub method: WitnessMethod,
    /// The finding as one sentence.
    pub summary: String,
    /// Codes of why it is no better; empty for `VERIFIED`.
    pub reasons: Vec<String>,
    /// The whole finding, with each check and how it went.
    pub detail: Value,
}

impl Finding {
    /// The digest of the detail's canonical form.
    pub fn detail_digest(&self) -> Digest {
        crypto::sha256(crypto::json::canonical(&self.detail))
    }
}

/// One thing that was looked at.
struct Check {
    name: &'static str,
    result: Result<(), Problem>,
}

/// Why a check did not pass.
struct Problem {
    verdict: Verdict,
    reason: &'static str,
    sentence: &'static str,
}

/// The verdict on a run. `MISMATCH` beats `UNVERIFIABLE`, which beats `VERIFIED`, and all
/// reasons are listed.
pub fn judge(evidence: &Evidence<'_>) -> Finding {
    let checks = [
        Check { name: "outcome_known", result: outcome_known(evidence) },
        Check { name: "report_kept", result: report_kept(evidence) },
        Check { name: "within_row_limit", result: within_row_limit(evidence) },
        Check { name: "read_changed_nothing", result: read_changed_nothing(evidence) },
        Check { name: "required_level", result: required_level(evidence) },
    ];
    let problems: Vec<&Problem> =
        checks.iter().filter_map(|check| check.result.as_ref().err()).collect();
    let worst = problems.iter().max_by_key(|problem| severity(problem.verdict));
    let verdict = worst.map_or(Verdict::Verified, |problem| problem.verdict);
    let summary = worst.map_or(VERIFIED, |problem| problem.sentence);
    Finding {
        level: Level::L0,
        required_level: evidence.required_level,
        verdict,
        method: method(evidence.reporter),
        summary: summary.to_owned(),
        reasons: problems.iter().map(|problem| problem.reason.to_owned()).collect(),
        detail: detail(evidence, &checks),
    }
}

const VERIFIED: &str = "The report is consistent with itself and with what the tool declares.";

fn severity(verdict: Verdict) -> u8 {
    match verdict {
        Verdict::Verified => 0,
        Verdict::Unverifiable => 1,
        Verdict::Mismatch => 2,
    }
}

fn method(reporter: Reporter) -> WitnessMethod {
    match reporter {
        Reporter::Connector => WitnessMethod::Reported,
        Reporter::Edge => WitnessMethod::EdgeReported,
        Reporter::Nobody => WitnessMethod::None,
    }
}

fn outcome_known(evidence: &Evidence<'_>) -> Result<(), Problem> {
    let Outcome::Unknown(fault) = evidence.outcome else { return Ok(()) };
    let edge_lost = fault.code == model::ExecutionErrorCode::EdgeLost.into();
    Err(Problem {
        verdict: Verdict::Unverifiable,
        reason: if edge_lost { "edge_lost" } else { "outcome_unknown" },
        sentence: "Nobody can say whether the call was applied.",
    })
}

fn report_kept(evidence: &Evidence<'_>) -> Result<(), Problem> {
    match evidence.outcome {
        Outcome::Applied => Err(Problem {
            verdict: Verdict::Unverifiable,
            reason: "report_lost",
            sentence: "The call was applied and the tool's report of it is lost.",
        }),
        Outcome::Succeeded { .. } | Outcome::Failed(_) | Outcome::Unknown(_) => Ok(()),
    }
}

fn within_row_limit(evidence: &Evidence<'_>) -> Result<(), Problem> {
    match (rows_changed(evidence.outcome), evidence.footprint) {
        (Some(rows), Some(footprint)) if rows > footprint.max_rows => Err(Problem {
            verdict: Verdict::Mismatch,
            reason: "row_count_over_limit",
            sentence: "The tool reports more changed rows than it declares.",
        }),
        _ => Ok(()),
    }
}

fn read_changed_nothing(evidence: &Evidence<'_>) -> Result<(), Problem> {
    let is_read = evidence.side_effect == Some(SideEffect::Read);
    match rows_changed(evidence.outcome) {
        Some(rows) if is_read && rows > 0 => Err(Problem {
            verdict: Verdict::Mismatch,
            reason: "read_tool_wrote",
            sentence: "A tool that only reads reports changed rows.",
        }),
        _ => Ok(()),
    }
}

fn required_level(evidence: &Evidence<'_>) -> Result<(), Problem> {
    if evidence.required_level == Level::L0 {
        return Ok(());
    }
    Err(Problem {
        verdict: Verdict::Unverifiable,
        reason: "required_level_unmet",
        sentence: "The call needs more evidence than a report.",
    })
}

fn rows_changed(outcome: &Outcome) -> Option<u64> {
    match outcome {
        Outcome::Succeeded { report, .. } => report.rows_changed,
        Outcome::Applied | Outcome::Failed(_) | Outcome::Unknown(_) => None,
    }
}

fn detail(evidence: &Evidence<'_>, checks: &[Check]) -> Value {
    let passes: Vec<_> = checks
        .iter()
        .map(|check| match &check.result {
            Ok(()) => json!({ "check": check.name, "result": "pass" }),
            Err(problem) => json!({
                "check": check.name,
                "result": problem.verdict,
                "reason": problem.reason,
                "note": problem.sentence,
            }),
        })
        .collect();
    json!({
        "level": Level::L0,
        "required_level": evidence.required_level,
        "declared": {
            "side_effect": evidence.side_effect,
            "max_rows": evidence.footprint.map(|footprint| footprint.max_rows),
        },
        "reported": { "rows_changed": rows_changed(evidence.outcome) },
        "passes": passes,
    })
}

#[cfg(test)]
mod tests;
