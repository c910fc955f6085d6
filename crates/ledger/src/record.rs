//! The rows of an org's truth, as every store keeps them and every turn changes them.
//!
//! They are plain data: what may be changed how is decided by the requests of `gate` and `admin`.

use model::Timestamp;

mod account;
mod action;
mod agent;
mod approval;
mod connector;
mod intent;
mod invite;
mod member;
mod proposal;
mod report;
mod settings;
mod webhook;

pub use account::{
    AcceptedTool, ActiveChange, ActivePolicy, ApiKey, Holder, Org, Policy, PolicyActivation,
    PolicyMode, PolicyTests, PolicyVersion, RETENTION_DAYS, Stop, Voided,
};
pub use action::{
    Action, AgentRef, Amendment, BudgetUse, Client, ConnectorRef, Cost, Decision, DecisionInputs,
    Execution, IdempotencyKey, Lease, NewAction, Pruned, Shadow, SpentBudget, VERIFIED, Witness,
};
pub use agent::{Agent, Suspension};
pub use approval::{Answer, Approval, ApprovalMail};
pub use connector::{Connector, ConnectorStatus, CredentialSet, ToolSettings, WitnessWish};
pub use intent::{IntentKey, IntentKeys, SignedIntent, UsedIntent};
pub use invite::{Invite, InviteMail};
pub use member::Member;
pub use proposal::{ClosedProposal, PROPOSED_FOR, Proposal, ProposalStatus};
pub use report::{AwaitedReport, KeptReport, ReportChange};
pub use settings::{AnswerTime, AnswerTimeError, ApprovalSettings, OrgRenamed, OrgSettings};
pub use webhook::{
    OrgWebhooks, PreviousSecret, Webhook, WebhookDisabled, WebhookMail, WebhookSend,
};

/// A row that turns ask for by its key.
pub trait Row: Clone {
    /// What names the row within its org.
    type Key: Ord + Clone;

    /// The row's own key.
    fn key(&self) -> Self::Key;

    /// Whether a later turn may still ask for this row, or for what was found to be absent.
    fn is_worth_keeping(_row: Option<&Self>, _now: Timestamp) -> bool {
        true
    }
}
