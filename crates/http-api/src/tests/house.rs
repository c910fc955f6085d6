//! The whole interface over the store in memory: one org, two agents, a tool that does as it is
//! told. Every answer is held against the interface description.

mod fake;
pub(super) mod people;
mod receiver;

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use admin::{
    Activation, Admin, Deployment, Expected, KeyMode, NewAgent, NewConnector, NewKey, NewOrg,
    NewPolicy, NewVersion, OrgChange, SealKeyStore,
};
use async_trait::async_trait;
use bytes::Bytes;
use crypto::Secret;
use deed::KeySet;
use http::{HeaderMap, Request};
use http_body_util::{BodyExt, Full};
use ledger::{
    EventStore, Ledger,
    record::{Action, OrgWebhooks, PolicyMode},
};
use model::{AgentId, ConnectorId, IntentMode, KeyId, LogGap, OrgId, Outcome, Scope, SideEffect};
use records::Records;
use serde_json::{Value, json};
use store_memory::MemoryStore;
use testkit::{Fixture, ManualClock, OnTokio, Operator, ScriptedTool, Shop, done, limits};
use web::{Control, Lifecycle, ReplyBody, Router, TrustedProxies};

use self::fake::Fake;
use crate::{
    description::{Given, Validator},
    *,
};

const POLICY: &str = r#"
schema: 1
default: { outcome: deny }
rules:
  - { id: no-deletes, match: "*.delete", outcome: deny, reason: "Orders are never deleted." }
  - { id: large, match: shop.refund, when: "args.amount > 100", outcome: require_approval }
  - { id: refunds, match: shop.refund, outcome: allow }
  - { id: credits, match: shop.credit, outcome: require_approval, approval: { estimate: true } }
  - { id: edge, match: "mail.*", outcome: allow }
budgets:
  - { id: refunds-day, match: shop.refund, per: [agent], window: day, count: 3 }
"#;

/// A probe that says what the test tells it to.
pub(super) struct Told {
    pub(super) database: Mutex<Condition>,
    pub(super) unreachable_orgs: Mutex<usize>,
    pub(super) mail: Mutex<Mail>,
    pub(super) lost: Mutex<Vec<(OrgId, OutOfReach)>>,
}

#[async_trait]
impl Probe for Told {
    async fn checks(&self) -> Vec<Check> {
        vec![Check { name: "database", condition: *self.database.lock().unwrap() }]
    }

    fn unreachable_orgs(&self) -> usize {
        *self.unreachable_orgs.lock().unwrap()
    }

    fn mail(&self) -> Mail {
        *self.mail.lock().unwrap()
    }

    fn out_of_reach(&self, org: OrgId) -> Vec<OutOfReach> {
        let lost = self.lost.lock().unwrap();
        lost.iter().filter(|(of, _)| *of == org).map(|(_, lost)| lost.clone()).collect()
    }
}

/// One holder of keys.
pub(super) struct Holder {
    pub(super) agent: AgentId,
    pub(super) id: KeyId,
    pub(super) key: String,
}

/// Everything that a test needs.
pub(super) struct House {
    pub(super) router: Router<App>,
    pub(super) admin: Arc<Admin>,
    pub(super) store: Arc<MemoryStore>,
    pub(super) clock: Arc<ManualClock>,
    pub(super) control: Control,
    pub(super) lifecycle: Lifecycle,
    pub(super) probe: Arc<Told>,
    pub(super) refund: Arc<ScriptedTool>,
    pub(super) org: OrgId,
    pub(super) support: Holder,
    pub(super) other: Holder,
    pub(super) org_key: String,
    pub(super) town: people::Town,
    description: &'static Validator,
    fixture: Fixture,
}

/// An answer whose shape the description confirms.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) headers: HeaderMap,
    pub(super) bytes: Bytes,
    pub(super) body: Value,
}

impl Answer {
    pub(super) fn code(&self) -> (u16, &str) {
        (self.status, self.body["error"]["code"].as_str().unwrap_or_default())
    }

    pub(super) fn param(&self) -> Option<&str> {
        self.body["error"]["param"].as_str()
    }

    pub(super) fn id(&self) -> String {
        self.body["id"].as_str().unwrap().to_owned()
    }
}

