//! What would come of a call. Nothing is recorded, reserved or run.

use std::sync::Arc;

use act::ActError;
use ledger::{
    CounterScope, Entry, Needs, Request, Snapshot,
    record::{Agent, PolicyMode},
};
use model::{DecisionCode, DecisionSource, Mint, PolicyId, PolicyVersionId, Timestamp, Visibility};
use policy::{Call, Charge, Decimal, Decision, Explanation, Policy, Show};

use super::Text;
use crate::{OrgView, PolicyError};

/// A call that nobody makes.
#[derive(Debug, Clone)]
pub struct DryCall {
    /// The call. Of its agent only the id counts: the rest, the moment and the zone are what the
    /// org's record says.
    pub call: Call,
    /// When; now if absent.
    pub at: Option<Timestamp>,
    /// The policy that is asked; the enforced one if absent.
    pub text: Option<Text>,
    /// What budgets have been charged already.
    pub counters: Counters,
}

/// What the budgets of a dry run have been charged already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counters {
    /// What they have been charged in truth; a draft has been charged nothing.
    Live,
    /// Nothing.
    Empty,
}

/// What would come of a call.
#[derive(Debug, Clone)]
pub struct DryRun {
    /// The version that was asked; `None` for a draft.
    pub version: Option<(PolicyId, PolicyVersionId)>,
    /// The digest of its document.
    pub digest: model::Digest,
    /// The moment that was decided at.
    pub now: Timestamp,
    /// The decision with the budgets' say in it.
    pub decision: Decision,
    /// How the policy came to its own decision.
    pub explanation: Explanation,
    /// The budgets that the call would be charged to.
    pub budgets: Vec<BudgetState>,
    /// Whether the agent is shown the tool, and the rule that says so.
    pub visibility: (Visibility, Option<String>),
}

/// How a budget stands towards a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BudgetState {
    /// What the call would take.
    pub charge: Charge,
    /// What the window has been charged already.
    pub used: Decimal,
    /// Whether it would admit the call.
    pub would_admit: bool,
}

impl OrgView<'_> {
    /// What would come of a call.
    pub async fn dry_run(&self, dry: DryCall) -> Result<DryRun, PolicyError> {
        let snapshot = self.admin.parts.ledger.look(self.org).await?;
        let zone = snapshot.org().ok_or(ActError::NotFound("org"))?.time_zone.clone();
        let agent = self.admin.parts.store.agent(self.org, dry.call.agent.id).await?;
        let agent = agent.ok_or(ActError::NotFound("agent"))?;
        let now = dry.at.unwrap_or_else(|| snapshot.now());
        let (policy, version) = self.asked(dry.text, &snapshot).await?;
        let policy = policy.as_ref();
        let call = Call { agent: described(agent), now, zone, ..dry.call };
        let explanation = policy::explain(policy, &call, Show::Values);
        let scope = version.filter(|_| dry.counters == Counters::Live).map(|(policy, _)| {
            CounterScope { mode: PolicyMode::Enforce, policy, livemode: call.facts.livemode }
        });
        let budgets = self.budgets(&explanation.decision.charges, scope).await?;
        let (visibility, rule) = policy::visibility(policy, &call.tool);
        Ok(DryRun {
            version,
            digest: policy.digest(),
            now,
            decision: with_budgets(&explanation.decision, &budgets),
            visibility: (visibility, rule.map(str::to_owned)),
            explanation,
            budgets,
        })
    }

    /// The policy that is asked, and which version it is.
    async fn asked(
        &self,
        text: Option<Text>,
        snapshot: &Snapshot,
    ) -> Result<(Arc<Policy>, Option<(PolicyId, PolicyVersionId)>), PolicyError> {
        let Some(text) = text else {
            let enforced = snapshot.policy(ledger::record::PolicyMode::Enforce);
            let unreadable = ActError::Conflict("the enforced policy could not be read");
            let enforced = enforced.ok_or(ActError::NotFound("enforced policy"))?;
            let policy = enforced.policy.clone().ok_or(unreadable)?;
            let version = (enforced.active.policy, enforced.active.version);
            return Ok((policy, Some(version)));
        };
        let id = match &text {
            Text::Version(id) => Some(*id),
            Text::Draft(_) => None,
        };
        let (document, of) = self.text(text).await?;
        let policy = Policy::compile(&document).map_err(PolicyError::Invalid)?;
        Ok((Arc::new(policy), of.zip(id)))
    }

    /// How the budgets stand; without a scope nothing has been charged to them.
    async fn budgets(
        &self,
        charges: &[Charge],
        scope: Option<CounterScope>,
    ) -> Result<Vec<BudgetState>, ActError> {
        let keys: Vec<_> = scope
            .iter()
            .flat_map(|scope| charges.iter().map(|charge| (scope.key(charge), charge.window_start)))
            .collect();
        let mut used = if keys.is_empty() {
            Vec::new()
        } else {
            self.admin.parts.ledger.enter(self.org, Used(keys)).await?
        };
        used.resize(charges.len(), Decimal::ZERO);
        let state = |(charge, used): (&Charge, Decimal)| BudgetState {
            charge: charge.clone(),
            used,
            would_admit: charge.admitted(used).is_some(),
        };
        Ok(charges.iter().zip(used).map(state).collect())
    }
}

/// Asks a turn how much counters stand at; it changes nothing.
struct Used(Vec<(String, Timestamp)>);

impl Request for Used {
    type Answer = Vec<Decimal>;

    fn needs(&self, _: &Snapshot) -> Needs {
        Needs { budgets: self.0.iter().cloned().collect(), ..Needs::default() }
    }

    fn decide(&self, at: &Snapshot, _: &Mint<'_>) -> (Entry, Self::Answer) {
        (Entry::nothing(), self.0.iter().map(|(key, start)| at.used(key, *start)).collect())
    }
}

fn described(agent: Agent) -> policy::Agent {
    policy::Agent { id: agent.id, name: agent.name, labels: agent.labels }
}

/// The decision, or the refusal of a budget that would not admit the call.
fn with_budgets(decision: &Decision, budgets: &[BudgetState]) -> Decision {
    if budgets.iter().all(|budget| budget.would_admit) {
        return decision.clone();
    }
    Decision::refused(DecisionCode::BudgetExceeded, DecisionSource::Budget)
}
