//! What the demo's agent does: it reads, it refunds, it is refused; and every deed of it is
//! checked offline by the published keys.

use deed::verify::Trust;
use serde_json::{Value, json};

use super::client::Client;
use crate::{exit::Failure, print, verbs::verify_verdict};

/// What happened to one call.
#[derive(Debug)]
pub(super) struct Told {
    pub(super) tool: String,
    pub(super) action: String,
    pub(super) status: String,
    /// The witness's verdict, or the sentence of the refusal.
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

/// Sends a call that waits for a person, and returns what they are asked; nothing where the demo's
/// policy was changed, or a Stop holds, so that it waits for nobody.
pub(super) async fn hold(client: &Client) -> Result<Option<String>, Failure> {
    let reason = "Two of three lamps came broken; photos are in the case.";
    let args = json!({ "order": 2, "amount": 90, "reason": reason });
    let call = json!({ "tool": "shop.refunds.create", "args": args, "mode": "gateway", "wait": 0 });
    let held = client.post("/v1/actions", &call).await?.json()?;
    Ok(held.pointer("/approval/id").and_then(Value::as_str).map(str::to_owned))
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
            Err(Failure::internal(format!("`{tool}` was answered {}: {sentence}", answer.status)))
        }
    }
}

/// Fetches an action with its deed and checks the deed.
async fn check(client: &Client, action: &Value, trust: &Trust) -> Result<Told, Failure> {
    let id = text(action, "/id");
    let detail = client.get(&format!("/v1/actions/{id}?wait=25")).await?.json()?;
    let deed = detail.pointer("/deeds/0").cloned().unwrap_or_default();
    let report = deed::verify::examine(deed.to_string().as_bytes(), trust);
    let end = match detail.pointer("/witness/verdict").and_then(Value::as_str) {
        Some(verdict) => format!("{verdict} at {}", text(&detail, "/witness/level")),
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
