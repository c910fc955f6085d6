//! The first turn of an action: everything that decides whether it runs, in one place and order.

mod allow;
mod asking;
mod budget;
mod context;
mod decide;
mod estimate;

use std::sync::Arc;

use crypto::json::Canonical;
use deed::{Path, commit_canonical};
use event::{thin_action, thin_approval, thin_void};
use intent::Key;
use ledger::{
    DeedEntry, Entry, Needs, Request, Snapshot,
    record::{Action, AgentRef, Approval, Client, DecisionInputs, IdempotencyKey},
};
use model::{
    ActionId, AgentId, ApprovalStatus, DecisionOutcome, Digest, EventId, EventType, IntentMode,
    KeyId, Mint, Mode, OrgId, State, Status, ToolName,
};
use policy::Call;
use serde_json::{Value, json};
use tool::Tool;

use crate::{
    case::{Case, Change},
    deed_of::deed_of,
    gate::Parts,
    limits::Limits,
    link,
    ports::Seen,
    repeat::KNOWN_FOR,
    resolve::{Absence, Sought},
    resolved::Resolved,
    submission::{Rejection, Submission},
    vouch::{Intent, key_of, looks},
};

pub(crate) use allow::allow;
use asking::{LookedInto, Wanted};
pub(crate) use budget::{release, swapped};
pub use decide::Verdict;
pub(crate) use decide::{budgets, decide, held, hold};

/// A call that shall be decided.
#[derive(Clone)]
pub(crate) struct Begin {
    org: OrgId,
    key: KeyId,
    client: Option<Client>,
    idempotency_key: Option<String>,
    intent: Intent,
    audience: Arc<str>,
    case: Case,
    request_digest: Digest,
    fingerprint: Digest,
    limits: Limits,
    instance: String,
    absence: Option<Absence>,
    // Only once it is clear that a person will look at it.
    looked_into: Option<LookedInto>,
    // Looked up only where who may answer hangs on it.
    has_one_member: Option<bool>,
}

/// What the turn made of a call.
pub(crate) enum BeginOutcome {
    /// Nothing was recorded.
    Rejected(Rejection),
    /// The idempotency key names this action already.
    Repeat(ActionId),
    /// A person must look at the call, who shall know what is usual, and if this says so what the
    /// call would do; nothing was recorded.
    ToLookInto(Box<Begin>, Wanted),
    /// A person must look at the call, and who may answer hangs on how the org asks and on whether
    /// it has one member; nothing was recorded.
    ToCount(Box<Begin>),
    /// The call's intent must be judged by this key first; nothing was recorded.
    ToVouch(Box<Begin>, Key),
    /// A connector has come or changed that may serve the tool; nothing was recorded.
    ToSeek(Box<Begin>),
    /// Refused, waiting for a person, or authorised for the agent's edge.
    Decided(Arc<Action>),
    /// The tool may run now.
    Permitted(Box<Permitted>),
}

/// A run that a turn permitted and recorded. Nothing else can be carried out.
pub(crate) struct Permitted {
    pub(crate) action: Arc<Action>,
    pub(crate) tool: Arc<dyn Tool>,
    pub(crate) args: Arc<Value>,
}

impl Begin {
    pub(crate) fn new(
        sent: Submission,
        ((resolved, absence), args, request_digest): (Sought, Canonical, Digest),
        parts: &Parts,
    ) -> Self {
        let fingerprint = sent.fingerprint(request_digest);
        let Submission { org, key, call, edge: _, client, idempotency_key, intent } = sent;
        Self {
            org,
            key,
            client,
            idempotency_key,
            intent: Intent::of(intent),
            audience: Arc::clone(&parts.audience),
            case: Case::new(call, resolved, args),
            request_digest,
            fingerprint,
            limits: parts.limits,
            instance: parts.instance.clone(),
            absence,
            looked_into: None,
            has_one_member: None,
        }
    }

    /// The key that the call's intent names, as long as nobody looked at its signature.
    pub(crate) fn unknown_kid(&self) -> Option<String> {
        self.intent.unknown_kid()
    }

