//! Looks at a live record for rows that cannot be: each invariant is one query over one org.
//!
//! Nothing is changed and nothing is locked: all queries see one moment, in one read-only
//! transaction, while the service goes on.

mod past;
mod table;

use std::{fmt::Write, time::Duration};

use ledger::StoreDown;
use model::OrgId;
use tokio_postgres::{Client, error::SqlState, types::ToSql};
use uuid::Uuid;

use crate::{
    BadSettings, Settings, connect,
    fault::Fault,
    nodes::{KNOWN, PLACES, is_away},
    parts::ATTACHED,
};
pub use table::{INVARIANTS, Invariant, Takes};

/// Every org of the record.
pub(crate) const ORGS: &str = "select org_id from org order by org_id";
const ATTEMPT: &str = "look at the record";
/// Of each invariant's offenders so many are told.
const TOLD: usize = 5;
/// What ran out this many leases ago was left behind by every sweep.
const LEFT_BEHIND: u32 = 10;

/// What was found of one invariant, in all orgs together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The invariant.
    pub invariant: &'static Invariant,
    /// How many rows break it.
    pub violations: u64,
    /// The first of them, each with its org.
    pub first: Vec<String>,
}

/// What was found of the record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Looked {
    /// Of each invariant.
    pub findings: Vec<Finding>,
    /// The orgs that could not be looked at: a node of the database does not answer.
    pub unreached: Vec<OrgId>,
}

/// Why the record was not looked at.
#[derive(Debug, thiserror::Error)]
pub enum NotLooked {
    /// The settings name no database.
    #[error(transparent)]
    Settings(#[from] BadSettings),
    /// The database gave no answer.
    #[error(transparent)]
    Down(#[from] StoreDown),
}

/// What is found of every invariant at this moment; `vault_keys` are the ids of the keys
/// that open what is encrypted.
pub async fn look(settings: &Settings, vault_keys: &[Vec<u8>]) -> Result<Looked, NotLooked> {
    let (config, tls) = connect::config(settings)?;
    let client = connect::dial(&config, tls).await.map_err(|fault| fault.down(ATTEMPT))?;
    let found = all(&client, settings.lease, vault_keys).await;
    found.map_err(|fault| fault.down(ATTEMPT).into())
}

async fn all(client: &Client, lease: Duration, vault_keys: &[Vec<u8>]) -> Result<Looked, Fault> {
    client.batch_execute(BEGIN).await?;
    let mut orgs = orgs(client).await?;
    let attached = client.query(ATTACHED, &[]).await?;
    let attached: Vec<String> =
        attached.iter().map(|row| row.try_get("part")).collect::<Result<_, _>>()?;
    let left_behind = (lease * LEFT_BEHIND).as_secs_f64();
    let (mut findings, mut unreached) = (Vec::with_capacity(INVARIANTS.len()), Vec::new());
    for invariant in INVARIANTS {
        let mut finding = Finding { invariant, violations: 0, first: Vec::new() };
        for org in &orgs {
            let more: Option<&(dyn ToSql + Sync)> = match invariant.takes {
                Takes::Org => None,
                Takes::OrgAndAttached => Some(&attached),
                Takes::OrgAndSpan => Some(&left_behind),
                Takes::OrgAndVaultKeys => Some(&vault_keys),
            };
            let values: Vec<&(dyn ToSql + Sync)> =
                std::iter::once(org as &(dyn ToSql + Sync)).chain(more).collect();
            if !unreached.contains(org)
                && one(client, &mut finding, *org, &values).await? == Reach::Away
            {
                unreached.extend(beside(client, &orgs, *org).await);
            }
        }
        orgs.retain(|org| !unreached.contains(org));
        findings.push(finding);
    }
    client.batch_execute("commit").await?;
    let unreached = unreached.into_iter().map(OrgId::from_uuid).collect();
    Ok(Looked { findings, unreached })
}

/// Every org; where a node of the database is away, those that its other nodes know of.
async fn orgs(client: &Client) -> Result<Vec<Uuid>, Fault> {
    client.batch_execute("savepoint orgs").await?;
    let orgs = match client.query(ORGS, &[]).await {
        Err(error) if error.code().is_some_and(is_away) => {
            client.batch_execute("rollback to orgs").await?;
            client.query(KNOWN, &[]).await?
        }
        orgs => orgs?,
    };
    Ok(orgs.iter().map(|row| row.try_get("org_id")).collect::<Result<_, _>>()?)
}

/// The orgs on the node of this one, which need not be waited for one by one.
async fn beside(client: &Client, orgs: &[Uuid], org: Uuid) -> Vec<Uuid> {
    let nodes = client.query(PLACES, &[&orgs]).await.unwrap_or_default();
    let nodes = nodes.iter().filter_map(|row| row.try_get::<_, Vec<Uuid>>("orgs").ok());
    nodes.into_iter().find(|orgs| orgs.contains(&org)).unwrap_or_else(|| vec![org])
}

/// Whether the rows of an org could be looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reach {
    Here,
    Away,
}

/// Adds what one org's rows break.
async fn one(
    client: &Client,
    finding: &mut Finding,
    org: Uuid,
    values: &[&(dyn ToSql + Sync)],
) -> Result<Reach, Fault> {
    let mut sql = String::from("select o.offender, count(*) over () from (");
    // Writing to a string does not fail.
    let _ = write!(sql, "{}) as o (offender) limit {TOLD}", finding.invariant.sql);
    client.batch_execute("savepoint invariant").await?;
    let org = OrgId::from_uuid(org);
    match client.query(&sql, values).await {
        Ok(rows) => {
            let found = rows.first().map_or(Ok(0), |row| row.try_get::<_, i64>(1))?;
            finding.violations += u64::try_from(found).unwrap_or_default();
            for row in rows.iter().take(TOLD.saturating_sub(finding.first.len())) {
                finding.first.push(format!("{org}: {}", row.try_get::<_, &str>(0)?));
            }
        }
        // A row that cannot even be read as what it should be.
        Err(error) if error.code().is_some_and(is_of_data) => {
            client.batch_execute("rollback to invariant").await?;
            finding.violations += 1;
            finding.first.push(format!("{org}: {}", Fault::from(error)));
        }
        Err(error) if error.code().is_some_and(is_away) => {
            client.batch_execute("rollback to invariant").await?;
            return Ok(Reach::Away);
        }
        Err(error) => return Err(error.into()),
    }
    Ok(Reach::Here)
}

/// Class 22 is what a value causes.
fn is_of_data(code: &SqlState) -> bool {
    code.code().starts_with("22")
}

const BEGIN: &str = "
    begin isolation level repeatable read read only;
    set local statement_timeout = '10min';
    set local idle_in_transaction_session_timeout = '1min';
    set local timezone = 'UTC'";
