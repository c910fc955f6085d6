//! The REST connector: operations of an HTTP API, each a declared tool.
//!
//! A tool is known from the config alone, so it is accepted without the API being asked. Every request
//! leaves by the guarded way out, follows nothing, and carries the credential that nobody reads back.

mod auth;
mod check;
mod config;
mod convert;
mod entry;
mod fault;
mod form;
mod look_again;
mod names;
mod openapi;
mod percent;
mod request;
mod run;
mod style;
pub(crate) mod target;
mod token;

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use bytes::Bytes;
use crypto::{json, sha256};
use egress::PrivateNetworks;
use http::HeaderMap;
use model::{
    ActionId, ConnectorName, Digest, ExecutionErrorCode, Fault, Level, OrgId, Outcome, ReadBack,
    ReadBackGap, SideEffect, ToolName,
};
use serde_json::{Value, json};
use tokio::time::{Instant, timeout};
use tool::{Claim, Definition, Reading, Run, Settled, Tool};
use upstream::{Address, Answer, Client, Limits, Reuse, Sent, Trust, UpstreamError};

use self::{
    auth::{Identity, Proof},
    config::{Config, Declared},
    entry::Entry,
    look_again::LookAgain,
    request::Operation,
    target::target,
};
use crate::{ArgsSchema, Blueprint, BuildError, Connector, Credential, Deps, Finding, Type};

pub use config::{CONFIG_SCHEMA, MOST_TOOLS};
pub use convert::{Converted, convert};
pub use openapi::Choice;

pub(crate) use check::check;

/// The kind's name.
pub const KIND: &str = "rest";

/// The kind as it is offered.
pub const TYPE: Type = Type {
    kind: KIND,
    title: "REST API",
    credentials: auth::KINDS,
    config_schema: CONFIG_SCHEMA,
    witness_levels: &[Level::L0, Level::L1],
};

/// An HTTP API and its tools.
#[derive(Debug)]
pub(crate) struct RestConnector {
    tools: Vec<Arc<RestTool>>,
    api: Arc<Api>,
}

/// One operation.
#[derive(Debug)]
struct RestTool {
    definition: Definition,
    /// The entry as the digest covers it and people are shown it.
    shown: Value,
    entry: Entry,
    operation: Operation,
    args: Arc<ArgsSchema>,
    standing: Standing,
    look_again: Option<LookAgain>,
    api: Arc<Api>,
}

/// Whether a tool is the one that was accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    Accepted,
    /// Its calls are known and never run.
    Unaccepted,
}

/// The API: where it is, and who the connector is there.
#[derive(Debug)]
struct Api {
    base: Address,
    client: Client,
    identity: Identity,
    last_connect_error: Mutex<Option<Fault>>,
}

/// What is wrong in the config by itself.
pub(crate) fn config_findings(connector: &ConnectorName, config: &Value) -> Vec<Finding> {
    config::read(connector, config).err().unwrap_or_default()
}

/// The most parts that are listed one by one as not served.
const MOST_NOT_SERVED: usize = 1_000;

/// The chosen parts of the config's description that cannot be served, each with its reason. A config
/// that cannot be read serves nothing, and its findings are the reasons.
pub(crate) fn not_served(connector: &ConnectorName, config: &Value) -> Vec<(String, String)> {
    let mut parts: Vec<_> = match config::read(connector, config) {
        Ok(config) => config.left_out.into_iter().map(|it| (it.operation, it.reason)).collect(),
        Err(findings) => findings.into_iter().map(|it| (it.at, it.message)).collect(),
    };
    let more = parts.len().saturating_sub(MOST_NOT_SERVED);
    parts.truncate(MOST_NOT_SERVED);
    if more > 0 {
        parts.push((format!("{more} more parts"), "`connector check` lists them".to_owned()));
    }
    parts
}

