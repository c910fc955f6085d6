//! A log read out from one place to another, in steps that stay small whatever its deeds hold.

use std::{collections::VecDeque, fmt, sync::Arc};

use deed::{ArchivedDeeds, LogOrigin};
use model::OrgId;
use serde_json::Value;

use crate::{
    deeds::OpenDeed,
    proof::archived_deeds,
    records::{ReadError, Records, Store},
    store::{DeedRow, LogHead, OrgLog, TILE},
};

/// The most rows that are read at once; a body has at most 16 KiB.
const ROWS: u64 = 64;
/// The bytes of disclosures with which a step is full; the deed that fills it is in it whole.
const FULL: u64 = 1024 * 1024;

/// Which part of a log is read out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ReadRange {
    /// The place of the first deed.
    pub from: u64,
    /// The place behind the last deed; the size of the log when it is not said.
    pub to: Option<u64>,
    /// The size of the log that a kept checkpoint is of: no line stands for archived deeds on both
    /// sides of it, so that the tree of this size can be computed.
    pub known_size: Option<u64>,
}

/// One line of a log that is read out.
#[derive(Debug)]
pub enum LogLine {
    /// A deed.
    Deed(Box<OpenDeed>),
    /// Deeds in a partition that is away.
    Archived(ArchivedDeeds),
}

/// A part of a log that is being read out, oldest first.
///
/// It holds a few deeds and no connection: between two steps nobody waits for whoever reads it.
pub struct ReadOut {
    store: Arc<dyn Store>,
    log: OrgLog,
    head: LogHead,
    places: (u64, u64),
    known_size: Option<u64>,
    next: u64,
    rows: VecDeque<DeedRow>,
    note: Note,
}

/// The checkpoint that stands beside archived deeds.
#[derive(Clone)]
enum Note {
    /// Nothing was archived so far.
    NotSought,
    /// What was found.
    Found(Option<String>),
}

impl fmt::Debug for ReadOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReadOut").field("next", &self.next).finish_non_exhaustive()
    }
}

impl Records {
    /// Begins to read a log out, the open one when none is named.
    pub async fn read_out(
        &self,
        org: OrgId,
        log: Option<&LogOrigin>,
        range: ReadRange,
    ) -> Result<ReadOut, ReadError> {
        let head = self.head_of(org, log).await?;
        let size = head.chain.size();
        let places = (range.from, range.to.unwrap_or(size));
        if places.0 > places.1 || places.1 > size {
            return Err(ReadError::Places { size });
        }
        let (store, log) = (Arc::clone(&self.store), OrgLog { org, no: head.no });
        let (known_size, next, rows) = (range.known_size, range.from, VecDeque::new());
        let note = Note::NotSought;
        Ok(ReadOut { store, log, head, places, known_size, next, rows, note })
    }
}

impl ReadOut {
    /// The places that are read out.
    pub fn places(&self) -> (u64, u64) {
        self.places
    }

    /// How many deeds the log has.
    pub fn size(&self) -> u64 {
        self.head.chain.size()
    }

    /// The next lines; none behind the last one. The records sign the checkpoint that stands beside
    /// archived deeds.
    pub async fn step(&mut self, records: &Records) -> Result<Vec<LogLine>, ReadError> {
        if self.rows.is_empty()
            && let Some(archived) = self.read_on(records).await?
        {
            return Ok(vec![LogLine::Archived(archived)]);
        }
        let (mut step, mut weight) = (Vec::new(), 0);
        while weight < FULL
            && let Some(row) = self.rows.pop_front()
        {
            weight += disclosed(&row.body);
            step.push(row);
        }
        let deeds = self.store.opened(self.log.org, step).await?;
        Ok(deeds.into_iter().map(|deed| LogLine::Deed(Box::new(deed))).collect())
    }

    /// Reads the rows that come next, or returns what stands in their place.
    async fn read_on(&mut self, records: &Records) -> Result<Option<ArchivedDeeds>, ReadError> {
        let end = self.places.1.min(self.next + ROWS);
        let count = usize::try_from(end - self.next).unwrap_or(usize::MAX);
        if count == 0 {
            return Ok(None);
        }
        let mut rows = self.store.rows(self.log, self.next, count).await?;
        // A gap is never passed over: who reads a log out takes what follows for all there is.
        let mut expected = self.next..end;
        rows.retain(|row| expected.next() == Some(row.seq));
        if rows.is_empty() {
            return self.archived(records).await.map(Some);
        }
        self.next += rows.len() as u64;
        self.rows = rows.into();
        Ok(None)
    }

    /// The line for the deeds from the next place on, which are in a partition that is away.
    async fn archived(&mut self, records: &Records) -> Result<ArchivedDeeds, ReadError> {
        let from = self.next;
        let Some(away) = self.store.away_from(self.log, from / TILE).await? else {
            return Err(ReadError::Missing { seq: from });
        };
        let mut to = self.places.1.min(away.end.saturating_mul(TILE));
        if let Some(size) = self.known_size.filter(|size| (from + 1..to).contains(size)) {
            to = size;
        }
        let of = (self.head.chain.log(), away.partition.as_str());
        let note = match self.note.clone() {
            Note::Found(note) => note,
            Note::NotSought => self.checkpoint(records).await?,
        };
        self.note = Note::Found(note.clone());
        let line = archived_deeds(&*self.store, self.log, of, (from, to), note).await?;
        self.next = to;
        Ok(line)
    }

    /// A checkpoint of the log up to where it is read out, where there is one or one can be signed.
    async fn checkpoint(&self, records: &Records) -> Result<Option<String>, ReadError> {
        let size = self.places.1;
        if size == self.size() {
            return match records.sign(self.log.org, &self.head).await {
                Ok(signed) => Ok(Some(signed.note)),
                // The log is readable all the same.
                Err(ReadError::Withheld | ReadError::Seal(_)) => Ok(None),
                Err(error) => Err(error),
            };
        }
        let kept = self.store.checkpoints(self.log, size..size + 1).await?;
        Ok(kept.into_iter().next().map(|kept| kept.note))
    }
}

/// The bytes of all that the deed committed to, as its body tells them.
fn disclosed(body: &str) -> u64 {
    fn sum(value: &Value) -> u64 {
        match value {
            Value::Object(members) => match (members.get("commit"), members.get("size")) {
                (Some(_), Some(size)) => size.as_u64().unwrap_or_default(),
                _ => members.values().map(sum).sum(),
            },
            Value::Array(items) => items.iter().map(sum).sum(),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
        }
    }
    serde_json::from_str(body).as_ref().map(sum).unwrap_or_default()
}
