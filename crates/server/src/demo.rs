//! `chancery demo`: the whole story in memory, in less than a second, without PostgreSQL and
//! without a network.
//!
//! An agent's call is decided, run, witnessed and sealed; another one is refused; then the record
//! is changed behind the service's back in two ways, and the offline check finds both.

mod shop;

use std::{sync::Arc, time::Duration};

use admin::NewConnector;
use crypto::{Secret, SystemEntropy, vault::Ring};
use deed::verify::{Trust, Verdict};
use gate::{Submission, Submitted};
use ledger::record::Action;
use model::{AgentId, KeyId, OrgId, Timestamp};
use policy::{Agent, Call};
use serde_json::{Value, json};
use store_memory::{MemoryPeople, MemoryStore};

use crate::{
    clock::SystemClock,
    core::{Core, Parts, Stores},
    exit::{Exit, Failure},
    household::Household,
    print, secrets,
    verbs::verify_verdict,
};
use shop::Shop;

/// The type of the demo's connector, which no adapter has.
pub(crate) const KIND: &str = "demo";

const POLICY: &str = include_str!("demo/policy.yaml");

/// Tells the story and says whether everything in it came out as it should.
pub async fn run() -> Result<Exit, Failure> {
    let stage = Stage::set().await?;
    print::line("Chancery in memory: an agent, a shop with three tools, and a policy.\n");

    let refund = stage.call("shop.refund", json!({ "order": 1001, "amount": 25 })).await?;
    print::line(told("1. shop.refund {order: 1001, amount: 25}", &refund));
    print::line(format!("   the shop now says: order 1001 is {}", stage.shop.status_of(1001)));

    let delete = stage.call("shop.delete", json!({ "order": 1001 })).await?;
    print::line(told("2. shop.delete {order: 1001}", &delete));

    let lie = stage.call("shop.close", json!({ "order": 1001 })).await?;
    let caught = verdict_of(&lie) == Some(model::Verdict::Mismatch);
    print::line(told(
        "3. shop.close {order: 1001}, by a tool that reports success and does nothing",
        &lie,
    ));
    print::line(format!("   the shop still says: order 1001 is {}", stage.shop.status_of(1001)));

    let deeds = stage.store.deeds(stage.org);
    let checkpoint = stage.checkpoint().await?;
    let known = Trust { known_checkpoint: Some(checkpoint), ..stage.trust() };
    let size = deeds.len();
    print::line(format!(
        "\nThe org's log has {size} deeds. Verified offline with its public keys:"
    ));
    let cut = lines(deeds.get(..size.saturating_sub(1)).unwrap_or_default())?;
    let told = [
        Told::of("4. the log as it is", &lines(&deeds)?, &known, Verdict::Valid),
        Told::of(
            "5. one byte of a deed changed in the store, a millisecond of its time",
            &lines(&changed(deeds))?,
            &known,
            Verdict::Invalid,
        ),
        Told::of(
            "6. the last deed removed, without a checkpoint",
            &cut,
            &stage.trust(),
            Verdict::Valid,
        ),
        Told::of(
            "7. the same, with a checkpoint that was saved before",
            &cut,
            &known,
            Verdict::Invalid,
        ),
    ];
    for told in &told {
        print::line(&told.text);
    }

    print::line("\nNext: `cargo xtask up` does the same on a real PostgreSQL, over HTTP.");
    if caught && told.iter().all(|told| told.as_expected) {
        Ok(Exit::Ok)
    } else {
        Ok(Exit::Internal)
    }
}

fn verdict_of(action: &Action) -> Option<model::Verdict> {
    action.witness.as_ref().map(|witness| witness.verdict)
}

/// Everything that the story needs.
pub(crate) struct Stage {
    pub(crate) core: Core,
    store: Arc<MemoryStore>,
    shop: Arc<Shop>,
    pub(crate) org: OrgId,
    agent: AgentId,
    key: KeyId,
}

impl Stage {
    /// Makes the org, the shop, and the agent.
    pub(crate) async fn set() -> Result<Self, Failure> {
        let store = Arc::new(MemoryStore::new(Arc::new(SystemClock)));
        let shop = Arc::new(Shop::open().map_err(Failure::internal)?);
        let core = Core::new(parts(&store, &shop).await?).map_err(Failure::internal)?;
        let connector = NewConnector::of(KIND, shop::CONNECTOR, json!({}));
        let Household { org, connector, agent, key } =
            Household::found(&core, connector, POLICY).await?;
        shop.connect(connector);
        let key = key.id();
        Ok(Self { core, store, shop, org, agent, key })
    }

