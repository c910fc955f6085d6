//! A Gate over the memory store with one org, two agents and a tool that does as it is told.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use crypto::json::Canonical;
use deed::{KeySet, SealKey, SealKeys, Sealer};
use futures_util::future::BoxFuture;
use gate::{
    CancelError, Cancellation, Canceller, EdgeReport, EdgeResult, EdgeTool, Ended, Found, Gate,
    Limits, Parts, Pause, Served, Submission, SubmitError, Submitted, Sweep, Toolbox,
};
use ledger::{
    Changes, Entry, Ledger, Needs, Request, Snapshot, Spawn, StoreDown,
    record::{
        Action, ActivePolicy, Agent, ApiKey, Connector, ConnectorRef, ConnectorStatus, Holder, Org,
        Policy, PolicyMode, PolicyVersion, RETENTION_DAYS, Stop,
    },
};
use model::{
    ActionId, AgentId, Clock, ConnectorId, Digest, Entropy, ExecutionStatus, Footprint, IntentMode,
    KeyId, Level, Mint, Mode, OrgId, Outcome, PolicyId, PolicyVersionId, Report, Scope, SideEffect,
    Timestamp, ToolName,
};
use policy::Call;
use serde_json::{Value, json};
use store_memory::MemoryStore;
use tool::{Definition, Estimate, Run, Settled, Tool};

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

/// A clock that tests move.
pub(crate) struct Moved(AtomicI64);

impl Clock for Moved {
    fn now(&self) -> Timestamp {
        Timestamp::from_unix_millis(self.0.load(Ordering::SeqCst))
    }
}

/// Counts instead of rolling dice.
struct Counted(AtomicU64);

impl Entropy for Counted {
    fn fill(&self, buffer: &mut [u8]) {
        for chunk in buffer.chunks_mut(8) {
            let next = self.0.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::SeqCst);
            chunk.copy_from_slice(&(next ^ (next >> 29)).to_be_bytes()[..chunk.len()]);
        }
    }
}

struct OnTokio;

impl Spawn for OnTokio {
    fn spawn(&self, task: BoxFuture<'static, ()>) {
        tokio::spawn(task);
    }
}

#[async_trait]
impl Pause for OnTokio {
    async fn pause(&self, _: Duration) {
        tokio::task::yield_now().await;
    }
}

/// A tool that answers what the test put there, and counts its runs.
#[derive(Debug)]
pub(crate) struct Told {
    definition: Definition,
    pub(crate) outcome: Mutex<Outcome>,
    pub(crate) settled: Mutex<Settled>,
    pub(crate) estimate: Mutex<Estimate>,
    pub(crate) estimates: AtomicU64,
    pub(crate) runs: AtomicU64,
    /// How many were asked for what became of a run, and whether that is ever answered.
    pub(crate) settlings: AtomicU64,
    pub(crate) hangs: AtomicBool,
    /// A run waits here until the test lets it go on.
    pub(crate) gate: tokio::sync::Semaphore,
}

impl Told {
    fn new(name: &str, side_effect: SideEffect) -> Arc<Self> {
        let definition = Definition {
            name: name.parse().unwrap(),
            title: name.to_owned(),
            description: String::new(),
            side_effect,
            input_schema: json!({ "type": "object" }).into(),
            footprint: Some(Footprint { max_rows: 1, ..Footprint::default() }),
            required_level: Level::L0,
            digest: Digest::from_bytes([7; 32]),
        };
        Arc::new(Self {
            definition,
            outcome: Mutex::new(done(json!({ "rows": 1 }))),
            settled: Mutex::new(Settled::Unknowable),
            estimate: Mutex::new(Estimate::NotOffered),
            estimates: AtomicU64::new(0),
            runs: AtomicU64::new(0),
            settlings: AtomicU64::new(0),
            hangs: AtomicBool::new(false),
            gate: tokio::sync::Semaphore::new(1_000),
        })
    }
}

/// The body of the action's deed.
pub(crate) fn body(house: &House, action: &Action) -> Value {
    let deeds = house.store.deeds(house.org);
    let deed = deeds.iter().find(|deed| Some(deed.id) == action.deed).expect("the deed is stored");
    serde_json::from_str(&deed.body).unwrap()
}

pub(crate) fn done(result: Value) -> Outcome {
    Outcome::Succeeded { result, report: Report { rows_changed: Some(1) } }
}

#[async_trait]
impl Tool for Told {
    fn definition(&self) -> &Definition {
        &self.definition
    }

    fn check_args(&self, args: &Value) -> Result<(), String> {
        if args.get("bad").is_some() { Err("`/bad` is not accepted".to_owned()) } else { Ok(()) }
    }

    async fn estimate(&self, _: &Value, _: Duration) -> Estimate {
        self.estimates.fetch_add(1, Ordering::SeqCst);
        self.estimate.lock().unwrap().clone()
    }

