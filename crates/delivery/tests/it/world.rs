//! An org, its webhooks, what posts them and who receives them.

use std::{
    collections::VecDeque,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use act::{Act, ActError, By, Fact, MayChange, MayView, Record};
use async_trait::async_trait;
use base64::{Engine, engine::general_purpose::STANDARD};
use crypto::{Secret, vault::Ring};
use deed::Subject;
use delivery::{
    Aside, Courier, Delivery, DeliveryList, DeliveryStore, Limits, NewWebhook, Parts, Post, Sender,
    SigningSecret, UrlError, Webhooks, Worked, signature,
};
use event::Event;
use futures_util::future::BoxFuture;
use ledger::{
    Entry, EventStore, Needs, Request, Snapshot, StoreDown,
    record::{Org, RETENTION_DAYS, Webhook},
};
use model::{Clock, DeliveryError, EventType, Mint, OrgId, Timestamp, WebhookId};
use serde_json::{Value, json};
use store_memory::MemoryStore;
use testkit::{Fixture, ManualClock};
use tokio::sync::oneshot;
use uuid::Uuid;

pub(crate) const ORG: OrgId = OrgId::from_uuid(Uuid::from_u128(7));
pub(crate) const URL: &str = "https://hooks.example.com/in";

/// Who may do everything in the org.
pub(crate) struct Operator;

impl MayView for Operator {
    fn org(&self) -> OrgId {
        ORG
    }

    fn by(&self) -> By {
        By::Operator
    }
}

impl MayChange for Operator {}

struct Founding;

impl Request for Founding {
    type Answer = ();

    fn needs(&self, _: &Snapshot) -> Needs {
        Needs::default()
    }

    fn decide(&self, _: &Snapshot, mint: &Mint<'_>) -> (Entry, ()) {
        let mut record = Record::new(By::Operator, None, mint);
        let object = json!({ "object": "org", "id": ORG });
        record.seal(Fact::new(EventType::LogStarted, Subject::org(ORG), object));
        record.write(Org {
            id: ORG,
            name: "Acme".to_owned(),
            time_zone: "UTC".to_owned(),
            pro: true,
            stop: None,
            voids: None,
            voided: None,
            retention_days: RETENTION_DAYS,
            pruned_to: 0,
            keys_made: 0,
            invites_made: 0,
            created_at: mint.now(),
        });
        (record.into_entry(), ())
    }
}

/// A request as the receiver saw it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) url: String,
    pub(crate) id: String,
    pub(crate) at: Timestamp,
    pub(crate) timestamp: i64,
    pub(crate) signature: String,
    pub(crate) kind: EventType,
    pub(crate) body: String,
}

/// Receives, and answers as it is told; what it was told nothing for is taken.
pub(crate) struct Receiver {
    clock: Arc<ManualClock>,
    pub(crate) seen: Mutex<Vec<Seen>>,
    pub(crate) answers: Mutex<VecDeque<Result<u16, DeliveryError>>>,
    /// Addresses that hang for the whole time of a try.
    pub(crate) hangs: Mutex<Vec<String>>,
    /// What the next request waits for before it is answered.
    pub(crate) held: Mutex<Option<oneshot::Receiver<()>>>,
}

#[async_trait]
impl Sender for Receiver {
    async fn check(&self, url: &str) -> Result<(), UrlError> {
        if url.starts_with("https://") {
            return Ok(());
        }
        Err(UrlError::Malformed("an address that begins with `https://`".to_owned()))
    }

    async fn post(&self, post: Post<'_>) -> Result<u16, DeliveryError> {
        self.seen.lock().unwrap().push(Seen {
            url: post.url.to_owned(),
            id: post.id.to_string(),
            at: self.clock.now(),
            timestamp: post.timestamp,
            signature: post.signature.to_owned(),
            kind: post.kind,
            body: String::from_utf8(post.body.to_vec()).unwrap(),
        });
        let held = self.held.lock().unwrap().take();
        if let Some(held) = held {
            held.await.unwrap();
        }
        if self.hangs.lock().unwrap().iter().any(|url| url == post.url) {
            self.clock.pass(Duration::from_secs(10));
            return Err(DeliveryError::Timeout);
        }
        self.answers.lock().unwrap().pop_front().unwrap_or(Ok(204))
    }
}

/// The clock of a process whose hands somebody has set: a year ahead of the store's.
#[derive(Debug)]
struct Astray(Arc<ManualClock>);

