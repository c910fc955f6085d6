//! Every error code of the HTTP surface, once: status, type, and what it means to a caller.
//!
//! The codes stand by area in files of their own, those of the kit in `web`; here they are joined.
//! The interface description's enum, `docs/errors.md` and the pages that `doc_url` leads to all
//! come from this list. It says nothing about when a code is raised; `refusal` does.

pub(crate) mod actions;
pub(crate) mod approvals;
pub(crate) mod changes;
mod page;
pub(crate) mod sign_in;

use web::{Code, CodeRow, codes};

pub(crate) use page::{STYLE, content_security_policy, index, marked_up, page};

/// Every code, in the order of the docs.
#[rustfmt::skip]
pub(crate) const ALL: &[Code] = &[
    codes::VALIDATION_FAILED,
    changes::POLICY_INVALID,
    changes::EGRESS_REFUSED,
    codes::VERSION_UNSUPPORTED,
    codes::UNAUTHENTICATED,
    actions::POLICY_DENIED,
    actions::POLICY_UNAVAILABLE,
    actions::APPROVAL_DENIED,
    actions::APPROVAL_EXPIRED,
    actions::APPROVAL_VOIDED,
    actions::TOOL_CHANGED,
    actions::CONNECTOR_DISABLED,
    actions::AGENT_STOPPED,
    actions::AGENT_SUSPENDED,
    actions::ORG_STOPPED,
    actions::INTENT_REQUIRED,
    actions::INTENT_INVALID,
    actions::INTENT_REPLAY,
    codes::INSUFFICIENT_SCOPE,
    codes::ORIGIN_REFUSED,
    codes::CSRF_FAILED,
    changes::ROLE_REQUIRED,
    sign_in::REAUTHENTICATION_REQUIRED,
    sign_in::SIGNUP_CLOSED,
    changes::PERSON_REQUIRED,
    changes::SELF_CHANGE,
    approvals::NOT_AN_APPROVER,
    approvals::SELF_APPROVAL,
    actions::TOOL_UNKNOWN,
    changes::CONNECTOR_TYPE_UNKNOWN,
    codes::NOT_FOUND,
    codes::ROUTE_UNKNOWN,
    codes::METHOD_NOT_ALLOWED,
    codes::BODY_TOO_LARGE,
    codes::URI_TOO_LONG,
    codes::MEDIA_TYPE_UNSUPPORTED,
    codes::HEADERS_TOO_LARGE,
    changes::CONFLICT,
    approvals::APPROVAL_STALE,
    approvals::APPROVAL_DECIDED,
    changes::NAME_TAKEN,
    changes::LIMIT_REACHED,
    changes::CONNECTOR_UNREACHABLE,
    changes::WITNESS_NOT_READY,
    changes::ALREADY_MEMBER,
    changes::LAST_OWNER,
    changes::POLICY_ACTIVE,
    changes::POLICY_TESTS_FAILED,
    sign_in::CHALLENGE_EXPIRED,
    changes::INVITE_EXPIRED,
    approvals::LINK_USED,
    actions::IDEMPOTENCY_CONFLICT,
    actions::BUDGET_EXCEEDED,
    codes::RATE_LIMITED,
    codes::INTERNAL_ERROR,
    codes::SERVICE_UNAVAILABLE,
];

/// The code that the word names.
pub(crate) fn from_word(word: &str) -> Option<Code> {
    ALL.iter().copied().find(|code| code.as_str() == word)
}

/// The catalogue as the Markdown table of `docs/errors.md`.
pub fn errors_markdown() -> String {
    let mut text = String::from(
        "# Error codes\n\nGenerated from `crates/http-api/src/catalogue.rs`.\n\n\
         | HTTP | type | code | Meaning | What to do |\n|---|---|---|---|---|\n",
    );
    text.extend(ALL.iter().map(|code| {
        let CodeRow { word, statuses, family, title, remedy } = code.row();
        let statuses: Vec<String> = statuses.iter().map(u16::to_string).collect();
        let (status, family) = (statuses.join(", "), family.as_str());
        format!("| {status} | `{family}` | `{word}` | {title} | {remedy} |\n")
    }));
    text
}
