//! Tokens of OAuth 2.0 by client credentials (RFC 6749, 4.4): fetched when they are needed, kept for
//! as long as the server says, and forgotten when the API does not take them.

use std::time::Duration;

use base64::{Engine, engine::general_purpose::STANDARD};
use bytes::Bytes;
use crypto::Secret;
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use model::{ExecutionErrorCode as Code, Fault};
use serde::Deserialize;
use tokio::{sync::Mutex, time::Instant};
use upstream::{Address, Body, Client, Limits, Reuse};

use super::{
    auth::{field, sensitive, unfit},
    fault::of_upstream,
    request::encode,
};
use crate::{BuildError, Credential};

/// The largest answer of a token server.
const MAX_BYTES: usize = 64 * 1024;
/// How long a token server may be silent.
const IDLE: Duration = Duration::from_secs(5);
/// The longest wait for a token.
const LONGEST: Duration = Duration::from_secs(10);
/// A token is not used in the last moments of its life.
const EARLY: Duration = Duration::from_secs(30);
/// How long a token is kept of which the server does not say how long it lives.
const UNSAID: Duration = Duration::from_mins(5);
/// The longest that any token is kept.
const KEPT: Duration = Duration::from_hours(1);

/// Fetches tokens, one at a time.
pub(super) struct Tokens {
    from: Address,
    client: Secret<String>,
    form: Secret<String>,
    // Whoever finds no token fetches one; the others wait for it.
    kept: Mutex<Option<Token>>,
}

struct Token {
    value: HeaderValue,
    until: Instant,
}

#[derive(Deserialize)]
struct Granted {
    access_token: Secret<String>,
    token_type: String,
    expires_in: Option<f64>,
}

impl std::fmt::Debug for Tokens {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tokens").finish_non_exhaustive()
    }
}

impl Tokens {
    /// The tokens of this client.
    pub(super) fn of(credential: &Credential) -> Result<Self, BuildError> {
        let from = Address::parse(field(credential, "token_url")?.expose());
        let from = from.map_err(|error| unfit("token_url", &error.to_string()))?;
        let (id, secret) = (field(credential, "client_id")?, field(credential, "client_secret")?);
        // RFC 6749, 2.3.1: both are encoded as in a form before they are joined.
        let mut pair = String::new();
        encode(id.expose(), &mut pair);
        pair.push(':');
        encode(secret.expose(), &mut pair);
        let pair = Secret::new(pair);
        let mut form = "grant_type=client_credentials".to_owned();
        for name in ["scope", "audience"] {
            if let Some(value) = credential.field(name) {
                form.push('&');
                form.push_str(name);
                form.push('=');
                encode(value.expose(), &mut form);
            }
        }
        Ok(Self {
            from,
            client: Secret::new(format!("Basic {}", STANDARD.encode(pair.expose()))),
            form: Secret::new(form),
            kept: Mutex::new(None),
        })
    }

    /// The header of a token that still lives.
    pub(super) async fn current(
        &self,
        client: &Client,
        until: Instant,
    ) -> Result<HeaderValue, Fault> {
        let mut kept = self.kept.lock().await;
        if let Some(token) = kept.as_ref().filter(|token| Instant::now() < token.until) {
            return Ok(token.value.clone());
        }
        let token = self.fetch(client, until).await?;
        let value = token.value.clone();
        *kept = Some(token);
        Ok(value)
    }

    /// Forgets the token that the API did not take, unless there is another by now.
    pub(super) async fn forget(&self, stale: Option<&HeaderValue>) {
        let mut kept = self.kept.lock().await;
        if kept.as_ref().map(|token| &token.value) == stale {
            *kept = None;
        }
    }

    async fn fetch(&self, client: &Client, until: Instant) -> Result<Token, Fault> {
        let refused = |message: &str| Fault::new(Code::ConnectorAuthFailed, message);
        let mut headers = HeaderMap::new();
        let form = HeaderValue::from_static("application/x-www-form-urlencoded");
        headers.insert(header::CONTENT_TYPE, form);
        headers.insert(header::ACCEPT, HeaderValue::from_static("application/json"));
        let proof = sensitive(self.client.expose());
        let proof = proof.ok_or_else(|| refused("the client secret cannot be sent"))?;
        headers.insert(header::AUTHORIZATION, proof);
        let left = until.saturating_duration_since(Instant::now());
        let limits = Limits { whole: left.min(LONGEST), idle: IDLE, answer_bytes: MAX_BYTES };
        let body = Bytes::copy_from_slice(self.form.expose().as_bytes());
        let sent =
            client.send((Method::POST, &self.from), (headers, body), (&limits, Reuse::Kept)).await;
        // A token that is asked for twice harms nobody, so whatever went wrong is certain.
        let answer = sent.map_err(|error| {
            let fault = of_upstream(&error);
            let message = format!("the token request failed: {}", fault.message);
            Fault { message, ..fault }
        })?;
        if answer.status != StatusCode::OK {
            return Err(of_status(answer.status));
        }
        let Body::Whole(body) = &answer.body else {
            return Err(refused("the token server's response is too long"));
        };
        // What the parser says is not told: it may quote the answer.
        let granted: Granted = serde_json::from_slice(body)
            .map_err(|_| refused("the token server's response is not a valid token response"))?;
        if !granted.token_type.eq_ignore_ascii_case("bearer") {
            return Err(refused("the token server returns tokens of another type than `Bearer`"));
        }
        let value = Secret::new(format!("Bearer {}", granted.access_token.expose()));
        let value = sensitive(value.expose());
        let value = value
            .ok_or_else(|| refused("the token server's response is not a valid token response"))?;
        Ok(Token { value, until: Instant::now() + lifetime(granted.expires_in) })
    }
}

/// Why no token came with this status. A server that fails, or has too much to do, has refused nobody
/// and may answer the next time.
fn of_status(status: StatusCode) -> Fault {
    let may_answer_later = status == StatusCode::TOO_MANY_REQUESTS || status.as_u16() >= 500;
    let code =
        if may_answer_later { Code::ConnectorUnreachable } else { Code::ConnectorAuthFailed };
    Fault::new(code, format!("the token server returned {}", status.as_u16()))
}

/// How long a token is kept.
fn lifetime(expires_in: Option<f64>) -> Duration {
    let Some(seconds) = expires_in else { return UNSAID };
    let lives = Duration::try_from_secs_f64(seconds).unwrap_or_default().min(KEPT);
    // Half of a short life is better than none of it.
    lives.saturating_sub(EARLY).max(lives / 2)
}
