//! People sign in: over the real store, with everybody who should not get in.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use crypto::{Secret, SystemEntropy};
use futures_util::future::join_all;
use gate::AddressBook;
use model::{Clock, MemberId, OrgId, Role, Timestamp, Uuid};
use people::{
    Address, LIVES, Parts, People, Post, Proof, SignInError, SignInRequest, SignedIn,
    StartedSignIn, Way,
    mail::{Letter, MailError, Mailer, SignIn},
    store::{Chosen, Device, MailQueue, PeopleStore},
};
use store_postgres::{PostgresStore, testing::TestDatabase};

use crate::world::store;

const ADA: &str = "ada@example.com";

/// People, their post, and the mails that it handed on.
struct World {
    database: TestDatabase,
    store: Arc<PostgresStore>,
    people: People,
    sent: Arc<Sent>,
}

/// Takes mails, or answers as it was told to.
#[derive(Default)]
struct Sent {
    letters: Mutex<Vec<SignIn>>,
    answers: Mutex<Vec<MailError>>,
}

#[async_trait]
impl Mailer for Sent {
    async fn send(&self, letter: &Letter) -> Result<(), MailError> {
        if let Some(error) = self.answers.lock().unwrap().pop() {
            return Err(error);
        }
        let Letter::SignIn(letter) = letter else { panic!("a sign-in") };
        self.letters.lock().unwrap().push(letter.clone());
        Ok(())
    }

    async fn check(&self) -> Result<(), MailError> {
        Ok(())
    }
}

pub(crate) struct Wall;

impl Clock for Wall {
    #[expect(clippy::disallowed_methods, reason = "the database has this clock, too")]
    fn now(&self) -> Timestamp {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
        Timestamp::from_unix_millis(now.as_millis().try_into().unwrap())
    }
}

fn pepper() -> Secret<Vec<u8>> {
    Secret::new(vec![7; 32])
}

fn device() -> Device {
    Device { network: "203.0.113.0/24".to_owned(), browser: "Firefox".to_owned() }
}

fn address(text: &str) -> Address {
    Address::parse(text).unwrap()
}

/// A wrong code of the right form.
fn guess() -> Secret<String> {
    Secret::new("00000000".to_owned())
}

impl World {
    async fn new() -> Option<Self> {
        Self::at(Arc::new(Wall)).await
    }

    /// The same, of a process with this clock.
    async fn at(clock: Arc<dyn Clock>) -> Option<Self> {
        let (database, store) = store().await?;
        let entropy = Arc::new(SystemEntropy::new());
        let parts = Parts { store: store.clone(), entropy, clock, pepper: pepper() };
        let world = Self { database, store, people: People::new(parts), sent: Arc::default() };
        world.people.find_or_create_person(&address(ADA)).await.unwrap();
        Some(world)
    }

    /// A post over these people, as another instance has one.
    fn post(&self) -> Post {
        let way = Way { queue: self.store.clone(), mailer: self.sent.clone() };
        Post::new(way, Arc::new(SystemEntropy::new()), pepper(), "https://chancery.example/")
    }

    async fn ask(&self, who: &str, network: &str) -> Result<StartedSignIn, SignInError> {
        let (address, network) = (address(who), network.to_owned());
        let asking = SignInRequest { address, network, next: None, again: None, browser: None };
        let (asked, pending) = self.people.ask(asking).await?;
        self.people.store_challenge(pending).await?;
        Ok(asked)
    }

    /// Somebody asked and got the mail.
    async fn asked(&self) -> (StartedSignIn, SignIn) {
        let asked = self.ask(ADA, "198.51.100.0/24").await.unwrap();
        assert!(self.post().send_next().await.unwrap());
        (asked, self.sent.letters.lock().unwrap().last().unwrap().clone())
    }

    async fn code(
        &self,
        asked: &StartedSignIn,
        code: &Secret<String>,
    ) -> Result<SignedIn, SignInError> {
        self.people.confirm(Proof::Code(asked.challenge, code), &asked.browser, device()).await
    }

