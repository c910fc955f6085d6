//! Making connectors, giving them credentials, and switching them on and off.

use std::collections::BTreeMap;

use act::{ActError, Changed, Fact, Reason, Record};
use async_trait::async_trait;
use deed::Subject;
use ledger::{
    Needs, Snapshot,
    record::{Connector, ConnectorStatus},
};
use model::{ConnectorId, ConnectorName, EventType, OrgId, Timestamp, ToolName};
use serde_json::{Value, json};

use crate::{
    ChangeError, ConnectorError, Credential, OrgChange, UnfitError,
    credential::{self, Envelope},
};

/// What a connector is made with.
#[derive(Debug, Clone)]
pub struct NewConnector {
    /// Its name, the first part of its tools' names; unique in the org.
    pub name: String,
    /// Its type, such as `postgres`.
    pub kind: String,
    /// Its config, without secrets.
    pub config: Value,
    /// Its credential; empty when it is set later.
    pub credential: Credential,
    /// Whether it runs test actions and no others.
    pub test: bool,
}

/// A connector as its adapter is asked whether it would do.
#[derive(Debug, Clone, Copy)]
pub struct Candidate<'a> {
    /// The org.
    pub org: OrgId,
    /// The connector's id.
    pub id: ConnectorId,
    /// Its name.
    pub name: &'a ConnectorName,
    /// Its type.
    pub kind: &'a str,
    /// Its config.
    pub config: &'a Value,
    /// Its credential; empty when none was given yet, and then the governed system cannot be
    /// asked.
    pub credential: &'a Credential,
}

/// What the tools of a connector are kept with, in its adapter's own form.
pub type KnownTools = BTreeMap<ToolName, Value>;

/// Knows the adapters.
#[async_trait]
pub trait ConnectorCheck: Send + Sync {
    /// What the connector's tools are to be kept with, nothing while no credential says who could
    /// ask for it; fails with what is wrong with the connector.
    async fn check(&self, candidate: Candidate<'_>) -> Result<KnownTools, UnfitError>;
}

impl OrgChange<'_> {
    /// Makes an enabled connector.
    pub async fn create_connector(
        &self,
        new: NewConnector,
    ) -> Result<Changed<Connector>, ConnectorError> {
        let name = connector_name(&new.name)?;
        kind_fits(&new.kind)?;
        credential::check(&new.credential)?;
        if self.admin.parts.store.connectors(self.org).await?.iter().any(|c| c.name == name) {
            return Err(ChangeError::NameTaken(name.to_string()).into());
        }
        let id = self.admin.mint().id(ConnectorId::from_uuid);
        let candidate = Candidate {
            org: self.org,
            id,
            name: &name,
            kind: &new.kind,
            config: &new.config,
            credential: &new.credential,
        };
        let tools = self.check(candidate).await?;
        let connector = Connector {
            id,
            org: self.org,
            name,
            kind: new.kind,
            test: new.test,
            status: ConnectorStatus::Enabled,
            config: new.config,
            credential: self.sealed(id, &new.credential)?,
            tools,
            told: BTreeMap::new(),
            revision: 1,
            created_at: Timestamp::EPOCH,
            archived_at: None,
        };
        let made = self.turn(Needs::default(), None, move |at, record| {
            if at.connectors().any(|other| other.name == connector.name) {
                return Err(ChangeError::NameTaken(connector.name.to_string()));
            }
            let connector = Connector { created_at: at.now(), ..connector.clone() };
            Ok(changed(record, EventType::ConnectorCreated, None, connector))
        });
        Ok(made.await?)
    }

    /// Replaces a connector's config, and accepts its tools as the governed system gives them now.
    pub async fn update_connector(
        &self,
        id: ConnectorId,
        config: Value,
    ) -> Result<Changed<Connector>, ConnectorError> {
        let before = self.stored(id).await?;
        let credential = credential::open_credential(&self.admin.parts.vault, &before)?;
        let tools =
            self.check(Candidate { config: &config, ..candidate(&before, &credential) }).await?;
        self.revise(before, EventType::ConnectorUpdated, move |connector| {
            connector.config = config.clone();
            connector.tools = tools.clone();
        })
        .await
    }

    /// Replaces a connector's whole credential; no value is ever given out again. Tools that could
    /// not be learnt before are accepted with it, and no others.
    pub async fn set_credential(
        &self,
        id: ConnectorId,
        credential: Credential,
    ) -> Result<Changed<Connector>, ConnectorError> {
        credential::check(&credential)?;
        let before = self.stored(id).await?;
        let tools = self.check(candidate(&before, &credential)).await?;
        let sealed: BTreeMap<String, String> = self.sealed(id, &credential)?;
        self.revise(before, EventType::ConnectorCredentialSet, move |connector| {
            connector.credential = sealed.clone();
            if connector.tools.is_empty() {
                connector.tools = tools.clone();
            }
        })
        .await
    }

