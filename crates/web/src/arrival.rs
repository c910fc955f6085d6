//! A request before its body is read, and the bounded reading of that body.

use std::{net::IpAddr, sync::Arc, time::Duration};

use bytes::Bytes;
use http::{
    HeaderMap, HeaderValue,
    header::{CONTENT_LENGTH, CONTENT_TYPE, TRANSFER_ENCODING},
    request::Parts,
};
use model::RequestId;
use zeroize::Zeroizing;

use crate::{
    call::{Call, Params},
    codes,
    credential::Credential,
    error::ApiError,
    input::{BodyRule, Input},
    listener::StreamSwitch,
    query::Query,
    room::{Room, Taken},
    site::Site,
    unread::RequestBody,
};

/// A request that matched a route.
pub(crate) struct Arrival {
    pub(crate) request: RequestId,
    pub(crate) head: Parts,
    pub(crate) params: Params,
    pub(crate) body: RequestBody,
    pub(crate) body_time: Duration,
    pub(crate) room: Arc<Room>,
    pub(crate) site: Arc<Site>,
    pub(crate) client: Option<IpAddr>,
    // Nothing until somebody looks at it.
    pub(crate) shown: Option<Credential>,
}

impl Arrival {
    /// The call once query and body are read within their bounds, and the room that its body takes
    /// of whoever sent it.
    pub(crate) async fn read(
        mut self,
        Input { body: rule, query }: Input,
        whose: u128,
    ) -> Result<(Call, Taken), ApiError> {
        let query = Query::read(self.head.uri.query(), query)?;
        let mut taken = self.room.of(whose);
        let body = self.bounded(rule, &mut taken).await?;
        if !rule.is_optional() && body.is_empty() {
            return Err(ApiError::new(codes::VALIDATION_FAILED, "this route needs a JSON body"));
        }
        let call = Call {
            request: self.request,
            connection: self.head.extensions.get::<StreamSwitch>().cloned(),
            headers: self.head.headers,
            query,
            params: self.params,
            shown: self.shown,
            client: self.client,
            body,
        };
        Ok((call, taken))
    }

    /// Reads the body within its bounds.
    async fn bounded(&mut self, rule: BodyRule, taken: &mut Taken) -> Result<Bytes, ApiError> {
        let read = async {
            let announced = refuse_by_head(&self.head.headers, rule)?;
            collect(&mut self.body, (announced, rule.limit()), taken).await
        };
        match tokio::time::timeout(self.body_time, read).await {
            Ok(body) => body.map(Bytes::from_owner),
            Err(_) => Err(too_slow(self.body_time)),
        }
    }
}

/// The first buffer of a body whose length nobody announced.
const FIRST_BYTES: usize = 4 * 1024;

/// The announced length of a body, if there is one. Refuses, before a byte is buffered, a body whose
/// head says that it will not be read.
fn refuse_by_head(headers: &HeaderMap, rule: BodyRule) -> Result<Option<usize>, ApiError> {
    let length = headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse().ok());
    if length.is_some_and(|length: usize| length > rule.limit()) {
        return Err(too_large(rule.limit()));
    }
    let may_be_json = match rule {
        BodyRule::None => false,
        BodyRule::Json(_) | BodyRule::JsonOrForm(_) => length != Some(0),
        BodyRule::OptionalJson(_) | BodyRule::OptionalJsonOrForm(_) => {
            length.unwrap_or(0) > 0 || headers.contains_key(TRANSFER_ENCODING)
        }
    };
    let takes_form = rule.takes_form() && is_form(headers);
    if may_be_json && !takes_form && !headers.get(CONTENT_TYPE).is_some_and(is_json) {
        let message = "expected `Content-Type: application/json`";
        return Err(ApiError::new(codes::MEDIA_TYPE_UNSUPPORTED, message).on("Content-Type"));
    }
    Ok(length)
}

fn is_json(media_type: &HeaderValue) -> bool {
    is_of(media_type, "application/json")
}

/// Whether the body is a form, as browsers send it.
pub(crate) fn is_form(headers: &HeaderMap) -> bool {
    let form = "application/x-www-form-urlencoded";
    headers.get(CONTENT_TYPE).is_some_and(|media_type| is_of(media_type, form))
}

fn is_of(media_type: &HeaderValue, essence: &str) -> bool {
    let Ok(text) = media_type.to_str() else { return false };
    let mut parts = text.split(';').map(str::trim);
    parts.next().unwrap_or_default().eq_ignore_ascii_case(essence)
        && parts.all(|parameter| parameter.eq_ignore_ascii_case("charset=utf-8"))
}

/// Reads the body into a buffer of its announced length, or else into one that grows in steps; room
/// is taken before either is made. Bodies carry passwords and credentials, so each buffer of ours is
/// wiped when it is dropped.
async fn collect(
    body: &mut RequestBody,
    (announced, limit): (Option<usize>, usize),
    taken: &mut Taken,
) -> Result<Zeroizing<Vec<u8>>, ApiError> {
    let mut bytes = Zeroizing::new(Vec::new());
    if let Some(length) = announced {
        taken.grow_to(length)?;
        bytes.reserve_exact(length);
    }
    while let Some(frame) = body.frame().await {
        let Ok(frame) = frame else {
            let message = "the body is incomplete or is not framed correctly";
            return Err(ApiError::new(codes::VALIDATION_FAILED, message).closing());
        };
        let Ok(data) = frame.into_data() else { continue };
        let length = bytes.len() + data.len();
        if length > limit {
            return Err(too_large(limit));
        }
        if length > bytes.capacity() {
            let wanted = length.max(2 * bytes.capacity()).max(FIRST_BYTES).min(limit);
            taken.grow_to(wanted)?;
            // A buffer that grows in place may be moved, and is not wiped where it was. Both are there
            // while one is copied; the room is taken for the larger one.
            let mut larger = Zeroizing::new(Vec::with_capacity(wanted));
            larger.extend_from_slice(&bytes);
            bytes = larger;
        }
        bytes.extend_from_slice(&data);
    }
    Ok(bytes)
}

fn too_large(limit: usize) -> ApiError {
    if limit == 0 {
        return ApiError::new(codes::VALIDATION_FAILED, "this route accepts no body");
    }
    let message = format!("the body is larger than {limit} bytes");
    ApiError::new(codes::BODY_TOO_LARGE, message)
}

fn too_slow(allowed: Duration) -> ApiError {
    let message = format!("the body did not arrive within {} ms", allowed.as_millis());
    ApiError::new(codes::VALIDATION_FAILED, message).closing()
}
