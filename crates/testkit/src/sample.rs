//! Rows made up for tests. Each is valid in itself; tests change what they care about.

use std::{collections::BTreeMap, sync::Arc};

use ledger::{
    Changes,
    record::{
        Action, ActivePolicy, Agent, AgentRef, ApiKey, Approval, BudgetUse, Connector,
        ConnectorStatus, Decision, DecisionInputs, Execution, Holder, IdempotencyKey, Lease,
        NewAction, Org, Policy, PolicyMode, PolicyVersion, RETENTION_DAYS, Witness,
    },
};
use model::{
    ActionId, AgentId, ApprovalId, ApprovalStatus, Attestation, ConnectorId, DecisionOutcome,
    DecisionSource, DeedId, Digest, ExecutionStatus, IntentMode, KeyId, Level, Mint, Mode, OrgId,
    PolicyId, PolicyVersionId, Scope, State, Status, Timestamp, Verdict, WitnessMethod,
};
use serde_json::{Value, json};

/// An org.
pub fn org(id: OrgId, now: Timestamp) -> Org {
    let (name, time_zone) = (format!("Amt für Proben {id}"), "Europe/Berlin".to_owned());
    Org {
        id,
        name,
        time_zone,
        pro: true,
        stop: None,
        voids: None,
        voided: None,
        retention_days: RETENTION_DAYS,
        pruned_to: 0,
        keys_made: 0,
        invites_made: 0,
        created_at: now,
    }
}

/// An agent that may act.
pub fn agent(org: OrgId, id: AgentId, name: &str, now: Timestamp) -> Agent {
    Agent {
        id,
        org,
        name: name.to_owned(),
        description: String::new(),
        labels: BTreeMap::from([("team".to_owned(), "support".to_owned())]),
        intent_mode: IntentMode::Off,
        modes: model::Mode::ALL.to_vec(),
        owner: None,
        expires_at: None,
        system: false,
        stop: None,
        voids: None,
        voided: None,
        suspension: None,
        revision: 1,
        keys_made: 0,
        archived_at: None,
        created_at: now,
    }
}

/// A key.
pub fn api_key(org: OrgId, holder: Holder, mint: &Mint<'_>) -> ApiKey {
    ApiKey {
        id: mint.id(KeyId::from_uuid),
        org,
        holder,
        name: "for a test".to_owned(),
        scopes: vec![Scope::ActionsExecute, Scope::ActionsRead],
        livemode: true,
        mac: "00".repeat(32),
        hint: "abcd".to_owned(),
        created_at: mint.now(),
        expires_at: None,
        revoked_at: None,
        made_by: None,
        rolled_to: None,
    }
}

/// A policy of this name.
pub fn policy(org: OrgId, name: &str, mint: &Mint<'_>) -> Policy {
    Policy {
        id: mint.id(PolicyId::from_uuid),
        org,
        name: name.to_owned(),
        description: format!("What `{name}` is for."),
        revision: 1,
        created_at: mint.now(),
        archived_at: None,
    }
}

/// A version of the policy. Its document is text of any kind.
pub fn policy_version(policy: &Policy, number: u32, mint: &Mint<'_>) -> PolicyVersion {
    let document = format!("schema: 1 # {number}, „{}\u{201d} 😀\n", policy.name);
    PolicyVersion {
        id: mint.id(PolicyVersionId::from_uuid),
        org: policy.org,
        policy: policy.id,
        number,
        digest: crypto::sha256(&document),
        document,
        note: (number > 1).then(|| "stricter".to_owned()),
        author: Some("operator".to_owned()),
        created_at: mint.now(),
    }
}

/// The version as the active one.
pub fn active(version: &PolicyVersion, mode: PolicyMode) -> ActivePolicy {
    ActivePolicy { mode, policy: version.policy, version: version.id, digest: version.digest }
}

/// A connector of this name, which must be a connector's name.
pub fn connector(org: OrgId, name: &str, mint: &Mint<'_>) -> Connector {
    Connector {
        id: mint.id(ConnectorId::from_uuid),
        org,
        name: name.parse().unwrap(),
        title: String::new(),
        kind: "postgres".to_owned(),
        test: false,
        status: ConnectorStatus::Enabled,
        config: json!({ "host": "db.example", "port": 5432, "share": 0.1, "tools": [] }),
        credential: BTreeMap::from([("password".to_owned(), "c2VhbGVk".to_owned())]),
        credential_set: None,
        tools: BTreeMap::new(),
        found: None,
        settings: BTreeMap::new(),
        told: BTreeMap::new(),
        witness: None,
        revision: 1,
        created_at: mint.now(),
        archived_at: None,
    }
}

/// A commitment to some arguments and what opens it.
pub fn request(args: &Value, mint: &Mint<'_>) -> (deed::Commitment, deed::Disclosure) {
    deed::commit(mint, deed::Path::REQUEST, args)
}

