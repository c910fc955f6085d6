//! The versions of a policy, and its tests.

use std::sync::Arc;

use act::MayView;
use admin::NewVersion;
use http::StatusCode;
use model::{PolicyId, PolicyVersionId};

use super::apart;
use crate::{
    access::{Admin, Viewer},
    app::App,
    call::Call,
    cursor::{List, Spot},
    error::ApiError,
    query::Param,
    reply::Reply,
    wire::{
        ListView, MakeVersion, TestsView, VersionView, WithDeed, findings, page_limit,
        policy_tests, policy_version_new,
    },
};

/// The parameters of a list that takes no filters.
pub(crate) const PAGE: &[Param] = &[Param::One("limit"), Param::One("cursor")];

/// The place of a version in its policy's list.
struct VersionSpot {
    policy: PolicyId,
    number: u32,
}

impl Spot for VersionSpot {
    fn to_text(&self) -> String {
        format!("{} {}", self.policy, self.number)
    }

    fn from_text(text: &str) -> Option<Self> {
        let (policy, number) = text.split_once(' ')?;
        Some(Self { policy: policy.parse().ok()?, number: number.parse().ok()? })
    }
}

/// `GET /v1/policies/{id}/versions`
pub(crate) async fn list(app: Arc<App>, caller: Viewer, call: Call) -> Result<Reply, ApiError> {
    let policy: PolicyId = call.param("id")?;
    let limit = page_limit(&call.query)?;
    let listed = List { name: "policy_versions", org: caller.org(), agent: None };
    let after: Option<VersionSpot> = app.cursors.read(listed, &call.query)?;
    if after.as_ref().is_some_and(|after| after.policy != policy) {
        return Err(ApiError::invalid("cursor", "expected a cursor of this policy's versions"));
    }
    let below = after.map(|after| after.number);
    let page = app.admin.view(&caller).policy_versions(policy, below, limit).await?;
    let last = page.items.last().filter(|_| page.has_more);
    let cursor = last.map(|version| {
        let spot = VersionSpot { policy, number: version.number };
        app.cursors.write(&spot, listed, &call.query)
    });
    Reply::ok(&ListView::page(page.items.iter().map(VersionView::summary).collect(), cursor))
}

/// `POST /v1/policies/{id}/versions`
pub(crate) async fn create(app: Arc<App>, caller: Admin, call: Call) -> Result<Reply, ApiError> {
    let MakeVersion { policy, document, note, expected_parent } = policy_version_new(&call)?;
    let tools = app.gate.known_tools(caller.org()).await?;
    let document = apart(move || admin::lint(document, &tools)).await?;
    let found = findings(document.findings());
    let new = NewVersion { policy, document, note, expected_parent };
    let made = app.admin.change(&caller).create_policy_version(new).await?;
    let view = VersionView::whole(&made.object).with_lint(found);
    Ok(Reply::json(StatusCode::CREATED, &WithDeed::of(view, made.deed)))
}

/// `GET /v1/policy_versions/{id}`
pub(crate) async fn show(app: Arc<App>, caller: Viewer, call: Call) -> Result<Reply, ApiError> {
    let id: PolicyVersionId = call.param("id")?;
    let version = app.admin.view(&caller).policy_version(id).await?;
    Reply::ok(&VersionView::whole(&version))
}

/// `GET /v1/policies/{id}/tests`
pub(crate) async fn tests(app: Arc<App>, caller: Viewer, call: Call) -> Result<Reply, ApiError> {
    let policy: PolicyId = call.param("id")?;
    let tests = app.admin.view(&caller).policy_tests(policy).await?;
    Reply::ok(&tests.as_ref().map_or_else(|| TestsView::none(policy), TestsView::from))
}

/// `PUT /v1/policies/{id}/tests`
pub(crate) async fn put_tests(app: Arc<App>, caller: Admin, call: Call) -> Result<Reply, ApiError> {
    let policy: PolicyId = call.param("id")?;
    let (suite, expected) = policy_tests(&call)?;
    let put = app.admin.change(&caller).put_policy_tests(policy, &suite, expected).await?;
    Reply::ok(&WithDeed::of(TestsView::from(&put.object), put.deed))
}
