//! Error codes: what keeps somebody from answering what people are asked.

#[rustfmt::skip]
web::codes! {
    NOT_AN_APPROVER  "not_an_approver"  [403] Permission "You are not among the people who may decide this." "Ask one of those in `eligible` of the approval."
    SELF_APPROVAL    "self_approval"    [403] Permission "The rule excludes you from deciding this: it is on your behalf, or of your making." "Ask another approver."
    APPROVAL_STALE   "approval_stale"   [409] InvalidRequest "What was shown is not what would be decided." "Read the approval again and decide on what it shows."
    LINK_USED        "link_used"        [410] InvalidRequest "The link was used, or is too old." "Sign in to see how the action stands."
    APPROVAL_DECIDED "approval_decided" [409] InvalidRequest "The approval is settled." "Read the approval to see how."
}
