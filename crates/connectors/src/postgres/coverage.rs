//! How much of what tools write a database's change log tells, and the script by which its owner
//! lets it tell the rest.
//!
//! A table whose rows have no key is never published by the script: its rows could not be told apart.
//! Nor is one that the log knows nothing of. Whatever is published tells old rows whole, since a table
//! that is published with no more than a key that it lacks refuses its own updates.

use std::{collections::BTreeSet, fmt::Write as _, sync::Arc, time::Duration};

use model::TableGap;
use tokio::time::timeout;
use tokio_postgres::{Client, Row, types::Type};

use super::{
    DECODER_PASSWORD,
    check::{advice, fail, pass},
    config::{self, Config},
    fault::{ConnectError, SessionError},
    governed::{SMALL_ANSWER, target},
    quote,
    session::{Access, Login, Pace, Session},
    setup::needs,
};
use crate::{Blueprint, BuildError, CheckLine, CheckState, Deps, connector::remedied};

const TEMPLATE: &str = include_str!("publish.sql");
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
    /// Whether its updates and deletes fail now, because it is published without an identity.
    pub writes_fail: bool,
    /// What telling its old rows whole costs.
    pub price: Price,
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
    /// Whether no script can help: the table itself has to be another.
    fn is_beyond_help(&self) -> bool {
        self.missing.iter().any(|gap| match gap {
            TableGap::Absent | TableGap::NoTable | TableGap::Unlogged | TableGap::NoKey => true,
            TableGap::IdentityNotFull
            | TableGap::NotPublished
            | TableGap::RowsFiltered
            | TableGap::ColumnsFiltered => false,
        })
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
            TABLES,
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

/// One question about the database, answered with true or false; `$1` is the publication, `$2` the role
/// that tools run as.
struct Question {
    name: &'static str,
    sql: &'static str,
    otherwise: CheckState,
    detail: &'static str,
}

impl Question {
    async fn ask(
        &self,
        client: &Client,
        (publication, user): (&str, &str),
    ) -> Result<CheckLine, tokio_postgres::Error> {
        let sql = format!(
            "select coalesce(({}), false) from (select $1::text as publication, $2::text as tools) q",
            self.sql
        );
        let values: [(&(dyn tokio_postgres::types::ToSql + Sync), Type); 2] =
            [(&publication, Type::TEXT), (&user, Type::TEXT)];
        let row = client.query_typed(&sql, &values).await?;
        let holds = row.first().map(|row| row.try_get::<_, bool>(0)).transpose()?;
        Ok(match (holds, self.otherwise) {
            (Some(true), _) => pass(self.name),
            (Some(false) | None, CheckState::Advice) => advice(self.name, self.detail.to_owned()),
            (Some(false) | None, CheckState::Pass | CheckState::Fail) => {
                fail(self.name, self.detail.to_owned())
            }
        })
    }
}

#[rustfmt::skip]
const QUESTIONS: &[Question] = &[
    Question {
        name: "change log",
        sql: "current_setting('wal_level') = 'logical'",
        otherwise: CheckState::Fail,
        detail: "set `wal_level = logical` and restart the server",
    },
    Question {
        name: "database takes writes",
        sql: "not pg_is_in_recovery()",
        otherwise: CheckState::Fail,
        detail: "connect to the primary: this is a standby",
    },
    Question {
        name: "right to read the change log",
        sql: "select rolsuper or rolreplication or exists (
                  select from pg_roles member
                  where member.rolname = 'rds_replication' and pg_has_role(member.oid, 'member'))
              from pg_roles where rolname = current_user",
        otherwise: CheckState::Fail,
        detail: "run the setup script with `--witness`, as a role that may give REPLICATION",
    },
    Question {
        name: "ledger and heartbeat exist",
        sql: "(select count(*) from pg_class c join pg_namespace n on n.oid = c.relnamespace
               where n.nspname = 'service' and c.relname in ('ledger', 'heartbeat')
                   and c.relkind = 'r') = 2",
        otherwise: CheckState::Fail,
        detail: "run the setup script",
    },
    Question {
        name: "the service can write its heartbeat",
        sql: "exists (select
                  from pg_proc p
                  join pg_namespace n on n.oid = p.pronamespace
                  join pg_roles r on r.rolname = tools
                  where n.nspname = 'service' and p.proname = 'beat'
                      and pg_get_function_identity_arguments(p.oid) = 'marker text'
                      and has_function_privilege(r.oid, p.oid, 'execute'))",
        otherwise: CheckState::Fail,
        detail: "run the witness's script",
    },
    Question {
        name: "publication",
        sql: "exists (select from pg_publication where pubname = publication)",
        otherwise: CheckState::Fail,
        detail: "run the witness's script",
    },
    Question {
        name: "every operation is published",
        sql: "select pubinsert and pubupdate and pubdelete and pubtruncate
              from pg_publication where pubname = publication",
        otherwise: CheckState::Fail,
        detail: "run the witness's script: the publication does not publish every operation",
    },
    Question {
        name: "rows are published by leaf",
        sql: "select not pubviaroot from pg_publication where pubname = publication",
        otherwise: CheckState::Fail,
        detail: "run the witness's script: the publication does not show which partition a row is \
                 in",
    },
    Question {
        name: "ledger and heartbeat are published",
        sql: "(select count(*) from pg_publication_tables
               where pubname = publication and schemaname = 'service'
                   and tablename in ('ledger', 'heartbeat') and rowfilter is null) = 2",
        otherwise: CheckState::Fail,
        detail: "run the witness's script",
    },
    Question {
        name: "the ledger can be compared with the log",
        sql: "exists (select
                  from pg_class c
                  join pg_namespace n on n.oid = c.relnamespace
                  where n.nspname = 'service' and c.relname = 'ledger'
                      and has_schema_privilege(n.oid, 'usage')
                      and has_table_privilege(c.oid, 'select'))",
        otherwise: CheckState::Advice,
        detail: "run the witness's script again: it grants that",
    },
    Question {
        name: "room for a slot",
        sql: "exists (select from pg_replication_slots where slot_name = publication)
              or (select count(*) from pg_replication_slots)
                  < current_setting('max_replication_slots')::int",
        otherwise: CheckState::Fail,
        detail: "raise `max_replication_slots` and restart the server, or drop a slot that is not \
                 read",
    },
    Question {
        name: "disk space is protected",
        sql: "current_setting('max_slot_wal_keep_size') <> '-1'",
        otherwise: CheckState::Advice,
        detail: "set `max_slot_wal_keep_size`: without it, a slot that is not read fills the disk",
    },
];

