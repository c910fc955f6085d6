//! The first turn of an action: everything that decides whether it runs, in one place and order.

mod budget;
mod context;
mod decide;

use std::sync::Arc;

use deed::{Path, commit};
use event::thin_action;
use ledger::{
    Change, DeedEntry, Entry, Needs, Request, Snapshot,
    record::{Action, AgentRef, Approval, DecisionInputs, Execution, Known, Lease},
};
use model::{
    ActionId, ApprovalId, ApprovalStatus, Attestation, DecisionOutcome, Digest, EventId, EventType,
    ExecutionStatus, IntentMode, Mint, Mode, OrgId, State, Status,
};
use serde_json::Value;
use tool::{Estimate, Tool};

use crate::{
    Rejection, Submission, deed_of::deed_of, gate::Parts, repeat::KNOWN_FOR, resolve::Resolved,
};
use context::{Shown, context};
use decide::{Verdict, decide};

pub(crate) use budget::release;

/// A call that shall be decided.
#[derive(Clone)]
pub(crate) struct Begin {
    call: Submission,
    resolved: Resolved,
    request_digest: Digest,
    fingerprint: Digest,
    limits: crate::Limits,
    instance: String,
    // Asked for only once it is clear that a person will look at it.
    estimate: Option<Estimate>,
}

/// What the turn made of a call.
pub(crate) enum Begun {
    /// Nothing was recorded.
    Rejected(Rejection),
    /// The idempotency key names this action already.
    Known(ActionId),
    /// A person must look at the call, who shall know what it would do; nothing was recorded.
    ToEstimate(Box<Begin>),
    /// Refused, waiting for a person, or authorised for the agent's edge.
    Decided(Box<Action>),
    /// The tool may run now.
    Permitted(Box<Permitted>),
}

/// A run that a turn permitted and recorded. Nothing else can be carried out.
pub(crate) struct Permitted {
    pub(crate) action: Box<Action>,
    pub(crate) tool: Arc<dyn Tool>,
    pub(crate) args: Arc<Value>,
}

impl Begin {
    pub(crate) fn new(
        call: Submission,
        resolved: Resolved,
        request_digest: Digest,
        parts: &Parts,
    ) -> Self {
        let fingerprint = call.fingerprint(request_digest);
        let (limits, instance) = (parts.limits, parts.instance.clone());
        Self { call, resolved, request_digest, fingerprint, limits, instance, estimate: None }
    }

    /// Returns the call with what its tool says that it would do.
    pub(crate) async fn estimated(self) -> Self {
        let estimate = match &self.resolved {
            Resolved::Served(served) => {
                served.tool.estimate(&self.call.call.args, self.limits.estimate_timeout).await
            }
            Resolved::AtEdge { .. } | Resolved::Unknown => Estimate::NotOffered,
        };
        Self { estimate: Some(estimate), ..self }
    }

    /// Returns whether the tool must be asked before a person can be.
    fn lacks_estimate(&self, verdict: &Verdict) -> bool {
        let asks = verdict.approval.as_ref().is_some_and(|clause| clause.estimate);
        let waits = verdict.decision.outcome == DecisionOutcome::RequireApproval;
        asks && waits && self.estimate.is_none()
    }

    pub(crate) fn org(&self) -> OrgId {
        self.call.org
    }

    /// Returns what keeps the call from being recorded at all.
    fn rejection(&self, snapshot: &Snapshot) -> Option<Rejection> {
        let key_holds = snapshot.key(self.call.key).is_some_and(|key| key.is_valid(snapshot.now()));
        let agent =
            snapshot.agent(self.call.call.agent.id).filter(|agent| agent.archived_at.is_none());
        let Some(agent) = agent.filter(|_| key_holds) else {
            return Some(Rejection::Unauthenticated);
        };
        match (agent.intent_mode, &self.call.intent) {
            (IntentMode::Off, _) | (IntentMode::Optional, None) => None,
            (IntentMode::Required, None) => Some(Rejection::IntentRequired),
            (IntentMode::Optional | IntentMode::Required, Some(_)) => {
                Some(Rejection::IntentInvalid("the agent has no active intent key"))
            }
        }
    }
}

impl Request for Begin {
    type Answer = Begun;

