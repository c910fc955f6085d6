//! The mails about a webhook endpoint that failed for too long: derived from the turn that disables it, one to
//! each owner of the org.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use async_trait::async_trait;
use crypto::{Secret, SystemEntropy};
use ledger::record::{ApprovalMail, Member, OrgWebhooks, Webhook, WebhookDisabled, WebhookMail};
use model::{Clock as _, MailJobId, MemberId, Role, WebhookId};
use people::{
    Address, Parts, People, Post, Way,
    mail::{Letter, MailError, Mailer, WebhookDisabled as Told},
    store::{Carries, MailJob, MailQueue as _},
};
use store_postgres::{PostgresStore, testing::TestDatabase};
use testkit::Scribe;
use uuid::Uuid;

use crate::{people::Wall, world::store};

const LEASE: Duration = Duration::from_secs(30);
const ADA: &str = "ada@example.com";
const BOB: &str = "bob@example.com";

/// Keeps what it was given.
#[derive(Default)]
struct Kept(Mutex<Vec<Told>>);

#[async_trait]
impl Mailer for Kept {
    async fn send(&self, letter: &Letter) -> Result<(), MailError> {
        let Letter::WebhookDisabled(letter) = letter else { panic!("{letter:?}") };
        self.0.lock().unwrap().push(letter.clone());
        Ok(())
    }

    async fn check(&self) -> Result<(), MailError> {
        Ok(())
    }
}

/// An org with two owners and others, and an endpoint that was disabled because it failed.
struct World {
    database: TestDatabase,
    store: Arc<PostgresStore>,
    scribe: Scribe,
    webhook: Webhook,
    owners: Vec<Member>,
    kept: Arc<Kept>,
}

impl World {
    async fn new(seed: u64) -> Option<Self> {
        let (database, store) = store().await?;
        let people = People::new(Parts {
            store: store.clone(),
            entropy: Arc::new(SystemEntropy::new()),
            clock: Arc::new(Wall),
            pepper: Secret::new(vec![7; 32]),
        });
        let mut scribe = Scribe::created(seed, &*store).await;
        let mut members = Vec::new();
        for (address, role, has_left) in [
            (ADA, Role::Owner, false),
            (BOB, Role::Owner, false),
            ("cyd@example.com", Role::Admin, false),
            ("dan@example.com", Role::Owner, true),
        ] {
            let address = Address::parse(address).unwrap();
            members.push(Member {
                id: scribe.mint().id(MemberId::from_uuid),
                org: scribe.org,
                user: people.find_or_create_person(&address).await.unwrap(),
                role,
                can_approve: false,
                joined_at: scribe.now,
                role_since: scribe.now,
                removed_at: has_left.then_some(scribe.now),
                revision: 1,
            });
        }
        let webhook = Webhook {
            id: scribe.mint().id(WebhookId::from_uuid),
            org: scribe.org,
            url: "https://hooks.example.com:8443/in/C4NARY?key=C4NARY".to_owned(),
            url_since: None,
            description: "C4NARY".to_owned(),
            types: Vec::new(),
            agent: None,
            api_version: "2026-10-01".to_owned(),
            disabled: None,
            secret: "C4NARY".to_owned(),
            previous_secret: None,
            revision: 1,
            created_at: scribe.now,
            deleted_at: None,
        };
        let made = OrgWebhooks { org: scribe.org, endpoints: vec![webhook.clone()] };
        let mut rows: Vec<ledger::Changes> = members.iter().cloned().map(Into::into).collect();
        rows.push(made.into());
        scribe.append(&*store, rows).await.unwrap();
        members.truncate(2);
        let kept = Arc::default();
        let mut world = Self { database, store, scribe, webhook, owners: members, kept };
        world.disable().await;
        Some(world)
    }

    /// Disables the endpoint as the service does, at another moment than before.
    async fn disable(&mut self) {
        let now = self.scribe.now + Duration::from_millis(1);
        self.scribe.now = now;
        self.webhook.disabled = Some(WebhookDisabled { at: now, is_failed: true });
        let mail = WebhookMail {
            job: self.scribe.mint().id(MailJobId::from_uuid),
            webhook: self.webhook.id,
            disabled_at: now,
            expires_at: Wall.now() + Duration::from_hours(1),
        };
        let row = OrgWebhooks { org: self.scribe.org, endpoints: vec![self.webhook.clone()] };
        self.scribe.append(&*self.store, vec![row.into(), mail.into()]).await.unwrap();
    }

