//! Every route with every kind of credential: what the rule's name promises; and the ids of
//! another org, which look like ids of nothing.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use admin::{
    Activated, Activation, Expected, KeyMode, NewConnector, NewKey, NewOrg, NewPolicy, NewVersion,
    OrgChange, OrgEdit,
};
use http::HeaderMap;
use ledger::record::PolicyMode;
use model::{
    AgentId, KeyId, OrgId, PolicyId, PolicyVersionId, ProposalId, Role,
    Scope::{self, ActionsExecute, ActionsRead, Admin, AdminRead},
    Timestamp,
};
use serde_json::{Value, json};

use super::house::{Answer, House, holder, named_org_key, org_key, request};
use crate::routes;

/// What a credential meets behind an access rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Met {
    Through,
    Unauthenticated,
    Forbidden,
}

/// The kinds of credentials, each with what it may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Nothing,
    Reads,
    Executes,
    ReadsAndExecutes,
    Administers,
    Audits,
    /// A fresh session with this role.
    Session(Role),
    /// A session of an owner that is not fresh.
    Stale,
    /// A session for no org.
    OfNoOrg,
    /// A session of an owner whose changes show no page of this site.
    Forged,
}

fn expected(rule: &str, kind: Kind) -> Met {
    use Kind::{
        Administers, Audits, Executes, Forged, Nothing, OfNoOrg, Reads, ReadsAndExecutes, Session,
        Stale,
    };
    use Role::{Owner, Viewer};
    let admitted: &[Kind] = match rule {
        "PUBLIC" | "SIGNING_IN" => return Met::Through,
        "AGENT_EXECUTE" => &[Executes, ReadsAndExecutes],
        "ACTION_READERS" | "STREAM_READERS" | "APPROVAL_READERS" => &[
            Reads,
            ReadsAndExecutes,
            Administers,
            Audits,
            Session(Viewer),
            Session(Role::Admin),
            Session(Owner),
            Stale,
            Forged,
        ],
        "CANCELLERS" | "INTENT_CHECKERS" => &[
            Executes,
            ReadsAndExecutes,
            Administers,
            Session(Role::Admin),
            Session(Owner),
            Stale,
            Forged,
        ],
        "VIEWERS" => &[
            Administers,
            Audits,
            Session(Viewer),
            Session(Role::Admin),
            Session(Owner),
            Stale,
            Forged,
        ],
        "ADMINS" => &[Administers, Session(Role::Admin), Session(Owner), Stale, Forged],
        "APPROVERS" => &[Session(Viewer), Session(Role::Admin), Session(Owner), Stale, Forged],
        "FRESH_ADMINS" => &[Administers, Session(Role::Admin), Session(Owner), Forged],
        "STARTERS" => &[Administers, Session(Owner), Forged],
        "OWNERS" => &[Session(Owner), Stale, Forged],
        "FRESH_OWNERS" | "REMOVERS" => &[Session(Owner), Forged],
        "SESSION_ADMINS" => &[Session(Role::Admin), Session(Owner), Stale, Forged],
        "FRESH_SESSION_ADMINS" | "MEMBER_EDITORS" => {
            &[Session(Role::Admin), Session(Owner), Forged]
        }
        "ADMIN_READERS" => {
            &[Administers, Audits, Session(Role::Admin), Session(Owner), Stale, Forged]
        }
        "SIGNED_IN" => {
            &[Session(Viewer), Session(Role::Admin), Session(Owner), Stale, OfNoOrg, Forged]
        }
        other => panic!("the rule `{other}` has no line here"),
    };
    match kind {
        Nothing => Met::Unauthenticated,
        kind if admitted.contains(&kind) => Met::Through,
        Reads | Executes | ReadsAndExecutes | Administers | Audits | Session(_) | Stale
        | OfNoOrg | Forged => Met::Forbidden,
    }
}

/// The rules that let no key in.
pub(super) const PEOPLES: [&str; 8] = [
    "APPROVERS",
    "SIGNED_IN",
    "OWNERS",
    "FRESH_OWNERS",
    "MEMBER_EDITORS",
    "REMOVERS",
    "SESSION_ADMINS",
    "FRESH_SESSION_ADMINS",
];

