//! A Gate over the memory store with one org, two agents and a tool that does as it is told.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use gate::{
    CancelError, Cancellation, Canceller, ChangeLog, EdgeReport, EdgeResult, EdgeTool, Ended, Gate,
    Limits, Submission, SubmitError, Submitted, Sweep, Toolbox,
};
use ledger::{
    Changes, Entry, Needs, Request, Snapshot,
    record::{
        Action, Agent, ApiKey, Connector, ConnectorStatus, Holder, Org, Policy, PolicyMode,
        PolicyVersion, Stop, Voided,
    },
};
use model::{
    AgentId, Clock, ConnectorId, ExecutionStatus, Footprint, IntentMode, KeyId, LogId, Mint, Mode,
    OrgId, SideEffect, Timestamp,
};
use policy::Call;
use serde_json::{Value, json};
use store_memory::MemoryStore;
use testkit::{Fixture, ManualClock, ScriptedTool, Shop, limits, sample};

pub(crate) const POLICY: &str = r#"
schema: 1
default: { outcome: deny }
rules:
  - { id: no-deletes, match: "*.delete", outcome: deny, reason: "Orders are never deleted." }
  - { id: huge, match: shop.refund, when: "args.amount > 1000", outcome: require_approval,
      approval: { from: [role:admin], expires_in: 2h, show: [args.amount], estimate: true } }
  - { id: large, match: shop.refund, when: "args.amount > 100", outcome: require_approval }
  - { id: refunds, match: shop.refund, outcome: allow }
  - { id: changed, match: "mail.*", when: call.tool_changed, outcome: require_approval }
  - { id: edge, match: "mail.*", outcome: allow }
  - { id: batches, match: shop.batch, outcome: allow }
  - { id: desk, match: desk.close, outcome: allow }
  - { id: broken, match: shop.broken, when: "args.missing == 1", outcome: allow }
budgets:
  - { id: refunds-day, match: shop.refund, per: [agent], window: day, count: 3 }
"#;

/// The body of the action's deed.
pub(crate) fn body(house: &House, action: &Action) -> Value {
    let deeds = house.store.deeds(house.org);
    let deed = deeds.iter().find(|deed| Some(deed.id) == action.deed).expect("the deed is stored");
    serde_json::from_str(&deed.body).unwrap()
}

/// Everything that a test needs.
pub(crate) struct House {
    pub(crate) gate: Gate,
    pub(crate) store: Arc<MemoryStore>,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) refund: Arc<ScriptedTool>,
    pub(crate) batch: Arc<ScriptedTool>,
    /// Named for another connector than the others.
    pub(crate) desk: Arc<ScriptedTool>,
    pub(crate) org: OrgId,
    pub(crate) agent: AgentId,
    pub(crate) key: KeyId,
    pub(crate) other: (AgentId, KeyId),
    pub(crate) org_key: KeyId,
    rows: Rows,
    fixture: Fixture,
}

/// Puts an empty log in the place of the org's.
struct Reopen;

impl Request for Reopen {
    type Answer = ();

    fn needs(&self, _: &Snapshot) -> Needs {
        Needs::default()
    }

    fn decide(&self, _: &Snapshot, mint: &Mint<'_>) -> (Entry, ()) {
        (Entry { opens: Some(mint.id(LogId::from_uuid)), ..Entry::default() }, ())
    }
}

/// The rows that tests change.
struct Rows {
    org: Org,
    agent: Agent,
    key: ApiKey,
    connector: Connector,
    policy: Policy,
}

fn tool(name: &str, side_effect: SideEffect) -> Arc<ScriptedTool> {
    let footprint = Footprint { max_rows: 1, ..Footprint::default() };
    Arc::new(ScriptedTool::new(name, side_effect).with_footprint(footprint))
}

impl House {
    pub(crate) async fn new() -> Self {
        let Limits { max_args_bytes, max_result_bytes, .. } = limits();
        Self::with_room(max_args_bytes, max_result_bytes).await
    }

    /// A house whose calls and results may be so large.
    pub(crate) async fn with_room(max_args_bytes: usize, max_result_bytes: usize) -> Self {
        let limits = Limits { max_args_bytes, max_result_bytes, ..limits() };
        let house = Self::without_policy(limits).await;
        house.activate(1, POLICY, PolicyMode::Enforce).await;
        house
    }

