//! What the demo's agent does: it reads, it refunds, it is refused; and every deed of it is
//! checked offline by the published keys.

use deed::verify::Trust;
use model::{Conclusion, Level, Status, Verdict};
use policy::Decimal;
use serde_json::{Value, json};

use super::client::Client;
use crate::{exit::Failure, print, verbs::verify_verdict};

/// What happened to one call.
#[derive(Debug)]
pub(super) struct Told {
    pub(super) tool: String,
    pub(super) action: String,
    pub(super) status: String,
    /// What the witness concluded, or the sentence of the refusal.
    pub(super) end: String,
    pub(super) deed: String,
    /// What the offline check of the deed came to.
    pub(super) check: String,
}

/// Sends the calls of the story, checks their deeds, and returns what happened.
pub(super) async fn tell(client: &Client) -> Result<Vec<Told>, Failure> {
    let search = json!({ "status": "paid", "limit": 1 });
    let orders = call(client, "shop.orders.search", &search).await?;
    let order = orders.pointer("/execution/result/0/id").cloned().unwrap_or(json!(1));
    let reason = "Arrived late; the customer asked for it.";
    let refund = json!({ "order": number(&order), "amount": 1, "reason": reason });
    let refund = call(client, "shop.refunds.create", &refund).await?;
    let delete = json!({ "order": number(&order) });
    let delete = call(client, "shop.orders.delete", &delete).await?;
    let keys = client.get("/.well-known/service/keys.json").await?;
    let keys = deed::KeySet::parse(&keys.body).map_err(Failure::internal)?;
    let trust = Trust { keys: Some(keys), ..Trust::default() };
    let mut told = Vec::new();
    for action in [orders, refund, delete] {
        told.push(check(client, &action, &trust).await?);
    }
    Ok(told)
}

/// The orders that the held refund may be of: one is left where those before it are refunded.
const REFUNDED: std::ops::RangeInclusive<u32> = 2..=21;
/// What is refunded: less than the total of any of these orders.
const REFUND: i64 = 20;

/// Sends a call that waits for a person, and returns what they are asked; nothing where the demo's
/// policy was changed, or a Stop holds, so that it waits for nobody. The agent looks the order up
/// first, since a refund of more than is left of it would change nothing.
pub(super) async fn hold(client: &Client) -> Result<Option<String>, Failure> {
    for order in REFUNDED {
        let found = call(client, "shop.orders.read", &json!({ "order": order })).await?;
        if text(&found, "/status") != Status::Executed.as_str() {
            return Ok(None);
        }
        if left_of(&found).is_none_or(|left| left < Decimal::from(REFUND)) {
            continue;
        }
        let reason = "Two of three lamps came broken; photos are in the case.";
        let args = json!({ "order": order, "amount": REFUND, "reason": reason });
        let call =
            json!({ "tool": "shop.refunds.create", "args": args, "mode": "gateway", "wait": 0 });
        // A refund that waits already is found again by its key.
        let key = format!("demo-refund-of-{order}");
        let answer = client.post_once("/v1/actions", &call, &key).await?;
        let held = answer.json()?;
        if text(&held, "/status") == Status::PendingApproval.as_str() {
            return Ok(held.pointer("/approval/id").and_then(Value::as_str).map(str::to_owned));
        }
        // One that was decided before is told again by its key, and another order is looked at.
        if !answer.is_replayed {
            return Ok(None);
        }
    }
    Ok(None)
}

/// How much of an order is not refunded yet; nothing where there is no such order.
fn left_of(read: &Value) -> Option<Decimal> {
    let amount = |column: &str| {
        let text = read.pointer("/execution/result")?.get(column)?.as_str()?;
        text.parse::<Decimal>().ok()
    };
    amount("total")?.checked_sub(amount("refunded")?)
}

/// Sends one call and returns its action, whether it ran or was refused.
async fn call(client: &Client, tool: &str, args: &Value) -> Result<Value, Failure> {
    let call = json!({ "tool": tool, "args": args, "mode": "gateway" });
    let answer = client.post("/v1/actions", &call).await?;
    let body = answer.json()?;
    match body.pointer("/error/action") {
        Some(refused) => Ok(refused.clone()),
        None if answer.status.is_success() => Ok(body),
        None => {
            let sentence = text(&body, "/error/message");
            Err(Failure::internal(format!("`{tool}` returned {}: {sentence}", answer.status)))
        }
    }
}

/// Fetches an action with its deed and checks the deed.
async fn check(client: &Client, action: &Value, trust: &Trust) -> Result<Told, Failure> {
    let id = text(action, "/id");
    let detail = client.get(&format!("/v1/actions/{id}?wait=25")).await?.json()?;
    let deed = detail.pointer("/deeds/0").cloned().unwrap_or_default();
    let report = deed::verify::examine(deed.to_string().as_bytes(), trust);
    let end = match conclusion(&detail) {
        Some((end, level)) => format!("{} at {level}", end.word()),
        None if text(&detail, "/status") == "failed" => text(&detail, "/execution/error_message"),
        None => text(&detail, "/decision/message"),
    };
    Ok(Told {
        tool: text(&detail, "/tool"),
        action: id,
        status: text(&detail, "/status"),
        end,
        deed: text(&deed, "/id"),
        check: verify_verdict(&report),
    })
}

/// What the witness concluded, and on how much evidence.
fn conclusion(action: &Value) -> Option<(Conclusion, Level)> {
    let word = |pointer| action.pointer(pointer).and_then(Value::as_str);
    let verdict: Verdict = word("/witness/verdict")?.parse().ok()?;
    let level: Level = word("/witness/level")?.parse().ok()?;
    let run = word("/execution/status")?.parse().ok()?;
    let rows = action.pointer("/execution/rows_changed").and_then(Value::as_u64);
    Some((Conclusion::of(run, rows, (verdict, level))?, level))
}

/// Numbers that JSON could round come back from a database as text.
fn number(value: &Value) -> Value {
    match value.as_str().and_then(|text| text.parse::<i64>().ok()) {
        Some(number) => json!(number),
        None => value.clone(),
    }
}

fn text(value: &Value, pointer: &str) -> String {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// Prints what happened.
pub(super) fn print(told: &[Told]) {
    for Told { tool, action, status, end, deed, check } in told {
        print::line(format!("  {tool}  {status}: {end}"));
        print::line(format!("    {action}"));
        print::line(format!("    {deed}  {check}"));
    }
}
