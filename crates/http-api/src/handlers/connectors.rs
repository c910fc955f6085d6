//! Connectors as an org's administration reads and changes them.

use std::sync::Arc;

use act::{ActError, MayView};
use admin::{Prepare, ToolStanding};
use http::StatusCode;
use ledger::record::Connector;
use model::{ConnectorId, Timestamp, ToolName};
use web::{Call, List, ListView, Param, Reply};

use crate::{
    access::{Admin, Viewer},
    app::App,
    health::OutOfReach,
    refusal::Answer,
    wire::{
        connectors::{
            ConnectorView, ListedView, NotServedView, SetupView, TestView, ToolView, TypeView,
            connector_edit, connector_new, credential_new, pin, tool_edit,
        },
        policies::{WithDeed, reason_alone},
        witness::{CoverageView, WitnessView, witness_tables, witness_wish},
    },
};

/// The parameters of the list of connectors.
pub(crate) const LIST: &[Param] =
    &[Param::One("archived"), Param::One("limit"), Param::One("cursor")];

/// `GET /v1/connector_types`
pub(crate) async fn types(app: Arc<App>, caller: Viewer, _: Call) -> Answer {
    let types = app.admin.view(&caller).connector_types();
    Ok(Reply::ok(&ListView::whole(types.iter().map(TypeView::from).collect())))
}

/// `GET /v1/connectors`
pub(crate) async fn list(app: Arc<App>, caller: Viewer, call: Call) -> Answer {
    let listed = List { name: "connectors", org: caller.org(), agent: None };
    let page = app.cursors.page::<(Timestamp, ConnectorId)>(listed, &call.query)?;
    let archived = call.query.flag("archived")?;
    let found = app.admin.view(&caller).connectors(archived, (page.after, page.limit)).await?;
    let part = (&*found.items, found.has_more);
    let position = |row: &Connector| (row.created_at, row.id);
    Ok(Reply::ok(&page.of_part(part, position, ListedView::of)))
}

/// `POST /v1/connectors`
pub(crate) async fn create(app: Arc<App>, caller: Admin, call: Call) -> Answer {
    let made = app.admin.change(&caller).create_connector(connector_new(&call)?).await?;
    let view = WithDeed::of(app.connector_view(&made.object), made.deed);
    Ok(Reply::json(StatusCode::CREATED, &view))
}

/// `GET /v1/connectors/{id}`
pub(crate) async fn show(app: Arc<App>, caller: Viewer, call: Call) -> Answer {
    let connector = app.admin.view(&caller).connector(call.param("id")?).await?;
    Ok(Reply::ok(&app.connector_view(&connector)))
}

/// `POST /v1/connectors/{id}`
pub(crate) async fn update(app: Arc<App>, caller: Admin, call: Call) -> Answer {
    let (id, edit) = (call.param("id")?, connector_edit(&call)?);
    let made = app.admin.change(&caller).update_connector(id, edit).await?;
    Ok(Reply::ok(&WithDeed::of(app.connector_view(&made.object), made.deed)))
}

/// `DELETE /v1/connectors/{id}`
pub(crate) async fn archive(app: Arc<App>, caller: Admin, call: Call) -> Answer {
    let (id, reason) = (call.param("id")?, reason_alone(&call)?);
    let made = app.admin.change(&caller).archive_connector(id, &reason).await?;
    Ok(Reply::ok(&WithDeed::of(app.connector_view(&made.object), made.deed)))
}

/// `PUT /v1/connectors/{id}/credential`
pub(crate) async fn set_credential(app: Arc<App>, caller: Admin, call: Call) -> Answer {
    let (id, (kind, fields)) = (call.param("id")?, credential_new(&call)?);
    let given = (kind.as_deref(), fields);
    let made = app.admin.change(&caller).set_credential(id, given).await?;
    Ok(Reply::ok(&WithDeed::of(app.connector_view(&made.object), made.deed)))
}

/// `DELETE /v1/connectors/{id}/credential`
pub(crate) async fn remove_credential(app: Arc<App>, caller: Admin, call: Call) -> Answer {
    let made = app.admin.change(&caller).remove_credential(call.param("id")?).await?;
    Ok(Reply::ok(&WithDeed::of(app.connector_view(&made.object), made.deed)))
}

