//! One case: a call, the tool that it means and its arguments in the form that is recorded. The
//! same case can be made from a submission and from what was recorded of it.

use std::sync::Arc;

use crypto::{Sha256, json::Canonical};
use ledger::{
    Changes, Snapshot,
    record::{AcceptedTool, Action, VERIFIED},
};
use model::Digest;
use policy::{Agent, Call, CallFacts, Policy};
use serde_json::Value;

use crate::{decision_cache::DecisionCache, resolved::Resolved, vouch::looks};

/// The digest of the accepted definition of a tool, and of the one that was found.
pub(crate) type Change = (Digest, Digest);

/// A call with everything that its decision needs beside a snapshot.
#[derive(Debug, Clone)]
pub struct Case {
    // Invariant: the call's arguments are those of `args`, its facts about the tool are those of
    // `resolved`, apart from whether it changed, which a snapshot alone can say.
    call: Call,
    resolved: Resolved,
    args: Canonical,
    decisions: DecisionCache,
}

impl Case {
    /// The case of a call that means this tool. What the call says of the tool gives way to what
    /// was found.
    pub fn new(call: Call, resolved: Resolved, args: Canonical) -> Self {
        let facts = CallFacts {
            connector: resolved.connector().map(|connector| connector.name.clone()),
            side_effect: resolved.side_effect(),
            ..call.facts
        };
        let call = Call { args: Arc::clone(args.value()), facts, ..call };
        Self { call, resolved, args, decisions: DecisionCache::default() }
    }

    /// The case of an action that was recorded, with the arguments that its disclosure opens.
    pub fn of_action(action: &Action, resolved: Resolved, args: Canonical) -> Self {
        let call = action.call(Arc::clone(args.value()), Call::UTC);
        Self::new(call, resolved, args)
    }

    /// The call. Of its agent only the id counts: a decision takes the rest, the moment and the
    /// zone from its snapshot.
    pub fn call(&self) -> &Call {
        &self.call
    }

    /// The call with a signed intent that holds for it.
    pub(crate) fn signed(mut self) -> Self {
        self.call.facts.intent = Some(VERIFIED.to_owned());
        self
    }

    /// The call as long as nobody looked at its intent.
    pub(crate) fn unsigned(mut self) -> Self {
        self.call.facts.intent = None;
        self
    }

    /// The tool.
    pub fn resolved(&self) -> &Resolved {
        &self.resolved
    }

    /// The arguments with their canonical form.
    pub fn args(&self) -> &Canonical {
        &self.args
    }

    /// What a policy says of the call as it is at this moment.
    pub(crate) fn ask(&self, policy: &Arc<Policy>, call: &Call) -> policy::Decision {
        self.decisions.decide(policy, call)
    }

    /// Whether the tool is not the one that was accepted: of an edge's, the one that the agent was
    /// last let run under this name. An edge that once said which tool it has and now leaves it out
    /// might have any.
    pub(crate) fn tool_changed(&self, snapshot: &Snapshot) -> bool {
        match &self.resolved {
            Resolved::Served(served) => served.changed.is_some(),
            Resolved::AtEdge { digest, .. } => {
                let accepted = snapshot.accepted_tool(self.call.agent.id, &self.call.tool);
                accepted.is_some_and(|accepted| Some(accepted.digest) != *digest)
            }
            Resolved::Unknown => false,
        }
    }

    /// Whether the tool is one that no policy can let run: a connector's tool is accepted by whoever
    /// keeps the connector, and not by the call.
    pub(crate) fn is_to_be_accepted(&self) -> bool {
        matches!(&self.resolved, Resolved::Served(served) if served.changed.is_some())
    }

    /// What the record learns when the call is let run; nothing where it knows that already.
    pub(crate) fn accepts(&self, snapshot: &Snapshot) -> Option<AcceptedTool> {
        let Resolved::AtEdge { digest, .. } = &self.resolved else { return None };
        let (agent, tool) = (self.call.agent.id, &self.call.tool);
        let known = snapshot.accepted_tool(agent, tool).map(|accepted| accepted.digest);
        let digest = digest.filter(|now| known != Some(*now))?;
        Some(AcceptedTool { agent, tool: tool.clone(), digest, told: None })
    }

    /// The tool's change that nobody was told of yet, and the row that remembers that it was told.
    pub(crate) fn news(&self, snapshot: &Snapshot) -> Option<(Change, Changes)> {
        match &self.resolved {
            Resolved::Served(served) => {
                let definition = served.tool.definition();
                let change = (definition.digest, served.changed?);
                let row = snapshot.connector(served.connector.id?)?;
                if served.test == self.call.facts.livemode
                    || row.told.get(&definition.name) == Some(&change)
                {
                    return None;
                }
                let mut row = row.clone();
                row.told.insert(definition.name.clone(), change);
                Some((change, row.into()))
            }
            Resolved::AtEdge { digest, .. } => {
                let row = snapshot.accepted_tool(self.call.agent.id, &self.call.tool)?;
                let found = digest.filter(|found| row.digest != *found)?;
                let change = (row.digest, found);
                (row.told != Some(found))
                    .then(|| (change, AcceptedTool { told: Some(found), ..row.clone() }.into()))
            }
            Resolved::Unknown => None,
        }
    }

    /// The call as the policy shall see it now; nothing when agent or org are not there.
    pub(crate) fn at(&self, snapshot: &Snapshot) -> Option<Call> {
        let agent = snapshot.agent(self.call.agent.id)?;
        let agent = Agent { id: agent.id, name: agent.name.clone(), labels: agent.labels.clone() };
        let (now, zone) = (snapshot.now(), snapshot.org()?.time_zone.clone());
        let Call { tool, args, facts, .. } = &self.call;
        let looked = looks(snapshot.agent(self.call.agent.id)?.intent_mode);
        let facts = CallFacts {
            tool_changed: self.tool_changed(snapshot),
            intent: facts.intent.clone().filter(|_| looked),
            ..facts.clone()
        };
        let (tool, args) = (tool.clone(), Arc::clone(args));
        Some(Call { tool, args, agent, facts, now, zone })
    }
}

/// The digest that names a request: of the canonical form of `{args, tool}`.
pub(crate) fn request_digest(tool: &str, args: &Canonical) -> Digest {
    let tool = crypto::json::canonical(&Value::from(tool));
    let mut digest = Sha256::new();
    let parts: [&[u8]; 5] = [br#"{"args":"#, args.text().as_bytes(), br#","tool":"#, &tool, b"}"];
    for part in parts {
        digest.update(part);
    }
    digest.finish()
}
