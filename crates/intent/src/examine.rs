//! The checks, one after the other.

use std::fmt::Display;

use model::{Digest, Timestamp};

use crate::{
    Check, Checked, Claims, IntentError, Key, MAX_LEN,
    claims::PAYLOAD,
    form::{HEADER, Parts, kid},
};

/// The seconds by which an agent's clock may be ahead.
pub const LEEWAY: i64 = 60;
/// The most seconds between an intent's making and its end.
pub const LIFETIME: i64 = 300;

/// The call that an intent must be for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call<'a> {
    /// The service's base URL.
    pub audience: &'a str,
    /// The agent's id.
    pub agent: &'a str,
    /// The tool, as the call names it.
    pub tool: &'a str,
    /// SHA-256 of the canonical form of `{"args": …, "tool": …}`.
    pub request: Digest,
    /// Who runs the tool.
    pub mode: &'a str,
    /// Whom the call is on behalf of.
    pub on_behalf_of: Option<&'a str>,
    /// The session that the call belongs to.
    pub session: Option<&'a str>,
    /// The call's idempotency key.
    pub idempotency_key: Option<&'a str>,
    /// The digest of the tool's definition, as far as it is known.
    pub tool_digest: Option<Digest>,
}

/// An intent that holds for one call, as far as its nonce was not seen before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verified {
    /// The key that signed it.
    pub key: Key,
    /// SHA-256 of the whole text.
    pub digest: Digest,
    /// What it says.
    pub claims: Claims,
}

impl Verified {
    /// SHA-256 of the nonce.
    pub fn nonce(&self) -> Digest {
        crypto::sha256(&self.claims.jti)
    }

    /// Whether it holds at this moment too.
    pub fn is_timely(&self, now: Timestamp) -> Result<(), IntentError> {
        let mut walk = Walk::default();
        walk.times(&self.claims, now);
        walk.first().map_or(Ok(()), Err)
    }
}

/// What every check found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// The checks that were made, in order. Behind one that the next ones build on, none is.
    pub checks: Vec<Checked>,
    /// The intent, where every check holds.
    pub verified: Option<Verified>,
}

/// Checks an intent for a call at this moment; the keys are those of the agent that are active.
pub fn examine(text: &str, keys: &[Key], call: &Call<'_>, now: Timestamp) -> Report {
    let mut walk = Walk::default();
    let verified = walk.all(text, keys, (call, now));
    let verified = verified.filter(|_| walk.0.iter().all(|checked| checked.ok));
    Report { checks: walk.0, verified }
}

/// The intent, or the first check that fails, but for those of the time, which
/// [`Verified::is_timely`] makes.
pub fn verify_untimed(text: &str, keys: &[Key], call: &Call<'_>) -> Result<Verified, IntentError> {
    let mut walk = Walk::default();
    let verified = walk.untimed(text, keys, call);
    walk.ended(verified)
}

/// What is wrong with a text that names no key.
pub fn unreadable(text: &str) -> IntentError {
    let mut walk = Walk::default();
    let _ = walk.kid(text);
    walk.first().unwrap_or_else(nothing)
}

/// The intent, or the first check that fails.
pub fn verify(
    text: &str,
    keys: &[Key],
    call: &Call<'_>,
    now: Timestamp,
) -> Result<Verified, IntentError> {
    let mut walk = Walk::default();
    let verified = walk.all(text, keys, (call, now));
    walk.ended(verified)
}

/// The error of a walk that ended for no check that failed, which none does.
fn nothing() -> IntentError {
    let (expected, got) = ("a compact JWS".to_owned(), "none".to_owned());
    IntentError { check: Check::Form, expected, got }
}

#[derive(Default)]
struct Walk(Vec<Checked>);

impl Walk {
    fn first(&self) -> Option<IntentError> {
        let failed = self.0.iter().find(|checked| !checked.ok)?;
        let Checked { check, expected, got, ok: _ } = failed.clone();
        Some(IntentError { check, expected, got })
    }

    fn tell(&mut self, check: Check, ok: bool, (expected, got): (String, String)) -> Option<()> {
        self.0.push(Checked { check, ok, expected, got });
        ok.then_some(())
    }

    /// A step that yields something, or says what was there instead.
    fn step<T>(&mut self, check: Check, expected: &str, found: Result<T, String>) -> Option<T> {
        let got = found.as_ref().err().cloned().unwrap_or_else(|| expected.to_owned());
        self.tell(check, found.is_ok(), (expected.to_owned(), got))?;
        found.ok()
    }

