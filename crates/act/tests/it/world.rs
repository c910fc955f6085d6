//! An org in memory and a request that makes it.

use act::{Act, ActError, By, Changed, Fact, Record};
use deed::Subject;
use event::Event;
use ledger::{
    Changes, Entry, EventStore, Ledger, Needs, Request, Snapshot,
    record::{ApiKey, Holder, Member, Org, RETENTION_DAYS},
};
use model::{EventType, KeyId, MemberId, Mint, OrgId, Role, Scope, UserId};
use serde_json::{Value, json};
use testkit::Fixture;
use uuid::Uuid;

pub(crate) use testkit::START as NOW;
pub(crate) const ORG: OrgId = OrgId::from_uuid(Uuid::from_u128(7));

/// Makes the org in the first turn of its log.
struct Founding;

impl Request for Founding {
    type Answer = ();

    fn needs(&self, _: &Snapshot) -> Needs {
        Needs::default()
    }

    fn decide(&self, _: &Snapshot, mint: &Mint<'_>) -> (Entry, ()) {
        let mut record = Record::new(By::Operator, None, mint);
        record.seal(fact(EventType::LogStarted));
        renamed(&mut record, None, org());
        (record.into_entry(), ())
    }
}

pub(crate) fn org() -> Org {
    Org {
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
        created_at: NOW,
    }
}

pub(crate) fn fact(event: EventType) -> Fact {
    Fact::new(event, Subject::org(ORG), json!({ "object": "org", "id": ORG }))
}

/// Adds the org in its new form.
pub(crate) fn renamed(record: &mut Record<'_>, before: Option<&Org>, after: Org) -> Changed<Org> {
    let deed = record.seal(Fact {
        before: before.map(|org| json!(org)),
        after: Some(json!(after)),
        data: vec![("renamed", json!(before.is_some()))],
        ..fact(EventType::OrgUpdated)
    });
    record.write(after.clone());
    Changed { object: after, deed }
}

/// A change of the org's name.
pub(crate) fn rename(
    by: By,
    name: &'static str,
) -> Act<impl Fn(&Snapshot, &mut Record<'_>) -> Result<Changed<Org>, ActError> + Send + 'static> {
    Act::new(by, move |at: &Snapshot, record: &mut Record<'_>| {
        let before = at.org().ok_or(ActError::NotFound("org"))?;
        let after = renamed(record, Some(before), Org { name: name.to_owned(), ..before.clone() });
        if after.object.name.is_empty() {
            return Err(ActError::bad_input("name", "a name"));
        }
        Ok(after)
    })
}

/// An org key that may change the org, unless a test changes that.
pub(crate) fn org_key() -> ApiKey {
    ApiKey {
        id: KeyId::from_uuid(Uuid::from_u128(8)),
        org: ORG,
        holder: Holder::Org,
        name: "first".to_owned(),
        scopes: vec![Scope::Admin],
        livemode: true,
        mac: "mac".to_owned(),
        hint: "abcd".to_owned(),
        created_at: NOW,
        expires_at: None,
        revoked_at: None,
        made_by: None,
        rolled_to: None,
    }
}

/// An owner, unless a test makes them something else.
pub(crate) fn owner() -> Member {
    Member {
        id: MemberId::from_uuid(Uuid::from_u128(10)),
        org: ORG,
        user: UserId::from_uuid(Uuid::from_u128(11)),
        role: Role::Owner,
        can_approve: false,
        joined_at: NOW,
        role_since: NOW,
        removed_at: None,
        revision: 1,
    }
}

pub(crate) struct World {
    pub(crate) ledger: Ledger,
    fixture: Fixture,
}

impl World {
    /// A ledger over an empty store.
    pub(crate) fn new() -> Self {
        let fixture = Fixture::new(0);
        Self { ledger: fixture.ledger.clone(), fixture }
    }

    /// A ledger with the org in it.
    pub(crate) async fn with_org() -> Self {
        let world = Self::new();
        world.ledger.enter(ORG, Founding).await.unwrap();
        world
    }

    /// Keeps this row for the org.
    pub(crate) async fn keep<R: Into<Changes> + Clone + Send + 'static>(&self, row: R) {
        let kept = Act::new(By::Operator, move |_: &Snapshot, record: &mut Record<'_>| {
            record.write(row.clone());
            Ok::<_, ActError>(())
        });
        kept.enter(&self.ledger, ORG).await.unwrap();
    }

    /// The org's name as it stands.
    pub(crate) async fn name(&self) -> String {
        self.ledger.look(ORG).await.unwrap().org().unwrap().name.clone()
    }

    /// The bodies of the org's deeds, in order.
    pub(crate) fn bodies(&self) -> Vec<Value> {
        self.fixture.bodies(ORG)
    }

    /// The org's events, in order.
    pub(crate) async fn events(&self) -> Vec<Event> {
        self.fixture.store.events_after(ORG, 0, 1_000).await.unwrap()
    }
}