/// Another org, with what its ids name.
struct Stranger {
    reads_and_executes: String,
    administers: String,
    agent: AgentId,
    key: KeyId,
    action: String,
    policy: String,
    version: String,
    proposal: String,
    deed: String,
    org_key: String,
    session: String,
    member: String,
    invite: String,
    connector: String,
    webhook: String,
    delivery: String,
}

impl Stranger {
    async fn beside(house: &House) -> Self {
        let new = NewOrg { name: "Stranger".to_owned(), time_zone: "UTC".to_owned() };
        let org = house.deployment().create_org(new).await.unwrap().org.id;
        let operator = house.deployment().org(org);
        let agent = holder(&operator, "stranger").await;
        let body =
            json!({ "tool": "mail.send", "args": {}, "mode": "proxy", "connector_type": "mcp" });
        let sent = request("POST", "/v1/actions", &agent.key, &[], Some(body));
        let action = house.send(sent).await.id();
        let made = operator.create_policy(NewPolicy::named("strange")).await.unwrap();
        let (policy, deed) = (made.object.id, made.deed.to_string());
        let document = "schema: 1\ndefault: { outcome: deny }\nrules: []\n";
        let new = NewVersion::of(
            policy,
            admin::lint(
                document.to_owned(),
                &admin::KnownOrg::default(),
                &policy::Effort::unbounded(),
            )
            .unwrap(),
        );
        let version = operator.create_policy_version(new).await.unwrap().object.id;
        let proposal = proposed(house, org, (policy, version)).await;
        let (_, member) = house.member_of(org, "stranger@example.com", Role::Owner).await;
        let invite = house.invite_to(org, "asked@example.com", Role::Viewer).await;
        let session = house.browser_in(org, "stranger@example.com", Role::Owner).await;
        let (org_key, administers) = named_org_key(&operator, Admin).await;
        let new = NewConnector::of("fake", "strange", json!({}));
        let connector = operator.create_connector(new).await.unwrap().object.id;
        let ask = async |path: &str, body: Option<serde_json::Value>| {
            let sent = house.send(request("POST", path, &administers, &[], body)).await;
            assert!(sent.status < 300, "{path}: {}", sent.body);
            sent.id()
        };
        let new = json!({ "url": "https://hooks.example.com" });
        let webhook = ask("/v1/webhook_endpoints", Some(new)).await;
        let delivery = ask(&format!("/v1/webhook_endpoints/{webhook}/ping"), None).await;
        Self {
            webhook,
            delivery,
            connector: connector.to_string(),
            session: session.session.to_string(),
            member: member.id.to_string(),
            invite: invite.id.to_string(),
            reads_and_executes: agent.key,
            administers,
            org_key: org_key.to_string(),
            agent: agent.agent,
            key: agent.id,
            action,
            policy: policy.to_string(),
            version: version.to_string(),
            proposal: proposal.to_string(),
            deed,
        }
    }
}

/// An activation that waits for a second person in the org.
async fn proposed(
    house: &House,
    org: OrgId,
    (policy, version): (PolicyId, PolicyVersionId),
) -> ProposalId {
    let edit = OrgEdit { policy_two_person: Some(true), ..OrgEdit::default() };
    house.deployment().own(org).update_org(edit).await.unwrap();
    let operator = house.deployment().org(org);
    let untested = operator.view().untested(policy, version).await.unwrap();
    let activation = Activation {
        version: untested.pass(&policy::Effort::unbounded()).unwrap(),
        mode: PolicyMode::Enforce,
        reason: "The night begins.".to_owned(),
        expected_active: Expected::Anything,
    };
    match operator.activate_policy(activation).await.unwrap() {
        Activated::Proposed(proposed) => proposed.object.id,
        Activated::Now(active) => panic!("one person activated it: {active:?}"),
    }
}

