//! Refusals, where whoever waits for the answer waits for a page.

use web::{ApiError, Refused, Reply, codes, see_other};

use super::{
    Referrer, page,
    views::{Onward, RefusedPage},
};
use crate::{app::App, catalogue::changes, wire::next::orgs_page};

/// What stands in front of every page of the Console.
const CONSOLE: &str = "/app";
/// What stands in front of the routes that forms of pages are sent to.
const QUESTIONS: &str = "/v1/approvals/";

/// The page that is answered in place of the error's own form; `None` where a client asked.
pub(crate) fn answer(app: &App, error: &ApiError, refused: &Refused<'_>) -> Option<Reply> {
    let path = refused.uri.path();
    let is_page = path == CONSOLE
        || path.starts_with("/app/")
        || ["/login", "/auth/confirm", "/approve"].contains(&path);
    if !is_page && !refused.is_form {
        return None;
    }
    let code = error.code();
    if code == codes::UNAUTHENTICATED {
        return see_other(&format!("/login?next={}", pages::encoded(&next(refused)))).ok();
    }
    // A session without an org is asked for one before anything else.
    if code == changes::ROLE_REQUIRED && error.param() == Some("org") {
        return see_other(&orgs_page(Some(&next(refused)))).ok();
    }
    let is_asking = path == "/v1/auth/start" && refused.is_form;
    if is_asking && matches!(error.status().as_u16(), 400 | 429) {
        return see_other(&format!("/login?problem={code}")).ok();
    }
    if let Some(asked) = question(path).filter(|_| refused.is_form) {
        return see_other(&format!("/app/approvals/{asked}?problem={code}#notice")).ok();
    }
    told(app, error, refused)
}

/// Where somebody goes on who signs in first: to the page, or to the one that the form is on.
fn next(refused: &Refused<'_>) -> String {
    let path = refused.uri.path();
    match question(path) {
        Some(asked) => format!("/app/approvals/{asked}"),
        None if refused.is_form => CONSOLE.to_owned(),
        None => refused.uri.path_and_query().map_or(path, |it| it.as_str()).to_owned(),
    }
}

/// The question that a form answers.
fn question(path: &str) -> Option<&str> {
    let (id, verb) = path.strip_prefix(QUESTIONS)?.split_once('/')?;
    let is_id = id.starts_with("apr_")
        && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    (is_id && ["approve", "deny"].contains(&verb)).then_some(id)
}

/// A page that says what was refused and where to go on.
fn told(app: &App, error: &ApiError, refused: &Refused<'_>) -> Option<Reply> {
    let status = error.status();
    let title = match status.as_u16() {
        404 => "Not found",
        403 => "Not for you",
        401 | 410 => "That is over",
        429 => "Too many requests",
        500.. => "The service is temporarily unavailable",
        _ => "That was refused",
    };
    let is_inside = refused.uri.path().starts_with(CONSOLE);
    let (href, word) =
        if is_inside { ("/app", "To the Console") } else { ("/login", "To the sign-in") };
    let shown = RefusedPage {
        title,
        sentence: error.message(),
        code: error.code().as_str(),
        request: refused.id.to_string(),
        on: Onward { href, word },
    };
    let mut reply = page(app, Referrer::SameOrigin, &shown).ok()?;
    reply.status = status;
    Some(reply)
}
