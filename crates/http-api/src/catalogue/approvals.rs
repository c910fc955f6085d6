//! Error codes: what keeps somebody from answering what people are asked.

#[rustfmt::skip]
web::codes! {
    NOT_AN_APPROVER  "not_an_approver"  [403] Permission "You are not one of the people who may decide this approval." "Ask one of those in `eligible` of the approval."
    SELF_APPROVAL    "self_approval"    [403] Permission "You cannot decide this: the rule excludes you, because the call is on your behalf, or you wrote the policy version or own the agent." "Ask another approver."
    APPROVAL_STALE   "approval_stale"   [409] InvalidRequest "The `context_digest` is not the digest of what the approval asks now." "Read the approval again and decide what it shows now."
    LINK_USED        "link_used"        [410] InvalidRequest "The link was already used or has expired." "Sign in to see the status of the action."
    APPROVAL_DECIDED "approval_decided" [409] InvalidRequest "The approval is no longer pending." "Read the approval to see how it ended."
}
