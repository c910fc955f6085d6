//! The use cases of reading a log, over one set of stores.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

use deed::{Disclosure, Exhibit, Exhibits, LogOrigin, Path, Sealer, tree::TlogProof};
use ledger::{Ledger, LogNo, Place, StoreDown};
use model::{AgentId, DeedId, DeedKind, Digest, OrgId, Timestamp};

use crate::{
    check_store::CheckStore,
    deeds::{DeedFilter, DeedStore, OpenDeed, Window},
    entries::{By, Entry, EntryFilter, EntryStore},
    proof::{ProofError, consistency, inclusion},
    store::{DeedRow, LogHead, LogStore, OrgLog, SignedCheckpoint},
    walk::Fault,
};

/// Everything that the reading of logs asks of its store.
pub trait Store: LogStore + DeedStore + EntryStore + CheckStore {}

impl<S: LogStore + DeedStore + EntryStore + CheckStore> Store for S {}

/// Reads the logs of all orgs.
#[derive(Clone)]
pub struct Records {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) ledger: Ledger,
    pub(crate) faults: Arc<Mutex<BTreeMap<OrgLog, Fault>>>,
}

/// Whose log is read, and how much of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reader {
    /// The org.
    pub org: OrgId,
    /// The one agent whose deeds are shown; absent for who may read all of the org.
    pub agent: Option<AgentId>,
}

impl Reader {
    /// What of these opens a deed for this reader. What a person was shown of a call says where its tool
    /// runs, which no agent is told.
    pub fn opens(self, mut disclosures: Vec<Disclosure>) -> Vec<Disclosure> {
        if self.agent.is_some() {
            disclosures.retain(|open| *open.path() != Path::APPROVAL_CONTEXT);
        }
        disclosures
    }
}

/// Why something of a log cannot be told.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The store could not be asked.
    #[error(transparent)]
    Down(#[from] StoreDown),
    /// There is no such log or deed.
    #[error("there is no such record")]
    NotFound,
    /// The org has no log of this name.
    #[error("expected the name of one of the org's logs")]
    NoSuchLog,
    /// The log has fewer deeds than were asked about, or none were.
    #[error("expected sizes from 1 to {size}, the smaller one first")]
    Sizes {
        /// How many deeds the log has.
        size: u64,
    },
    /// The log has no deeds at these places.
    #[error("expected places from 0 to {size}, the first one first")]
    Places {
        /// How many deeds the log has.
        size: u64,
    },
    /// A deed is neither here nor in a partition that is away.
    #[error("the deed at place {seq} is missing, and no archived partition has it; check the log")]
    Missing {
        /// Its place.
        seq: u64,
    },
    /// The log is not the one that was signed for, and nothing more is signed for it.
    #[error("the log does not hold what was signed for")]
    Withheld,
    /// The seal keys do not sign.
    #[error(transparent)]
    Seal(#[from] deed::SealError),
    /// The store lacks a hash that every proof needs.
    #[error("the store lacks a hash of the log's tree")]
    Incomplete,
}

impl From<ProofError> for ReadError {
    fn from(unproved: ProofError) -> Self {
        match unproved {
            ProofError::Down(down) => Self::Down(down),
            // The sizes are looked at before a proof is asked for.
            ProofError::NoSuch | ProofError::Missing => Self::Incomplete,
        }
    }
}

/// A proof that one tree of a log is the beginning of another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Growth {
    /// The log, by its name.
    pub log: deed::LogOrigin,
    /// The size of the smaller tree.
    pub from: u64,
    /// The size of the larger one.
    pub to: u64,
    /// The hashes of the proof.
    pub path: Vec<Digest>,
}

impl fmt::Debug for Records {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Records").finish_non_exhaustive()
    }
}

impl Records {
    /// The reading of what this ledger writes into this store.
    pub fn new(store: Arc<dyn Store>, ledger: Ledger) -> Self {
        Self { store, ledger, faults: Arc::default() }
    }

