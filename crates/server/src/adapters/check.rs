//! Whether a connector's config and credential would do, asked of the adapter that would use them.

use admin::{Candidate, ConnectorCheck, KnownTools, UnfitError};
use async_trait::async_trait;
use connectors::{Blueprint, BuildError, Deps};
use model::ExecutionErrorCode;

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
    async fn check(&self, candidate: Candidate<'_>) -> Result<KnownTools, UnfitError> {
        let blueprint = Blueprint {
            org: candidate.org,
            id: candidate.id,
            name: candidate.name.clone(),
            kind: candidate.kind.to_owned(),
            revision: 0,
            config: candidate.config.clone(),
            credential: connectors::Credential::new(candidate.credential.clone()),
            // What was accepted once is not asked for: it is to be accepted anew.
            tools: KnownTools::new(),
        };
        if candidate.credential.is_empty() {
            // Nothing can log in yet, so only the config by itself can be looked at.
            let findings = connectors::findings(&blueprint).map_err(unfit)?;
            let sentences: Vec<_> = findings.iter().map(ToString::to_string).collect();
            let fits = sentences.is_empty();
            return if fits { Ok(KnownTools::new()) } else { Err(UnfitError::Config(sentences)) };
        }
        let built = connectors::build(&blueprint, &self.0).await.map_err(unfit)?;
        Ok(built.learnt())
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
