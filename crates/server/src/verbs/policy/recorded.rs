//! `policy explain` and `policy replay`: decisions that were recorded, made again.

use std::{fs::OpenOptions, io::Write, path::Path};

use deed::{Disclosure, Path as Opened};
use model::causes;
use policy::{Answer, Call, Explanation, NotReplayable, Policy, Replay, ReplayAnswer, Show};
use serde_json::{Value, json};

use super::report::{Case, Outcome, Report};
use crate::{
    cli::{ExplainDecision, Format, ReplayPolicy},
    core::Core,
    exit::{Exit, Failure},
    print,
    verbs::{accounts::policy_failure, org_of, read_text},
};

pub(in crate::verbs) async fn explain(core: &Core, what: ExplainDecision) -> Result<Exit, Failure> {
    if what.format == Format::Junit {
        return Err(Failure::usage("the format of an explanation is `text` or `json`"));
    }
    let org = org_of(core, what.org).await?;
    let down = |error: &dyn std::error::Error| Failure::internal(causes(error));
    let detail = core.gate.detail(org, what.action).await.map_err(|error| down(&error))?;
    let missing = || Failure::usage(format!("the org has no action `{}`", what.action));
    let detail = detail.ok_or_else(missing)?;
    let kept = core.stores.accounts.org(org).await.map_err(|error| down(&error))?;
    let zone = kept.map_or_else(|| "UTC".to_owned(), |org| org.time_zone);
    let args = args(&detail.disclosures);
    let call = admin::recorded_call(&detail.action, args, &zone).map_err(not_replayable)?;
    let document = if let Some(file) = &what.policy {
        read_text(file)?
    } else {
        let version = detail.action.decision.policy_version;
        let version = core.operator(org).view().policy_version(version).await;
        version.map_err(|error| policy_failure(&error))?.document
    };
    let policy = Policy::compile(&document);
    let policy = policy.map_err(|error| policy_failure(&admin::PolicyError::Invalid(error)))?;
    let explanation = policy::explain(&policy, &call, Show::Values);
    shown(&detail.action, &call, &explanation).print(what.format);
    if let Some(file) = &what.save_case {
        let beside = what.policy.as_deref().and_then(Path::file_name);
        let beside = beside.map(|name| name.to_string_lossy().into_owned());
        let name = format!("as recorded in {}", detail.action.id);
        save(file, &call.to_suite(&name, beside.as_deref(), &explanation.decision))?;
    }
    Ok(Exit::Ok)
}

pub(in crate::verbs) async fn replay(core: &Core, what: ReplayPolicy) -> Result<Exit, Failure> {
    let policy = Policy::compile(&read_text(&what.file)?);
    let policy = policy.map_err(|error| policy_failure(&admin::PolicyError::Invalid(error)))?;
    let org = org_of(core, what.org).await?;
    let operator = core.operator(org);
    let history = operator.view().recorded_decisions(what.since, what.limit).await;
    let history = history.map_err(|error| policy_failure(&error))?;
    let replay = policy::replay(&policy, &history.records);
    let mut report = replayed(&replay, &what.file.display().to_string());
    if history.has_more {
        let sentence = "there are later decisions: increase `--limit` or change `--since`";
        print::complaint(sentence);
    }
    if let Some(members) = report.json.as_object_mut() {
        members.insert("has_more".to_owned(), json!(history.has_more));
    }
    report.print(what.format);
    Ok(Exit::Ok)
}

fn args(disclosures: &[Disclosure]) -> Option<Value> {
    let request = disclosures.iter().find(|it| *it.path() == Opened::REQUEST)?;
    serde_json::from_str(request.value()).ok()
}

fn not_replayable(why: NotReplayable) -> Failure {
    Failure {
        exit: Exit::Undecidable,
        sentence: match why {
            NotReplayable::PayloadPruned => "the action's arguments are no longer kept".to_owned(),
            NotReplayable::AttributesMissing => {
                "the agent's attributes at that time were not stored".to_owned()
            }
            NotReplayable::NotByPolicy => {
                "no policy decided this action: a Stop, an unknown tool or a disabled connector did"
                    .to_owned()
            }
        },
    }
}