    /// The call after its intent was judged by this key.
    pub(crate) fn vouched(mut self, key: &Key) -> Self {
        let call = self.case.call();
        let (agent, mode) = (call.agent.id.to_string(), call.facts.mode.to_string());
        let signed = intent::Call {
            audience: &self.audience,
            agent: &agent,
            tool: &call.tool,
            request: self.request_digest,
            mode: &mode,
            on_behalf_of: call.facts.on_behalf_of.as_deref(),
            session: call.facts.session.as_deref(),
            idempotency_key: self.idempotency_key.as_deref(),
            tool_digest: self.case.resolved().digest(),
        };
        self.intent = self.intent.judged(std::slice::from_ref(key), &signed);
        match self.intent {
            Intent::Signed(..) => Self { case: self.case.signed(), ..self },
            Intent::Absent | Intent::Sent(_) | Intent::Broken(..) => self,
        }
    }

    /// The key that must be known before the intent can be judged.
    fn lacks_vouching(&self, snapshot: &Snapshot) -> Option<Key> {
        snapshot.agent(self.agent()).filter(|agent| looks(agent.intent_mode))?;
        key_of(snapshot, self.agent(), &self.intent.unknown_kid()?)
    }

    /// The call with what its tool turned out to be, or what was seen where nobody serves it.
    pub(crate) fn sought(self, resolved: Resolved, seen: Option<Seen>) -> Self {
        let case = Case::new(self.case.call().clone(), resolved, self.case.args().clone());
        // An intent may name the digest of the tool.
        let (case, intent) = (case.unsigned(), self.intent.unjudged());
        let absence = seen.map(|seen| self.absence.unwrap_or_default().seen_as(seen));
        Self { intent, case, absence, ..self }
    }

    /// The connector that may serve a tool which nobody was found to serve.
    fn doubt(&self, snapshot: &Snapshot) -> Option<Absence> {
        let absence = self.absence?;
        let name: ToolName = self.call().tool.parse().ok()?;
        let known = snapshot.connectors().find(|connector| {
            connector.archived_at.is_none() && connector.name.as_str() == name.connector()
        });
        let known = known.map(|connector| (connector.id, connector.revision));
        absence.is_doubtful(known).then(|| absence.because_of(known))
    }

    pub(crate) fn org(&self) -> OrgId {
        self.org
    }

    pub(crate) fn call(&self) -> &Call {
        self.case.call()
    }

    fn agent(&self) -> AgentId {
        self.case.call().agent.id
    }

    /// What keeps the call from being recorded at all.
    fn rejection(&self, snapshot: &Snapshot) -> Option<Rejection> {
        let key_holds = snapshot.key(self.key).is_some_and(|key| key.is_valid(snapshot.now()));
        let agent = snapshot.agent(self.agent()).filter(|agent| agent.archived_at.is_none());
        let Some(agent) = agent.filter(|_| key_holds) else {
            return Some(Rejection::Unauthenticated);
        };
        match (agent.intent_mode, self.intent.is_sent()) {
            (IntentMode::Off, _) | (IntentMode::Optional, false) => None,
            (IntentMode::Required, false) => Some(Rejection::IntentRequired),
            (IntentMode::Optional | IntentMode::Required, true) => {
                self.intent.rejection(agent.id, snapshot)
            }
        }
    }
}

impl Request for Begin {
    type Answer = BeginOutcome;

    fn needs(&self, snapshot: &Snapshot) -> Needs {
        let mut needs = Needs::default();
        needs.agents.insert(self.agent());
        needs.keys.insert(self.key);
        if let Some(key) = &self.idempotency_key {
            needs.idempotency_keys.insert((self.agent(), key.clone()));
        }
        if self.intent.is_sent() {
            needs.intent_keys.insert(self.agent());
        }
        needs.idempotency_keys.extend(self.intent.nonce().map(|nonce| (self.agent(), nonce)));
        if matches!(self.case.resolved(), Resolved::AtEdge { .. }) {
            needs.accepted_tools.insert((self.agent(), self.case.call().tool.clone()));
        }
        needs.budgets.extend(decide::budgets(&self.case, snapshot));
        if decide::asks_people(&self.case, snapshot) {
            needs.settings.insert(self.org);
        }
        needs
    }

