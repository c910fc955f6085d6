//! Making connectors and changing them. How their credentials are kept, their tools accepted, and
//! how they are switched on and off stands in files of their own.

mod attempt;
mod check;
mod credentials;
mod opened;
mod read;
mod switch;
mod test;
mod tools;
mod types;
mod witness;

use std::collections::BTreeMap;

use act::{ActError, Changed, Fact, Record};
use deed::Subject;
use ledger::{
    Needs, Snapshot,
    record::{Connector, ConnectorStatus, CredentialSet},
};
use model::{ConnectorId, ConnectorName, EventType, Timestamp};
use serde_json::{Value, json};

pub use check::{Candidate, ConnectorCheck, KnownTools, Looked, LookedAt, NotServed, Prepare};
pub use read::{ToolStanding, ToolState};
pub use test::ConnectorTest;
pub use tools::ToolEdit;
pub use types::{ConnectorType, CredentialField, CredentialKind};
pub use witness::{Coverage, CoveredTable, Gaps};

use opened::candidate;

use crate::{
    ChangeError, ConnectorError, Credential, Expected, OrgChange, UnfitError, credential, input,
};

/// What a moved connector lacks.
const AGAIN: &str = "the connector's credential again: the config names another server, user or \
    certificate, and a credential is only used with the server, user and certificate that it was \
    set for";
/// What a credential by itself lacks.
const WITH_CONFIG: &str = "`config` in the same request; to set only a credential, use `PUT \
    /v1/connectors/{id}/credential`";

/// The most connectors that an org has at a time.
const MAX_CONNECTORS: usize = 100;

/// What a connector is made with.
#[derive(Debug, Clone)]
pub struct NewConnector {
    /// Its name, the first part of its tools' names; unique in the org.
    pub name: String,
    /// What people call it; may be empty.
    pub title: String,
    /// Its type, such as `postgres`.
    pub kind: String,
    /// Its config, without secrets.
    pub config: Value,
    /// Its credential; empty when it is set later.
    pub credential: Credential,
    /// The credential's kind; nothing for the only one that its type has.
    pub credential_kind: Option<String>,
    /// Whether it runs test actions and no others.
    pub test: bool,
}

impl NewConnector {
    /// A connector of this type that has no credential yet.
    pub fn of(kind: &str, name: &str, config: Value) -> Self {
        Self {
            name: name.to_owned(),
            title: String::new(),
            kind: kind.to_owned(),
            config,
            credential: Credential::new(),
            credential_kind: None,
            test: false,
        }
    }
}

/// What is to become of a connector.
#[derive(Debug, Clone, Default)]
pub struct ConnectorEdit {
    /// What people call it.
    pub title: Option<String>,
    /// Its config, as a whole.
    pub config: Option<Value>,
    /// Its credential, which a config needs that names another receiver; empty where it stays.
    pub credential: Credential,
    /// The credential's kind; nothing for the only one that its type has.
    pub credential_kind: Option<String>,
    /// Whether its tools are accepted as the governed system gives them under the new config; otherwise
    /// those that are new or other than before are refused until somebody accepts each.
    pub pin_tools: bool,
    /// The revision that the change was made for.
    pub expected_revision: Expected<u32>,
}

