//! A run that has ended, as it is known until it is judged for good, and the text that this is kept as.
//!
//! What is kept is all that a judge needs beside the evidence: how the run ended, what of its result
//! will stand in the record, what the connector measured, and what the tool had declared by then. Behind
//! the seal that is less, since arguments and result are then no judge's business any more.

use std::{borrow::Cow, sync::Arc, time::Duration};

use crypto::json::Canonical;
use ledger::record::{Action, KeptReport};
use model::{ConnectorId, Digest, ErrorCode, Fault, Footprint, Measured, Outcome, Report};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tool::Claim;
use witness::Reporter;

use crate::{
    limits::Limits,
    observed::Observed,
    settle::{Executed, RunResult, Times, Witnessed},
};

/// A run that its connector saw the end of, or that is known to be applied all the same.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Reported {
    /// How it ended; its result stands beside it.
    pub(crate) outcome: Outcome,
    result: RunResult,
    /// What it ran with, which an API may have to be asked by.
    args: Arc<Value>,
    /// How long it took; nothing where nobody saw its end.
    took: Option<Duration>,
    /// The most that the tool declared that it would change.
    footprint: Option<Footprint>,
}

impl Reported {
    /// The run with these arguments that ended so after this time.
    pub(crate) fn new(
        mut outcome: Outcome,
        (args, took): (Arc<Value>, Duration),
        footprint: Option<Footprint>,
    ) -> Self {
        let result = RunResult::taken_from(&mut outcome);
        Self { outcome, result, args, took: Some(took), footprint }
    }

    /// A run that was applied, of which nothing else is known: its report is lost.
    pub(crate) fn lost() -> Self {
        let (args, took, footprint) = Default::default();
        Self { outcome: Outcome::Applied, result: RunResult::Nothing, args, took, footprint }
    }

    /// What it says of itself; nothing where nobody knows that it succeeded.
    pub(crate) fn claim(&self) -> Option<Claim<'_>> {
        let Outcome::Succeeded { report, .. } = &self.outcome else { return None };
        let result = self.result.whole().map(|result| &**result);
        Some(Claim { args: &self.args, result, report })
    }

    /// Whether the run itself tells by which place in the log its transaction must stand.
    pub(crate) fn is_bounded_in_log(&self) -> bool {
        self.measured().is_some_and(|measured| measured.trace.until.is_some())
    }

    /// What the connector measured of the run.
    pub(crate) fn measured(&self) -> Option<&Measured> {
        match &self.outcome {
            Outcome::Succeeded { report, .. } => report.measured.as_deref(),
            Outcome::Applied | Outcome::Failed(_) | Outcome::Unknown(_) => None,
        }
    }

    /// Has the run judged by this evidence.
    pub(crate) fn witnessed(
        self,
        action: &Action,
        observed: Observed,
        limits: &Limits,
    ) -> Witnessed {
        let awaits = self.awaits(action, (&observed, limits));
        let Self { outcome, result, took, footprint, args: _ } = self;
        let (reporter, times) = (Reporter::Connector, took.map_or(Times::Unseen, Times::Took));
        let executed = Executed { outcome, result, reporter, times, observed };
        executed.witnessed(action, footprint.as_ref(), limits).awaiting(awaits)
    }

    /// What has to be kept behind the seal where the change log has not told of the run and still may,
    /// and whose log that is.
    fn awaits(
        &self,
        action: &Action,
        (observed, limits): (&Observed, &Limits),
    ) -> Option<(KeptReport, ConnectorId)> {
        let connector = action.connector.as_ref()?.id?;
        if limits.late_evidence.is_zero() || !observed.may_still_come(action.required_level) {
            return None;
        }
        let Self { outcome, took, footprint, result: _, args: _ } = self.clone();
        let (result, args) = (RunResult::Nothing, Arc::default());
        match (Self { outcome, result, args, took, footprint }).text(0, 0) {
            Ok(text) => Some((KeptReport { action: action.id, text: text.into() }, connector)),
            Err(error) => {
                // Every part of it has a form. Without it the deed stays as it is sealed now.
                tracing::error!(action = %action.id, %error, "a report could not be stored");
                None
            }
        }
    }

    /// The run as it is kept for whoever seals the action, which the holder of this token has.
    pub(crate) fn kept(
        &self,
        action: &Action,
        (token, limits): (u64, &Limits),
    ) -> Result<KeptReport, serde_json::Error> {
        let text = self.text(token, limits.max_result_bytes)?.into();
        Ok(KeptReport { action: action.id, text })
    }

    fn text(&self, token: u64, max_result_bytes: usize) -> Result<String, serde_json::Error> {
        serde_json::to_string(&Text {
            outcome: OutcomeText::of(&self.outcome),
            result: ResultText::of(&self.result, max_result_bytes),
            args: Cow::Borrowed(&*self.args),
            took_ms: u64::try_from(self.took.unwrap_or_default().as_millis()).unwrap_or(u64::MAX),
            is_lost: self.took.is_none(),
            footprint: self.footprint.as_ref().map(Cow::Borrowed),
            token,
        })
    }

    /// The run that was kept, and the token of the one who kept it.
    pub(crate) fn read(kept: &KeptReport) -> Result<(Self, u64), serde_json::Error> {
        let text: Text<'_> = serde_json::from_str(&kept.text)?;
        let reported = Self {
            outcome: text.outcome.into_outcome(),
            result: text.result.into_result()?,
            args: Arc::new(text.args.into_owned()),
            took: (!text.is_lost).then_some(Duration::from_millis(text.took_ms)),
            footprint: text.footprint.map(Cow::into_owned),
        };
        Ok((reported, text.token))
    }
}

