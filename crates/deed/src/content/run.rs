//! How an action ended: the run and what the witness made of it, or that there was none.

use model::{Attestation, ExecutionStatus, Level, Status, Timestamp, Verdict, WitnessMethod};
use serde::{Deserialize, Serialize};

use crate::{
    commitment::Commitment,
    text::{Lsn, Word},
};

/// How the action ended; the members `status`, `execution` and `witness` of the signed form.
///
/// A tool that never ran has neither execution nor witness, and one that ran has both: the type
/// leaves no other way.
#[derive(Debug, Clone, PartialEq)]
pub enum Ending {
    /// The tool ran, or may have.
    Ran(Box<Run>),
    /// The call was refused, by policy or by a person.
    Denied,
    /// The call was cancelled while it waited.
    Cancelled,
}

impl Ending {
    /// The end that these members tell of.
    pub(super) fn of(
        status: Status,
        execution: Option<Execution>,
        witness: Option<Witness>,
    ) -> Result<Self, &'static str> {
        let ending = match (execution, witness) {
            (Some(execution), Some(witness)) => Self::Ran(Box::new(Run { execution, witness })),
            (None, None) if status == Status::Denied => Self::Denied,
            (None, None) if status == Status::Cancelled => Self::Cancelled,
            (None, None) => return Err("an action that ran has an execution and a witness"),
            (Some(_), None) | (None, Some(_)) => {
                return Err("`execution` and `witness` are both there or both null");
            }
        };
        if ending.status() == status {
            Ok(ending)
        } else {
            Err("`status` does not follow from `execution`")
        }
    }

    /// The action's status.
    pub fn status(&self) -> Status {
        match self {
            Self::Ran(run) => run.status(),
            Self::Denied => Status::Denied,
            Self::Cancelled => Status::Cancelled,
        }
    }

    /// What ran and what was seen of it.
    pub fn run(&self) -> Option<&Run> {
        match self {
            Self::Ran(run) => Some(run),
            Self::Denied | Self::Cancelled => None,
        }
    }
}

/// A tool's run and what the witness made of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    /// The run.
    pub execution: Execution,
    /// What the witness made of it.
    pub witness: Witness,
}

impl Run {
    fn status(&self) -> Status {
        match self.execution.status {
            ExecutionStatus::Failed => Status::Failed,
            // Nobody can say that an unknown run did not apply, so it counts as executed.
            ExecutionStatus::Succeeded | ExecutionStatus::Unknown | ExecutionStatus::Running => {
                Status::Executed
            }
        }
    }
}

/// A tool's run as its runner tells it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Execution {
    /// Who says so; null when the edge never did.
    pub attestation: Option<Attestation>,
    /// What went wrong, as a code.
    pub error_code: Option<Word>,
    /// What went wrong, in the tool's own words.
    pub error_message: Option<Commitment>,
    /// When it ended.
    pub finished_at: Option<Timestamp>,
    /// Whether a number of the result that JSON would round stands in it as its digits, or the whole
    /// of a result that is no strict JSON as its text.
    pub lossy_numbers: bool,
    /// The result.
    pub result: Option<Commitment>,
    /// The result's digest, where only that was kept.
    pub result_digest: Option<Commitment>,
    /// When it began.
    pub started_at: Option<Timestamp>,
    /// How it went; never `running`.
    pub status: ExecutionStatus,
}

/// What the witness made of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Witness {
    /// The whole detail.
    pub detail: Commitment,
    /// How much evidence the verdict rests on.
    pub level: Level,
    /// Where the evidence came from.
    pub method: WitnessMethod,
    /// How much was asked for.
    pub required_level: Level,
    /// The evidence, piece by piece.
    pub sources: Vec<Source>,
    /// What was found.
    pub verdict: Verdict,
    /// When.
    pub witnessed_at: Timestamp,
}

/// One piece of evidence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Source {
    /// The evidence itself: the frame, or the rows read back.
    pub evidence: Commitment,
    /// Where it begins in the change log.
    pub lsn_from: Option<Lsn>,
    /// Where it ends in the change log.
    pub lsn_to: Option<Lsn>,
    /// Where it came from.
    #[serde(rename = "type")]
    pub kind: SourceKind,
}

/// Where a piece of evidence came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SourceKind {
    /// A read-back by a separate reader.
    ReadBack,
    /// The database's change log.
    ChangeLog,
}