async fn agent_key(
    org: &OrgChange<'_>,
    agent: AgentId,
    scopes: Vec<Scope>,
    hours: Option<i64>,
) -> (KeyId, String) {
    let start: Timestamp = "2026-10-01T12:00:00.000Z".parse().unwrap();
    let expires_at =
        hours.map(|hours| Timestamp::from_unix_millis(start.unix_millis() + hours * 3_600_000));
    let new = NewKey { name: "matrix".to_owned(), scopes, mode: KeyMode::Live, expires_at };
    let shown = org.create_agent_key(agent, new).await.unwrap();
    (shown.key.object.id, shown.text.secret().expose().clone())
}

/// Every kind of credential that a caller may come with.
async fn credentials(house: &House, stranger: &Stranger) -> Vec<(&'static str, String, Kind)> {
    let operator = house.operator();
    let agent = house.support.agent;
    let both = || vec![ActionsRead, ActionsExecute];
    let (revoked_id, revoked) = agent_key(&operator, agent, both(), None).await;
    operator.revoke_key(revoked_id).await.unwrap();
    let (_, expired) = agent_key(&operator, agent, both(), Some(1)).await;
    let new = NewKey {
        name: "old".to_owned(),
        scopes: vec![Admin],
        mode: KeyMode::Live,
        expires_at: None,
    };
    let old = operator.create_org_key(new).await.unwrap();
    operator.revoke_key(old.key.object.id).await.unwrap();
    let reads = house.key_with(vec![ActionsRead]).await;
    let executes = house.key_with(vec![ActionsExecute]).await;
    let stale = house.browser("stale@example.com", Role::Owner).await.key;
    house.clock.pass(Duration::from_hours(2));
    let ended = house.browser("ended@example.com", Role::Owner).await;
    house.town.people.end(ended.user, ended.session).await.unwrap();
    let sessions = sessions(house, stale).await;
    let changed = house.support.key.replace("svc_live_", "svc_test_");
    let mut all = vec![
        ("an ended session", ended.key, Kind::Nothing),
        ("a text that is no session", "session:wrong:wrong".to_owned(), Kind::Nothing),
        ("no credential", String::new(), Kind::Nothing),
        ("a text that is no key", "svc_live_wrong".to_owned(), Kind::Nothing),
        ("a key of the other mode", changed, Kind::Nothing),
        ("a revoked agent key", revoked, Kind::Nothing),
        ("an expired agent key", expired, Kind::Nothing),
        ("a revoked org key", old.text.secret().expose().clone(), Kind::Nothing),
        ("an agent key that reads", reads, Kind::Reads),
        ("an agent key that executes", executes, Kind::Executes),
        ("an agent key with both", house.support.key.clone(), Kind::ReadsAndExecutes),
        ("another agent's key", house.other.key.clone(), Kind::ReadsAndExecutes),
        (
            "an agent key of another org",
            stranger.reads_and_executes.clone(),
            Kind::ReadsAndExecutes,
        ),
        ("an org key", house.org_key.clone(), Kind::Administers),
        ("an org key that may only read", org_key(&operator, AdminRead).await, Kind::Audits),
        ("an org key of another org", stranger.administers.clone(), Kind::Administers),
    ];
    all.extend(sessions);
    all
}

/// A session of each role, and those that may less than they seem to.
async fn sessions(house: &House, stale: String) -> Vec<(&'static str, String, Kind)> {
    let (mut all, mut forged) = (Vec::new(), String::new());
    for (what, email, role) in [
        ("a session of a viewer", "viewer@example.com", Role::Viewer),
        ("a session of an admin", "admin@example.com", Role::Admin),
        ("a session of an owner", "owner@example.com", Role::Owner),
        ("a session with a wrong word", "forged@example.com", Role::Owner),
    ] {
        let key = house.browser(email, role).await.key;
        if what == "a session with a wrong word" {
            forged = key;
        } else {
            all.push((what, key, Kind::Session(role)));
        }
    }
    let wrong = format!("{forged}x");
    all.push(("a session with a wrong word", wrong, Kind::Forged));
    all.push(("a session that is not fresh", stale, Kind::Stale));
    let of_none = house.browser_of_no_org("nobody@example.com").await.key;
    all.push(("a session for no org", of_none, Kind::OfNoOrg));
    all
}

