//! What turns are made of, as plain data: where an org stands, what a request adds, and what one
//! turn writes.

use std::{collections::BTreeMap, sync::Arc};

use event::Event;
use model::{ActionId, AgentId, ConnectorId, Digest, LogId, OrgId, PolicyId, Timestamp};
use uuid::Uuid;

use crate::{
    families::Changes,
    place::LogNo,
    record::{ActivePolicy, Connector, Org, Policy, ReportChange},
};

/// Where an org's truth stands.
#[derive(Debug, Clone)]
pub struct Head {
    /// Counts the turns; the compare-and-set is on this.
    pub version: u64,
    /// Which of the org's logs is open.
    pub log_no: LogNo,
    /// The chain and tree of its deeds.
    pub chain: deed::ChainHead,
    /// The place of the last event.
    pub event_seq: u64,
}

/// What every turn needs to know.
#[derive(Debug, Clone)]
pub struct Base {
    /// The head.
    pub head: Head,
    /// The org.
    pub org: Org,
    /// The active policies, at most one for each mode.
    pub active: Vec<ActivePolicy>,
    /// The org's policies that are not archived.
    pub policies: BTreeMap<PolicyId, Policy>,
    /// The org's connectors that are not archived.
    pub connectors: BTreeMap<ConnectorId, Connector>,
}

/// An active policy as a turn uses it.
#[derive(Debug, Clone)]
pub struct LoadedPolicy {
    /// Which one it is.
    pub active: ActivePolicy,
    /// The policy itself; absent when its document cannot be read, which refuses every call.
    pub policy: Option<Arc<policy::Policy>>,
}

/// Everything that one request changes; empty when it changes nothing.
#[derive(Debug, Clone, Default)]
pub struct Entry {
    /// The log that replaces the org's present one, which is closed as it stands. The entry's deeds
    /// are its first ones.
    pub opens: Option<LogId>,
    /// Rows, in their new form.
    pub changes: Changes,
    /// Deeds to seal, in order.
    pub deeds: Vec<DeedEntry>,
    /// Events, in order; the ledger adds `deed.sealed` for each deed, and `deed.amended` for each
    /// amendment.
    pub events: Vec<event::Draft>,
}

impl Entry {
    /// The entry that changes nothing.
    pub fn nothing() -> Self {
        Self::default()
    }

    /// Whether the entry changes nothing.
    pub fn is_empty(&self) -> bool {
        self.opens.is_none()
            && self.changes.is_empty()
            && self.deeds.is_empty()
            && self.events.is_empty()
    }

    /// About how many bytes a turn gets longer by: the texts that may be large, and a round sum for
    /// every row.
    pub(crate) fn bytes(&self) -> usize {
        const ROW: usize = 1 << 10;
        let Self { changes, deeds, events, opens: _ } = self;
        let opened = changes.new_actions.iter().flat_map(|new| &new.disclosures);
        let opened = opened.chain(deeds.iter().flat_map(|deed| &deed.disclosures));
        let texts = opened.map(|disclosure| disclosure.value().len());
        let texts = texts.chain(changes.versions.iter().map(|version| version.document.len()));
        let texts = texts.chain(changes.policy_tests.iter().map(|tests| tests.suite.len()));
        let reports = changes.reports.iter().filter_map(ReportChange::text);
        let texts = texts.chain(reports.map(str::len));
        texts.sum::<usize>() + ROW * (changes.len() + deeds.len() + events.len())
    }
}

/// A deed to be sealed and what stores keep beside it.
#[derive(Debug, Clone)]
pub struct DeedEntry {
    /// What the deed says.
    pub draft: deed::Draft,
    /// What opens its commitments.
    pub disclosures: Vec<deed::Disclosure>,
    /// The agent that may read it; absent for what only the org sees.
    pub agent: Option<AgentId>,
    /// The action that it is about.
    pub action: Option<ActionId>,
}

/// The name of one attempt to append; it tells a turn that committed from one that did not when
/// the answer was lost.
pub type TurnId = Uuid;

/// What tells a head from every other: a version alone would let a memory from before a restore win
/// once the numbers meet again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeadMark {
    /// Its version.
    pub version: u64,
    /// The digest of the log's last deed.
    pub last: Digest,
}

impl Head {
    /// What it is told by.
    pub fn mark(&self) -> HeadMark {
        HeadMark { version: self.version, last: *self.chain.last() }
    }
}

/// Everything that one turn writes, as one transaction.
#[derive(Debug, Clone)]
pub struct Turn {
    /// The turn's name.
    pub id: TurnId,
    /// The org.
    pub org: OrgId,
    /// What the head must still be; absent for an org that must not exist yet.
    pub expected: Option<HeadMark>,
    /// The head after the turn.
    pub head: Head,
    /// The head before the turn, where the turn closes the log that it is of. All of the turn's
    /// deeds are then in the new log.
    pub closes: Option<Head>,
    /// The moment of the turn.
    pub at: Timestamp,
    /// Rows in their new form.
    pub changes: Changes,
    /// Sealed deeds, in order of the chain.
    pub deeds: Vec<PlacedDeed>,
    /// Events, in order.
    pub events: Vec<Event>,
}

/// A sealed deed and what stores keep beside it.
#[derive(Debug, Clone)]
pub struct PlacedDeed {
    /// The deed.
    pub sealed: deed::Sealed,
    /// What opens its commitments.
    pub disclosures: Vec<deed::Disclosure>,
    /// The agent that may read it.
    pub agent: Option<AgentId>,
    /// The action that it is about.
    pub action: Option<ActionId>,
}
