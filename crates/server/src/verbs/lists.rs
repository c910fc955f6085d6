//! Lists of orgs, agents, keys and connectors: a table for people, or one JSON document in the list form of the
//! HTTP interface for programs.

use admin::{AgentList, AgentPlace, KeyUse, Orgs};
use ledger::record::{Agent, ApiKey, Connector, ConnectorStatus, Holder, Org};
use model::{OrgId, Timestamp, causes};
use serde_json::{Value, json};

use super::{accounts::agent_of, all_but, org_of, orgs, unread};
use crate::{
    cli,
    core::Core,
    exit::{Exit, Failure},
    print,
};

/// How many rows are read at once.
const PAGE: usize = 1_000;

/// A list: the names of its columns, and each row in both forms.
struct Listed<const N: usize> {
    columns: [&'static str; N],
    rows: Vec<([String; N], Value)>,
}

pub(super) async fn all_orgs(core: &Core, form: cli::ListForm) -> Result<Exit, Failure> {
    let Orgs { found, unreached } = orgs(core).await?;
    let rows = found.iter().map(org).collect();
    let columns = ["org", "name", "status", "time zone"];
    show(Listed { columns, rows }, form);
    all_but(unreached.len())
}

pub(super) async fn agents(core: &Core, what: cli::ListAgents) -> Result<Exit, Failure> {
    let (org, now) = place(core, what.org).await?;
    let mut asked = AgentList { status: what.status, ..AgentList::all() };
    let mut rows = Vec::new();
    loop {
        let page = core.stores.accounts.agents(org, &asked, PAGE).await.map_err(unread)?;
        rows.extend(page.iter().map(|row| agent(row, now)));
        asked.after = page.last().map(AgentPlace::from);
        if page.len() < PAGE {
            break;
        }
    }
    rows.reverse();
    let columns = ["agent", "name", "status", "intents", "labels"];
    Ok(show(Listed { columns, rows }, what.form))
}

pub(super) async fn keys(core: &Core, what: cli::ListKeys) -> Result<Exit, Failure> {
    let (org, now) = place(core, what.org).await?;
    let of = match what.agent {
        Some(named) => Some(Holder::Agent(agent_of(core, org, &named).await?)),
        None => None,
    };
    let mut keys = core.stores.accounts.api_keys(org).await.map_err(unread)?;
    keys.retain(|key| of.is_none_or(|of| key.holder == of));
    let ids: Vec<_> = keys.iter().map(|key| key.id).collect();
    let uses = core.stores.accounts.key_uses(org, &ids).await.map_err(unread)?;
    let rows = keys.iter().map(|row| key(row, uses.get(&row.id).copied(), now)).collect();
    let columns =
        ["key", "name", "of", "status", "mode", "scopes", "ends", "last used", "last four"];
    Ok(show(Listed { columns, rows }, what.form))
}

pub(super) async fn connectors(core: &Core, what: cli::ListConnectors) -> Result<Exit, Failure> {
    let org = org_of(core, what.org).await?;
    let mut connectors = core.stores.accounts.connectors(org).await.map_err(unread)?;
    connectors.sort_by_key(|row| row.archived_at.is_some());
    let rows = connectors.iter().map(connector).collect();
    let columns = ["connector", "name", "type", "status", "mode", "revision"];
    Ok(show(Listed { columns, rows }, what.form))
}

/// The org that is meant, and the database's time.
async fn place(core: &Core, named: cli::InOrg) -> Result<(OrgId, Timestamp), Failure> {
    let org = org_of(core, named).await?;
    let base = core.stores.ledger.base(org).await;
    Ok((org, base.map_err(|error| Failure::internal(causes(&error)))?.1))
}

fn org(row: &Org) -> ([String; 4], Value) {
    let status = if row.stop.is_some() { "stopped" } else { "active" };
    let cells = [row.id.to_string(), row.name.clone(), status.to_owned(), row.time_zone.clone()];
    let Org { id, name, time_zone, stop, created_at, .. } = row;
    let value = json!({
        "object": "org", "id": id, "name": name, "status": status, "time_zone": time_zone,
        "stop": stop, "created_at": created_at,
    });
    (cells, value)
}

fn agent(row: &Agent, now: Timestamp) -> ([String; 5], Value) {
    let status = row.status(now).to_string();
    let labels: Vec<_> = row.labels.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let mode = row.intent_mode.to_string();
    let cells = [row.id.to_string(), row.name.clone(), status.clone(), mode, labels.join(" ")];
    let Agent { id, name, labels, intent_mode, system, stop, .. } = row;
    let value = json!({
        "object": "agent", "id": id, "name": name, "status": status, "system": system,
        "owner": row.owner, "intent_mode": intent_mode, "modes": row.modes, "labels": labels,
        "stop": stop, "suspension": row.suspension, "expires_at": row.expires_at,
        "archived_at": row.archived_at, "created_at": row.created_at,
    });
    (cells, value)
}

fn key(row: &ApiKey, used: Option<KeyUse>, now: Timestamp) -> ([String; 9], Value) {
    let status = row.status(now);
    let mode = if row.livemode { "live" } else { "test" };
    let agent = match row.holder {
        Holder::Agent(agent) => Some(agent),
        Holder::Org => None,
    };
    let scopes: Vec<_> = row.scopes.iter().map(ToString::to_string).collect();
    let cells = [
        row.id.to_string(),
        row.name.clone(),
        agent.map_or_else(|| "the org".to_owned(), |agent| agent.to_string()),
        status.to_owned(),
        mode.to_owned(),
        scopes.join(" "),
        row.expires_at.map_or_else(|| "never".to_owned(), |at| at.to_string()),
        used.map_or_else(|| "never".to_owned(), |used| used.at.to_string()),
        row.hint.clone(),
    ];
    let value = json!({
        "object": "api_key", "id": row.id, "name": row.name, "agent": agent, "status": status,
        "livemode": row.livemode, "scopes": scopes, "hint": row.hint,
        "created_at": row.created_at, "expires_at": row.expires_at, "revoked_at": row.revoked_at,
        "last_used_at": used.map(|used| used.at),
        "last_used_ip_prefix": used.and_then(|used| used.network).map(|it| it.to_string()),
    });
    (cells, value)
}

/// A connector without its config and its secrets.
fn connector(row: &Connector) -> ([String; 6], Value) {
    let status = match (row.archived_at, row.status) {
        (Some(_), _) => "archived",
        (None, ConnectorStatus::Enabled) => "enabled",
        (None, ConnectorStatus::Disabled) => "disabled",
    };
    let mode = if row.test { "test" } else { "live" };
    let cells = [
        row.id.to_string(),
        row.name.to_string(),
        row.kind.clone(),
        status.to_owned(),
        mode.to_owned(),
        row.revision.to_string(),
    ];
    let tools = row.tools.iter();
    let tools = tools.map(|(name, kept)| json!({ "name": name, "digest": kept.get("digest") }));
    let value = json!({
        "object": "connector", "id": row.id, "name": row.name, "type": row.kind, "status": status,
        "livemode": !row.test, "revision": row.revision,
        "credential_fields": row.credential.keys().collect::<Vec<_>>(),
        "tools": tools.collect::<Vec<_>>(),
        "created_at": row.created_at, "archived_at": row.archived_at,
    });
    (cells, value)
}

fn show<const N: usize>(listed: Listed<N>, form: cli::ListForm) -> Exit {
    if form.json {
        let data: Vec<_> = listed.rows.into_iter().map(|(_, value)| value).collect();
        print::line(json!({ "object": "list", "data": data }).to_string());
    } else {
        let rows: Vec<_> = listed.rows.into_iter().map(|(cells, _)| cells).collect();
        table(listed.columns, &rows).iter().for_each(print::line);
    }
    Exit::Ok
}

/// The lines of a table: each column as wide as its widest cell.
fn table<const N: usize>(columns: [&str; N], rows: &[[String; N]]) -> Vec<String> {
    let head = columns.map(str::to_uppercase);
    let lines = || std::iter::once(&head).chain(rows);
    let mut widths = [0; N];
    for line in lines() {
        for (width, cell) in widths.iter_mut().zip(line) {
            *width = cell.chars().count().max(*width);
        }
    }
    let padded = |line: &[String; N]| {
        let cells = line.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}"));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    lines().map(padded).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_has_columns_as_wide_as_their_widest_cell() {
        let rows = [["1", "é"], ["22", "long name"]].map(|row| row.map(str::to_owned));
        let lines = table(["id", "name"], &rows);
        assert_eq!(lines, ["ID  NAME", "1   é", "22  long name"]);
        assert_eq!(table(["id"], &[]), ["ID"]);
    }
}