impl OrgChange<'_> {
    /// Makes an enabled connector. Where the governed system or its adapter refuses it, a deed tells of
    /// the attempt.
    pub async fn create_connector(
        &self,
        new: NewConnector,
    ) -> Result<Changed<Connector>, ConnectorError> {
        let id = self.admin.mint().id(ConnectorId::from_uuid);
        let attempt = self.attempt((id, &new.name), (&new.kind, None), Some(&new.config));
        self.told_of(attempt, self.create(id, new).await).await
    }

    async fn create(
        &self,
        id: ConnectorId,
        new: NewConnector,
    ) -> Result<Changed<Connector>, ConnectorError> {
        let name = connector_name(&new.name)?;
        let title = title(&new.title)?;
        kind_fits(&new.kind)?;
        let given = (new.credential_kind.as_deref(), &new.credential);
        let credential_kind = self.credential_kind(&new.kind, given)?;
        if self.admin.parts.store.connectors(self.org).await?.iter().any(|c| c.name == name) {
            return Err(ChangeError::NameTaken(name.to_string()).into());
        }
        let candidate = Candidate {
            org: self.org,
            id,
            name: &name,
            kind: &new.kind,
            config: &new.config,
            credential: &new.credential,
            credential_kind: credential_kind.as_deref(),
        };
        let tools = self.check(candidate).await?;
        let connector = Connector {
            id,
            org: self.org,
            name,
            title,
            credential: self.sealed((id, &new.kind), (&new.config, &new.credential))?,
            kind: new.kind,
            test: new.test,
            status: ConnectorStatus::Enabled,
            config: new.config,
            credential_set: credential_kind.map(|kind| set_now(kind, &new.credential)),
            tools,
            found: None,
            settings: BTreeMap::new(),
            told: BTreeMap::new(),
            witness: None,
            revision: 1,
            created_at: Timestamp::EPOCH,
            archived_at: None,
        };
        let made = self.turn(Needs::default(), None, move |at, record| {
            if at.connectors().any(|other| other.name == connector.name) {
                return Err(ChangeError::NameTaken(connector.name.to_string()));
            }
            if at.connectors().filter(|other| other.archived_at.is_none()).count() >= MAX_CONNECTORS
            {
                return Err(ChangeError::LimitReached(
                    "the org has 100 connectors, the maximum; archive one first",
                ));
            }
            let connector = Connector {
                created_at: at.now(),
                credential_set: dated(connector.credential_set.clone(), at.now()),
                ..connector.clone()
            };
            Ok(changed(record, EventType::ConnectorCreated, None, connector))
        });
        Ok(made.await?)
    }

    /// Replaces what is given of a connector. Its tools are accepted as the governed system gives them
    /// now where that is asked for, or where none were accepted yet. A config that names another receiver
    /// of the credential needs the credential again. Where a config or a credential is refused, a deed
    /// tells of the attempt.
    pub async fn update_connector(
        &self,
        id: ConnectorId,
        edit: ConnectorEdit,
    ) -> Result<Changed<Connector>, ConnectorError> {
        let title = edit.title.as_deref().map(title).transpose()?;
        let before = self.stored(id).await?;
        if edit.expected_revision.is_not(&before.revision) {
            let sentence = "`expected_revision` is not the current revision of the connector";
            return Err(ActError::Stale { param: "expected_revision", sentence }.into());
        }
        let titled = move |connector: &mut Connector| {
            if let Some(title) = &title {
                connector.title.clone_from(title);
            }
        };
        let ConnectorEdit { config, credential, credential_kind, pin_tools, .. } = edit;
        let given = (credential_kind, credential);
        let Some(config) = config else {
            if given.0.is_some() || !given.1.is_empty() {
                return Err(ActError::bad_input("credential", WITH_CONFIG).into());
            }
            let event = EventType::ConnectorUpdated;
            return self.revise(before, event, move |connector, _| titled(connector)).await;
        };
        let (name, kind) = (before.name.as_str(), &*before.kind);
        let attempt = self.attempt((id, name), (kind, Some(&before)), Some(&config));
        let edit = move |connector: &mut Connector, found: &KnownTools| {
            titled(connector);
            tools::note(connector, found, pin_tools);
        };
        self.told_of(attempt, self.configure(before, (config, given), edit).await).await
    }

    /// Gives a connector this config, with a credential where one is given, once its adapter takes both.
    async fn configure(
        &self,
        before: Connector,
        (config, (kind, credential)): (Value, (Option<String>, Credential)),
        edit: impl Fn(&mut Connector, &KnownTools) + Send + 'static,
    ) -> Result<Changed<Connector>, ConnectorError> {
        // A credential that is given again is of the same kind, where nothing else is said.
        let same = before.credential_set.as_ref().filter(|_| !credential.is_empty());
        let kind = kind.as_deref().or(same.map(|set| &*set.kind));
        let kind = self.credential_kind(&before.kind, (kind, &credential))?;
        if kind.is_none() && !before.credential.is_empty() && self.is_moved(&before, &config) {
            return Err(ActError::bad_input("credential", AGAIN).into());
        }
        if leaves_its_database(&before, &config) {
            self.leaves_no_slot(&before).await?;
        }
        let (found, renewed) = match kind {
            None => (self.check(self.admin.opened(&before, &config)?.candidate()).await?, None),
            Some(kind) => {
                let candidate = candidate(&before, (&config, &credential));
                let candidate = Candidate { credential_kind: Some(&kind), ..candidate };
                let found = self.check(candidate).await?;
                let sealed = self.sealed((before.id, &before.kind), (&config, &credential))?;
                (found, Some((sealed, set_now(kind, &credential))))
            }
        };
        self.revise(before, EventType::ConnectorUpdated, move |connector, now| {
            connector.config = config.clone();
            if let Some((sealed, set)) = &renewed {
                connector.credential.clone_from(sealed);
                connector.credential_set = dated(Some(set.clone()), now);
            }
            edit(connector, &found);
        })
        .await
    }

    /// Writes the next revision of a connector that was checked as it stood `before`.
    async fn revise(
        &self,
        before: Connector,
        event: EventType,
        edit: impl Fn(&mut Connector, Timestamp) + Send + 'static,
    ) -> Result<Changed<Connector>, ConnectorError> {
        let (id, checked) = (before.id, before.revision);
        let revised = self.turn(Needs::default(), None, move |at, record| {
            let before = loaded(at, id)?;
            if before.revision != checked {
                return Err(ActError::Conflict(
                    "the connector was changed in the meantime; try again",
                ));
            }
            let mut after = before.clone();
            edit(&mut after, at.now());
            after.revision = after.revision.saturating_add(1);
            Ok(changed(record, event, Some(before), after))
        });
        Ok(revised.await?)
    }

    async fn stored(&self, id: ConnectorId) -> Result<Connector, ConnectorError> {
        let stored = self.admin.parts.store.connector(self.org, id).await?;
        Ok(stored.ok_or(ActError::NotFound("connector"))?)
    }

    async fn check(&self, candidate: Candidate<'_>) -> Result<KnownTools, UnfitError> {
        self.admin.parts.connectors.check(candidate).await
    }
}