/// An allowed action that the service runs under a lease, with the given commitment to
/// its arguments.
pub fn action(agent: &Agent, request: deed::Commitment, mint: &Mint<'_>) -> Action {
    let digest = crypto::sha256("sample");
    Action {
        id: mint.id(ActionId::from_uuid),
        org: agent.org,
        agent: AgentRef { id: agent.id, name: agent.name.clone() },
        key: mint.id(KeyId::from_uuid),
        livemode: true,
        created_at: mint.now(),
        tool: "shop.read".to_owned(),
        tool_digest: Some(digest),
        side_effect: None,
        connector: None,
        mode: Mode::Gateway,
        state: State::Executing,
        status: Status::Processing,
        on_behalf_of: None,
        session: None,
        client: None,
        transport: Some("rest".to_owned()),
        intent_mode: agent.intent_mode,
        intent: deed::IntentStatus::Absent,
        signed: None,
        decision: decision(digest, mint),
        inputs: DecisionInputs {
            now: mint.now(),
            agent_labels: agent.labels.clone(),
            schema_digest: None,
            tool_changed: false,
        },
        approval: None,
        execution: Some(execution(ExecutionStatus::Running, mint.now())),
        witness: None,
        required_level: Level::L0,
        cost: None,
        charged: Vec::new(),
        request_digest: digest,
        request,
        result_digest: None,
        payload_pruned_at: None,
        deadline: None,
        deed: None,
        lease: Some(Lease { holder: "one".to_owned(), token: 1 }),
        place: None,
        amendment: None,
    }
}

fn decision(digest: Digest, mint: &Mint<'_>) -> Decision {
    Decision {
        outcome: DecisionOutcome::Allow,
        code: None,
        source: DecisionSource::Rule,
        rule_id: Some("reads".to_owned()),
        reason: None,
        message: None,
        policy: mint.id(PolicyId::from_uuid),
        policy_version: mint.id(PolicyVersionId::from_uuid),
        policy_digest: digest,
        retry_at: None,
        budget: None,
        shadow: None,
    }
}

/// A run of the service's own that stands like this.
pub fn execution(status: ExecutionStatus, now: Timestamp) -> Execution {
    Execution {
        status,
        attestation: Some(Attestation::GatewayExecuted),
        started_at: Some(now),
        finished_at: (status != ExecutionStatus::Running).then_some(now),
        error_code: None,
        error_message: None,
        lossy_numbers: false,
        rows_changed: None,
    }
}

/// The action as it is after a run that succeeded, with this deed.
pub fn sealed(action: &Action, deed: DeedId) -> Action {
    let now = action.created_at;
    Action {
        state: State::Sealed,
        status: Status::Executed,
        execution: Some(execution(ExecutionStatus::Succeeded, now)),
        witness: Some(witness(Verdict::Verified, Level::L0, now)),
        deed: Some(deed),
        lease: None,
        ..action.clone()
    }
}

/// The action as one whose evidence is waited for, under the lease that it ran under.
pub fn witnessing(action: &Action) -> Action {
    Action { state: State::Witnessing, ..action.clone() }
}

/// The action as one that was refused, with this deed.
pub fn denied(action: &Action, deed: DeedId) -> Action {
    Action {
        state: State::Sealed,
        status: Status::Denied,
        decision: Decision { outcome: DecisionOutcome::Deny, ..action.decision.clone() },
        execution: None,
        deed: Some(deed),
        lease: None,
        ..action.clone()
    }
}

/// The action as one that waits for a person until then.
pub fn waiting(action: &Action, expires_at: Timestamp, mint: &Mint<'_>) -> Action {
    let outcome = DecisionOutcome::RequireApproval;
    Action {
        state: State::PendingApproval,
        status: Status::PendingApproval,
        decision: Decision { outcome, ..action.decision.clone() },
        approval: Some(Approval {
            id: mint.id(ApprovalId::from_uuid),
            status: ApprovalStatus::Pending,
            expires_at,
            from: vec!["role:admin".to_owned()],
            count: 1,
            context: action.request,
            context_digest: Some(action.request_digest),
            exclude: vec![policy::Excluded::OnBehalfOf],
            assurance: None,
            decisions: Vec::new(),
            decided_at: None,
            void_reason: None,
            voided: None,
        }),
        execution: None,
        lease: None,
        ..action.clone()
    }
}

/// The action as one that the agent's edge may run until then.
pub fn authorized(action: &Action, deadline: Timestamp) -> Action {
    Action {
        mode: Mode::Proxy,
        status: Status::Authorized,
        deadline: Some(deadline),
        lease: None,
        ..action.clone()
    }
}

/// What a witness found.
pub fn witness(verdict: Verdict, level: Level, now: Timestamp) -> Witness {
    Witness {
        level,
        required_level: Level::L0,
        verdict,
        method: WitnessMethod::Reported,
        summary: "One row was changed.".to_owned(),
        reasons: vec!["no \"evidence\" but the report".to_owned()],
        witnessed_at: now,
        detail_digest: crypto::sha256("detail"),
    }
}

/// An idempotency key that names the action until then.
pub fn idempotency_key(action: &Action, key: &str, expires_at: Timestamp) -> IdempotencyKey {
    IdempotencyKey {
        agent: action.agent.id,
        key: key.to_owned(),
        action: action.id,
        fingerprint: crypto::sha256(key),
        expires_at,
    }
}

/// A budget's counter.
pub fn budget(key: &str, window_start: Timestamp, used: &str) -> BudgetUse {
    BudgetUse {
        key: key.to_owned(),
        window_start,
        window_end: window_start + std::time::Duration::from_hours(24),
        used: used.parse().unwrap(),
    }
}

/// The change that begins an action with these disclosures.
pub fn begun(action: Action, disclosures: Vec<deed::Disclosure>) -> Changes {
    Changes::from(NewAction { action: Arc::new(action), disclosures })
}

/// The change that moves an action to this form.
pub fn moved(action: Action) -> Changes {
    Changes::from(Arc::new(action))
}
