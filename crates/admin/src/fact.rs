//! What is said of each kind of change: the deed's subject and data, the record without its
//! secrets, and the event's thin object.

use deed::{Recovered, Subject};
use ledger::{
    LogNo, Place,
    record::{
        ActiveChange, ActivePolicy, Agent, ApiKey, Connector, Holder, Org, Policy,
        PolicyActivation, PolicyTests, PolicyVersion,
    },
};
use model::{EventType, LogId, Timestamp};
use serde_json::{Value, json};

use crate::change::{Changed, Fact, Record};

impl Record<'_> {
    /// Adds an org in its new form.
    pub(crate) fn org(
        &mut self,
        event: EventType,
        before: Option<&Org>,
        after: Org,
    ) -> Changed<Org> {
        let deed = self.seal(Fact {
            event,
            subject: Subject::org(after.id),
            before: before.map(|org| json!(org)),
            after: Some(json!(after)),
            data: vec![],
            object: json!({ "object": "org", "id": after.id }),
        });
        self.write(after.clone());
        Changed { object: after, deed }
    }

    /// Adds the first deed of an org's log; the deed itself names the log.
    pub(crate) fn log_started(&mut self, org: &Org) {
        self.seal(Fact {
            event: EventType::LogStarted,
            subject: Subject::org(org.id),
            before: None,
            after: None,
            data: vec![],
            object: json!({ "object": "org", "id": org.id }),
        });
    }

    /// Adds the first deed of a log that replaces another, which closes with this turn.
    pub(crate) fn log_recovered(&mut self, told: &Recovered) -> Changed<LogId> {
        let log = self.open_log();
        let deed = self.seal(Fact {
            event: EventType::LogRecovered,
            subject: Subject::log(log),
            before: None,
            after: None,
            data: told.data(),
            object: json!({ "object": "log", "id": log }),
        });
        Changed { object: log, deed }
    }

    /// Adds the deed that payloads were removed: of so many actions, whose deeds stand between
    /// these two places of one log.
    pub(crate) fn pruned(
        &mut self,
        org: &Org,
        present: Option<LogNo>,
        (from, to, count): (Place, Place, usize),
    ) {
        let mut data = vec![
            ("from_seq", json!(from.seq())),
            ("to_seq", json!(to.seq())),
            ("count", json!(count)),
        ];
        if present.is_some_and(|present| present != from.log()) {
            data.push(("log_no", json!(from.log().get())));
        }
        self.seal(Fact {
            event: EventType::RetentionPruned,
            subject: Subject::org(org.id),
            before: None,
            after: None,
            data,
            object: json!({ "object": "org", "id": org.id }),
        });
    }

    /// Adds an agent in its new form.
    pub(crate) fn agent(
        &mut self,
        event: EventType,
        before: Option<&Agent>,
        after: Agent,
    ) -> Changed<Agent> {
        let status = after.status(self.now());
        let deed = self.seal(Fact {
            event,
            subject: Subject::agent(after.id),
            before: before.map(|agent| json!(agent)),
            after: Some(json!(after)),
            data: vec![("intent_mode", json!(after.intent_mode)), ("status", json!(status))],
            object: json!({ "object": "agent", "id": after.id, "status": status }),
        });
        self.write(after.clone());
        Changed { object: after, deed }
    }

    /// Adds an API key in its new form.
    pub(crate) fn api_key(
        &mut self,
        event: KeyEvent,
        before: Option<&ApiKey>,
        after: ApiKey,
    ) -> Changed<ApiKey> {
        let (event, subject, noun) = match (after.holder, event) {
            (Holder::Agent(_), KeyEvent::Created) => {
                (EventType::AgentKeyCreated, Subject::agent_key(after.id), "agent_key")
            }
            (Holder::Agent(_), KeyEvent::Revoked) => {
                (EventType::AgentKeyRevoked, Subject::agent_key(after.id), "agent_key")
            }
            (Holder::Org, KeyEvent::Created) => {
                (EventType::ApiKeyCreated, Subject::api_key(after.id), "api_key")
            }
            (Holder::Org, KeyEvent::Revoked) => {
                (EventType::ApiKeyRevoked, Subject::api_key(after.id), "api_key")
            }
        };
        let mut data = vec![
            ("scopes", json!(after.scopes)),
            ("livemode", json!(after.livemode)),
            ("expires_at", json!(after.expires_at)),
        ];
        if let Holder::Agent(agent) = after.holder {
            data.push(("agent", json!(agent)));
        }
        let status = key_status(&after, self.now());
        let deed = self.seal(Fact {
            event,
            subject,
            before: before.map(key_without_mac),
            after: Some(key_without_mac(&after)),
            data,
            object: json!({ "object": noun, "id": after.id, "status": status }),
        });
        self.write(after.clone());
        Changed { object: after, deed }
    }

    /// Adds a policy in its new form.
    pub(crate) fn policy(
        &mut self,
        event: EventType,
        before: Option<&Policy>,
        after: Policy,
    ) -> Changed<Policy> {
        let deed = self.seal(Fact {
            event,
            subject: Subject::policy(after.id),
            before: before.map(|policy| json!(policy)),
            after: Some(json!(after)),
            data: vec![],
            object: thin_policy(&after.id, Value::Null, Value::Null),
        });
        self.write(after.clone());
        Changed { object: after, deed }
    }

    /// Adds the tests of a policy in their new form, and the policy with its new revision.
    pub(crate) fn policy_tests(&mut self, of: Policy, after: PolicyTests) -> Changed<PolicyTests> {
        let (policy, digest) = (after.policy, crypto::sha256(&after.suite));
        let deed = self.seal(Fact {
            event: EventType::PolicyTestsUpdated,
            subject: Subject::policy(policy),
            before: None,
            // The file is kept in its own row; its digest is enough here.
            after: Some(json!({
                "policy": policy, "digest": digest, "cases": after.cases,
                "revision": after.revision, "updated_at": after.updated_at,
            })),
            data: vec![
                ("digest", json!(digest)),
                ("cases", json!(after.cases)),
                ("revision", json!(after.revision)),
            ],
            object: thin_policy(&policy, Value::Null, Value::Null),
        });
        self.write(of);
        self.write(after.clone());
        Changed { object: after, deed }
    }

    /// Adds a new version of a policy.
    pub(crate) fn policy_version(&mut self, version: PolicyVersion) -> Changed<PolicyVersion> {
        let PolicyVersion { id, policy, number, digest, created_at, .. } = version;
        let deed = self.seal(Fact {
            event: EventType::PolicyVersionCreated,
            subject: Subject::policy_version(id),
            before: None,
            // The document is kept for ever in its own row; its digest is enough here.
            after: Some(json!({
                "id": id, "policy": policy, "number": number, "digest": digest,
                "note": version.note, "author": version.author, "created_at": created_at,
            })),
            data: vec![
                ("policy", json!(policy)),
                ("number", json!(number)),
                ("digest", json!(digest)),
            ],
            object: thin_policy(&policy, json!(id), Value::Null),
        });
        self.write(version.clone());
        Changed { object: version, deed }
    }

    /// Adds the activation of a policy version.
    pub(crate) fn activation(
        &mut self,
        turn: u64,
        before: Option<&ActivePolicy>,
        after: ActivePolicy,
    ) -> Changed<PolicyActivation> {
        let deed = self.seal(Fact {
            event: EventType::PolicyActivated,
            subject: Subject::policy(after.policy),
            before: before.map(|active| json!(active)),
            after: Some(json!(after)),
            data: vec![
                ("mode", json!(after.mode)),
                ("version", json!(after.version)),
                ("digest", json!(after.digest)),
                ("previous", json!(before.map(|active| active.version))),
            ],
            object: thin_policy(&after.policy, json!(after.version), json!(after.mode)),
        });
        self.write(after);
        let happened = PolicyActivation {
            turn,
            deed,
            at: self.now(),
            mode: after.mode,
            active: Some((after.policy, after.version)),
            previous: before.map(|active| active.version),
            by: self.by().to_string(),
            reason: self.reason().to_owned(),
        };
        self.write(happened.clone());
        Changed { object: happened, deed }
    }

    /// Adds that no version is asked beside the enforced one any more.
    pub(crate) fn shadow_ended(
        &mut self,
        turn: u64,
        before: &ActivePolicy,
    ) -> Changed<PolicyActivation> {
        let deed = self.seal(Fact {
            event: EventType::PolicyShadowEnded,
            subject: Subject::policy(before.policy),
            before: Some(json!(before)),
            after: None,
            data: vec![("previous", json!(before.version))],
            object: thin_policy(&before.policy, json!(before.version), Value::Null),
        });
        self.write(ActiveChange { mode: before.mode, active: None });
        let happened = PolicyActivation {
            turn,
            deed,
            at: self.now(),
            mode: before.mode,
            active: None,
            previous: Some(before.version),
            by: self.by().to_string(),
            reason: self.reason().to_owned(),
        };
        self.write(happened.clone());
        Changed { object: happened, deed }
    }

    /// Adds a connector in its new form.
    pub(crate) fn connector(
        &mut self,
        event: EventType,
        before: Option<&Connector>,
        after: Connector,
    ) -> Changed<Connector> {
        let deed = self.seal(Fact {
            event,
            subject: Subject::connector(after.id),
            before: before.map(connector_without_secrets),
            after: Some(connector_without_secrets(&after)),
            data: vec![
                ("type", json!(after.kind)),
                ("status", json!(after.status)),
                ("revision", json!(after.revision)),
                ("credential_fields", json!(after.credential.len())),
            ],
            object: json!({ "object": "connector", "id": after.id, "name": after.name }),
        });
        self.write(after.clone());
        Changed { object: after, deed }
    }

    /// Adds the deed about a seal key, which is kept where it belongs to no org.
    pub(crate) fn seal_key(
        &mut self,
        event: EventType,
        key: &deed::SealKey,
    ) -> Changed<deed::SealKey> {
        let kid = key.kid();
        let deed = self.seal(Fact {
            event,
            subject: Subject::seal_key(kid.clone()),
            before: None,
            after: None,
            data: vec![
                ("purpose", json!(key.purpose)),
                ("activated_at", json!(key.activated_at)),
                ("introduced_by", json!(key.introduced_by.as_ref().map(|old| &old.kid))),
                ("retired_at", json!(key.retired_at)),
                ("revoked_at", json!(key.revoked_at)),
                ("revocation_reason", json!(key.revocation_reason)),
                ("compromised_since", json!(key.compromised_since)),
            ],
            object: json!({ "object": "seal_key", "id": kid }),
        });
        Changed { object: key.clone(), deed }
    }
}

/// What happened to an API key; the event is named by its holder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeyEvent {
    Created,
    Revoked,
}

fn key_status(key: &ApiKey, now: Timestamp) -> &'static str {
    if key.revoked_at.is_some() {
        "revoked"
    } else if key.is_valid(now) {
        "active"
    } else {
        "expired"
    }
}

fn thin_policy(id: &model::PolicyId, version: Value, mode: Value) -> Value {
    json!({ "object": "policy", "id": id, "version": version, "mode": mode })
}

fn key_without_mac(key: &ApiKey) -> Value {
    without(json!(key), "mac")
}

/// A ciphertext is no secret, but it has no place in a record that is kept for ever; the names
/// of the fields say what was set.
fn connector_without_secrets(connector: &Connector) -> Value {
    let fields: Vec<&String> = connector.credential.keys().collect();
    let mut value = without(json!(connector), "credential");
    if let Some(members) = value.as_object_mut() {
        members.insert("credential_fields".into(), json!(fields));
    }
    value
}

fn without(mut record: Value, member: &str) -> Value {
    if let Some(members) = record.as_object_mut() {
        members.remove(member);
    }
    record
}

#[cfg(test)]
mod tests;