    async fn link(
        &self,
        letter: &SignIn,
        browser: &Secret<String>,
    ) -> Result<SignedIn, SignInError> {
        let (_, link) = letter.link.expose().split_once("/auth/confirm?t=").unwrap();
        self.people.confirm(Proof::Link(&Secret::new(link.to_owned())), browser, device()).await
    }

    async fn signed_in(&self) -> SignedIn {
        let (asked, letter) = self.asked().await;
        self.code(&asked, &letter.code).await.unwrap()
    }

    async fn run(&self, sql: &str) {
        self.database.owner().await.batch_execute(sql).await.unwrap();
    }

    /// Everything that the tables of people hold, as text.
    async fn stored(&self) -> String {
        let client = self.database.owner().await;
        let mut all = String::new();
        for table in ["person", "sign_in_count", "challenge", "session", "mail_job"] {
            let rows = client.query(&format!("select t::text from {table} as t"), &[]).await;
            all.extend(rows.unwrap().iter().map(|row| row.get::<_, String>(0)));
        }
        all
    }
}

fn is_unknown(outcome: &Result<SignedIn, SignInError>) -> bool {
    matches!(outcome, Err(SignInError::Unauthenticated))
}

fn is_over(outcome: &Result<SignedIn, SignInError>) -> bool {
    matches!(outcome, Err(SignInError::Expired))
}

#[tokio::test]
async fn a_code_or_a_link_opens_one_session_and_is_worth_nothing_when_replayed() {
    let Some(world) = World::new().await else { return };
    let (asked, letter) = world.asked().await;
    assert!(letter.link.expose().starts_with("https://chancery.example/auth/confirm?t=chal_"));
    let by_code = world.code(&asked, &letter.code).await.unwrap();
    assert!(is_over(&world.code(&asked, &letter.code).await));
    assert!(is_over(&world.link(&letter, &asked.browser).await));
    let (asked, letter) = world.asked().await;
    let by_link = world.link(&letter, &asked.browser).await.unwrap();
    assert_ne!(by_code.token, by_link.token);
    assert_eq!(by_code.session.user, by_link.session.user);
    let found = world.people.session(&by_link.token).await.unwrap().unwrap();
    assert_eq!(found.id, by_link.session.id);
}

#[tokio::test]
async fn a_link_in_another_browser_signs_nobody_in_and_uses_nothing_up() {
    let Some(world) = World::new().await else { return };
    let (asked, letter) = world.asked().await;
    let (other, _) = world.asked().await;
    let nothing = Secret::new(String::new());
    for browser in [&other.browser, &nothing] {
        for _ in 0..6 {
            assert!(is_unknown(&world.link(&letter, browser).await));
        }
    }
    assert!(world.link(&letter, &asked.browser).await.is_ok());
}

#[tokio::test]
async fn guessed_codes_lock_their_challenge_and_no_other() {
    let Some(world) = World::new().await else { return };
    let (first, letter) = world.asked().await;
    let (second, later) = world.asked().await;
    for _ in 0..5 {
        assert!(is_unknown(&world.code(&first, &guess()).await));
    }
    assert!(is_over(&world.code(&first, &letter.code).await));
    assert!(is_over(&world.link(&letter, &first.browser).await));
    assert!(world.code(&second, &later.code).await.is_ok());
}

#[tokio::test]
async fn guesses_at_one_moment_are_counted_each() {
    let Some(world) = World::new().await else { return };
    let (asked, _) = world.asked().await;
    let guess = guess();
    let tries = join_all((0..24).map(|_| world.code(&asked, &guess))).await;
    assert_eq!(tries.iter().filter(|outcome| is_unknown(outcome)).count(), 5);
    assert_eq!(tries.iter().filter(|outcome| is_over(outcome)).count(), 19);
}

#[tokio::test]
async fn of_many_who_show_one_code_at_once_one_is_signed_in() {
    let Some(world) = World::new().await else { return };
    let (asked, letter) = world.asked().await;
    let tries = join_all((0..5).map(|_| world.code(&asked, &letter.code))).await;
    assert_eq!(tries.iter().filter(|outcome| outcome.is_ok()).count(), 1);
    assert!(tries.iter().all(|outcome| outcome.is_ok() || is_over(outcome)));
}

