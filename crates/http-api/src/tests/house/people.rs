//! The people of a house, their mails and their browsers.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicU32, Ordering},
};

use admin::{MemberStore as _, NewInvite};
use async_trait::async_trait;
use crypto::Secret;
use ledger::record::{Invite, Member};
use model::{InviteId, MemberId, OrgId, Role, UserId, Uuid};
use people::{
    Address, Parts, People, Post, Proof, SignInRequest, SignedIn, StartedSignIn, Way,
    mail::{Letter, MailError, Mailer, SignIn},
    store::{Chosen, Device},
};
use testkit::{Fixture, START};

use super::House;

/// Where the people of a house sign in, and what was written to them.
pub(in crate::tests) struct Town {
    pub(in crate::tests) people: Arc<People>,
    pub(in crate::tests) sent: Arc<Sent>,
    post: Post,
    // Of one network, few may sign in.
    networks: AtomicU32,
}

/// The letters that went out.
#[derive(Default)]
pub(in crate::tests) struct Sent(Mutex<Vec<SignIn>>);

#[async_trait]
impl Mailer for Sent {
    async fn send(&self, letter: &Letter) -> Result<(), MailError> {
        let Letter::SignIn(letter) = letter else { panic!("a sign-in") };
        self.0.lock().unwrap().push(letter.clone());
        Ok(())
    }

    async fn check(&self) -> Result<(), MailError> {
        Ok(())
    }
}

impl Sent {
    pub(in crate::tests) fn count(&self) -> usize {
        self.0.lock().unwrap().len()
    }

    pub(in crate::tests) fn last(&self) -> SignIn {
        self.0.lock().unwrap().last().unwrap().clone()
    }
}

/// A browser that is signed in.
#[derive(Debug, Clone)]
pub(in crate::tests) struct Browser {
    pub(in crate::tests) user: UserId,
    pub(in crate::tests) session: model::SessionId,
    /// What stands for it as the key of a request.
    pub(in crate::tests) key: String,
}

impl Town {
    pub(super) fn of(fixture: &Fixture) -> Self {
        let (store, pepper) = (fixture.people.clone(), vec![8; 32]);
        let parts = Parts {
            store: store.clone(),
            entropy: fixture.dice.clone(),
            clock: fixture.clock.clone(),
            pepper: Secret::new(pepper.clone()),
        };
        let sent = Arc::new(Sent::default());
        let way = Way { queue: store, mailer: sent.clone() };
        let post = Post::new(way, fixture.dice.clone(), Secret::new(pepper), "http://test");
        Self { people: Arc::new(People::new(parts)), sent, post, networks: AtomicU32::default() }
    }

    /// Sends every mail that waits.
    pub(in crate::tests) async fn deliver(&self) {
        // What stands behind an answer is done first.
        for _ in 0..8 {
            tokio::task::yield_now().await;
        }
        while self.post.send_next().await.unwrap() {}
    }

    /// Signs somebody in who has asked nothing of the interface.
    async fn sign_in(&self, address: &Address) -> SignedIn {
        let number = self.networks.fetch_add(1, Ordering::Relaxed);
        let (address, network) = (address.clone(), format!("a test's {number}"));
        let asking = SignInRequest { address, network, next: None, again: None, browser: None };
        let (StartedSignIn { challenge, browser, .. }, pending) =
            self.people.ask(asking).await.unwrap();
        self.people.store_challenge(pending).await.unwrap();
        self.deliver().await;
        let code = self.sent.last().code;
        let device = Device { network: "192.0.2.0/24".to_owned(), browser: "Firefox".to_owned() };
        self.people.confirm(Proof::Code(challenge, &code), &browser, device).await.unwrap()
    }
}

/// The key that `request` turns into a session's cookie and what its pages show with a change.
pub(in crate::tests) fn browser_key(token: &str, csrf: &str) -> String {
    format!("session:{token}:{csrf}")
}

impl House {
    /// A person of this address, with this role in the house's org.
    pub(in crate::tests) async fn member(&self, email: &str, role: Role) -> (UserId, Member) {
        self.member_of(self.org, email, role).await
    }

    pub(in crate::tests) async fn member_of(
        &self,
        org: OrgId,
        email: &str,
        role: Role,
    ) -> (UserId, Member) {
        let user =
            self.town.people.find_or_create_person(&Address::parse(email).unwrap()).await.unwrap();
        let id = MemberId::from_uuid(Uuid::from_u128(user.as_uuid().as_u128() ^ role as u128));
        let member = Member {
            id,
            org,
            user,
            role,
            can_approve: false,
            joined_at: START,
            role_since: START,
            removed_at: None,
            revision: 1,
        };
        self.fixture.write(org, member.clone()).await;
        (user, member)
    }

    /// A browser in which somebody with this role in the house's org is signed in.
    pub(in crate::tests) async fn browser(&self, email: &str, role: Role) -> Browser {
        self.member(email, role).await;
        self.browser_in(self.org, email, role).await
    }

    pub(in crate::tests) async fn browser_in(
        &self,
        org: OrgId,
        email: &str,
        role: Role,
    ) -> Browser {
        let opened = self.town.sign_in(&Address::parse(email).unwrap()).await;
        let member = self.store.member_of(org, opened.session.user).await.unwrap();
        let chosen = Chosen { org, member: member.map(|member| member.id), role };
        let chosen = self.town.people.choose(&opened.token, chosen).await.unwrap().unwrap();
        self.browser_of(&chosen)
    }

    /// A browser in which somebody is signed in who has chosen no org.
    pub(in crate::tests) async fn browser_of_no_org(&self, email: &str) -> Browser {
        let address = Address::parse(email).unwrap();
        self.town.people.find_or_create_person(&address).await.unwrap();
        let opened = self.town.sign_in(&address).await;
        self.browser_of(&opened)
    }

    /// An invitation to an org that nobody has answered.
    pub(in crate::tests) async fn invite_to(&self, org: OrgId, email: &str, role: Role) -> Invite {
        let user =
            self.town.people.find_or_create_person(&Address::parse(email).unwrap()).await.unwrap();
        let new = NewInvite { user, role, can_approve: false };
        self.deployment().org(org).invite(new).await.unwrap().object
    }

    /// What stands in the link of an invitation.
    pub(in crate::tests) fn link_of(&self, invite: InviteId) -> String {
        self.town.people.invitation(self.org, invite).expose().clone()
    }

    /// Writes a row as it is given.
    pub(in crate::tests) async fn write(&self, row: Member) {
        self.fixture.write(row.org, row).await;
    }

    fn browser_of(&self, signed_in: &SignedIn) -> Browser {
        let csrf = self.town.people.csrf(&signed_in.token);
        let key = browser_key(signed_in.token.expose(), csrf.expose());
        Browser { user: signed_in.session.user, session: signed_in.session.id, key }
    }
}
