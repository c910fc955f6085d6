//! Every closed list of the service's words, once.
//!
//! Code matches these enums without a wildcard, and `docs/vocabulary.md` is generated from
//! [`lists`]. Error codes of the HTTP surface live with `http-api`, which alone knows them.

/// A word that the list it was looked up in does not have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected one of {expected}")]
pub struct WordError {
    /// The words of the list, each in backticks.
    pub expected: String,
}

/// One closed list as the generated docs show it.
#[derive(Debug, Clone, Copy)]
pub struct List {
    /// The list's name.
    pub name: &'static str,
    /// Its words, in order.
    pub words: &'static [&'static str],
}

/// Defines one closed list: an enum whose words are its wire form.
macro_rules! list {
    ($(#[$doc:meta])* $name:ident { $($(#[$word_doc:meta])* $variant:ident = $word:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[derive(serde::Serialize, serde::Deserialize)]
        pub enum $name {
            $($(#[$word_doc])* #[serde(rename = $word)] $variant),+
        }

        impl $name {
            /// The list's words in order.
            pub const WORDS: &'static [&'static str] = &[$($word),+];
            /// The list's values in order.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The word.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl std::str::FromStr for $name {
            type Err = super::WordError;

            fn from_str(text: &str) -> Result<Self, super::WordError> {
                match text {
                    $($word => Ok(Self::$variant),)+
                    _ => Err(super::WordError { expected: super::expected(Self::WORDS) }),
                }
            }
        }
    };
}

fn expected(words: &[&str]) -> String {
    words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
}

mod access;
mod action;
mod decision;
mod evidence;
mod record;
mod webhook;

pub use access::{AgentStatus, IntentMode, PendingApprovals, Role, Scope, SuspensionCause};
pub use action::{
    ExecutionErrorCode, ExecutionStatus, Mode, SideEffect, State, Status, Visibility,
};
pub use decision::{
    ApprovalStatus, Assurance, DecisionCode, DecisionOutcome, DecisionSource, VoidReason,
};
pub use evidence::{
    Attestation, Level, LogBlind, LogGap, ReadBackGap, TableGap, Verdict, WitnessMethod,
    WitnessReason,
};
pub use record::{COMING_EVENT_TYPES, DeedKind, EventType};
pub use webhook::{DeliveryError, DeliveryStatus, WebhookStatus};

/// Every closed list, for the generated docs.
pub fn lists() -> Vec<List> {
    vec![
        List { name: "action `state`", words: State::WORDS },
        List { name: "action `status`", words: Status::WORDS },
        List { name: "action `mode`", words: Mode::WORDS },
        List { name: "`execution.status`", words: ExecutionStatus::WORDS },
        List { name: "`execution.error_code`", words: ExecutionErrorCode::WORDS },
        List { name: "decision `outcome`", words: DecisionOutcome::WORDS },
        List { name: "decision `source`", words: DecisionSource::WORDS },
        List { name: "decision `code`", words: DecisionCode::WORDS },
        List { name: "approval `status`", words: ApprovalStatus::WORDS },
        List { name: "approval `void_reason`", words: VoidReason::WORDS },
        List { name: "approval `assurance`", words: Assurance::WORDS },
        List { name: "witness `level`", words: Level::WORDS },
        List { name: "witness `verdict`", words: Verdict::WORDS },
        List { name: "witness `method`", words: WitnessMethod::WORDS },
        List { name: "witness `missing` of a table", words: TableGap::WORDS },
        List { name: "witness `reasons`", words: WitnessReason::WORDS },
        List { name: "execution `attestation` (in deeds)", words: Attestation::WORDS },
        List { name: "tool `side_effect`", words: SideEffect::WORDS },
        List { name: "tool `visibility`", words: Visibility::WORDS },
        List { name: "agent `status`", words: AgentStatus::WORDS },
        List { name: "agent `suspension.cause`", words: SuspensionCause::WORDS },
        List { name: "`pending_approvals` of a Stop", words: PendingApprovals::WORDS },
        List { name: "agent `intent_mode`", words: IntentMode::WORDS },
        List { name: "deed `kind`", words: DeedKind::WORDS },
        List { name: "API key scope", words: Scope::WORDS },
        List { name: "member role", words: Role::WORDS },
        List { name: "webhook endpoint `status`", words: WebhookStatus::WORDS },
        List { name: "webhook delivery `status`", words: DeliveryStatus::WORDS },
        List { name: "webhook delivery `error_class`", words: DeliveryError::WORDS },
        List { name: "event type", words: EventType::WORDS },
        List { name: "event type that cannot happen yet", words: COMING_EVENT_TYPES },
    ]
}