    /// Decides in an order that a caller cannot use: a repeat is told its action before anything
    /// else, since it changes nothing; a key that does not hold learns nothing of the org; only
    /// then is there a decision, which is recorded whatever it is.
    fn decide(&self, snapshot: &Snapshot, mint: &Mint<'_>) -> (Entry, BeginOutcome) {
        let key = self.idempotency_key.as_ref();
        let earlier = key.and_then(|key| snapshot.idempotency_key(self.agent(), key));
        if let Some(earlier) = earlier {
            let same = earlier.fingerprint == self.fingerprint;
            let different = || BeginOutcome::Rejected(Rejection::DifferentRequest(earlier.action));
            let outcome = if same { BeginOutcome::Repeat(earlier.action) } else { different() };
            return (Entry::nothing(), outcome);
        }
        if let Some(key) = self.lacks_vouching(snapshot) {
            return (Entry::nothing(), BeginOutcome::ToVouch(Box::new(self.clone()), key));
        }
        if let Some(rejection) = self.rejection(snapshot) {
            return (Entry::nothing(), BeginOutcome::Rejected(rejection));
        }
        if let absence @ Some(_) = self.doubt(snapshot) {
            let begin = Self { absence, ..self.clone() };
            return (Entry::nothing(), BeginOutcome::ToSeek(Box::new(begin)));
        }
        let Some(verdict) = self.case.decide(snapshot) else {
            return (Entry::nothing(), BeginOutcome::Rejected(Rejection::PolicyUnavailable));
        };
        if let Some(wanted) = self.lacks(&verdict, snapshot.now()) {
            // The org's other calls would wait for the tool's answer inside this turn. Nothing is
            // recorded, so the call stands as if it had not come yet.
            return (Entry::nothing(), BeginOutcome::ToLookInto(Box::new(self.clone()), wanted));
        }
        if self.lacks_terms(&verdict, snapshot) {
            return (Entry::nothing(), BeginOutcome::ToCount(Box::new(self.clone())));
        }
        self.record(verdict, snapshot, mint)
    }
}

impl Begin {
    fn record(
        &self,
        verdict: Verdict,
        snapshot: &Snapshot,
        mint: &Mint<'_>,
    ) -> (Entry, BeginOutcome) {
        let (request, disclosure) =
            commit_canonical(mint, Path::REQUEST, Arc::clone(self.case.args().text()));
        let mut disclosures = vec![disclosure];
        let mut action = self.action(&verdict, request, snapshot, mint);
        let mut entry = Entry::nothing();
        let news = self.case.news(snapshot);
        let news = news.map(|(change, told)| {
            // What is accepted in this turn is written behind it, and wins.
            entry.changes.extend(told);
            changed_event(&action, change, mint)
        });
        let (mut deeds, kind) = match verdict.decision.outcome {
            DecisionOutcome::Deny => {
                (action.state, action.status) = (State::Sealed, Status::Denied);
                (vec![seal(&mut action, mint)], EventType::ActionDenied)
            }
            DecisionOutcome::RequireApproval => {
                (action.state, action.status) = (State::PendingApproval, Status::PendingApproval);
                let (approval, shown) = self.approval((&verdict, &action), snapshot, mint);
                action.approval = Some(approval);
                disclosures.push(shown);
                (Vec::new(), EventType::ActionPendingApproval)
            }
            DecisionOutcome::Allow => {
                allow(&mut action, self.case.resolved(), (&self.instance, &self.limits), mint);
                entry.changes.accepted_tools.extend(self.case.accepts(snapshot));
                (Vec::new(), EventType::ActionCreated)
            }
        };
        entry.deeds.append(&mut deeds);
        entry.changes.budgets.extend(verdict.budgets);
        entry.changes.idempotency_keys.extend(self.row_of_key(&action));
        if action.signed.is_some() {
            entry.changes.idempotency_keys.extend(self.intent.burnt(self.agent(), action.id));
            entry.changes.used_intents.extend(self.intent.used(&action));
        }
        entry.events.push(event_of(&action, kind, mint));
        entry.events.extend(approval_event(&action, mint));
        entry.events.extend(news);
        entry.changes.approval_mails.extend(link::mail(&action, &self.limits, mint));
        let action = Arc::new(action);
        entry
            .changes
            .new_actions
            .push(ledger::record::NewAction { action: Arc::clone(&action), disclosures });
        (entry, self.outcome(action))
    }

    fn outcome(&self, action: Arc<Action>) -> BeginOutcome {
        match self.case.resolved() {
            Resolved::Served(served)
                if action.state == State::Executing && action.mode == Mode::Gateway =>
            {
                let (tool, args) = (Arc::clone(&served.tool), Arc::clone(self.case.args().value()));
                BeginOutcome::Permitted(Box::new(Permitted { action, tool, args }))
            }
            Resolved::Served(_) | Resolved::AtEdge { .. } | Resolved::Unknown => {
                BeginOutcome::Decided(action)
            }
        }
    }

