//! Short ways to what a deed says: what every case has is asked for, and what few have is absent
//! until it is told.
//!
//! Nothing is made up: an absent member is null in the deed, which says that nothing was told.

use model::{
    ActionId, AgentId, Attestation, DecisionCode, DecisionOutcome, DecisionSource, DeedId, Digest,
    ExecutionStatus, IntentMode, Level, Mode, PolicyId, PolicyVersionId, Timestamp, Verdict,
    WitnessMethod,
};

use super::{
    action::{ActionContent, Decision, Intent, IntentStatus, Tool},
    actor::{Actor, Subject},
    admin::AdminContent,
    amendment::AmendmentContent,
    draft::{Content, Draft},
    run::{Ending, Execution, Run, Witness},
};
use crate::{
    commitment::Commitment,
    text::{EventName, Ident, Word},
};

/// What is known of every call.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// The action.
    pub id: ActionId,
    /// Who ran the tool, or would have.
    pub mode: Mode,
    /// The tool that was called.
    pub tool: Tool,
    /// When the call came in.
    pub received_at: Timestamp,
    /// The arguments.
    pub request: Commitment,
}

/// The policy in force, by which a call was decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InForce {
    /// The policy.
    pub policy: PolicyId,
    /// Its version.
    pub version: PolicyVersionId,
    /// The digest of that version's document.
    pub digest: Digest,
}

impl Draft {
    /// A deed, no test, of how an agent's action ended.
    pub fn action(id: DeedId, agent: AgentId, content: ActionContent) -> Self {
        let subject = Subject::action(content.id);
        let content = Content::Action(Box::new(content));
        Self { id, livemode: true, actor: Actor::Agent(agent), subject, content }
    }

    /// A deed, no test, of a change to what the subject is.
    pub fn admin(id: DeedId, actor: Actor, subject: Subject, content: AdminContent) -> Self {
        Self { id, livemode: true, actor, subject, content: Content::Admin(content) }
    }

    /// A deed, no test, of what became known of an action later.
    pub fn amendment(
        id: DeedId,
        actor: Actor,
        action: ActionId,
        content: AmendmentContent,
    ) -> Self {
        let (subject, content) = (Subject::action(action), Content::Amendment(Box::new(content)));
        Self { id, livemode: true, actor, subject, content }
    }

    /// This deed as that of a test.
    pub fn of_a_test(self) -> Self {
        Self { livemode: false, ..self }
    }
}

impl ActionContent {
    /// The end of a call of which nothing more was told; it bears no signed intent.
    ///
    /// ```
    #[doc = include_str!("../doc/shop.md")]
    /// let (request, _opened) = commit(&mint, Path::REQUEST, &json!({ "order": 7 }));
    /// let call = Call {
    ///     id: mint.id(ActionId::from_uuid),
    ///     mode: Mode::Gateway,
    ///     tool: Tool::Named("shop.orders.delete".parse()?),
    ///     received_at: at,
    ///     request,
    /// };
    /// let policy = InForce {
    ///     policy: mint.id(PolicyId::from_uuid),
    ///     version: mint.id(PolicyVersionId::from_uuid),
    ///     digest: "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855".parse()?,
    /// };
    /// let decision = Decision::denied_by("no-deletes".parse()?, policy);
    /// let action = ActionContent::new(call, decision, Ending::Denied);
    /// let draft = Draft::action(mint.id(DeedId::from_uuid), agent, action);
    /// let deed = sealer.seal(&mut log, draft, org, at)?;
    /// assert_eq!(verify(&lines(&[deed]), &trust)?.deeds()[0].kind, "action");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn new(call: Call, decision: Decision, ending: Ending) -> Self {
        let Call { id, mode, tool, received_at, request } = call;
        Self {
            id,
            mode,
            tool,
            tool_digest: None,
            connector: None,
            side_effect: None,
            received_at,
            transport: None,
            client: None,
            request,
            on_behalf_of: None,
            session: None,
            intent: Intent { jws: None, mode: IntentMode::Off, status: IntentStatus::Absent },
            decision,
            approval: None,
            ending,
            cost: None,
            undo: None,
        }
    }
}

impl Decision {
    /// A rule allowed the call.
    pub fn allowed_by(rule: Ident, policy: InForce) -> Self {
        Self { rule_id: Some(rule), ..Self::of(DecisionOutcome::Allow, policy) }
    }

    /// A rule denied the call.
    pub fn denied_by(rule: Ident, policy: InForce) -> Self {
        let code = Some(DecisionCode::PolicyDenied);
        Self { rule_id: Some(rule), code, ..Self::of(DecisionOutcome::Deny, policy) }
    }

    /// No rule was about the call, and it was denied for that.
    pub fn denied_by_default(policy: InForce) -> Self {
        let (code, source) = (Some(DecisionCode::DefaultDenied), DecisionSource::Default);
        Self { code, source, ..Self::of(DecisionOutcome::Deny, policy) }
    }

    fn of(outcome: DecisionOutcome, policy: InForce) -> Self {
        Self {
            code: None,
            outcome,
            policy: policy.policy,
            policy_digest: policy.digest,
            policy_version: policy.version,
            reason: None,
            rule_id: None,
            shadow: None,
            source: DecisionSource::Rule,
        }
    }
}

impl Ending {
    /// The tool ran, and this was seen of it.
    pub fn ran(execution: Execution, witness: Witness) -> Self {
        Self::Ran(Box::new(Run { execution, witness }))
    }
}

impl Execution {
    /// A run by the service itself that succeeded, between these moments.
    pub fn succeeded((from, to): (Timestamp, Timestamp), result: Option<Commitment>) -> Self {
        Self { result, ..Self::of(ExecutionStatus::Succeeded, (from, to)) }
    }

    /// A run by the service itself that certainly did nothing, between these moments.
    pub fn failed((from, to): (Timestamp, Timestamp), code: Word) -> Self {
        Self { error_code: Some(code), ..Self::of(ExecutionStatus::Failed, (from, to)) }
    }

    fn of(status: ExecutionStatus, (from, to): (Timestamp, Timestamp)) -> Self {
        Self {
            attestation: Some(Attestation::GatewayExecuted),
            error_code: None,
            error_message: None,
            finished_at: Some(to),
            lossy_numbers: false,
            result: None,
            result_digest: None,
            started_at: Some(from),
            status,
        }
    }
}

impl Witness {
    /// Nobody looked, and nothing was asked for.
    pub fn nobody(at: Timestamp, detail: Commitment) -> Self {
        Self {
            detail,
            level: Level::L0,
            method: WitnessMethod::None,
            required_level: Level::L0,
            sources: Vec::new(),
            verdict: Verdict::Unverifiable,
            witnessed_at: at,
        }
    }
}

impl AdminContent {
    /// A change of which nothing more was told.
    pub fn new(event: EventName) -> Self {
        Self { after: None, before: None, data: serde_json::Map::new(), event, reason: None }
    }
}