    async fn run(&self, _: Run<'_>) -> Outcome {
        self.runs.fetch_add(1, Ordering::SeqCst);
        self.gate.acquire().await.unwrap().forget();
        self.outcome.lock().unwrap().clone()
    }

    async fn settle(&self, _: OrgId, _: ActionId) -> Settled {
        self.settlings.fetch_add(1, Ordering::SeqCst);
        if self.hangs.load(Ordering::SeqCst) {
            std::future::pending::<()>().await;
        }
        self.settled.lock().unwrap().clone()
    }
}

struct Box_(Vec<Served>);

#[async_trait]
impl Toolbox for Box_ {
    async fn find(&self, _: OrgId, name: &ToolName) -> Result<Found, StoreDown> {
        let found = self.0.iter().find(|served| served.tool.definition().name == *name);
        Ok(found.cloned().map_or(Found::Nobody, Found::Served))
    }

    async fn every(&self, _: OrgId) -> Result<Vec<Served>, StoreDown> {
        Ok(self.0.clone())
    }
}

/// Writes rows as they are given.
struct Write(Vec<Changes>);

impl Request for Write {
    type Answer = ();

    fn needs(&self, _: &Snapshot) -> Needs {
        Needs::default()
    }

    fn decide(&self, _: &Snapshot, _: &Mint<'_>) -> (Entry, ()) {
        (Entry { changes: self.0.clone().into_iter().collect(), ..Entry::default() }, ())
    }
}

/// Everything that a test needs.
pub(crate) struct House {
    pub(crate) gate: Gate,
    pub(crate) store: Arc<MemoryStore>,
    pub(crate) clock: Arc<Moved>,
    pub(crate) refund: Arc<Told>,
    pub(crate) batch: Arc<Told>,
    /// Of another connector than the others.
    pub(crate) desk: Arc<Told>,
    pub(crate) org: OrgId,
    pub(crate) agent: AgentId,
    pub(crate) key: KeyId,
    pub(crate) other: (AgentId, KeyId),
    pub(crate) org_key: KeyId,
    rows: Rows,
}

struct Rows {
    org: Org,
    agent: Agent,
    key: ApiKey,
    connector: Connector,
}

fn id<T: std::str::FromStr<Err: std::fmt::Debug>>(prefix: &str, last: char) -> T {
    format!("{prefix}_01h455vb4pex5vsknk084sn02{last}").parse().unwrap()
}

impl House {
    pub(crate) async fn new() -> Self {
        Self::with_room(1_000, 100).await
    }

    /// A house whose calls and results may be so large.
    pub(crate) async fn with_room(max_args_bytes: usize, max_result_bytes: usize) -> Self {
        let start = Timestamp::parse_rfc3339("2026-10-01T12:00:00Z").unwrap();
        let clock = Arc::new(Moved(AtomicI64::new(start.unix_millis())));
        let entropy: Arc<dyn Entropy> = Arc::new(Counted(AtomicU64::new(1)));
        let store = Arc::new(MemoryStore::new(Arc::clone(&clock) as Arc<dyn Clock>));
        let ledger = Ledger::new(ledger::Parts {
            store: Arc::clone(&store) as _,
            sealer: Arc::new(sealer(entropy.as_ref())),
            clock: Arc::clone(&clock) as _,
            entropy,
            spawn: Arc::new(OnTokio),
            log_host: "gate.example".to_owned(),
        });
        let refund = Told::new("shop.refund", SideEffect::Write);
        let batch = Told::new("shop.batch", SideEffect::Write);
        let desk = Told::new("desk.close", SideEffect::Write);
        let rows = Rows::new(start);
        let served = |tool: Arc<Told>| Served {
            connector: ConnectorRef {
                id: Some(rows.connector.id),
                name: "shop".to_owned(),
                kind: "fake".to_owned(),
            },
            test: false,
            tool,
        };
        let toolbox = Box_(vec![
            served(Arc::clone(&refund)),
            served(Arc::clone(&batch)),
            served(Arc::clone(&desk)),
            served(Told::new("shop.delete", SideEffect::Destructive)),
            served(Told::new("shop.broken", SideEffect::Read)),
        ]);
        let gate = Gate::new(Parts {
            ledger,
            store: Arc::clone(&store) as _,
            toolbox: Arc::new(toolbox),
            spawn: Arc::new(OnTokio),
            pause: Arc::new(OnTokio),
            clock: Arc::clone(&clock) as _,
            instance: "one".to_owned(),
            limits: Limits {
                max_args_bytes,
                max_result_bytes,
                execute_timeout: Duration::from_secs(30),
                edge_result_timeout: Duration::from_mins(10),
                approval_expires_in: Duration::from_mins(30),
                estimate_timeout: Duration::from_millis(500),
                context_max_bytes: 32_768,
            },
        });
        let house = Self {
            gate,
            store,
            clock,
            refund,
            batch,
            desk,
            org: rows.org.id,
            agent: rows.agent.id,
            key: rows.key.id,
            other: (id("agt", '2'), id("key", '2')),
            org_key: id("key", '3'),
            rows,
        };
        house.write(house.seed(start)).await;
        house
    }

