//! Every error code of the HTTP surface, once: status, type, and what it means to a caller.
//!
//! The envelope, the interface description's enum, `docs/errors.md` and the pages that `doc_url`
//! leads to all come from this table. It says nothing about when a code is raised; `error` does.

mod page;

use std::fmt;

pub use page::content_security_policy;
pub use page::page;

/// The family of an error, the envelope's `type`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// The request is at fault.
    InvalidRequest,
    /// The credential is missing or not valid.
    Authentication,
    /// The org's policy refused.
    Policy,
    /// The caller may not do this.
    Permission,
    /// Too much at once.
    RateLimit,
    /// The service is at fault.
    Api,
}

impl Family {
    /// Returns the word of the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::InvalidRequest => "invalid_request_error",
            Self::Authentication => "authentication_error",
            Self::Policy => "policy_error",
            Self::Permission => "permission_error",
            Self::RateLimit => "rate_limit_error",
            Self::Api => "api_error",
        }
    }
}

/// One row of the catalogue.
#[derive(Debug, Clone, Copy)]
pub struct Entry {
    /// The code.
    pub code: Code,
    /// The HTTP statuses it comes with; the first one unless the raiser says otherwise.
    pub statuses: &'static [u16],
    /// The family.
    pub family: Family,
    /// What happened, in a few words.
    pub title: &'static str,
    /// What to do about it.
    pub remedy: &'static str,
}

/// Defines the enum and its table, so that no code can lack its row.
macro_rules! catalogue {
    ($($variant:ident $word:literal [$($status:literal),+] $family:ident $title:literal $remedy:literal)+) => {
        /// An error code of the HTTP surface.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Code {
            $(#[doc = $title] $variant),+
        }

        impl Code {
            /// Every code, in the order of the docs.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// Returns the word of the wire.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }

            /// Returns the code's row.
            pub const fn entry(self) -> Entry {
                match self {
                    $(Self::$variant => Entry {
                        code: self,
                        statuses: &[$($status),+],
                        family: Family::$family,
                        title: $title,
                        remedy: $remedy,
                    }),+
                }
            }
        }
    };
}