impl Clock for Astray {
    fn now(&self) -> Timestamp {
        self.0.now() + Duration::from_hours(365 * 24)
    }

    fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }
}

/// The events of a store, of which each page takes a while to read.
pub(crate) struct Events {
    store: Arc<MemoryStore>,
    clock: Arc<ManualClock>,
    pub(crate) page_takes: Mutex<Duration>,
    /// How often a page was read.
    pub(crate) pages: AtomicUsize,
    /// How many reads from now on are answered before every one fails.
    pub(crate) fails_from: AtomicUsize,
}

impl Events {
    fn count_down(&self) {
        let left = self.fails_from.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
            if left == usize::MAX { Some(left) } else { left.checked_sub(1) }
        });
        if left.is_err() {
            self.store.fail_next("read events", 1);
        }
    }
}

/// Tasks beside the test's own, of which each post takes a turn.
#[derive(Default)]
pub(crate) struct Beside {
    pub(crate) turns: AtomicUsize,
}

#[async_trait]
impl Aside for Beside {
    fn run(&self, work: BoxFuture<'static, ()>) {
        tokio::spawn(work);
    }

    async fn turn(&self) {
        self.turns.fetch_add(1, Ordering::Relaxed);
        tokio::task::yield_now().await;
    }
}

#[async_trait]
impl EventStore for Events {
    async fn events_after(
        &self,
        org: OrgId,
        seq: u64,
        limit: usize,
    ) -> Result<Vec<Event>, StoreDown> {
        self.count_down();
        if limit > 1 {
            self.pages.fetch_add(1, Ordering::Relaxed);
            self.clock.pass(*self.page_takes.lock().unwrap());
        }
        self.store.events_after(org, seq, limit).await
    }

    async fn events_at(&self, org: OrgId, places: &[u64]) -> Result<Vec<Event>, StoreDown> {
        self.count_down();
        self.store.events_at(org, places).await
    }

    async fn last_event(&self, org: OrgId) -> Result<u64, StoreDown> {
        self.store.last_event(org).await
    }
}

pub(crate) struct World {
    pub(crate) fixture: Fixture,
    pub(crate) events: Arc<Events>,
    pub(crate) receiver: Arc<Receiver>,
    pub(crate) webhooks: Webhooks,
    pub(crate) courier: Courier,
    pub(crate) aside: Arc<Beside>,
    parts: Parts,
}

impl World {
    pub(crate) async fn new() -> Self {
        Self::limited(Limits::default()).await
    }

    pub(crate) async fn limited(limits: Limits) -> Self {
        let fixture = Fixture::new(3);
        fixture.ledger.enter(ORG, Founding).await.unwrap();
        let receiver = Arc::new(Receiver {
            clock: fixture.clock.clone(),
            seen: Mutex::default(),
            answers: Mutex::default(),
            hangs: Mutex::default(),
            held: Mutex::default(),
        });
        let events = Arc::new(Events {
            store: fixture.store.clone(),
            clock: fixture.clock.clone(),
            page_takes: Mutex::default(),
            pages: AtomicUsize::default(),
            fails_from: AtomicUsize::new(usize::MAX),
        });
        let parts = Parts {
            ledger: fixture.ledger.clone(),
            store: fixture.store.clone(),
            events: events.clone(),
            sender: receiver.clone(),
            vault: fixture.vault.clone(),
            entropy: fixture.dice.clone(),
            clock: Arc::new(Astray(fixture.clock.clone())),
            limits,
        };
        let aside = Arc::new(Beside::default());
        let (webhooks, courier) =
            (Webhooks::new(parts.clone()), Courier::new(parts.clone(), aside.clone()));
        Self { fixture, events, receiver, webhooks, courier, aside, parts }
    }

    /// The courier of another instance.
    pub(crate) fn another_courier(&self) -> Courier {
        Courier::new(self.parts.clone(), self.aside.clone())
    }

    /// The webhooks and the courier of an instance whose vault has these keys.
    pub(crate) fn under_keys(&self, keys: &[u8]) -> (Webhooks, Courier) {
        let vault = Arc::new(ring(keys));
        let parts = Parts { vault, ..self.parts.clone() };
        (Webhooks::new(parts.clone()), Courier::new(parts, self.aside.clone()))
    }

    pub(crate) async fn endpoint(&self, types: &[&str]) -> (Webhook, SigningSecret) {
        self.endpoint_at(URL, types).await
    }