    fn seed(&self, at: Timestamp) -> Vec<Changes> {
        let Rows { org, agent, key, connector } = &self.rows;
        let (policy, version) = (id::<PolicyId>("pol", '1'), id::<PolicyVersionId>("pv", '1'));
        let digest = policy::Policy::compile(POLICY).unwrap().digest();
        let (second, second_key) = self.other;
        vec![
            Changes::from(org.clone()),
            Changes::from(agent.clone()),
            Changes::from(Agent { id: second, name: "other".to_owned(), ..agent.clone() }),
            Changes::from(key.clone()),
            Changes::from(ApiKey { id: second_key, holder: Holder::Agent(second), ..key.clone() }),
            Changes::from(ApiKey { id: self.org_key, holder: Holder::Org, ..key.clone() }),
            Changes::from(connector.clone()),
            Changes::from(Policy {
                id: policy,
                org: org.id,
                name: "test".to_owned(),
                description: String::new(),
                revision: 1,
                created_at: at,
                archived_at: None,
            }),
            Changes::from(PolicyVersion { id: version, number: 1, ..self.version(POLICY) }),
            Changes::from(ActivePolicy { mode: PolicyMode::Enforce, policy, version, digest }),
        ]
    }

    /// A second version of the policy, with this document.
    pub(crate) fn version(&self, document: &str) -> PolicyVersion {
        PolicyVersion {
            id: id("pv", '2'),
            org: self.org,
            policy: id("pol", '1'),
            number: 2,
            document: document.to_owned(),
            digest: policy::Policy::compile(document).unwrap().digest(),
            note: None,
            author: None,
            created_at: self.now(),
        }
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

    pub(crate) async fn write(&self, changes: Vec<Changes>) {
        self.gate.ledger().enter(self.org, Write(changes)).await.unwrap();
    }

    pub(crate) async fn stop_agent(&self) {
        let stop = Stop {
            stopped_at: self.clock.now(),
            by: "operator".to_owned(),
            reason: "test".to_owned(),
        };
        let agent = Agent { stop: Some(stop), ..self.rows.agent.clone() };
        self.write(vec![Changes::from(agent)]).await;
    }

    pub(crate) async fn revoke_key(&self) {
        let key = ApiKey { revoked_at: Some(self.clock.now()), ..self.rows.key.clone() };
        self.write(vec![Changes::from(key)]).await;
    }

    pub(crate) async fn disable_connector(&self) {
        let connector =
            Connector { status: ConnectorStatus::Disabled, ..self.rows.connector.clone() };
        self.write(vec![Changes::from(connector)]).await;
    }

    pub(crate) fn pass(&self, span: Duration) {
        let millis = i64::try_from(span.as_millis()).unwrap();
        self.clock.0.fetch_add(millis, Ordering::SeqCst);
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
            started_at: self.clock.now(),
            finished_at: self.clock.now(),
            result: EdgeResult::Whole(Canonical::new(json!({ "sent": true })), None),
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

impl Rows {
    fn new(at: Timestamp) -> Self {
        let (org, agent) = (id::<OrgId>("org", '1'), id::<AgentId>("agt", '1'));
        Self {
            org: Org {
                id: org,
                name: "demo".to_owned(),
                time_zone: "UTC".to_owned(),
                pro: true,
                stop: None,
                retention_days: RETENTION_DAYS,
                pruned_to: 0,
                created_at: at,
            },
            agent: Agent {
                id: agent,
                org,
                name: "support".to_owned(),
                labels: BTreeMap::new(),
                intent_mode: IntentMode::Optional,
                system: false,
                stop: None,
                suspension: None,
                archived_at: None,
                created_at: at,
            },
            key: ApiKey {
                id: id("key", '1'),
                org,
                holder: Holder::Agent(agent),
                name: "main".to_owned(),
                scopes: vec![Scope::ActionsExecute],
                livemode: true,
                mac: String::new(),
                hint: String::new(),
                created_at: at,
                expires_at: None,
                revoked_at: None,
            },
            connector: Connector {
                id: id::<ConnectorId>("con", '1'),
                org,
                name: "shop".parse().unwrap(),
                kind: "fake".to_owned(),
                test: false,
                status: ConnectorStatus::Enabled,
                config: Value::Null,
                credential: BTreeMap::new(),
                revision: 1,
                created_at: at,
            },
        }
    }
}

fn sealer(entropy: &dyn Entropy) -> Sealer {
    let keys = SealKeys::from_pem(SealKeys::generate_pem(entropy).expose()).unwrap();
    let registered = keys
        .keys()
        .map(|(purpose, key)| SealKey::new(*key.public(), purpose, Timestamp::EPOCH))
        .collect();
    Sealer::new(keys, KeySet::new(registered).unwrap())
}
