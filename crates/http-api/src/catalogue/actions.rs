//! Error codes: what becomes of an agent's call.

#[rustfmt::skip]
web::codes! {
    POLICY_DENIED        "policy_denied"        [403] Policy "The org's policy denies this call." "Read the sentence in `message`; sending the same call again gives the same answer until the policy changes. The refusal is sealed in `error.action.deed`."
    POLICY_UNAVAILABLE   "policy_unavailable"   [403] Policy "The policy could not be evaluated, so the call is refused." "Check that the arguments have the fields that the rule named in `error.action.decision` reads; that refusal is sealed. Where there is no `error.action`, no policy decides in the org: ask an admin to activate one."
    APPROVAL_DENIED      "approval_denied"      [403] Policy "A person refused this call." "Do not send it again unless the person agrees. The refusal is sealed."
    APPROVAL_EXPIRED     "approval_expired"     [403, 410] Policy "Nobody decided in time, which means no." "Send the call again if it is still wanted. The refusal is sealed; 410 is what somebody is told who answers then."
    APPROVAL_VOIDED      "approval_voided"      [403] Policy "The question to a person was taken away, by a Stop or by a change of what it was about." "Send the call again once the cause is gone. The refusal is sealed."
    TOOL_CHANGED         "tool_changed"         [403] Policy "The tool's definition is not the one that was pinned." "Ask an admin to review the new definition. The refusal is sealed."
    CONNECTOR_DISABLED   "connector_disabled"   [403] Policy "The tool's connector is disabled." "Ask an admin to enable it. The refusal is sealed."
    AGENT_STOPPED        "agent_stopped"        [403] Permission "The agent is stopped." "Wait until a person starts it. The refusal is sealed."
    AGENT_SUSPENDED      "agent_suspended"      [403] Permission "The agent is suspended, or its time is over." "Wait until the suspension ends or a person resumes it or gives it a later end. The refusal is sealed."
    ORG_STOPPED          "org_stopped"          [403] Permission "Every agent of the org is stopped." "Wait until a person starts the org. The refusal is sealed."
    INTENT_REQUIRED      "intent_required"      [403] Permission "This agent's calls must be signed." "Send a signed intent in `Service-Intent`. Nothing was recorded."
    INTENT_INVALID       "intent_invalid"       [403] Permission "The signed intent does not hold for this call." "Sign exactly this call with a live key of this agent. Nothing was recorded."
    INTENT_REPLAY        "intent_replay"        [403] Permission "The signed intent was used before." "Sign a new intent for each call, with a nonce of its own; send a retry with the same `Idempotency-Key`. Nothing was recorded."
    TOOL_UNKNOWN         "tool_unknown"         [404] InvalidRequest "No connector serves this tool, or the name is no tool name." "List the tools with `GET /v1/tools`. The refusal is sealed."
    IDEMPOTENCY_CONFLICT "idempotency_conflict" [422] InvalidRequest "The `Idempotency-Key` was used for a different request within the last 24 hours." "Use a new key for a new request."
    BUDGET_EXCEEDED      "budget_exceeded"      [429] RateLimit "A budget of the policy is spent." "Wait `Retry-After` seconds, when the budget's window resets, and send the call with a new `Idempotency-Key`: the old one names the refusal for 24 hours. The refusal is sealed."
}
