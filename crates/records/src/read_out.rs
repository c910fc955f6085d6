//! A log read out from one place to another, in steps that stay small whatever its deeds hold.

use std::{collections::VecDeque, fmt, sync::Arc};

use deed::LogOrigin;
use model::OrgId;
use serde_json::Value;

use crate::{
    deeds::OpenDeed,
    records::{ReadError, Records, Store},
    store::{DeedRow, OrgLog},
};

/// The most rows that are read at once; a body has at most 16 KiB.
const ROWS: u64 = 64;
/// The bytes of disclosures with which a step is full; the deed that fills it is in it whole.
const FULL: u64 = 1024 * 1024;

/// A part of a log that is being read out, oldest first.
///
/// It holds a few deeds and no connection: between two steps nobody waits for whoever reads it.
pub struct ReadOut {
    store: Arc<dyn Store>,
    log: OrgLog,
    size: u64,
    places: (u64, u64),
    next: u64,
    rows: VecDeque<DeedRow>,
}

impl fmt::Debug for ReadOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReadOut").field("next", &self.next).finish_non_exhaustive()
    }
}

impl Records {
    /// Begins to read a log out, the open one when none is named: its deeds from the place `from`
    /// up to but not with `to`, or up to the last that it has now.
    pub async fn read_out(
        &self,
        org: OrgId,
        log: Option<&LogOrigin>,
        (from, to): (u64, Option<u64>),
    ) -> Result<ReadOut, ReadError> {
        let head = self.head_of(org, log).await?;
        let size = head.chain.size();
        let places = (from, to.unwrap_or(size));
        if places.0 > places.1 || places.1 > size {
            return Err(ReadError::Places { size });
        }
        let (store, log) = (Arc::clone(&self.store), OrgLog { org, no: head.no });
        Ok(ReadOut { store, log, size, places, next: from, rows: VecDeque::new() })
    }
}

impl ReadOut {
    /// The places that are read out.
    pub fn places(&self) -> (u64, u64) {
        self.places
    }

    /// How many deeds the log has.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// The next deeds; none behind the last one.
    pub async fn step(&mut self) -> Result<Vec<OpenDeed>, ReadError> {
        if self.rows.is_empty() {
            self.read_on().await?;
        }
        let (mut step, mut weight) = (Vec::new(), 0);
        while weight < FULL
            && let Some(row) = self.rows.pop_front()
        {
            weight += disclosed(&row.body);
            step.push(row);
        }
        Ok(self.store.opened(self.log.org, step).await?)
    }

    async fn read_on(&mut self) -> Result<(), ReadError> {
        let end = self.places.1.min(self.next + ROWS);
        let count = usize::try_from(end - self.next).unwrap_or(usize::MAX);
        if count == 0 {
            return Ok(());
        }
        let rows = self.store.rows(self.log, self.next, count).await?;
        // A gap is never passed over: who reads a log out takes what follows for all there is.
        let mut expected = self.next..end;
        let whole = rows.iter().all(|row| expected.next() == Some(row.seq));
        if let Some(seq) = (!whole).then(|| expected.start - 1).or_else(|| expected.next()) {
            return Err(ReadError::Away { seq });
        }
        (self.next, self.rows) = (end, rows.into());
        Ok(())
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
