//! Messages, one after the other, to frames.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use crypto::Sha256;
use model::Timestamp;

use crate::{
    Change, Counts, DecodeError, Edit, Frame, LogMessage, Lsn, Message, Oid, Origin, Relation,
    Truncation, change,
    frame::{
        MAX_KEPT_BYTES, MAX_MARKER_BYTES, MAX_OWN_BYTES, MAX_OWN_KEPT, SERVICE_PREFIX,
        SERVICE_SCHEMA,
    },
};

/// 2000-01-01, from which PostgreSQL counts, in milliseconds after the Unix epoch.
const POSTGRES_EPOCH: i64 = 946_684_800_000;

/// Puts the messages of one read of a slot together.
///
/// A stream describes a table before its first change and not again, so one assembler takes a read
/// from its beginning. After an error it has no use any more: the read begins again, with another.
#[derive(Debug)]
pub struct Assembler {
    most: Most,
    types: HashMap<Oid, (String, String)>,
    relations: HashMap<Oid, Arc<Relation>>,
    open: Option<Open>,
}

/// The most that is kept of the rows of a transaction.
#[derive(Debug, Clone, Copy)]
struct Most {
    images: usize,
    bytes: usize,
}

/// A transaction that has begun.
#[derive(Debug)]
struct Open {
    frame: Frame,
    /// What the kept rows weigh; more than anything once one was left out, so that the first are kept.
    weight: usize,
    digest: Sha256,
    place: u64,
}

impl Assembler {
    /// An assembler that keeps the rows of at most this many changes of each transaction
    /// (`decoder.max_images_per_tx`).
    pub fn new(max_images: usize) -> Self {
        let most = Most { images: max_images, bytes: MAX_KEPT_BYTES };
        Self { most, types: HashMap::new(), relations: HashMap::new(), open: None }
    }

    /// The assembler that keeps rows of at most about so many bytes of each transaction.
    #[must_use]
    pub fn within_bytes(mut self, bytes: usize) -> Self {
        self.most.bytes = bytes;
        self
    }

    /// Takes the bytes of one message and returns the transaction that they end.
    pub fn take(&mut self, bytes: &[u8]) -> Result<Option<Frame>, DecodeError> {
        self.take_message(&Message::parse(bytes)?)
    }

    /// Takes one message and returns the transaction that it ends.
    pub fn take_message(&mut self, message: &Message<'_>) -> Result<Option<Frame>, DecodeError> {
        match message {
            Message::Begin { final_lsn, committed_at, xid } => {
                if let Some(open) = &self.open {
                    return Err(DecodeError::Unfinished { xid: open.frame.xid });
                }
                self.open = Some(Open::new(*final_lsn, *committed_at, *xid));
            }
            Message::Commit { commit_lsn, end_lsn, .. } => {
                let open = self.open.take().ok_or_else(|| outside(message))?;
                return open.end(*commit_lsn, *end_lsn).map(Some);
            }
            Message::Origin { commit_lsn, name } => {
                let name = (*name).to_owned();
                self.open(message)?.frame.origin = Some(Origin { commit_lsn: *commit_lsn, name });
            }
            Message::Logical { transactional, lsn, prefix, content } => {
                // One that is not of its transaction is in the log although that was rolled
                // back, so it proves nothing. It may stand outside any transaction.
                if *transactional && *prefix == SERVICE_PREFIX {
                    self.open(message)?.message(*lsn, content);
                } else if *transactional {
                    self.open(message)?;
                }
            }
            Message::Relation(described) => {
                let types = &self.types;
                let relation = Relation::new(described, |oid| types.get(&oid).cloned());
                self.relations.insert(described.oid, Arc::new(relation));
            }
            Message::Type { oid, schema, name } => {
                self.types.insert(*oid, ((*schema).to_owned(), (*name).to_owned()));
            }
            Message::Insert { relation, new } => {
                let relation = self.relation(*relation)?;
                let after = change::row(&relation, new)?;
                self.change(message, relation, Edit::Insert { after })?;
            }
            Message::Update { relation, old, new } => {
                let relation = self.relation(*relation)?;
                let before = change::before(&relation, old.as_ref())?;
                let mut after = change::row(&relation, new)?;
                change::fill(&mut after, &before);
                self.change(message, relation, Edit::Update { before, after })?;
            }
            Message::Delete { relation, old } => {
                let relation = self.relation(*relation)?;
                let before = change::before(&relation, Some(old))?;
                self.change(message, relation, Edit::Delete { before })?;
            }
            Message::Truncate { relations, cascade, restart_identity } => {
                let relations =
                    relations.iter().map(|oid| self.relation(*oid)).collect::<Result<_, _>>()?;
                let (cascade, restart_identity) = (*cascade, *restart_identity);
                let open = self.open(message)?;
                let place = open.next_place();
                open.truncation(Truncation { place, relations, cascade, restart_identity });
            }
        }
        Ok(None)
    }

