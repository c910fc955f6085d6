//! Whether the change log of a connector's database is read as evidence: what it tells, what its owner
//! has to do first, and that it is to be read or not.
//!
//! Nothing is ever done to the governed database here: its owner reads the script and runs it.

use std::collections::BTreeMap;

use act::{ActError, Changed, Reason};
use ledger::{
    Needs,
    record::{Connector, WitnessWish},
};
use model::{ConnectorId, EventType, LogGap, TableGap, Timestamp};

use super::{Looked, LookedAt, changed, loaded};
use crate::{ChangeError, ConnectorError, LogStanding, OrgChange, OrgView};

/// So many of the latest breaks of a log are shown.
const BREAKS_SHOWN: usize = 20;
/// The most tables that may be asked for beside those that tools write.
const MAX_BESIDE: usize = 200;
/// Two of a database's longest names, each in its longest form of UTF-8, and a dot.
const MAX_TABLE_BYTES: usize = 2 * 63 + 1;

/// What the change log of a governed system tells, and what it lacks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Coverage {
    /// What is read, by the name that the governed system knows it under.
    pub publication: String,
    /// By what it is read.
    pub slot: String,
    /// What was looked at in the system as a whole.
    pub checks: Vec<Looked>,
    /// The tables that tools write, and those that were asked for beside them.
    pub tables: Vec<CoveredTable>,
    /// What the owner of the tables runs to have told what can be told; nothing where nobody could look
    /// which tables those are.
    pub script: Option<String>,
}

/// A table as the change log tells it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CoveredTable {
    /// The table as it was named.
    pub asked: String,
    /// Its whole name; that of the leaf where it is partitioned.
    pub name: String,
    /// What the log does not tell of it.
    pub missing: Vec<TableGap>,
    /// Whether its updates and deletes fail now, because a publication of it does not publish its
    /// whole identity, or because it has none.
    pub writes_fail: bool,
    /// The other publications that have a column list for it or leave out its generated columns. With its
    /// old rows logged in full, its updates and deletes would fail because of them.
    pub partial_publications: Vec<String>,
    /// About how long one of its rows is, in bytes.
    pub row_bytes: Option<u64>,
    /// Updates and deletes since the governed system's statistics began.
    pub changed_rows: u64,
    /// About how many bytes more its log would have had since then, if it told old rows whole.
    pub full_identity_bytes: Option<u64>,
}

/// Whether a change log may be read that does not tell every table whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gaps {
    /// It may not.
    Refused,
    /// It may: what is written to those tables is not verified by it.
    Accepted,
}

impl Coverage {
    /// What keeps the log from being read, one sentence each.
    fn obstacles(&self, gaps: Gaps) -> Vec<String> {
        let failed = self.checks.iter().filter(|check| check.found == LookedAt::Fail);
        let checks = failed.map(|Looked { name, detail, .. }| format!("{name}: {detail}"));
        let told_partly = self.tables.iter().filter(|table| !table.missing.is_empty());
        let table = |table: &CoveredTable| {
            let words: Vec<_> = table.missing.iter().map(|gap| gap.as_str()).collect();
            format!("`{}`: {}", table.name, words.join(", "))
        };
        match gaps {
            Gaps::Refused => checks.chain(told_partly.map(table)).collect(),
            Gaps::Accepted => checks.collect(),
        }
    }

    /// Whether the log can be read, and tells every table whole.
    pub fn is_ready(&self) -> bool {
        self.obstacles(Gaps::Refused).is_empty()
    }

    fn wish(&self, since: Timestamp) -> WitnessWish {
        let lacking = self.tables.iter().filter(|table| !table.missing.is_empty());
        let lacking = lacking.map(|table| (table.name.clone(), table.missing.clone()));
        WitnessWish {
            since,
            tables: self.tables.iter().map(|table| table.name.clone()).collect(),
            lacking: lacking.collect::<BTreeMap<_, _>>(),
            anew_behind: None,
        }
    }
}

impl OrgView<'_> {
    /// How far the change log of a connector's database was read, and where it was not of late; nothing
    /// where nobody ever read it.
    pub async fn log_standing(&self, id: ConnectorId) -> Result<Option<LogStanding>, ChangeError> {
        Ok(self.admin.parts.store.log_standing(self.org, id, BREAKS_SHOWN).await?)
    }
}

