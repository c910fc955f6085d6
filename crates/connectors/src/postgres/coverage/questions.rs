//! What is looked at in a database as a whole.

use tokio_postgres::{Client, types::Type};

use super::super::check::{advice, fail, pass};
use crate::{CheckLine, CheckState};

/// One question about the database, answered with true or false; `$1` is the publication, `$2` the role
/// that tools run as.
pub(super) struct Question {
    name: &'static str,
    sql: &'static str,
    otherwise: CheckState,
    detail: &'static str,
}

impl Question {
    pub(super) async fn ask(
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
pub(super) const QUESTIONS: &[Question] = &[
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
        // An older server knows no such choice, and logs no generated column.
        name: "generated columns are published",
        sql: "select coalesce(to_jsonb(p) ->> 'pubgencols', 's') = 's'
              from pg_publication p where pubname = publication",
        otherwise: CheckState::Fail,
        detail: "run the witness's script: since PostgreSQL 18 a publication that does not publish \
                 stored generated columns makes updates and deletes of their tables fail",
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