async fn key(org: &OrgChange<'_>, agent: AgentId, scopes: Vec<Scope>) -> (KeyId, String) {
    let new = NewKey { name: "main".to_owned(), scopes, mode: KeyMode::Live, expires_at: None };
    let shown = org.create_agent_key(agent, new).await.unwrap();
    (shown.key.object.id, shown.text.secret().expose().clone())
}

pub(super) async fn holder(org: &OrgChange<'_>, name: &str) -> Holder {
    let new = NewAgent { intent_mode: IntentMode::Optional, ..NewAgent::named(name) };
    let agent = org.create_agent(new).await.unwrap().object.id;
    let scopes = vec![Scope::ActionsRead, Scope::ActionsExecute];
    let (id, key) = key(org, agent, scopes).await;
    Holder { agent, id, key }
}

pub(super) async fn org_key(org: &OrgChange<'_>, scope: Scope) -> String {
    named_org_key(org, scope).await.1
}

pub(super) async fn named_org_key(org: &OrgChange<'_>, scope: Scope) -> (KeyId, String) {
    let new = NewKey {
        name: "admin".to_owned(),
        scopes: vec![scope],
        mode: KeyMode::Live,
        expires_at: None,
    };
    let shown = org.create_org_key(new).await.unwrap();
    (shown.key.object.id, shown.text.secret().expose().clone())
}

async fn connector(org: &OrgChange<'_>) -> ConnectorId {
    org.create_connector(NewConnector::of("fake", "shop", json!({}))).await.unwrap().object.id
}

async fn enforce(org: &OrgChange<'_>, document: &str) {
    let policy = org.create_policy(NewPolicy::named("test")).await.unwrap().object.id;
    let new = NewVersion::of(
        policy,
        admin::lint(document.to_owned(), &admin::KnownOrg::default(), &policy::Effort::unbounded())
            .unwrap(),
    );
    let version = org.create_policy_version(new).await.unwrap().object.id;
    let (mode, reason) = (PolicyMode::Enforce, "for the test".to_owned());
    let expected_active = Expected::Anything;
    let version = org.view().untested(policy, version).await.unwrap();
    let version = version.pass(&policy::Effort::unbounded()).unwrap();
    let activation = Activation { version, mode, reason, expected_active };
    org.activate_policy(activation).await.unwrap();
}

fn webhooks(fixture: &Fixture) -> delivery::Parts {
    delivery::Parts {
        ledger: fixture.ledger.clone(),
        store: fixture.store.clone(),
        events: fixture.store.clone(),
        sender: Arc::new(receiver::Nowhere),
        vault: fixture.vault.clone(),
        entropy: fixture.dice.clone(),
        clock: fixture.clock.clone(),
        limits: delivery::Limits::default(),
    }
}

/// What the refunding tool answers: the amount, and the note where there is one.
fn refunded(args: &Value) -> Outcome {
    let mut result = json!({ "refunded": args.get("amount") });
    if let Some(note) = args.get("note") {
        result["note"] = note.clone();
    }
    done(result)
}

/// Where the shop's refunds run.
fn shop_target() -> Value {
    json!({
        "host": "db.example", "port": 5432, "database": "shop", "user": "svc_conn",
        "read_user": "svc_read", "decoder_user": "svc_decoder", "owner": "svc_owner",
        "search_path": ["public"], "tls_name": "db.example",
    })
}

impl House {
    pub(super) async fn new() -> Self {
        Self::that_takes(::people::Signup::Invite).await
    }

    /// A house whose operator says who may become a member.
    pub(super) async fn that_takes(signup: ::people::Signup) -> Self {
        Self::of(signup, None).await
    }

    /// A house whose shop has this tool, too.
    pub(super) async fn that_runs(tool: Arc<ScriptedTool>) -> Self {
        Self::of(::people::Signup::Invite, Some(tool)).await
    }

