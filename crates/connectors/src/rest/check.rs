//! Looking at an API: whether it can be reached, whether it takes the credential, and which of its
//! operations no tool calls, one line each.
//!
//! Lines tell what to do and never what the API said.

use std::{collections::BTreeMap, time::Duration};

use bytes::Bytes;
use http::Method;
use model::ToolName;
use serde_json::Value;
use tokio::time::Instant;
use upstream::{Limits, Reuse};

use super::{
    Api,
    auth::Identity,
    config::{self, Config},
    digest_of, digest_of_pin,
    fault::{of_status, of_upstream},
    reach,
    target::target,
};
use crate::{Blueprint, BuildError, CheckLine, CheckState, Deps, connector::remedied};

const LIMIT: Duration = Duration::from_secs(10);
const SMALL: usize = 64 * 1024;

/// The lines, also for a config that cannot be built; what cannot be looked at for want of something
/// earlier is left out.
pub(crate) async fn check(blueprint: &Blueprint, deps: &Deps) -> Vec<CheckLine> {
    let config = match config::read(&blueprint.name, &blueprint.config) {
        Ok(config) => config,
        Err(findings) => return failures(&BuildError::Config { findings }),
    };
    let mut lines = vec![line("config", CheckState::Pass, "")];
    if let Err(fault) = reach(&config.base, deps).await {
        lines.push(line("address", CheckState::Fail, &fault.message));
        return lines;
    }
    lines.push(line("address", CheckState::Pass, ""));
    let api = match Api::of(&config, &blueprint.credential, deps) {
        Ok(api) => api,
        Err(error) => {
            lines.extend(failures(&error));
            return lines;
        }
    };
    let reached = api.reached(&config).await;
    let is_reached = reached.state != CheckState::Fail;
    lines.push(reached);
    if is_reached {
        lines.extend(api.known(&config).await);
    }
    let target = target(&blueprint.config);
    lines.extend(of_tools(&config, (&blueprint.tools, &target)));
    let left = config.left_out.iter();
    lines.extend(
        left.map(|it| {
            line(&it.operation, CheckState::Advice, &format!("not served: {}", it.reason))
        }),
    );
    lines
}

impl Api {
    /// Whether anything answers; what, does not matter, since nothing is asked for.
    async fn reached(&self, config: &Config) -> CheckLine {
        let limits = Limits { whole: LIMIT, idle: LIMIT, answer_bytes: SMALL };
        let what = (Method::HEAD, config.base.path_and_query());
        let asked = (config.headers.clone(), Bytes::new());
        match self.send(what, asked, (&limits, Reuse::Fresh)).await {
            Ok(_) => line("answers", CheckState::Pass, ""),
            Err(error) => line("answers", CheckState::Fail, &of_upstream(&error).message),
        }
    }

    /// Whether the credential is there, and is taken where that can be asked.
    async fn known(&self, config: &Config) -> Vec<CheckLine> {
        const NAME: &str = "credential";
        let until = Instant::now() + LIMIT;
        let proof = match self.proof(until).await {
            Ok(proof) => proof,
            Err(fault) => return vec![line(NAME, CheckState::Fail, &remedied(&fault))],
        };
        let Some(path) = &config.check_path else {
            return match self.identity {
                Identity::Unsaid => Vec::new(),
                Identity::Header(..) | Identity::Tokens(_) | Identity::Missing => {
                    let detail = "set, but not tested; set a path in `check_path` to test it";
                    vec![line(NAME, CheckState::Advice, detail)]
                }
            };
        };
        let limits = Limits { whole: LIMIT, idle: LIMIT, answer_bytes: SMALL };
        let mut headers = config.headers.clone();
        proof.add_to(&mut headers);
        let path = format!("{}{path}", config.base.path_and_query().trim_end_matches('/'));
        let asked = (headers, Bytes::new());
        match self.send((Method::GET, &path), asked, (&limits, Reuse::Fresh)).await {
            Ok(answer) if answer.status.is_success() => vec![line(NAME, CheckState::Pass, "")],
            Ok(answer) => {
                let mut fault = of_status(answer.status.as_u16());
                fault.message.push_str(" to `check_path`");
                vec![line(NAME, CheckState::Fail, &remedied(&fault))]
            }
            Err(error) => vec![line(NAME, CheckState::Fail, &of_upstream(&error).message)],
        }
    }
}

/// Whether the tools are those that were accepted.
fn of_tools(
    config: &Config,
    (accepted, target): (&BTreeMap<ToolName, Value>, &Value),
) -> Vec<CheckLine> {
    let differs = |tool: &&config::Declared| {
        let pinned = accepted.get(&tool.name).and_then(digest_of_pin);
        !accepted.is_empty() && pinned != Some(digest_of(&tool.name, &tool.shown, target))
    };
    let detail = "its definition is not the one that was accepted, so its calls are refused: review it, then accept it";
    let changed: Vec<CheckLine> = config
        .tools
        .iter()
        .filter(differs)
        .map(|tool| line(&format!("tool `{}`", tool.name), CheckState::Fail, detail))
        .collect();
    if changed.is_empty() {
        return vec![line(&format!("all {} tools fit", config.tools.len()), CheckState::Pass, "")];
    }
    changed
}

fn failures(error: &BuildError) -> Vec<CheckLine> {
    match error {
        BuildError::Config { findings } => findings
            .iter()
            .map(|finding| line(&finding.at, CheckState::Fail, &finding.message))
            .collect(),
        BuildError::UnknownKind { .. } | BuildError::Credential { .. } | BuildError::Connect(_) => {
            vec![line("connector", CheckState::Fail, &error.to_string())]
        }
    }
}

fn line(name: &str, state: CheckState, detail: &str) -> CheckLine {
    CheckLine { name: name.to_owned(), state, detail: detail.to_owned() }
}
