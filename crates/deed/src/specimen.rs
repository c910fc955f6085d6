//! A draft of each kind with every member filled, for tests and vectors: no part of the product
//! has them.
//!
//! Nothing here is of any org. With a mint of fixed time and bytes they are always the same.

use model::{
    ActionId, AgentId, ApprovalId, ApprovalStatus, Assurance, Attestation, ConnectorId,
    DecisionCode, DecisionOutcome, DecisionSource, DeedId, Digest, EventType, ExecutionStatus,
    IntentMode, KeyId, Level, LogId, Mint, Mode, OrgId, PolicyId, PolicyVersionId, SideEffect,
    Verdict, WitnessMethod,
};
use serde_json::{Value, json};

use crate::{
    commitment::{Commitment, Disclosure, Path, commit},
    content::{
        ActionContent, Actor, AdminContent, Amended, AmendmentContent, AmendmentReason, Approval,
        ApprovalVote, Changes, Connector, Content, Cost, Decision, Draft, Ending, Execution,
        Intent, IntentStatus, Jws, Run, Shadow, Source, SourceKind, Subject, Tool, Undo, Vote,
        Witness,
    },
    text::{EventName, LogOrigin, PersonId, Word},
};

/// A draft and what opens its commitments.
pub type Specimen = (Draft, Vec<Disclosure>);

/// The origin of a log for specimens.
pub fn log(mint: &Mint<'_>) -> Option<LogOrigin> {
    LogOrigin::new("specimen.example", mint.id(LogId::from_uuid)).ok()
}

/// An org for specimens.
pub fn org(mint: &Mint<'_>) -> OrgId {
    mint.id(OrgId::from_uuid)
}

/// An action that needed a person's yes, ran, and was verified by the change log.
pub fn action(mint: &Mint<'_>) -> Option<Specimen> {
    let mut desk = Desk { mint, opened: Vec::new() };
    let id = mint.id(ActionId::from_uuid);
    let content = ActionContent {
        id,
        mode: Mode::Gateway,
        tool: Tool::Named("shop.refund".parse().ok()?),
        tool_digest: Some(crypto::sha256("tool")),
        connector: Some(Connector {
            id: Some(mint.id(ConnectorId::from_uuid)),
            kind: Word::of("postgres"),
        }),
        side_effect: Some(SideEffect::Write),
        received_at: mint.now(),
        transport: Some(Word::of("rest")),
        client: Some(desk.commit(Path::CLIENT, json!({"name": "desk", "version": "1.2"}))),
        request: desk.commit(Path::REQUEST, json!({"order": 7, "amount": 12.5})),
        on_behalf_of: Some(desk.commit(Path::ON_BEHALF_OF, json!("customer 7"))),
        session: Some(desk.commit(Path::SESSION, json!("chat 12"))),
        intent: Intent {
            mode: IntentMode::Required,
            status: IntentStatus::Verified,
            jws: Some(Jws {
                digest: crypto::sha256("jws"),
                key_id: "specimen-key".parse().ok()?,
                alg: "Ed25519".parse().ok()?,
            }),
        },
        decision: decision(&mut desk)?,
        approval: Some(approval(&mut desk)?),
        ending: Ending::Ran(Box::new(run(&mut desk)?)),
        cost: Some(Cost { amount: "12.50".parse().ok()?, currency: "EUR".parse().ok()? }),
        undo: Some(Undo {
            undoes: mint.id(ActionId::from_uuid),
            plan: desk.commit(Path::UNDO_PLAN, json!(["insert"])),
        }),
    };
    let subject = Subject::action(id);
    Some(desk.draft(subject, Content::Action(Box::new(content))))
}

/// An admin deed about a key, with a reason.
pub fn admin(mint: &Mint<'_>) -> Specimen {
    let mut desk = Desk { mint, opened: Vec::new() };
    let content = AdminContent {
        event: EventName::from(EventType::AgentKeyRevoked),
        before: Some(desk.commit(Path::BEFORE, json!({"status": "active"}))),
        after: Some(desk.commit(Path::AFTER, json!({"status": "revoked"}))),
        reason: Some(desk.commit(Path::REASON, json!("left in a log file"))),
        data: [("scopes".to_owned(), json!(["actions:read"]))].into_iter().collect(),
    };
    let subject = Subject::agent_key(mint.id(KeyId::from_uuid));
    desk.draft(subject, Content::Admin(content))
}