#[tokio::test]
async fn an_address_that_nobody_has_is_answered_like_any_other_and_gets_no_mail() {
    let Some(world) = World::new().await else { return };
    let asked = world.ask("eve@example.com", "198.51.100.0/24").await.unwrap();
    assert!(!world.post().send_next().await.unwrap());
    for _ in 0..5 {
        assert!(is_unknown(&world.code(&asked, &guess()).await));
    }
    assert!(is_over(&world.code(&asked, &guess()).await));
    let bad = Secret::new("no challenge".to_owned());
    let outcome = world.people.confirm(Proof::Link(&bad), &asked.browser, device()).await;
    assert!(is_unknown(&outcome));
}

#[tokio::test]
async fn sign_ins_are_bounded_for_an_address_and_for_a_network() {
    let Some(world) = World::new().await else { return };
    let asked = async |who: String, network: String| world.ask(&who, &network).await.map(drop);
    for turn in 0..5 {
        // Another spelling is the same address.
        let who = if turn % 2 == 0 { "ada@example.com" } else { " ADA@Example.COM" };
        asked(who.to_owned(), format!("net {turn}")).await.unwrap();
    }
    let refused = asked(ADA.to_owned(), "net 9".to_owned()).await.unwrap_err();
    let SignInError::TooMany(left) = refused else { panic!("{refused}") };
    assert!(left > Duration::from_mins(50) && left <= Duration::from_hours(1), "{left:?}");
    for turn in 0..20 {
        asked(format!("p{turn}@example.com"), "one net".to_owned()).await.unwrap();
    }
    let refused = asked("p@example.com".to_owned(), "one net".to_owned()).await.unwrap_err();
    assert!(matches!(refused, SignInError::TooMany(_)));
}

#[tokio::test]
async fn a_bound_is_counted_anew_once_its_hour_is_over() {
    let Some(world) = World::new().await else { return };
    for _ in 0..5 {
        world.ask(ADA, "a net").await.unwrap();
    }
    assert!(world.ask(ADA, "a net").await.is_err());
    world.run("update sign_in_count set began_at = began_at - interval '61 minutes'").await;
    assert!(world.ask(ADA, "a net").await.is_ok());
}

#[tokio::test]
async fn a_challenge_ends_with_its_time_and_its_mail_with_it() {
    let Some(world) = World::new().await else { return };
    let (asked, letter) = world.asked().await;
    world.ask(ADA, "a net").await.unwrap();
    let age = "update challenge set created_at = created_at - interval '3 days', expires_at = ";
    world.run(&format!("{age} now()")).await;
    assert!(is_over(&world.code(&asked, &letter.code).await));
    assert!(!world.post().send_next().await.unwrap());
    world.run(&format!("{age} now() - interval '2 days'")).await;
    assert_eq!(world.store.sweep_out(100).await.unwrap(), 2);
    assert_eq!(world.store.sweep_out(100).await.unwrap(), 0);
}

/// A clock that is wrong by as many milliseconds as this says.
#[derive(Default)]
struct Stepped(AtomicI64);

impl Clock for Stepped {
    fn now(&self) -> Timestamp {
        Timestamp::from_unix_millis(Wall.now().unix_millis() + self.0.load(Ordering::Relaxed))
    }
}

#[tokio::test]
async fn a_clock_that_steps_signs_nobody_out_and_lengthens_nothing() {
    const YEAR: i64 = 365 * 24 * 3_600_000;
    let clock = Arc::new(Stepped::default());
    let Some(world) = World::at(clock.clone()).await else { return };
    let before = world.signed_in().await;
    for step in [YEAR, -YEAR, 3_600_000, -3_600_000] {
        clock.0.store(step, Ordering::Relaxed);
        // Who was signed in still is, and whoever asks now is let in as ever.
        let seen = world.people.session(&before.token).await.unwrap().unwrap();
        assert!(seen.is_fresh, "{step}");
        let during = world.signed_in().await;
        let (lives, wall) = (during.session.expires_at.since(Wall.now()), LIVES);
        assert!(lives <= wall && lives + Duration::from_mins(5) > wall, "{step}: {lives:?}");
        world.run("delete from sign_in_count").await;
    }
    // What is over is over, whatever the process believes.
    let (asked, letter) = world.asked().await;
    let over = "set created_at = created_at - interval '30 days', expires_at = now()";
    world.run(&format!("update challenge {over} where used_at is null")).await;
    world.run(&format!("update session {over}")).await;
    clock.0.store(-YEAR, Ordering::Relaxed);
    assert!(is_over(&world.code(&asked, &letter.code).await));
    assert!(world.people.session(&before.token).await.unwrap().is_none());
}

