//! Numbers: the overview, actions by time and outcome, and how budgets stand.

use std::sync::Arc;

use act::MayView;
use gate::{Shown, Use};
use web::{ApiError, Call, List, Param, Reply, excerpt};

use crate::{
    access::{Reader, Viewer},
    app::App,
    refusal::Answer,
    wire::{
        figures::{BudgetPosition, BudgetUseView, CountsRequest, CountsView},
        overview::Back,
    },
};

/// The parameters of the overview.
pub(crate) const OVERVIEW: &[Param] = &[Param::One("window")];

/// `GET /v1/overview`
pub(crate) async fn overview(app: Arc<App>, caller: Viewer, call: Call) -> Answer {
    let back = match call.query.text("window") {
        None | Some("24h") => Back::Day,
        Some("7d") => Back::Week,
        Some(other) => {
            let message = format!("expected `24h` or `7d`, got `{}`", excerpt(other));
            return Err(ApiError::invalid("window", message).into());
        }
    };
    Ok(Reply::ok(&app.overview(&caller, back).await?))
}

/// `GET /v1/actions/counts`
pub(crate) async fn counts(app: Arc<App>, caller: Reader, call: Call) -> Answer {
    let mut request = CountsRequest::read(&call.query, app.clock.now())?;
    if let Some(own) = caller.only_agent() {
        if request.filter.agent.is_some_and(|named| named != own) {
            return Ok(Reply::ok(&CountsView::empty(&request)));
        }
        request.filter.agent = Some(own);
    }
    let counted = app.gate.counted(caller.org(), &request.filter, request.span).await?;
    Ok(Reply::ok(&CountsView::new(&request, &counted)))
}

/// `GET /v1/budgets`
pub(crate) async fn budgets(app: Arc<App>, caller: Viewer, call: Call) -> Answer {
    let listed = List { name: "budgets", org: caller.org(), agent: None };
    let page = app.cursors.page::<BudgetPosition>(listed, &call.query)?;
    let after = page.after.as_ref().map(|after| &after.0);
    let found = app.gate.budgets(caller.org(), (Shown::All, after), page.limit + 1).await?;
    let position = |one: &Use| BudgetPosition(one.place.clone());
    Ok(Reply::ok(&page.of(&found, position, BudgetUseView::from)))
}