impl OrgChange<'_> {
    /// Looks at what the change log of a connector's database tells, and what its owner has to run so
    /// that it tells the rest. It changes nothing, and logs in with the connector's credential.
    pub async fn witness_coverage(
        &self,
        id: ConnectorId,
        beside: &[String],
    ) -> Result<Coverage, ConnectorError> {
        let connector = self.stored(id).await?;
        if connector.archived_at.is_some() {
            return Err(ActError::Conflict("the connector is archived").into());
        }
        self.coverage_of(&connector, beside).await
    }

    /// Has the change log of a connector's database read as evidence, once the database is prepared for
    /// it. Enabled again, the tables are looked at anew.
    pub async fn enable_witness(
        &self,
        id: ConnectorId,
        (beside, gaps): (&[String], Gaps),
        reason: &str,
    ) -> Result<Changed<Connector>, ConnectorError> {
        let reason = Reason::parse(reason)?;
        let looked_at = self.stored(id).await?;
        if looked_at.archived_at.is_some() {
            return Err(ActError::Conflict("the connector is archived").into());
        }
        let coverage = self.coverage_of(&looked_at, beside).await?;
        let obstacles = coverage.obstacles(gaps);
        if !obstacles.is_empty() {
            return Err(ConnectorError::NotReady(obstacles));
        }
        let enabled = self.turn(Needs::default(), Some(reason), move |at, record| {
            let before = loaded(at, id)?;
            if before.revision != looked_at.revision {
                return Err(ActError::Conflict(
                    "the connector was changed in the meantime; try again",
                ));
            }
            let after = wishing(before, Some(coverage.wish(at.now())));
            Ok(changed(record, EventType::ConnectorWitnessEnabled, Some(before), after))
        });
        Ok(enabled.await?)
    }

    /// Has the change log of a connector's database not read any more.
    pub async fn disable_witness(
        &self,
        id: ConnectorId,
        reason: &str,
    ) -> Result<Changed<Connector>, ConnectorError> {
        let reason = Reason::parse(reason)?;
        let disabled = self.turn(Needs::default(), Some(reason), move |at, record| {
            let before = loaded(at, id)?;
            if before.witness.is_none() {
                return Err(ActError::Conflict(
                    "the service does not read the connector's change log",
                ));
            }
            let event = EventType::ConnectorWitnessDisabled;
            Ok::<_, ActError>(changed(record, event, Some(before), wishing(before, None)))
        });
        Ok(disabled.await?)
    }

    /// Has a new slot made in place of one through which the change log cannot be read any more. What was
    /// written since it broke will never be known.
    pub async fn recreate_slot(
        &self,
        id: ConnectorId,
        reason: &str,
    ) -> Result<Changed<Connector>, ConnectorError> {
        let reason = Reason::parse(reason)?;
        let looked_at = self.stored(id).await?;
        if looked_at.archived_at.is_some() {
            return Err(ActError::Conflict("the connector is archived").into());
        }
        let standing = self.admin.parts.store.log_standing(self.org, id, 0).await?;
        let broken = standing.filter(|it| it.broken.is_some_and(|why| why != LogGap::DecoderOff));
        let Some(LogStanding { stretch, .. }) = broken.filter(|_| looked_at.witness.is_some())
        else {
            return Err(ActError::Conflict("no replication slot of the connector is broken").into());
        };
        // What its tables lack was accepted when it was enabled.
        let obstacles = self.coverage_of(&looked_at, &[]).await?.obstacles(Gaps::Accepted);
        if !obstacles.is_empty() {
            return Err(ConnectorError::NotReady(obstacles));
        }
        let recreated = self.turn(Needs::default(), Some(reason), move |at, record| {
            let before = loaded(at, id)?;
            let Some(wish) = &before.witness else {
                return Err(ActError::Conflict(
                    "the service does not read the connector's change log",
                ));
            };
            if wish.anew_behind == Some(stretch) {
                return Err(ActError::Conflict("a new replication slot is being created"));
            }
            let wish = WitnessWish { anew_behind: Some(stretch), ..wish.clone() };
            let after = wishing(before, Some(wish));
            Ok(changed(record, EventType::ConnectorSlotRecreated, Some(before), after))
        });
        Ok(recreated.await?)
    }

    async fn coverage_of(
        &self,
        connector: &Connector,
        beside: &[String],
    ) -> Result<Coverage, ConnectorError> {
        are_tables(beside)?;
        let opened = self.admin.opened(connector, &connector.config)?;
        let found = self.admin.parts.connectors.coverage(opened.candidate(), beside).await?;
        found.ok_or_else(|| ConnectorError::NoChangeLog(connector.kind.clone()))
    }
}

/// The next revision of a connector, of whose change log this is wished.
fn wishing(before: &Connector, witness: Option<WitnessWish>) -> Connector {
    Connector { witness, revision: before.revision.saturating_add(1), ..before.clone() }
}

/// Names go into a question to the database, which looks them up; here is only seen that they are no
/// more than names.
fn are_tables(beside: &[String]) -> Result<(), ActError> {
    let is_table = |name: &String| {
        let parts: Vec<&str> = name.split('.').collect();
        parts.len() <= 2
            && name.len() <= MAX_TABLE_BYTES
            && parts.iter().all(|part| !part.is_empty() && !part.contains(char::is_control))
    };
    if beside.len() <= MAX_BESIDE && beside.iter().all(is_table) {
        return Ok(());
    }
    let expected = format!(
        "at most {MAX_BESIDE} names such as `orders` or `public.orders`, each of at most \
         {MAX_TABLE_BYTES} bytes"
    );
    Err(ActError::bad_input("tables", expected))
}