/// `POST /v1/connectors/{id}/test`
pub(crate) async fn test(app: Arc<App>, caller: Admin, call: Call) -> Answer {
    let id = call.param("id")?;
    let test = app.admin.change(&caller).test_connector(id).await?;
    Ok(Reply::ok(&TestView::of(id, &test)))
}

/// `GET /v1/connectors/{id}/test`
pub(crate) async fn last_test(app: Arc<App>, caller: Viewer, call: Call) -> Answer {
    let id = call.param("id")?;
    let test = app.admin.view(&caller).last_test(id).await?;
    let test = test.ok_or(ActError::NotFound("test of the connector"))?;
    Ok(Reply::ok(&TestView::of(id, &test)))
}

/// The parameters of the setup script.
pub(crate) const SETUP: &[Param] = &[Param::One("witness")];

/// `GET /v1/connectors/{id}/setup`
pub(crate) async fn setup(app: Arc<App>, caller: Viewer, call: Call) -> Answer {
    let (id, witness) = (call.param("id")?, call.query.flag("witness")?);
    let prepare = if witness { Prepare::CallsAndWitness } else { Prepare::Calls };
    let script = app.admin.view(&caller).connector_setup(id, prepare).await?;
    Ok(Reply::ok(&SetupView { object: "connector_setup", connector: id, witness, script }))
}

/// `GET /v1/connectors/{id}/not_served`
pub(crate) async fn not_served(app: Arc<App>, caller: Viewer, call: Call) -> Answer {
    let parts = app.admin.view(&caller).not_served(call.param("id")?).await?;
    Ok(Reply::ok(&ListView::whole(parts.iter().map(NotServedView::of).collect())))
}

/// `POST /v1/connectors/{id}/enable`
pub(crate) async fn enable(app: Arc<App>, caller: Admin, call: Call) -> Answer {
    let (id, reason) = (call.param("id")?, reason_alone(&call)?);
    let made = app.admin.change(&caller).enable_connector(id, &reason).await?;
    Ok(Reply::ok(&WithDeed::of(app.connector_view(&made.object), made.deed)))
}

/// `POST /v1/connectors/{id}/disable`
pub(crate) async fn disable(app: Arc<App>, caller: Admin, call: Call) -> Answer {
    let (id, reason) = (call.param("id")?, reason_alone(&call)?);
    let made = app.admin.change(&caller).disable_connector(id, &reason).await?;
    Ok(Reply::ok(&WithDeed::of(app.connector_view(&made.object), made.deed)))
}

/// `GET /v1/connectors/{id}/tools`
pub(crate) async fn tools(app: Arc<App>, caller: Viewer, call: Call) -> Answer {
    let connector = app.admin.view(&caller).connector(call.param("id")?).await?;
    Ok(Reply::ok(&every_tool(&connector)))
}

/// `GET /v1/connectors/{id}/tools/{tool}`
pub(crate) async fn tool(app: Arc<App>, caller: Viewer, call: Call) -> Answer {
    let (id, tool): (_, ToolName) = (call.param("id")?, call.param("tool")?);
    let connector = app.admin.view(&caller).connector(id).await?;
    Ok(Reply::ok(&one_tool(&connector, &tool)?))
}

/// `POST /v1/connectors/{id}/tools/refresh`
pub(crate) async fn refresh(app: Arc<App>, caller: Admin, call: Call) -> Answer {
    let connector = app.admin.change(&caller).refresh_tools(call.param("id")?).await?;
    Ok(Reply::ok(&every_tool(&connector)))
}

/// `POST /v1/connectors/{id}/tools/{tool}`
pub(crate) async fn update_tool(app: Arc<App>, caller: Admin, call: Call) -> Answer {
    let (id, tool): (_, ToolName) = (call.param("id")?, call.param("tool")?);
    let edit = (tool.clone(), tool_edit(&call)?);
    let made = app.admin.change(&caller).update_tool(id, edit).await?;
    Ok(Reply::ok(&WithDeed::of(one_tool(&made.object, &tool)?, made.deed)))
}

