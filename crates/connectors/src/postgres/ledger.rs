//! The row that every write leaves in the governed database, in the same transaction, and the
//! tombstone that takes its place.
//!
//! The row's primary key is the action. A write inserts it before anything else, so a second run
//! of one action cannot commit, and whoever inserts a tombstone under that key first knows that no
//! run was applied or ever will be: an insert waits for an open transaction that holds the key.

use model::{ActionId, Digest, Entropy, OrgId};
use tokio_postgres::{Client, types::Type};

use super::marker::{Kind, MarkerKey, Subject};

/// Calls that the setup script defines.
pub(super) const BEGIN_ACTION: &str = "
    select service.begin_action($1, $2, $3, $4, $5, $6, $7)";
const BEAT: &str = "select service.beat($1)";
pub(super) const VOID_ACTION: &str = "
    select service.void_action($1, $2, $3, $4, $5)";

/// What a row is about.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entry<'a> {
    pub(super) org: OrgId,
    pub(super) action: ActionId,
    pub(super) xid: &'a str,
    pub(super) system: &'a str,
}

/// Who signs a marker, and with whose randomness.
#[derive(Clone, Copy)]
pub(super) struct Signer<'a> {
    pub(super) key: &'a MarkerKey,
    pub(super) entropy: &'a dyn Entropy,
}

/// What the ledger says of an action after a tombstone was offered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
    /// A tombstone: this one, or an earlier one.
    Tombstone,
    /// The row of a write that was committed.
    Write,
}

/// Writes the row and its marker.
pub(super) async fn begin_action(
    client: &Client,
    entry: &Entry<'_>,
    call: (&str, Digest),
    signer: Signer<'_>,
) -> Result<(), tokio_postgres::Error> {
    let (tool, request_digest) = call;
    let subject = Subject {
        kind: Kind::Act,
        action: Some(entry.action),
        request_digest: Some(request_digest),
        xid: entry.xid,
        system: entry.system,
    };
    let marker = signer.key.mark(&subject, signer.entropy);
    let (action, org) = (entry.action.to_string(), entry.org.to_string());
    let digest = request_digest.to_string();
    client
        .execute_typed(
            BEGIN_ACTION,
            &[
                (&action, Type::TEXT),
                (&org, Type::TEXT),
                (&tool, Type::TEXT),
                (&digest, Type::TEXT),
                (&marker.nonce, Type::TEXT),
                (&marker.mac, Type::TEXT),
                (&marker.text, Type::TEXT),
            ],
        )
        .await?;
    Ok(())
}

/// Offers a tombstone and returns what the ledger holds afterwards; nothing when somebody took the
/// row away meanwhile.
pub(super) async fn void_action(
    client: &Client,
    entry: &Entry<'_>,
    signer: Signer<'_>,
) -> Result<Option<Found>, tokio_postgres::Error> {
    let subject = Subject {
        kind: Kind::Void,
        action: Some(entry.action),
        request_digest: None,
        xid: entry.xid,
        system: entry.system,
    };
    let marker = signer.key.mark(&subject, signer.entropy);
    let (action, org) = (entry.action.to_string(), entry.org.to_string());
    let rows = client
        .query_typed(
            VOID_ACTION,
            &[
                (&action, Type::TEXT),
                (&org, Type::TEXT),
                (&marker.nonce, Type::TEXT),
                (&marker.mac, Type::TEXT),
                (&marker.text, Type::TEXT),
            ],
        )
        .await?;
    let kind: Option<Option<&str>> = rows.first().map(|row| row.try_get(0)).transpose()?;
    let found = |kind| if kind == Kind::Void.as_str() { Found::Tombstone } else { Found::Write };
    Ok(kind.flatten().map(found))
}

/// Writes a beat and its marker, in the transaction of this number.
pub(super) async fn beat(
    client: &Client,
    (xid, system): (&str, &str),
    signer: Signer<'_>,
) -> Result<(), tokio_postgres::Error> {
    let subject = Subject { kind: Kind::Beat, action: None, request_digest: None, xid, system };
    let marker = signer.key.mark(&subject, signer.entropy);
    client.execute_typed(BEAT, &[(&marker.text, Type::TEXT)]).await?;
    Ok(())
}

/// Whether the error says that the action's key is taken.
pub(super) fn is_taken(error: &tokio_postgres::Error) -> bool {
    error.as_db_error().is_some_and(|said| {
        said.code() == &tokio_postgres::error::SqlState::UNIQUE_VIOLATION
            && said.schema() == Some("service")
            && said.table() == Some("ledger")
    })
}
