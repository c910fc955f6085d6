//! What a request shows of who sent it: an API key, or the cookie of a session. A session's cookie
//! is sent by the browser whoever had it ask, so a session's change shows as well that a page of
//! this site asked.

use crypto::Secret;
use http::{HeaderMap, Method, header::AUTHORIZATION, request::Parts};

use crate::{
    arrival::is_form,
    codes,
    error::ApiError,
    site::{Cookie, Site},
    state::State,
};

/// Longer than any key this service makes; nothing longer is looked up.
const MAX_KEY: usize = 128;

/// What a request shows of who sent it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Credential {
    /// An API key, as a bearer token.
    Key(Secret<String>),
    /// The token of a session, in its cookie.
    Session(Secret<String>),
}

impl Credential {
    /// What the request shows, once it is clear that a page of this site sent it where it is a
    /// session's change.
    ///
    /// A form shows what its page was given in one of its members, which are not read yet: whoever
    /// reads them looks at that by [`Credential::form`].
    pub(crate) fn shown<S: State>(
        head: &Parts,
        site: &Site,
        state: &S,
    ) -> Result<Option<Self>, ApiError> {
        let credential = Self::read(&head.headers, site)?;
        let reads = head.method == Method::GET || head.method == Method::HEAD;
        if let (Some(Self::Session(token)), false) = (&credential, reads) {
            site.own_page(&head.headers)?;
            if !is_form(&head.headers) {
                csrf(&head.headers, token, state)?;
            }
        }
        Ok(credential)
    }

    /// Passes a form that a page of the session sent, by what it carries as `csrf`.
    pub(crate) fn form<S: State>(&self, shown: Option<&str>, state: &S) -> Result<(), ApiError> {
        match self {
            Self::Session(token) if !shown.is_some_and(|shown| state.is_csrf(shown, token)) => {
                let message =
                    "a form sent with a session must contain the `csrf` value of its page";
                Err(ApiError::new(codes::CSRF_FAILED, message).on("csrf"))
            }
            Self::Session(_) | Self::Key(_) => Ok(()),
        }
    }

    fn read(headers: &HeaderMap, site: &Site) -> Result<Option<Self>, ApiError> {
        let session = site.cookie(headers, Cookie::Session)?;
        match (bearer(headers), session) {
            (Bearer::None, session) => Ok(session.map(Self::Session)),
            (Bearer::Key(key), None) => Ok(Some(Self::Key(key))),
            (Bearer::Unfit, None) => Ok(None),
            (Bearer::Key(_) | Bearer::Unfit, Some(_)) => {
                let message = "send an API key or a session cookie, not both";
                Err(ApiError::invalid("Authorization", message))
            }
        }
    }
}

/// What stands behind `Authorization: Bearer`.
enum Bearer {
    None,
    Key(Secret<String>),
    /// No text that could be a key.
    Unfit,
}

fn bearer(headers: &HeaderMap) -> Bearer {
    let Some(value) = headers.get(AUTHORIZATION) else { return Bearer::None };
    let Ok(text) = value.to_str() else { return Bearer::Unfit };
    match text.split_once(' ').unwrap_or((text, "")) {
        (scheme, _) if !scheme.eq_ignore_ascii_case("bearer") => Bearer::None,
        (_, key) if key.is_empty() || key.len() > MAX_KEY => Bearer::Unfit,
        (_, key) => Bearer::Key(Secret::new(key.to_owned())),
    }
}

fn csrf<S: State>(headers: &HeaderMap, token: &Secret<String>, state: &S) -> Result<(), ApiError> {
    let mut shown = headers.get_all("service-csrf").iter();
    let is_right = match (shown.next(), shown.next()) {
        (Some(shown), None) => shown.to_str().is_ok_and(|shown| state.is_csrf(shown, token)),
        (None, _) | (Some(_), Some(_)) => false,
    };
    if is_right {
        return Ok(());
    }
    let message =
        "a change by a session must send the `csrf` of `GET /v1/session` as `Service-CSRF`";
    Err(ApiError::new(codes::CSRF_FAILED, message).on("Service-CSRF"))
}
