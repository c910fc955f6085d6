//! Deeds by their places, their ids and what they are about.

use std::ops::Range;

use async_trait::async_trait;
use deed::{Body, BodyError, Disclosure, LogOrigin, ShownIntent};
use ledger::{Place, StoreDown, record::SignedIntent};
use model::{ActionId, AgentId, DeedId, DeedKind, OrgId, Timestamp, Verdict};

use crate::{
    Records,
    records::{ReadError, Reader},
    store::DeedRow,
};

/// What a list of deeds shows; every absent filter lets everything through.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DeedFilter {
    /// Of one of these kinds; empty lets every kind through.
    pub kinds: Vec<DeedKind>,
    /// About this.
    pub subject: Option<Subject>,
    /// Of this agent.
    pub agent: Option<AgentId>,
    /// About actions that pass this.
    pub calls: CallFilter,
    /// Sealed at or after this moment.
    pub from: Option<Timestamp>,
    /// Sealed before this moment.
    pub to: Option<Timestamp>,
    /// In this log; with places but without a log, the open one is meant.
    pub log: Option<LogOrigin>,
    /// At or behind this place of the log.
    pub from_seq: Option<u64>,
    /// Before this place of the log.
    pub end_seq: Option<u64>,
}

/// What a deed or an event is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    /// An action.
    Action(ActionId),
    /// Anything else, by its id.
    Other(String),
}

/// Which actions are asked for.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CallFilter {
    /// Of tools that this glob covers.
    pub tool: Option<policy::Glob>,
    /// With one of these verdicts.
    pub verdicts: Vec<Verdict>,
    /// With this text in the tool's name.
    pub text: Option<String>,
}

impl CallFilter {
    /// Whether every action passes, and what is about no action too.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Which deeds of a list come next, newest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// The places that are looked at.
    pub places: (u64, u64),
    /// The most that are wanted.
    pub limit: usize,
}

impl Window {
    /// The places as a range.
    pub fn range(&self) -> Range<u64> {
        self.places.0..self.places.1
    }
}

/// A deed with what opens its commitments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenDeed {
    /// The deed.
    pub row: DeedRow,
    /// The texts that open its commitments, as far as retention left them.
    pub disclosures: Vec<Disclosure>,
}

impl OpenDeed {
    /// The deed's body, read strictly, so that a row that somebody changed is an error.
    pub fn body(&self) -> Result<Body, BodyError> {
        Body::read(self.row.body.as_bytes())
    }
}

/// Where deeds are found.
#[async_trait]
pub trait DeedStore: Send + Sync {
    /// The place of the first deed that was sealed at or after this moment.
    async fn place_at(&self, org: OrgId, moment: Timestamp) -> Result<Place, StoreDown>;

    /// Returns deeds of the window that the filter lets through, newest first. The filter's own
    /// moments, log and places are not looked at: the window has them, as numbers of places among
    /// all deeds of the org.
    async fn deeds(
        &self,
        org: OrgId,
        filter: &DeedFilter,
        window: Window,
    ) -> Result<Vec<DeedRow>, StoreDown>;

    /// A deed.
    async fn deed(&self, org: OrgId, id: DeedId) -> Result<Option<OpenDeed>, StoreDown>;

    /// The deeds with what opens their commitments.
    async fn opened(&self, org: OrgId, rows: Vec<DeedRow>) -> Result<Vec<OpenDeed>, StoreDown>;

    /// Every deed about an action, in the order of their places.
    async fn deeds_about(&self, org: OrgId, action: ActionId) -> Result<Vec<OpenDeed>, StoreDown>;

    /// The signed intent that the action began with, if it was verified.
    async fn signed_intent(
        &self,
        org: OrgId,
        action: ActionId,
    ) -> Result<Option<SignedIntent>, StoreDown>;
}

impl Records {
    /// The amendments of a deed, in the order of their log.
    pub async fn amendments_of(
        &self,
        reader: Reader,
        deed: &DeedRow,
    ) -> Result<Vec<DeedId>, ReadError> {
        let Some(action) = deed.action.filter(|_| deed.kind == DeedKind::Action.as_str()) else {
            return Ok(Vec::new());
        };
        let about = self.store.deeds_about(reader.org, action).await?;
        let is_one = |row: &DeedRow| {
            row.kind == DeedKind::Amendment.as_str()
                && row.log_no == deed.log_no
                && reader.agent.is_none_or(|own| row.agent == Some(own))
        };
        Ok(about.iter().map(|it| &it.row).filter(|row| is_one(row)).map(|row| row.id).collect())
    }

    /// What the agent signed, of a deed about an action that it signed.
    pub(crate) async fn intent_of(
        &self,
        org: OrgId,
        deed: &DeedRow,
    ) -> Result<Option<ShownIntent>, StoreDown> {
        let Some(action) = deed.action.filter(|_| deed.kind == DeedKind::Action.as_str()) else {
            return Ok(None);
        };
        let signed = self.store.signed_intent(org, action).await?;
        Ok(signed.map(|SignedIntent { jws, public_key, .. }| ShownIntent { jws, public_key }))
    }
}
