//! Tools that answer what the test told them to, and the toolbox that serves them.

use std::{
    collections::VecDeque,
    fmt,
    sync::{
        Arc, Mutex, OnceLock,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use gate::{Found, Served, Toolbox};
use ledger::{StoreDown, record::ConnectorRef};
use model::{
    ActionId, ConnectorId, Digest, Footprint, Level, OrgId, Outcome, ReadBack, ReadBackGap,
    ReadRow, Report, Resource, SideEffect, ToolName,
};
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use tool::{Claim, Definition, Estimate, Estimated, Reading, Run, Settled, Tool};

/// More runs than any test has at once.
const UNHELD: usize = 1_000;

type Script = dyn Fn(&Value) -> Outcome + Send;

/// A tool in memory. Until it is told otherwise it changes one row, offers no estimate, and knows
/// nothing of a run that was lost.
pub struct ScriptedTool {
    definition: Definition,
    script: Mutex<Box<Script>>,
    estimate: Mutex<Estimate>,
    settled: Mutex<Settled>,
    changed: Mutex<Option<Digest>>,
    readings: Mutex<VecDeque<Reading>>,
    runs: AtomicUsize,
    estimates: AtomicUsize,
    settlings: AtomicUsize,
    permits: Semaphore,
    answers: Semaphore,
}

impl fmt::Debug for ScriptedTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScriptedTool").field("name", &self.definition.name).finish_non_exhaustive()
    }
}

/// The outcome of a run that changed one row and answers this.
pub fn done(result: Value) -> Outcome {
    Outcome::Succeeded { result, report: Report::of_rows(Some(1)) }
}

impl ScriptedTool {
    /// A tool of this name, which must be a tool's name, that takes any object without `bad`.
    pub fn new(name: &str, side_effect: SideEffect) -> Self {
        let definition = Definition {
            name: name.parse().unwrap(),
            title: "A tool".to_owned(),
            description: "A tool of a test.".to_owned(),
            side_effect,
            input_schema: json!({ "type": "object" }).into(),
            footprint: None,
            required_level: Level::L0,
            target: None,
            digest: crypto::sha256(name),
        };
        Self {
            definition,
            script: Mutex::new(Box::new(|_| done(json!({ "rows": 1 })))),
            estimate: Mutex::new(Estimate::NotOffered),
            settled: Mutex::new(Settled::Unknowable),
            changed: Mutex::default(),
            readings: Mutex::default(),
            runs: AtomicUsize::new(0),
            estimates: AtomicUsize::new(0),
            settlings: AtomicUsize::new(0),
            permits: Semaphore::new(UNHELD),
            answers: Semaphore::new(UNHELD),
        }
    }

    /// This tool with a bound of what a run may change.
    pub fn with_footprint(mut self, footprint: Footprint) -> Self {
        self.definition.footprint = Some(footprint);
        self
    }

    /// This tool with calls that go there.
    pub fn with_target(mut self, target: Value) -> Self {
        self.definition.target = Some(Arc::new(target));
        self
    }

    /// This tool with calls that need so much evidence.
    pub fn with_required_level(mut self, level: Level) -> Self {
        self.definition.required_level = level;
        self
    }

    /// Makes the next read-backs come to these; from then on there are none.
    pub fn read_back_as(&self, readings: impl Into<VecDeque<Reading>>) {
        *self.readings.lock().unwrap() = readings.into();
    }

    /// Makes the next read-back find this row.
    pub fn read_back_finds(&self, row: ReadRow) {
        self.read_back_as(vec![Reading::Done(ReadBack::Rows(vec![Some(row)]))]);
    }

    /// Makes one more read-back go without an answer before the next ones.
    pub fn read_back_misses(&self) {
        self.readings.lock().unwrap().push_front(Reading::Unreachable);
    }

    /// Makes the next read-back find this of an API's resource.
    pub fn read_back_tells(&self, resource: Resource) {
        self.read_back_as(vec![Reading::Done(ReadBack::Resource(resource))]);
    }

    /// Makes every later run come to what the script says of its arguments.
    pub fn follow(&self, script: impl Fn(&Value) -> Outcome + Send + 'static) {
        *self.script.lock().unwrap() = Box::new(script);
    }