    /// Ends the stream; it may not end within a transaction.
    pub fn finish(self) -> Result<(), DecodeError> {
        match self.open {
            None => Ok(()),
            Some(open) => Err(DecodeError::Unfinished { xid: open.frame.xid }),
        }
    }

    fn open(&mut self, message: &Message<'_>) -> Result<&mut Open, DecodeError> {
        self.open.as_mut().ok_or_else(|| outside(message))
    }

    fn relation(&self, oid: Oid) -> Result<Arc<Relation>, DecodeError> {
        self.relations.get(&oid).cloned().ok_or(DecodeError::UnknownRelation { oid })
    }

    fn change(
        &mut self,
        message: &Message<'_>,
        relation: Arc<Relation>,
        edit: Edit,
    ) -> Result<(), DecodeError> {
        let most = self.most;
        let open = self.open(message)?;
        let place = open.next_place();
        open.change(Change { place, relation, edit }, most);
        Ok(())
    }
}

impl Open {
    fn new(final_lsn: Lsn, committed_at: i64, xid: u32) -> Self {
        let millis = committed_at.div_euclid(1000).saturating_add(POSTGRES_EPOCH);
        let frame = Frame {
            xid,
            commit_lsn: final_lsn,
            end_lsn: final_lsn,
            committed_at: Timestamp::from_unix_millis(millis),
            origin: None,
            counts: BTreeMap::new(),
            relations: BTreeMap::new(),
            change_count: 0,
            changes: Vec::new(),
            own_changes: Vec::new(),
            truncations: Vec::new(),
            messages: Vec::new(),
            message_count: 0,
            digest: crypto::sha256([]),
        };
        Self { frame, weight: 0, digest: Sha256::new(), place: 0 }
    }

    fn next_place(&mut self) -> u64 {
        let place = self.place;
        self.place += 1;
        place
    }

    fn message(&mut self, lsn: Lsn, content: &[u8]) {
        self.frame.message_count += 1;
        if self.frame.messages.len() < MAX_OWN_KEPT {
            let content = (content.len() <= MAX_MARKER_BYTES).then(|| content.to_vec());
            self.frame.messages.push(LogMessage { lsn, content });
        }
    }

    fn change(&mut self, change: Change, most: Most) {
        self.digest.update(change.canonical().bytes());
        self.counts(&change.relation).add(&change.edit);
        let (frame, weight) = (&mut self.frame, change.weight());
        frame.change_count += 1;
        if change.relation.table.schema == SERVICE_SCHEMA {
            if frame.own_changes.len() < MAX_OWN_KEPT && weight <= MAX_OWN_BYTES {
                frame.own_changes.push(change);
            }
            return;
        }
        if frame.changes.len() >= most.images {
            return;
        }
        let together = self.weight.saturating_add(weight);
        if together > most.bytes {
            self.weight = usize::MAX;
            return;
        }
        self.weight = together;
        frame.changes.push(change);
    }

    fn truncation(&mut self, truncation: Truncation) {
        self.digest.update(truncation.canonical().bytes());
        for relation in &truncation.relations {
            self.counts(relation).truncates += 1;
        }
        self.frame.truncations.push(truncation);
    }

    /// The counts of a table whose shape is noted too.
    fn counts(&mut self, relation: &Arc<Relation>) -> &mut Counts {
        let known = self.frame.relations.entry(relation.signature());
        known.or_insert_with(|| Arc::clone(relation));
        self.frame.counts.entry(relation.table.clone()).or_default()
    }

    fn end(mut self, commit_lsn: Lsn, end_lsn: Lsn) -> Result<Frame, DecodeError> {
        let begun = self.frame.commit_lsn;
        if begun != commit_lsn {
            return Err(DecodeError::OtherEnd { begun, ended: commit_lsn });
        }
        self.frame.end_lsn = end_lsn;
        self.frame.digest = self.digest.finish();
        Ok(self.frame)
    }
}

fn outside(message: &Message<'_>) -> DecodeError {
    DecodeError::OutsideTransaction { message: message.name() }
}
