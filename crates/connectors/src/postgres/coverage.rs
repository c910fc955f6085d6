//! How much of what tools write a database's change log tells, and the script by which its owner
//! lets it tell the rest.
//!
//! A table whose rows have no key is never published by the script: its rows could not be told apart.
//! Nor is one that the log knows nothing of. The old rows of a published table are logged in full, unless
//! PostgreSQL would then refuse the table's own updates: those are published with their key as the
//! identity. Before it commits, the script tries whether updates and deletes of its tables are taken.

mod questions;
mod script;
mod tables;

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use model::TableGap;
use tokio::time::timeout;
use tokio_postgres::types::Type;

use super::{
    DECODER_PASSWORD,
    check::{fail, pass},
    config::{self, Config},
    fault::{ConnectError, SessionError},
    governed::{SMALL_ANSWER, target},
    quote,
    session::{Access, Login, Pace, Session},
    setup::needs,
};
use crate::{Blueprint, BuildError, CheckLine, Deps, connector::remedied};
use questions::QUESTIONS;
use script::script;
use tables::covered;

const LOOK_LIMIT: Duration = Duration::from_secs(10);

/// What a database's change log tells, and what it lacks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Coverage {
    /// The publication that is read.
    pub publication: String,
    /// The slot that it is read through.
    pub slot: String,
    /// What was looked at in the database as a whole.
    pub checks: Vec<CheckLine>,
    /// The tables that tools write, and those that were asked for beside them.
    pub tables: Vec<CoveredTable>,
    /// What the owner of the tables runs to have told what can be told; nothing where the reader of the
    /// log could not log in, so that nobody knows which tables those are.
    pub script: Option<String>,
}

/// A table, or a leaf of one that is partitioned, as the change log tells it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CoveredTable {
    /// The table as it was named.
    pub asked: String,
    /// Its whole name; that of the leaf where it is partitioned.
    pub name: String,
    /// What the log does not tell of it.
    pub missing: Vec<TableGap>,
    /// Whether its updates and deletes fail now, because a publication of it does not publish its
    /// whole identity, or because it has none.
    pub writes_fail: bool,
    /// The other publications of its updates or deletes that have a column list for it or leave out its
    /// generated columns. With its old rows logged in full, its updates and deletes would fail because
    /// of them.
    pub partial_publications: Vec<String>,
    /// How a key can identify its old rows in the log; nothing where none can.
    by_key: Option<KeyIdentity>,
    /// What telling its old rows whole costs.
    pub price: Price,
}

/// How a key identifies the old rows of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum KeyIdentity {
    /// It does now.
    Set,
    /// Its primary key can, but the identity is another one, or none.
    Possible,
}

/// What telling old rows whole costs: each update and each delete writes the old row into the log too.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Price {
    /// About how long a row is, in bytes; nothing where the database has not counted yet.
    pub row_bytes: Option<u64>,
    /// Updates and deletes since the database's statistics began.
    pub changed_rows: u64,
}

impl Price {
    /// About how many bytes more its log would have had since then.
    pub fn bytes(&self) -> Option<u64> {
        self.row_bytes.map(|row| row.saturating_mul(self.changed_rows))
    }
}

impl CoveredTable {
    fn absent(asked: String) -> Self {
        Self {
            name: asked.clone(),
            asked,
            missing: vec![TableGap::Absent],
            writes_fail: false,
            partial_publications: Vec::new(),
            by_key: None,
            price: Price::default(),
        }
    }

    /// Whether its updates and deletes would fail if the log had its old rows in full.
    fn refuses_full_identity(&self) -> bool {
        let gaps = [TableGap::VirtualColumns, TableGap::PublishedInPart];
        self.missing.iter().any(|gap| gaps.contains(gap))
    }

    /// Whether no script can help: the table itself has to be another.
    fn is_beyond_help(&self) -> bool {
        self.refuses_full_identity() && self.by_key.is_none()
            || self.missing.iter().copied().any(Self::is_of_the_table)
    }