    /// Makes every later run come to this.
    pub fn answer(&self, outcome: Outcome) {
        self.follow(move |_| outcome.clone());
    }

    /// Says of calls that they would do what these rows say.
    pub fn estimate_rows(&self, rows: Vec<Value>) {
        self.estimate_as(Estimate::Given(Estimated { rows, is_whole: true }));
    }

    /// Makes every later estimate this one.
    pub fn estimate_as(&self, estimate: Estimate) {
        *self.estimate.lock().unwrap() = estimate;
    }

    /// Makes every later question about an unseen run come to this.
    pub fn settle_as(&self, settled: Settled) {
        *self.settled.lock().unwrap() = settled;
    }

    /// Makes another tool of it from now on, or again the one that was accepted.
    pub fn change(&self, to: Option<&str>) {
        *self.changed.lock().unwrap() = to.map(crypto::sha256);
    }

    /// Makes the next runs wait.
    pub fn hold(&self) {
        self.permits.forget_permits(UNHELD);
    }

    /// Makes every later question about an unseen run go without an answer.
    pub fn fall_silent(&self) {
        self.answers.forget_permits(UNHELD);
    }

    /// Lets one run go on.
    pub fn release(&self) {
        self.permits.add_permits(1);
    }

    /// How many runs there were, those that wait included.
    pub fn runs(&self) -> usize {
        self.runs.load(Ordering::SeqCst)
    }

    /// How many questions about unseen runs there were.
    pub fn settlings(&self) -> usize {
        self.settlings.load(Ordering::SeqCst)
    }

    /// How many estimates were asked for.
    pub fn estimates(&self) -> usize {
        self.estimates.load(Ordering::SeqCst)
    }
}

#[async_trait]
impl Tool for ScriptedTool {
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

    async fn run(&self, run: Run<'_>) -> Outcome {
        self.runs.fetch_add(1, Ordering::SeqCst);
        self.permits.acquire().await.unwrap().forget();
        (*self.script.lock().unwrap())(run.args)
    }

    async fn read_back(&self, _: Claim<'_>, _: Duration) -> Reading {
        let next = self.readings.lock().unwrap().pop_front();
        next.unwrap_or(Reading::Done(ReadBack::Unread(ReadBackGap::NotOffered)))
    }

    async fn settle(&self, _: OrgId, _: ActionId, _: Option<&str>) -> Settled {
        self.settlings.fetch_add(1, Ordering::SeqCst);
        let _answer = self.answers.acquire().await.unwrap();
        self.settled.lock().unwrap().clone()
    }
}

/// The tools of the one connector `shop`, which may be made after them.
#[derive(Debug)]
pub struct Shop {
    connector: OnceLock<ConnectorId>,
    tools: Vec<Arc<ScriptedTool>>,
}

impl Shop {
    /// A shop with these tools.
    pub fn of(tools: impl Into<Vec<Arc<ScriptedTool>>>) -> Arc<Self> {
        Arc::new(Self { connector: OnceLock::new(), tools: tools.into() })
    }

    /// Names the connector, once.
    pub fn connect(&self, connector: ConnectorId) {
        self.connector.set(connector).unwrap();
    }
}

#[async_trait]
impl Toolbox for Shop {
    async fn find(&self, org: OrgId, name: &ToolName) -> Result<Found, StoreDown> {
        let every = self.every(org).await?;
        let found = every.into_iter().find(|served| served.tool.definition().name == *name);
        Ok(found.map_or(Found::Nobody, Found::Served))
    }

    async fn every(&self, _: OrgId) -> Result<Vec<Served>, StoreDown> {
        let connector = ConnectorRef {
            id: self.connector.get().copied(),
            name: "shop".to_owned(),
            kind: "fake".to_owned(),
        };
        let served = |tool: &Arc<ScriptedTool>| Served {
            connector: connector.clone(),
            hidden: false,
            test: false,
            changed: *tool.changed.lock().unwrap(),
            tool: Arc::clone(tool) as Arc<dyn Tool>,
        };
        Ok(self.tools.iter().map(served).collect())
    }
}
