//! What is known of one call when it is decided. Holds nothing that a decision could change.

use std::{collections::BTreeMap, fmt};

use model::{AgentId, Mode, SideEffect, Timestamp};
use serde_json::Value;

/// One call of a tool, as the policy sees it.
#[derive(Clone, Copy)]
pub struct Call<'a> {
    /// The call's arguments.
    pub args: &'a Value,
    /// Who calls.
    pub agent: &'a Agent,
    /// What else is known.
    pub call: CallFacts<'a>,
    /// The moment of the decision.
    pub now: Timestamp,
    /// The IANA time zone that budget windows are aligned in; [`Call::UTC`] when the org has none.
    pub zone: &'a str,
}

impl Call<'_> {
    /// The zone of an org that has not chosen one.
    pub const UTC: &'static str = "UTC";
}

impl fmt::Debug for Call<'_> {
    /// Leaves the arguments out: they may hold what no log may.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { agent, call, now, zone, args: _ } = self;
        f.debug_struct("Call")
            .field("agent", &agent.id)
            .field("call", call)
            .field("now", now)
            .field("zone", zone)
            .finish_non_exhaustive()
    }
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

/// What is known of a call besides its arguments and its agent.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct CallFacts<'a> {
    /// The tool's name as sent.
    pub tool: &'a str,
    /// The connector that serves the tool.
    pub connector: Option<&'a str>,
    /// Who runs the tool.
    pub mode: Mode,
    /// How the call came in.
    pub transport: Option<&'a str>,
    /// The session that the agent names.
    pub session: Option<&'a str>,
    /// The person that the agent acts for.
    pub on_behalf_of: Option<&'a str>,
    /// Whether this is not a test.
    pub livemode: bool,
    /// What the tool does to the world.
    pub side_effect: Option<SideEffect>,
    /// How the call's signed intent stands, such as `verified`.
    pub intent: Option<&'a str>,
    /// Whether the tool's definition is another than the one last seen.
    pub tool_changed: bool,
}

impl<'a> CallFacts<'a> {
    /// Returns a live call of the tool about which nothing else is known.
    pub const fn new(tool: &'a str, mode: Mode) -> Self {
        Self {
            tool,
            connector: None,
            mode,
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

impl fmt::Debug for CallFacts<'_> {
    /// Leaves out what may name a person.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { tool, mode, livemode, .. } = self;
        f.debug_struct("CallFacts")
            .field("tool", tool)
            .field("mode", mode)
            .field("livemode", livemode)
            .finish_non_exhaustive()
    }
}