    /// Sends a call as the agent and returns its action once it is sealed.
    pub(crate) async fn call(&self, tool: &str, args: Value) -> Result<Arc<Action>, Failure> {
        let call = Call::new(tool, Agent::new(self.agent), Timestamp::EPOCH).with_args(args);
        let call = Submission::new(self.org, self.key, call);
        match self.core.gate.submit(call).await.map_err(Failure::internal)? {
            Submitted::Replayed(action) | Submitted::Decided(action) => Ok(action),
            Submitted::Running(running) => {
                Ok(running.done.await.map_err(Failure::internal)?.action)
            }
        }
    }

    async fn checkpoint(&self) -> Result<String, Failure> {
        let snapshot = self.core.ledger.look(self.org).await.map_err(Failure::internal)?;
        let base = snapshot.base().ok_or_else(|| Failure::internal("the demo's org is gone"))?;
        self.core
            .ledger
            .sealer()
            .checkpoint(&base.head.chain, snapshot.now())
            .map_err(Failure::internal)
    }

    fn trust(&self) -> Trust {
        Trust {
            keys: Some(self.core.ledger.sealer().registered().as_ref().clone()),
            ..Trust::default()
        }
    }
}

async fn parts(store: &Arc<MemoryStore>, shop: &Arc<Shop>) -> Result<Parts, Failure> {
    let entropy = SystemEntropy::new();
    let keys = deed::SealKeys::from_pem(deed::SealKeys::generate_pem(&entropy).expose());
    let keys = keys.map_err(Failure::internal)?;
    let now = model::Clock::now(&SystemClock);
    let registered =
        admin::register_seal_keys(store.as_ref(), &keys, (now, admin::SealKeyActivation::Ahead))
            .await;
    let registered = registered.map_err(Failure::internal)?.set;
    let ring = Ring::parse(&secrets::random_key()).map_err(Failure::internal)?;
    let pepper = Secret::new(secrets::random_key().expose().clone().into_bytes());
    Ok(Parts {
        stores: Stores::of(store),
        sealer: deed::Sealer::new(keys, registered),
        people: Arc::new(MemoryPeople::new(Arc::new(SystemClock))),
        toolbox: Arc::clone(shop) as _,
        log: Arc::new(gate::NoChangeLog),
        connectors: Arc::clone(shop) as _,
        tasks: crate::runtime::Tokio::new(),
        pepper,
        vault: Arc::new(ring),
        limits: gate::Limits::default(),
        log_host: "demo.example".to_owned(),
        instance: "demo".to_owned(),
        audience: "https://demo.example".into(),
    })
}

fn told(title: &str, action: &Action) -> String {
    let deed = action.deed.map(|deed| deed.to_string()).unwrap_or_default();
    let level = action.witness.as_ref().map(|witness| witness.level);
    let concluded = action.conclusion().zip(level);
    let concluded = concluded.map(|(end, level)| format!("{} at {level}", end.word()));
    let failure = action.execution.as_ref().and_then(|run| run.error_message.clone());
    let end = concluded.or(failure).or_else(|| action.decision.message.clone()).unwrap_or_default();
    format!("{title}\n   {}: {end}\n   sealed as {deed}", action.status)
}

/// The deeds in their API form, one a line.
fn lines(deeds: &[gate::StoredDeed]) -> Result<Vec<u8>, Failure> {
    let mut lines = Vec::new();
    for deed in deeds {
        let form = deed::api_form(&deed.body, &deed.signature, &[]).map_err(Failure::internal)?;
        lines.extend(form.to_string().into_bytes());
        lines.push(b'\n');
    }
    Ok(lines)
}

/// The log with one digit of its last deed's time exchanged for another, as somebody with
/// the database in hand would do it: everything but the signature can be made to fit again.
fn changed(mut log: Vec<gate::StoredDeed>) -> Vec<gate::StoredDeed> {
    if let Some(last) = log.last_mut() {
        let time = last.issued_at.to_string();
        let step = Duration::from_millis(1);
        let nine = last.issued_at.unix_millis() % 10 == 9;
        let wrong = if nine { last.issued_at.before(step) } else { last.issued_at + step };
        last.body = last.body.replace(&time, &wrong.to_string());
    }
    log
}

/// One check of the log as the story tells it.
struct Told {
    text: String,
    as_expected: bool,
}

impl Told {
    fn of(title: &str, log: &[u8], trust: &Trust, expected: Verdict) -> Self {
        let report = deed::verify::examine(log, trust);
        let as_expected = report.verdict == expected;
        Self { text: format!("{title}\n   {}", verify_verdict(&report)), as_expected }
    }
}

#[cfg(test)]
mod tests;
