//! One call of a tool with everything that a decision about it is made from. It decides nothing
//! and holds nothing that a decision could change.

use std::{collections::BTreeMap, fmt, sync::Arc};

use model::{AgentId, Mode, SideEffect, Timestamp};
use serde_json::{Value, json};

/// One call of a tool, as the policy sees it.
#[derive(Clone, PartialEq, Eq)]
pub struct Call {
    /// The tool's name as sent.
    pub tool: String,
    /// The call's arguments, shared with whoever records and runs the call.
    pub args: Arc<Value>,
    /// Who calls.
    pub agent: Agent,
    /// What else is known.
    pub facts: CallFacts,
    /// The moment of the decision.
    pub now: Timestamp,
    /// The IANA time zone that budget windows are aligned in; [`Call::UTC`] when the org has none.
    pub zone: String,
}

/// The agent that calls, as of the moment of the decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Agent {
    /// Its id.
    pub id: AgentId,
    /// Its name.
    pub name: String,
    /// What the org says about it.
    pub labels: BTreeMap<String, String>,
}

/// What is known of a call besides its tool, its arguments and its agent.
#[derive(Clone, PartialEq, Eq)]
pub struct CallFacts {
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
    /// Whether this is not a test.
    pub livemode: bool,
    /// What the tool does to the world.
    pub side_effect: Option<SideEffect>,
    /// How the call's signed intent stands, such as `verified`.
    pub intent: Option<String>,
    /// Whether the tool's definition is another than the one last seen.
    pub tool_changed: bool,
}

impl Agent {
    /// An agent of which nothing but the id is known.
    pub const fn new(id: AgentId) -> Self {
        Self { id, name: String::new(), labels: BTreeMap::new() }
    }
}

impl Call {
    /// The zone of an org that has not chosen one.
    pub const UTC: &'static str = "UTC";

    /// A live call of the tool without arguments, of which nothing else is known. Its connector is
    /// the one that the tool's name begins with.
    pub fn new(tool: impl Into<String>, agent: Agent, now: Timestamp) -> Self {
        let tool = tool.into();
        let connector = tool.split_once('.').map(|(connector, _)| connector.to_owned());
        Self {
            tool,
            args: Arc::new(json!({})),
            agent,
            facts: CallFacts { connector, ..CallFacts::default() },
            now,
            zone: Self::UTC.to_owned(),
        }
    }

    /// The same call with these arguments.
    #[must_use]
    pub fn with_args(self, args: impl Into<Arc<Value>>) -> Self {
        Self { args: args.into(), ..self }
    }
}

impl Default for CallFacts {
    /// A live call through the gateway of which nothing else is known.
    fn default() -> Self {
        Self {
            connector: None,
            mode: Mode::Gateway,
            transport: None,
            session: None,
            on_behalf_of: None,
            livemode: true,
            side_effect: None,
            intent: None,
            tool_changed: false,
        }
    }
}

impl fmt::Debug for Call {
    /// Leaves the arguments out: they may hold what no log may.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { tool, agent, facts, now, zone, args: _ } = self;
        f.debug_struct("Call")
            .field("tool", tool)
            .field("agent", &agent.id)
            .field("facts", facts)
            .field("now", now)
            .field("zone", zone)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for CallFacts {
    /// Leaves out what may name a person.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { mode, livemode, .. } = self;
        f.debug_struct("CallFacts")
            .field("mode", mode)
            .field("livemode", livemode)
            .finish_non_exhaustive()
    }
}
