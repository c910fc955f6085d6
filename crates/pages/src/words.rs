//! The closed vocabulary of badges: the symbol, the word and the look of each value. Ordinary values are
//! plain, and a look never says more than the word does.

use minijinja::{Environment, Error, ErrorKind, Value, context};
use model::VoidReason;

/// One value of one kind: its symbol, its word and its look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Word {
    /// The kind of value.
    pub kind: &'static str,
    /// The value, as the interface writes it.
    pub value: &'static str,
    /// The symbol.
    pub icon: &'static str,
    /// The word.
    pub word: &'static str,
    /// The look.
    pub look: &'static str,
}

const fn row([kind, value]: [&'static str; 2], [icon, word, look]: [&'static str; 3]) -> Word {
    Word { kind, value, icon, word, look }
}

/// Every value that has a badge.
#[rustfmt::skip]
pub const WORDS: &[Word] = &[
    row(["status", "executed"],          ["tick",    "Executed",   "plain"]),
    row(["status", "failed"],            ["cross",   "Failed",     "bad"]),
    row(["status", "authorized"],        ["enter",   "Authorized", "run"]),
    row(["status", "processing"],        ["busy",    "Processing", "run"]),
    row(["status", "pending_approval"],  ["pause",   "Waiting",    "wait"]),
    row(["status", "denied"],            ["block",   "Denied",     "block"]),
    row(["status", "cancelled"],         ["minus",   "Cancelled",  "line"]),
    row(["decision", "allow"],           ["tick",    "Allow",      "plain"]),
    row(["decision", "deny"],            ["block",   "Deny",       "plain"]),
    row(["decision", "require_approval"], ["pause",  "Hold",       "plain wait-word"]),
    row(["approval", "pending"],         ["pause",   "Waiting",    "wait"]),
    row(["approval", "approved"],        ["check",   "Approved",   "ok"]),
    row(["approval", "denied"],          ["block",   "Denied",     "block"]),
    row(["approval", "expired"],         ["clock",   "Expired",    "line"]),
    row(["approval", "cancelled"],       ["minus",   "Cancelled",  "line"]),
    row(["approval", "voided"],          ["minus",   "Voided",     "line"]),
    row(["agent", "active"],             ["check",   "Active",     "ok"]),
    row(["agent", "stopped"],            ["stop",    "Stopped",    "solid"]),
    row(["agent", "suspended"],          ["pause",   "Suspended",  "wait"]),
    row(["agent", "archived"],           ["minus",   "Archived",   "line"]),
    row(["agent", "expired"],            ["clock",   "Expired",    "line"]),
    row(["key", "active"],               ["check",   "Active",     "ok"]),
    row(["key", "rolling"],              ["busy",    "Rolling",    "wait"]),
    row(["key", "expired"],              ["clock",   "Expired",    "line"]),
    row(["key", "revoked"],              ["minus",   "Revoked",    "line"]),
    row(["key", "pending"],              ["clock",   "Pending",    "line"]),
    row(["invite", "pending"],           ["mail",    "Invited",    "wait"]),
    row(["invite", "accepted"],          ["check",   "Accepted",   "ok"]),
    row(["invite", "expired"],           ["clock",   "Expired",    "line"]),
    row(["invite", "revoked"],           ["minus",   "Revoked",    "line"]),
    row(["effect", "read"],              ["book",    "Reads",      "line"]),
    row(["effect", "write"],             ["pen",     "Writes",     "line"]),
    row(["effect", "destructive"],       ["warn",    "Destructive", "line"]),
    row(["policy", "enforce"],           ["check",   "Enforced",   "run"]),
    row(["policy", "shadow"],            ["eye",     "Shadow",     "line"]),
    row(["connector", "enabled"],        ["check",   "Enabled",    "ok"]),
    row(["connector", "disabled"],       ["pause",   "Disabled",   "wait"]),
    row(["connector", "archived"],       ["minus",   "Archived",   "line"]),
    row(["slot", "setup"],               ["clock",   "Pending", "wait"]),
    row(["slot", "streaming"],           ["check",   "Streaming",  "ok"]),
    row(["slot", "invalidated"],         ["warn",    "Broken",     "bad"]),
    row(["tool", "pinned"],              ["check",   "Accepted",   "ok"]),
    row(["tool", "new"],                 ["enter",   "New",        "wait"]),
    row(["tool", "changed"],             ["differs", "Changed",    "wait"]),
    row(["tool", "gone"],                ["minus",   "Gone",       "line"]),
    row(["webhook", "enabled"],          ["check",   "Enabled",    "ok"]),
    row(["webhook", "failing"],          ["warn",    "Failing",    "wait"]),
    row(["webhook", "disabled"],         ["pause",   "Disabled",   "line"]),
    row(["delivery", "pending"],         ["clock",   "Pending",    "line"]),
    row(["delivery", "retrying"],        ["again",   "Retrying",   "wait"]),
    row(["delivery", "delivered"],       ["tick",    "Delivered",  "plain"]),
    row(["delivery", "dead"],            ["cross",   "Dead",       "bad"]),
    row(["delivery", "dropped"],         ["minus",   "Dropped",    "line"]),
    row(["check", "queued"],             ["clock",   "Queued",     "line"]),
    row(["check", "running"],            ["busy",    "Running",    "run"]),
    row(["check", "passed"],             ["check",   "Intact",     "ok"]),
    row(["check", "pass"],               ["check",   "Intact",     "ok"]),
    row(["check", "valid"],              ["check",   "Intact",     "ok"]),
    row(["check", "fail"],               ["cross",   "Broken",     "bad"]),
    row(["check", "invalid"],            ["cross",   "Broken",     "bad"]),
    row(["check", "finished"],           ["tick",    "Finished",   "plain"]),
    row(["check", "failed"],             ["cross",   "Broken",     "bad"]),
    row(["level", "error"],              ["cross",   "Error",      "bad"]),
    row(["level", "warning"],            ["warn",    "Warning",    "wait"]),
    row(["level", "info"],               ["book",    "Note",       "line"]),
    row(["level", "note"],               ["book",    "Note",       "line"]),
];