/// The form in which a run is kept.
#[derive(Serialize, Deserialize)]
struct Text<'a> {
    outcome: OutcomeText<'a>,
    result: ResultText<'a>,
    args: Cow<'a, Value>,
    took_ms: u64,
    /// Whether nobody saw the end. An older instance reads past it, and takes the run to have ended at once.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    is_lost: bool,
    footprint: Option<Cow<'a, Footprint>>,
    token: u64,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum OutcomeText<'a> {
    Succeeded { report: Cow<'a, Report> },
    Applied,
    Failed { code: ErrorCode, message: Cow<'a, str> },
    Unknown { code: ErrorCode, message: Cow<'a, str> },
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ResultText<'a> {
    /// Its canonical form.
    Whole {
        text: Cow<'a, str>,
        stands_as_text: bool,
    },
    Digest {
        digest: Digest,
        stands_as_text: bool,
    },
    Nothing,
}

impl<'a> OutcomeText<'a> {
    fn of(outcome: &'a Outcome) -> Self {
        let told = |fault: &'a Fault| (fault.code.clone(), Cow::Borrowed(fault.message.as_str()));
        match outcome {
            Outcome::Succeeded { report, .. } => Self::Succeeded { report: Cow::Borrowed(report) },
            Outcome::Applied => Self::Applied,
            Outcome::Failed(fault) => {
                let (code, message) = told(fault);
                Self::Failed { code, message }
            }
            Outcome::Unknown(fault) => {
                let (code, message) = told(fault);
                Self::Unknown { code, message }
            }
        }
    }

    fn into_outcome(self) -> Outcome {
        let fault = |code, message: Cow<'_, str>| Fault { code, message: message.into_owned() };
        match self {
            Self::Succeeded { report } => {
                Outcome::Succeeded { result: Value::Null, report: report.into_owned() }
            }
            Self::Applied => Outcome::Applied,
            Self::Failed { code, message } => Outcome::Failed(fault(code, message)),
            Self::Unknown { code, message } => Outcome::Unknown(fault(code, message)),
        }
    }
}

impl<'a> ResultText<'a> {
    /// The result, of which no more is kept than the record will have.
    fn of(result: &'a RunResult, max_bytes: usize) -> Self {
        match result {
            RunResult::Whole { value, stands_as_text } if value.text().len() <= max_bytes => {
                let text = Cow::Borrowed(value.text().as_str());
                Self::Whole { text, stands_as_text: *stands_as_text }
            }
            RunResult::Whole { value, stands_as_text } => {
                Self::Digest { digest: value.digest(), stands_as_text: *stands_as_text }
            }
            RunResult::Digest { digest, stands_as_text } => {
                Self::Digest { digest: *digest, stands_as_text: *stands_as_text }
            }
            RunResult::Nothing => Self::Nothing,
        }
    }

    fn into_result(self) -> Result<RunResult, serde_json::Error> {
        Ok(match self {
            Self::Whole { text, stands_as_text } => {
                let value: Value = serde_json::from_str(&text)?;
                RunResult::Whole { value: Canonical::new(value), stands_as_text }
            }
            Self::Digest { digest, stands_as_text } => RunResult::Digest { digest, stands_as_text },
            Self::Nothing => RunResult::Nothing,
        })
    }
}

#[cfg(test)]
mod tests {
    use model::{ExecutionErrorCode, RowOp};
    use serde_json::json;

    use super::*;

    fn read_again(reported: &Reported, max_result_bytes: usize) -> Reported {
        let action = model::ActionId::from_uuid(model::Uuid::from_u128(1));
        let text = reported.text(3, max_result_bytes).unwrap().into();
        let (read, token) = Reported::read(&KeptReport { action, text }).unwrap();
        assert_eq!(token, 3);
        read
    }

    #[test]
    fn a_run_is_read_as_it_was_kept() {
        let footprint = Footprint {
            tables: [("refunds".to_owned(), vec![RowOp::Insert])].into(),
            max_rows: 1,
            ..Footprint::default()
        };
        let fault = Fault::new(ExecutionErrorCode::ToolTimeout, "no \"answer\"\n");
        // One number stands as its digits, the others as a double prints them.
        let result = json!({
            "id": 9_007_199_254_740_993_i64,
            "numbers": [1e-7, 1e19, 1e21, -f64::MAX],
            "text": "\u{1}é",
        });
        let outcomes = [
            Outcome::Succeeded { result, report: Report::of_rows(Some(4)) },
            Outcome::Applied,
            Outcome::Failed(fault.clone()),
            Outcome::Unknown(fault),
        ];
        for outcome in outcomes {
            let ran = (Arc::new(json!({ "order": 5 })), Duration::from_millis(7));
            let reported = Reported::new(outcome, ran, Some(footprint.clone()));
            assert_eq!(read_again(&reported, 1_000), reported);
        }
        assert_eq!(read_again(&Reported::lost(), 1_000), Reported::lost());
    }

    #[test]
    fn of_a_result_that_is_too_large_for_the_record_its_digest_is_kept() {
        let result = json!({ "id": 9_007_199_254_740_993_i64, "text": "a".repeat(100) });
        let outcome = Outcome::Succeeded { result, report: Report::default() };
        let reported = Reported::new(outcome, (Arc::default(), Duration::from_millis(7)), None);
        let digest = reported.result.digest().unwrap();
        let read = read_again(&reported, 20);
        assert_eq!(read.result, RunResult::Digest { digest, stands_as_text: true });
        assert_eq!(read.claim().unwrap().result, None);
    }
}