    /// A house in which no policy decides.
    pub(crate) async fn without_policy(limits: Limits) -> Self {
        let fixture = Fixture::new(1);
        let refund = tool("shop.refund", SideEffect::Write);
        let batch = tool("shop.batch", SideEffect::Write);
        let desk = tool("desk.close", SideEffect::Write);
        let shop = Shop::of([
            Arc::clone(&refund),
            Arc::clone(&batch),
            Arc::clone(&desk),
            tool("shop.delete", SideEffect::Destructive),
            tool("shop.broken", SideEffect::Read),
        ]);
        let mint = Mint::new(fixture.clock.now(), &*fixture.dice);
        let org = Org {
            time_zone: "UTC".to_owned(),
            ..sample::org(mint.id(OrgId::from_uuid), mint.now())
        };
        let agent = |name| Agent {
            intent_mode: IntentMode::Optional,
            ..sample::agent(org.id, mint.id(AgentId::from_uuid), name, mint.now())
        };
        let key = |holder| sample::api_key(org.id, holder, &mint);
        let (support, second) = (agent("support"), agent("other"));
        let [main, other, org_key] =
            [Holder::Agent(support.id), Holder::Agent(second.id), Holder::Org].map(key);
        let connector = sample::connector(org.id, "shop", &mint);
        shop.connect(connector.id);
        let house = Self {
            gate: fixture.gate(shop, limits),
            store: Arc::clone(&fixture.store),
            clock: Arc::clone(&fixture.clock),
            refund,
            batch,
            desk,
            org: org.id,
            agent: support.id,
            key: main.id,
            other: (second.id, other.id),
            org_key: org_key.id,
            rows: Rows {
                org: org.clone(),
                policy: sample::policy(org.id, "test", &mint),
                agent: support.clone(),
                key: main.clone(),
                connector: connector.clone(),
            },
            fixture,
        };
        let accounts: Changes = [
            Changes::from(org),
            Changes::from(support),
            Changes::from(second),
            Changes::from(main),
            Changes::from(other),
            Changes::from(org_key),
            Changes::from(connector),
            Changes::from(house.rows.policy.clone()),
        ]
        .into_iter()
        .collect();
        house.write(accounts).await;
        house
    }