pub(crate) fn add_to(templates: &mut Environment<'_>) {
    templates.add_function("word", word);
    templates.add_function("warning", warning);
    templates.add_function("why_not", why_not);
    templates.add_function("voided", voided);
    templates.add_function("refusal", refusal);
    templates.add_function("refusal_of_link", refusal_of_link);
    templates.add_function("event", event);
}

/// The symbols of events, by the first word of their types.
#[rustfmt::skip]
const EVENTS: &[(&str, &str)] = &[
    ("action",    "enter"),
    ("approval",  "inbox"),
    ("deed",      "seal"),
    ("agent",     "robot"),
    ("agent_key", "key"),
    ("api_key",   "key"),
    ("seal_key",  "key"),
    ("intent_key", "key"),
    ("policy",    "doc"),
    ("connector", "data"),
    ("tool",      "data"),
    ("witness",   "eye"),
    ("webhook",   "hook"),
    ("member",    "mail"),
    ("invite",    "mail"),
    ("org",       "gear"),
    ("log",       "ledger"),
    ("chain",     "ledger"),
];

/// The symbol and the words of an event type.
fn event(kind: &str) -> Value {
    let family = kind.split('.').next().unwrap_or_default();
    let icon = EVENTS.iter().find(|(of, _)| *of == family).map_or("rows", |(_, icon)| icon);
    let mut words = kind.replace(['.', '_'], " ");
    if let Some(first) = words.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    context! { icon => icon, words => words }
}

