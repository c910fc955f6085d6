//! What needs attention, the most urgent first: kinds and facts, and no sentences but the witness's
//! own.

use std::time::Duration;

use act::MayView;
use delivery::Shown as Endpoint;
use gate::{Filter, Shown, Use, Waiting};
use ledger::{
    Snapshot,
    record::{Action, Connector, Witness},
};
use model::{EventType, Timestamp, Verdict, WebhookStatus};
use records::{CheckStatus, Entry, EntryFilter, Reader};
use serde_json::{Value, json};

use crate::{
    access::Viewer,
    app::App,
    health::OutOfReach,
    refusal::CallError,
    wire::{
        figures::BudgetUseView,
        ledger::chain_check,
        overview::{ItemKind, ItemView},
        policies::ProposalView,
    },
};

/// The most that is shown.
pub(super) const MOST: usize = 8;
/// How long before its end an approval counts as about to expire.
const SOON: Duration = Duration::from_mins(10);
/// So many connectors that are out of reach are shown: one host that is away may be behind all of them.
const LOST: usize = 3;
/// So many of the newest checks of logs are looked through.
const CHECKS: usize = 20;
/// So many connectors are looked at, and so many of the newest events of their change logs.
const CONNECTORS: usize = 100;
const SLOTS_TOLD: usize = 100;
/// So many of the newest amendments are looked through.
const AMENDED: usize = 100;

impl App {
    /// What needs attention in the caller's org.
    pub(super) async fn attention(
        &self,
        caller: &Viewer,
        (snapshot, waiting): (&Snapshot, &Waiting),
        from: Timestamp,
    ) -> Result<Vec<ItemView>, CallError> {
        let mut items = Vec::new();
        let mut add = |kind, data| items.push(ItemView { kind, data });
        if let Some(broken) = self.broken_chain(caller).await? {
            add(ItemKind::ChainBroken, broken);
        }
        if let Some(stop) = snapshot.org().and_then(|org| org.stop.as_ref()) {
            add(ItemKind::OrgStopped, json!(stop));
        }
        for lost in self.health.out_of_reach(caller.org()).into_iter().take(LOST) {
            add(ItemKind::ConnectorUnreachable, out_of_reach(&lost));
        }
        let (mut invalidated, mut lagging) = (Vec::new(), Vec::new());
        for (kind, data) in self.slots(caller).await? {
            if kind == EventType::WitnessSlotInvalidated {
                invalidated.push(data);
            } else {
                lagging.push(data);
            }
        }
        for data in invalidated {
            add(ItemKind::SlotInvalidated, data);
        }
        for data in lagging {
            add(ItemKind::SlotLagging, data);
        }
        let endpoints = self.webhooks.list(caller).await?;
        for endpoint in endpoints.iter().filter(|it| was_disabled_for_failing(it)) {
            add(ItemKind::WebhookDisabled, webhook(endpoint));
        }
        for endpoint in endpoints.iter().filter(|it| it.webhook.is_open() && !it.is_secret_readable)
        {
            add(ItemKind::WebhookSecretUnreadable, webhook(endpoint));
        }
        let odd =
            Filter { verdicts: vec![Verdict::Mismatch], from: Some(from), ..Filter::default() };
        for action in self.found_late(caller, from).await? {
            add(ItemKind::Mismatch, mismatch(&action));
        }
        for action in &self.gate.list(caller.org(), &odd, None, MOST).await?.actions {
            add(ItemKind::Mismatch, mismatch(action));
        }
        let soon = self.clock.now() + SOON;
        let (expiring, others): (Vec<&Action>, Vec<&Action>) =
            waiting.first.iter().partition(|action| expires_before(action, soon));
        for action in expiring {
            add(ItemKind::ApprovalExpiring, asked(action));
        }
        for waiting in &self.admin.view(caller).waiting_proposals().await? {
            add(ItemKind::ActivationWaits, json!(ProposalView::of(waiting)));
        }
        for near in &self.gate.budgets(caller.org(), (Shown::Near, None), MOST).await? {
            add(ItemKind::BudgetNear, budget(near));
        }
        for endpoint in endpoints.iter().filter(|it| it.status() == WebhookStatus::Failing) {
            add(ItemKind::WebhookFailing, webhook(endpoint));
        }
        for action in others {
            add(ItemKind::ApprovalWaiting, asked(action));
        }
        items.truncate(MOST);
        Ok(items)
    }

