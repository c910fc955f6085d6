//! Error codes: what keeps an org from being changed.

#[rustfmt::skip]
web::codes! {
    PERSON_REQUIRED     "person_required"     [403] Permission "Only a signed-in person may do this." "Sign in; an API key is not accepted here."
    ROLE_REQUIRED       "role_required"       [403] Permission "Your role in the org does not allow this." "Ask an owner of the org to do it, or to give you another role."
    CONFLICT            "conflict"            [409] InvalidRequest "The object is not in a state that allows this." "Read the object again; `message` describes its state."
    SELF_CHANGE         "self_change"         [403] Permission "Members may not change their own role or permission." "Ask another owner."
    ALREADY_MEMBER      "already_member"      [409] InvalidRequest "The person is already a member of the org." "Change their role or permission instead of inviting them."
    LAST_OWNER          "last_owner"          [409] InvalidRequest "An org must have an owner." "Make another member an owner first."
    INVITE_EXPIRED      "invite_expired"      [410] InvalidRequest "The invitation is no longer valid, or is for another person." "Sign in with the address that was invited, or ask for another invitation."
    NAME_TAKEN          "name_taken"          [409] InvalidRequest "The name is in use." "Choose another name."
    LIMIT_REACHED       "limit_reached"       [409] InvalidRequest "The org has reached the limit of these objects." "Remove one first."
    CONNECTOR_TYPE_UNKNOWN "connector_type_unknown" [404] InvalidRequest "There is no connector type with this name." "Use one of the types that `GET /v1/connector_types` lists."
    EGRESS_REFUSED      "egress_refused"      [400] InvalidRequest "The service may not connect to this address." "Use a public address, or ask the operator to allow its network."
    CONNECTOR_UNREACHABLE "connector_unreachable" [409] InvalidRequest "The governed system could not be queried." "Check its address and the credential; `message` names the cause. Nothing was changed."
    WITNESS_NOT_READY   "witness_not_ready"   [409] InvalidRequest "The governed database is not prepared for the witness." "Have its owner run the script of `POST /v1/connectors/{id}/witness/setup`; `error.missing` says what is missing. Nothing was changed."
    POLICY_INVALID      "policy_invalid"      [400] InvalidRequest "The policy document has errors." "Correct the findings in `error.lint`, each of which names its line. Nothing was stored."
    POLICY_ACTIVE       "policy_active"       [409] InvalidRequest "The policy is active." "Activate another policy first."
    POLICY_TESTS_FAILED "policy_tests_failed" [409] InvalidRequest "The policy's own tests fail under this version." "Read `error.tests` for the cases that failed; correct the version or the tests."
}