    async fn of(signup: ::people::Signup, more: Option<Arc<ScriptedTool>>) -> Self {
        let fixture = Fixture::new(1);
        for key in fixture.sealer.registered().keys() {
            fixture.store.put_seal_key(key).await.unwrap();
        }
        let published = fixture.store.seal_keys().await.unwrap();
        fixture.sealer.register(KeySet::new(published).unwrap());
        let admin = Arc::new(fixture.admin(Arc::new(Fake)));
        let refund = ScriptedTool::new("shop.refund", SideEffect::Write);
        let refund = Arc::new(refund.with_target(shop_target()));
        refund.follow(refunded);
        let delete = Arc::new(ScriptedTool::new("shop.delete", SideEffect::Destructive));
        let tools = [delete, Arc::clone(&refund)].into_iter().chain(more);
        let shop = Shop::of(tools.collect::<Vec<_>>());
        let new = NewOrg { name: "Acme".to_owned(), time_zone: "UTC".to_owned() };
        let deployment = admin.operate(&Operator);
        let org = deployment.create_org(new).await.unwrap().org.id;
        let operator = deployment.org(org);
        shop.connect(connector(&operator).await);
        enforce(&operator, POLICY).await;
        let (support, other) =
            (holder(&operator, "support").await, holder(&operator, "other").await);
        let org_key = org_key(&operator, Scope::Admin).await;
        let (control, lifecycle) = Control::new();
        let probe = Arc::new(Told {
            database: Mutex::new(Condition::Ok),
            unreachable_orgs: Mutex::new(0),
            mail: Mutex::new(Mail::Leaves),
            lost: Mutex::default(),
        });
        let store = Arc::clone(&fixture.store);
        let town = people::Town::of(&fixture);
        let router = service(Parts {
            gate: fixture.gate(shop, limits()),
            admin: Arc::clone(&admin),
            records: Records::new(Arc::clone(&store) as _, fixture.ledger.clone()),
            webhooks: delivery::Webhooks::new(webhooks(&fixture)),
            events: Arc::clone(&store) as _,
            people: Arc::clone(&town.people),
            behind: Arc::new(OnTokio),
            probe: Arc::clone(&probe) as _,
            lifecycle: lifecycle.clone(),
            clock: Arc::clone(&fixture.clock) as _,
            entropy: Arc::clone(&fixture.dice) as _,
            aside: Arc::new(|work| drop(std::thread::spawn(work))),
            settings: Settings {
                base_url: "http://test".to_owned(),
                signup,
                wait_timeout: Duration::from_secs(10),
                cursor_key: Secret::new(vec![1; 32]),
                body_memory: 32 * 1024 * 1024,
                proxies: TrustedProxies::default(),
                build: Build { version: "1.2.3".to_owned(), commit: None },
            },
        });
        Self {
            router: router.unwrap(),
            admin,
            store,
            clock: Arc::clone(&fixture.clock),
            fixture,
            control,
            lifecycle,
            probe,
            refund,
            org,
            support,
            other,
            org_key,
            town,
            description: Validator::embedded().unwrap(),
        }
    }

    /// What posts the org's events, once.
    pub(super) async fn post_events(&self) {
        let courier = delivery::Courier::new(webhooks(&self.fixture), Arc::new(receiver::Nowhere));
        for failing in [false, true] {
            for key in courier.waiting(failing, 100).await.unwrap() {
                let claimed = courier.claim(key).await.unwrap().unwrap();
                courier.serve(claimed, &|| true).await.unwrap();
            }
        }
    }

    /// Lets the change log of a connector's database be followed, or be broken by this.
    pub(super) async fn follow_log(&self, connector: &str, broken: Option<LogGap>) {
        self.fixture.follow_log((self.org, connector.parse().unwrap()), broken).await;
    }

    pub(super) fn ledger(&self) -> &Ledger {
        &self.fixture.ledger
    }

