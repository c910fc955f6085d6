//! Ends the actions whose approvals a Stop, or the end of their agent, made void, and tells what of an
//! agent or an org is under way.

use futures_util::{StreamExt, stream};
use ledger::{
    Changes, Entry, Needs, Request, Snapshot, StoreDown,
    record::{Agent, Org},
};
use model::{ActionId, AgentId, Mint, OrgId};

use crate::{
    gate::Gate,
    recover::{PAGE, SweepError},
    store::{UnderWay, Voiding},
    withdraw::End,
};

impl Gate {
    /// Up to `limit` calls of the org, or of one agent of it, that run or may run at their edge at
    /// this moment, and how many there are.
    pub async fn under_way(
        &self,
        org: OrgId,
        agent: Option<AgentId>,
        limit: usize,
    ) -> Result<UnderWay, StoreDown> {
        self.parts.store.under_way(org, agent, limit).await
    }

    /// Ends what waits for an approval that is void, and returns how many actions were looked at.
    /// An org whose log cannot be written holds up no other; the first such error comes back.
    pub(crate) async fn end_void(&self) -> Result<usize, SweepError> {
        let (mut looked, mut failed) = (0, None);
        for voiding in self.parts.store.voiding(PAGE).await? {
            match self.end_voided(&voiding).await {
                Ok(ended) => looked += ended,
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        failed.map_or(Ok(looked), Err)
    }

    /// Ends the first calls that a change has just made void, as many as are ended together; the sweep
    /// ends all others. Whoever made the change soon sees that nothing waits.
    pub async fn end_first_void(&self, voiding: &Voiding) -> Result<(), SweepError> {
        self.end_page(voiding, None).await.map(drop)
    }

    async fn end_page(
        &self,
        voiding: &Voiding,
        after: Option<ActionId>,
    ) -> Result<Vec<ActionId>, SweepError> {
        let page = self.parts.store.void(voiding, after, PAGE).await?;
        let enter = |action| self.parts.ledger.enter(voiding.org, End { action });
        let mut ends = stream::iter(page.iter().copied().map(enter)).buffer_unordered(PAGE);
        while let Some(end) = ends.next().await {
            end?;
        }
        drop(ends);
        Ok(page)
    }

    async fn end_voided(&self, voiding: &Voiding) -> Result<usize, SweepError> {
        let (mut after, mut looked) = (None, 0);
        loop {
            let page = self.end_page(voiding, after).await?;
            looked += page.len();
            after = page.last().copied();
            if page.len() < PAGE {
                break;
            }
        }
        self.parts.ledger.enter(voiding.org, Done(voiding.clone())).await?;
        Ok(looked)
    }
}

/// Takes the note away that approvals are void, as none of them waits any more: what was recorded up
/// to that moment was there when they were looked for.
struct Done(Voiding);

impl Request for Done {
    type Answer = ();

    fn needs(&self, _: &Snapshot) -> Needs {
        Needs { agents: self.0.agent.into_iter().collect(), ..Needs::default() }
    }

    fn decide(&self, snapshot: &Snapshot, _: &Mint<'_>) -> (Entry, ()) {
        let mut entry = Entry::nothing();
        let noted = Some(self.0.until);
        if let Some(id) = self.0.agent {
            let agent = snapshot.agent(id).filter(|agent| agent.voids == noted);
            let done = agent.map(|agent| Agent { voids: None, voided: None, ..agent.clone() });
            entry.changes.extend(done.map(Changes::from).unwrap_or_default());
        } else {
            let org = snapshot.org().filter(|org| org.voids == noted);
            let done = org.map(|org| Org { voids: None, voided: None, ..org.clone() });
            entry.changes.extend(done.map(Changes::from).unwrap_or_default());
        }
        (entry, ())
    }
}
