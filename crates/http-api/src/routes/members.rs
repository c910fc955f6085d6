//! The people of an org, and those who are asked to join.

use web::{NOTHING, Patience::Short, Table, at, json, json_or_form, optional_json, query};

use crate::{
    access::{
        ADMIN_READERS, FRESH_SESSION_ADMINS, MEMBER_EDITORS, REMOVERS, SESSION_ADMINS, SIGNED_IN,
        VIEWERS,
    },
    app::App,
    handlers::{invites, members},
};

const BODY: usize = 4 * 1024;

/// The routes of this area.
#[rustfmt::skip]
pub(super) fn routes() -> Table<App> {
    vec![
        at("GET",    "/v1/members",             "listMembers") .with(VIEWERS,              query(members::LIST), Short, members::list),
        at("GET",    "/v1/members/{id}",        "getMember")   .with(VIEWERS,              NOTHING,              Short, members::show),
        at("POST",   "/v1/members/{id}",        "updateMember").with(MEMBER_EDITORS,       json(BODY),           Short, members::update),
        at("DELETE", "/v1/members/{id}",        "removeMember").with(REMOVERS,             optional_json(BODY),  Short, members::remove),
        at("GET",    "/v1/invites",             "listInvites") .with(ADMIN_READERS,        query(invites::LIST), Short, invites::list),
        at("POST",   "/v1/invites",             "createInvite").with(FRESH_SESSION_ADMINS, json(BODY),           Short, invites::create),
        at("POST",   "/v1/invites/accept",      "acceptInvite").with(SIGNED_IN,            json_or_form(BODY),   Short, invites::accept),
        at("DELETE", "/v1/invites/{id}",        "revokeInvite").with(SESSION_ADMINS,       NOTHING,              Short, invites::revoke),
        at("POST",   "/v1/invites/{id}/resend", "resendInvite").with(SESSION_ADMINS,       NOTHING,              Short, invites::resend),
    ]
}
