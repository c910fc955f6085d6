//! Intent keys and checks of intents, as requests describe and responses show them.

use act::MayView;
use admin::NewIntentKey;
use gate::{CheckedIntent, EdgeTool, IntentFilter, IntentToCheck};
use intent::Checked;
use ledger::record::{IntentKey, UsedIntent};
use model::{ActionId, AgentId, Digest, IntentKeyId, Mode, Timestamp};
use policy::{Agent, CallFacts};
use serde::Serialize;
use serde_json::{Map, Value};
use web::{ApiError, Call, Fields, Param, Query, Word};

use super::deeds::moment;
use crate::access::IntentChecker;

/// The parameters of the list of intents that were used.
pub(crate) const LIST: &[Param] = &[
    Param::One("agent"),
    Param::One("created_at[gte]"),
    Param::One("created_at[lt]"),
    Param::One("limit"),
    Param::One("cursor"),
];

/// What that list is asked for, its page aside.
pub(crate) fn intent_filter(query: &Query) -> Result<IntentFilter, ApiError> {
    Ok(IntentFilter {
        agent: query.parse::<AgentId>("agent")?,
        from: moment(query, "created_at[gte]")?,
        to: moment(query, "created_at[lt]")?,
    })
}

/// An intent that was used.
#[derive(Debug, Serialize)]
pub(crate) struct UsedIntentView<'a> {
    object: &'static str,
    action: ActionId,
    agent: AgentId,
    kid: &'a str,
    digest: Digest,
    nonce_hash: Digest,
    issued_at: Timestamp,
    expires_at: Timestamp,
    created_at: Timestamp,
}

impl<'a> From<&'a UsedIntent> for UsedIntentView<'a> {
    fn from(used: &'a UsedIntent) -> Self {
        Self {
            object: "intent",
            action: used.action,
            agent: used.agent,
            kid: &used.kid,
            digest: used.digest,
            nonce_hash: used.nonce,
            issued_at: used.issued_at,
            expires_at: used.expires_at,
            created_at: used.used_at,
        }
    }
}

/// An intent key.
#[derive(Debug, Serialize)]
pub(crate) struct IntentKeyView<'a> {
    object: &'static str,
    id: IntentKeyId,
    agent: AgentId,
    status: &'static str,
    kid: &'a str,
    public_key: &'a str,
    not_before: Option<Timestamp>,
    not_after: Option<Timestamp>,
    created_at: Timestamp,
    revoked_at: Option<Timestamp>,
}

impl<'a> IntentKeyView<'a> {
    pub(crate) fn of(agent: AgentId, key: &'a IntentKey, now: Timestamp) -> Self {
        Self {
            object: "intent_key",
            id: key.id,
            agent,
            status: key.status(now),
            kid: &key.kid,
            public_key: &key.public_key,
            not_before: key.not_before,
            not_after: key.not_after,
            created_at: key.created_at,
            revoked_at: key.revoked_at,
        }
    }
}

/// The body of `POST /v1/agents/{id}/intent_keys`.
pub(crate) fn intent_key_new(call: &Call) -> Result<NewIntentKey, ApiError> {
    let mut fields = call.fields()?;
    let mut moment = |name| -> Result<_, ApiError> {
        Ok(fields.optional::<Word<Timestamp>>(name)?.map(|Word(moment)| moment))
    };
    let (not_before, not_after) = (moment("not_before")?, moment("not_after")?);
    let (public_key, proof) = (fields.required("public_key")?, fields.required("proof")?);
    fields.finish()?;
    Ok(NewIntentKey { public_key, proof, not_before, not_after })
}

/// Reads the body of `POST /v1/intents/check`: an intent, and the call that it shall be for. Whoever is
/// no agent says whose it is.
pub(crate) fn intent_to_check(
    call: &Call,
    checker: &IntentChecker,
) -> Result<IntentToCheck, ApiError> {
    let mut fields = call.fields()?;
    let (org, agent, livemode) = match checker {
        IntentChecker::Agent(key) => (key.org, key.agent, key.livemode),
        IntentChecker::Admin(admin) => {
            let Word(agent) = fields.required::<Word<AgentId>>("agent")?;
            (admin.org(), agent, fields.optional("livemode")?.unwrap_or(true))
        }
    };
    let intent: String = fields.required("intent")?;
    let Some(request) = fields.nested("request", Requested::read)? else {
        return Err(fields.error("request", "expected the call that the intent is for"));
    };
    fields.finish()?;
    let facts = CallFacts { livemode, ..request.facts };
    let sent = policy::Call::new(request.tool, Agent::new(agent), Timestamp::EPOCH);
    let call = policy::Call { facts, ..sent }.with_args(Value::Object(request.args));
    let Requested { edge, idempotency_key, .. } = request;
    Ok(IntentToCheck { org, call, edge, idempotency_key, intent })
}

struct Requested {
    tool: String,
    args: Map<String, Value>,
    facts: CallFacts,
    edge: Option<EdgeTool>,
    idempotency_key: Option<String>,
}

impl Requested {
    fn read(mut fields: Fields) -> Result<Self, ApiError> {
        let (tool, args) = (fields.required("tool")?, fields.required("args")?);
        let mode = fields.optional::<Word<Mode>>("mode")?.map_or(Mode::Gateway, |Word(mode)| mode);
        let digest = fields.optional::<Word<Digest>>("tool_digest")?.map(|Word(digest)| digest);
        let facts = CallFacts {
            mode,
            on_behalf_of: fields.optional("on_behalf_of")?,
            session: fields.optional("session")?,
            ..CallFacts::default()
        };
        let idempotency_key = fields.optional("idempotency_key")?;
        fields.finish()?;
        let edge = |digest| EdgeTool { connector_type: String::new(), digest: Some(digest) };
        Ok(Self { tool, args, facts, edge: digest.map(edge), idempotency_key })
    }
}

/// What the checks of an intent found.
#[derive(Debug, Serialize)]
pub(crate) struct CheckView<'a> {
    object: &'static str,
    valid: bool,
    code: Option<&'static str>,
    checks: &'a [Checked],
    canonical: &'a str,
    digest: Digest,
}

impl<'a> CheckView<'a> {
    pub(crate) fn of(checked: &'a CheckedIntent) -> Self {
        let failed = checked.checks.iter().find(|found| !found.ok).map(|found| found.check);
        Self {
            object: "intent_check",
            valid: failed.is_none(),
            code: failed.map(|check| match check {
                intent::Check::Nonce => "intent_replay",
                _ => "intent_invalid",
            }),
            checks: &checked.checks,
            canonical: &checked.canonical,
            digest: checked.request,
        }
    }
}