    /// The store.
    pub fn store(&self) -> &dyn Store {
        &*self.store
    }

    /// What the walks of this instance found wrong, by log, as long as it stands.
    pub fn faults(&self) -> BTreeMap<OrgLog, Fault> {
        self.faults.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The org's open log as it stands now.
    pub async fn head(&self, org: OrgId) -> Result<LogHead, ReadError> {
        self.store.head(org).await?.ok_or(ReadError::NotFound)
    }

    /// Where the logs stood that the org had before, in order.
    pub async fn closed(&self, org: OrgId) -> Result<Vec<LogHead>, ReadError> {
        Ok(self.store.closed(org).await?)
    }

    /// Where the org's log of this name stands, the open one when no name is given.
    pub async fn head_of(&self, org: OrgId, log: Option<&LogOrigin>) -> Result<LogHead, ReadError> {
        let open = self.head(org).await?;
        match log {
            Some(log) if open.chain.log() != log => {
                let mut closed = self.store.closed(org).await?.into_iter();
                closed.find(|head| head.chain.log() == log).ok_or(ReadError::NoSuchLog)
            }
            Some(_) | None => Ok(open),
        }
    }

    /// Where the org's log of this number stands.
    async fn head_at(&self, org: OrgId, no: LogNo) -> Result<LogHead, ReadError> {
        let open = self.head(org).await?;
        if open.no == no {
            return Ok(open);
        }
        let mut closed = self.store.closed(org).await?.into_iter();
        closed.find(|head| head.no == no).ok_or(ReadError::NoSuchLog)
    }

    /// How many actions have no deed yet, and when the oldest of them was recorded.
    pub async fn unsealed(&self, org: OrgId) -> Result<(u64, Option<Timestamp>), ReadError> {
        Ok(self.store.unsealed(org).await?)
    }

    /// The signed checkpoint of a log as it stands now, which is kept; of the open one
    /// when none is named.
    pub async fn checkpoint(
        &self,
        org: OrgId,
        log: Option<&LogOrigin>,
    ) -> Result<SignedCheckpoint, ReadError> {
        let head = self.head_of(org, log).await?;
        self.sign(org, &head).await
    }

    /// The signed checkpoint of this head, which is kept.
    ///
    /// A head is signed once: who asks again gets the note that is kept, as long as it says the
    /// same.
    pub async fn sign(&self, org: OrgId, head: &LogHead) -> Result<SignedCheckpoint, ReadError> {
        if self.ledger.withheld().contains(&org) {
            return Err(ReadError::Withheld);
        }
        let log = OrgLog { org, no: head.no };
        let (size, root) = (head.chain.size(), head.chain.root());
        let last = self.store.last_checkpoint(log).await?;
        if let Some(last) = last.filter(|last| (last.size, last.root) == (size, root)) {
            return Ok(last);
        }
        // The note says no time; the row never tells of one before its last deed, whatever the
        // clock of the store has done since.
        let signed_at = head.now.max(head.chain.issued_at());
        let note = self.sealer().checkpoint(&head.chain, head.now)?;
        pass("checkpoint.signed");
        let checkpoint = SignedCheckpoint { size, root, note, signed_at };
        self.store.put_checkpoint(log, &checkpoint).await?;
        pass("checkpoint.recorded");
        Ok(checkpoint)
    }

    /// The proof that a deed is in its log as that stands now, as a C2SP `tlog-proof`.
    pub async fn proof(&self, reader: Reader, id: DeedId) -> Result<TlogProof, ReadError> {
        let deed = self.deed(reader, id).await?;
        let head = self.head_at(reader.org, deed.row.log_no).await?;
        let checkpoint = self.sign(reader.org, &head).await?;
        let (index, log) = (deed.row.seq, OrgLog { org: reader.org, no: head.no });
        let path = inclusion(&*self.store, log, (index, checkpoint.size)).await?;
        Ok(TlogProof { index, path, checkpoint: checkpoint.note })
    }

    /// The proof that the log of `from` deeds is the beginning of the one of `to`; the
    /// present one when that is not said.
    pub async fn growth(
        &self,
        org: OrgId,
        log: Option<&LogOrigin>,
        (from, to): (u64, Option<u64>),
    ) -> Result<Growth, ReadError> {
        let head = self.head_of(org, log).await?;
        self.grew(org, &head, (from, to)).await
    }

    async fn grew(
        &self,
        org: OrgId,
        head: &LogHead,
        (from, to): (u64, Option<u64>),
    ) -> Result<Growth, ReadError> {
        let size = head.chain.size();
        let to = to.unwrap_or(size);
        if from == 0 || from > to || to > size {
            return Err(ReadError::Sizes { size });
        }
        let path = consistency(&*self.store, OrgLog { org, no: head.no }, (from, to)).await?;
        Ok(Growth { log: head.chain.log().clone(), from, to, path })
    }

    /// A deed that the reader may see.
    pub async fn deed(&self, reader: Reader, id: DeedId) -> Result<OpenDeed, ReadError> {
        let found = self.store.deed(reader.org, id).await?;
        let shown = |deed: &OpenDeed| reader.agent.is_none_or(|own| deed.row.agent == Some(own));
        let found = found.filter(shown).ok_or(ReadError::NotFound)?;
        Ok(OpenDeed { disclosures: reader.opens(found.disclosures), ..found })
    }

    /// Returns up to `limit` deeds before this place among all of the org, newest first.
    pub async fn deeds(
        &self,
        reader: Reader,
        filter: &DeedFilter,
        (before, limit): (Option<u64>, usize),
    ) -> Result<Vec<DeedRow>, ReadError> {
        let mut filter = filter.clone();
        if let Some(own) = reader.agent {
            if filter.agent.is_some_and(|named| named != own) {
                return Ok(Vec::new());
            }
            filter.agent = Some(own);
        }
        let mut places = self.places(reader.org, &filter).await?;
        if let Some(from) = filter.from {
            places.0 = places.0.max(self.store.place_at(reader.org, from).await?.as_u64());
        }
        if let Some(to) = filter.to {
            places.1 = places.1.min(self.store.place_at(reader.org, to).await?.as_u64());
        }
        places.1 = before.map_or(places.1, |before| places.1.min(before));
        Ok(self.store.deeds(reader.org, &filter, Window { places, limit }).await?)
    }

    /// The places that the filter's log and its places in it let through.
    async fn places(&self, org: OrgId, filter: &DeedFilter) -> Result<(u64, u64), ReadError> {
        if (&filter.log, filter.from_seq, filter.end_seq) == (&None, None, None) {
            return Ok((0, u64::MAX));
        }
        let head = self.head_of(org, filter.log.as_ref()).await?;
        let end = filter.end_seq.map_or(head.chain.size(), |end| end.min(head.chain.size()));
        let place = |seq| Place::of(head.no, seq).as_u64();
        Ok((place(filter.from_seq.unwrap_or(0)), place(end)))
    }

    /// A file of evidence for a deed: the deed and all others about the same action that
    /// are in its log, each proved to be there as the log stands now, under one signed list, and what
    /// the agent signed. `known` is the size of a log that somebody kept a checkpoint of; the file
    /// then shows that the log grew from it.
    pub async fn evidence(
        &self,
        reader: Reader,
        id: DeedId,
        known: Option<u64>,
    ) -> Result<String, ReadError> {
        let deed = self.deed(reader, id).await?;
        // The head is read first: what is in its log can be no less than what is found later.
        let head = self.head_at(reader.org, deed.row.log_no).await?;
        let checkpoint = self.sign(reader.org, &head).await?;
        let (size, log) = (checkpoint.size, OrgLog { org: reader.org, no: head.no });
        let deeds = match deed.row.action {
            Some(action) if deed.row.kind != DeedKind::Admin.as_str() => {
                self.store.deeds_about(reader.org, action).await?
            }
            Some(_) | None => vec![deed],
        };
        let mut exhibits = Vec::new();
        for OpenDeed { row, disclosures } in deeds {
            let is_here = row.log_no == log.no && row.seq < size;
            if is_here && row.kind != DeedKind::Admin.as_str() || row.id == id {
                let path = inclusion(&*self.store, log, (row.seq, size)).await?;
                let intent = self.intent_of(reader.org, &row).await?;
                let (body, signature) = (row.body, row.signature);
                let disclosures = reader.opens(disclosures);
                exhibits.push(Exhibit { body, signature, path, disclosures, intent });
            }
        }
        let mut grew = Vec::new();
        if let Some(known) = known {
            let growth = self.grew(reader.org, &head, (known, Some(size))).await?;
            grew.push((known, growth.path));
        }
        let exhibits = Exhibits { deeds: exhibits, checkpoint: checkpoint.note, consistency: grew };
        Ok(self.sealer().evidence(&exhibits, head.now)?)
    }

    /// Returns up to `limit` entries of the history before this place, newest first.
    pub async fn entries(
        &self,
        reader: Reader,
        filter: &EntryFilter,
        (before, limit): (Option<u64>, usize),
    ) -> Result<Vec<Entry>, ReadError> {
        let mut filter = filter.clone();
        if let Some(own) = reader.agent {
            if filter.agent.is_some_and(|named| named != own) {
                return Ok(Vec::new());
            }
            filter.agent = Some(own);
        }
        let Some(filter) = on_stream(&filter) else { return Ok(Vec::new()) };
        let mut places = self.event_places(reader.org, &filter).await?;
        places.1 = before.map_or(places.1, |before| places.1.min(before));
        Ok(self.store.entries(reader.org, &filter, Window { places, limit }).await?)
    }

    /// The places of the events that the filter's moments let through, up to the last
    /// event that there is now.
    pub async fn event_places(
        &self,
        org: OrgId,
        filter: &EntryFilter,
    ) -> Result<(u64, u64), ReadError> {
        let mut places = (1, self.head(org).await?.event_seq + 1);
        if let Some(from) = filter.from {
            places.0 = self.store.event_place_at(org, from).await?;
        }
        if let Some(to) = filter.to {
            places.1 = places.1.min(self.store.event_place_at(org, to).await?);
        }
        Ok(places)
    }

    /// The entries of these places, oldest first.
    pub async fn stretch(
        &self,
        org: OrgId,
        filter: &EntryFilter,
        places: (u64, u64),
    ) -> Result<Vec<Entry>, ReadError> {
        let limit = usize::try_from(places.1.saturating_sub(places.0)).unwrap_or(usize::MAX);
        let Some(filter) = &on_stream(filter) else { return Ok(Vec::new()) };
        let mut entries = self.store.entries(org, filter, Window { places, limit }).await?;
        entries.reverse();
        Ok(entries)
    }

    pub(crate) fn sealer(&self) -> &Sealer {
        self.ledger.sealer()
    }
}

/// The filter with an agent that acted as the one on whose stream it is: what an agent does
/// is on its own. Nothing where two agents are asked for.
fn on_stream(filter: &EntryFilter) -> Option<EntryFilter> {
    let mut filter = filter.clone();
    if let Some(By::Agent(actor)) = filter.actor {
        if filter.agent.is_some_and(|agent| agent != actor) {
            return None;
        }
        (filter.agent, filter.actor) = (Some(actor), None);
    }
    Some(filter)
}

/// Passes a point at which a test may end or hold the process; nothing else can fail here.
fn pass(point: &str) {
    let _ = failpoint::hit(point);
}
