//! The site that browsers know the service by: its origin, its cookies, and what a request from one
//! of its own pages looks like.

use crypto::Secret;
use http::{
    HeaderMap, HeaderName, HeaderValue, Uri,
    header::{COOKIE, ORIGIN},
};

use crate::{codes, error::ApiError};

const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// The site behind a public address.
#[derive(Debug, Clone)]
pub struct Site {
    // As browsers write it: without a path and without the port that the scheme implies.
    origin: String,
    is_https: bool,
}

/// A cookie of the service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cookie {
    /// Carries the token of a session.
    Session,
    /// Tells the browser that asked to sign in from any other.
    BeforeSignIn,
}

impl Site {
    /// The site of this public address.
    pub fn of(base_url: &str) -> Self {
        let plain = base_url.trim_end_matches('/').to_ascii_lowercase();
        let is_https = plain.starts_with("https://");
        let implied = if is_https { ":443" } else { ":80" };
        let is_implied = plain.parse::<Uri>().is_ok_and(|uri| uri.port().is_some());
        let origin = plain.strip_suffix(implied).filter(|_| is_implied).unwrap_or(&plain);
        Self { origin: origin.to_owned(), is_https }
    }

    /// Its origin, as browsers write it.
    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// The cookie's name: under https one that no other host and no other path can set.
    pub const fn name(&self, cookie: Cookie) -> &'static str {
        match (cookie, self.is_https) {
            (Cookie::Session, true) => "__Host-svc_session",
            (Cookie::Session, false) => "svc_session",
            (Cookie::BeforeSignIn, true) => "__Host-svc_pre",
            (Cookie::BeforeSignIn, false) => "svc_pre",
        }
    }

    /// The cookie's value, where the request has it.
    pub fn cookie(
        &self,
        headers: &HeaderMap,
        cookie: Cookie,
    ) -> Result<Option<Secret<String>>, ApiError> {
        let name = self.name(cookie);
        let lines = headers.get_all(COOKIE).iter().filter_map(|line| line.to_str().ok());
        let pairs = lines.flat_map(|line| line.split(';')).filter_map(|pair| pair.split_once('='));
        let mut values = pairs.filter(|(known, _)| known.trim() == name).map(|(_, value)| value);
        match (values.next(), values.next()) {
            (value, None) => Ok(value.map(|value| Secret::new(value.trim().to_owned()))),
            // Which of two is meant cannot be known, and one may be somebody else's.
            (_, Some(_)) => {
                Err(ApiError::invalid("Cookie", format!("`{name}` may appear only once")))
            }
        }
    }

    /// The header that gives a browser the cookie, for so many seconds; with none it is removed.
    pub fn set(
        &self,
        cookie: Cookie,
        value: &Secret<String>,
        seconds: u64,
    ) -> Result<HeaderValue, ApiError> {
        let (name, value) = (self.name(cookie), value.expose());
        let secure = if self.is_https { "; Secure" } else { "" };
        let text =
            format!("{name}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Lax{secure}");
        let mut header = HeaderValue::try_from(text).map_err(|_| ApiError::internal())?;
        header.set_sensitive(true);
        Ok(header)
    }

    /// The header that removes the cookie.
    pub fn clear(&self, cookie: Cookie) -> Result<HeaderValue, ApiError> {
        self.set(cookie, &Secret::new(String::new()), 0)
    }

    /// Passes a request that a page of this site made, for a session's writes.
    pub(crate) fn own_page(&self, headers: &HeaderMap) -> Result<(), ApiError> {
        self.fetched_here(headers)?;
        if text(headers, ORIGIN).is_some_and(|origin| origin == self.origin) {
            return Ok(());
        }
        let message = format!("a change by a session must send `Origin: {}`", self.origin);
        Err(ApiError::new(codes::ORIGIN_REFUSED, message).on("Origin"))
    }

    /// Passes a request that no page of another site made: one of this site's, or of no page.
    ///
    /// A form of a page that sends no referrer has the origin `null`; there the browser's own word
    /// on where it was sent from counts.
    pub fn no_other_page(&self, headers: &HeaderMap) -> Result<(), ApiError> {
        self.fetched_here(headers)?;
        let is_told = headers.contains_key(SEC_FETCH_SITE);
        match text(headers, ORIGIN) {
            None => Ok(()),
            Some("null") if is_told => Ok(()),
            Some(origin) if origin == self.origin => Ok(()),
            Some(_) => {
                let message = "the request came from a page of another site";
                Err(ApiError::new(codes::ORIGIN_REFUSED, message).on("Origin"))
            }
        }
    }

    fn fetched_here(&self, headers: &HeaderMap) -> Result<(), ApiError> {
        let mut from = headers.get_all(SEC_FETCH_SITE).iter();
        if from.all(|from| from == "same-origin") {
            return Ok(());
        }
        let message = format!("the request did not come from a page of {}", self.origin);
        Err(ApiError::new(codes::ORIGIN_REFUSED, message).on("Sec-Fetch-Site"))
    }
}

/// The text of a header that stands once.
fn text(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (Some(value), None) => value.to_str().ok(),
        (Some(_), Some(_)) => Some(""),
        (None, _) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{Cookie, Site};
    use crypto::Secret;

    #[test]
    fn an_origin_is_written_as_browsers_write_it() {
        for (address, origin) in [
            ("https://Chancery.Example/", "https://chancery.example"),
            ("https://a.example:443", "https://a.example"),
            ("http://a.example:80", "http://a.example"),
            ("https://a.example:80", "https://a.example:80"),
            ("http://[::443]", "http://[::443]"),
            ("http://[::80]:8080", "http://[::80]:8080"),
            ("http://127.0.0.1:8080", "http://127.0.0.1:8080"),
        ] {
            assert_eq!(Site::of(address).origin, origin, "{address}");
        }
    }

    #[test]
    fn a_cookie_is_bound_to_the_host_under_https_and_kept_from_scripts_always() {
        let set = |address: &str| {
            let value = Secret::new("abc".to_owned());
            Site::of(address).set(Cookie::Session, &value, 60).unwrap().to_str().unwrap().to_owned()
        };
        let plain = "svc_session=abc; Path=/; Max-Age=60; HttpOnly; SameSite=Lax";
        assert_eq!(set("http://127.0.0.1:8080"), plain);
        assert_eq!(set("https://a.example"), format!("__Host-{plain}; Secure"));
        let cleared = Site::of("http://a").clear(Cookie::BeforeSignIn).unwrap();
        assert_eq!(cleared, "svc_pre=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax");
    }
}
