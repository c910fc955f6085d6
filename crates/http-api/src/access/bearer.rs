//! Reads the bearer key of a request and has it looked up.

use std::sync::Arc;

use crypto::Secret;
use http::{HeaderMap, header::AUTHORIZATION};

use super::{KeyDirectory, Principal};
use crate::error::ApiError;

/// Longer than any key this service makes; nothing longer is looked up.
const MAX_KEY: usize = 128;

/// Returns who sent the request, or the 401 that tells nobody why.
pub(super) async fn holder(
    bearer: Option<Secret<String>>,
    keys: Arc<dyn KeyDirectory>,
) -> Result<Principal, ApiError> {
    let Some(key) = bearer else {
        return Err(ApiError::unauthenticated("send an API key as a bearer token"));
    };
    match keys.principal(&key).await {
        Ok(Some(principal)) => Ok(principal),
        Ok(None) => Err(ApiError::unauthenticated("the API key is not valid")),
        Err(error) => Err(ApiError::unavailable_because("keys cannot be looked up now", &error)),
    }
}

/// Returns the text behind `Authorization: Bearer`.
pub(crate) fn bearer(headers: &HeaderMap) -> Option<Secret<String>> {
    let (scheme, key) = headers.get(AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    let fits = scheme.eq_ignore_ascii_case("bearer") && key.len() <= MAX_KEY;
    fits.then(|| Secret::new(key.to_owned()))
}