#[tokio::test]
async fn of_five_asked_for_at_one_moment_three_are_sent() {
    let Some(world) = World::new().await else { return };
    // One after the other, so that the connections of the first are there for all who come next.
    for turn in 0..8 {
        let who = format!("p{turn}@example.com");
        world.people.find_or_create_person(&address(&who)).await.unwrap();
        let asked = join_all((0..5).map(|_| world.ask(&who, &who))).await;
        assert!(asked.iter().all(Result::is_ok));
        while world.post().send_next().await.unwrap() {}
        assert_eq!(std::mem::take(&mut *world.sent.letters.lock().unwrap()).len(), 3, "{who}");
    }
}

#[tokio::test]
async fn that_somebody_is_in_an_org_keeps_nobody_out_where_it_cannot_be_noted() {
    let Some(world) = World::new().await else { return };
    let first = world.signed_in().await;
    let (org, user) = (OrgId::from_uuid(Uuid::from_u128(7)), first.session.user);
    let chosen = Chosen { org, member: None, role: Role::Viewer };
    let noted = world.people.choose(&first.token, chosen).await.unwrap().unwrap();
    assert_eq!(world.people.uses(org, &[user]).await.unwrap().len(), 1);
    world.run("drop table member_use").await;
    let again = world.people.choose(&noted.token, chosen).await.unwrap();
    let token = again.expect("the old token opens nothing, so the new one must be told").token;
    world.run("update session set last_seen_at = now() - interval '1 hour'").await;
    assert!(world.people.session(&token).await.unwrap().is_some());
}

#[tokio::test]
async fn a_session_of_no_org_enters_one_under_its_token_and_no_second_one() {
    let Some(world) = World::new().await else { return };
    let first = world.signed_in().await;
    let joined = |number: u128| Chosen {
        org: OrgId::from_uuid(Uuid::from_u128(number)),
        member: Some(MemberId::from_uuid(Uuid::from_u128(number))),
        role: Role::Admin,
    };
    // Two invitations that are accepted at one moment.
    let both = join_all([7, 8].map(|number| world.people.enter(&first.token, joined(number))));
    let entered: Vec<_> = both.await.into_iter().filter_map(Result::unwrap).collect();
    assert_eq!(entered.len(), 1, "{entered:?}");
    let session = world.people.session(&first.token).await.unwrap().unwrap();
    assert_eq!((session.id, session.chosen), (first.session.id, entered[0].chosen));
    assert_eq!(world.people.enter(&first.token, joined(9)).await.unwrap(), None);
    let none = world.people.enter(&Secret::new("no token".to_owned()), joined(9)).await;
    assert_eq!(none.unwrap(), None);
}

#[tokio::test]
async fn a_session_is_made_fresh_and_chooses_its_org_under_a_new_token_each() {
    let Some(world) = World::new().await else { return };
    let first = world.signed_in().await;
    assert!(first.session.is_fresh && first.session.chosen.is_none());
    let (org, member) = (OrgId::from_uuid(Uuid::from_u128(7)), MemberId::from_uuid(Uuid::max()));
    let chosen = Chosen { org, member: Some(member), role: Role::Owner };
    let second = world.people.choose(&first.token, chosen).await.unwrap().unwrap();
    assert!(world.people.choose(&first.token, chosen).await.unwrap().is_none(), "it has another");
    assert_eq!(second.session.chosen, Some(chosen));
    assert!(world.people.session(&first.token).await.unwrap().is_none());
    world.run("update session set authenticated_at = now() - interval '15 minutes'").await;
    let stale = world.people.session(&second.token).await.unwrap().unwrap();
    assert!(!stale.is_fresh);
    let again = SignInRequest {
        address: world.people.address(stale.user).await.unwrap().unwrap(),
        network: "a net".to_owned(),
        next: Some("/app".to_owned()),
        again: Some(stale.id),
        browser: None,
    };
    let (asked, pending) = world.people.ask(again).await.unwrap();
    world.people.store_challenge(pending).await.unwrap();
    assert!(world.post().send_next().await.unwrap());
    let code = world.sent.letters.lock().unwrap().last().unwrap().code.clone();
    let third = world.code(&asked, &code).await.unwrap();
    assert_eq!((third.session.id, third.next.as_deref()), (stale.id, Some("/app")));
    assert!(third.session.is_fresh);
    assert_eq!(third.session.chosen, Some(chosen));
    assert!(world.people.session(&second.token).await.unwrap().is_none());
    assert!(world.people.session(&third.token).await.unwrap().is_some());
}