/// The path with an id in each of its slots.
pub(super) fn filled(path: &str, ids: &BTreeMap<&str, String>) -> String {
    let id = |name: &str| ids.get(name).cloned().unwrap_or_default();
    let of = if path.starts_with("/v1/agents") {
        id("agent")
    } else if path.starts_with("/v1/policies/activations") {
        id("proposal")
    } else if path.starts_with("/v1/policies") {
        id("policy")
    } else if path.starts_with("/v1/policy_versions") {
        id("version")
    } else if path.starts_with("/v1/deeds") {
        id("deed")
    } else if path.starts_with("/v1/sessions") {
        id("session")
    } else if path.starts_with("/v1/members") {
        id("member")
    } else if path.starts_with("/v1/invites") {
        id("invite")
    } else if path.starts_with("/v1/api_keys") {
        id("org_key")
    } else if path.starts_with("/v1/ledger/chain_checks") {
        id("check")
    } else if path.starts_with("/v1/connectors") {
        id("connector")
    } else if path.starts_with("/v1/webhook_endpoints") {
        id("webhook")
    } else if path.starts_with("/v1/webhook_deliveries") {
        id("delivery")
    } else if path.starts_with("/v1/approvals") {
        id("approval")
    } else {
        id("action")
    };
    let path = path
        .replace("{id}", &of)
        .replace("{key}", &id(if path.contains("intent_keys") { "intent_key" } else { "key" }))
        .replace("{pv}", &id("version"))
        .replace("{tool}", "shop.refund")
        .replace("{code}", "not_found");
    assert!(!path.contains('{'), "`{path}` has a slot that has no line here");
    path
}

pub(super) fn missing() -> BTreeMap<&'static str, String> {
    let id = |prefix: &str| format!("{prefix}_01h455vb4pex5vsknk084sn02q");
    BTreeMap::from([
        ("action", id("act")),
        ("agent", id("agt")),
        ("intent_key", id("ik")),
        ("key", id("key")),
        ("policy", id("pol")),
        ("version", id("pv")),
        ("proposal", id("pap")),
        ("deed", id("deed")),
        ("check", id("chk")),
        ("session", id("ses")),
        ("approval", id("apr")),
        ("member", id("mem")),
        ("invite", id("inv")),
        ("org_key", id("key")),
        ("connector", id("con")),
        ("webhook", id("whe")),
        ("delivery", id("whd")),
    ])
}

#[tokio::test]
async fn every_route_admits_whom_its_rule_names_and_nobody_else() {
    let house = House::new().await;
    let stranger = Stranger::beside(&house).await;
    let credentials = credentials(&house, &stranger).await;
    let mut table = routes::interface();
    // What ends the sessions comes last.
    table.sort_by_key(|route| route.operation == "signOut");
    for route in table {
        let path = filled(route.path, &missing());
        for (credential, key, kind) in &credentials {
            let response = house.router.answer(request(route.method, &path, key, &[], None)).await;
            let met = match response.status().as_u16() {
                401 => Met::Unauthenticated,
                403 => Met::Forbidden,
                _ => Met::Through,
            };
            let what = format!("{} with {credential}", route.operation);
            let looks = matches!(route.access, "PUBLIC" | "SIGNING_IN");
            let is_forged = *kind == Kind::Forged || credential.ends_with("that is no session");
            let expected = match is_forged && route.method != "GET" && !looks {
                // The word is looked at before the session is.
                true => Met::Forbidden,
                // Whoever shows nothing of a browser is told so by the handler.
                false if route.operation == "confirmSignIn" => continue,
                false => expected(route.access, *kind),
            };
            assert_eq!(met, expected, "{what}");
            let is_agents = matches!(kind, Kind::Reads | Kind::Executes | Kind::ReadsAndExecutes);
            let is_keys = is_agents || !PEOPLES.contains(&route.access);
            let has_scopes = is_keys && !key.starts_with("session:");
            assert_challenge(response.headers(), (met, has_scopes), &what);
        }
    }
}