    /// Lets the version of this number decide, or be asked beside the one that does.
    pub(crate) async fn activate(&self, number: u32, document: &str, mode: PolicyMode) {
        let mint = Mint::new(self.now(), &*self.fixture.dice);
        let sample = sample::policy_version(&self.rows.policy, number, &mint);
        let digest = policy::Policy::compile(document).unwrap().digest();
        let version = PolicyVersion { document: document.to_owned(), digest, ..sample };
        let active = Changes::from(sample::active(&version, mode));
        self.write([Changes::from(version), active].into_iter().collect::<Changes>()).await;
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Every sweep, one after the other; how many actions were looked at.
    pub(crate) async fn sweep(&self) -> usize {
        let mut looked = 0;
        for sweep in Sweep::ALL {
            looked += self.gate.sweep(sweep).await.unwrap();
        }
        looked
    }

    pub(crate) async fn write(&self, rows: impl Into<Changes>) {
        self.fixture.write(self.org, rows).await;
    }

    /// Closes the org's log as after a loss, and opens another.
    pub(crate) async fn reopen(&self) {
        self.fixture.ledger.enter(self.org, Reopen).await.unwrap();
    }

    pub(crate) fn agent_row(&self) -> Agent {
        self.rows.agent.clone()
    }

    pub(crate) async fn stop_agent(&self) {
        let stop =
            Stop { stopped_at: self.now(), by: "operator".to_owned(), reason: "test".to_owned() };
        self.write(Agent { stop: Some(stop), ..self.rows.agent.clone() }).await;
    }

    /// Stops the whole org.
    pub(crate) async fn stop_org(&self) {
        let stop =
            Stop { stopped_at: self.now(), by: "operator".to_owned(), reason: "test".to_owned() };
        self.write(Org { stop: Some(stop), ..self.rows.org.clone() }).await;
    }

    /// Lets the agent and its org call again.
    pub(crate) async fn start(&self) {
        let rows = [Changes::from(self.rows.org.clone()), Changes::from(self.rows.agent.clone())];
        self.write(rows.into_iter().collect::<Changes>()).await;
    }

    /// A further key of the agent.
    pub(crate) async fn further_key(&self) -> ApiKey {
        let mint = Mint::new(self.now(), &*self.fixture.dice);
        let key = sample::api_key(self.org, Holder::Agent(self.agent), &mint);
        self.write(key.clone()).await;
        key
    }

    /// Stops the agent, by which what it asked for so far is void.
    pub(crate) async fn stop_and_void(&self) {
        let stop =
            Stop { stopped_at: self.now(), by: "operator".to_owned(), reason: "test".to_owned() };
        let voids = Some(self.now());
        self.write(Agent { stop: Some(stop), voids, ..self.rows.agent.clone() }).await;
    }

    /// Makes approvals void that the agent asked for so far.
    pub(crate) async fn void(&self) {
        self.write(Agent { voids: Some(self.now()), ..self.rows.agent.clone() }).await;
    }

    /// Makes approvals void that anybody of the org asked for so far.
    pub(crate) async fn void_all(&self) {
        self.write(Org { voids: Some(self.now()), ..self.rows.org.clone() }).await;
    }

    /// The same of the agent alone, by somebody who said why, and who started it again.
    pub(crate) async fn void_by(&self, reason: &str) -> Voided {
        let by = deed::Actor::System(deed::Word::of("operator"));
        let voided = Voided { by, reason: reason.to_owned() };
        let (voids, noted) = (Some(self.now()), Some(voided.clone()));
        self.write(Agent { voids, voided: noted, ..self.rows.agent.clone() }).await;
        voided
    }

    /// The same by somebody who said why, and who started everything again.
    pub(crate) async fn void_all_by(&self, reason: &str) -> Voided {
        let by = deed::Actor::System(deed::Word::of("operator"));
        let voided = Voided { by, reason: reason.to_owned() };
        let (voids, noted) = (Some(self.now()), Some(voided.clone()));
        self.write(Org { voids, voided: noted, ..self.rows.org.clone() }).await;
        voided
    }

    pub(crate) async fn revoke_key(&self) {
        self.write(ApiKey { revoked_at: Some(self.now()), ..self.rows.key.clone() }).await;
    }

    pub(crate) async fn disable_connector(&self) {
        let status = ConnectorStatus::Disabled;
        self.write(Connector { status, ..self.rows.connector.clone() }).await;
    }

    /// The connector with the tools, as it is recorded.
    pub(crate) fn connector(&self) -> (ConnectorId, u32) {
        (self.rows.connector.id, self.rows.connector.revision)
    }

    /// Another instance's Gate, which finds tools elsewhere.
    pub(crate) fn gate_over(&self, toolbox: Arc<dyn Toolbox>) -> Gate {
        self.fixture.gate(toolbox, limits())
    }

    /// A Gate that has this tool alone, beside a change log.
    pub(crate) fn gate_beside_log(
        &self,
        tool: Arc<ScriptedTool>,
        log: Arc<dyn ChangeLog>,
        limits: Limits,
    ) -> Gate {
        self.fixture.gate_beside_log(self.shop_of(tool), log, limits)
    }

    /// The same of another process over the same record.
    pub(crate) fn other_beside_log(
        &self,
        tool: Arc<ScriptedTool>,
        log: Arc<dyn ChangeLog>,
        limits: Limits,
    ) -> Gate {
        // Each has randomness of its own.
        static SEED: AtomicU64 = AtomicU64::new(100);
        let seed = SEED.fetch_add(1, Ordering::Relaxed);
        self.fixture.beside(seed).gate_beside_log(self.shop_of(tool), log, limits)
    }

    /// A toolbox that has this tool alone, of the connector of the others.
    pub(crate) fn shop_of(&self, tool: Arc<ScriptedTool>) -> Arc<Shop> {
        let shop = Shop::of([tool]);
        shop.connect(self.rows.connector.id);
        shop
    }

    /// The Gate of another process over the same record, which finds the tool `refund`.
    pub(crate) fn gate_beside(&self, seed: u64) -> Gate {
        let shop = Shop::of([Arc::clone(&self.refund)]);
        shop.connect(self.rows.connector.id);
        self.fixture.beside(seed).gate(shop, limits())
    }

    pub(crate) fn pass(&self, span: Duration) {
        self.clock.pass(span);
    }

    pub(crate) fn call(&self, tool: &str, args: Value) -> Submission {
        let agent = policy::Agent::new(self.agent);
        let call = Call::new(tool, agent, Timestamp::EPOCH).with_args(args);
        Submission::new(self.org, self.key, call)
    }

    pub(crate) fn edge_call(&self) -> Submission {
        let mut call = self.call("mail.send", json!({ "to": "a" }));
        call.call.facts.mode = Mode::Proxy;
        call.edge = Some(EdgeTool { connector_type: "mcp".to_owned(), digest: None });
        call
    }

    pub(crate) fn report(&self, action: &Action) -> EdgeReport {
        EdgeReport {
            org: self.org,
            agent: self.agent,
            key: self.key,
            action: action.id,
            status: ExecutionStatus::Succeeded,
            started_at: self.now(),
            finished_at: self.now(),
            result: EdgeResult::Whole(json!({ "sent": true }).into(), None),
            error_code: None,
            error_message: None,
            idempotency_key: None,
        }
    }

    pub(crate) fn cancellation(&self, action: &Action, by: Canceller) -> Cancellation {
        Cancellation { org: self.org, action: action.id, by, idempotency_key: None }
    }

    pub(crate) async fn cancel(
        &self,
        action: &Action,
        by: Canceller,
    ) -> Result<Ended, CancelError> {
        self.gate.cancel(self.cancellation(action, by)).await
    }

    /// Submits a call and waits for its end if it runs.
    pub(crate) async fn submit(&self, call: Submission) -> Result<Action, SubmitError> {
        Ok(match self.gate.submit(call).await? {
            Submitted::Replayed(action) | Submitted::Decided(action) => Action::clone(&action),
            Submitted::Running(running) => Action::clone(&running.done.await.unwrap().action),
        })
    }

    pub(crate) async fn refund(&self, amount: u64) -> Action {
        self.submit(self.call("shop.refund", json!({ "amount": amount }))).await.unwrap()
    }
}
