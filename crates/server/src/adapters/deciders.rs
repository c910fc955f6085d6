//! Who is written to about what orgs ask: the Gate knows who may answer, and people their addresses.

use std::{collections::BTreeMap, sync::Arc};

use async_trait::async_trait;
use gate::{AddressBook, Gate};
use ledger::StoreDown;
use model::{ApprovalId, MemberId, OrgId, State, UserId};
use people::People;

/// Those who may answer, as the Gate knows them.
#[derive(Debug)]
pub struct Deciders {
    /// Where questions wait.
    pub gate: Gate,
    /// Where addresses are.
    pub people: Arc<People>,
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
        let members = self.gate.eligible(&found.action, self, most).await?;
        Ok(members.into_iter().map(|member| member.id).collect())
    }
}

#[async_trait]
impl AddressBook for Deciders {
    async fn addresses(&self, users: &[UserId]) -> Result<BTreeMap<UserId, String>, StoreDown> {
        let found = self.people.addresses(users).await?.into_iter();
        Ok(found.map(|(user, address)| (user, address.as_str().to_owned())).collect())
    }
}