/// The badge of a value. A value that this version does not know is shown unchanged.
fn word(kind: &str, value: &str) -> Result<Value, Error> {
    if !WORDS.iter().any(|row| row.kind == kind) {
        return Err(Error::new(
            ErrorKind::InvalidOperation,
            format!("unknown kind of badge: `{kind}`"),
        ));
    }
    let found = WORDS.iter().find(|row| row.kind == kind && row.value == value);
    let (icon, word, look) =
        found.map_or(("unknown", value, "line"), |row| (row.icon, row.word, row.look));
    Ok(context! { icon => icon, word => word, look => look })
}

/// A warning shown before an approval: a few words and a sentence.
fn warning(code: &str) -> Value {
    let [lead, sentence] = match code {
        "irreversible" => ["It cannot be undone.", "The tool is declared destructive."],
        "excludes_nobody" => [
            "Nobody is excluded by name.",
            "The person on whose behalf the agent acts may not decide this, and the value that the agent sent matches no member of your org.",
        ],
        "tool_changed" => {
            ["The tool has changed.", "Its definition differs from the one that ran before."]
        }
        "budget_near" => {
            ["A budget is almost exhausted.", "With this call, 80 % of its limit or more is used."]
        }
        "tool_new" => ["The tool is new.", "Nobody in your org has run it yet."],
        "first_use" => ["First use by this agent.", "This agent has not run this tool before."],
        "off_hours" => {
            ["Unusual time.", "This agent did not act at this time of day in the last two weeks."]
        }
        "estimate_large" => {
            ["Large change.", "The estimate is 100 rows or more, or more than the tool declares."]
        }
        "estimate_missing" => ["No estimate.", "The change could not be estimated."],
        "hidden_fields" => [
            "Some arguments are hidden.",
            "The policy hides part of the arguments, or they are too large for this page.",
        ],
        "misleading_text" => [
            "The text may mislead.",
            "It contains invisible characters or characters that change the text direction, or a name mixes several scripts.",
        ],
        other => [other, ""],
    };
    context! { lead => lead, sentence => sentence }
}

/// The reason why the reader may not decide, as a sentence.
fn why_not(code: &str) -> &'static str {
    match code {
        "not_an_approver" => "You can't decide this: you are not one of its approvers.",
        "self_approval" => {
            "You can't decide this: the rule excludes you, because the call is on your behalf, or you wrote the policy version or own the agent."
        }
        "conflict" => {
            "You have already approved this, or the agent or its org is held. You can still deny it."
        }
        "approval_decided" => "This is no longer open.",
        "approval_expired" => "It expired, and the call was denied.",
        "reauthentication_required" => {
            "The rule accepts decisions only from people who are signed in."
        }
        "person_required" => "Only a person can decide this.",
        _ => "You can't decide this.",
    }
}

/// The reason why an approval was voided, as a sentence; `None` for an unknown code.
fn voided(reason: &str) -> Option<&'static str> {
    Some(match reason.parse().ok()? {
        VoidReason::OrgStopped => "Voided by a Stop of the whole org; it never ran.",
        VoidReason::AgentStopped => "Voided by a Stop of its agent; it never ran.",
        VoidReason::AgentArchived => "Voided when its agent was archived; it never ran.",
        VoidReason::AgentSuspended => "Voided because its agent was suspended; it never ran.",
        VoidReason::KeyInvalid => {
            "Voided because the key that sent it was no longer valid; it never ran."
        }
        VoidReason::PayloadPruned => {
            "Voided because its arguments were deleted by retention; it never ran."
        }
        VoidReason::PolicyDenied => {
            "Voided because a rule of the policy denied it at release; it never ran."
        }
        VoidReason::DefaultDenied => {
            "Voided because no rule of the policy allowed it at release; it never ran."
        }
        VoidReason::PolicyUnavailable => {
            "Voided because the policy could not be evaluated; it never ran."
        }
        VoidReason::BudgetExceeded => "Voided because a budget was exhausted; it never ran.",
        VoidReason::ToolUnknown => "Voided because its tool no longer existed; it never ran.",
        VoidReason::ToolChanged => {
            "Voided because its tool had changed since the request; it never ran."
        }
        VoidReason::ConnectorDisabled => "Voided because its connector was disabled; it never ran.",
    })
}