    async fn change(&mut self, change: impl FnOnce(&mut Webhook)) {
        change(&mut self.webhook);
        let row = OrgWebhooks { org: self.scribe.org, endpoints: vec![self.webhook.clone()] };
        self.scribe.append(&*self.store, vec![row.into()]).await.unwrap();
    }

    fn post(&self) -> Post {
        let way = Way { queue: self.store.clone(), mailer: self.kept.clone() };
        let pepper = Secret::new(vec![7; 32]);
        Post::new(way, Arc::new(SystemEntropy::new()), pepper, "https://chancery.example/")
    }

    /// Sends what is to be sent, and says to whom that was.
    async fn sent(&self) -> Vec<String> {
        while self.post().send_next().await.unwrap() {}
        let letters = std::mem::take(&mut *self.kept.0.lock().unwrap());
        let mut to: Vec<_> = letters.iter().map(|it| it.to.as_str().to_owned()).collect();
        to.sort();
        to
    }

    async fn claim(&self, holder: u128) -> Vec<MailJob> {
        self.store.claim(Uuid::from_u128(holder), 2, LEASE).await.unwrap()
    }

    /// Lets the mails wait for each owner, and whoever held them be dead.
    async fn address(&self) {
        assert_eq!(self.claim(1).await.len(), 2);
        self.run("update webhook_mail set lease_until = now() - interval '1 second'").await;
    }

    async fn run(&self, sql: &str) {
        self.database.owner().await.batch_execute(sql).await.unwrap();
    }

