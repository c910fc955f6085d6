//! Writes turns for one org by hand, as a ledger would.

use std::sync::Arc;

use deed::{Actor, AdminContent, ChainHead, Content, Sealer, Subject};
use event::Event;
use ledger::{
    AppendError, Changes, DeedEntry, Head, HeadMark, LedgerStore, LogNo, PlacedDeed, Turn,
    record::{Agent, Org},
};
use model::{ActionId, AgentId, DeedId, EventId, EventType, LogId, Mint, OrgId, Timestamp};
use serde_json::{Map, json};
use uuid::Uuid;

use crate::{SeededEntropy, sample, sealer};

/// Writes turns for one org and knows where its record stands.
#[derive(Debug)]
pub struct Scribe {
    /// The org's id.
    pub org: OrgId,
    /// The moment of the turns to come.
    pub now: Timestamp,
    /// Randomness for ids.
    pub dice: SeededEntropy,
    version: Option<u64>,
    log_no: LogNo,
    chain: ChainHead,
    event_seq: u64,
    sealer: Arc<Sealer>,
}

/// What a turn is written of.
#[derive(Debug, Default)]
pub struct Draft {
    /// Its rows.
    pub changes: Changes,
    /// Its deeds: each an admin deed about this action, or about the org.
    pub deeds: Vec<DeedEntry>,
    /// Its events.
    pub events: Vec<event::Draft>,
}

impl From<Vec<Changes>> for Draft {
    fn from(changes: Vec<Changes>) -> Self {
        Self { changes: changes.into_iter().collect(), ..Self::default() }
    }
}

impl Scribe {
    /// The scribe of an org that is not there yet; the same seed makes the same org.
    pub fn new(seed: u64, now: Timestamp) -> Self {
        let dice = SeededEntropy::new(seed);
        let sealer = Arc::new(sealer(&dice, Timestamp::EPOCH));
        let mint = Mint::new(now, &dice);
        let org = mint.id(OrgId::from_uuid);
        let log = deed::LogOrigin::new("test.example", mint.id(LogId::from_uuid)).unwrap();
        let chain = ChainHead::genesis(log);
        Self { org, now, version: None, log_no: LogNo::FIRST, chain, event_seq: 0, sealer, dice }
    }

    /// The scribe of an org that this store now has, its clock at the store's time.
    pub async fn created(seed: u64, store: &dyn LedgerStore) -> Self {
        // The store's time is asked with an org that nobody has.
        let (_, now) = store.base(OrgId::from_uuid(Uuid::nil())).await.unwrap();
        let mut scribe = Self::new(seed, now);
        let changes = vec![Changes::from(scribe.org_row())];
        scribe.append(store, changes).await.unwrap();
        scribe
    }

    /// What signs the org's deeds.
    pub fn sealer(&self) -> Arc<Sealer> {
        Arc::clone(&self.sealer)
    }

    /// A mint of this moment.
    pub fn mint(&self) -> Mint<'_> {
        Mint::new(self.now, &self.dice)
    }

    /// The org's row.
    pub fn org_row(&self) -> Org {
        sample::org(self.org, self.now)
    }

    /// The row of a new agent of this name.
    pub fn agent(&self, name: &str) -> Agent {
        sample::agent(self.org, self.mint().id(AgentId::from_uuid), name, self.now)
    }

    /// A deed about the action, or about the org.
    pub fn deed(&self, action: Option<ActionId>) -> DeedEntry {
        let mint = self.mint();
        let path = deed::Path::REASON;
        let (reason, disclosure) = deed::commit(&mint, path, &json!("for a test"));
        let draft = deed::Draft {
            id: mint.id(DeedId::from_uuid),
            livemode: true,
            actor: Actor::System(deed::Word::of("test")),
            subject: Subject::org(self.org),
            content: Content::Admin(AdminContent {
                event: EventType::OrgUpdated.into(),
                before: None,
                after: None,
                reason: Some(reason),
                data: Map::default(),
            }),
        };
        DeedEntry { draft, disclosures: vec![disclosure], agent: None, action }
    }

    /// An event about the action, or about the org.
    pub fn event(&self, action: Option<ActionId>) -> event::Draft {
        event::Draft {
            id: self.mint().id(EventId::from_uuid),
            kind: EventType::OrgUpdated,
            livemode: true,
            agent: None,
            action,
            object: json!({ "object": "org", "id": self.org, "name": "Ämter \u{1f4dc} \"'\\" }),
        }
    }

    /// The turn that comes next, without moving on.
    pub fn turn(&self, draft: impl Into<Draft>) -> Turn {
        let Draft { changes, deeds, events } = draft.into();
        let mut chain = self.chain.clone();
        let deeds = deeds.into_iter().map(|entry| self.placed(&mut chain, entry)).collect();
        let events: Vec<Event> = (self.event_seq + 1..)
            .zip(events)
            .map(|(seq, draft)| draft.placed(self.org, seq, self.now))
            .collect();
        let event_seq = self.event_seq + events.len() as u64;
        let version = self.version.map_or(1, |version| version + 1);
        Turn {
            id: self.mint().id(std::convert::identity),
            org: self.org,
            expected: self.version.map(|version| HeadMark { version, last: *self.chain.last() }),
            head: Head { version, log_no: self.log_no, chain, event_seq },
            closes: None,
            at: self.now,
            changes,
            deeds,
            events,
        }
    }

    /// The turn that closes the org's log and opens another with these deeds.
    pub fn reopening(&self, draft: impl Into<Draft>) -> Turn {
        let Draft { changes, deeds, events } = draft.into();
        let log = deed::LogOrigin::new("test.example", self.mint().id(LogId::from_uuid)).unwrap();
        let mut chain = ChainHead::genesis(log);
        let deeds = deeds.into_iter().map(|entry| self.placed(&mut chain, entry)).collect();
        let turn = self.turn(Draft { changes, deeds: Vec::new(), events });
        let event_seq = self.event_seq;
        let version = self.version.unwrap();
        let closes = Head { version, log_no: self.log_no, chain: self.chain.clone(), event_seq };
        let head = Head { log_no: self.log_no.next(), chain, ..turn.head.clone() };
        Turn { head, closes: Some(closes), deeds, ..turn }
    }

    /// Goes on from this turn, which is part of the record.
    pub fn went(&mut self, turn: &Turn) {
        self.version = Some(turn.head.version);
        self.log_no = turn.head.log_no;
        self.chain = turn.head.chain.clone();
        self.event_seq = turn.head.event_seq;
    }

    /// Goes on from what the store says.
    pub async fn reread(&mut self, store: &dyn LedgerStore) {
        let (base, now) = store.base(self.org).await.unwrap();
        let head = base.unwrap().head;
        self.version = Some(head.version);
        self.log_no = head.log_no;
        self.chain = head.chain;
        self.event_seq = head.event_seq;
        self.now = now.max(self.chain.issued_at());
    }

    /// Appends a turn of these changes and goes on from it.
    pub async fn append(
        &mut self,
        store: &dyn LedgerStore,
        draft: impl Into<Draft>,
    ) -> Result<Turn, AppendError> {
        let turn = self.turn(draft);
        store.append(&turn).await?;
        self.went(&turn);
        Ok(turn)
    }

    fn placed(&self, chain: &mut ChainHead, entry: DeedEntry) -> PlacedDeed {
        let DeedEntry { draft, disclosures, agent, action } = entry;
        let sealed = self.sealer.seal(chain, draft.clone(), self.org, self.now).unwrap();
        PlacedDeed { sealed, disclosures, agent, action }
    }
}