impl RestConnector {
    /// The connector with the tools that its config declares. Where others were accepted, calls of
    /// those that are new or declared otherwise are known and never run; where none were yet, its
    /// address is one that may be reached.
    pub(crate) async fn build(blueprint: &Blueprint, deps: &Deps) -> Result<Self, BuildError> {
        let config = config::read(&blueprint.name, &blueprint.config)
            .map_err(|findings| BuildError::Config { findings })?;
        let accepted = &blueprint.tools;
        if accepted.is_empty() {
            reach(&config.base, deps).await.map_err(BuildError::Connect)?;
        }
        let api = Arc::new(Api::of(&config, &blueprint.credential, deps)?);
        let target = target(&blueprint.config);
        let standing = |declared: &Declared| {
            let digest = digest_of(&declared.name, &declared.shown, &target);
            let pinned = accepted.get(&declared.name).and_then(digest_of_pin);
            let is_accepted = accepted.is_empty() || pinned == Some(digest);
            (digest, if is_accepted { Standing::Accepted } else { Standing::Unaccepted })
        };
        // Writes are looked at again by reads, which none is.
        let of = |declared: &Declared, look_again| {
            let target = target.clone();
            Arc::new(RestTool::of((declared.clone(), target), standing(declared), look_again, &api))
        };
        let is_read = |tool: &&Declared| tool.entry.side_effect == SideEffect::Read;
        let reads = config.tools.iter().filter(is_read);
        let reads: BTreeMap<_, _> =
            reads.map(|tool| (tool.entry.name.as_str(), of(tool, None))).collect();
        let tool = |declared: &Declared| match reads.get(&*declared.entry.name) {
            Some(read) => Arc::clone(read),
            None => of(declared, LookAgain::of(&declared.entry, &reads)),
        };
        let tools = config.tools.iter().map(tool).collect();
        Ok(Self { tools, api })
    }
}

impl RestTool {
    fn of(
        (declared, target): (Declared, Value),
        (digest, standing): (Digest, Standing),
        look_again: Option<LookAgain>,
        api: &Arc<Api>,
    ) -> Self {
        let Declared { name, entry, shown, operation, args } = declared;
        let definition = Definition {
            name,
            title: entry.title.clone(),
            description: entry.description.clone(),
            side_effect: entry.side_effect,
            input_schema: entry.args.clone().into(),
            footprint: None,
            required_level: entry.required_level,
            target: Some(target.into()),
            digest,
        };
        let api = Arc::clone(api);
        Self { definition, shown, entry, operation, args, standing, look_again, api }
    }
}

impl Api {
    fn of(config: &Config, credential: &Credential, deps: &Deps) -> Result<Self, BuildError> {
        let identity = Identity::of(credential, config.auth)?;
        let key = credential.field(auth::CLIENT_KEY);
        let trust = Trust {
            authorities: config.tls.ca_pem.clone(),
            identity: match (&config.tls.client_certificate_pem, key) {
                (Some(certificates), Some(key)) => Some(upstream::Identity {
                    certificates: certificates.clone(),
                    key: key.clone(),
                }),
                (None, Some(_)) => {
                    let message =
                        "the credential has a key: expected the certificate that belongs to it";
                    let finding = Finding::new("/tls/client_certificate_pem", message);
                    return Err(BuildError::Config { findings: vec![finding] });
                }
                // Without its key the certificate cannot be shown, and the API says so.
                (_, None) => None,
            },
        };
        let client = Client::new(deps.egress.clone(), &trust, config.connect);
        let client = client.map_err(|error| BuildError::Config {
            findings: vec![Finding::new("/tls", error.to_string())],
        })?;
        Ok(Self {
            base: config.base.clone(),
            client,
            identity,
            last_connect_error: Mutex::new(None),
        })
    }

    async fn proof(&self, until: Instant) -> Result<Proof, Fault> {
        self.identity.proof(&self.client, until).await
    }

    async fn renewed(&self, stale: &Proof, until: Instant) -> Option<Result<Proof, Fault>> {
        self.identity.renewed(stale, (&self.client, until)).await
    }

    /// Sends a request to a path at the API's host, and notes whether it could be reached.
    async fn send(
        &self,
        (method, path_and_query): (http::Method, &str),
        content: (HeaderMap, Bytes),
        how: (&Limits, Reuse),
    ) -> Result<Answer, UpstreamError> {
        let to = self.base.at(path_and_query);
        let to = to.map_err(|error| UpstreamError::Refused(Box::new(error)))?;
        let answered = self.client.send((method, &to), content, how).await;
        // An API that takes a request and then is slow was reached.
        let never = answered.as_ref().err().filter(|error| error.sent() == Sent::Never);
        let fault = never.map(fault::of_upstream);
        *self.last_connect_error.lock().unwrap_or_else(PoisonError::into_inner) = fault;
        answered
    }
}

