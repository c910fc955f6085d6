//! Refusals of requests that an HTTP parser takes but two of them may read differently.
//!
//! Pure: it looks at the parsed head, and says what the listener found wrong in bytes that never
//! became one.

use http::{
    HeaderMap, HeaderName, Method, Uri,
    header::{CONTENT_ENCODING, CONTENT_LENGTH, EXPECT, HOST, TRANSFER_ENCODING, UPGRADE},
    request::Parts,
    uri::Authority,
};

use crate::{
    codes,
    error::ApiError,
    listener::{Refused, Unreadable},
};

/// The longest path and query.
const MAX_URI: usize = 8 * 1024;
/// The most header lines.
const MAX_HEADERS: usize = 64;
/// The most bytes of header names and values.
const MAX_HEADER_BYTES: usize = 32 * 1024;

const ONLY_CHUNKED: &str = "only `chunked` is supported";

/// Headers that may stand once. `Service-` headers of an action are left to their own readers,
/// which answer 422.
const ONCE: [&str; 9] = [
    "Host",
    "Authorization",
    "Content-Type",
    "Content-Encoding",
    "Transfer-Encoding",
    "Expect",
    "If-None-Match",
    "Idempotency-Key",
    "Last-Event-ID",
];

/// Passes a head that can be read in one way only.
pub(crate) fn check(head: &Parts) -> Result<(), ApiError> {
    readable(head)
        .and_then(|()| sizes(head))
        .and_then(|()| characters(&head.headers))
        .and_then(|()| repeats(&head.headers))
        .and_then(|()| target(&head.uri, &head.headers))
        .and_then(|()| body(&head.method, &head.headers))
        .map_err(ApiError::closing)
}

/// Passes a head that the listener could read; where it could not, what is looked at here is a
/// request that stands in for what was sent.
fn readable(head: &Parts) -> Result<(), ApiError> {
    let Some(why) = head.extensions.get::<Refused>().and_then(Refused::why) else { return Ok(()) };
    let bad = |message: &'static str| ApiError::new(codes::VALIDATION_FAILED, message);
    Err(match why {
        Unreadable::BareLineFeed => bad("a header line ends in a bare line feed; expected CR LF"),
        Unreadable::TwoLengths => {
            let message =
                "this header may appear only once and never together with `Transfer-Encoding`";
            ApiError::invalid("Content-Length", message)
        }
        Unreadable::Length => ApiError::invalid("Content-Length", "expected a number in digits"),
        Unreadable::Coding => ApiError::invalid("Transfer-Encoding", ONLY_CHUNKED),
        Unreadable::Fragment => {
            bad("the address contains a `#`; expected an address without a fragment")
        }
        Unreadable::Form => bad("the method, the address or a header is not valid HTTP/1.1"),
        Unreadable::Version => {
            bad("expected HTTP/1.1; only a proxy in front of the service may accept other versions")
        }
        Unreadable::Target => too_long(),
        Unreadable::Headers => too_large(),
    })
}

fn too_long() -> ApiError {
    let message = format!("expected an address of at most {MAX_URI} bytes");
    ApiError::new(codes::URI_TOO_LONG, message)
}

fn too_large() -> ApiError {
    let message = format!("expected at most {MAX_HEADERS} headers of {MAX_HEADER_BYTES} bytes");
    ApiError::new(codes::HEADERS_TOO_LARGE, message)
}

fn sizes(head: &Parts) -> Result<(), ApiError> {
    let uri = head.uri.path_and_query().map_or(0, |target| target.as_str().len());
    if uri > MAX_URI {
        return Err(too_long());
    }
    let headers = &head.headers;
    let bytes: usize = headers.iter().map(|(name, value)| name.as_str().len() + value.len()).sum();
    if headers.len() > MAX_HEADERS || bytes > MAX_HEADER_BYTES {
        return Err(too_large());
    }
    Ok(())
}

fn characters(headers: &HeaderMap) -> Result<(), ApiError> {
    let odd = headers.iter().find(|(_, value)| value.to_str().is_err());
    match odd {
        None => Ok(()),
        Some((name, _)) => Err(ApiError::invalid(
            name.to_string(),
            "expected header values of visible ASCII characters",
        )),
    }
}

fn repeats(headers: &HeaderMap) -> Result<(), ApiError> {
    match ONCE.into_iter().find(|name| headers.get_all(*name).iter().nth(1).is_some()) {
        None => Ok(()),
        Some(name) => Err(ApiError::invalid(name, "this header may appear only once")),
    }
}

fn target(uri: &Uri, headers: &HeaderMap) -> Result<(), ApiError> {
    let host = headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    if !is_host(host) {
        return Err(ApiError::invalid("Host", "expected one host, with or without a port"));
    }
    let other = uri.authority().is_some_and(|named| !named.as_str().eq_ignore_ascii_case(host));
    if other {
        return Err(ApiError::invalid("Host", "the host of the address is not the host of `Host`"));
    }
    if has_dot_segment(uri.path()) {
        return Err(ApiError::new(
            codes::VALIDATION_FAILED,
            "the path has a `.` or `..` segment; paths match exactly",
        ));
    }
    Ok(())
}

fn is_host(text: &str) -> bool {
    // An empty port is one that is not named.
    let text = text.strip_suffix(':').unwrap_or(text);
    text.parse::<Authority>().is_ok_and(|named| {
        let whole = named.host() == text || named.port_u16().is_some();
        whole && !text.contains('@')
    })
}

fn has_dot_segment(path: &str) -> bool {
    path.split('/').any(|segment| {
        let dots = segment.replace("%2e", ".").replace("%2E", ".");
        dots == "." || dots == ".."
    })
}

fn body(method: &Method, headers: &HeaderMap) -> Result<(), ApiError> {
    let text = |name: HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
    if text(TRANSFER_ENCODING).is_some_and(|coding| !coding.eq_ignore_ascii_case("chunked")) {
        return Err(ApiError::invalid("Transfer-Encoding", ONLY_CHUNKED));
    }
    let has_body =
        text(TRANSFER_ENCODING).is_some() || text(CONTENT_LENGTH).is_some_and(|len| len != "0");
    if has_body && (*method == Method::GET || *method == Method::HEAD) {
        return Err(ApiError::new(codes::VALIDATION_FAILED, "a GET request has no body"));
    }
    if text(CONTENT_ENCODING).is_some_and(|coding| !coding.eq_ignore_ascii_case("identity")) {
        let message = "compressed bodies are not accepted; leave `Content-Encoding` out";
        return Err(ApiError::new(codes::MEDIA_TYPE_UNSUPPORTED, message).on("Content-Encoding"));
    }
    if text(EXPECT).is_some_and(|expected| !expected.eq_ignore_ascii_case("100-continue")) {
        return Err(ApiError::invalid("Expect", "only `100-continue` is supported"));
    }
    if headers.contains_key(UPGRADE) {
        return Err(ApiError::invalid(
            "Upgrade",
            "the server does not support upgrades to another protocol",
        ));
    }
    Ok(())
}
