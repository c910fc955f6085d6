//! Who is written to about what orgs ask: the Gate knows who may answer.

use async_trait::async_trait;
use gate::Gate;
use ledger::StoreDown;
use model::{ApprovalId, MemberId, OrgId, State};

/// Those who may answer, as the Gate knows them.
#[derive(Debug)]
pub struct Deciders {
    /// Where questions wait.
    pub gate: Gate,
}

#[async_trait]
impl people::Deciders for Deciders {
    async fn deciders(
        &self,
        org: OrgId,
        approval: ApprovalId,
        most: usize,
    ) -> Result<Vec<MemberId>, StoreDown> {
        let Some(found) = self.gate.approval(org, approval).await? else { return Ok(Vec::new()) };
        if found.action.state != State::PendingApproval {
            return Ok(Vec::new());
        }
        let members = self.gate.eligible(&found.action, most).await?;
        Ok(members.into_iter().map(|member| member.id).collect())
    }
}