    /// The action as it stands before the decision moved it.
    fn action(
        &self,
        verdict: &Verdict,
        request: deed::Commitment,
        snapshot: &Snapshot,
        mint: &Mint<'_>,
    ) -> Action {
        let (call, resolved) = (self.case.call(), self.case.resolved());
        let agent = snapshot.agent(call.agent.id);
        let intent_mode = agent.map_or(IntentMode::Required, |agent| agent.intent_mode);
        Action {
            id: mint.id(ActionId::from_uuid),
            org: self.org,
            agent: AgentRef {
                id: call.agent.id,
                name: agent.map(|agent| agent.name.clone()).unwrap_or_default(),
            },
            key: self.key,
            livemode: call.facts.livemode,
            created_at: mint.now(),
            tool: call.tool.clone(),
            tool_digest: resolved.digest(),
            side_effect: resolved.side_effect(),
            connector: resolved.connector().cloned(),
            mode: call.facts.mode,
            state: State::Executing,
            status: Status::Processing,
            on_behalf_of: call.facts.on_behalf_of.clone(),
            session: call.facts.session.clone(),
            client: self.client.clone(),
            transport: call.facts.transport.clone(),
            intent_mode,
            intent: match (self.intent.is_sent(), looks(intent_mode)) {
                (true, true) => deed::IntentStatus::Verified,
                (true, false) => deed::IntentStatus::Ignored,
                (false, _) => deed::IntentStatus::Absent,
            },
            signed: self.intent.signed().filter(|_| looks(intent_mode)),
            decision: verdict.decision.clone(),
            inputs: DecisionInputs {
                now: mint.now(),
                agent_labels: agent.map(|agent| agent.labels.clone()).unwrap_or_default(),
                schema_digest: resolved.schema_digest(),
                tool_changed: self.case.tool_changed(snapshot),
            },
            approval: None,
            execution: None,
            witness: None,
            required_level: resolved.required_level(),
            cost: verdict.cost.clone(),
            charged: verdict.charged.clone(),
            request_digest: self.request_digest,
            request,
            result_digest: None,
            payload_pruned_at: None,
            deadline: None,
            deed: None,
            lease: None,
            place: None,
            amendment: None,
        }
    }

    fn row_of_key(&self, action: &Action) -> Option<IdempotencyKey> {
        self.idempotency_key.clone().map(|key| IdempotencyKey {
            agent: self.agent(),
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

/// The event that the call's tool is found to be another than the one that was accepted.
fn changed_event(action: &Action, (accepted, found): Change, mint: &Mint<'_>) -> event::Draft {
    event::Draft {
        object: event::thin_tool(&action.tool, accepted, found),
        ..event_of(action, EventType::ToolChanged, mint)
    }
}

/// The event that people are asked about the action, or how that ended.
pub(crate) fn approval_event(action: &Action, mint: &Mint<'_>) -> Option<event::Draft> {
    let approval = action.approval.as_ref()?;
    let kind = match approval.status {
        ApprovalStatus::Pending => EventType::ApprovalRequested,
        ApprovalStatus::Approved => EventType::ApprovalApproved,
        ApprovalStatus::Denied => EventType::ApprovalDenied,
        ApprovalStatus::Expired => EventType::ApprovalExpired,
        ApprovalStatus::Cancelled => EventType::ApprovalCancelled,
        ApprovalStatus::Voided => EventType::ApprovalVoided,
    };
    Some(event::Draft { object: thin(action, approval), ..event_of(action, kind, mint) })
}

/// The event that somebody said yes to the action, and more people must.
pub(crate) fn answered_event(
    (action, approval): (&Action, &Approval),
    mint: &Mint<'_>,
) -> event::Draft {
    let kind = EventType::ApprovalAnswered;
    event::Draft { object: thin(action, approval), ..event_of(action, kind, mint) }
}

fn thin(action: &Action, approval: &Approval) -> Value {
    let thin = thin_approval(approval.id, approval.status, (action.id, approval.expires_at));
    match approval.void_reason {
        Some(reason) => thin_void(thin, reason, approval.voided.as_ref().map(|it| json!(it.by))),
        None => thin,
    }
}

/// An event of an action as it stands.
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
