//! A house in which the example of an operation makes sense, and the ids that stand there for those
//! of the description.

use std::collections::BTreeMap;

use admin::OrgEdit;
use http_body_util::BodyExt;
use ledger::record::Member;
use model::{LogGap, Role, Scope};
use people::LinkedTo;
use serde_json::{Value, json};

use super::Operation;
use crate::{
    routes::interface,
    tests::{
        access::PEOPLES,
        house::{Answer, House, named_org_key, request},
        intents,
    },
};

const DOCUMENT: &str = "{ schema: 1, default: { outcome: deny }, rules: [{ id: refunds, match: \
                        shop.refund, when: \"args.amount <= 100\", outcome: allow }] }";
const SUITE: &str = "{ now: 2026-10-01T12:00:00Z, agents: { a: {} }, calls: { c: { tool: shop.delete, args: {} } }, cases: [{ \
                     name: deletes are denied, agent: a, call: c, expect: { outcome: deny } }] }";

/// A house, who calls, and what the ids of the description are called there.
pub(super) struct Scene {
    pub(super) house: House,
    pub(super) key: String,
    ids: BTreeMap<String, String>,
}

impl Scene {
    /// Makes what the operation's example speaks of.
    pub(super) async fn of(operation: &Operation<'_>) -> Self {
        let house = House::new().await;
        let agent = house.support.agent.to_string();
        let mut made = vec![agent, house.org.to_string(), house.support.id.to_string()];
        let ask = async |method: &str, path: &str, body: Value| {
            let answer = house.send(request(method, path, &house.org_key, &[], Some(body))).await;
            assert!(answer.status < 300, "{path}: {}", answer.body);
            answer
        };
        let policy = ask("POST", "/v1/policies", json!({ "name": "night" })).await.id();
        let versions = format!("/v1/policies/{policy}/versions");
        let version = ask("POST", &versions, json!({ "document": DOCUMENT })).await.id();
        let action = match operation.id {
            "cancelAction" | "listApprovals" | "getApproval" | "approveApproval"
            | "denyApproval" | "answerByLink" => house.refund(500).await.body,
            "reportResult" => house.authorize().await.body,
            "getDeedBundle" => intents::signed(&house).await.body,
            _ => house.refund(20).await.body,
        };
        made.push(action["id"].as_str().unwrap().to_owned());
        made.extend(action["deed"].as_str().map(str::to_owned));
        made.extend(action["approval"]["id"].as_str().map(str::to_owned));
        match operation.id {
            "startAgent" | "resumeAgent" | "startOrg" => {
                let agent = format!("/v1/agents/{}", house.support.agent);
                let path = match operation.id {
                    "startAgent" => format!("{agent}/stop"),
                    "resumeAgent" => format!("{agent}/suspend"),
                    _ => "/v1/org/stop".to_owned(),
                };
                ask("POST", &path, json!({ "reason": "A drill." })).await;
            }
            "listIntentKeys" | "revokeIntentKey" => made.push(intents::key(&house).await),
            "listIntents" => made.push(intents::used(&house).await),
            "answerByLink" => {
                let (_, member) = house.member("ada@example.com", Role::Admin).await;
                made.push(member.id.to_string());
                house.write(Member { can_approve: true, ..member }).await;
            }
            "listSessions" | "listMembers" | "getMember" | "updateMember" | "removeMember" => {
                let (_, member) = house.member("ada@example.com", Role::Viewer).await;
                made.push(member.id.to_string());
            }
            "acceptInvite" => {
                let invite = house.invite_to(house.org, &of(operation.id), Role::Admin).await;
                made.push(invite.id.to_string());
            }
            "listInvites" | "revokeInvite" | "resendInvite" => {
                let invite = house.invite_to(house.org, "ada@example.com", Role::Admin).await;
                made.push(invite.id.to_string());
            }
            "rollOrgKey" | "revokeOrgKey" | "listOrgKeys" => {
                made.push(named_org_key(&house.operator(), Scope::Admin).await.0.to_string());
            }
            "getChainCheck" | "listChainChecks" => {
                made.push(ask("POST", "/v1/ledger/chain_checks", json!({})).await.id());
            }
            _ => {}
        }
        made.extend(connector(operation.id, &house).await);
        made.extend(proposal(operation.id, &house, (&policy, &version)).await);
        made.extend(webhook(operation.id, &house).await);
        let head = house.get("/v1/ledger/head", &house.org_key).await.body;
        made.extend(head["log"].as_str().unwrap().rsplit('/').next().map(str::to_owned));
        made.extend([policy, version]);
        let key = caller(operation.id, &house).await;
        if operation.id == "endSession" {
            made.push(house.browser(&of(operation.id), Role::Owner).await.session.to_string());
        }
        let kind = |id: &str| id.split('_').next().unwrap_or_default().to_owned();
        Self { key, ids: made.into_iter().map(|id| (kind(&id), id)).collect(), house }
    }