#[rustfmt::skip]
catalogue! {
    ValidationFailed       "validation_failed"       [400, 422] InvalidRequest "The request is malformed." "Read `message` and correct what `param` names. A malformed `Service-` header is 422, everything else 400. Nothing was recorded."
    PolicyInvalid          "policy_invalid"          [400] InvalidRequest "The policy document has errors." "Correct the findings in `error.lint`, each of which names its line. Nothing was stored."
    VersionUnsupported     "version_unsupported"     [400] InvalidRequest "The `Service-Version` header names a version that this server does not serve." "Leave the header out, or send one of the versions that `GET /v1/version` lists."
    Unauthenticated        "unauthenticated"         [401] Authentication "The API key is missing, not valid, revoked or expired." "Send `Authorization: Bearer` and a live key. Nothing was recorded."
    PolicyDenied           "policy_denied"           [403] Policy "The org's policy denies this call." "Read the sentence in `message`; sending the same call again gives the same answer until the policy changes. The refusal is sealed in `error.action.deed`."
    PolicyUnavailable      "policy_unavailable"      [403] Policy "The policy could not be evaluated, so the call is refused." "Check that the arguments have the fields that the rule named in `error.action.decision` reads. The refusal is sealed."
    ApprovalDenied         "approval_denied"         [403] Policy "A person refused this call." "Do not send it again unless the person agrees. The refusal is sealed."
    ApprovalExpired        "approval_expired"        [403] Policy "Nobody decided in time, which means no." "Send the call again if it is still wanted. The refusal is sealed."
    ApprovalVoided         "approval_voided"         [403] Policy "The question to a person was taken away, by a Stop or by a change of what it was about." "Send the call again once the cause is gone. The refusal is sealed."
    ToolChanged            "tool_changed"            [403] Policy "The tool's definition is not the one that was pinned." "Ask an admin to review the new definition. The refusal is sealed."
    ConnectorDisabled      "connector_disabled"      [403] Policy "The tool's connector is disabled." "Ask an admin to enable it. The refusal is sealed."
    AgentStopped           "agent_stopped"           [403] Permission "The agent is stopped." "Wait until a person starts it. The refusal is sealed."
    AgentSuspended         "agent_suspended"         [403] Permission "The agent is suspended." "Wait until the suspension ends or a person resumes it. The refusal is sealed."
    OrgStopped             "org_stopped"             [403] Permission "Every agent of the org is stopped." "Wait until a person starts the org. The refusal is sealed."
    IntentRequired         "intent_required"         [403] Permission "This agent's calls must be signed." "Send a signed intent in `Service-Intent`. Nothing was recorded."
    IntentInvalid          "intent_invalid"          [403] Permission "The signed intent does not hold for this call." "Sign exactly this call with a live key of this agent. Nothing was recorded."
    InsufficientScope      "insufficient_scope"      [403] Permission "The key may not do this." "Use a key that has the scope named in `WWW-Authenticate`."
    PersonRequired         "person_required"         [403] Permission "Only a signed-in person may do this." "Sign in; no key can take a person's place here."
    ToolUnknown            "tool_unknown"            [404] InvalidRequest "No connector serves this tool, or the name is no tool name." "List the tools with `GET /v1/tools`. The refusal is sealed."
    NotFound               "not_found"               [404] InvalidRequest "There is no such object in this org." "Check the id. Another org's id looks the same as one that does not exist."
    RouteUnknown           "route_unknown"           [404] InvalidRequest "This server has nothing at this path." "Check the path against the interface description at `/api/openapi.yaml`; paths match exactly."
    MethodNotAllowed       "method_not_allowed"      [405] InvalidRequest "The path does not take this method." "Use one of the methods in the `Allow` header."
    BodyTooLarge           "body_too_large"          [413] InvalidRequest "The body is larger than this route takes." "Send less at once; `docs/limits.md` lists the bounds."
    UriTooLong             "uri_too_long"            [414] InvalidRequest "The address is too long." "Shorten the query."
    MediaTypeUnsupported   "media_type_unsupported"  [415] InvalidRequest "The body is not in a form that this route reads." "Send `Content-Type: application/json` and no `Content-Encoding`."
    HeadersTooLarge        "headers_too_large"       [431] InvalidRequest "The request has too many or too long headers." "Send fewer and shorter headers."
    Conflict               "conflict"                [409] InvalidRequest "The object is not in a state that allows this." "Read the object again; `message` says how it stands."
    NameTaken              "name_taken"              [409] InvalidRequest "The name is in use." "Choose another name."
    LimitReached           "limit_reached"           [409] InvalidRequest "The org has as many of these as it may have." "Remove one first."
    PolicyActive           "policy_active"           [409] InvalidRequest "The policy is active." "Activate another one first."
    PolicyTestsFailed      "policy_tests_failed"     [409] InvalidRequest "The policy's own tests fail under this version." "Read `error.tests` for the cases that failed; correct the version or the tests."
    IdempotencyConflict    "idempotency_conflict"    [422] InvalidRequest "The `Idempotency-Key` was used for a different request within the last 24 hours." "Use a new key for a new request."
    BudgetExceeded         "budget_exceeded"         [429] RateLimit "A budget of the policy is spent." "Wait `Retry-After` seconds, when the budget's window resets. The refusal is sealed."
    RateLimited            "rate_limited"            [429] RateLimit "Too many requests of this kind are open." "Close some, or wait `Retry-After` seconds."
    InternalError          "internal_error"          [500] Api "The service failed." "Try again; if it persists, give the operator the `request_id`."
    ServiceUnavailable     "service_unavailable"     [503] Api "The service cannot answer now." "Try again after `Retry-After` seconds."
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Code {
    /// Returns the code that the word names.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|code| code.as_str() == word)
    }
}

/// Returns the catalogue as the Markdown table of `docs/errors.md`.
pub fn errors_markdown() -> String {
    let mut text = String::from(
        "# Error codes\n\nGenerated from `crates/http-api/src/catalogue.rs`.\n\n\
         | HTTP | type | code | Meaning | What to do |\n|---|---|---|---|---|\n",
    );
    let row = |entry: Entry| {
        let statuses: Vec<String> = entry.statuses.iter().map(u16::to_string).collect();
        let (status, family) = (statuses.join(", "), entry.family.as_str());
        let Entry { code, title, remedy, .. } = entry;
        format!("| {status} | `{family}` | `{code}` | {title} | {remedy} |\n")
    };
    text.extend(Code::ALL.iter().map(|code| row(code.entry())));
    text
}