#[tokio::test]
async fn keys_are_refused_on_peoples_routes_agents_for_their_scope_and_org_keys_as_no_person() {
    let house = House::new().await;
    let mut agents = 0;
    for route in routes::interface() {
        let path = filled(route.path, &missing());
        let is_refused = |kind| expected(route.access, kind) == Met::Forbidden;
        if is_refused(Kind::ReadsAndExecutes) {
            let asked = request(route.method, &path, &house.support.key, &[], None);
            let refused = house.send(asked).await;
            assert_eq!(refused.code(), (403, "insufficient_scope"), "{}", route.operation);
            agents += 1;
        }
        if PEOPLES.contains(&route.access) {
            let refused = house.send(request(route.method, &path, &house.org_key, &[], None)).await;
            assert_eq!(refused.code(), (403, "person_required"), "{}", route.operation);
            assert!(is_refused(Kind::ReadsAndExecutes), "{}", route.operation);
        }
    }
    assert!(agents > 60, "{agents}");
}

/// What an admin changes and a viewer does not without having signed in lately, each with the reason.
/// An operation that is in neither list has to be judged: one that gives anybody more than they had
/// takes a fresh sign-in.
#[rustfmt::skip]
const LASTING: &[(&str, &str)] = &[
    ("archiveAgent",              "It takes power away."),
    ("archiveConnector",          "It takes power away."),
    ("archivePolicy",             "A policy in force cannot be archived."),
    ("askChainCheck",             "It reads."),
    ("cancelAction",              "It takes power away."),
    ("checkIntent",               "It reads."),
    ("createAgent",               "An agent can do nothing without a key, and that takes a fresh sign-in."),
    ("createPolicy",              "A policy decides nothing before a version is activated, which takes a fresh sign-in."),
    ("createPolicyVersion",       "It decides nothing before it is activated, which takes a fresh sign-in."),
    ("createWebhookEndpoint",     "It tells what happened, and lets nobody do anything."),
    ("deactivateShadow",          "A shadow decides nothing."),
    ("deleteWebhookEndpoint",     "It takes away."),
    ("disableConnector",          "It takes power away."),
    ("disableConnectorWitness",   "It takes away: calls that need the log's word end unverifiable."),
    ("disableWebhookEndpoint",    "It takes away."),
    ("enableConnectorWitness",    "It has calls watched more closely."),
    ("enableWebhookEndpoint",     "It tells what happened, and lets nobody do anything."),
    ("pingWebhookEndpoint",       "It posts to an endpoint that is there already."),
    ("putPolicyTests",            "Tests decide nothing; an activation that they guard takes a fresh sign-in."),
    ("recoverWebhookDeliveries",  "It posts to an endpoint that is there already."),
    ("recreateConnectorSlot",     "It has calls watched again."),
    ("redeliverWebhookDelivery",  "It posts to an endpoint that is there already."),
    ("refreshConnectorTools",     "It reads: what is found is pinned by a fresh sign-in alone."),
    ("rejectPolicyActivation",    "It takes power away."),
    ("resendInvite",              "The invitation was made by a fresh sign-in, and goes to the same address."),
    ("resumeAgent",               "A suspension is a pause; what ends a Stop takes a fresh sign-in."),
    ("revokeAgentKey",            "It takes power away."),
    ("revokeIntentKey",           "It takes power away."),
    ("revokeInvite",              "It takes power away."),
    ("setupConnectorWitness",     "It reads: its script is run by the owner of the governed database."),
    ("stopAgent",                 "It takes power away."),
    ("stopOrg",                   "It takes power away."),
    ("suspendAgent",              "It takes power away."),
    ("testConnector",             "It reads."),
    ("updatePolicy",              "It changes a name and a description, which decide nothing."),
    ("updateWebhookEndpoint",     "It tells what happened, and lets nobody do anything."),
];