    async fn waiting(&self) -> i64 {
        let owner = self.database.owner().await;
        owner.query_one("select count(*) from webhook_mail", &[]).await.unwrap().get(0)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_owner_gets_one_mail_about_a_failed_endpoint_and_none_of_its_secrets() {
    let Some(world) = World::new(1).await else { return };
    world.run("update webhook_lane set failing_since = '2026-01-02 03:04:05Z'").await;
    let (one, other) = (world.post(), world.post());
    for _ in 0..8 {
        let (one, other) = tokio::join!(one.send_next(), other.send_next());
        one.unwrap();
        other.unwrap();
    }
    let letters = world.kept.0.lock().unwrap().clone();
    let mut to: Vec<_> = letters.iter().map(|letter| letter.to.as_str()).collect();
    to.sort_unstable();
    assert_eq!(to, [ADA, BOB]);
    assert_ne!(letters[0].job, letters[1].job);
    for letter in &letters {
        assert!(!format!("{letter:?}").contains("C4NARY"), "{letter:?}");
        assert_eq!(letter.origin, "https://hooks.example.com:8443");
        assert_eq!(letter.org_name, world.scribe.org_row().name);
        assert_eq!(letter.failing_since, Some("2026-01-02T03:04:05.000Z".parse().unwrap()));
        assert_eq!(letter.disabled_at, world.webhook.disabled.unwrap().at);
        let page = format!("https://chancery.example/app/webhooks/{}", world.webhook.id);
        assert_eq!(letter.link, page);
    }
    assert_eq!(world.waiting().await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mail_about_an_endpoint_is_its_holders_until_the_lease_ends_and_is_retried_as_the_same() {
    let Some(world) = World::new(2).await else { return };
    let held = world.claim(1).await;
    assert_eq!((held.len(), world.claim(2).await.len()), (2, 0));
    world.run("update webhook_mail set lease_until = now() - interval '1 second'").await;
    let again = world.claim(2).await;
    let ids =
        |jobs: &[MailJob]| jobs.iter().map(|job| job.id).collect::<std::collections::BTreeSet<_>>();
    assert_eq!(ids(&held), ids(&again));
    assert!(again.iter().all(|job| job.attempt == 2));
    // Whoever lost a claim ends nothing.
    assert!(!world.store.finish(&held[0]).await.unwrap());
    assert!(!world.store.put_off(&held[1], Duration::ZERO).await.unwrap());
    assert!(world.store.finish(&again[0]).await.unwrap());
    assert!(world.store.put_off(&again[1], LEASE).await.unwrap());
    assert_eq!((world.waiting().await, world.claim(3).await.len()), (1, 0));
    world.run("update webhook_mail set run_at = now()").await;
    assert_eq!(world.claim(3).await.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_died_while_the_owners_were_looked_up_is_followed_by_another() {
    let Some(world) = World::new(3).await else { return };
    let sql = "update webhook_mail set holder = gen_random_uuid(), token = 1, attempt = 1, lease_until = now()";
    world.run(&format!("{sql} + interval '30 seconds'")).await;
    assert_eq!(world.claim(2).await.len(), 0);
    world.run(&format!("{sql} - interval '1 second'")).await;
    assert_eq!(world.sent().await, [ADA, BOB]);
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_who_is_no_owner_any_more_is_written_to_about_an_endpoint() {
    let Some(mut world) = World::new(4).await else { return };
    world.address().await;
    let left = Member { removed_at: Some(world.scribe.now), ..world.owners[0].clone() };
    world.scribe.append(&*world.store, vec![left.into()]).await.unwrap();
    assert_eq!(world.sent().await, [BOB]);
    world.disable().await;
    let lesser = Member { role: Role::Admin, revision: 2, ..world.owners[1].clone() };
    world.scribe.append(&*world.store, vec![lesser.into()]).await.unwrap();
    assert_eq!(world.sent().await, [] as [String; 0]);
    assert_eq!(world.waiting().await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_is_written_to_about_an_endpoint_that_is_enabled_again_or_deleted() {
    let Some(mut world) = World::new(5).await else { return };
    world.address().await;
    world.change(|webhook| webhook.disabled = None).await;
    assert_eq!((world.sent().await.len(), world.waiting().await), (0, 0));

    // Of two times at which it failed the last one counts.
    world.disable().await;
    world.address().await;
    world.change(|webhook| webhook.disabled = None).await;
    world.disable().await;
    assert_eq!(world.sent().await, [ADA, BOB]);

    world.disable().await;
    world.change(|webhook| webhook.disabled.as_mut().unwrap().is_failed = false).await;
    assert_eq!((world.sent().await.len(), world.waiting().await), (0, 0));

    world.disable().await;
    let now = world.scribe.now;
    world.change(|webhook| webhook.deleted_at = Some(now)).await;
    assert_eq!((world.sent().await.len(), world.waiting().await), (0, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mail_about_an_endpoint_that_came_too_late_is_gone_whether_or_not_anybody_sends_mails() {
    let Some(mut world) = World::new(6).await else { return };
    world.address().await;
    world.run("update webhook_mail set expires_at = now()").await;
    assert_eq!((world.sent().await.len(), world.waiting().await), (0, 0));
    world.disable().await;
    world.run("update webhook_mail set expires_at = now() - interval '25 hours'").await;
    assert_eq!(world.store.sweep_out(10).await.unwrap(), 1);
    assert_eq!(world.waiting().await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn mails_about_endpoints_and_about_questions_take_turns() {
    let Some(mut world) = World::new(7).await else { return };
    let agent = world.scribe.agent("night-billing");
    let (org, now) = (world.scribe.org, world.scribe.now);
    let mint = world.scribe.mint();
    let (request, _) = testkit::sample::request(&serde_json::json!({}), &mint);
    let action = testkit::sample::action(&agent, request, &mint);
    let until = Wall.now() + Duration::from_mins(30);
    let action = testkit::sample::waiting(&action, until, &mint);
    let approval = action.approval.as_ref().unwrap().id;
    let (job, id) = (mint.id(MailJobId::from_uuid), action.id);
    let mail = ApprovalMail { job, action: id, approval, run_at: now, expires_at: until };
    let to: Vec<_> = world.owners.iter().map(|it| (mint.id(MailJobId::from_uuid), it.id)).collect();
    let mut rows: Vec<ledger::Changes> = vec![agent.into(), mail.into()];
    rows.push(testkit::sample::begun(action, Vec::new()));
    let may = |owner: &Member| Member { can_approve: true, ..owner.clone() };
    rows.extend(world.owners.iter().map(may).map(Into::into));
    world.scribe.append(&*world.store, rows).await.unwrap();
    let holder = Uuid::from_u128(1);
    let question = world.store.claim_unaddressed(holder, LEASE).await.unwrap().unwrap();
    assert_eq!((question.org, question.approval), (org, approval));
    assert!(world.store.address(&question, &to).await.unwrap());
    let mut of_endpoints = Vec::new();
    for _ in 0..4 {
        let jobs = world.store.claim(holder, 1, LEASE).await.unwrap();
        let [job] = &jobs[..] else { panic!("{jobs:?}") };
        of_endpoints.push(matches!(job.carries, Carries::WebhookDisabled { .. }));
    }
    assert!(of_endpoints.windows(2).all(|two| two[0] != two[1]), "{of_endpoints:?}");
}