/// Every table that was asked for, one that is partitioned by its leaves. Who reads the log has no right
/// on any schema, so names are looked up in the catalog.
const TABLES: &str = "
    select
        w.name, n.nspname::text, c.relname::text, c.relkind::text, c.relpersistence::text,
        c.relreplident::text,
        exists (select from pg_catalog.pg_index i where i.indrelid = c.oid and i.indisprimary),
        exists (select from pg_catalog.pg_index i
            where i.indrelid = c.oid and i.indisreplident and i.indisvalid),
        p.tablename is not null, p.rowfilter is not null,
        exists (select
            from pg_catalog.pg_publication_rel r
            join pg_catalog.pg_publication b on b.oid = r.prpubid
            where b.pubname = $3 and r.prattrs is not null
                and (r.prrelid = c.oid
                    or r.prrelid in (select relid from pg_catalog.pg_partition_ancestors(c.oid)))),
        exists (select
            from pg_catalog.pg_publication_tables t
            join pg_catalog.pg_publication b on b.pubname = t.pubname
            where t.schemaname = n.nspname and t.tablename = c.relname
                and (b.pubupdate or b.pubdelete)),
        case when c.reltuples > 0
            then (c.relpages::float8 * current_setting('block_size')::float8 / c.reltuples)::int8
        end,
        coalesce(s.n_tup_upd + s.n_tup_del, 0)
    from unnest($1::text[], $2::text[], $4::text[]) with ordinality
        as w (name, schema, relation, place)
    left join lateral (
        select r.oid
        from pg_catalog.pg_class r
        join pg_catalog.pg_namespace s on s.oid = r.relnamespace
        where r.relname = w.relation and r.relkind in ('r', 'p', 'v', 'm', 'f')
            and (s.nspname = w.schema or (w.schema is null and s.nspname = any ($5)))
        order by pg_catalog.array_position($5, s.nspname::text)
        limit 1
    ) root on true
    left join lateral (
        select relid from pg_catalog.pg_partition_tree(root.oid::regclass) where isleaf
    ) leaf on true
    left join pg_catalog.pg_class c on c.oid = coalesce(leaf.relid, root.oid)
    left join pg_catalog.pg_namespace n on n.oid = c.relnamespace
    left join pg_catalog.pg_publication_tables p
        on p.pubname = $3 and p.schemaname = n.nspname and p.tablename = c.relname
    left join pg_catalog.pg_stat_all_tables s on s.relid = c.oid
    order by w.place, n.nspname, c.relname";