    fn ended(&self, verified: Option<Verified>) -> Result<Verified, IntentError> {
        match (self.first(), verified) {
            (None, Some(verified)) => Ok(verified),
            (Some(error), _) => Err(error),
            (None, None) => Err(nothing()),
        }
    }

    fn all(
        &mut self,
        text: &str,
        keys: &[Key],
        (call, now): (&Call<'_>, Timestamp),
    ) -> Option<Verified> {
        let verified = self.untimed(text, keys, call)?;
        self.times(&verified.claims, now);
        Some(verified)
    }

    fn kid<'a>(&mut self, text: &'a str) -> Option<(Parts<'a>, String)> {
        let size = (format!("at most {MAX_LEN} bytes"), format!("{} bytes", text.len()));
        self.tell(Check::Size, text.len() <= MAX_LEN, size)?;
        let parts = Parts::of(text).ok_or_else(|| "something else".to_owned());
        let parts = self.step(Check::Form, "three parts of base64url without padding", parts)?;
        let kid = self.step(Check::Header, HEADER, kid(&parts.header))?;
        Some((parts, kid))
    }

    fn untimed(&mut self, text: &str, keys: &[Key], call: &Call<'_>) -> Option<Verified> {
        let (parts, kid) = self.kid(text)?;
        let key = keys.iter().find(|key| key.kid == kid);
        let found = key.ok_or_else(|| shown(Some(&kid)));
        let key = self.step(Check::Key, &expected_keys(keys), found)?.clone();
        let signed = key.public.verifies(parts.signed.as_bytes(), &parts.signature);
        let signed = signed.then_some(()).ok_or_else(|| "another signature".to_owned());
        self.step(Check::Signature, "the signature of that key over header and payload", signed)?;
        let claims = self.step(Check::Payload, PAYLOAD, Claims::read(&parts.payload))?;
        self.bindings(&claims, call);
        Some(Verified { key, digest: crypto::sha256(text), claims })
    }

    fn bindings(&mut self, claims: &Claims, call: &Call<'_>) {
        let (request, signed) = (call.request.to_string(), claims.req.to_string());
        let pairs: [(Check, Option<&str>, Option<&str>); 8] = [
            (Check::Audience, Some(call.audience), Some(&claims.aud)),
            (Check::Agent, Some(call.agent), Some(&claims.sub)),
            (Check::Tool, Some(call.tool), Some(&claims.tool)),
            (Check::Request, Some(&request), Some(&signed)),
            (Check::Mode, Some(call.mode), Some(&claims.mode)),
            (Check::OnBehalfOf, call.on_behalf_of, claims.obo.as_deref()),
            (Check::Session, call.session, claims.ses.as_deref()),
            (Check::IdempotencyKey, call.idempotency_key, claims.idem.as_deref()),
        ];
        for (check, expected, got) in pairs {
            self.tell(check, expected == got, (shown(expected), shown(got)));
        }
        if let Some(claimed) = claims.tdg {
            let texts = (shown(call.tool_digest), shown(Some(claimed)));
            self.tell(Check::ToolDigest, call.tool_digest == Some(claimed), texts);
        }
    }

    fn times(&mut self, claims: &Claims, now: Timestamp) {
        let now = now.unix_millis().div_euclid(1000);
        let (iat, exp, latest) = (claims.iat, claims.exp, now.saturating_add(LEEWAY));
        let issued = (format!("at most {latest}"), iat.to_string());
        self.tell(Check::IssuedAt, iat <= latest, issued);
        self.tell(Check::ExpiresAt, exp > now, (format!("more than {now}"), exp.to_string()));
        let span = exp.saturating_sub(iat);
        let lifetime = (format!("1 to {LIFETIME} seconds"), format!("{span} seconds"));
        self.tell(Check::Lifetime, (1..=LIFETIME).contains(&span), lifetime);
    }
}

fn expected_keys(keys: &[Key]) -> String {
    if keys.is_empty() {
        return "an active key of this agent, which has none".to_owned();
    }
    let kids: Vec<_> = keys.iter().map(|key| key.kid.as_str()).collect();
    format!("an active key of this agent: {}", kids.join(", "))
}

fn shown(value: Option<impl Display>) -> String {
    value.map_or_else(|| "null".to_owned(), |value| value.to_string())
}
