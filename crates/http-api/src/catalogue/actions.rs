//! Error codes: what becomes of an agent's call.

#[rustfmt::skip]
web::codes! {
    POLICY_DENIED        "policy_denied"        [403] Policy "The org's policy denies this call." "Read `message`. The same call is denied again until the policy changes. The refusal is sealed in `error.action.deed`."
    POLICY_UNAVAILABLE   "policy_unavailable"   [403] Policy "The policy could not be evaluated, so the call is refused." "Check that the arguments have the fields that the rule named in `error.action.decision` reads; that refusal is sealed. If there is no `error.action`, no policy is enforced in the org: ask an admin to activate one."
    APPROVAL_DENIED      "approval_denied"      [403] Policy "A person denied this call." "Do not send it again unless the person agrees. The refusal is sealed."
    APPROVAL_EXPIRED     "approval_expired"     [403, 410] Policy "Nobody decided in time, so the call is denied." "Send the call again if it is still needed. The refusal is sealed. A decision that is sent after the expiry gets 410."
    APPROVAL_VOIDED      "approval_voided"      [403] Policy "The approval request was voided by a Stop, or because what it was about changed." "Send the call again when the cause no longer exists. The refusal is sealed."
    TOOL_CHANGED         "tool_changed"         [403] Policy "The tool's definition is not the one that was pinned." "Ask an admin to review the new definition. The refusal is sealed."
    CONNECTOR_DISABLED   "connector_disabled"   [403] Policy "The tool's connector is disabled." "Ask an admin to enable it. The refusal is sealed."
    AGENT_STOPPED        "agent_stopped"        [403] Permission "The agent is stopped." "Wait until a person starts it. The refusal is sealed."
    AGENT_SUSPENDED      "agent_suspended"      [403] Permission "The agent is suspended or has expired." "Wait until the suspension ends, or until a person resumes the agent or sets a later expiry. The refusal is sealed."
    ORG_STOPPED          "org_stopped"          [403] Permission "Every agent of the org is stopped." "Wait until a person starts the org. The refusal is sealed."
    INTENT_REQUIRED      "intent_required"      [403] Permission "This agent's calls must be signed." "Send a signed intent in `Service-Intent`. Nothing was recorded."
    INTENT_INVALID       "intent_invalid"       [403] Permission "The signed intent is not valid for this call." "Sign exactly this call with an active key of this agent. Nothing was recorded."
    INTENT_REPLAY        "intent_replay"        [403] Permission "The signed intent was already used." "Sign a new intent for each call, with a nonce of its own; send a retry with the same `Idempotency-Key`. Nothing was recorded."
    TOOL_UNKNOWN         "tool_unknown"         [404] InvalidRequest "No connector serves this tool, or the name is not a valid tool name." "List the tools with `GET /v1/tools`. The refusal is sealed."
    IDEMPOTENCY_CONFLICT "idempotency_conflict" [422] InvalidRequest "The `Idempotency-Key` was used for a different request within the last 24 hours." "Use a new key for a new request."
    BUDGET_EXCEEDED      "budget_exceeded"      [429] RateLimit "A budget of the policy is used up." "Wait `Retry-After` seconds until the budget's window resets, and send the call with a new `Idempotency-Key`: the old one returns the refusal for 24 hours. The refusal is sealed."
}