#[tokio::test]
async fn several_instances_send_a_mail_once() {
    let Some(world) = World::new().await else { return };
    for turn in 0..5 {
        let who = format!("ada{turn}@example.com");
        world.people.find_or_create_person(&address(&who)).await.unwrap();
        world.ask(&who, &format!("net {turn}")).await.unwrap();
    }
    let posts: Vec<_> = (0..6).map(|_| world.post()).collect();
    for _ in 0..3 {
        join_all(posts.iter().map(Post::send_next)).await;
    }
    let letters = world.sent.letters.lock().unwrap();
    let jobs: std::collections::BTreeSet<_> = letters.iter().map(|letter| letter.job).collect();
    assert_eq!((letters.len(), jobs.len()), (5, 5));
}

#[tokio::test]
async fn a_mail_is_left_to_its_holder_until_the_lease_ends_and_then_is_no_longer_theirs() {
    let Some(world) = World::new().await else { return };
    world.ask(ADA, "a net").await.unwrap();
    let lease = Duration::from_secs(30);
    let claim = |who| world.store.claim(Uuid::from_u128(who), 8, lease);
    let first = claim(1).await.unwrap();
    assert_eq!(first.len(), 1);
    assert!(claim(2).await.unwrap().is_empty());
    world.run("update mail_job set lease_until = now() - interval '1 second'").await;
    let second = claim(2).await.unwrap();
    assert_eq!((second[0].id, second[0].attempt), (first[0].id, 2));
    assert!(!world.store.finish(&first[0]).await.unwrap());
    assert!(!world.store.put_off(&first[0], lease).await.unwrap());
    assert!(world.store.finish(&second[0]).await.unwrap());
    assert!(claim(3).await.unwrap().is_empty());
}

#[tokio::test]
async fn a_mail_that_was_not_taken_is_tried_again_and_one_that_was_refused_is_not() {
    let Some(world) = World::new().await else { return };
    world.ask(ADA, "a net").await.unwrap();
    let say = |error| world.sent.answers.lock().unwrap().push(error);
    say(MailError::TryAgain("busy".to_owned()));
    let post = world.post();
    assert!(post.send_next().await.unwrap());
    // It has to wait first.
    assert!(!post.send_next().await.unwrap());
    world.run("update mail_job set run_at = now()").await;
    assert!(post.send_next().await.unwrap());
    assert_eq!(world.sent.letters.lock().unwrap().len(), 1);
    world.ask(ADA, "a net").await.unwrap();
    say(MailError::Refused("no such mailbox".to_owned()));
    assert!(post.send_next().await.unwrap());
    world.run("update mail_job set run_at = now()").await;
    assert!(!post.send_next().await.unwrap());
}

#[tokio::test]
async fn no_link_code_or_token_is_in_the_database() {
    let Some(world) = World::new().await else { return };
    let (asked, letter) = world.asked().await;
    let signed_in = world.code(&asked, &letter.code).await.unwrap();
    let hex = |text: &str| format!("{:x?}", text.as_bytes()).replace([',', ' ', '[', ']'], "");
    let stored = world.stored().await;
    assert!(stored.contains(ADA), "the rows are looked at");
    let (_, token) = letter.link.expose().rsplit_once('.').unwrap();
    let code = letter.code.expose().replace('-', "");
    for secret in [token, &code, asked.browser.expose(), signed_in.token.expose()] {
        assert!(!stored.contains(secret) && !stored.contains(&hex(secret)));
    }
    let shown = format!("{asked:?} {letter:?} {signed_in:?}");
    assert!(!shown.contains(token) && !shown.contains(signed_in.token.expose()));
}