#[tokio::test]
async fn what_gives_power_takes_a_fresh_sign_in() {
    let house = House::new().await;
    let stale = house.browser("stale@example.com", Role::Owner).await.key;
    house.clock.pass(Duration::from_hours(2));
    let met = |rule, kind| expected(rule, kind) == Met::Through;
    let mut lasting = BTreeSet::new();
    for route in routes::interface() {
        let is_of_viewers = met(route.access, Kind::Session(Role::Viewer));
        let is_of_members = met(route.access, Kind::Session(Role::Owner));
        if route.method == "GET" || is_of_viewers || !is_of_members {
            continue;
        }
        if met(route.access, Kind::Stale) {
            lasting.insert(route.operation);
            continue;
        }
        let path = filled(route.path, &missing());
        let refused = house.send(request(route.method, &path, &stale, &[], None)).await;
        assert_eq!(refused.code(), (403, "reauthentication_required"), "{}", route.operation);
    }
    let judged: BTreeSet<_> = LASTING.iter().map(|(operation, _)| *operation).collect();
    assert_eq!(lasting, judged);
    assert_eq!(judged.len(), LASTING.len());
}

#[tokio::test]
async fn a_session_from_another_site_changes_nothing() {
    let house = House::new().await;
    let owner = house.browser("owner@example.com", Role::Owner).await;
    let shown = owner.key.strip_prefix("session:").unwrap();
    let (token, csrf) = shown.split_once(':').unwrap();
    let cookie = format!("svc_session={token}");
    for route in routes::interface() {
        if route.method == "GET" || matches!(route.access, "PUBLIC" | "SIGNING_IN") {
            continue;
        }
        let path = filled(route.path, &missing());
        let ask = async |headers: &[(&str, &str)]| {
            let mut all = vec![("cookie", &*cookie), ("service-csrf", csrf)];
            all.extend(headers);
            house.send(request(route.method, &path, "", &all, None)).await
        };
        for headers in [
            &[][..],
            &[("origin", "http://evil.example")],
            &[("origin", "null")],
            &[("origin", "http://test"), ("sec-fetch-site", "cross-site")],
        ] {
            let refused = ask(headers).await;
            assert_eq!(refused.code(), (403, "origin_refused"), "{} {headers:?}", route.operation);
        }
    }
    assert_eq!(house.get("/v1/session", &owner.key).await.status, 200);
}

fn assert_challenge(headers: &HeaderMap, (met, has_scopes): (Met, bool), what: &str) {
    let challenge = headers.get("www-authenticate").map(|value| value.to_str().unwrap());
    match met {
        Met::Through => assert_eq!(challenge, None, "{what}"),
        Met::Unauthenticated => {
            let begin = r#"Bearer realm="service", error="invalid_token", error_description=""#;
            assert!(challenge.unwrap().starts_with(begin), "{what}: {challenge:?}");
        }
        // A session has no scope that it could be told of.
        Met::Forbidden if !has_scopes && challenge.is_none() => {}
        Met::Forbidden => {
            let begin = r#"Bearer realm="service", error="insufficient_scope", scope=""#;
            assert!(challenge.unwrap().starts_with(begin), "{what}: {challenge:?}");
        }
    }
}

/// Returns everything of an answer that the caller can tell, but for the request's id.
fn told(answer: Answer) -> (u16, Vec<(String, String)>, Value) {
    let shown = |(name, value): (&http::HeaderName, &http::HeaderValue)| {
        (name.to_string(), value.to_str().unwrap().to_owned())
    };
    let headers = answer.headers.iter().map(shown).filter(|(name, _)| name != "service-request-id");
    let mut body = answer.body;
    if let Some(id) = body.pointer_mut("/error/request_id") {
        *id = Value::Null;
    }
    (answer.status, headers.collect(), body)
}