/// Whether the config names another database, in which a slot of the one before stays behind.
fn leaves_its_database(before: &Connector, config: &Value) -> bool {
    let differs = |member: &&str| config.get(*member) != before.config.get(*member);
    ["host", "port", "database"].iter().any(differs)
}

fn loaded(at: &Snapshot, id: ConnectorId) -> Result<&Connector, ActError> {
    let connector = at.connector(id).ok_or(ActError::NotFound("connector"))?;
    match connector.archived_at {
        None => Ok(connector),
        Some(_) => Err(ActError::Conflict("the connector is archived")),
    }
}

fn connector_name(text: &str) -> Result<ConnectorName, ActError> {
    let name: Option<ConnectorName> = text.parse().ok();
    name.filter(|name| !name.is_reserved()).ok_or_else(|| {
        let reserved = ConnectorName::RESERVED.join("`, `");
        let expected = format!(
            "2 to 32 characters of `a-z0-9-`, and not one of the reserved names `{reserved}`"
        );
        ActError::bad_input("name", expected)
    })
}

/// What people call a connector, which may be nothing.
fn title(text: &str) -> Result<String, ActError> {
    if text.is_empty() { Ok(String::new()) } else { input::title_as("title", text) }
}

/// What may be told of a credential, until the turn knows when it was set.
fn set_now(kind: String, credential: &Credential) -> CredentialSet {
    CredentialSet { kind, hint: credential::hint(credential), at: Timestamp::EPOCH }
}

fn dated(set: Option<CredentialSet>, at: Timestamp) -> Option<CredentialSet> {
    set.map(|set| CredentialSet { at, ..set })
}

/// A type stands in deeds, so it is a word before any adapter is asked.
fn kind_fits(kind: &str) -> Result<(), ConnectorError> {
    match kind.parse::<deed::Word>() {
        Ok(_) => Ok(()),
        Err(_) => Err(UnfitError::UnknownKind(kind.chars().take(64).collect()).into()),
    }
}

/// Adds a connector in its new form.
pub(crate) fn changed(
    record: &mut Record<'_>,
    event: EventType,
    before: Option<&Connector>,
    after: Connector,
) -> Changed<Connector> {
    let deed = record.seal(Fact {
        event,
        subject: Subject::connector(after.id),
        before: before.map(without_secrets),
        after: Some(without_secrets(&after)),
        data: vec![
            ("type", json!(after.kind)),
            ("status", json!(after.status)),
            ("revision", json!(after.revision)),
            ("credential_fields", json!(after.credential.len())),
        ],
        object: json!({ "object": "connector", "id": after.id, "name": after.name }),
    });
    record.write(after.clone());
    Changed { object: after, deed }
}

/// A ciphertext is no secret, but it has no place in a record that is kept for ever; the names
/// of the fields say what was set.
fn without_secrets(connector: &Connector) -> Value {
    let fields: Vec<&String> = connector.credential.keys().collect();
    let mut value = json!(connector);
    if let Some(members) = value.as_object_mut() {
        members.remove("credential");
        // The end of a value helps whoever looks now, and would be kept for ever.
        if let Some(set) = members.get_mut("credential_set").and_then(Value::as_object_mut) {
            set.remove("hint");
        }
        members.insert("credential_fields".into(), json!(fields));
        members.insert("credential_key".into(), json!(credential::key_id(connector)));
    }
    value
}