    /// Whether the gap is one of the table itself.
    fn is_of_the_table(gap: TableGap) -> bool {
        match gap {
            TableGap::Absent | TableGap::NoTable | TableGap::Unlogged | TableGap::NoKey => true,
            TableGap::IdentityNotFull
            | TableGap::VirtualColumns
            | TableGap::PublishedInPart
            | TableGap::NotPublished
            | TableGap::RowsFiltered
            | TableGap::ColumnsFiltered => false,
        }
    }
}

/// The publication of a connector, and its slot, which have one name.
pub(super) fn publication(blueprint: &Blueprint) -> String {
    format!("svc_{}", blueprint.id)
}

/// Looks at the database as the role that reads its change log.
pub(crate) async fn coverage(
    blueprint: &Blueprint,
    deps: &Deps,
    beside: &[String],
) -> Result<Coverage, BuildError> {
    let (config, _) = config::read(&blueprint.name, &blueprint.config)
        .map_err(|findings| BuildError::Config { findings })?;
    let named = publication(blueprint);
    let asked: BTreeSet<String> =
        needs(&config).into_keys().map(str::to_owned).chain(beside.iter().cloned()).collect();
    let login = format!("login of `{}`", config.decoder_user);
    let session = match open(&config, blueprint, deps).await? {
        Ok(session) => session,
        Err(error) => {
            let checks = vec![fail(&login, remedied(&error.fault()))];
            let slot = named.clone();
            let (tables, script) = (Vec::new(), None);
            return Ok(Coverage { publication: named, slot, checks, tables, script });
        }
    };
    let looked = timeout(LOOK_LIMIT, look(session, &config, (&named, &asked))).await;
    let looked = looked.map_err(|_| BuildError::Connect(ConnectError::Late.fault()))?;
    let (lines, tables) = looked.map_err(|cause| BuildError::Connect(cause.fault()))?;
    let checks = [pass(&login)].into_iter().chain(lines).collect();
    let script = Some(script(&config, &named, &tables));
    Ok(Coverage { slot: named.clone(), publication: named, checks, tables, script })
}

/// The connection; what stands in the way of the log-in alone is a finding, the rest an error.
async fn open(
    config: &Config,
    blueprint: &Blueprint,
    deps: &Deps,
) -> Result<Result<Session, ConnectError>, BuildError> {
    let target = Arc::new(target(config, deps)?);
    let password = blueprint.credential.field(DECODER_PASSWORD).cloned();
    let login = Login { user: config.decoder_user.clone(), password };
    match target.open_any(&login).await {
        Ok(session) => Ok(Ok(session)),
        Err(error @ (ConnectError::Egress(_) | ConnectError::Late | ConnectError::Lost)) => {
            Err(BuildError::Connect(error.fault()))
        }
        Err(error) => Ok(Err(error)),
    }
}

async fn look(
    mut session: Session,
    config: &Config,
    (publication, asked): (&str, &BTreeSet<String>),
) -> Result<(Vec<CheckLine>, Vec<CoveredTable>), SessionError> {
    let path: Vec<String> = config.search_path.iter().map(|name| quote(name)).collect();
    let path = path.join(", ");
    let pace =
        Pace { statement: LOOK_LIMIT, lock: LOOK_LIMIT, idle: LOOK_LIMIT, search_path: &path };
    session.begin(Access::ReadOnly, &pace, SMALL_ANSWER).await?;
    let mut lines = Vec::new();
    for question in QUESTIONS {
        lines.push(question.ask(&session.client, (publication, &config.user)).await?);
    }
    let names: Vec<&str> = asked.iter().map(String::as_str).collect();
    let parts = names.iter().map(|name| match name.split_once('.') {
        Some((schema, relation)) => (Some(schema), relation),
        None => (None, *name),
    });
    let (schemas, relations): (Vec<Option<&str>>, Vec<&str>) = parts.unzip();
    let rows = session
        .client
        .query_typed(
            &tables::question(),
            &[
                (&names, Type::TEXT_ARRAY),
                (&schemas, Type::TEXT_ARRAY),
                (&publication, Type::TEXT),
                (&relations, Type::TEXT_ARRAY),
                (&config.search_path, Type::TEXT_ARRAY),
            ],
        )
        .await?;
    let tables = rows.iter().map(covered).collect::<Result<_, _>>()?;
    session.rollback().await?;
    Ok((lines, tables))
}