    /// Sends an example of the operation.
    pub(super) async fn send(
        &self,
        operation: &Operation<'_>,
        headers: &[(&str, &str)],
        address: &str,
        body: Option<&Value>,
    ) -> Answer {
        let fitting = self.with_ids_of_the_house(&json!(address)).as_str().unwrap().to_owned();
        let fitting = fitting.replace('[', "%5B").replace(']', "%5D");
        let body = match operation.id {
            // Only a deed of this house can be checked here.
            "verifyDeeds" => Some(self.deed().await),
            "addIntentKey" => Some(intents::added(self.house.support.agent, 7)),
            "approveApproval" | "denyApproval" => Some(self.answer(body).await),
            "answerByLink" => Some(self.link(body).await),
            "acceptInvite" => body.map(|body| match self.ids.get("inv") {
                Some(invite) => json!({ "token": self.house.link_of(invite.parse().unwrap()) }),
                None => body.clone(),
            }),
            _ => body.map(|body| self.with_ids_of_the_house(body)),
        };
        let mut headers = headers.to_vec();
        let (body, cookie) = match operation.id {
            "confirmSignIn" => self.proof(body).await,
            _ => (body, String::new()),
        };
        if !cookie.is_empty() {
            headers.push(("cookie", &cookie));
        }
        let headers = &*headers;
        let method = operation.method.to_uppercase();
        let request = request(&method, &fitting, &self.key, headers, body);
        if operation.id != "streamEvents" {
            return self.house.send(request).await;
        }
        let response = self.house.router.answer(request).await;
        let (head, mut body) = response.into_parts();
        let mut bytes = Vec::new();
        while head.status == 200 && !bytes.ends_with(b"\n\n") {
            bytes.extend(body.frame().await.unwrap().unwrap().into_data().unwrap());
        }
        if head.status != 200 {
            bytes = body.collect().await.unwrap().to_bytes().to_vec();
        }
        let body = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
        Answer { status: head.status.as_u16(), headers: head.headers, bytes: bytes.into(), body }
    }

    /// The body with the digest of what is shown here.
    async fn answer(&self, body: Option<&Value>) -> Value {
        let mut body = body.unwrap().clone();
        let Some(id) = self.ids.get("apr") else { return body };
        let path = format!("/v1/approvals/{id}");
        let shown = self.house.get(&path, &self.house.org_key).await.body;
        body["context_digest"] = shown["context_digest"].clone();
        body
    }

    /// The body with a link that was sent to somebody here.
    async fn link(&self, body: Option<&Value>) -> Value {
        let mut link = match body {
            Some(body) if body["decision"].is_string() => self.answer(Some(body)).await,
            body => body.unwrap().clone(),
        };
        let (Some(approval), Some(member)) = (self.ids.get("apr"), self.ids.get("mem")) else {
            return link;
        };
        let (approval, member) = (approval.parse().unwrap(), member.parse().unwrap());
        let to = LinkedTo { org: self.house.org, approval, member };
        link["token"] = json!(self.house.town.people.question(to).expose());
        link
    }

    /// The body with a challenge and a code that are right here, and the cookie of who asked.
    async fn proof(&self, body: Option<Value>) -> (Option<Value>, String) {
        self.house.member("ada@example.com", Role::Owner).await;
        let asked = Some(json!({ "email": "ada@example.com", "next": "/app" }));
        let asked = self.house.send(request("POST", "/v1/auth/start", "", &[], asked)).await;
        self.house.town.deliver().await;
        let cookie = asked.headers["set-cookie"].to_str().unwrap();
        let cookie = cookie.split(';').next().unwrap().to_owned();
        let code = self.house.town.sent.last().code;
        let proof = json!({ "challenge": asked.body["id"], "code": code.expose() });
        (body.map(|_| proof), cookie)
    }

    async fn deed(&self) -> Value {
        let path = format!("/v1/deeds/{}", self.ids["deed"]);
        self.house.get(&path, &self.house.org_key).await.body
    }

