//! What retention removes: the texts that open commitments. Deeds stay as they are.

use ledger::record::Pruned;
use model::OrgId;

use super::Step;
use crate::database::Call;

/// The statements that remove what the turn prunes. It comes before what the turn adds.
pub(crate) fn steps(org: OrgId, pruned: &[Pruned]) -> impl Iterator<Item = Step<'_>> {
    pruned.iter().map(move |pruned| {
        let sql = "delete from disclosure where org_id = $1 and owner_id = any($2::uuid[])";
        let actions = pruned.actions.iter().map(|id| *id.as_uuid());
        let owners: Vec<_> = actions.chain(pruned.deeds.iter().map(|id| *id.as_uuid())).collect();
        Step::rows(Call::new(sql).with(*org.as_uuid()).with(owners))
    })
}
