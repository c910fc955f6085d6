//! A call that is to be decided, with what was fetched for it before its turn.

use std::sync::Arc;

use crypto::json::Canonical;
use intent::Key;
use ledger::{
    Snapshot,
    record::{Action, Client, IdempotencyKey},
};
use model::{AgentId, Digest, IntentMode, KeyId, OrgId, ToolName};
use policy::Call;
use tool::Estimate;

use crate::{
    case::Case,
    gate::Parts,
    limits::Limits,
    practice::Practice,
    repeat::KNOWN_FOR,
    resolve::{Absence, Sought},
    submission::{Rejection, Submission},
    vouch::{Intent, key_of, looks},
};

/// A call that is to be decided.
#[derive(Clone)]
pub(crate) struct UndecidedCall {
    pub(super) org: OrgId,
    pub(super) key: KeyId,
    pub(super) client: Option<Client>,
    pub(super) idempotency_key: Option<String>,
    pub(super) intent: Intent,
    audience: Arc<str>,
    pub(super) case: Case,
    pub(super) request_digest: Digest,
    pub(super) fingerprint: Digest,
    pub(super) limits: Limits,
    pub(super) instance: String,
    absence: Option<Absence>,
    // Fetched only for a call that a person will look at.
    pub(super) looked_into: Option<LookedInto>,
    // Fetched only where it decides who may answer.
    pub(super) has_one_member: Option<bool>,
}

/// What is looked up of a call once it is clear that a person will look at it.
#[derive(Clone, Default)]
pub(super) struct LookedInto {
    /// What its tool says that it would do, where the rule asks for that.
    pub(super) estimate: Option<Estimate>,
    pub(super) practice: Practice,
    /// Whether the agent says for whom it acts, and names no member of the org.
    pub(super) names_nobody: bool,
}

impl UndecidedCall {
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

    /// The id of the key that the intent names; `None` without an intent, and once its signature was
    /// verified or refused.
    pub(crate) fn unknown_kid(&self) -> Option<String> {
        self.intent.unknown_kid()
    }

    /// The call with its intent verified with this key.
    pub(crate) fn verified_with(mut self, key: &Key) -> Self {
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

    /// The key that the intent must be verified with first.
    pub(super) fn missing_intent_key(&self, snapshot: &Snapshot) -> Option<Key> {
        snapshot.agent(self.agent()).filter(|agent| looks(agent.intent_mode))?;
        key_of(snapshot, self.agent(), &self.intent.unknown_kid()?)
    }

    /// The call with its tool as the org's connectors have it now. `doubt` is why it was looked up again.
    pub(crate) fn resolved_anew(self, (resolved, found): Sought, doubt: Absence) -> Self {
        let case = Case::new(self.case.call().clone(), resolved, self.case.args().clone());
        // An intent may name the digest of the tool.
        let (case, intent) = (case.unsigned(), self.intent.unjudged());
        let absence = found.map(|found| doubt.read_again(found));
        Self { intent, case, absence, ..self }
    }

    /// Why the tool must be looked up again: nobody served it, and the turn knows a connector of its
    /// name that the look-up did not see.
    pub(super) fn doubt(&self, snapshot: &Snapshot) -> Option<Absence> {
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

    pub(super) fn agent(&self) -> AgentId {
        self.case.call().agent.id
    }

    /// Why the call is not recorded at all.
    pub(super) fn rejection(&self, snapshot: &Snapshot) -> Option<Rejection> {
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

    /// The row that gives the idempotency key to this action.
    pub(super) fn row_of_key(&self, action: &Action) -> Option<IdempotencyKey> {
        self.idempotency_key.clone().map(|key| IdempotencyKey {
            agent: self.agent(),
            key,
            action: action.id,
            fingerprint: self.fingerprint,
            expires_at: action.created_at + KNOWN_FOR,
        })
    }
}
