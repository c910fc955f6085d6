//! Reading what was recorded: an org's log of deeds, proofs over its tree, its checkpoints, and
//! whether it still is what was signed for. It changes nothing that a deed speaks of; what changes
//! an org's truth is in `gate` and `admin`.
//!
//! [`LogStore`] is what all of it rests on: the head, the stored hashes of the tree, and the rows
//! of deeds as they stand. [`inclusion`] and [`consistency`] make proofs of stored hashes,
//! [`compare`] says whether a log grew from a checkpoint that somebody kept. [`Records`] puts them
//! together for whoever asks.

mod check;
mod check_store;
mod checker;
mod deeds;
mod entries;
mod guard;
mod kept;
mod proof;
mod read_out;
mod records;
mod recovery;
mod store;
mod walk;

pub use check::{ChainCheck, CheckStatus};
pub use check_store::{CheckRequest, CheckStore};
pub use checker::{AskError, Part, Position, Walked};
pub use deeds::{CallFilter, DeedFilter, DeedStore, OpenDeed, Subject, Window};
pub use entries::{By, Entry, EntryFilter, EntryKind, EntryStore};
pub use guard::{LogError, compare};
pub use proof::{ProofError, consistency, inclusion};
pub use read_out::{LogLine, ReadOut, ReadRange};
pub use records::{Growth, ReadError, Reader, Records, Store};
pub use recovery::{Remembered, judge};
pub use store::{
    Away, AwayTiles, DeedRow, LogHead, LogSize, LogStore, Logs, Misfit, OrgLog, SignedCheckpoint,
    Span, Standing, Stray,
};
pub use walk::{Fault, Problem};

#[cfg(test)]
mod tests;
