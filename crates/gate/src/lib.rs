//! The Gate: one action from submission to deed.
//!
//! Two entry points carry an action: [`Gate::submit`] takes it up to the ledger turn that refuses
//! it, lets it wait, authorises the agent's edge or permits a run, and a run that was permitted
//! is carried out, witnessed and sealed in a second turn whether anyone still waits or not. Where the
//! evidence is not in by then, a turn between the two keeps the report, and what comes behind the seal
//! amends the deed. The stages are types: only what
//! a turn permitted can be run, only what was judged can be sealed.
//!
//! Deadlines are data. The Gate has no timers; workers call [`Gate::sweep`], and whoever waits
//! for an action does so outside.

mod approvals;
mod approver;
mod backoff;
mod begin;
mod budgets;
mod carry_out;
mod case;
mod check_intent;
mod decide;
mod decision_cache;
mod deed_of;
mod events;
mod figures;
mod gate;
mod judge;
mod late;
mod leases;
mod limits;
mod link;
mod observed;
mod permit;
mod points;
mod ports;
mod practice;
mod rebuild;
mod recover;
mod reference;
mod release;
mod repeat;
mod report;
mod reported;
mod resolve;
mod resolved;
mod settle;
mod store;
mod submission;
mod submit;
mod takeovers;
mod teller;
mod void;
mod vouch;
mod withdraw;
mod witnessing;

pub use approvals::Barring;
pub use approver::{Approver, Barred, Question};
pub use budgets::{CounterPlace, Shown, Use};
pub use carry_out::{Finished, Running};
pub use case::Case;
pub use check_intent::{CheckedIntent, IntentToCheck};
pub use decide::{Verdict, decide};
pub use gate::{Gate, Parts};
pub use judge::{JudgeError, Judged, Judgement};
pub use limits::Limits;
pub use link::{Link, Used};
pub use ports::{AddressBook, ChangeLog, Found, NoChangeLog, Pause, Seen, Served, Sought, Toolbox};
pub use practice::{PRACTICE_LOOKED_AT, PRACTICE_SPAN, Practice};
pub use recover::SweepError;
pub use reference::Reference;
pub use repeat::KNOWN_FOR;
pub use report::{EdgeReport, EdgeResult, Ended, ReportError};
pub use resolve::ToolListing;
pub use resolved::Resolved;
pub use store::{
    ActionDetail, ActionPlace, ActionStore, AgentFigures, ApprovalFilter, ApprovalStore, Caller,
    Class, Counted, CountedUp, CounterState, Counters, Due, DueFor, DuePlace, FigureStore, Filter,
    HeldLease, IntentFilter, LOOKED_AT, Miscount, Page, PersonIdentity, Renewal, SLOT,
    ShadowDiffers, Span, StoredDeed, Sweep, Tally, UnderWay, Voiding, Waiting, is_kept,
    lets_through,
};
pub use submission::{EdgeTool, Rejection, Submission, SubmitError};
pub use submit::Submitted;
pub use withdraw::{CancelError, Cancellation, Canceller};
