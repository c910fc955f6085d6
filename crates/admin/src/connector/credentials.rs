//! The credentials of connectors: set as a whole and removed. No value is ever given out again.

use std::collections::BTreeMap;

use act::{ActError, Changed};
use ledger::{Needs, record::Connector};
use model::{ConnectorId, EventType};

use super::{CredentialKind, candidate, changed, dated, loaded, set_now, tools};
use crate::{ConnectorError, Credential, OrgChange, credential};

/// What a connector without a type that is known calls its credential.
const UNNAMED: &str = "credential";

impl OrgChange<'_> {
    /// Replaces a connector's whole credential. Tools that could not be learnt before are accepted
    /// with it, and no others.
    pub async fn set_credential(
        &self,
        id: ConnectorId,
        (kind, credential): (Option<&str>, Credential),
    ) -> Result<Changed<Connector>, ConnectorError> {
        let before = self.stored(id).await?;
        if credential.is_empty() {
            return Err(ActError::bad_input("credential", "at least one field").into());
        }
        let kind = self.credential_kind(&before.kind, (kind, &credential))?;
        let attempt = {
            let (name, kind) = (before.name.as_str(), &*before.kind);
            self.attempt((id, name), (kind, Some(&before)), None)
        };
        let candidate = super::Candidate {
            credential_kind: kind.as_deref(),
            ..candidate(&before, (&before.config, &credential))
        };
        let found = self.told_of(attempt, self.check(candidate).await.map_err(Into::into)).await?;
        let sealed = self.sealed((id, &before.kind), (&before.config, &credential))?;
        let set = kind.map(|kind| set_now(kind, &credential));
        self.revise(before, EventType::ConnectorCredentialSet, move |connector, now| {
            connector.credential = sealed.clone();
            connector.credential_set = dated(set.clone(), now);
            tools::note(connector, &found, false);
        })
        .await
    }

    /// Removes a connector's credential; calls of its tools fail until there is another.
    pub async fn remove_credential(
        &self,
        id: ConnectorId,
    ) -> Result<Changed<Connector>, ConnectorError> {
        let removed = self.turn(Needs::default(), None, move |at, record| {
            let before = loaded(at, id)?;
            if before.credential.is_empty() {
                return Err(ActError::Conflict("the connector has no credential"));
            }
            let after = Connector {
                credential: BTreeMap::new(),
                credential_set: None,
                revision: before.revision.saturating_add(1),
                ..before.clone()
            };
            let event = EventType::ConnectorCredentialRemoved;
            Ok(changed(record, event, Some(before), after))
        });
        Ok(removed.await?)
    }

    /// Encrypts a connector's credential, as it is, under the first key of the vault's ring. Where it
    /// is under that key already nothing is changed, and nothing comes back.
    pub async fn reencrypt_credential(
        &self,
        id: ConnectorId,
    ) -> Result<Option<Changed<Connector>>, ConnectorError> {
        let before = self.stored(id).await?;
        if credential::is_under_first_key(&self.admin.parts.vault, &before) {
            return Ok(None);
        }
        let opened = self.admin.opened(&before, &before.config)?;
        let given = (&before.config, opened.credential());
        let sealed = self.sealed((id, &before.kind), given)?;
        let was = before.credential;
        let moved = self.turn(Needs::default(), None, move |at, record| {
            let before = loaded(at, id)?;
            if before.credential != was {
                return Err(ActError::Conflict(
                    "the credential was changed in the meantime; try again",
                ));
            }
            // The revision stays: whoever uses the credential has the same one as before.
            let after = Connector { credential: sealed.clone(), ..before.clone() };
            let event = EventType::ConnectorCredentialReencrypted;
            Ok(changed(record, event, Some(before), after))
        });
        Ok(Some(moved.await?))
    }

    /// The kind of a credential that is given, nothing where none is; refuses one that the
    /// connector's type does not have.
    pub(super) fn credential_kind(
        &self,
        connector: &str,
        (kind, credential): (Option<&str>, &Credential),
    ) -> Result<Option<String>, ActError> {
        credential::check(credential)?;
        if credential.is_empty() && kind.is_none() {
            return Ok(None);
        }
        let types = self.admin.parts.connectors.types();
        let Some(of_type) = types.into_iter().find(|known| known.name == connector) else {
            // The adapters say that there is no such type, where that is so.
            return Ok(Some(kind.unwrap_or(UNNAMED).to_owned()));
        };
        let kinds = of_type.credential_kinds;
        let chosen = match (kind, &*kinds) {
            (None, [only]) => only,
            (kind, kinds) => {
                let named = |known: &&CredentialKind| Some(known.kind) == kind;
                kinds.iter().find(named).ok_or_else(|| no_such_kind(kinds))?
            }
        };
        fields_fit(chosen, credential)?;
        Ok(Some(chosen.kind.to_owned()))
    }
}

fn no_such_kind(kinds: &[CredentialKind]) -> ActError {
    let kinds: Vec<_> = kinds.iter().map(|known| format!("`{}`", known.kind)).collect();
    ActError::bad_input("credential", format!("one of these in `kind`: {}", kinds.join(", ")))
}

/// Whether the fields are those of the kind.
fn fields_fit(kind: &CredentialKind, credential: &Credential) -> Result<(), ActError> {
    let known = |name: &String| kind.fields.iter().any(|field| field.name == name);
    let lacks =
        kind.fields.iter().any(|field| field.required && !credential.contains_key(field.name));
    if !lacks && credential.keys().all(known) {
        return Ok(());
    }
    let field = |field: &super::CredentialField| {
        let aside = if field.required { "" } else { " (optional)" };
        format!("`{}`{aside}", field.name)
    };
    let fields: Vec<_> = kind.fields.iter().map(field).collect();
    let expected = format!("the fields {} for the kind `{}`", fields.join(", "), kind.kind);
    Err(ActError::bad_input("credential", expected))
}
