//! What each page shows: a struct for each, by the names that its template has for its members. Members
//! that are a [`Value`] are responses of the interface, null where there is none. A test holds the
//! templates to these structs, and the fields that templates read to the description of the interface.

use std::collections::BTreeMap;

use model::{MemberId, Role, UserId};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::wire::sign_in::OrgChoice;

/// A page.
pub(crate) trait Page: Serialize {
    /// Its template, below `web/pages`.
    const TEMPLATE: &'static str;
}

/// What stands around every page of the Console.
#[derive(Debug, Serialize)]
pub(crate) struct Shell {
    /// The entry of the navigation that the page belongs to.
    pub(crate) place: &'static str,
    pub(crate) org: Value,
    pub(crate) me: Me,
    /// The approvals that wait for the visitor.
    pub(crate) waiting: Waiting,
    pub(crate) csrf: String,
}

/// The visitor.
#[derive(Debug, Serialize)]
pub(crate) struct Me {
    pub(crate) email: String,
    pub(crate) user: UserId,
    pub(crate) member: MemberId,
    pub(crate) role: Role,
    pub(crate) can_approve: bool,
    pub(crate) is_fresh: bool,
}

/// How many approvals wait, and whether there are more.
#[derive(Debug, Serialize)]
pub(crate) struct Waiting {
    pub(crate) count: usize,
    pub(crate) more: bool,
}

/// A list that a page can filter.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Listed {
    pub(crate) list: Value,
    /// The filters of the address by name.
    pub(crate) filters: Map<String, Value>,
    /// The query that asks for the list again.
    pub(crate) query: String,
    pub(crate) unread: Vec<LeftOut>,
}

/// A parameter of the address that the page does without, and why.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct LeftOut {
    pub(crate) name: String,
    pub(crate) why: String,
}

/// The overview.
#[derive(Debug, Default, Serialize)]
pub(crate) struct OverviewPage<'a> {
    /// How far it looks back.
    pub(crate) window: &'a str,
    pub(crate) it: Value,
    pub(crate) unread: Vec<LeftOut>,
    /// The head of the log.
    pub(crate) head: Value,
    /// The newest checks of the log.
    pub(crate) checks: Value,
    /// What a first call needs and there is already; `None` once an agent has acted.
    pub(crate) begun: Option<Begun>,
    pub(crate) origin: &'a str,
}

impl Page for OverviewPage<'_> {
    const TEMPLATE: &'static str = "app/overview.html";
}

/// What a first call needs.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Begun {
    pub(crate) connector: Value,
    pub(crate) agent: Value,
}

/// The rooms that the bar of a small screen has no place for.
#[derive(Debug, Default, Serialize)]
pub(crate) struct MorePage {}

impl Page for MorePage {
    const TEMPLATE: &'static str = "app/more.html";
}

/// The actions.
#[derive(Debug, Default, Serialize)]
pub(crate) struct ActionsPage {
    #[serde(flatten)]
    pub(crate) listed: Listed,
}

impl Page for ActionsPage {
    const TEMPLATE: &'static str = "app/actions.html";
}

/// An action.
#[derive(Debug, Default, Serialize)]
pub(crate) struct ActionPage {
    pub(crate) it: Value,
    pub(crate) deed: Value,
    pub(crate) approval: Value,
}

impl Page for ActionPage {
    const TEMPLATE: &'static str = "app/action.html";
}

/// The agents.
#[derive(Debug, Default, Serialize)]
pub(crate) struct AgentsPage {
    #[serde(flatten)]
    pub(crate) listed: Listed,
}

impl Page for AgentsPage {
    const TEMPLATE: &'static str = "app/agents.html";
}

/// An agent.
#[derive(Debug, Default, Serialize)]
pub(crate) struct AgentPage {
    pub(crate) it: Value,
    pub(crate) keys: Value,
    /// Its newest actions.
    pub(crate) actions: Value,
}

impl Page for AgentPage {
    const TEMPLATE: &'static str = "app/agent.html";
}

/// The question whether an agent is to be stopped.
#[derive(Debug, Default, Serialize)]
pub(crate) struct AgentStopPage {
    pub(crate) it: Value,
    /// Its actions that run.
    pub(crate) running: Value,
    /// Its actions that wait for a person.
    pub(crate) pending: Value,
}

impl Page for AgentStopPage {
    const TEMPLATE: &'static str = "app/agent_stop.html";
}

