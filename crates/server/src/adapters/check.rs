//! Whether a connector's config and credential would do, asked of the adapter that would use them.

use admin::{
    Candidate, ConnectorCheck, ConnectorType, Coverage, CoveredTable, CredentialField,
    CredentialKind, KnownTools, Looked, LookedAt, NotServed, Prepare, UnfitError,
};
use async_trait::async_trait;
use connectors::{Blueprint, BuildError, CheckLine, CheckState, Deps, postgres::Witness};
use model::ExecutionErrorCode;
use serde_json::Value;

/// Asks the adapters.
#[derive(Debug, Clone)]
pub struct Adapters(Deps);

impl Adapters {
    /// The adapters with what they need.
    pub fn new(deps: Deps) -> Self {
        Self(deps)
    }
}

#[async_trait]
impl ConnectorCheck for Adapters {
    fn types(&self) -> Vec<ConnectorType> {
        connectors::TYPES.iter().map(offered).collect()
    }

    fn receiver(&self, kind: &str, config: &Value) -> Value {
        connectors::receiver(kind, config)
    }

    fn target(&self, kind: &str, config: &Value) -> Value {
        connectors::target(kind, config)
    }

    fn targeted(&self, kind: &str, config: &Value, tools: &KnownTools) -> KnownTools {
        connectors::targeted(kind, config, tools)
    }

    async fn check(&self, candidate: Candidate<'_>) -> Result<KnownTools, UnfitError> {
        // What was accepted once is not asked for: it is to be accepted anew.
        let blueprint = blueprint(candidate, KnownTools::new());
        if !connectors::is_learnable(&blueprint) {
            // Nothing can log in yet, so only the config by itself can be looked at.
            let findings = connectors::findings(&blueprint).map_err(unfit)?;
            let sentences: Vec<_> = findings.iter().map(ToString::to_string).collect();
            let fits = sentences.is_empty();
            return if fits { Ok(KnownTools::new()) } else { Err(UnfitError::Config(sentences)) };
        }
        let built = connectors::build(&blueprint, &self.0).await.map_err(unfit)?;
        Ok(built.tool_schemas())
    }

    async fn look(
        &self,
        candidate: Candidate<'_>,
        accepted: &KnownTools,
    ) -> Result<Vec<Looked>, UnfitError> {
        let blueprint = blueprint(candidate, accepted.clone());
        let lines = connectors::check(&blueprint, &self.0).await.map_err(unfit)?;
        Ok(lines.into_iter().map(looked).collect())
    }

    fn setup(
        &self,
        candidate: Candidate<'_>,
        prepare: Prepare,
    ) -> Result<Option<String>, UnfitError> {
        let witness = match prepare {
            Prepare::Calls => Witness::Later,
            Prepare::CallsAndWitness => Witness::Wanted,
        };
        let blueprint = blueprint(candidate, KnownTools::new());
        connectors::setup_script(&blueprint, witness).map_err(unfit)
    }

    async fn not_served(&self, candidate: Candidate<'_>) -> Vec<NotServed> {
        let blueprint = blueprint(candidate, KnownTools::new());
        // A description of a megabyte takes too long for a thread that serves other requests.
        let read = tokio::task::spawn_blocking(move || connectors::not_served(&blueprint)).await;
        let parts = read.unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic()));
        let part = |(operation, reason)| NotServed { operation, reason };
        parts.into_iter().map(part).collect()
    }

    async fn coverage(
        &self,
        candidate: Candidate<'_>,
        beside: &[String],
    ) -> Result<Option<Coverage>, UnfitError> {
        let blueprint = blueprint(candidate, KnownTools::new());
        let found = connectors::coverage(&blueprint, &self.0, beside).await.map_err(unfit)?;
        Ok(found.map(|found| Coverage {
            publication: found.publication,
            slot: found.slot,
            checks: found.checks.into_iter().map(looked).collect(),
            tables: found.tables.into_iter().map(covered).collect(),
            script: found.script,
        }))
    }
}

fn covered(table: connectors::postgres::CoveredTable) -> CoveredTable {
    CoveredTable {
        row_bytes: table.price.row_bytes,
        changed_rows: table.price.changed_rows,
        full_identity_bytes: table.price.bytes(),
        asked: table.asked,
        name: table.name,
        missing: table.missing,
        writes_fail: table.writes_fail,
        partial_publications: table.partial_publications,
    }
}

fn blueprint(candidate: Candidate<'_>, tools: KnownTools) -> Blueprint {
    let Candidate { org, id, name, kind, config, credential, credential_kind } = candidate;
    let credential = connectors::Credential::new(credential.clone());
    Blueprint {
        org,
        id,
        name: name.clone(),
        kind: kind.to_owned(),
        revision: 0,
        config: config.clone(),
        credential: credential.of_kind(credential_kind.map(str::to_owned)),
        tools,
    }
}

fn looked(line: CheckLine) -> Looked {
    let CheckLine { name, state, detail } = line;
    let found = match state {
        CheckState::Pass => LookedAt::Pass,
        CheckState::Advice => LookedAt::Advice,
        CheckState::Fail => LookedAt::Fail,
    };
    Looked { name, found, detail }
}

fn offered(known: &connectors::Type) -> ConnectorType {
    let field = |field: &connectors::CredentialField| CredentialField {
        name: field.name,
        required: field.required,
        description: field.description,
    };
    let kind = |kind: &connectors::CredentialKind| CredentialKind {
        kind: kind.kind,
        fields: kind.fields.iter().map(field).collect(),
    };
    ConnectorType {
        name: known.kind,
        title: known.title,
        credential_kinds: known.credentials.iter().map(kind).collect(),
        // The schemas are of the program, which its tests read.
        config_schema: serde_json::from_str(known.config_schema).unwrap_or_default(),
        witness_levels: known.witness_levels.to_vec(),
    }
}

pub(super) fn unfit(error: BuildError) -> UnfitError {
    let sentence = error.to_string();
    match error {
        BuildError::UnknownKind { kind } => UnfitError::UnknownKind(kind),
        BuildError::Config { findings } => {
            UnfitError::Config(findings.iter().map(ToString::to_string).collect())
        }
        BuildError::Credential { .. } => UnfitError::Config(vec![sentence]),
        BuildError::Connect(fault) if fault.code == ExecutionErrorCode::EgressRefused.into() => {
            UnfitError::Egress(fault.message)
        }
        BuildError::Connect(fault) => UnfitError::Unreachable(fault.message),
    }
}
