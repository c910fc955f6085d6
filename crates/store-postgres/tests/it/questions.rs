//! The mails to those who may answer what an action asks: derived from the turn that asks, one to each,
//! with a link that is stored nowhere.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use async_trait::async_trait;
use crypto::{Secret, SystemEntropy};
use ledger::{
    StoreDown,
    record::{Action, ApprovalMail, Member},
};
use model::{ApprovalId, Clock as _, MailJobId, MemberId, OrgId, Role};
use people::{
    Address, Deciders, LinkedTo, Parts, People, Post, Questions, Way,
    mail::{Letter, MailError, Mailer},
    store::MailQueue as _,
};
use testkit::Scribe;

use crate::{people::Wall, world::store};

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

/// A waiting action of an org with three people who may answer, and the mails of its question.
struct Asked {
    database: store_postgres::testing::TestDatabase,
    store: Arc<store_postgres::PostgresStore>,
    people: People,
    scribe: Scribe,
    action: Action,
    members: Vec<Member>,
}

/// Says that these may answer, whatever is asked.
struct All(Vec<MemberId>);

#[async_trait]
impl Deciders for All {
    async fn deciders(
        &self,
        _: OrgId,
        _: ApprovalId,
        most: usize,
    ) -> Result<Vec<MemberId>, StoreDown> {
        Ok(self.0.iter().copied().take(most).collect())
    }
}

fn pepper() -> Secret<Vec<u8>> {
    Secret::new(vec![7; 32])
}

impl Asked {
    async fn new(seed: u64) -> Option<Self> {
        let (database, store) = store().await?;
        let people = People::new(Parts {
            store: store.clone(),
            entropy: Arc::new(SystemEntropy::new()),
            clock: Arc::new(Wall),
            pepper: pepper(),
        });
        let mut scribe = Scribe::created(seed, &*store).await;
        let mut members = Vec::new();
        for name in ["ada", "bob", "cyd"] {
            let address = Address::parse(&format!("{name}@example.com")).unwrap();
            members.push(Member {
                id: scribe.mint().id(MemberId::from_uuid),
                org: scribe.org,
                user: people.find_or_create_person(&address).await.unwrap(),
                role: Role::Admin,
                can_approve: true,
                joined_at: scribe.now,
                role_since: scribe.now,
                removed_at: None,
                revision: 1,
            });
        }
        let agent = scribe.agent("night-billing");
        let mint = scribe.mint();
        let args = serde_json::json!({ "note": "C4NARY" });
        let (request, _) = testkit::sample::request(&args, &mint);
        let action = testkit::sample::action(&agent, request, &mint);
        let until = Wall.now() + Duration::from_mins(30);
        let action = testkit::sample::waiting(&action, until, &mint);
        let mail = ApprovalMail {
            job: mint.id(MailJobId::from_uuid),
            action: action.id,
            approval: action.approval.as_ref().unwrap().id,
            run_at: scribe.now,
            expires_at: until,
        };
        let mut rows: Vec<ledger::Changes> = members.iter().cloned().map(Into::into).collect();
        rows.push(agent.into());
        rows.push(testkit::sample::begun(action.clone(), Vec::new()));
        rows.push(mail.into());
        scribe.append(&*store, rows).await.unwrap();
        Some(Self { database, store, people, scribe, action, members })
    }

    fn approval(&self) -> ApprovalId {
        self.action.approval.as_ref().unwrap().id
    }

    /// A post that writes to at most so many.
    fn post(&self, kept: &Arc<Kept>, most: usize) -> Post {
        let way = Way { queue: self.store.clone(), mailer: kept.clone() };
        let deciders = All(self.members.iter().map(|member| member.id).collect());
        let questions = Questions { deciders: Arc::new(deciders), most, clock: Arc::new(Wall) };
        let entropy = Arc::new(SystemEntropy::new());
        Post::new(way, entropy, pepper(), "https://chancery.example/").asking(questions)
    }

    async fn rows(&self) -> Vec<String> {
        let owner = self.database.owner().await;
        let rows = owner.query("select m::text from approval_mail as m", &[]).await.unwrap();
        rows.iter().map(|row| row.get(0)).collect()
    }
}

