//! What governed databases' change logs say, read and kept.
//!
//! A [`Follower`] reads one connector's log through a [`ChangeSource`], says whose each transaction is,
//! and keeps that with how far it read in an [`EvidenceStore`], both in one step that holds only for
//! who has the connector's lease. It knows no database and keeps no time of its own.
//!
//! The log is read in unbroken stretches, the epochs. Whatever could have hidden a transaction ends an
//! epoch and is kept as a gap with its cause: the slot is gone or was moved by somebody else, another
//! server answers, what is published was changed. Within an epoch nothing is missing, and that is what
//! [`told`] rests on when it says that a run was never committed.

mod follow;
mod images;
mod judge;
mod pace;
mod points;
mod reconcile;
mod record;
mod source;
mod store;
mod told;

pub use follow::{FollowError, Follower, Parts, Turn};
pub use images::Images;
pub use judge::Tally;
pub use pace::{Pace, PaceLimits, owed};
pub use reconcile::{Misfits, Reconciler};
pub use record::{FrameRecord, FrameRecordError};
pub use source::{ChangeSource, LedgerEnd, LedgerRow, Read, Sight, Slot, SourceError};
pub use store::{
    Began, EvidenceStore, Following, Gap, Held, KeptFor, Lease, Of, Step, StoredFrame, Written,
    known,
};
pub use told::{Evidence, frame_of, told};

#[cfg(test)]
mod tests;