    fn needs(&self, snapshot: &Snapshot) -> Needs {
        let mut needs = Needs::default();
        needs.agents.insert(self.call.call.agent.id);
        needs.keys.insert(self.call.key);
        if let Some(key) = &self.call.idempotency_key {
            needs.known.insert((self.call.call.agent.id, key.clone()));
        }
        needs.budgets.extend(decide::budgets(&self.call, &self.resolved, snapshot));
        needs
    }

    fn decide(&self, snapshot: &Snapshot, mint: &Mint<'_>) -> (Entry, Begun) {
        let known = self
            .call
            .idempotency_key
            .as_ref()
            .and_then(|key| snapshot.known(self.call.call.agent.id, key));
        if let Some(known) = known {
            let same = known.fingerprint == self.fingerprint;
            let different = || Begun::Rejected(Rejection::DifferentRequest(known.action));
            let begun = if same { Begun::Known(known.action) } else { different() };
            return (Entry::nothing(), begun);
        }
        if let Some(rejection) = self.rejection(snapshot) {
            return (Entry::nothing(), Begun::Rejected(rejection));
        }
        let Some(verdict) = decide(&self.call, &self.resolved, snapshot) else {
            // An org without an active policy cannot even name what refused the call.
            return (Entry::nothing(), Begun::Rejected(Rejection::Unauthenticated));
        };
        if self.lacks_estimate(&verdict) {
            return (Entry::nothing(), Begun::ToEstimate(Box::new(self.clone())));
        }
        self.record(verdict, snapshot, mint)
    }
}

impl Begin {
    fn record(&self, verdict: Verdict, snapshot: &Snapshot, mint: &Mint<'_>) -> (Entry, Begun) {
        let (request, disclosure) = commit(mint, Path::REQUEST, &self.call.call.args);
        let mut disclosures = vec![disclosure];
        let mut action = self.action(&verdict, request, snapshot, mint);
        let mut entry = Entry::nothing();
        let (mut deeds, kind) = match verdict.decision.outcome {
            DecisionOutcome::Deny => {
                (action.state, action.status) = (State::Sealed, Status::Denied);
                (vec![seal(&mut action, mint)], EventType::ActionDenied)
            }
            DecisionOutcome::RequireApproval => {
                (action.state, action.status) = (State::PendingApproval, Status::PendingApproval);
                let (approval, shown) = self.approval(&verdict, &action.agent, mint);
                action.approval = Some(approval);
                disclosures.push(shown);
                (Vec::new(), EventType::ActionPendingApproval)
            }
            DecisionOutcome::Allow => {
                self.allow(&mut action, mint);
                (Vec::new(), EventType::ActionCreated)
            }
        };
        entry.deeds.append(&mut deeds);
        entry.changes.extend(verdict.budgets.into_iter().map(Change::Budget));
        entry.changes.extend(self.known_as(&action).map(Change::Known));
        entry.events.push(event_of(&action, kind, mint));
        entry.changes.push(Change::ActionBegun(Box::new(action.clone()), disclosures));
        (entry, self.begun(action))
    }

    fn begun(&self, action: Action) -> Begun {
        let action = Box::new(action);
        match &self.resolved {
            Resolved::Served(served)
                if action.state == State::Executing && action.mode == Mode::Gateway =>
            {
                let (tool, args) = (Arc::clone(&served.tool), self.call.call.args.clone());
                Begun::Permitted(Box::new(Permitted { action, tool, args }))
            }
            Resolved::Served(_) | Resolved::AtEdge { .. } | Resolved::Unknown => {
                Begun::Decided(action)
            }
        }
    }

