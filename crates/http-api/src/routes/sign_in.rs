//! Sign-in and sessions.

use web::{NOTHING, Patience::Short, Table, at, json_or_form, optional_json_or_form, query};

use crate::{
    access::{SIGNED_IN, SIGNING_IN},
    app::App,
    console,
    handlers::{sessions, sign_in},
};

/// Room for an address and a path.
const BODY: usize = 4 * 1024;

/// The routes of this area.
#[rustfmt::skip]
pub(super) fn routes() -> Table<App> {
    vec![
        at("POST",   "/v1/auth/start",             "startSignIn")        .with(SIGNING_IN,json_or_form(BODY),     Short, console::sign_in::start),
        at("POST",   "/v1/auth/confirm",           "confirmSignIn")      .with(SIGNING_IN,json_or_form(BODY),     Short, sign_in::confirm),
        at("POST",   "/v1/auth/reauth",            "startReauth")        .with(SIGNED_IN,  optional_json_or_form(BODY), Short, sign_in::reauth),
        at("GET",    "/v1/session",                "getSession")         .with(SIGNED_IN,  NOTHING,               Short, sessions::show),
        at("DELETE", "/v1/session",                "signOut")            .with(SIGNED_IN,  NOTHING,               Short, sessions::sign_out),
        at("POST",   "/v1/session/org",            "chooseOrg")          .with(SIGNED_IN,  json_or_form(BODY),    Short, sessions::choose),
        at("GET",    "/v1/sessions",               "listSessions")       .with(SIGNED_IN,  query(sessions::LIST), Short, sessions::list),
        at("DELETE", "/v1/sessions/{id}",          "endSession")         .with(SIGNED_IN,  NOTHING,               Short, sessions::end),
        at("POST",   "/v1/sessions/revoke_others", "endOtherSessions")   .with(SIGNED_IN,  NOTHING,               Short, sessions::end_others),
    ]
}