/// `POST /v1/connectors/{id}/tools/{tool}/pin`
pub(crate) async fn pin_tool(app: Arc<App>, caller: Admin, call: Call) -> Answer {
    let (id, tool): (_, ToolName) = (call.param("id")?, call.param("tool")?);
    let wanted = (tool.clone(), pin(&call)?);
    let made = app.admin.change(&caller).pin_tool(id, wanted).await?;
    Ok(Reply::ok(&WithDeed::of(one_tool(&made.object, &tool)?, made.deed)))
}

/// `GET /v1/connectors/{id}/witness`
pub(crate) async fn witness(app: Arc<App>, caller: Viewer, call: Call) -> Answer {
    let org = app.admin.view(&caller);
    let connector = org.connector(call.param("id")?).await?;
    let standing = org.log_standing(connector.id).await?;
    Ok(Reply::ok(&WitnessView::of(&connector, standing.as_ref())))
}

/// `POST /v1/connectors/{id}/witness/setup`
pub(crate) async fn witness_setup(app: Arc<App>, caller: Admin, call: Call) -> Answer {
    let (id, tables) = (call.param("id")?, witness_tables(&call)?);
    let coverage = app.admin.change(&caller).witness_coverage(id, &tables).await?;
    Ok(Reply::ok(&CoverageView::of(id, &coverage)))
}

/// `POST /v1/connectors/{id}/witness/enable`
pub(crate) async fn enable_witness(app: Arc<App>, caller: Admin, call: Call) -> Answer {
    let (id, wish) = (call.param("id")?, witness_wish(&call)?);
    let (tables, reason) = ((&*wish.tables, wish.gaps), &wish.reason);
    let org = app.admin.change(&caller);
    let made = org.enable_witness(id, tables, reason).await?;
    let standing = org.view().log_standing(id).await?;
    Ok(Reply::ok(&WithDeed::of(WitnessView::of(&made.object, standing.as_ref()), made.deed)))
}

/// `POST /v1/connectors/{id}/witness/disable`
pub(crate) async fn disable_witness(app: Arc<App>, caller: Admin, call: Call) -> Answer {
    let (id, reason) = (call.param("id")?, reason_alone(&call)?);
    let org = app.admin.change(&caller);
    let made = org.disable_witness(id, &reason).await?;
    let standing = org.view().log_standing(id).await?;
    Ok(Reply::ok(&WithDeed::of(WitnessView::of(&made.object, standing.as_ref()), made.deed)))
}

/// `POST /v1/connectors/{id}/witness/recreate_slot`
pub(crate) async fn recreate_slot(app: Arc<App>, caller: Admin, call: Call) -> Answer {
    let (id, reason) = (call.param("id")?, reason_alone(&call)?);
    let org = app.admin.change(&caller);
    let made = org.recreate_slot(id, &reason).await?;
    let standing = org.view().log_standing(id).await?;
    Ok(Reply::ok(&WithDeed::of(WitnessView::of(&made.object, standing.as_ref()), made.deed)))
}

impl App {
    /// The connector, with the reason why this instance cannot reach its system. What was tried of an
    /// earlier revision says nothing of this one.
    fn connector_view<'a>(&self, connector: &'a Connector) -> ConnectorView<'a> {
        let is_it = |lost: &OutOfReach| {
            lost.connector == connector.id && lost.revision == u64::from(connector.revision)
        };
        let lost = self.health.out_of_reach(connector.org).into_iter().find(is_it);
        ConnectorView::of(connector, lost.filter(|_| connector.archived_at.is_none()))
    }
}

fn every_tool(connector: &Connector) -> ListView<ToolView<'_>> {
    let tools = ToolStanding::of(connector).into_iter();
    ListView::whole(tools.map(|standing| ToolView::of(connector, standing)).collect())
}

fn one_tool<'a>(connector: &'a Connector, tool: &ToolName) -> Result<ToolView<'a>, web::ApiError> {
    let standing = ToolStanding::of(connector).into_iter().find(|it| it.name == tool);
    let view = standing.map(|standing| ToolView::of(connector, standing));
    view.ok_or_else(web::ApiError::not_found)
}
