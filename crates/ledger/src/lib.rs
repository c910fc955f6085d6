//! One head, one turn: how an org's truth changes.
//!
//! An org has one head: the place of its last deed, the place of its last event and a version.
//! Whoever wants to change the org's truth hands a [`Request`] to [`Ledger::enter`]. A *turn*
//! takes all requests that queued while the last one committed, loads what they need to know into
//! a [`Snapshot`], lets each decide in order (a pure function), seals the deeds, and appends
//! everything in one transaction that holds only if the head has not moved since. Lost that
//! race: the snapshot is thrown away and the same requests decide again. While one turn commits, the
//! next is drafted on top of it. Where others write the same org, the head is held in order.
//!
//! That compare-and-set is all that lets a turn in. A start and a Stop move the same head, so
//! nothing starts after a Stop has been answered; budgets, reports, expiry and revocation need no
//! other scheme. Event order is deed order is commit order.
//!
//! Nothing here does IO: the store comes in as [`LedgerStore`], time as `model::Clock`,
//! randomness as `model::Entropy`, and tasks as [`Spawn`].

mod batch;
mod commit;
mod counter;
mod data;
mod draft;
mod drive;
mod families;
mod figures;
mod ledger;
mod means;
mod notice;
mod place;
mod policies;
mod queue;
pub mod record;
mod request;
mod seen;
mod snapshot;
mod store;
mod turn;

pub use counter::CounterScope;
pub use data::{Base, DeedEntry, Entry, Head, HeadMark, LoadedPolicy, PlacedDeed, Turn, TurnId};
pub use families::{Changes, Loaded, Needs};
pub use figures::{Backlog, Figures};
pub use ledger::Ledger;
pub use means::{Parts, Spawn};
pub use notice::{Notice, Notices};
pub use place::{LogNo, Place};
pub use request::Request;
pub use snapshot::Snapshot;
pub use store::{
    AppendError, EventStore, HeldHead, HeldOrg, LedgerError, LedgerStore, StoreDown, TurnLock,
};
