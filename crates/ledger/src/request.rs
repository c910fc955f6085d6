//! What a request is: it says what it must know, and decides once it knows it.

use model::Mint;

use crate::{data::Entry, families::Needs, snapshot::Snapshot};

/// Something that somebody wants of an org, decided inside a turn.
pub trait Request: Send + 'static {
    /// What the one who asked is told once the turn is durable.
    type Answer: Send + 'static;

    /// What must be loaded before the request can decide.
    ///
    /// Asked again after each load until it names nothing new, so that a need may follow from
    /// what was loaded (which budgets, once the policy is known).
    fn needs(&self, snapshot: &Snapshot) -> Needs;

    /// Decides. Pure: it may be asked again on a newer snapshot, and only the last entry counts.
    fn decide(&self, snapshot: &Snapshot, mint: &Mint<'_>) -> (Entry, Self::Answer);
}