/// The question whether the org is to be stopped.
#[derive(Debug, Default, Serialize)]
pub(crate) struct StopPage {
    /// Actions that run.
    pub(crate) running: Value,
    /// Actions that wait for a person.
    pub(crate) pending: Value,
}

impl Page for StopPage {
    const TEMPLATE: &'static str = "app/stop.html";
}

/// The policies.
#[derive(Debug, Default, Serialize)]
pub(crate) struct PoliciesPage {
    #[serde(flatten)]
    pub(crate) listed: Listed,
    pub(crate) active: Value,
}

impl Page for PoliciesPage {
    const TEMPLATE: &'static str = "app/policies.html";
}

/// A policy.
#[derive(Debug, Default, Serialize)]
pub(crate) struct PolicyPage<'a> {
    pub(crate) tab: &'a str,
    pub(crate) it: Value,
    pub(crate) versions: Value,
    pub(crate) unread: Vec<LeftOut>,
    /// The version that is looked at, with its document.
    pub(crate) version: Value,
    /// The findings of that version.
    pub(crate) lint: Value,
    /// How that version differs from another one.
    pub(crate) compare: Value,
    pub(crate) active: Value,
    pub(crate) tests: Value,
}

impl Page for PolicyPage<'_> {
    const TEMPLATE: &'static str = "app/policy.html";
}

/// The history and the log.
#[derive(Debug, Default, Serialize)]
pub(crate) struct LedgerPage {
    #[serde(flatten)]
    pub(crate) listed: Listed,
    pub(crate) head: Value,
    pub(crate) checks: Value,
}

impl Page for LedgerPage {
    const TEMPLATE: &'static str = "app/ledger.html";
}

/// A deed.
#[derive(Debug, Default, Serialize)]
pub(crate) struct DeedPage {
    pub(crate) it: Value,
}

impl Page for DeedPage {
    const TEMPLATE: &'static str = "app/deed.html";
}

/// The approvals, and the one that is read.
#[derive(Debug, Default, Serialize)]
pub(crate) struct ApprovalsPage<'a> {
    #[serde(flatten)]
    pub(crate) listed: Listed,
    pub(crate) view: &'a str,
    /// The approval that is read.
    pub(crate) open: Value,
    /// The action that it is about.
    pub(crate) action: Value,
    /// The error code of the form that was sent last.
    pub(crate) problem: Option<&'a str>,
}

impl Page for ApprovalsPage<'_> {
    const TEMPLATE: &'static str = "app/approvals.html";
}

/// The connectors.
#[derive(Debug, Default, Serialize)]
pub(crate) struct ConnectorsPage {
    #[serde(flatten)]
    pub(crate) listed: Listed,
    pub(crate) types: Value,
    /// The type that a new connector is to have.
    pub(crate) made_of: Value,
}

impl Page for ConnectorsPage {
    const TEMPLATE: &'static str = "app/connectors.html";
}

/// A connector.
#[derive(Debug, Default, Serialize)]
pub(crate) struct ConnectorPage {
    pub(crate) it: Value,
    pub(crate) tools: Value,
    /// What of its description no tool uses.
    pub(crate) not_served: Value,
    pub(crate) setup: Value,
    /// How its change log is read.
    pub(crate) witness: Value,
    /// Its last test.
    pub(crate) test: Value,
    /// Its type.
    #[serde(rename = "type")]
    pub(crate) kind: Value,
}

impl Page for ConnectorPage {
    const TEMPLATE: &'static str = "app/connector.html";
}

/// A tool of a connector.
#[derive(Debug, Default, Serialize)]
pub(crate) struct ToolPage {
    pub(crate) it: Value,
    pub(crate) connector: Value,
}

impl Page for ToolPage {
    const TEMPLATE: &'static str = "app/tool.html";
}

/// The webhook endpoints.
#[derive(Debug, Default, Serialize)]
pub(crate) struct WebhooksPage<'a> {
    pub(crate) list: Value,
    /// The types of events by family.
    pub(crate) families: BTreeMap<&'a str, Vec<&'a str>>,
}

impl Page for WebhooksPage<'_> {
    const TEMPLATE: &'static str = "app/webhooks.html";
}

/// A webhook endpoint.
#[derive(Debug, Default, Serialize)]
pub(crate) struct WebhookPage<'a> {
    pub(crate) it: Value,
    /// How many deliveries of the last 24 hours have each status, by the hour.
    pub(crate) counts: Value,
    /// Its deliveries.
    pub(crate) list: Value,
    pub(crate) unread: Vec<LeftOut>,
    /// The status that deliveries are filtered by.
    pub(crate) status: Option<&'a str>,
    /// The delivery that the address names.
    pub(crate) asked: Option<&'a str>,
    /// That delivery.
    pub(crate) open: Value,
    /// The types of events by family.
    pub(crate) families: BTreeMap<&'a str, Vec<&'a str>>,
}

