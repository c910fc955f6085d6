//! The body and headers of `POST /v1/actions`.

use std::time::Duration;

use gate::{EdgeTool, Submission};
use ledger::record::Client;
use model::{Digest, Mode, Timestamp};
use policy::{Agent, CallFacts};
use serde_json::{Map, Value};
use web::{ApiError, Call, Fields, Word};

use crate::access::AgentKey;

/// The longest wait that a caller may ask for, in seconds.
const MAX_WAIT: f64 = 25.0;
/// The most bytes of a tool's name as sent.
const MAX_TOOL: usize = 200;
/// The most characters of what a client says of itself.
const MAX_WORD: usize = 64;

/// A call and how long its sender waits for the end.
#[derive(Debug)]
pub(crate) struct SendRequest {
    pub(crate) submission: Submission,
    pub(crate) wait: Option<Duration>,
}

impl SendRequest {
    /// Reads the request of this agent.
    pub(crate) fn read(call: &Call, caller: &AgentKey) -> Result<Self, ApiError> {
        let mut fields = call.fields()?;
        let tool = tool(&mut fields)?;
        let args: Map<String, Value> = fields.required("args")?;
        let mode = fields.optional::<Word<Mode>>("mode")?.map_or(Mode::Gateway, |Word(mode)| mode);
        let wait = fields.optional::<f64>("wait")?;
        let wait = wait.map(|seconds| wait_seconds("wait", seconds)).transpose()?;
        let edge = edge(&mut fields)?;
        let context = fields.nested("context", Context::read)?.unwrap_or_default();
        fields.finish()?;
        let facts = CallFacts {
            mode,
            transport: context.transport,
            on_behalf_of: call.reference("Service-On-Behalf-Of")?,
            session: call.reference("Service-Session")?,
            livemode: caller.livemode,
            ..CallFacts::default()
        };
        let agent = Agent::new(caller.agent);
        let sent = policy::Call { facts, ..policy::Call::new(tool, agent, Timestamp::EPOCH) };
        let submission = Submission {
            edge,
            client: context.client,
            idempotency_key: call.idempotency_key()?,
            intent: intent(call)?,
            ..Submission::new(caller.org, caller.key, sent.with_args(Value::Object(args)))
        };
        Ok(Self { submission, wait })
    }
}

fn tool(fields: &mut Fields) -> Result<String, ApiError> {
    let tool: String = fields.required("tool")?;
    // What is short enough but no tool name is refused by the Gate, and that refusal is sealed.
    if tool.is_empty() || tool.len() > MAX_TOOL {
        return Err(fields.error("tool", "expected 1 to 200 bytes, as `<connector>.<tool>`"));
    }
    Ok(tool)
}

fn edge(fields: &mut Fields) -> Result<Option<EdgeTool>, ApiError> {
    let digest = fields.optional::<Word<Digest>>("tool_digest")?.map(|Word(digest)| digest);
    let Some(connector_type) = fields.optional::<String>("connector_type")? else {
        return match digest {
            None => Ok(None),
            Some(_) => {
                Err(fields.error("connector_type", "`tool_digest` requires `connector_type`"))
            }
        };
    };
    let fits = (1..=32).contains(&connector_type.len())
        && connector_type.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_'));
    if !fits {
        return Err(fields.error("connector_type", "expected 1 to 32 characters of `a-z0-9_`"));
    }
    Ok(Some(EdgeTool { connector_type, digest }))
}

#[derive(Debug, Default)]
struct Context {
    client: Option<Client>,
    transport: Option<String>,
}

impl Context {
    fn read(mut fields: Fields) -> Result<Self, ApiError> {
        let client = fields.nested("client", read_client)?;
        let transport = fields.optional::<String>("transport")?;
        if transport.as_deref().is_some_and(|word| !is_transport(word)) {
            return Err(fields.error("transport", "expected 1 to 64 characters of `a-z0-9_`"));
        }
        fields.finish()?;
        Ok(Self { client, transport })
    }
}

fn is_transport(word: &str) -> bool {
    (1..=MAX_WORD).contains(&word.len())
        && word.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_'))
}

fn read_client(mut fields: Fields) -> Result<Client, ApiError> {
    let mut word = |name| {
        let text: String = fields.required(name)?;
        let fits =
            (1..=MAX_WORD).contains(&text.chars().count()) && !text.chars().any(char::is_control);
        if fits {
            return Ok(text);
        }
        Err(fields.error(name, "expected 1 to 64 characters, none of them a control"))
    };
    let client = Client { name: word("name")?, version: word("version")? };
    fields.finish()?;
    Ok(client)
}

/// The signed intent, if it is a compact JWS at all; whether it holds is the Gate's.
fn intent(call: &Call) -> Result<Option<String>, ApiError> {
    let Some(text) = call.one_service_header("Service-Intent")? else { return Ok(None) };
    if intent::is_compact(text) {
        return Ok(Some(text.to_owned()));
    }
    let message = "expected a compact JWS: three base64url parts with dots, at most 4096 bytes";
    Err(ApiError::bad_service_header("Service-Intent", message))
}

/// A wait of 0 to 25 seconds.
pub(crate) fn wait_seconds(name: &'static str, seconds: f64) -> Result<Duration, ApiError> {
    if (0.0..=MAX_WAIT).contains(&seconds) {
        return Ok(Duration::from_secs_f64(seconds));
    }
    Err(ApiError::invalid(name, "expected 0 to 25 seconds"))
}
