//! Error codes: what keeps somebody from signing in, or a session from going on.

#[rustfmt::skip]
web::codes! {
    REAUTHENTICATION_REQUIRED "reauthentication_required" [403] Permission "The last sign-in is more than 15 minutes old, and this operation requires a more recent one." "Request a code by `POST /v1/auth/reauth` and confirm with the code from the mail; the session continues with a new cookie."
    SIGNUP_CLOSED             "signup_closed"             [403] Permission "This server does not accept new users." "Ask its operator, who can set `SERVICE_SIGNUP` to `invite`."
    CHALLENGE_EXPIRED         "challenge_expired"         [410] InvalidRequest "The link and the code were already used, have expired, or had too many wrong attempts." "Request new ones by `POST /v1/auth/start`."
}
