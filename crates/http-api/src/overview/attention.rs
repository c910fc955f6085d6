//! What wants a person's eye, the gravest first: kinds and facts, and no sentences but the witness's
//! own.

use std::time::Duration;

use act::MayView;
use gate::{Filter, Shown, Use, Waiting};
use ledger::{Snapshot, record::Action};
use model::{Timestamp, Verdict};
use records::CheckStatus;
use serde::Serialize;
use serde_json::{Value, json};

use crate::{
    access::Viewer,
    app::App,
    refusal::CallError,
    wire::{figures::BudgetUseView, ledger::chain_check},
};

/// The most that is shown.
pub(super) const MOST: usize = 8;
/// How long before its end a question is shown here.
pub(super) const SOON: Duration = Duration::from_mins(10);
/// So many of the newest checks of logs are looked through.
const CHECKS: usize = 20;

/// What something that wants an eye is about; the gravest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    ChainBroken,
    OrgStopped,
    Mismatch,
    ApprovalExpiring,
    BudgetNear,
}

/// Something that wants an eye.
#[derive(Debug, Serialize)]
pub(super) struct ItemView {
    kind: Kind,
    data: Value,
}

impl App {
    /// What wants an eye in the caller's org.
    pub(super) async fn attention(
        &self,
        caller: &Viewer,
        (snapshot, waiting): (&Snapshot, &Waiting),
        from: Timestamp,
    ) -> Result<Vec<ItemView>, CallError> {
        let mut items = Vec::new();
        let mut add = |kind, data| items.push(ItemView { kind, data });
        if let Some(broken) = self.broken_chain(caller).await? {
            add(Kind::ChainBroken, broken);
        }
        if let Some(stop) = snapshot.org().and_then(|org| org.stop.as_ref()) {
            add(Kind::OrgStopped, json!(stop));
        }
        let odd =
            Filter { verdicts: vec![Verdict::Mismatch], from: Some(from), ..Filter::default() };
        for action in &self.gate.list(caller.org(), &odd, None, MOST).await?.actions {
            add(Kind::Mismatch, mismatch(action));
        }
        for action in &waiting.ending {
            add(Kind::ApprovalExpiring, expiring(action));
        }
        for near in &self.gate.budgets(caller.org(), (Shown::Near, None), MOST).await? {
            add(Kind::BudgetNear, budget(near));
        }
        items.truncate(MOST);
        Ok(items)
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

fn mismatch(action: &Action) -> Value {
    let witness = action.witness.as_ref();
    json!({
        "action": action.id,
        "agent": action.agent.id,
        "tool": action.tool,
        "created_at": action.created_at,
        "summary": witness.map(|witness| &witness.summary),
    })
}

fn expiring(action: &Action) -> Value {
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
