//! What the operator does to a record that has grown old, as the role that owns the schema. The
//! service's role has no right to any of it.

mod checkpoints;
mod past;

use model::OrgId;
use tokio_postgres::Client;
use uuid::Uuid;

use crate::{BadSettings, Settings, connect, fault::Fault, invariants::ORGS, migrate};

pub use checkpoints::{Thinned, thin_checkpoints};
pub use past::{Moved, Part, move_to_the_past};

/// Whether something is done, or only told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Earnest {
    /// It is done.
    Do,
    /// It is only told.
    Tell,
}

/// Why the record was left as it was, or half way; what was done stands, and another run goes on.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// The settings name no database.
    #[error(transparent)]
    Settings(#[from] BadSettings),
    /// There is no such org.
    #[error("there is no org `{0}`")]
    NoSuchOrg(OrgId),
    /// What is younger may still be changed, or counts for a budget of its month.
    #[error("what is younger than 32 days is not moved; name an earlier time")]
    TooYoung,
    /// The tables are spread.
    #[error(
        "the database has the extension `citus`, which takes no table that inherits; nothing was changed"
    )]
    Citus,
    /// A partition that rows belong to is not attached.
    #[error("the partition `{part}` is away; attach it first, as docs/runbook.md says")]
    Away {
        /// Its name.
        part: String,
    },
    /// The deeds are not as they were sealed, or an action of theirs is not there.
    #[error(
        "the deeds of org `{org}` from place {place} on are not as they were sealed; they stay where they are: check the log"
    )]
    Unsound {
        /// The org.
        org: OrgId,
        /// The place of the first deed of the tile.
        place: u64,
    },
    /// The database refused a step or gave no answer.
    #[error("could not {attempt}")]
    Failed {
        /// What was attempted.
        attempt: &'static str,
        /// Why it failed.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

/// A connection on which nobody else migrates or archives, and the orgs that are meant.
async fn begin(
    settings: &Settings,
    named: Option<OrgId>,
) -> Result<(Client, Vec<Uuid>), ArchiveError> {
    let (config, tls) = connect::config(settings)?;
    let attempt = "reach the database";
    let client = connect::dial(&config, tls).await.map_err(failed(attempt))?;
    migrate::lock(&client).await.map_err(|error| refused(attempt, error))?;
    let orgs = client.query(ORGS, &[]).await.map_err(|error| refused("read the orgs", error))?;
    let mut orgs: Vec<Uuid> = orgs.iter().map(|row| row.get(0)).collect();
    if let Some(named) = named {
        orgs.retain(|org| org == named.as_uuid());
        if orgs.is_empty() {
            return Err(ArchiveError::NoSuchOrg(named));
        }
    }
    Ok((client, orgs))
}

fn failed(attempt: &'static str) -> impl FnOnce(Fault) -> ArchiveError {
    move |fault| refused(attempt, fault)
}

fn refused(
    attempt: &'static str,
    source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
) -> ArchiveError {
    ArchiveError::Failed { attempt, source: source.into() }
}
