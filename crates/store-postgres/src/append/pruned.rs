//! What retention removes: the texts that open commitments. Deeds stay as they are.

use ledger::{Change, Turn};

use super::Step;
use crate::database::Call;

/// Returns the statements that remove what the turn prunes. It comes before what the turn adds.
pub(crate) fn steps(turn: &Turn) -> impl Iterator<Item = Step<'_>> {
    let pruned = turn.changes.iter().filter_map(|change| match change {
        Change::PayloadsPruned(pruned) => Some(pruned),
        Change::Org(_)
        | Change::Agent(_)
        | Change::ApiKey(_)
        | Change::Policy(_)
        | Change::PolicyVersion(_)
        | Change::PolicyActivation(_)
        | Change::PolicyTests(_)
        | Change::Activation(_)
        | Change::ShadowEnded
        | Change::Connector(_)
        | Change::ActionBegun(..)
        | Change::ActionMoved(_)
        | Change::Known(_)
        | Change::Budget(_) => None,
    });
    pruned.map(|pruned| {
        let sql = "delete from disclosure where org_id = $1 and owner_id = any($2::uuid[])";
        let actions = pruned.actions.iter().map(|id| *id.as_uuid());
        let owners: Vec<_> = actions.chain(pruned.deeds.iter().map(|id| *id.as_uuid())).collect();
        Step::rows(Call::new(sql).with(*turn.org.as_uuid()).with(owners))
    })
}
