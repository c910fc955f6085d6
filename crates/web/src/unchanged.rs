//! What a caller need not be sent again, since the request names the tag of what it has.

use http::{HeaderValue, StatusCode, header::ETAG};

use crate::{call::Call, reply::Reply};

/// The answer under its entity tag, or 304 where `If-None-Match` names that (weak comparison).
pub fn unless_known(call: &Call, etag: HeaderValue, whole: Reply) -> Reply {
    let known = call.header("If-None-Match").is_some_and(|known| names(known, &etag));
    let reply = if known { Reply::empty(StatusCode::NOT_MODIFIED) } else { whole };
    reply.with(ETAG, etag)
}

fn names(known: &str, etag: &HeaderValue) -> bool {
    let mut tags = known.split(',').map(str::trim);
    known.trim() == "*"
        || tags.any(|known| known.strip_prefix("W/").unwrap_or(known).as_bytes() == etag.as_bytes())
}