    /// Notes what the tools of a connector are kept with, where it was made before that was noted.
    /// It changes nothing of what the connector does, so there is no deed of it.
    pub async fn learn_tools(
        &self,
        (id, revision): (ConnectorId, u32),
        tools: KnownTools,
    ) -> Result<(), ConnectorError> {
        let noted = self.turn(Needs::default(), None, move |at, record| {
            let before = loaded(at, id)?;
            if before.tools.is_empty() && before.revision == revision {
                record.write(Connector { tools: tools.clone(), ..before.clone() });
            }
            Ok::<_, ActError>(())
        });
        Ok(noted.await?)
    }

    /// Lets a connector run calls again, and accepts its tools as the governed system gives them now.
    /// One that does not answer keeps the tools that were accepted before.
    pub async fn enable_connector(
        &self,
        id: ConnectorId,
        reason: &str,
    ) -> Result<Changed<Connector>, ConnectorError> {
        let before = self.stored(id).await?;
        let credential = credential::open_credential(&self.admin.parts.vault, &before);
        let tools = match &credential {
            Ok(credential) => self.check(candidate(&before, credential)).await.ok(),
            Err(_) => None,
        };
        let learnt = tools.filter(|tools| !tools.is_empty() && *tools != before.tools);
        let learnt = learnt.map(|tools| (before.revision, tools));
        self.switch((id, ConnectorStatus::Enabled), reason, learnt).await
    }

    /// Disables a connector for good and removes its credential. Its name stays taken.
    pub async fn archive_connector(
        &self,
        id: ConnectorId,
        reason: &str,
    ) -> Result<Changed<Connector>, ConnectorError> {
        let reason = Reason::parse(reason)?;
        let archived = self.turn(Needs::default(), Some(reason), move |at, record| {
            let before = loaded(at, id)?;
            let after = Connector {
                status: ConnectorStatus::Disabled,
                credential: BTreeMap::new(),
                revision: before.revision.saturating_add(1),
                archived_at: Some(at.now()),
                ..before.clone()
            };
            Ok::<_, ActError>(changed(record, EventType::ConnectorArchived, Some(before), after))
        });
        Ok(archived.await?)
    }

    /// Makes a connector refuse calls.
    pub async fn disable_connector(
        &self,
        id: ConnectorId,
        reason: &str,
    ) -> Result<Changed<Connector>, ConnectorError> {
        self.switch((id, ConnectorStatus::Disabled), reason, None).await
    }

    async fn switch(
        &self,
        (id, status): (ConnectorId, ConnectorStatus),
        reason: &str,
        learnt: Option<(u32, KnownTools)>,
    ) -> Result<Changed<Connector>, ConnectorError> {
        let reason = Reason::parse(reason)?;
        let (event, already) = match status {
            ConnectorStatus::Enabled => {
                (EventType::ConnectorEnabled, "the connector is already enabled")
            }
            ConnectorStatus::Disabled => {
                (EventType::ConnectorDisabled, "the connector is already disabled")
            }
        };
        let switched = self.turn(Needs::default(), Some(reason), move |at, record| {
            let before = loaded(at, id)?;
            if before.status == status {
                return Err(ActError::Conflict(already));
            }
            let mut after = Connector { status, ..before.clone() };
            // What was learnt of a revision that is gone says nothing of this one.
            let learnt = learnt.as_ref().filter(|(revision, _)| *revision == before.revision);
            if let Some((_, tools)) = learnt {
                after.tools = tools.clone();
                after.revision = after.revision.saturating_add(1);
            }
            Ok(changed(record, event, Some(before), after))
        });
        Ok(switched.await?)
    }

    /// Writes the next revision of a connector that was checked as it stood `before`.
    async fn revise(
        &self,
        before: Connector,
        event: EventType,
        edit: impl Fn(&mut Connector) + Send + 'static,
    ) -> Result<Changed<Connector>, ConnectorError> {
        let (id, checked) = (before.id, before.revision);
        let revised = self.turn(Needs::default(), None, move |at, record| {
            let before = loaded(at, id)?;
            if before.revision != checked {
                return Err(ActError::Conflict("the connector was changed meanwhile"));
            }
            let mut after = before.clone();
            edit(&mut after);
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

    fn sealed(
        &self,
        connector: ConnectorId,
        credential: &Credential,
    ) -> Result<BTreeMap<String, String>, ConnectorError> {
        let (vault, entropy) = (&self.admin.parts.vault, self.admin.parts.entropy.as_ref());
        Ok(Envelope { vault, entropy, org: self.org, connector }.seal(credential)?)
    }
}

fn candidate<'a>(connector: &'a Connector, credential: &'a Credential) -> Candidate<'a> {
    let Connector { id, org, name, kind, config, .. } = connector;
    Candidate { org: *org, id: *id, name, kind, config, credential }
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
        let expected = format!("2 to 32 characters of `a-z0-9-`, none of `{reserved}`");
        ActError::bad_input("name", expected)
    })
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
        members.insert("credential_fields".into(), json!(fields));
    }
    value
}
