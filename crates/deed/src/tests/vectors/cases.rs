//! What a vector is, and the inputs that are valid.

use serde_json::{Value, json};

use crate::{
    DEED_TYPE, Draft, Ending, Envelope, KeySet, Path, Sealed, commit, specimen,
    tests::{
        evidence::{evidence, story},
        support::{Log, lines},
        verifying::forge,
    },
};

/// One input, what the verifier is given beside it, and what must come out.
#[derive(Clone)]
pub(super) struct Case {
    pub(super) name: String,
    pub(super) input: String,
    pub(super) keys: Keys,
    pub(super) known_checkpoint: Option<String>,
    pub(super) expected_size: Option<u64>,
    pub(super) verdict: &'static str,
    pub(super) grade: Option<&'static str>,
    pub(super) checks: &'static [&'static str],
    pub(super) not_shown: Option<&'static [u64]>,
    pub(super) archived: Option<&'static [(u64, u64, bool)]>,
}

/// The keys that the verifier is given.
#[derive(Clone)]
pub(super) enum Keys {
    Published,
    None,
    Other(KeySet),
}

impl Case {
    pub(super) fn valid(name: &str, grade: &'static str, input: impl ToString) -> Self {
        let grade = Some(grade);
        Self { verdict: "valid", grade, ..Self::invalid(name, &[], input) }
    }

    pub(super) fn invalid(
        name: &str,
        checks: &'static [&'static str],
        input: impl ToString,
    ) -> Self {
        Self {
            name: name.to_owned(),
            input: input.to_string(),
            keys: Keys::Published,
            known_checkpoint: None,
            expected_size: None,
            verdict: "invalid",
            grade: None,
            checks,
            not_shown: None,
            archived: None,
        }
    }

    pub(super) fn undecidable(
        name: &str,
        checks: &'static [&'static str],
        input: impl ToString,
    ) -> Self {
        Self { verdict: "undecidable", ..Self::invalid(name, checks, input) }
    }

    pub(super) fn malformed(name: &str, input: impl ToString) -> Self {
        Self { verdict: "malformed", ..Self::invalid(name, &["input"], input) }
    }

    pub(super) fn knowing(self, checkpoint: &str) -> Self {
        Self { known_checkpoint: Some(checkpoint.to_owned()), ..self }
    }

    pub(super) fn expecting(self, size: u64) -> Self {
        Self { expected_size: Some(size), ..self }
    }

    pub(super) fn under(self, keys: Keys) -> Self {
        Self { keys, ..self }
    }

    /// The places of the deeds whose intents are named and not shown.
    pub(super) fn not_showing(self, seqs: &'static [u64]) -> Self {
        Self { not_shown: Some(seqs), ..self }
    }

    /// The places that are archived, from one up to another, and whether a checkpoint vouches for them.
    pub(super) fn archiving(self, places: &'static [(u64, u64, bool)]) -> Self {
        Self { archived: Some(places), ..self }
    }

    pub(super) fn to_json(&self) -> Value {
        let keys = match &self.keys {
            Keys::Published => json!("keys.json"),
            Keys::None => json!(null),
            Keys::Other(set) => serde_json::from_str(&set.to_json()).unwrap(),
        };
        let mut case = json!({
            "name": self.name,
            "input": self.input,
            "keys": keys,
            "known_checkpoint": self.known_checkpoint,
            "expected_size": self.expected_size,
            "verdict": self.verdict,
            "grade": self.grade,
            "checks": self.checks,
        });
        if let Some(seqs) = self.not_shown {
            case["not_shown"] = json!(seqs);
        }
        if let Some(places) = self.archived {
            case["archived"] = json!(places);
        }
        case
    }
}

pub(super) fn envelope(deed: &Sealed) -> String {
    let envelope = Envelope::new(DEED_TYPE, &deed.body, (&deed.key_id, &deed.signature));
    serde_json::to_string(&envelope).unwrap()
}

/// The value with one member replaced.
pub(super) fn edit(value: &Value, pointer: &str, with: Value) -> Value {
    let mut value = value.clone();
    *value.pointer_mut(pointer).unwrap_or_else(|| panic!("no {pointer}")) = with;
    value
}

pub(super) fn body(log: &Log, seq: usize) -> Value {
    serde_json::from_str(&log.sealed[seq].body).unwrap()
}

/// A body that we never sealed, signed with the deed key.
pub(super) fn signed(body: impl ToString) -> String {
    forge(&body.to_string(), DEED_TYPE)
}

fn denied(draft: &mut Draft) {
    if let crate::Content::Action(action) = &mut draft.content {
        action.decision.outcome = model::DecisionOutcome::Deny;
        action.decision.code = Some(model::DecisionCode::PolicyDenied);
        action.approval = None;
        action.ending = Ending::Denied;
    }
}

/// The deed of an action whose result had a NUL, so that its text is kept.
fn as_text() -> Value {
    let mut log = Log::new();
    log.seal(|mint| {
        let (mut draft, mut opened) = specimen::action(mint).unwrap();
        let text = json!(r#"{"note":"a\u0000b","more":["\ud800",[[]]]}"#);
        let (commitment, disclosure) = commit(mint, Path::RESULT, &text);
        opened.retain(|opened| *opened.path() != Path::RESULT);
        opened.push(disclosure);
        if let crate::Content::Action(action) = &mut draft.content
            && let Ending::Ran(run) = &mut action.ending
        {
            (run.execution.result, run.execution.lossy_numbers) = (Some(commitment), true);
        }
        (draft, opened)
    })
    .unwrap();
    log.forms[0].clone()
}

pub(super) fn valid() -> Vec<Case> {
    let log = story();
    let older = Log::of(2).checkpoint();
    let mut refusal = Log::new();
    refusal.seal_action(denied).unwrap();
    let mut pruned = log.forms[2].clone();
    pruned["disclosures"] = json!([]);
    let dsse: String = log.sealed.iter().map(|deed| envelope(deed) + "\n").collect();
    let shown = || evidence(&log, &[2, 4, 6], &[2]);
    vec![
        Case::valid("an action's deed", "signed", &log.forms[2]),
        Case::valid("an admin deed, the first of its log", "signed", &log.forms[0]),
        Case::valid("an amendment", "signed", &log.forms[4]),
        Case::valid("a refused action's deed", "signed", &refusal.forms[0]),
        Case::valid("a deed whose payloads were pruned", "signed", &pruned),
        Case::valid("a result that stands as its JSON text", "signed", as_text()),
        Case::valid("a bare DSSE envelope", "signed", envelope(&log.sealed[2])),
        Case::valid("a whole log", "chained", log.lines()),
        Case::valid("a whole log of envelopes", "chained", &dsse),
        Case::valid("a part of a log", "chained", lines(&log.forms[1..5])),
        Case::valid("a log under its own checkpoint", "checkpointed", log.lines())
            .knowing(&log.checkpoint())
            .expecting(7),
        Case::valid("a log that grew since the checkpoint", "checkpointed", log.lines())
            .knowing(&older),
        Case::valid("evidence of an action and its amendments", "signed", shown()),
        Case::valid("evidence that leads to a known checkpoint", "checkpointed", shown())
            .knowing(&older),
    ]
}
