//! The first screen as numbers: what went on in a window and the one before it, who acted last, and
//! what needs attention. Only the numbers are cached, for ten seconds, so that a stop, a start or a
//! decision is seen at once.

mod attention;
pub(crate) mod cache;

use std::sync::Arc;

use act::{ActError, MayView};
use admin::ChangeError;
use gate::{Filter, Span, Tally};
use ledger::StoreDown;
use model::{AgentId, OrgId};
use policy::Window;

use self::cache::{Acted, CACHED_FOR, Figures};
use crate::{
    access::Viewer,
    app::App,
    refusal::CallError,
    wire::{
        figures::buckets,
        overview::{AgentView, Back, OverviewView, TodayView, Totals, TotalsView, WindowView},
    },
};

/// The most agents that are shown.
const AGENTS: usize = 8;

impl App {
    /// The overview of the caller's org.
    pub(crate) async fn overview(
        &self,
        caller: &Viewer,
        back: Back,
    ) -> Result<OverviewView, CallError> {
        let org = caller.org();
        let snapshot = self.gate.ledger().look(org).await?;
        let zone = snapshot.org().map_or("UTC", |org| &*org.time_zone);
        let figures = self.figures(org, back, zone).await?;
        let Figures { window, complete, totals, previous, series, agents } = (*figures).clone();
        let waiting = self.gate.waiting(org, attention::MOST).await?;
        Ok(OverviewView {
            object: "overview",
            window,
            complete,
            totals: TotalsView { totals, pending_approvals: waiting.count },
            previous,
            series,
            agents: self.agents(caller, agents).await?,
            attention: self.attention(caller, (&snapshot, &waiting), window.from).await?,
        })
    }

    /// The numbers of an org, counted now or lately.
    async fn figures(&self, org: OrgId, back: Back, zone: &str) -> Result<Arc<Figures>, StoreDown> {
        let now = self.clock.elapsed();
        let entry = self.overviews.entry(org, back, now);
        let mut made = entry.lock().await;
        if let Some((at, figures)) = &*made
            && now < *at + CACHED_FOR
        {
            return Ok(Arc::clone(figures));
        }
        let figures = Arc::new(self.count(org, back, zone).await?);
        *made = Some((now, Arc::clone(&figures)));
        Ok(figures)
    }

    async fn count(&self, org: OrgId, back: Back, zone: &str) -> Result<Figures, StoreDown> {
        let now = self.clock.now();
        let (bucket, length) = (back.bucket(), back.length());
        let step = bucket.length();
        // The bucket that is not over yet is the last one.
        let to = Span::around(now, now, step).to;
        let (from, before) = (to.before(length), to.before(length * 2));
        let both = Span { from: before, to, step };
        let counted = self.gate.counted(org, &Filter::default(), both).await?;
        let (now_tallies, before_tallies): (Vec<Tally>, Vec<Tally>) =
            counted.tallies.into_iter().partition(|tally| from <= tally.at);
        let mut agents = Vec::new();
        for (agent, last_action_at) in self.gate.last_to_act(org, AGENTS).await? {
            agents.push(Acted {
                agent,
                last_action_at,
                today: self.today(org, agent, zone).await?,
            });
        }
        Ok(Figures {
            window: WindowView { from, to, bucket },
            complete: counted.is_current,
            totals: Totals::of(&now_tallies),
            previous: Totals::of(&before_tallies),
            series: buckets(&now_tallies, Span { from, ..both }),
            agents,
        })
    }

    /// The agents that acted last, as they stand now.
    async fn agents(
        &self,
        caller: &Viewer,
        acted: Vec<Acted>,
    ) -> Result<Vec<AgentView>, CallError> {
        let now = self.clock.now();
        let mut shown = Vec::new();
        for Acted { agent: id, last_action_at, today } in acted {
            let agent = match self.admin.view(caller).agent(id).await {
                Ok(agent) => agent,
                Err(ChangeError::Act(ActError::NotFound(_))) => continue,
                Err(error) => return Err(error.into()),
            };
            shown.push(AgentView {
                id,
                name: agent.name.clone(),
                status: agent.status(now),
                last_action_at,
                today,
            });
        }
        Ok(shown)
    }

    /// The actions of an agent of the org since the day began there.
    pub(crate) async fn today_of(
        &self,
        org: OrgId,
        agent: AgentId,
    ) -> Result<TodayView, CallError> {
        let snapshot = self.gate.ledger().look(org).await?;
        let zone = snapshot.org().map_or("UTC", |org| &*org.time_zone);
        Ok(self.today(org, agent, zone).await?)
    }

    async fn today(&self, org: OrgId, agent: AgentId, zone: &str) -> Result<TodayView, StoreDown> {
        let now = self.clock.now();
        let start = Window::Day.around(now, zone).map_or(now, |(start, _)| start);
        let filter = Filter { agent: Some(agent), ..Filter::default() };
        let span = Span::around(start, now + gate::SLOT, gate::SLOT);
        let counted = self.gate.counted(org, &filter, span).await?;
        Ok(TodayView::of(&counted.tallies))
    }
}