fn shown(action: &ledger::record::Action, call: &Call, explanation: &Explanation) -> Report {
    let decision = &explanation.decision;
    let then = action.decision.outcome;
    let rule = decision.rule_id.as_deref().unwrap_or("the default");
    let mut lines = vec![format!("{} {}: {} by {rule}", action.id, action.tool, decision.outcome)];
    if decision.outcome != then {
        lines.push(format!("  the recorded outcome is {then}, with budgets applied"));
    }
    lines.extend(decision.failure.iter().map(|failure| format!("  failed: {failure}")));
    lines.push(format!("  {} rules do not cover the tool", explanation.not_covering));
    let mut steps = Vec::new();
    for step in &explanation.steps {
        let (answer, told) = match &step.answer {
            Answer::False { part, compared } => {
                ("false", format!("`{part}` is false ({})", compared.join(", ")))
            }
            Answer::Failed { failure } => ("failed", format!("has no value: {failure}")),
            Answer::Decided { outcome } => ("decided", format!("decided: {outcome}")),
        };
        lines.push(format!("  {}: {told}", step.rule_id));
        steps.push(json!({ "rule_id": &*step.rule_id, "answer": answer, "told": told }));
    }
    let json = json!({
        "action": action.id,
        "call": call.to_json(),
        "recorded": { "outcome": then, "code": action.decision.code },
        "decision": {
            "outcome": decision.outcome,
            "code": decision.code,
            "source": decision.source,
            "rule_id": decision.rule_id.as_deref(),
            "reason": decision.reason.as_deref(),
            "failure": decision.failure,
        },
        "not_covering": explanation.not_covering,
        "steps": steps,
    });
    Report { lines, json, name: action.id.to_string(), cases: Vec::new() }
}

fn replayed(replay: &Replay, name: &str) -> Report {
    let coverage = &replay.coverage;
    let left_out: u64 = coverage.not_replayable.values().sum();
    let mut lines =
        vec![format!("{} of {} replayed", coverage.replayed, coverage.replayed + left_out)];
    let reasons = coverage.not_replayable.iter();
    lines.extend(reasons.map(|(why, count)| format!("  not_replayable:{}: {count}", why.as_str())));
    for (answer, count) in &replay.counts {
        if !matches!(answer, ReplayAnswer::NotReplayable(_)) {
            lines.push(format!("{}: {count}", answer.as_str()));
        }
    }
    let mut cases = Vec::new();
    let mut results = Vec::new();
    for (action, answer) in &replay.results {
        let word = word(*answer);
        let outcome = match answer {
            ReplayAnswer::Unchanged => Outcome::Fine,
            ReplayAnswer::NotReplayable(_) => Outcome::NotLookedAt(word.clone()),
            ReplayAnswer::WouldAllow
            | ReplayAnswer::WouldDeny
            | ReplayAnswer::WouldRequireApproval => {
                lines.push(format!("  {action}: {word}"));
                Outcome::Failed(word.clone())
            }
        };
        cases.push(Case { name: action.clone(), outcome });
        results.push(json!({ "action": action, "answer": word }));
    }
    let not_replayable: serde_json::Map<_, _> = coverage
        .not_replayable
        .iter()
        .map(|(why, count)| (why.as_str().to_owned(), json!(count)))
        .collect();
    let json = json!({
        "replayed": coverage.replayed,
        "not_replayable": not_replayable,
        "differences": replay.differences(),
        "results": results,
    });
    Report { lines, json, name: format!("replay {name}"), cases }
}

fn word(answer: ReplayAnswer) -> String {
    match answer {
        ReplayAnswer::NotReplayable(why) => format!("{}:{}", answer.as_str(), why.as_str()),
        ReplayAnswer::Unchanged
        | ReplayAnswer::WouldAllow
        | ReplayAnswer::WouldDeny
        | ReplayAnswer::WouldRequireApproval => answer.as_str().to_owned(),
    }
}

/// Writes a file that must not be there yet.
fn save(file: &Path, text: &str) -> Result<(), Failure> {
    let made = OpenOptions::new().write(true).create_new(true).open(file);
    made.and_then(|mut made| made.write_all(text.as_bytes())).map_err(|error| {
        Failure::usage(format!("could not write the case to `{}`: {error}", file.display()))
    })
}
