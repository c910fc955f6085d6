//! Changes of connectors that were refused: which place somebody tried to reach with one is told by a
//! deed, as a change that was made is.

use act::{ActError, Fact};
use deed::Subject;
use ledger::{Needs, record::Connector};
use model::{ConnectorId, EventType, causes};
use serde_json::{Value, json};

use crate::{ChangeError, ConnectorError, OrgChange, UnfitError};

/// The longest target, and the longest sentence, that a deed commits to as they are.
const LONGEST: usize = 4096;

/// A change that somebody asks for, as its deed tells it where it is refused.
pub(super) struct Attempt {
    id: ConnectorId,
    name: String,
    kind: String,
    /// Where the connector's tools run; nothing of one that is being made.
    before: Option<Value>,
    /// Where they would run.
    target: Value,
}

impl OrgChange<'_> {
    /// A change of this connector, as it stands before, to this config; to its own where none is given.
    pub(super) fn attempt(
        &self,
        (id, name): (ConnectorId, &str),
        (kind, before): (&str, Option<&Connector>),
        config: Option<&Value>,
    ) -> Attempt {
        let of = |config| bounded(self.admin.parts.connectors.target(kind, config));
        let before = before.map(|before| of(&before.config));
        let target = config.map(of).or_else(|| before.clone()).unwrap_or_default();
        Attempt { id, name: name.to_owned(), kind: kind.to_owned(), before, target }
    }

    /// What came of a change, once a deed tells of it where it was refused.
    pub(super) async fn told_of<T>(
        &self,
        attempt: Attempt,
        made: Result<T, ConnectorError>,
    ) -> Result<T, ConnectorError> {
        let Err(error) = made else { return made };
        let Some(code) = refusal(&error).map(Value::from) else { return Err(error) };
        let sentence: String = causes(&error).chars().take(LONGEST).collect();
        let told = self.turn(Needs::default(), None, move |_, record| {
            let Attempt { id, name, kind, before, target } = &attempt;
            record.seal(Fact {
                event: EventType::ConnectorChangeRefused,
                subject: Subject::connector(*id),
                before: before.as_ref().map(|target| json!({ "target": target })),
                after: Some(json!({ "target": target, "error": sentence })),
                data: vec![("type", json!(kind)), ("code", code.clone())],
                object: json!({ "object": "connector", "id": id, "name": name }),
            });
            Ok::<_, ActError>(())
        });
        // What cannot be told is no refusal of the change but a failure of the record.
        told.await?;
        Err(error)
    }
}

/// The code of a refusal that tells of a place; nothing for what was refused before any place counted, and
/// for failures of the record, which can tell of nothing.
fn refusal(error: &ConnectorError) -> Option<&'static str> {
    match error {
        ConnectorError::Unfit(unfit) => match unfit {
            UnfitError::UnknownKind(_) => None,
            UnfitError::Config(_) => Some("config_unfit"),
            UnfitError::Egress(_) => Some("egress_refused"),
            UnfitError::Unreachable(_) => Some("connector_unreachable"),
        },
        ConnectorError::Change(ChangeError::Act(ActError::BadInput { param, .. })) => {
            (*param == "credential").then_some("credential_unfit")
        }
        ConnectorError::Change(ChangeError::Act(ActError::Conflict(_))) => Some("conflict"),
        ConnectorError::Change(_)
        | ConnectorError::NoChangeLog(_)
        | ConnectorError::NotReady(_)
        | ConnectorError::Vault(_) => None,
    }
}

/// The target, or its digest where it is too long.
fn bounded(target: Value) -> Value {
    let canonical = crypto::json::canonical(&target);
    if canonical.len() <= LONGEST { target } else { json!({ "digest": crypto::sha256(canonical) }) }
}
