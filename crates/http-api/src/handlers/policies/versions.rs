//! The versions of a policy, and its tests.

use std::sync::Arc;

use act::MayView;
use admin::{NewVersion, VersionSummary};
use http::StatusCode;
use model::{PolicyId, PolicyVersionId};
use web::{ApiError, Call, List, Param, Position, Reply};

use crate::{
    access::{Admin, Viewer},
    app::App,
    refusal::Answer,
    wire::policies::{
        MakeVersion, TestsView, VersionView, WithDeed, findings, policy_tests, policy_version_new,
    },
};

/// The parameters of a list that takes no filters.
pub(crate) const PAGE: &[Param] = &[Param::One("limit"), Param::One("cursor")];

/// The position of a version in its policy's list.
struct VersionPosition {
    policy: PolicyId,
    number: u32,
}

impl Position for VersionPosition {
    fn to_text(&self) -> String {
        format!("{} {}", self.policy, self.number)
    }

    fn from_text(text: &str) -> Option<Self> {
        let (policy, number) = text.split_once(' ')?;
        Some(Self { policy: policy.parse().ok()?, number: number.parse().ok()? })
    }
}

/// `GET /v1/policies/{id}/versions`
pub(crate) async fn list(app: Arc<App>, caller: Viewer, call: Call) -> Answer {
    let policy: PolicyId = call.param("id")?;
    let listed = List { name: "policy_versions", org: caller.org(), agent: None };
    let page = app.cursors.page::<VersionPosition>(listed, &call.query)?;
    if page.after.as_ref().is_some_and(|after| after.policy != policy) {
        let message = "expected a cursor of this policy's versions";
        return Err(ApiError::invalid("cursor", message).into());
    }
    let below = page.after.as_ref().map(|after| after.number);
    let found = app.admin.view(&caller).policy_versions(policy, below, page.limit).await?;
    let position = |version: &VersionSummary| VersionPosition { policy, number: version.number };
    let part = (&*found.items, found.has_more);
    Ok(Reply::ok(&page.of_part(part, position, VersionView::summary)))
}

/// `POST /v1/policies/{id}/versions`
pub(crate) async fn create(app: Arc<App>, caller: Admin, call: Call) -> Answer {
    let MakeVersion { policy, document, note, expected_parent } = policy_version_new(&call)?;
    let tools = app.gate.known_tools(caller.org()).await?;
    let known = app.admin.view(&caller).known(tools).await?;
    let judge = move |effort: &_| admin::lint(document, &known, effort);
    let document = app.trials.run(caller.org(), judge).await??;
    let found = findings(document.findings());
    let new = NewVersion { policy, document, note, expected_parent };
    let made = app.admin.change(&caller).create_policy_version(new).await?;
    let view = VersionView::whole(&made.object).with_lint(found);
    Ok(Reply::json(StatusCode::CREATED, &WithDeed::of(view, made.deed)))
}

/// `GET /v1/policy_versions/{id}`
pub(crate) async fn show(app: Arc<App>, caller: Viewer, call: Call) -> Answer {
    let id: PolicyVersionId = call.param("id")?;
    let version = app.admin.view(&caller).policy_version(id).await?;
    Ok(Reply::ok(&VersionView::whole(&version)))
}

/// `GET /v1/policies/{id}/tests`
pub(crate) async fn tests(app: Arc<App>, caller: Viewer, call: Call) -> Answer {
    let policy: PolicyId = call.param("id")?;
    let tests = app.admin.view(&caller).policy_tests(policy).await?;
    Ok(Reply::ok(&tests.as_ref().map_or_else(|| TestsView::none(policy), TestsView::from)))
}

/// `PUT /v1/policies/{id}/tests`
pub(crate) async fn put_tests(app: Arc<App>, caller: Admin, call: Call) -> Answer {
    let policy: PolicyId = call.param("id")?;
    let (suite, expected) = policy_tests(&call)?;
    let put = app.admin.change(&caller).put_policy_tests(policy, &suite, expected).await?;
    Ok(Reply::ok(&WithDeed::of(TestsView::from(&put.object), put.deed)))
}