/// To whom letters about questions went, and what stands behind `t=` in each.
fn letters(kept: &Kept) -> Vec<(String, Secret<String>)> {
    let sent = kept.0.lock().unwrap();
    let told = sent.iter().map(|letter| {
        let Letter::Question(letter) = letter else { panic!("{letter:?}") };
        assert_eq!(letter.agent_name, "night-billing");
        assert!(!format!("{letter:?}").contains("C4NARY"));
        let (_, token) = letter.link.expose().split_once("/approve?t=").unwrap();
        (letter.to.as_str().to_owned(), Secret::new(token.to_owned()))
    });
    told.collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn each_who_may_answer_gets_one_link_of_their_own_and_none_of_it_is_stored() {
    let Some(asked) = Asked::new(1).await else { return };
    let kept = Arc::new(Kept::default());
    let (one, other) = (asked.post(&kept, 20), asked.post(&kept, 20));
    let mut stored = asked.rows().await;
    for _ in 0..8 {
        let (one, other) = tokio::join!(one.send_next(), other.send_next());
        one.unwrap();
        other.unwrap();
        stored.extend(asked.rows().await);
    }
    let mut sent = letters(&kept);
    sent.sort_by(|(one, _), (other, _)| one.cmp(other));
    let to: Vec<_> = sent.iter().map(|(to, _)| &**to).collect();
    assert_eq!(to, ["ada@example.com", "bob@example.com", "cyd@example.com"]);
    for ((_, token), member) in sent.iter().zip(&asked.members) {
        let linked =
            LinkedTo { org: asked.scribe.org, approval: asked.approval(), member: member.id };
        assert_eq!(asked.people.asked_by(token), Some(linked));
        let secret = token.expose().rsplit('.').next().unwrap();
        assert!(stored.iter().all(|row| !row.contains(secret)), "{stored:?}");
    }
    assert_eq!(asked.rows().await, [] as [String; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn no_more_people_are_written_to_than_the_operator_says() {
    let Some(asked) = Asked::new(2).await else { return };
    let kept = Arc::new(Kept::default());
    let post = asked.post(&kept, 2);
    while post.send_next().await.unwrap() {}
    let to: Vec<_> = letters(&kept).into_iter().map(|(to, _)| to).collect();
    assert_eq!(to.len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_is_written_to_about_what_is_settled_or_who_may_answer_no_more() {
    let Some(mut asked) = Asked::new(3).await else { return };
    let kept = Arc::new(Kept::default());
    let post = asked.post(&kept, 20);
    // Addressed, and not sent yet.
    assert!(post.send_next().await.unwrap());
    assert_eq!((asked.rows().await.len(), letters(&kept).len()), (3, 0));
    let (left, mute) = (asked.members[0].clone(), asked.members[1].clone());
    let left = Member { removed_at: Some(asked.scribe.now), ..left };
    let mute = Member { can_approve: false, ..mute };
    asked.scribe.append(&*asked.store, vec![left.into(), mute.into()]).await.unwrap();
    while post.send_next().await.unwrap() {}
    let to: Vec<_> = letters(&kept).into_iter().map(|(to, _)| to).collect();
    assert_eq!(to, ["cyd@example.com"]);
    assert_eq!(asked.rows().await, [] as [String; 0]);

    let Some(mut asked) = Asked::new(4).await else { return };
    let post = asked.post(&kept, 20);
    assert!(post.send_next().await.unwrap());
    let deed = asked.scribe.mint().id(model::DeedId::from_uuid);
    let mut sealed = testkit::sample::denied(&asked.action, deed);
    sealed.approval.as_mut().unwrap().status = model::ApprovalStatus::Cancelled;
    let sealed = testkit::sample::moved(sealed);
    asked.scribe.append(&*asked.store, vec![sealed]).await.unwrap();
    while post.send_next().await.unwrap() {}
    assert_eq!((asked.rows().await.len(), letters(&kept).len()), (0, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_that_an_instance_died_over_is_taken_up_and_nobody_gets_two_mails() {
    let Some(asked) = Asked::new(5).await else { return };
    let lease = Duration::from_secs(30);
    let (dead, alive) = (uuid::Uuid::from_u128(1), uuid::Uuid::from_u128(2));
    let claimed = asked.store.claim_unaddressed(dead, lease).await.unwrap().unwrap();
    assert_eq!(asked.store.claim_unaddressed(alive, lease).await.unwrap(), None);
    let owner = asked.database.owner().await;
    let run_out = "update approval_mail set lease_until = now() - interval '1 second'";
    owner.batch_execute(run_out).await.unwrap();
    let again = asked.store.claim_unaddressed(alive, lease).await.unwrap().unwrap();
    let mails = |from: u128| -> Vec<_> {
        let ids = (from..).map(|number| MailJobId::from_uuid(uuid::Uuid::from_u128(number)));
        ids.zip(asked.members.iter().map(|member| member.id)).collect()
    };
    // Whoever lost the claim changes nothing, before and behind the one who has it.
    assert!(!asked.store.address(&claimed, &mails(10)).await.unwrap());
    assert_eq!(asked.rows().await.len(), 1);
    assert!(asked.store.address(&again, &mails(20)).await.unwrap());
    assert!(!asked.store.address(&claimed, &mails(30)).await.unwrap());
    assert_eq!(asked.rows().await.len(), 3);
    // What nobody can use any more is gone before it is sent.
    owner.batch_execute("update approval_mail set expires_at = now()").await.unwrap();
    let kept = Arc::new(Kept::default());
    while asked.post(&kept, 20).send_next().await.unwrap() {}
    assert_eq!((asked.rows().await.len(), letters(&kept).len()), (0, 0));
}

/// Puts so many mails of an org before those of the others, as `member_id` says whom each is for.
async fn flood(asked: &Asked, org: OrgId, member: &str) {
    let owner = asked.database.owner().await;
    let sql = format!(
        "insert into approval_mail
            (id, org_id, action_id, approval_id, member_id, run_at, expires_at, attempt, token)
        select gen_random_uuid(), '{}', '{}', gen_random_uuid(), {member},
            now() - interval '1 hour', now() + interval '1 hour', 0, 0
        from generate_series(1, 10000)",
        org.as_uuid(),
        asked.action.id.as_uuid(),
    );
    owner.batch_execute(&sql).await.unwrap();
    owner.batch_execute("analyze approval_mail").await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_thousand_mails_of_one_org_hold_up_no_mail_of_another() {
    let Some(asked) = Asked::new(6).await else { return };
    // Orgs before and behind it in the round, with questions and with mails that wait for longer.
    for (org, member) in [
        (1, "null".to_owned()),
        (2, "gen_random_uuid()".to_owned()),
        (u128::MAX, "null".to_owned()),
        (u128::MAX - 1, "gen_random_uuid()".to_owned()),
    ] {
        flood(&asked, OrgId::from_uuid(uuid::Uuid::from_u128(org)), &member).await;
    }
    // Of another org's mails there is nothing to tell, so each is thrown away when its turn comes.
    let kept = Arc::new(Kept::default());
    let post = asked.post(&kept, 20);
    let mut steps = 0;
    while letters(&kept).len() < 3 {
        assert!(post.send_next().await.unwrap());
        steps += 1;
        assert!(steps <= 8, "three mails of an org took {steps} steps");
    }
    let left = asked.rows().await.len();
    assert!(left > 39_000, "{left}: nobody went through the mails of others for it");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mail_is_claimed_without_looking_through_those_that_wait() {
    let Some(asked) = Asked::new(7).await else { return };
    for (org, member) in [(1, "null"), (2, "gen_random_uuid()")] {
        flood(&asked, OrgId::from_uuid(uuid::Uuid::from_u128(org)), member).await;
    }
    let owner = asked.database.owner().await;
    for sql in store_postgres::testing::CLAIMS {
        let explain = format!("explain (analyze, buffers, costs off, format json) {sql}");
        let (holder, last) = (uuid::Uuid::from_u128(9), uuid::Uuid::nil());
        let row = owner.query_one(&explain, &[&holder, &1_i64, &30.0_f64, &last]).await.unwrap();
        let plan: serde_json::Value = row.get(0);
        let touched = &plan[0]["Plan"]["Shared Hit Blocks"];
        assert!(touched.as_u64().unwrap() < 100, "{touched} blocks:\n{plan:#}");
    }
}
