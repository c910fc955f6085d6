//! A call with everything that a decision about it needs, owned: for examples, for recorded
//! decisions and for tests. It decides nothing.

use std::{collections::BTreeMap, fmt};

use model::{Mode, SideEffect, Timestamp};
use serde_json::{Value, json};

use crate::{
    call::{Agent, Call, CallFacts},
    decide::Decision,
};

/// One call of a tool, with its agent and its moment.
#[derive(Clone, PartialEq, Eq)]
pub struct Sample {
    /// Who calls.
    pub agent: Agent,
    /// The tool's name as sent.
    pub tool: String,
    /// The call's arguments.
    pub args: Value,
    /// The connector that serves the tool.
    pub connector: Option<String>,
    /// Who runs the tool.
    pub mode: Mode,
    /// How the call came in.
    pub transport: Option<String>,
    /// The session that the agent names.
    pub session: Option<String>,
    /// The person that the agent acts for.
    pub on_behalf_of: Option<String>,
    /// What the tool does to the world.
    pub side_effect: Option<SideEffect>,
    /// How the call's signed intent stands, such as `verified`.
    pub intent: Option<String>,
    /// Whether this is not a test.
    pub livemode: bool,
    /// Whether the tool's definition is another than the one last seen.
    pub tool_changed: bool,
    /// The moment of the decision.
    pub now: Timestamp,
    /// The time zone of the org.
    pub zone: String,
}

impl Sample {
    /// Returns a live call of the tool without arguments, by an agent of which nothing is known.
    pub fn new(tool: impl Into<String>, agent: Agent, now: Timestamp) -> Self {
        let tool = tool.into();
        Self {
            agent,
            connector: tool.split_once('.').map(|(connector, _)| connector.to_owned()),
            tool,
            args: json!({}),
            mode: Mode::Gateway,
            transport: None,
            session: None,
            on_behalf_of: None,
            side_effect: None,
            intent: None,
            livemode: true,
            tool_changed: false,
            now,
            zone: Call::UTC.to_owned(),
        }
    }

    /// Returns the call as a policy decides it.
    pub fn call(&self) -> Call<'_> {
        let facts = CallFacts {
            connector: self.connector.as_deref(),
            transport: self.transport.as_deref(),
            session: self.session.as_deref(),
            on_behalf_of: self.on_behalf_of.as_deref(),
            livemode: self.livemode,
            side_effect: self.side_effect,
            intent: self.intent.as_deref(),
            tool_changed: self.tool_changed,
            ..CallFacts::new(&self.tool, self.mode)
        };
        Call { args: &self.args, agent: &self.agent, call: facts, now: self.now, zone: &self.zone }
    }

    /// Returns a file of tests with this one call, which must be decided so; what
    /// [`read_suite`](crate::read_suite) reads.
    pub fn to_suite(&self, name: &str, policy: Option<&str>, decision: &Decision) -> String {
        let mut expect = BTreeMap::from([("outcome", decision.outcome.as_str())]);
        expect.insert("rule", decision.rule_id.as_deref().unwrap_or("none"));
        expect.extend(decision.code.map(|code| ("code", code.as_str())));
        let mut suite = json!({
            "now": self.now.to_string(),
            "zone": self.zone,
            "agents": { "agent": {
                "id": self.agent.id.to_string(), "name": self.agent.name, "labels": self.agent.labels } },
            "calls": { "call": self.to_json() },
            "cases": [{ "name": name, "agent": "agent", "call": "call", "expect": expect }],
        });
        if let (Some(policy), Some(suite)) = (policy, suite.as_object_mut()) {
            suite.insert("policy".to_owned(), policy.into());
        }
        format!("{suite:#}\n")
    }

    /// Returns the call as files of tests write it: what it does not have is left out.
    pub fn to_json(&self) -> Value {
        let mut call = json!({ "tool": self.tool, "args": self.args, "mode": self.mode.as_str() });
        let texts = [
            ("transport", &self.transport),
            ("session", &self.session),
            ("on_behalf_of", &self.on_behalf_of),
            ("intent", &self.intent),
        ];
        if let Some(call) = call.as_object_mut() {
            let texts = texts.into_iter().filter_map(|(name, text)| Some((name, text.clone()?)));
            call.extend(texts.map(|(name, text)| (name.to_owned(), text.into())));
            let effect = self.side_effect.map(|effect| effect.as_str().into());
            call.extend(effect.map(|effect| ("side_effect".to_owned(), effect)));
            call.extend((!self.livemode).then(|| ("livemode".to_owned(), false.into())));
            call.extend(self.tool_changed.then(|| ("tool_changed".to_owned(), true.into())));
        }
        call
    }
}

impl fmt::Debug for Sample {
    /// Leaves the arguments out: they may hold what no log may.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sample").field("tool", &self.tool).finish_non_exhaustive()
    }
}
