//! The whole way of a mail: asked for, kept as a job, written, put into the outbox, and used.

use std::{
    fs,
    sync::{Arc, Mutex},
    time::Duration,
};

use async_trait::async_trait;
use crypto::{Secret, SystemEntropy};
use ledger::record::{Invite, InviteMail};
use mail::{Outbox, Sender};
use model::{Clock as _, InviteId, MailJobId, Role};
use people::{
    Address, Parts, People, Post, Proof, SignInRequest, Way,
    mail::{Letter, MailError, Mailer},
    store::Device,
};
use testkit::Scribe;

use crate::{people::Wall, world::store};

#[tokio::test(flavor = "multi_thread")]
async fn what_lies_in_the_outbox_signs_in_and_the_job_is_gone() {
    let Some((_database, store)) = store().await else { return };
    let pepper = || Secret::new(vec![7; 32]);
    let entropy = Arc::new(SystemEntropy::new());
    let people = People::new(Parts {
        store: store.clone(),
        entropy: entropy.clone(),
        clock: Arc::new(Wall),
        pepper: pepper(),
    });
    let address = Address::parse("ada@example.com").unwrap();
    people.find_or_create_person(&address).await.unwrap();
    let folder = std::env::temp_dir().join(format!("chancery-whole-way-{}", std::process::id()));
    let from = Address::parse("chancery@localhost").unwrap();
    let sender = Sender::new(&from, "chancery.example", Arc::new(Wall)).unwrap();
    let mailer = Arc::new(Outbox::open(&folder, sender).unwrap());
    let way = Way { queue: store.clone(), mailer };
    let post = Post::new(way, entropy, pepper(), "https://chancery.example");

    let network = "198.51.100.0/24".to_owned();
    let asking = SignInRequest { address, network, next: None, again: None, browser: None };
    let (asked, pending) = people.ask(asking).await.unwrap();
    people.store_challenge(pending).await.unwrap();
    assert!(post.send_next().await.unwrap());
    assert!(!post.send_next().await.unwrap());

    let files: Vec<_> = fs::read_dir(&folder).unwrap().map(|it| it.unwrap().path()).collect();
    let [file] = files.as_slice() else { panic!("{files:?}") };
    let text = fs::read_to_string(file).unwrap();
    fs::remove_dir_all(&folder).unwrap();
    assert!(text.contains("To: ada@example.com\r\n"), "{text}");
    let link = text.lines().find(|line| line.starts_with("https://chancery.example/auth/confirm"));
    let (_, token) = link.unwrap().trim_end().split_once("?t=").unwrap();
    let device = Device { network: "203.0.113.0/24".to_owned(), browser: "curl".to_owned() };
    let token = Secret::new(token.to_owned());
    people.confirm(Proof::Link(&token), &asked.browser, device).await.unwrap();
}

/// Keeps what it was given.
#[derive(Default)]
struct Kept(Mutex<Vec<Letter>>);

#[async_trait]
impl Mailer for Kept {
    async fn send(&self, letter: &Letter) -> Result<(), MailError> {
        self.0.lock().unwrap().push(letter.clone());
        Ok(())
    }

    async fn check(&self) -> Result<(), MailError> {
        Ok(())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invitation_is_sent_once_and_not_when_it_was_closed() {
    let Some((_database, store)) = store().await else { return };
    let pepper = || Secret::new(vec![7; 32]);
    let entropy = Arc::new(SystemEntropy::new());
    let people = People::new(Parts {
        store: store.clone(),
        entropy: entropy.clone(),
        clock: Arc::new(Wall),
        pepper: pepper(),
    });
    let mut scribe = Scribe::created(1, &*store).await;
    let mut invites = Vec::new();
    for address in ["ada@example.com", "eve@example.com"] {
        let invite = Invite {
            id: scribe.mint().id(InviteId::from_uuid),
            org: scribe.org,
            user: people.find_or_create_person(&Address::parse(address).unwrap()).await.unwrap(),
            role: Role::Admin,
            can_approve: false,
            invited_by: "operator".to_owned(),
            created_at: scribe.now,
            expires_at: Wall.now() + Duration::from_hours(1),
            closed_at: None,
            member: None,
        };
        let job = scribe.mint().id(MailJobId::from_uuid);
        let mail = InviteMail { job, invite: invite.id, run_at: scribe.now };
        // The same mail asked for twice waits once.
        let job = scribe.mint().id(MailJobId::from_uuid);
        let again = InviteMail { job, ..mail };
        scribe
            .append(&*store, vec![invite.clone().into(), mail.into(), again.into()])
            .await
            .unwrap();
        invites.push(invite);
    }
    let revoked = Invite { closed_at: Some(scribe.now), ..invites[1].clone() };
    scribe.append(&*store, vec![revoked.into()]).await.unwrap();
    let kept = Arc::new(Kept::default());
    let post = || {
        let way = Way { queue: store.clone(), mailer: kept.clone() };
        Post::new(way, entropy.clone(), pepper(), "https://chancery.example/")
    };
    let (one, other) = (post(), post());
    for _ in 0..4 {
        let (one, other) = tokio::join!(one.send_next(), other.send_next());
        one.unwrap();
        other.unwrap();
    }
    let sent = kept.0.lock().unwrap();
    let [Letter::Invitation(letter)] = &sent[..] else { panic!("{sent:?}") };
    assert_eq!(letter.to.as_str(), "ada@example.com");
    assert_eq!((&letter.org_name, letter.role), (&scribe.org_row().name, Role::Admin));
    let token = letter.link.expose().split_once("/login?invite=").unwrap().1.to_owned();
    assert_eq!(people.invited(&Secret::new(token)), Some((scribe.org, invites[0].id)));
}