    pub(super) fn deployment(&self) -> Deployment<'_> {
        self.admin.operate(&Operator)
    }

    pub(super) fn operator(&self) -> OrgChange<'_> {
        self.deployment().org(self.org)
    }

    /// Returns another key of the first agent.
    pub(super) async fn key_with(&self, scopes: Vec<Scope>) -> String {
        key(&self.operator(), self.support.agent, scopes).await.1
    }

    pub(super) async fn get(&self, path: &str, key: &str) -> Answer {
        self.send(request("GET", path, key, &[], None)).await
    }

    pub(super) async fn post(&self, path: &str, body: Value) -> Answer {
        self.send(request("POST", path, &self.support.key, &[], Some(body))).await
    }

    pub(super) async fn send(&self, request: Request<Full<Bytes>>) -> Answer {
        // Refusals of forms are pages, which the description does not describe.
        let is_form =
            request.headers().get("content-type").is_some_and(|it| it != "application/json");
        let operation = operation(&request);
        let response = self.router.answer(request).await;
        let (head, body) = response.into_parts();
        let bytes = body.collect().await.unwrap().to_bytes();
        if let Some(operation) = operation.filter(|_| !is_form || head.status.is_redirection()) {
            let given = Given { status: head.status, headers: &head.headers, body: &bytes };
            self.description.check(operation, &given).unwrap();
        }
        let body = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
        Answer { status: head.status.as_u16(), headers: head.headers, bytes, body }
    }

    /// Sends a request in a task of its own.
    /// Sends a request with this key and, where there is one, this body.
    pub(super) async fn ask(
        &self,
        (method, path): (&str, &str),
        key: &str,
        body: Option<Value>,
    ) -> Answer {
        self.send(request(method, path, key, &[], body)).await
    }

    pub(super) fn send_later(
        &self,
        request: Request<Full<Bytes>>,
    ) -> tokio::task::JoinHandle<http::Response<ReplyBody>> {
        let router = self.router.clone();
        tokio::spawn(async move { router.answer(request).await })
    }

    pub(super) fn get_later(
        &self,
        path: &str,
    ) -> tokio::task::JoinHandle<http::Response<ReplyBody>> {
        self.send_later(request("GET", path, &self.support.key, &[], None))
    }

    /// The administration of another instance over the same record.
    pub(super) fn second_instance(&self) -> Admin {
        self.fixture.beside(2).admin(Arc::new(Fake))
    }

    /// The events of the org, in order.
    pub(super) async fn sealed(&self) -> Vec<String> {
        let events = self.store.events_after(self.org, 0, 10_000).await.unwrap();
        events.into_iter().map(|event| event.kind.to_string()).collect()
    }

    /// Has the record say something else of an action.
    pub(super) async fn rewrite(&self, action: Action) {
        self.fixture.write(self.org, Arc::new(action)).await;
    }

    /// Writes the org's webhook endpoints as they are given.
    pub(super) async fn rewrite_webhooks(&self, webhooks: OrgWebhooks) {
        self.fixture.write(self.org, webhooks).await;
    }

    /// Sends a refund of this amount.
    pub(super) async fn refund(&self, amount: u64) -> Answer {
        self.post("/v1/actions", json!({ "tool": "shop.refund", "args": { "amount": amount } }))
            .await
    }

    /// Has a call authorized for the agent's edge.
    pub(super) async fn authorize(&self) -> Answer {
        let body = json!({
            "tool": "mail.send",
            "args": {},
            "mode": "proxy",
            "connector_type": "mcp",
        });
        self.post("/v1/actions", body).await
    }
}

pub(super) fn request(
    method: &str,
    path: &str,
    key: &str,
    headers: &[(&str, &str)],
    body: Option<Value>,
) -> Request<Full<Bytes>> {
    let mut request = Request::builder().method(method).uri(path).header("host", "test");
    match key.strip_prefix("session:").and_then(|browser| browser.split_once(':')) {
        Some((token, csrf)) => {
            request = request.header("cookie", format!("svc_session={token}"));
            if method != "GET" {
                request = request.header("origin", "http://test").header("service-csrf", csrf);
            }
        }
        None if key.is_empty() => {}
        None => request = request.header("authorization", format!("Bearer {key}")),
    }
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let text = body.map(|body| body.to_string()).unwrap_or_default();
    if !text.is_empty() {
        request = request.header("content-type", "application/json");
        request = request.header("content-length", text.len());
    }
    request.body(Full::new(Bytes::from(text))).unwrap()
}

/// The operation that the table has for the request.
fn operation<B>(request: &Request<B>) -> Option<&'static str> {
    let mut paths = matchit::Router::new();
    let table = routes::interface();
    let method = request.method().as_str();
    for route in table.iter().filter(|route| route.method == method) {
        paths.insert(route.path, route.operation).unwrap();
    }
    paths.at(request.uri().path()).ok().map(|found| *found.value)
}