/// The notice for a request that was refused, by the code of the error.
fn refusal(code: &str) -> Value {
    let [lead, sentence] = match code {
        "approval_stale" => [
            "Nothing was decided.",
            "What you saw has changed. This is the current state. If the tool now runs in another place, you can only deny.",
        ],
        "approval_decided" => ["It is no longer open.", "Your decision changed nothing."],
        "approval_expired" => ["It expired while you read it.", "The call was denied."],
        "not_an_approver" => ["Nothing was decided.", "You are not one of the approvers."],
        "self_approval" => ["Nothing was decided.", "The rule excludes you."],
        "conflict" => [
            "Nothing was decided.",
            "You have already approved this, or the agent or its org is held.",
        ],
        "reauthentication_required" => {
            ["Sign in again first.", "This requires a sign-in within the last 15 minutes."]
        }
        "validation_failed" => ["Nothing was done.", "A field of the form is missing or too long."],
        "challenge_expired" => [
            "This code has expired.",
            "It is older than 10 minutes, or there were 5 wrong attempts. Request a new one.",
        ],
        "unauthenticated" => ["That is not the code.", "Enter the code from the latest mail."],
        "invite_expired" => [
            "This invitation is no longer valid.",
            "It was for another address, was used or revoked, or is older than seven days. The person who sent it can send a new one.",
        ],
        "signup_closed" => ["Sign-up is closed.", "The operator of the server can change that."],
        "rate_limited" => ["Too many requests.", "Wait a moment, then try again."],
        "service_unavailable" => [
            "The service is unavailable.",
            "The page of the call shows whether anything was recorded.",
        ],
        _ => ["That was refused.", "Nothing was done."],
    };
    context! { lead => lead, sentence => sentence }
}

/// The notice for a request by the link of a mail: the reader has no session, enters no code, and may be
/// the person whose decision counted.
fn refusal_of_link(code: &str) -> Value {
    let [lead, sentence] = match code {
        "link_used" => [
            "This link is no longer valid.",
            "It was used or has expired. A decision made with it remains: sign in to see it.",
        ],
        "unauthenticated" => [
            "This link is not valid.",
            "It is incomplete, or was for somebody who is no longer a member of the org.",
        ],
        "reauthentication_required" => [
            "Nothing was decided.",
            "The rule does not accept decisions by link. Sign in to decide.",
        ],
        "approval_expired" => ["It expired.", "Nobody decided in time, so the call was denied."],
        other => return refusal(other),
    };
    context! { lead => lead, sentence => sentence }
}

#[cfg(test)]
mod tests {
    use super::{event, refusal_of_link};

    #[test]
    fn a_link_is_told_of_in_words_of_its_own() {
        for code in ["link_used", "unauthenticated", "reauthentication_required"] {
            let told = refusal_of_link(code);
            let told = [told.get_attr("lead").unwrap(), told.get_attr("sentence").unwrap()];
            let told = told.map(|part| part.to_string()).join(" ");
            assert!(!told.contains("code") && !told.contains("15 minutes"), "{code}: {told}");
        }
        let used = refusal_of_link("link_used").get_attr("lead").unwrap().to_string();
        assert_ne!(used, "Nothing was decided.", "its reader's yes may have run the call");
        let stale = refusal_of_link("approval_stale").get_attr("sentence").unwrap().to_string();
        assert!(stale.contains("has changed"), "{stale}");
    }

    #[test]
    fn an_event_is_told_in_words() {
        let told = |kind| {
            let told = event(kind);
            (
                told.get_attr("icon").unwrap().to_string(),
                told.get_attr("words").unwrap().to_string(),
            )
        };
        assert_eq!(told("policy.version_created"), ("doc".into(), "Policy version created".into()));
        assert_eq!(told("agent_key.rolled"), ("key".into(), "Agent key rolled".into()));
        assert_eq!(told("retention.pruned"), ("rows".into(), "Retention pruned".into()));
    }
}