    pub(crate) async fn endpoint_at(&self, url: &str, types: &[&str]) -> (Webhook, SigningSecret) {
        let types = types.iter().map(|it| (*it).to_owned()).collect();
        let new =
            NewWebhook { url: url.to_owned(), description: String::new(), types, agent: None };
        let (made, secret) = self.webhooks.create(&Operator, new).await.unwrap();
        (made.object, SigningSecret::parse(secret.expose()).unwrap())
    }

    /// Lets so many things happen, each an event.
    pub(crate) async fn happen(&self, count: usize) {
        let act = Act::new(By::Operator, move |_: &Snapshot, record: &mut Record<'_>| {
            for number in 0..count {
                record.tell(EventType::OrgUpdated, json!({ "object": "org", "number": number }));
            }
            Ok::<_, ActError>(())
        });
        act.enter(&self.fixture.ledger, ORG).await.unwrap();
    }

    /// Serves an endpoint, and lets this happen while the first request waits for its answer.
    pub(crate) async fn serve_while(
        &self,
        id: WebhookId,
        meanwhile: impl Future<Output = ()>,
    ) -> Worked {
        let (go, held) = oneshot::channel();
        *self.receiver.held.lock().unwrap() = Some(held);
        let claimed = self.courier.claim((ORG, id)).await.unwrap().unwrap();
        let meanwhile = async {
            while self.receiver.held.lock().unwrap().is_some() {
                tokio::task::yield_now().await;
            }
            meanwhile.await;
            go.send(()).unwrap();
        };
        let (served, ()) = tokio::join!(self.courier.serve(claimed, &|| true), meanwhile);
        served.unwrap()
    }

    /// One look of an instance: serves whatever has something to do, one after the other.
    pub(crate) async fn look(&self) -> Worked {
        let mut tries = Worked::default();
        for failing in [false, true] {
            for key in self.courier.waiting(failing, 100).await.unwrap() {
                let Some(claimed) = self.courier.claim(key).await.unwrap() else { continue };
                let worked = self.courier.serve(claimed, &|| true).await.unwrap();
                tries.delivered += worked.delivered;
                tries.failed += worked.failed;
                tries.dead += worked.dead;
                tries.disabled += worked.disabled;
            }
        }
        tries
    }

    pub(crate) fn answer(&self, answers: impl IntoIterator<Item = Result<u16, DeliveryError>>) {
        self.receiver.answers.lock().unwrap().extend(answers);
    }

    pub(crate) fn pass(&self, span: Duration) {
        self.fixture.clock.pass(span);
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.fixture.clock.now()
    }

    pub(crate) fn take(&self) -> Vec<Seen> {
        std::mem::take(&mut *self.receiver.seen.lock().unwrap())
    }

    pub(crate) async fn deliveries(&self, id: WebhookId) -> Vec<Delivery> {
        let key = (ORG, id);
        self.fixture.store.deliveries(key, DeliveryList::default(), 1_000).await.unwrap()
    }

    /// How many deliveries the org was told to be dead.
    pub(crate) async fn told_dead(&self) -> usize {
        let kinds = self.kinds().await;
        kinds.iter().filter(|kind| **kind == EventType::WebhookDeliveryDead).count()
    }

    pub(crate) async fn kinds(&self) -> Vec<EventType> {
        let events = self.fixture.store.events_after(ORG, 0, 100_000).await.unwrap();
        events.into_iter().map(|event| event.kind).collect()
    }

    /// The envelopes of the org's events of this type, as the stream has them.
    pub(crate) async fn envelopes(&self, kind: EventType) -> Vec<String> {
        let events = self.fixture.store.events_after(ORG, 0, 100_000).await.unwrap();
        let of_kind = events.into_iter().filter(|event| event.kind == kind);
        of_kind.map(|event| event.envelope().to_string()).collect()
    }
}

/// A vault's keys, of which each repeats one byte. The fixture's is of zeros.
fn ring(keys: &[u8]) -> Ring {
    let keys: Vec<_> = keys.iter().map(|byte| STANDARD.encode([*byte; 32])).collect();
    Ring::parse(&Secret::new(keys.join(","))).unwrap()
}

/// Whether the request was signed with these secrets, in this order.
pub(crate) fn is_signed(seen: &Seen, secrets: &[SigningSecret]) -> bool {
    seen.signature == signature(secrets, (&seen.id, seen.timestamp), seen.body.as_bytes())
}

/// The number that an event was made with.
pub(crate) fn number(seen: &Seen) -> u64 {
    let body: Value = serde_json::from_str(&seen.body).unwrap();
    body["data"]["object"]["number"].as_u64().unwrap()
}
