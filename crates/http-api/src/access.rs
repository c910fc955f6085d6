//! Who may call what: who a key stands for, the callers that handlers take, and the rules that
//! make them. A rule is the only maker of its caller, so a handler can stand behind no other:
//!
//! ```
//! # use std::sync::Arc;
//! # use http_api::{App, access::*};
//! # use web::*;
//! async fn send(_: Arc<App>, caller: AgentCaller, _: Call) -> Result<Reply, ApiError> {
//!     Ok(Reply::ok(&caller.0.agent))
//! }
//! at("POST", "/v1/actions", "send").with(AGENT_EXECUTE, NOTHING, Patience::Short, send);
//! ```
//!
//! ```compile_fail,E0631
//! # use std::sync::Arc;
//! # use http_api::{App, access::*};
//! # use web::*;
//! # async fn send(_: Arc<App>, caller: AgentCaller, _: Call) -> Result<Reply, ApiError> {
//! #     Ok(Reply::ok(&caller.0.agent))
//! # }
//! at("POST", "/v1/actions", "send").with(PUBLIC, NOTHING, Patience::Short, send);
//! ```

pub(crate) mod accounts;
mod approvals;
mod callers;
mod principal;
mod rules;

pub use approvals::{APPROVAL_READERS, APPROVERS, ApprovalReader, Approver};
pub use callers::{
    Admin, AgentCaller, Anyone, Canceller, IntentChecker, Leaver, MemberEditor, Owner, Reader,
    Remover, Viewer, Visitor,
};
pub use principal::{AgentKey, OrgKey, Person, Principal, Seat};
pub use rules::{
    ACTION_READERS, ADMIN_READERS, ADMINS, AGENT_EXECUTE, Access, CANCELLERS, FRESH_ADMINS,
    FRESH_OWNERS, FRESH_SESSION_ADMINS, INTENT_CHECKERS, MEMBER_EDITORS, OWNERS, PUBLIC, REMOVERS,
    SESSION_ADMINS, SIGNED_IN, SIGNING_IN, STARTERS, STREAM_READERS, VIEWERS, VISITORS,
};
