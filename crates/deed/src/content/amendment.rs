//! The content of an amendment: what became known of an action after its deed was sealed.
//!
//! The first deed never changes; who wants the present view reads it with its amendments, in
//! the order of the log.

use model::{DeedId, Digest};
use serde::{Deserialize, Serialize};

use super::run::{Execution, Witness};

/// What became known of an action later.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AmendmentContent {
    /// The deed that it amends.
    pub amends: Amended,
    /// What stands now where it differs; at least one member is not null.
    pub changes: Changes,
    /// Which amendment of that deed this is, from 1.
    pub n: u32,
    /// Why there is one.
    pub reason: AmendmentReason,
}

/// The deed that an amendment amends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Amended {
    /// Its digest.
    pub digest: Digest,
    /// Its id.
    pub id: DeedId,
    /// Its place in the log.
    pub seq: u64,
}

/// Why there is an amendment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AmendmentReason {
    /// Evidence came after the deed was sealed.
    LateEvidence,
    /// The deed said something wrong.
    Correction,
}

/// What stands now where it differs from the first deed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Changes {
    /// The run as it is known now.
    pub execution: Option<Execution>,
    /// The witness's finding as it is now.
    pub witness: Option<Witness>,
}
