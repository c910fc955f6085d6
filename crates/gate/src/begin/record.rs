//! The changes, events and deeds of a call that was decided.

use std::sync::Arc;

use deed::{Path, commit_canonical};
use ledger::{
    Entry, Snapshot,
    record::{Action, AgentRef, DecisionInputs, NewAction},
};
use model::{ActionId, DecisionOutcome, EventType, IntentMode, Mint, State, Status};

use super::undecided::UndecidedCall;
use crate::{
    decide::Verdict,
    deed_of::seal,
    events::{approval_event, changed_event, event_of},
    link,
    permit::{AfterTurn, allow},
    vouch::looks,
};

impl UndecidedCall {
    /// Records the call as it was decided.
    pub(super) fn record(
        &self,
        verdict: Verdict,
        snapshot: &Snapshot,
        mint: &Mint<'_>,
    ) -> (Entry, AfterTurn) {
        let (request, disclosure) =
            commit_canonical(mint, Path::REQUEST, Arc::clone(self.case.args().text()));
        let mut disclosures = vec![disclosure];
        let mut action = self.action(&verdict, request, snapshot, mint);
        let mut entry = Entry::nothing();
        let news = self.case.news(snapshot);
        let news = news.map(|(change, told)| {
            // What is accepted in this turn is written behind it, and wins.
            entry.changes.extend(told);
            changed_event(&action, change, mint)
        });
        let (mut deeds, kind) = match verdict.decision.outcome {
            DecisionOutcome::Deny => {
                (action.state, action.status) = (State::Sealed, Status::Denied);
                (vec![seal(&mut action, mint)], EventType::ActionDenied)
            }
            DecisionOutcome::RequireApproval => {
                (action.state, action.status) = (State::PendingApproval, Status::PendingApproval);
                let (approval, shown) = self.approval((&verdict, &action), snapshot, mint);
                action.approval = Some(approval);
                disclosures.push(shown);
                (Vec::new(), EventType::ActionPendingApproval)
            }
            DecisionOutcome::Allow => {
                allow(&mut action, self.case.resolved(), (&self.instance, &self.limits), mint);
                entry.changes.accepted_tools.extend(self.case.accepts(snapshot));
                (Vec::new(), EventType::ActionCreated)
            }
        };
        entry.deeds.append(&mut deeds);
        entry.changes.budgets.extend(verdict.budgets);
        entry.changes.idempotency_keys.extend(self.row_of_key(&action));
        if action.signed.is_some() {
            entry.changes.idempotency_keys.extend(self.intent.burnt(self.agent(), action.id));
            entry.changes.used_intents.extend(self.intent.used(&action));
        }
        entry.events.push(event_of(&action, kind, mint));
        entry.events.extend(approval_event(&action, mint));
        entry.events.extend(news);
        entry.changes.approval_mails.extend(link::mail(&action, &self.limits, mint));
        let action = Arc::new(action);
        entry.changes.new_actions.push(NewAction { action: Arc::clone(&action), disclosures });
        (entry, AfterTurn::of(action, &self.case))
    }

    /// The action as it stands before the decision moved it.
    fn action(
        &self,
        verdict: &Verdict,
        request: deed::Commitment,
        snapshot: &Snapshot,
        mint: &Mint<'_>,
    ) -> Action {
        let (call, resolved) = (self.case.call(), self.case.resolved());
        let agent = snapshot.agent(call.agent.id);
        let intent_mode = agent.map_or(IntentMode::Required, |agent| agent.intent_mode);
        Action {
            id: mint.id(ActionId::from_uuid),
            org: self.org,
            agent: AgentRef {
                id: call.agent.id,
                name: agent.map(|agent| agent.name.clone()).unwrap_or_default(),
            },
            key: self.key,
            livemode: call.facts.livemode,
            created_at: mint.now(),
            tool: call.tool.clone(),
            tool_digest: resolved.digest(),
            side_effect: resolved.side_effect(),
            connector: resolved.connector().cloned(),
            mode: call.facts.mode,
            state: State::Executing,
            status: Status::Processing,
            on_behalf_of: call.facts.on_behalf_of.clone(),
            session: call.facts.session.clone(),
            client: self.client.clone(),
            transport: call.facts.transport.clone(),
            intent_mode,
            intent: match (self.intent.is_sent(), looks(intent_mode)) {
                (true, true) => deed::IntentStatus::Verified,
                (true, false) => deed::IntentStatus::Ignored,
                (false, _) => deed::IntentStatus::Absent,
            },
            signed: self.intent.signed().filter(|_| looks(intent_mode)),
            decision: verdict.decision.clone(),
            inputs: DecisionInputs {
                now: mint.now(),
                agent_labels: agent.map(|agent| agent.labels.clone()).unwrap_or_default(),
                schema_digest: resolved.schema_digest(),
                tool_changed: self.case.tool_changed(snapshot),
            },
            approval: None,
            execution: None,
            witness: None,
            required_level: resolved.required_level(),
            cost: verdict.cost.clone(),
            charged: verdict.charged.clone(),
            request_digest: self.request_digest,
            request,
            result_digest: None,
            payload_pruned_at: None,
            deadline: None,
            deed: None,
            lease: None,
            place: None,
            amendment: None,
        }
    }
}