/// The longest wait for the addresses of a name before anything is sent there.
const LOOK_UP: Duration = Duration::from_secs(5);

/// Whether the address may be reached. A name that has no address now, or whose addresses do not come in
/// time, may have one later: each call looks it up again, within the limit of a connection.
async fn reach(base: &Address, deps: &Deps) -> Result<(), Fault> {
    let refused = |message: String| Fault::new(ExecutionErrorCode::EgressRefused, message);
    if !base.is_secure() && deps.egress.private_networks() == PrivateNetworks::Refused {
        let message = "an address that begins with `http://` is allowed only in development";
        return Err(refused(message.to_owned()));
    }
    match timeout(LOOK_UP, deps.egress.vet(base.host(), base.port())).await {
        Ok(Err(error)) if error.is_refusal() => Err(refused(error.to_string())),
        Ok(_) | Err(_) => Ok(()),
    }
}

/// The digest of a tool that is declared like this and runs there.
fn digest_of(name: &ToolName, shown: &Value, target: &Value) -> Digest {
    sha256(json::canonical(&json!({"name": name, "entry": shown, "target": target})))
}

/// What a tool was accepted with by a version that kept no target with it, with this target. What is not
/// of that form stays as it is.
pub(crate) fn targeted(name: &ToolName, pin: &Value, config: &Value) -> Value {
    let entry = pin.get("entry").unwrap_or(&Value::Null);
    let before = sha256(json::canonical(&json!({"name": name, "entry": entry})));
    if pin.get("target").is_some() || digest_of_pin(pin) != Some(before) {
        return pin.clone();
    }
    let target = target(config);
    json!({"digest": digest_of(name, entry, &target), "target": target, "entry": entry})
}

/// The digest that a tool was accepted with.
fn digest_of_pin(pin: &Value) -> Option<Digest> {
    pin.get("digest")?.as_str()?.parse().ok()
}

impl Connector for RestConnector {
    fn tools(&self) -> Vec<Arc<dyn Tool>> {
        self.tools.iter().map(|tool| Arc::clone(tool) as Arc<dyn Tool>).collect()
    }

    fn tool_schemas(&self) -> BTreeMap<ToolName, Value> {
        let accepted = self.tools.iter().filter(|tool| tool.standing == Standing::Accepted);
        accepted
            .map(|tool| {
                let RestTool { definition: Definition { name, digest, target, .. }, shown, .. } =
                    &**tool;
                (
                    name.clone(),
                    json!({"digest": digest, "target": target.as_deref(), "entry": shown}),
                )
            })
            .collect()
    }

    fn last_connect_error(&self) -> Option<Fault> {
        self.api.last_connect_error.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[async_trait]
impl Tool for RestTool {
    fn definition(&self) -> &Definition {
        &self.definition
    }

    fn check_args(&self, args: &Value) -> Result<(), String> {
        self.args.check(args)?;
        self.operation.render(args).map(drop)
    }

    async fn changed_to(&self) -> Option<Digest> {
        (self.standing == Standing::Unaccepted).then_some(self.definition.digest)
    }

    async fn run(&self, run: Run<'_>) -> Outcome {
        match self.standing {
            Standing::Accepted => self.run_once(&run).await,
            Standing::Unaccepted => Outcome::Failed(Fault::new(
                ExecutionErrorCode::ConnectorMisconfigured,
                "the tool's definition is not the one that was accepted",
            )),
        }
    }

    async fn read_back(&self, claim: Claim<'_>, time_limit: Duration) -> Reading {
        match &self.look_again {
            Some(look_again) => look_again.look(claim, Instant::now() + time_limit).await,
            None => Reading::Done(ReadBack::Unread(ReadBackGap::NotOffered)),
        }
    }

    async fn settle(&self, _: OrgId, _: ActionId, _: Option<&str>) -> Settled {
        match self.definition.side_effect {
            SideEffect::Read => Settled::NotApplied,
            // An API has no memory of runs that could be asked.
            SideEffect::Write | SideEffect::Destructive => Settled::Unknowable,
        }
    }
}

#[cfg(test)]
mod tests;
