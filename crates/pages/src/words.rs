//! The closed vocabulary of badges: which symbol, which word and which look each value has. What is
//! ordinary is plain; a look alone says nothing that the word does not.

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
    row(["key", "pending"],              ["clock",   "Not yet",    "line"]),
    row(["invite", "pending"],           ["mail",    "Invited",    "wait"]),
    row(["invite", "accepted"],          ["check",   "Accepted",   "ok"]),
    row(["invite", "expired"],           ["clock",   "Expired",    "line"]),
    row(["invite", "revoked"],           ["minus",   "Revoked",    "line"]),
    row(["effect", "read"],              ["book",    "Reads",      "line"]),
    row(["effect", "write"],             ["pen",     "Writes",     "line"]),
    row(["effect", "destructive"],       ["warn",    "Destroys",   "line"]),
    row(["policy", "enforce"],           ["check",   "Enforced",   "run"]),
    row(["policy", "shadow"],            ["eye",     "Shadow",     "line"]),
    row(["connector", "enabled"],        ["check",   "Enabled",    "ok"]),
    row(["connector", "disabled"],       ["pause",   "Disabled",   "wait"]),
    row(["connector", "archived"],       ["minus",   "Archived",   "line"]),
    row(["slot", "setup"],               ["clock",   "To be made", "wait"]),
    row(["slot", "streaming"],           ["check",   "Read",       "ok"]),
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
    row(["check", "passed"],             ["check",   "Whole",      "ok"]),
    row(["check", "pass"],               ["check",   "Whole",      "ok"]),
    row(["check", "valid"],              ["check",   "Whole",      "ok"]),
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
    templates.add_function("told_of", told_of);
    templates.add_function("told_of_link", told_of_link);
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

/// What happened, in words: the symbol and the words of an event's type.
fn event(kind: &str) -> Value {
    let family = kind.split('.').next().unwrap_or_default();
    let icon = EVENTS.iter().find(|(of, _)| *of == family).map_or("rows", |(_, icon)| icon);
    let mut words = kind.replace(['.', '_'], " ");
    if let Some(first) = words.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    context! { icon => icon, words => words }
}

/// The badge of a value. A value that this version does not know is shown as it is written.
fn word(kind: &str, value: &str) -> Result<Value, Error> {
    if !WORDS.iter().any(|row| row.kind == kind) {
        return Err(Error::new(ErrorKind::InvalidOperation, format!("no badge is of `{kind}`")));
    }
    let found = WORDS.iter().find(|row| row.kind == kind && row.value == value);
    let (icon, word, look) =
        found.map_or(("unknown", value, "line"), |row| (row.icon, row.word, row.look));
    Ok(context! { icon => icon, word => word, look => look })
}

/// What a person should know before a yes: a few words, and a sentence.
fn warning(code: &str) -> Value {
    let [lead, sentence] = match code {
        "irreversible" => {
            ["It cannot be taken back.", "The tool says that it destroys what it works on."]
        }
        "excludes_nobody" => [
            "Nobody is excluded by name.",
            "The person for whom the agent acts may not decide this, and what the agent states names no member of your org.",
        ],
        "tool_changed" => {
            ["The tool was changed.", "Its definition is not the one that ran before."]
        }
        "budget_near" => [
            "A budget is nearly used up.",
            "With this call it is at four fifths of its limit or more.",
        ],
        "tool_new" => ["The tool is new.", "Nobody of your org has run it yet."],
        "first_use" => {
            ["It is the agent's first time.", "This agent has not run this tool before."]
        }
        "off_hours" => [
            "It comes at an unusual time.",
            "This agent did not act at this time of day in the last two weeks.",
        ],
        "estimate_large" => [
            "It would change a lot.",
            "The estimate tells of 100 rows or more, or of more than the tool declares.",
        ],
        "estimate_missing" => {
            ["No estimate.", "What it would change could not be looked at beforehand."]
        }
        "hidden_fields" => [
            "Not everything is shown.",
            "The policy hides a part of the arguments from this page, or it is too large for it.",
        ],
        "misleading_text" => [
            "The text may mislead.",
            "It holds letters that are not seen or that turn what stands beside them, or a name mixes letters of several scripts.",
        ],
        other => [other, ""],
    };
    context! { lead => lead, sentence => sentence }
}

/// Why somebody may not decide, in a sentence to them.
fn why_not(code: &str) -> &'static str {
    match code {
        "not_an_approver" => "You can't decide this: the rule asks others.",
        "self_approval" => {
            "You can't decide this: the rule excludes you, as the one it is for, the author of the policy or the owner of the agent."
        }
        "conflict" => {
            "Your yes counts already, or a Stop holds the call. A no is taken all the same."
        }
        "approval_decided" => "This is settled.",
        "approval_expired" => "It ran out. It ended as no.",
        "reauthentication_required" => "The rule takes answers from those alone who are signed in.",
        "person_required" => "Only a person decides this.",
        _ => "You can't decide this.",
    }
}