    /// Returns the action as it stands before the decision moved it.
    fn action(
        &self,
        verdict: &Verdict,
        request: deed::Commitment,
        snapshot: &Snapshot,
        mint: &Mint<'_>,
    ) -> Action {
        let call = &self.call;
        let agent = snapshot.agent(call.call.agent.id);
        Action {
            id: mint.id(ActionId::from_uuid),
            org: call.org,
            agent: AgentRef {
                id: call.call.agent.id,
                name: agent.map(|agent| agent.name.clone()).unwrap_or_default(),
            },
            key: call.key,
            livemode: call.call.facts.livemode,
            created_at: mint.now(),
            tool: call.call.tool.clone(),
            tool_digest: self.resolved.digest(),
            side_effect: self.resolved.side_effect(),
            connector: self.resolved.connector().cloned(),
            mode: call.call.facts.mode,
            state: State::Executing,
            status: Status::Processing,
            on_behalf_of: call.call.facts.on_behalf_of.clone(),
            session: call.call.facts.session.clone(),
            client: call.client.clone(),
            transport: call.call.facts.transport.clone(),
            intent_mode: agent.map_or(IntentMode::Required, |agent| agent.intent_mode),
            intent: match self.call.intent {
                // Only the mode `off` lets a call with an intent come this far.
                Some(_) => deed::IntentStatus::Ignored,
                None => deed::IntentStatus::Absent,
            },
            decision: verdict.decision.clone(),
            inputs: DecisionInputs {
                now: mint.now(),
                agent_labels: agent.map(|agent| agent.labels.clone()).unwrap_or_default(),
                schema_digest: self.resolved.schema_digest(),
                tool_changed: self.resolved.changed(),
            },
            approval: None,
            execution: None,
            witness: None,
            required_level: self.resolved.required_level(),
            cost: verdict.cost.clone(),
            charged: verdict.charged.clone(),
            request_digest: self.request_digest,
            request,
            result_digest: None,
            payload_pruned_at: None,
            deadline: None,
            deed: None,
            lease: None,
        }
    }

    fn allow(&self, action: &mut Action, mint: &Mint<'_>) {
        action.state = State::Executing;
        let (status, attestation) = match self.call.call.facts.mode {
            Mode::Gateway => (Status::Processing, Some(Attestation::GatewayExecuted)),
            Mode::Proxy => (Status::Authorized, None),
        };
        action.status = status;
        action.execution = Some(Execution {
            status: ExecutionStatus::Running,
            attestation,
            started_at: (self.call.call.facts.mode == Mode::Gateway).then(|| mint.now()),
            finished_at: None,
            error_code: None,
            error_message: None,
            lossy_numbers: false,
        });
        match self.call.call.facts.mode {
            Mode::Gateway => {
                action.lease = Some(Lease { holder: self.instance.clone(), token: 1 });
            }
            Mode::Proxy => {
                action.deadline = Some(mint.now() + self.limits.edge_result_timeout);
            }
        }
    }

    fn approval(
        &self,
        verdict: &Verdict,
        agent: &AgentRef,
        mint: &Mint<'_>,
    ) -> (Approval, deed::Disclosure) {
        let clause = verdict.approval.as_deref();
        let (call, resolved) = (&self.call, &self.resolved);
        let estimate = self.estimate.as_ref();
        let shown =
            Shown { call, agent, request_digest: self.request_digest, resolved, verdict, estimate };
        let snapshot = context(&shown, self.limits.context_max_bytes);
        let (context, disclosure) = commit(mint, Path::APPROVAL_CONTEXT, &snapshot);
        let expires_in = clause.and_then(|clause| clause.expires_in);
        let approval = Approval {
            id: mint.id(ApprovalId::from_uuid),
            status: ApprovalStatus::Pending,
            expires_at: mint.now() + expires_in.unwrap_or(self.limits.approval_expires_in),
            from: clause.map(|clause| clause.from.clone()).unwrap_or_default(),
            count: clause.map_or(1, |clause| clause.count),
            context,
            context_digest: Some(crypto::sha256(crypto::json::canonical(&snapshot))),
            decisions: Vec::new(),
        };
        (approval, disclosure)
    }

    fn known_as(&self, action: &Action) -> Option<Known> {
        self.call.idempotency_key.clone().map(|key| Known {
            agent: self.call.call.agent.id,
            key,
            action: action.id,
            fingerprint: self.fingerprint,
            expires_at: action.created_at + KNOWN_FOR,
        })
    }
}

/// Names the deed in the action and returns what is to be sealed.
pub(crate) fn seal(action: &mut Action, mint: &Mint<'_>) -> DeedEntry {
    let entry = deed_of(action, None, None, mint);
    action.deed = Some(entry.draft.id);
    entry
}

/// Returns an event of an action as it stands.
pub(crate) fn event_of(action: &Action, kind: EventType, mint: &Mint<'_>) -> event::Draft {
    event::Draft {
        id: mint.id(EventId::from_uuid),
        kind,
        livemode: action.livemode,
        agent: Some(action.agent.id),
        action: Some(action.id),
        object: thin_action(action.id, action.state, action.status),
    }
}
