//! The room of the Console in which connectors are made, looked at and changed.

use std::sync::Arc;

use serde_json::Value;
use web::{Call, Param};

use super::{
    NO_QUERY, Visit,
    rooms::listed_with,
    text,
    views::{ConnectorPage, ConnectorsPage, ToolPage},
};
use crate::{
    access::{VIEWERS, Visitor},
    app::App,
    handlers::connectors,
    refusal::Answer,
};

/// The parameters of the list: its own, and the type that a new connector is to have.
pub(crate) const ROOM: &[Param] =
    &[Param::One("archived"), Param::One("limit"), Param::One("cursor"), Param::One("type")];

/// `GET /app/connectors`
pub(crate) async fn list(app: Arc<App>, caller: Visitor, call: Call) -> Answer {
    let visit = Visit::new(app, caller, call);
    let of_form = ["type"];
    let list = (VIEWERS, connectors::list);
    let listed = listed_with(&visit, list, (connectors::LIST, &of_form)).await?;
    let types = visit.read((VIEWERS, connectors::types), &[], NO_QUERY).await?;
    let made_of = visit.asked("type").and_then(|asked| named(&types, asked)).cloned();
    let shown = ConnectorsPage { listed, made_of: made_of.unwrap_or_default(), types };
    visit.page("connectors", &shown).await
}

/// `GET /app/connectors/{id}`
pub(crate) async fn one(app: Arc<App>, caller: Visitor, call: Call) -> Answer {
    let visit = Visit::new(app, caller, call);
    let id: String = visit.call.param("id")?;
    let params = [("id", &*id)];
    let it = visit.read((VIEWERS, connectors::show), &params, NO_QUERY).await?;
    let tools = visit.read((VIEWERS, connectors::tools), &params, NO_QUERY).await?;
    let not_served = visit.read((VIEWERS, connectors::not_served), &params, NO_QUERY).await?;
    let whole = ("", connectors::SETUP);
    let setup = visit.read_if((VIEWERS, connectors::setup), &params, whole).await?;
    let witness = visit.read((VIEWERS, connectors::witness), &params, NO_QUERY).await?;
    let test = visit.read_if((VIEWERS, connectors::last_test), &params, NO_QUERY).await?;
    let types = visit.read((VIEWERS, connectors::types), &[], NO_QUERY).await?;
    let of = text(&it, "type").and_then(|asked| named(&types, asked)).cloned();
    let shown =
        ConnectorPage { it, tools, not_served, setup, witness, test, kind: of.unwrap_or_default() };
    visit.page("connectors", &shown).await
}

/// `GET /app/connectors/{id}/tools/{tool}`
pub(crate) async fn tool(app: Arc<App>, caller: Visitor, call: Call) -> Answer {
    let visit = Visit::new(app, caller, call);
    let (id, tool): (String, String) = (visit.call.param("id")?, visit.call.param("tool")?);
    let params = [("id", &*id), ("tool", &*tool)];
    let connector = visit.read((VIEWERS, connectors::show), &params, NO_QUERY).await?;
    let it = visit.read((VIEWERS, connectors::tool), &params, NO_QUERY).await?;
    visit.page("connectors", &ToolPage { it, connector }).await
}

/// The type of this name among those that there are.
fn named<'a>(types: &'a Value, asked: &str) -> Option<&'a Value> {
    let rows = types.get("data")?.as_array()?;
    rows.iter().find(|row| text(row, "type") == Some(asked))
}
