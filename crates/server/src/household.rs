//! An org for a demo and who is in it, made by the same use cases as anybody's.

use std::collections::BTreeMap;

use admin::{
    Activation, Expected, KeyMode, KeyText, NewAgent, NewConnector, NewKey, NewOrg, NewPolicy,
    NewVersion,
};
use ledger::record::PolicyMode;
use model::{AgentId, ConnectorId, OrgId, Scope};

use crate::{core::Core, exit::Failure};

/// The name of the demo's agent.
const AGENT: &str = "support";

/// A demo's org and who is in it.
#[derive(Debug)]
pub(crate) struct Household {
    /// The org.
    pub(crate) org: OrgId,
    /// Its connector.
    pub(crate) connector: ConnectorId,
    /// Its agent.
    pub(crate) agent: AgentId,
    /// The agent's key.
    pub(crate) key: KeyText,
}

impl Household {
    /// Makes an org with this connector, an agent with a key, and this policy in force.
    pub(crate) async fn found(
        core: &Core,
        connector: NewConnector,
        policy: &str,
    ) -> Result<Self, Failure> {
        let new = NewOrg { name: "Demo".to_owned(), time_zone: "UTC".to_owned() };
        let org = core.deployment().create_org(new).await.map_err(Failure::internal)?.org.id;
        let operator = core.operator(org);
        let connector = operator.create_connector(connector).await.map_err(Failure::internal)?;
        let agent = NewAgent {
            labels: BTreeMap::from([("team".to_owned(), "care".to_owned())]),
            ..NewAgent::named(AGENT)
        };
        let agent = operator.create_agent(agent).await.map_err(Failure::internal)?.object.id;
        let key = NewKey {
            name: "demo".to_owned(),
            scopes: vec![Scope::ActionsExecute, Scope::ActionsRead],
            mode: KeyMode::Live,
            expires_at: None,
        };
        let key = operator.create_agent_key(agent, key).await.map_err(Failure::internal)?;
        let named = operator.create_policy(NewPolicy::named("demo")).await;
        let named = named.map_err(Failure::internal)?.object.id;
        let tools = core.gate.known_tools(org).await.map_err(Failure::internal)?;
        let known = operator.view().known(tools).await.map_err(Failure::internal)?;
        let effort = policy::Effort::unbounded();
        let linted = admin::lint(policy.to_owned(), &known, &effort).map_err(Failure::internal)?;
        let version = operator.create_policy_version(NewVersion::of(named, linted)).await;
        let version = version.map_err(Failure::internal)?.object.id;
        let untested = operator.view().untested(named, version).await.map_err(Failure::internal)?;
        let activation = Activation {
            version: untested.pass(&effort).map_err(Failure::internal)?,
            mode: PolicyMode::Enforce,
            reason: "The demo's own policy.".to_owned(),
            expected_active: Expected::Anything,
        };
        operator.activate_policy(activation).await.map_err(Failure::internal)?;
        Ok(Self { org, connector: connector.object.id, agent, key: key.text })
    }
}