impl Page for WebhookPage<'_> {
    const TEMPLATE: &'static str = "app/webhook.html";
}

/// The settings of the org and of the visitor.
#[derive(Debug, Default, Serialize)]
pub(crate) struct SettingsPage<'a> {
    pub(crate) tab: &'a str,
    pub(crate) org: Value,
    /// The session.
    pub(crate) me: Value,
    pub(crate) members: Value,
    pub(crate) invites: Value,
    pub(crate) keys: Value,
    pub(crate) sessions: Value,
}

impl Page for SettingsPage<'_> {
    const TEMPLATE: &'static str = "app/settings.html";
}

/// The page of a mail's link to an approval.
#[derive(Debug, Default, Serialize)]
pub(crate) struct LinkPage<'a> {
    pub(crate) link: Value,
    /// The addresses of the members who answered.
    pub(crate) people: BTreeMap<MemberId, String>,
    pub(crate) token: &'a str,
    pub(crate) problem: Option<String>,
}

impl Page for LinkPage<'_> {
    const TEMPLATE: &'static str = "approve.html";
}

/// The page on which somebody asks to sign in.
#[derive(Debug, Default, Serialize)]
pub(crate) struct LoginPage<'a> {
    pub(crate) email: Option<&'a str>,
    /// The page that comes after the sign-in.
    pub(crate) next: Option<&'a str>,
    /// The org that an invitation is to.
    pub(crate) joins: Option<String>,
    /// Whether mails leave.
    pub(crate) mail: &'a str,
    pub(crate) problem: Option<&'a str>,
}

impl Page for LoginPage<'_> {
    const TEMPLATE: &'static str = "auth/login.html";
}

/// The page of a link or code of a sign-in.
#[derive(Debug, Default, Serialize)]
pub(crate) struct ConfirmPage<'a> {
    pub(crate) step: &'a str,
    /// The link's token, its code or the challenge.
    pub(crate) proof: Option<String>,
    pub(crate) mail: &'a str,
    pub(crate) problem: Option<&'a str>,
}

impl Page for ConfirmPage<'_> {
    const TEMPLATE: &'static str = "auth/confirm.html";
}

/// What pages outside every org show.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Outside {
    pub(crate) me: Signed,
    pub(crate) csrf: String,
}

/// Who is signed in.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Signed {
    pub(crate) email: String,
}

/// The choice of an org.
#[derive(Debug, Default, Serialize)]
pub(crate) struct OrgsPage<'a> {
    #[serde(flatten)]
    pub(crate) outside: Outside,
    pub(crate) orgs: Vec<OrgChoice>,
    pub(crate) next: Option<String>,
    pub(crate) problem: Option<&'a str>,
}

impl Page for OrgsPage<'_> {
    const TEMPLATE: &'static str = "auth/orgs.html";
}

/// An invitation to join an org.
#[derive(Debug, Default, Serialize)]
pub(crate) struct JoinPage<'a> {
    #[serde(flatten)]
    pub(crate) outside: Outside,
    pub(crate) invite: &'a str,
    pub(crate) next: Option<String>,
    pub(crate) problem: Option<&'a str>,
}

impl Page for JoinPage<'_> {
    const TEMPLATE: &'static str = "auth/join.html";
}

/// The page on which somebody signs in again.
#[derive(Debug, Default, Serialize)]
pub(crate) struct AgainPage {
    #[serde(flatten)]
    pub(crate) outside: Outside,
    pub(crate) next: String,
}

impl Page for AgainPage {
    const TEMPLATE: &'static str = "auth/again.html";
}

/// A refusal, where a browser waits for a page.
#[derive(Debug, Default, Serialize)]
pub(crate) struct RefusedPage<'a> {
    pub(crate) title: &'a str,
    pub(crate) sentence: &'a str,
    pub(crate) code: &'a str,
    /// The id of the request.
    pub(crate) request: String,
    pub(crate) on: Onward<'a>,
}

impl Page for RefusedPage<'_> {
    const TEMPLATE: &'static str = "refused.html";
}

/// Where a reader can go on.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Onward<'a> {
    pub(crate) href: &'a str,
    pub(crate) word: &'a str,
}