    /// The text of an answer with the ids that the description gives to what the scene holds.
    pub(super) fn shown(&self, answer: &Answer) -> String {
        let mut text = String::from_utf8(answer.bytes.to_vec()).unwrap();
        for shown in SHOWN {
            if let Some(id) = shown.split('_').next().and_then(|kind| self.ids.get(kind)) {
                text = text.replace(id, shown);
            }
        }
        text
    }

    fn with_ids_of_the_house(&self, value: &Value) -> Value {
        let mut text = value.to_string();
        for shown in SHOWN {
            if let Some(id) = shown.split('_').next().and_then(|kind| self.ids.get(kind)) {
                text = text.replace(shown, id);
            }
        }
        text.parse().unwrap()
    }
}

/// The ids of the description.
const SHOWN: [&str; 18] = [
    "act_01k6ga3wvwd2nq7x5k9z8y6t3s",
    "agt_01k6ga3wvwe8h8yq5jv1m2c7r4",
    "apr_01k6ga3wvwhq8s0t2v4w6x8y0z",
    "chk_01k6ga3wvwhj5k7m9n1p3q5r7t",
    "con_01k6ga3wvwf2h4j6k8m0n2p4q6",
    "deed_01k6ga3wvwgc6d8e0f2g4h6j8k",
    "ik_01k6ga3wvwmq2s4v6x8z0b2d4f",
    "inv_01k6ga3wvwjc7d8e9f0g1h2j3k",
    "key_01k6ga3wvwjc7d8e9f0g1h2j3k",
    "log_01k6ga3wvwke9f1g3h5j7k9m1n",
    "mem_01k6ga3wvwjc7d8e9f0g1h2j3k",
    "org_01k6ga3wvwaa1b3c5d7e9f1g3h",
    "pap_01k6ga3wvwk3m5p7r9t1v3x5z7",
    "pol_01k6ga3wvwbz4m8n2p6r0v5w7x",
    "pv_01k6ga3wvwfx3tq0s9d8e7b6a5",
    "ses_01k6ga3wvwhh1j3k5m7n9p2q4r",
    "whd_01k6ga3wvwjc7d8e9f0g1h2j3k",
    "whe_01k6ga3wvwjc7d8e9f0g1h2j3k",
];

/// The webhook endpoint, and the delivery, that the operation's example speaks of.
async fn webhook(operation: &str, house: &House) -> Vec<String> {
    if !operation.contains("Webhook") || operation == "createWebhookEndpoint" {
        return Vec::new();
    }
    let ask = async |path: &str, body: Option<Value>| {
        let answer = house.send(request("POST", path, &house.org_key, &[], body)).await;
        assert!(answer.status < 300, "{path}: {}", answer.body);
        answer.id()
    };
    let new = json!({ "url": "https://hooks.example.com/chancery", "types": ["action.*"] });
    let endpoint = ask("/v1/webhook_endpoints", Some(new)).await;
    let path = format!("/v1/webhook_endpoints/{endpoint}");
    let mut made = vec![endpoint];
    if operation.contains("Deliver") {
        made.push(ask(&format!("{path}/ping"), None).await);
        house.post_events().await;
    }
    if operation == "enableWebhookEndpoint" {
        ask(&format!("{path}/disable"), None).await;
    }
    made
}