/// An amendment of the deed of this subject by late evidence.
pub fn amendment(mint: &Mint<'_>, amends: Amended, subject: Subject) -> Option<Specimen> {
    let mut desk = Desk { mint, opened: Vec::new() };
    let execution = Execution {
        error_message: None,
        result: Some(desk.commit(Path::AMENDED_RESULT, json!({"rows": 2}))),
        ..execution(mint)
    };
    let witness = Witness {
        level: Level::L2,
        required_level: Level::L2,
        verdict: Verdict::Mismatch,
        method: WitnessMethod::ChangeLog,
        witnessed_at: mint.now(),
        detail: desk.commit(Path::AMENDED_WITNESS_DETAIL, json!({"rows": 2})),
        sources: vec![source(&mut desk, Path::amended_evidence(0))?],
    };
    let content = AmendmentContent {
        amends,
        n: 1,
        reason: AmendmentReason::LateEvidence,
        changes: Changes { execution: Some(execution), witness: Some(witness) },
    };
    Some(desk.draft(subject, Content::Amendment(Box::new(content))))
}

/// Makes commitments and keeps what opens them.
struct Desk<'a> {
    mint: &'a Mint<'a>,
    opened: Vec<Disclosure>,
}

impl Desk<'_> {
    fn commit(&mut self, path: Path, value: Value) -> Commitment {
        let (commitment, disclosure) = commit(self.mint, path, &value);
        self.opened.push(disclosure);
        commitment
    }

    fn draft(self, subject: Subject, content: Content) -> Specimen {
        let draft = Draft {
            id: self.mint.id(DeedId::from_uuid),
            livemode: false,
            actor: Actor::Agent(self.mint.id(AgentId::from_uuid)),
            subject,
            content,
        };
        (draft, self.opened)
    }
}

fn decision(desk: &mut Desk<'_>) -> Option<Decision> {
    Some(Decision {
        outcome: DecisionOutcome::RequireApproval,
        code: Some(DecisionCode::ApprovalRequired),
        source: DecisionSource::Rule,
        rule_id: Some("refund-large".parse().ok()?),
        reason: Some(desk.commit(Path::DECISION_REASON, json!("Large refunds need a yes."))),
        policy: desk.mint.id(PolicyId::from_uuid),
        policy_version: desk.mint.id(PolicyVersionId::from_uuid),
        policy_digest: crypto::sha256("policy"),
        shadow: Some(Shadow {
            outcome: DecisionOutcome::Deny,
            rule_id: None,
            policy_version: desk.mint.id(PolicyVersionId::from_uuid),
        }),
    })
}

fn approval(desk: &mut Desk<'_>) -> Option<Approval> {
    let person: PersonId = "usr_01h455vb4pex5vsknk084sn02q".parse().ok()?;
    Some(Approval {
        id: desk.mint.id(ApprovalId::from_uuid),
        status: ApprovalStatus::Approved,
        decisions: vec![ApprovalVote {
            by: person,
            decision: Vote::Approve,
            assurance: Assurance::Session,
            at: desk.mint.now(),
        }],
        context: desk.commit(Path::APPROVAL_CONTEXT, json!({"order": 7})),
    })
}

fn run(desk: &mut Desk<'_>) -> Option<Run> {
    let execution = Execution {
        result: Some(desk.commit(Path::RESULT, json!({"rows": 1, "note": "r\u{e9}fund \u{2028}"}))),
        ..execution(desk.mint)
    };
    let witness = Witness {
        level: Level::L2,
        required_level: Level::L1,
        verdict: Verdict::Verified,
        method: WitnessMethod::ChangeLog,
        witnessed_at: desk.mint.now(),
        detail: desk.commit(Path::WITNESS_DETAIL, json!({"rows": 1})),
        sources: vec![source(desk, Path::evidence(0))?],
    };
    Some(Run { execution, witness })
}

fn execution(mint: &Mint<'_>) -> Execution {
    Execution {
        status: ExecutionStatus::Succeeded,
        attestation: Some(Attestation::GatewayExecuted),
        started_at: Some(mint.now()),
        finished_at: Some(mint.now()),
        error_code: None,
        error_message: None,
        result: None,
        result_digest: None,
        lossy_numbers: false,
    }
}

fn source(desk: &mut Desk<'_>, path: Path) -> Option<Source> {
    let frame: Digest = crypto::sha256("frame");
    Some(Source {
        kind: SourceKind::ChangeLog,
        lsn_from: Some("0/16B3748".parse().ok()?),
        lsn_to: Some("0/16B3790".parse().ok()?),
        evidence: desk.commit(path, json!(frame)),
    })
}
