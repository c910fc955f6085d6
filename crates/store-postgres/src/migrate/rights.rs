//! Which right a role lacks that may not make or change what the schema needs.

use std::error::Error;

use tokio_postgres::{Client, error::SqlState};

use super::MigrateError;
use crate::fault::Fault;

type Cause = Box<dyn Error + Send + Sync>;

/// What is told of a step that failed: the right that is lacking, where it was for that.
pub(super) async fn lacking(client: &Client, (attempt, source): (String, Cause)) -> MigrateError {
    if !is_refused(&*source) {
        return MigrateError::Failed { attempt, source };
    }
    // A step that failed left its transaction open.
    let asked = async {
        client.batch_execute("rollback").await?;
        client.query_one(RIGHTS, &[]).await
    };
    match asked.await.and_then(|row| Ok((row.try_get("role")?, row.try_get("mend")?))) {
        Ok((role, mend)) => MigrateError::NoRight { role, mend, source },
        Err(_) => MigrateError::Failed { attempt, source },
    }
}

/// Whether the database refused it for want of a right, or had no schema to make it in.
fn is_refused(source: &(dyn Error + 'static)) -> bool {
    let lacking = [SqlState::INSUFFICIENT_PRIVILEGE, SqlState::INVALID_SCHEMA_NAME];
    match source.downcast_ref() {
        Some(Fault::Refused { code, .. }) => lacking.contains(code),
        Some(_) | None => false,
    }
}

// Tables that are there are their owner's to change; where there are none, they need a schema.
const RIGHTS: &str = "
    select current_user::text as role, coalesce(
        (select format('the tables are those of `%s`; migrate as that role', pg_get_userbyid(relowner))
         from pg_class
         where oid = to_regclass('schema_migration') and not pg_has_role(relowner, 'usage')),
        format('as the owner of the database run `alter database %I owner to %I`, or '
               '`grant usage, create on schema %I to %I`',
               current_database(), current_user, coalesce(current_schema(), 'public'), current_user)
    ) as mend";