/// The connector that the operation's example speaks of.
async fn connector(operation: &str, house: &House) -> Option<String> {
    // One is made by what is asked for.
    if !operation.contains("Connector") || operation == "createConnector" {
        return None;
    }
    let tools = json!({ "depot.read": { "title": "Reads" } });
    let mut new = json!({ "name": "depot", "type": "fake", "config": { "tools": tools } });
    if operation != "setConnectorCredential" {
        new["credential"] = json!({ "kind": "token", "fields": { "token": "example-token" } });
    }
    if operation == "getConnectorSetup" {
        new["config"]["script"] = json!("CREATE ROLE svc_conn LOGIN PASSWORD :'password';");
    }
    if operation.ends_with("ConnectorWitness") || operation == "recreateConnectorSlot" {
        let tables = json!({ "public.orders": [] });
        new["config"]["log"] = json!({ "login": true, "tables": tables });
    }
    let ask = async |method: &str, path: &str, body: Value| {
        let answer = house.send(request(method, path, &house.org_key, &[], Some(body))).await;
        assert!(answer.status < 300, "{path}: {}", answer.body);
        answer
    };
    let id = ask("POST", "/v1/connectors", new).await.id();
    let path = format!("/v1/connectors/{id}");
    match operation {
        "enableConnector" => {
            ask("POST", &format!("{path}/disable"), json!({ "reason": "Maintenance." })).await;
        }
        "getConnectorWitness" | "disableConnectorWitness" | "recreateConnectorSlot" => {
            let body = json!({ "reason": "Writes are to be proved." });
            ask("POST", &format!("{path}/witness/enable"), body).await;
            let gone = (operation == "recreateConnectorSlot").then_some(LogGap::SlotInvalidated);
            house.follow_log(&id, gone).await;
        }
        "getConnectorTest" => {
            let tested = house.ask(("POST", &format!("{path}/test")), &house.org_key, None).await;
            assert_eq!(tested.status, 200, "{}", tested.body);
        }
        "listConnectorTools" | "pinConnectorTool" => {
            let tools = json!({ "depot.read": { "title": "Reads more" } });
            ask("POST", &path, json!({ "config": { "tools": tools } })).await;
        }
        _ => {}
    }
    Some(id)
}

/// Has two people make a version active from now on.
pub(super) async fn two_people(house: &House) {
    let edit = OrgEdit { policy_two_person: Some(true), ..OrgEdit::default() };
    house.deployment().own(house.org).update_org(edit).await.unwrap();
}

/// Makes of a policy and its version what the operation's example speaks of; the proposed activation
/// among it.
async fn proposal(
    operation: &str,
    house: &House,
    (policy, version): (&str, &str),
) -> Option<String> {
    let ask = async |method: &str, path: &str, body: Value| {
        let path = format!("/v1/policies/{policy}/{path}");
        let answer = house.send(request(method, &path, &house.org_key, &[], Some(body))).await;
        assert!(answer.status < 300, "{path}: {}", answer.body);
        answer
    };
    match operation {
        "getPolicyTests" => {
            ask("PUT", "tests", json!({ "suite": SUITE })).await;
            None
        }
        "deactivateShadow" | "listPolicyActivations" | "getActivePolicies" => {
            let reason = "To see what it would deny.";
            let body = json!({ "version": version, "mode": "shadow", "reason": reason });
            ask("POST", "activate", body).await;
            None
        }
        "getPolicyProposal" | "confirmPolicyActivation" | "rejectPolicyActivation" => {
            two_people(house).await;
            let reason = "The weekend begins.";
            let body = json!({ "version": version, "mode": "enforce", "reason": reason });
            Some(ask("POST", "activate", body).await.id())
        }
        _ => None,
    }
}

/// The address of whoever asks for this; of one, few may sign in.
fn of(operation: &str) -> String {
    format!("{}@example.com", operation.to_lowercase())
}

/// The key of somebody who may.
pub(super) async fn caller(operation: &str, house: &House) -> String {
    let table = interface();
    let row = table.iter().find(|row| row.operation == operation).unwrap();
    match row.access {
        "PUBLIC" | "SIGNING_IN" => String::new(),
        "AGENT_EXECUTE" | "INTENT_CHECKERS" => house.support.key.clone(),
        _ if operation == "acceptInvite" => house.browser_of_no_org(&of(operation)).await.key,
        "APPROVERS" | "APPROVAL_READERS" => approver(house, &of(operation)).await,
        rule if PEOPLES.contains(&rule) => house.browser(&of(operation), Role::Owner).await.key,
        _ => house.org_key.clone(),
    }
}

/// The session of an admin who may approve.
async fn approver(house: &House, email: &str) -> String {
    let (_, member) = house.member(email, Role::Admin).await;
    house.write(Member { can_approve: true, ..member }).await;
    house.browser_in(house.org, email, Role::Admin).await.key
}

/// What somebody is told who answers once nobody has.
async fn late_answer() -> Answer {
    let house = House::new().await;
    let id = house.refund(500).await.body["approval"]["id"].clone();
    let key = approver(&house, "late@example.com").await;
    let path = format!("/v1/approvals/{}", id.as_str().unwrap());
    let shown = house.get(&path, &key).await.body;
    house.clock.pass(std::time::Duration::from_mins(30));
    let body = json!({ "context_digest": shown["context_digest"] });
    house.send(request("POST", &format!("{path}/approve"), &key, &[], Some(body))).await
}

