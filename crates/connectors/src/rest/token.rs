//! Tokens of OAuth 2.0 by client credentials (RFC 6749, 4.4): fetched when they are needed, kept for
//! as long as the server says, and forgotten when the API does not take them.

use std::time::Duration;

use base64::{Engine, engine::general_purpose::STANDARD};
use bytes::Bytes;
use crypto::Secret;
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use model::{ExecutionErrorCode as Code, Fault};
use serde::{Deserialize, Deserializer, de::Error};
use serde_json::Value;
use tokio::{
    sync::{Mutex, MutexGuard},
    time::{Instant, timeout_at},
};
use upstream::{Address, Body, Client, Limits, Reuse, Sent, UpstreamError};

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
    // Whoever finds no token fetches one; the others wait for it, each for as long as its own call may
    // take.
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
    #[serde(default, deserialize_with = "seconds")]
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
        let mut kept = self.kept(until).await?;
        if let Some(token) = kept.as_ref().filter(|token| Instant::now() < token.until) {
            return Ok(token.value.clone());
        }
        let token = self.fetch(client, until).await?;
        let value = token.value.clone();
        *kept = Some(token);
        Ok(value)
    }

    /// Forgets the token that the API did not take, unless there is another by now.
    pub(super) async fn forget(
        &self,
        stale: Option<&HeaderValue>,
        until: Instant,
    ) -> Result<(), Fault> {
        let mut kept = self.kept(until).await?;
        if kept.as_ref().map(|token| &token.value) == stale {
            *kept = None;
        }
        Ok(())
    }

    /// The kept token, once nobody else fetches one. A wait that takes too long ends like a token
    /// request that does.
    async fn kept(&self, until: Instant) -> Result<MutexGuard<'_, Option<Token>>, Fault> {
        let late = |_| failed(&UpstreamError::Late { sent: Sent::Perhaps });
        timeout_at(until, self.kept.lock()).await.map_err(late)
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
        let answer = sent.map_err(|error| failed(&error))?;
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

/// Why no token came without a response. A token that is asked for twice harms nobody, so whatever went
/// wrong is certain.
fn failed(error: &UpstreamError) -> Fault {
    let fault = of_upstream(error);
    let message = format!("the token request failed: {}", fault.message);
    Fault { message, ..fault }
}

/// Why no token came with this status. A server that fails, or has too much to do, has refused nobody
/// and may answer the next time.
fn of_status(status: StatusCode) -> Fault {
    let may_answer_later = status == StatusCode::TOO_MANY_REQUESTS || status.as_u16() >= 500;
    let code =
        if may_answer_later { Code::ConnectorUnreachable } else { Code::ConnectorAuthFailed };
    Fault::new(code, format!("the token server returned {}", status.as_u16()))
}

/// The seconds that a token server says. Some servers send their digits as a text.
fn seconds<'de, D: Deserializer<'de>>(said: D) -> Result<Option<f64>, D::Error> {
    let unread = || D::Error::custom("expected a number of seconds");
    match Value::deserialize(said)? {
        Value::Null => Ok(None),
        Value::Number(number) => number.as_f64().map(Some).ok_or_else(unread),
        Value::String(text) if is_digits(&text) => text.parse().map(Some).map_err(|_| unread()),
        Value::Bool(_) | Value::String(_) | Value::Array(_) | Value::Object(_) => Err(unread()),
    }
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// How long a token is kept.
fn lifetime(expires_in: Option<f64>) -> Duration {
    let Some(seconds) = expires_in else { return UNSAID };
    // More seconds than a duration holds are a long life, and no number or one below zero is none.
    let lives = if seconds >= KEPT.as_secs_f64() {
        KEPT
    } else {
        Duration::try_from_secs_f64(seconds).unwrap_or_default()
    };
    // Half of a short life is better than none of it.
    lives.saturating_sub(EARLY).max(lives / 2)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use crypto::Secret;
    use http::HeaderValue;
    use tokio::time::{Instant, timeout};

    use super::{Granted, Token, Tokens, lifetime};
    use crate::Credential;

    /// How long a token is kept whose server says this of its life; nothing where it says something
    /// else than a number.
    fn kept(expires_in: &str) -> Option<Duration> {
        let said = format!(
            r#"{{"access_token": "t", "token_type": "Bearer", "expires_in": {expires_in}}}"#
        );
        let granted: Granted = serde_json::from_str(&said).ok()?;
        Some(lifetime(granted.expires_in))
    }

    #[test]
    fn a_token_is_kept_for_as_long_as_its_server_says_and_at_most_for_an_hour() {
        let digits = format!("\"{}\"", "9".repeat(400));
        let table = [
            ("600", Some(570.0)),
            ("90.5", Some(60.5)),
            ("40", Some(20.0)),
            ("3600", Some(3570.0)),
            ("3601", Some(3570.0)),
            ("18446744073709551616", Some(3570.0)),
            ("1e300", Some(3570.0)),
            (r#""600""#, Some(570.0)),
            (&digits, Some(3570.0)),
            ("0", Some(0.0)),
            ("-0.0", Some(0.0)),
            ("-1", Some(0.0)),
            ("-1e300", Some(0.0)),
            ("null", Some(300.0)),
            (r#""""#, None),
            (r#""-1""#, None),
            (r#""1e3""#, None),
            (r#""NaN""#, None),
            (r#""soon""#, None),
            ("true", None),
            ("[600]", None),
        ];
        for (said, expected) in table {
            assert_eq!(kept(said), expected.map(Duration::from_secs_f64), "{said}");
        }
        for (said, expected) in [(f64::NAN, 0), (f64::NEG_INFINITY, 0), (f64::INFINITY, 3570)] {
            assert_eq!(lifetime(Some(said)), Duration::from_secs(expected), "{said}");
        }
        let unsaid = r#"{"access_token": "t", "token_type": "Bearer"}"#;
        let granted: Granted = serde_json::from_str(unsaid).unwrap();
        assert_eq!(lifetime(granted.expires_in), Duration::from_mins(5));
    }

    fn tokens() -> Tokens {
        let fields = [
            ("token_url", "https://tokens.example.com/"),
            ("client_id", "i"),
            ("client_secret", "s"),
        ];
        let fields = fields.map(|(name, value)| (name.to_owned(), Secret::new(value.to_owned())));
        Tokens::of(&Credential::new(fields.into())).unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn a_token_is_forgotten_in_time_or_not_at_all() {
        let tokens = tokens();
        let stale = HeaderValue::from_static("Bearer stale");
        let until = || Instant::now() + Duration::from_secs(1);
        *tokens.kept.lock().await = Some(Token { value: stale.clone(), until: until() });
        let fetching = tokens.kept.lock().await;
        // The bound of the test itself, without which a wait for ever would hang it.
        let forgotten = timeout(Duration::from_mins(1), tokens.forget(Some(&stale), until()));
        let fault = forgotten.await.unwrap().unwrap_err();
        assert_eq!(fault.code.as_str(), "tool_timeout");
        drop(fetching);
        tokens.forget(Some(&HeaderValue::from_static("Bearer other")), until()).await.unwrap();
        assert!(tokens.kept.lock().await.is_some(), "another token than the stale one stays");
        tokens.forget(Some(&stale), until()).await.unwrap();
        assert!(tokens.kept.lock().await.is_none());
    }
}