/// A body that the operation takes, so that the id is what is looked at.
fn body(operation: &str, ids: &BTreeMap<&str, String>) -> Option<Value> {
    let moment = "2026-10-01T12:00:00.000Z";
    let document = "schema: 1\ndefault: { outcome: deny }\nrules: []\n";
    let suite = "now: 2026-10-01T12:00:00Z\nagents: { bot: {} }\ncalls: { one: { tool: a.b } }\n\
                 cases: [{ name: one, agent: bot, call: one, expect: { outcome: deny } }]\n";
    match operation {
        "reportResult" => Some(json!({
            "status": "succeeded", "started_at": moment, "finished_at": moment, "result": 1,
        })),
        "addIntentKey" => Some(json!({
            "public_key": "6kpsY-KcUgq-9VB7Ey7F-ZVHdq6-vnuSQh7qaRRG0iw", "proof": "AA",
        })),
        "updateMember" => Some(json!({ "role": "admin" })),
        "updatePolicy" | "updateAgent" => Some(json!({ "name": "other" })),
        "updateConnector" => Some(json!({ "title": "other" })),
        "setConnectorCredential" => Some(json!({ "fields": { "token": "x" } })),
        "updateConnectorTool" => Some(json!({ "visibility": "hidden" })),
        "pinConnectorTool" => Some(json!({ "digest": format!("sha256:{}", "0".repeat(64)) })),
        "archiveConnector"
        | "enableConnector"
        | "disableConnector"
        | "archiveAgent"
        | "enableConnectorWitness"
        | "disableConnectorWitness"
        | "recreateConnectorSlot"
        | "rejectPolicyActivation"
        | "stopAgent"
        | "startAgent"
        | "suspendAgent"
        | "resumeAgent" => Some(json!({ "reason": "a drill" })),
        "approveApproval" | "denyApproval" => {
            Some(json!({ "context_digest": format!("sha256:{}", "0".repeat(64)) }))
        }
        "updateWebhookEndpoint" => Some(json!({ "description": "other" })),
        "recoverWebhookDeliveries" => Some(json!({ "since": moment })),
        "createAgentKey" => Some(json!({ "name": "one", "scopes": ["actions:read"] })),
        "rollAgentKey" | "rollOrgKey" | "rollWebhookSecret" => Some(json!({ "expires_in": 60 })),
        "createPolicyVersion" => Some(json!({ "document": document })),
        "putPolicyTests" => Some(json!({ "suite": suite })),
        "setupConnectorWitness" | "confirmPolicyActivation" => Some(json!({})),
        "activatePolicy" => {
            Some(json!({ "version": ids["version"], "mode": "enforce", "reason": "a drill" }))
        }
        _ => None,
    }
}

#[test]
fn a_key_that_may_only_read_is_let_in_wherever_an_admin_only_looks() {
    for route in routes::interface() {
        let met = |kind| expected(route.access, kind) == Met::Through;
        let looks = route.method == "GET" && met(Kind::Administers);
        assert!(!looks || met(Kind::Audits), "{}", route.operation);
    }
}

#[tokio::test]
async fn an_export_tells_of_the_key_that_read_it_out_though_it_may_change_nothing() {
    let house = House::new().await;
    let key = org_key(&house.operator(), AdminRead).await;
    let window = "created_at[gte]=2026-10-01T00:00:00Z&created_at[lt]=2026-10-02T00:00:00Z";
    let read = house.get(&format!("/v1/ledger/export?{window}"), &key).await;
    assert_eq!(read.status, 200);
    let told = house.get("/v1/ledger?limit=2", &key).await;
    let exported = &told.body["data"][1];
    assert_eq!([&exported["type"], &exported["actor"]["kind"]], ["ledger.exported", "api_key"]);
    let asked = request("POST", "/v1/ledger/chain_checks", &key, &[], Some(json!({})));
    assert_eq!(house.send(asked).await.code(), (403, "insufficient_scope"));
}