    /// The actions that were sealed as something else, and of which it became known that what was
    /// reported is not what was done.
    async fn found_late(&self, caller: &Viewer, from: Timestamp) -> Result<Vec<Action>, CallError> {
        let types = Some(vec![EventType::DeedAmended]);
        let filter = EntryFilter { types, from: Some(from), ..EntryFilter::default() };
        let reader = Reader { org: caller.org(), agent: None };
        let mut found = Vec::new();
        for entry in self.records.entries(reader, &filter, (None, AMENDED)).await? {
            let Some(id) = entry.event.action else { continue };
            let Some(action) = self.gate.action(caller.org(), id).await? else { continue };
            let is_odd = |witness: &Witness| witness.verdict == Verdict::Mismatch;
            let was_odd = action.witness.as_ref().is_some_and(is_odd);
            if !was_odd && action.amendment.as_ref().is_some_and(|later| is_odd(&later.witness)) {
                found.push(action);
            }
            if found.len() == MOST {
                break;
            }
        }
        Ok(found)
    }

    /// The connectors whose change logs were last told not to be read as they should be.
    async fn slots(&self, caller: &Viewer) -> Result<Vec<(EventType, Value)>, CallError> {
        let all = self.admin.view(caller).connectors(false, (None, CONNECTORS)).await?;
        let witnessed: Vec<_> = all.items.iter().filter(|it| it.witness.is_some()).collect();
        if witnessed.is_empty() {
            return Ok(Vec::new());
        }
        let filter = EntryFilter { types: Some(SLOT_EVENTS.to_vec()), ..EntryFilter::default() };
        let reader = Reader { org: caller.org(), agent: None };
        let told = self.records.entries(reader, &filter, (None, SLOTS_TOLD)).await?;
        let last = |connector: &&Connector| {
            let id = connector.id.to_string();
            told.iter().find(|entry| entry.event.object.get("id") == Some(&json!(id)))
        };
        let odd = witnessed.iter().filter_map(|it| Some((it, last(it)?)));
        let odd = odd.filter(|(_, entry)| entry.event.kind != EventType::WitnessSlotRecovered);
        Ok(odd.map(|(connector, entry)| (entry.event.kind, slot(connector, entry))).collect())
    }

    /// The check that found the log not to be as it was sealed, where none passed since; or that this
    /// instance knows the record to be behind what it has seen.
    async fn broken_chain(&self, caller: &Viewer) -> Result<Option<Value>, CallError> {
        let checks = self.records.checks(caller.org(), None, CHECKS).await?;
        let ended = checks.iter().find(|check| check.finished_at.is_some());
        let failed = ended.filter(|check| check.status == CheckStatus::Failed);
        let withheld = self.gate.ledger().withheld().contains(&caller.org());
        let found = failed.map(chain_check);
        Ok((withheld || found.is_some()).then(|| json!({ "withheld": withheld, "check": found })))
    }
}

/// What tells of the slot of a change log.
const SLOT_EVENTS: [EventType; 4] = [
    EventType::WitnessSlotLagging,
    EventType::WitnessSlotStalled,
    EventType::WitnessSlotRecovered,
    EventType::WitnessSlotInvalidated,
];

fn slot(connector: &Connector, entry: &Entry) -> Value {
    let object = &entry.event.object;
    json!({
        "connector": connector.id,
        "name": connector.name,
        "state": object.get("state"),
        "cause": object.get("cause"),
        "at": entry.event.created_at,
    })
}

/// Whether the service disabled the endpoint because it accepted nothing for too long.
fn was_disabled_for_failing(endpoint: &Endpoint) -> bool {
    endpoint.webhook.disabled.is_some_and(|disabled| disabled.is_failed)
}

fn webhook(endpoint: &Endpoint) -> Value {
    let Endpoint { webhook, state, disables_at, .. } = endpoint;
    json!({
        "webhook_endpoint": webhook.id,
        "url": webhook.url,
        "failing_since": state.lane.failing_since,
        "disables_at": disables_at,
        "disabled_at": webhook.disabled.map(|disabled| disabled.at),
    })
}

fn out_of_reach(lost: &OutOfReach) -> Value {
    let OutOfReach { connector, name, code, message, .. } = lost;
    json!({ "connector": connector, "name": name, "code": code, "message": message })
}

fn mismatch(action: &Action) -> Value {
    let later = action.amendment.as_deref().map(|amendment| &amendment.witness);
    let witness = later.into_iter().chain(&action.witness);
    let mut odd = witness.filter(|witness| witness.verdict == Verdict::Mismatch);
    json!({
        "action": action.id,
        "agent": action.agent.id,
        "tool": action.tool,
        "created_at": action.created_at,
        "summary": odd.next().map(|witness| &witness.summary),
    })
}

fn expires_before(action: &Action, moment: Timestamp) -> bool {
    action.approval.as_ref().is_some_and(|approval| approval.expires_at < moment)
}

fn asked(action: &Action) -> Value {
    let approval = action.approval.as_ref();
    json!({
        "action": action.id,
        "agent": action.agent.id,
        "tool": action.tool,
        "approval": approval.map(|approval| approval.id),
        "expires_at": approval.map(|approval| approval.expires_at),
    })
}

fn budget(near: &Use) -> Value {
    json!(BudgetUseView::from(near))
}
