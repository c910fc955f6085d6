//! Error codes: what keeps somebody from signing in, or a session from going on.

#[rustfmt::skip]
web::codes! {
    REAUTHENTICATION_REQUIRED "reauthentication_required" [403] Permission "The last sign-in is more than 15 minutes old, and this asks for a fresh one." "Ask by `POST /v1/auth/reauth` and confirm by the code of the mail; the session goes on under a new cookie."
    SIGNUP_CLOSED             "signup_closed"             [403] Permission "This server takes no new people." "Ask its operator, who can set `SERVICE_SIGNUP` to `invite`."
    CHALLENGE_EXPIRED         "challenge_expired"         [410] InvalidRequest "The link and the code were used, are too old, or had too many wrong answers." "Ask for new ones by `POST /v1/auth/start`."
}
