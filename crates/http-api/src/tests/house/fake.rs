//! The one type of connectors that a house has.

use admin::{
    Candidate, ConnectorCheck, ConnectorType, Coverage, CoveredTable, CredentialField,
    CredentialKind, KnownTools, Looked, LookedAt, NotServed, Prepare, UnfitError,
};
use async_trait::async_trait;
use model::{Level, TableGap};
use serde_json::{Value, json};

/// A type of connectors whose tools are those that the config says, once there is a credential.
pub(super) struct Fake;

#[async_trait]
impl ConnectorCheck for Fake {
    fn types(&self) -> Vec<ConnectorType> {
        let token = CredentialField { name: "token", required: true, description: "A token." };
        vec![ConnectorType {
            name: "fake",
            title: "Fake",
            credential_kinds: vec![CredentialKind { kind: "token", fields: vec![token] }],
            config_schema: json!({ "type": "object" }),
            witness_levels: vec![Level::L0],
        }]
    }

    fn receiver(&self, _: &str, config: &Value) -> Value {
        config["host"].clone()
    }

    fn target(&self, _: &str, config: &Value) -> Value {
        json!({ "host": config["host"] })
    }

    async fn check(&self, candidate: Candidate<'_>) -> Result<KnownTools, UnfitError> {
        if candidate.kind != "fake" {
            return Err(UnfitError::UnknownKind(candidate.kind.to_owned()));
        }
        match candidate.config["host"].as_str() {
            Some("169.254.169.254") => Err(UnfitError::Egress("it is link-local".to_owned())),
            Some("down") => Err(UnfitError::Unreachable("it does not answer".to_owned())),
            Some("wrong") => Err(UnfitError::Config(vec!["`/host`: not that one".to_owned()])),
            Some(_) | None if candidate.credential.is_empty() => Ok(KnownTools::new()),
            Some(_) | None => {
                let tools = candidate.config["tools"].as_object().into_iter().flatten();
                let known = |(name, entry): (&String, &Value)| {
                    let digest = crypto::sha256(crypto::json::canonical(entry));
                    let name = name.parse().expect("a tool's name");
                    let mut known = json!({ "digest": digest, "entry": entry });
                    if let Some(column) = known["entry"].as_object_mut().unwrap().remove("column") {
                        known["statement"] =
                            json!({ "parameters": [], "columns": [["id", column]] });
                    }
                    (name, known)
                };
                Ok(tools.map(known).collect())
            }
        }
    }

    async fn look(
        &self,
        candidate: Candidate<'_>,
        _: &KnownTools,
    ) -> Result<Vec<Looked>, UnfitError> {
        let lacks = candidate.credential.is_empty();
        let found = if lacks { LookedAt::Fail } else { LookedAt::Pass };
        Ok(vec![Looked { name: "login".to_owned(), found, detail: String::new() }])
    }

    fn setup(
        &self,
        candidate: Candidate<'_>,
        prepare: Prepare,
    ) -> Result<Option<String>, UnfitError> {
        let script = candidate.config["script"].as_str();
        Ok(script.map(|script| format!("{script} -- {prepare:?}")))
    }

    async fn not_served(&self, candidate: Candidate<'_>) -> Vec<NotServed> {
        let parts = candidate.config["not_served"].as_object().into_iter().flatten();
        let part = |(operation, reason): (&String, &Value)| NotServed {
            operation: operation.clone(),
            reason: reason.as_str().expect("a reason").to_owned(),
        };
        parts.map(part).collect()
    }

    async fn coverage(
        &self,
        candidate: Candidate<'_>,
        beside: &[String],
    ) -> Result<Option<Coverage>, UnfitError> {
        let Some(log) = candidate.config.get("log").and_then(Value::as_object) else {
            return Ok(None);
        };
        let found = if log["login"] == true { LookedAt::Pass } else { LookedAt::Fail };
        let line = |name: &str, found| Looked {
            name: name.to_owned(),
            found,
            detail: if found == LookedAt::Fail { "run the setup script" } else { "" }.to_owned(),
        };
        let words = |value: &Value| serde_json::from_value::<Vec<TableGap>>(value.clone());
        let tables = log["tables"].as_object().into_iter().flatten();
        let beside = beside.iter().map(|name| (name.clone(), vec![TableGap::NotPublished]));
        let known = tables.map(|(name, gaps)| (name.clone(), words(gaps).expect("gaps")));
        let table = |(name, missing): (String, Vec<TableGap>)| CoveredTable {
            asked: name.clone(),
            name,
            partial_publications: missing
                .iter()
                .filter(|gap| **gap == TableGap::PublishedInPart)
                .map(|_| "reports".to_owned())
                .collect(),
            missing,
            writes_fail: false,
            row_bytes: Some(300),
            changed_rows: 20,
            full_identity_bytes: Some(6000),
        };
        Ok(Some(Coverage {
            publication: "svc_depot".to_owned(),
            slot: "svc_depot".to_owned(),
            checks: vec![line("login", found)],
            tables: known.chain(beside).map(table).collect(),
            script: Some("alter publication svc_depot set table orders;".to_owned()),
        }))
    }
}