/// What took the question to a person away, in a sentence; nothing of a code that is no such reason.
fn voided(reason: &str) -> Option<&'static str> {
    Some(match reason.parse().ok()? {
        VoidReason::OrgStopped => "Voided by a Stop of the whole org; it never ran.",
        VoidReason::AgentStopped => "Voided by a Stop of its agent; it never ran.",
        VoidReason::AgentArchived => "Voided when its agent was archived; it never ran.",
        VoidReason::AgentSuspended => "Voided, as its agent was suspended; it never ran.",
        VoidReason::KeyInvalid => {
            "Voided, as the key that sent it was not valid any more; it never ran."
        }
        VoidReason::PayloadPruned => {
            "Voided, as its arguments were not kept any more; it never ran."
        }
        VoidReason::PolicyDenied => {
            "Voided, as a rule of the policy denied it by then; it never ran."
        }
        VoidReason::DefaultDenied => {
            "Voided, as no rule of the policy covered it by then; it never ran."
        }
        VoidReason::PolicyUnavailable => {
            "Voided, as the policy could not be evaluated; it never ran."
        }
        VoidReason::BudgetExceeded => "Voided, as a budget was spent; it never ran.",
        VoidReason::ToolUnknown => "Voided, as its tool was not served any more; it never ran.",
        VoidReason::ToolChanged => {
            "Voided, as its tool was not the one that was asked about; it never ran."
        }
        VoidReason::ConnectorDisabled => "Voided, as its connector was disabled; it never ran.",
    })
}

/// What went wrong with what somebody just did, by the code of the refusal.
fn told_of(code: &str) -> Value {
    let [lead, sentence] = match code {
        "approval_stale" => [
            "Nothing was decided.",
            "What you saw has changed. This is how it stands now; where the tool runs elsewhere by now, only a no is taken.",
        ],
        "approval_decided" => ["It was settled before.", "Your answer changed nothing."],
        "approval_expired" => ["It ran out while you read.", "It ended as no."],
        "not_an_approver" => ["Nothing was decided.", "The rule asks others."],
        "self_approval" => ["Nothing was decided.", "The rule excludes you."],
        "conflict" => ["Nothing was decided.", "You said yes already, or a Stop holds the call."],
        "reauthentication_required" => {
            ["Sign in again first.", "This takes a sign-in that is at most 15 minutes old."]
        }
        "validation_failed" => {
            ["Nothing was done.", "Something in the form is missing or too long."]
        }
        "challenge_expired" => [
            "The code works no more.",
            "It is older than 10 minutes, or was tried 5 times. Ask for a new one.",
        ],
        "unauthenticated" => {
            ["That is not the code.", "Look at the newest mail, and type it as it stands there."]
        }
        "invite_expired" => [
            "This invitation lets you in no more.",
            "It was for another address, was used or revoked, or is older than seven days. Whoever sent it can send a new one.",
        ],
        "signup_closed" => {
            ["Nobody new is let in now.", "Whoever runs the server can change that."]
        }
        "rate_limited" => ["Too many at once.", "Wait a little, then try again."],
        "service_unavailable" => [
            "The service can't answer now.",
            "Whether anything was recorded is told by the page of the call.",
        ],
        _ => ["That was refused.", "Nothing was done."],
    };
    context! { lead => lead, sentence => sentence }
}

/// The same where the link of a mail led to it: its reader shows no session, types no code, and may
/// be the very person whose answer counted.
fn told_of_link(code: &str) -> Value {
    let [lead, sentence] = match code {
        "link_used" => [
            "This link answers no more.",
            "It was used, or is too old. What was answered with it stands: sign in to see that.",
        ],
        "unauthenticated" => [
            "This link opens nothing.",
            "It is not whole, or was for somebody who is no longer a member of the org.",
        ],
        "reauthentication_required" => [
            "Nothing was decided.",
            "The rule takes no answer by a link. Sign in and answer there.",
        ],
        "approval_expired" => ["It ran out.", "Nobody answered in time, and it ended as no."],
        other => return told_of(other),
    };
    context! { lead => lead, sentence => sentence }
}

#[cfg(test)]
mod tests {
    use super::{event, told_of_link};

    #[test]
    fn a_link_is_told_of_in_words_of_its_own() {
        for code in ["link_used", "unauthenticated", "reauthentication_required"] {
            let told = told_of_link(code);
            let told = [told.get_attr("lead").unwrap(), told.get_attr("sentence").unwrap()];
            let told = told.map(|part| part.to_string()).join(" ");
            assert!(!told.contains("code") && !told.contains("15 minutes"), "{code}: {told}");
        }
        let used = told_of_link("link_used").get_attr("lead").unwrap().to_string();
        assert_ne!(used, "Nothing was decided.", "its reader's yes may have run the call");
        let stale = told_of_link("approval_stale").get_attr("sentence").unwrap().to_string();
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