/// What somebody is told who shows their link again.
async fn used_link() -> Answer {
    let house = House::new().await;
    let id = house.refund(500).await.body["approval"]["id"].clone();
    let (_, member) = house.member("ada@example.com", Role::Admin).await;
    house.write(Member { can_approve: true, ..member.clone() }).await;
    let approval = id.as_str().unwrap();
    let path = format!("/v1/approvals/{approval}");
    let shown = house.get(&path, &house.org_key).await.body;
    let to = LinkedTo { org: house.org, approval: approval.parse().unwrap(), member: member.id };
    let token = house.town.people.question(to).expose().clone();
    let body = json!({
        "token": token, "decision": "deny", "context_digest": shown["context_digest"],
    });
    let send = || request("POST", "/v1/approvals/link", "", &[], Some(body.clone()));
    house.send(send()).await;
    house.send(send()).await
}

/// One refusal for each code that a shared response shows.
pub(super) async fn failures() -> Vec<(&'static str, &'static str, Answer)> {
    let house = House::new().await;
    let done = house.refund(20).await.id();
    let (agent, org) = (&*house.support.key, &*house.org_key);
    let call = |args: Value| Some(json!({ "tool": "shop.refund", "args": args }));
    let deletes = Some(json!({ "tool": "shop.delete", "args": {} }));
    let keyed = [("idempotency-key", "order-1044")];
    let send = async |method: &str, path: &str, key: &str, headers: &[(&str, &str)], body| {
        house.send(request(method, path, key, headers, body)).await
    };
    let get = async |path: &str, key: &str| send("GET", path, key, &[], None).await;
    let act = "/v1/actions";
    let mut found = vec![
        ("BadRequest", "validation_failed", get("/v1/health?colour=red", "").await),
        ("Unauthenticated", "unauthenticated", get(act, "").await),
        ("Forbidden", "insufficient_scope", get("/v1/ledger/head", agent).await),
        ("Forbidden", "policy_denied", send("POST", act, agent, &[], deletes).await),
        ("NotFound", "not_found", get(&format!("{act}/none"), org).await),
        ("UriTooLong", "uri_too_long", get(&format!("{act}?q={}", "x".repeat(9_000)), org).await),
    ];
    let cancel = format!("{act}/{done}/cancel");
    found.push(("Conflict", "conflict", send("POST", &cancel, agent, &[], None).await));
    let xml = house.router.answer(
        http::Request::post(act)
            .header("host", "test")
            .header("authorization", format!("Bearer {agent}"))
            .header("content-type", "application/xml")
            .header("content-length", "4")
            .body(http_body_util::Full::from("<a/>"))
            .unwrap(),
    );
    let (head, body) = xml.await.into_parts();
    let bytes = body.collect().await.unwrap().to_bytes();
    let body = serde_json::from_slice(&bytes).unwrap();
    let (status, headers) = (head.status.as_u16(), head.headers);
    let answer = Answer { status, headers, bytes, body };
    found.push(("MediaTypeUnsupported", "media_type_unsupported", answer));
    let large = json!({ "note": "x".repeat(3_000_000) });
    let answer = send("POST", act, agent, &[], call(large)).await;
    found.push(("BodyTooLarge", "body_too_large", answer));
    send("POST", act, agent, &keyed, call(json!({ "amount": 1 }))).await;
    let other = send("POST", act, agent, &keyed, call(json!({ "amount": 2 }))).await;
    found.push(("Unprocessable", "idempotency_conflict", other));
    let asked = Some(json!({ "email": "ada@example.com" }));
    let asked = send("POST", "/v1/auth/start", "", &[], asked).await;
    let cookie = asked.headers["set-cookie"].to_str().unwrap().split(';').next().unwrap();
    let wrong = json!({ "challenge": asked.body["id"], "code": "0000-0000" });
    house.town.deliver().await;
    let mut answer = None;
    for _ in 0..6 {
        let headers = [("cookie", cookie)];
        answer = Some(send("POST", "/v1/auth/confirm", "", &headers, Some(wrong.clone())).await);
    }
    found.push(("Gone", "challenge_expired", answer.unwrap()));
    found.push(("ApprovalOver", "approval_expired", late_answer().await));
    found.push(("LinkOver", "link_used", used_link().await));
    house.refund(1).await;
    found.push(("TooMany", "budget_exceeded", house.refund(1).await));
    house.store.go_down();
    found.push(("Unavailable", "service_unavailable", get(act, org).await));
    found
}