#[tokio::test]
async fn another_orgs_id_in_any_path_is_answered_like_one_that_does_not_exist() {
    let house = House::new().await;
    let stranger = Stranger::beside(&house).await;
    let mut foreign = missing();
    for (slot, id) in [
        ("action", &stranger.action),
        ("agent", &stranger.agent.to_string()),
        ("key", &stranger.key.to_string()),
        ("policy", &stranger.policy),
        ("version", &stranger.version),
        ("deed", &stranger.deed),
        ("session", &stranger.session),
        ("member", &stranger.member),
        ("invite", &stranger.invite),
        ("org_key", &stranger.org_key),
        ("connector", &stranger.connector),
        ("proposal", &stranger.proposal),
        ("webhook", &stranger.webhook),
        ("delivery", &stranger.delivery),
    ] {
        foreign.insert(slot, id.clone());
    }
    let owner = house.browser("owner@example.com", Role::Owner).await.key;
    let mut looked_up = 0;
    for route in routes::interface().iter().filter(|route| route.path.contains("{id}")) {
        for key in [&house.support.key, &house.org_key, &owner] {
            let ask = |ids| {
                let body = body(route.operation, ids);
                request(route.method, &filled(route.path, ids), key, &[], body)
            };
            let (theirs, nobodys) = (ask(&foreign), ask(&missing()));
            let (theirs, nobodys) = (house.send(theirs).await, house.send(nobodys).await);
            let (status, operation) = (theirs.status, route.operation);
            assert!(matches!(status, 400 | 403 | 404 | 415), "{operation}: {status}");
            looked_up += usize::from(status == 404);
            // An org key is let in everywhere but where agents act, and then the id is looked up.
            let is_keys = key == &house.org_key && !PEOPLES.contains(&route.access);
            let looks = (is_keys || key == &owner) && route.access != "AGENT_EXECUTE";
            assert!(!looks || status == 404, "{operation} did not look the id up: {status}");
            assert_eq!(told(theirs), told(nobodys), "{operation}");
        }
    }
    assert!(looked_up >= 5);
}

#[tokio::test]
async fn a_key_of_another_org_or_agent_is_no_key_of_this_agent() {
    let house = House::new().await;
    let stranger = Stranger::beside(&house).await;
    let nobody = missing()["key"].clone();
    let own = house.support.agent;
    for (method, verb, body) in
        [("DELETE", "", None), ("POST", "/roll", Some(json!({ "expires_in": 60 })))]
    {
        let ask = async |key: &str| {
            let path = format!("/v1/agents/{own}/keys/{key}{verb}");
            told(house.send(request(method, &path, &house.org_key, &[], body.clone())).await)
        };
        let expected = ask(&nobody).await;
        assert_eq!(expected.0, 404);
        assert_eq!(ask(&stranger.key.to_string()).await, expected);
        assert_eq!(ask(&house.other.id.to_string()).await, expected);
    }
    // Both keys open what they opened.
    assert_eq!(house.get("/v1/actions", &house.other.key).await.status, 200);
    assert_eq!(house.get("/v1/actions", &stranger.reads_and_executes).await.status, 200);
}

#[tokio::test]
async fn another_orgs_agent_in_a_query_is_answered_like_one_that_does_not_exist() {
    let house = House::new().await;
    let stranger = Stranger::beside(&house).await;
    house.refund(1).await;
    let nobody = "agt_01h455vb4pex5vsknk084sn02q";
    for key in [&house.support.key, &house.org_key] {
        let ask =
            async |agent: &str| told(house.get(&format!("/v1/actions?agent={agent}"), key).await);
        let theirs = ask(&stranger.agent.to_string()).await;
        assert_eq!(theirs, ask(nobody).await);
        assert_eq!(theirs.2["data"], json!([]));
    }
    // On the stream an agent key that names another agent is refused, whoever it is.
    let ask = async |agent: &str| {
        told(house.get(&format!("/v1/events?agent={agent}"), &house.support.key).await)
    };
    let theirs = ask(&stranger.agent.to_string()).await;
    assert_eq!((theirs.0, theirs.2["error"]["param"].as_str()), (403, Some("agent")));
    assert_eq!(theirs, ask(nobody).await);
}

#[tokio::test]
async fn a_list_holds_the_callers_own_alone() {
    let house = House::new().await;
    let stranger = Stranger::beside(&house).await;
    let own = house.refund(1).await.id();
    for (key, count) in [
        (&house.support.key, 1),
        (&house.other.key, 0),
        (&house.org_key, 1),
        (&stranger.reads_and_executes, 1),
        (&stranger.administers, 1),
    ] {
        let list = house.get("/v1/actions", key).await;
        let ids: Vec<_> = list.body["data"].as_array().unwrap().iter().collect();
        assert_eq!(ids.len(), count);
        let foreign = key == &stranger.reads_and_executes || key == &stranger.administers;
        assert!(ids.iter().all(|action| (action["id"] == own.as_str()) != foreign));
    }
}