fn covered(row: &Row) -> Result<CoveredTable, tokio_postgres::Error> {
    let asked: String = row.try_get(0)?;
    let (schema, name): (Option<String>, Option<String>) = (row.try_get(1)?, row.try_get(2)?);
    let (Some(schema), Some(name)) = (schema, name) else {
        let (missing, price) = (vec![TableGap::Absent], Price::default());
        return Ok(CoveredTable { name: asked.clone(), asked, missing, writes_fail: false, price });
    };
    let (kind, persistence, identity): (String, String, String) =
        (row.try_get(3)?, row.try_get(4)?, row.try_get(5)?);
    let (has_key, has_index): (bool, bool) = (row.try_get(6)?, row.try_get(7)?);
    let (published, filtered, cut): (bool, bool, bool) =
        (row.try_get(8)?, row.try_get(9)?, row.try_get(10)?);
    let published_somewhere: bool = row.try_get(11)?;
    let (bytes, changed): (Option<i64>, i64) = (row.try_get(12)?, row.try_get(13)?);
    let has_identity = match identity.as_str() {
        "f" => true,
        "d" => has_key,
        "i" => has_index,
        _ => false,
    };
    // A view, a table of another server, a partitioned table that has no leaf yet.
    let is_table = kind == "r";
    let gaps = [
        (!is_table, TableGap::NoTable),
        (is_table && persistence != "p", TableGap::Unlogged),
        (is_table && !has_key, TableGap::NoKey),
        (is_table && identity != "f", TableGap::IdentityNotFull),
        (is_table && !published, TableGap::NotPublished),
        (filtered, TableGap::RowsFiltered),
        (cut, TableGap::ColumnsFiltered),
    ];
    Ok(CoveredTable {
        asked,
        name: format!("{schema}.{name}"),
        missing: gaps.into_iter().filter(|(holds, _)| *holds).map(|(_, gap)| gap).collect(),
        writes_fail: is_table && published_somewhere && !has_identity,
        price: Price {
            row_bytes: bytes.and_then(|bytes| bytes.try_into().ok()),
            changed_rows: changed.try_into().unwrap_or(0),
        },
    })
}

fn script(config: &Config, publication: &str, tables: &[CoveredTable]) -> String {
    let mut identities = String::new();
    let mut published: BTreeSet<String> = BTreeSet::new();
    // Writing to a string cannot fail.
    for table in tables {
        let name = whole(&table.name);
        if table.is_beyond_help() {
            let words: Vec<_> = table.missing.iter().map(|gap| gap.as_str()).collect();
            let _ = writeln!(
                identities,
                "-- Left out: {}, which a change log cannot witness ({}).\n",
                comment(&name),
                words.join(", ")
            );
            continue;
        }
        let _ = writeln!(identities, "-- {}: {}", comment(&name), price(&table.price));
        if table.missing.contains(&TableGap::IdentityNotFull) {
            let _ = writeln!(identities, "alter table {name} replica identity full;\n");
        } else {
            identities.push_str("-- Its old rows are already logged completely.\n\n");
        }
        published.insert(name);
    }
    let own = ["service.ledger", "service.heartbeat"].map(str::to_owned);
    let all: Vec<String> = own.into_iter().chain(published).collect();
    TEMPLATE
        .replace("{publication}", publication)
        .replace("{owner}", &config.owner)
        .replace("{conn}", &config.user)
        .replace("{decoder}", &config.decoder_user)
        .replace("{identities}\n", &identities)
        .replace("{tables}", &all.join(",\n    "))
}

/// The whole name as SQL takes it; a schema's name has no dot here.
fn whole(name: &str) -> String {
    match name.split_once('.') {
        Some((schema, name)) => format!("{}.{}", quote(schema), quote(name)),
        None => quote(name),
    }
}

/// The name on a line of its own, whatever it holds.
fn comment(name: &str) -> String {
    name.replace(['\n', '\r'], " ")
}

fn price(price: &Price) -> String {
    match (price.row_bytes, price.bytes()) {
        (Some(row), Some(bytes)) => format!(
            "each update or delete writes the old row to the log too, about {row} bytes; {} of them \
             since the statistics began would have been {bytes} bytes.",
            price.changed_rows
        ),
        _ => "each update or delete writes the old row to the log too; the size of a row is \
              unknown, because the table has not been analysed."
            .to_owned(),
    }
}