#[tokio::test]
async fn a_session_ends_by_its_person_unused_or_old() {
    let Some(world) = World::new().await else { return };
    let mut sessions = Vec::new();
    for _ in 0..4 {
        sessions.push(world.signed_in().await);
    }
    let user = sessions[0].session.user;
    let live = async |of: &SignedIn| world.people.session(&of.token).await.unwrap().is_some();
    let stranger = world.people.find_or_create_person(&address("eve@example.com")).await.unwrap();
    assert!(!world.people.end(stranger, sessions[0].session.id).await.unwrap());
    assert!(world.people.end(user, sessions[0].session.id).await.unwrap());
    assert!(!world.people.end(user, sessions[0].session.id).await.unwrap());
    assert!(!live(&sessions[0]).await && live(&sessions[1]).await);
    let listed = world.people.sessions(user, None, 2).await.unwrap();
    let ids: Vec<_> = listed.iter().map(|session| session.id).collect();
    assert_eq!(ids, [sessions[3].session.id, sessions[2].session.id]);
    let rest = world.people.sessions(user, Some(ids[1]), 2).await.unwrap();
    assert_eq!(rest.len(), 1);
    assert_eq!(world.people.end_others(user, ids[0]).await.unwrap(), 2);
    assert!(live(&sessions[3]).await && !live(&sessions[2]).await);
    world.run("update session set last_seen_at = now() - interval '11 hours 59 minutes'").await;
    assert!(live(&sessions[3]).await);
    // That was a use, so it is not idle now.
    let seen = world.people.session(&sessions[3].token).await.unwrap().unwrap().last_seen_at;
    assert!(Wall.now().since(seen) < Duration::from_hours(1));
    world.run("update session set last_seen_at = now() - interval '12 hours'").await;
    assert!(!live(&sessions[3]).await);
    let old = "created_at = created_at - interval '7 days', expires_at = now()";
    world.run(&format!("update session set last_seen_at = now(), {old}")).await;
    assert!(!live(&sessions[3]).await);
}

#[tokio::test]
async fn the_token_of_a_page_is_that_of_its_session_alone() {
    let Some(world) = World::new().await else { return };
    let (one, other) = (world.signed_in().await, world.signed_in().await);
    let csrf = world.people.csrf(&one.token);
    assert!(world.people.is_csrf(csrf.expose(), &one.token));
    assert!(!world.people.is_csrf(csrf.expose(), &other.token));
    assert!(!world.people.is_csrf("", &one.token));
}

#[tokio::test]
async fn spellings_of_one_address_are_one_person() {
    let Some(world) = World::new().await else { return };
    let ada = world.store.person(&address(ADA)).await.unwrap().unwrap();
    let typed = ["ADA@example.com", "x@bücher.de", "X@BÜCHER.de"].map(address);
    let met = join_all(typed.iter().map(|typed| world.people.find_or_create_person(typed))).await;
    let met: Vec<_> = met.into_iter().map(Result::unwrap).collect();
    assert_eq!(met[0], ada);
    assert_eq!(met[1], met[2]);
}

#[tokio::test]
async fn people_are_found_by_their_addresses_and_addresses_by_their_people() {
    let Some(world) = World::new().await else { return };
    let ada = world.store.person(&address(ADA)).await.unwrap().unwrap();
    let eve = world.people.find_or_create_person(&address("eve@example.com")).await.unwrap();
    let asked = ["nobody@example.com", ADA, "x", "eve@example.com", ADA].map(str::to_owned);
    let mut found = world.store.people_of(&asked).await.unwrap();
    found.sort_unstable();
    let mut both = [ada, eve];
    both.sort_unstable();
    assert_eq!(found, both);
    assert_eq!(world.store.people_of(&[]).await.unwrap(), []);
    let known = AddressBook::addresses(&*world.store, &[ada]).await.unwrap();
    assert_eq!(known, BTreeMap::from([(ada, ADA.to_owned())]));
}
