//! Brings a database to the schema of this build, forward only, as the role that owns it.

use std::time::Duration;

use model::Digest;
use tokio_postgres::Client;

use crate::{BadSettings, Settings, connect, fault::Fault, schema::applied};

pub(crate) mod distribute;
mod rights;

/// One step of the schema.
#[derive(Debug, Clone, Copy)]
pub struct Migration {
    /// Its number; they are applied in order.
    pub version: i32,
    /// What it is about.
    pub name: &'static str,
    /// Its text.
    pub sql: &'static str,
}

impl Migration {
    /// The digest that tells this text from any other.
    pub fn digest(&self) -> Digest {
        crypto::sha256(self.sql)
    }
}

/// Every migration, in order.
#[rustfmt::skip]
pub const MIGRATIONS: &[Migration] = &[
    Migration { version: 1, name: "orgs",      sql: include_str!("../../../migrations/0001_orgs.sql") },
    Migration { version: 2, name: "policies",  sql: include_str!("../../../migrations/0002_policies.sql") },
    Migration { version: 3, name: "actions",   sql: include_str!("../../../migrations/0003_actions.sql") },
    Migration { version: 4, name: "deeds",     sql: include_str!("../../../migrations/0004_deeds.sql") },
    Migration { version: 5, name: "seal_keys", sql: include_str!("../../../migrations/0005_seal_keys.sql") },
    Migration { version: 6, name: "retention", sql: include_str!("../../../migrations/0006_retention.sql") },
    Migration { version: 7, name: "lists",     sql: include_str!("../../../migrations/0007_lists.sql") },
    Migration { version: 9, name: "policy_history", sql: include_str!("../../../migrations/0009_policy_history.sql") },
    Migration { version: 11, name: "reading", sql: include_str!("../../../migrations/0011_reading.sql") },
    Migration { version: 12, name: "logs",     sql: include_str!("../../../migrations/0012_logs.sql") },
    Migration { version: 13, name: "org_settings", sql: include_str!("../../../migrations/0013_org_settings.sql") },
    Migration { version: 14, name: "accepted_tools", sql: include_str!("../../../migrations/0014_accepted_tools.sql") },
    Migration { version: 15, name: "cheaper_actions", sql: include_str!("../../../migrations/0015_cheaper_actions.sql") },
    Migration { version: 16, name: "past",     sql: include_str!("../../../migrations/0016_past.sql") },
    Migration { version: 17, name: "org_name", sql: include_str!("../../../migrations/0017_org_name.sql") },
    Migration { version: 18, name: "agents",   sql: include_str!("../../../migrations/0018_agents.sql") },
    Migration { version: 19, name: "people",   sql: include_str!("../../../migrations/0019_people.sql") },
    Migration { version: 20, name: "told_tools", sql: include_str!("../../../migrations/0020_told_tools.sql") },
    Migration { version: 21, name: "members",  sql: include_str!("../../../migrations/0021_members.sql") },
    Migration { version: 22, name: "intent_keys", sql: include_str!("../../../migrations/0022_intent_keys.sql") },
    Migration { version: 23, name: "invites",  sql: include_str!("../../../migrations/0023_invites.sql") },
    Migration { version: 24, name: "void_approvals", sql: include_str!("../../../migrations/0024_void_approvals.sql") },
    Migration { version: 25, name: "sessions", sql: include_str!("../../../migrations/0025_sessions.sql") },
    Migration { version: 26, name: "agents_end", sql: include_str!("../../../migrations/0026_agents_end.sql") },
    Migration { version: 27, name: "approvals", sql: include_str!("../../../migrations/0027_approvals.sql") },
    Migration { version: 28, name: "key_uses", sql: include_str!("../../../migrations/0028_key_uses.sql") },
    Migration { version: 29, name: "org_keys", sql: include_str!("../../../migrations/0029_org_keys.sql") },
    Migration { version: 30, name: "approval_mails", sql: include_str!("../../../migrations/0030_approval_mails.sql") },
    Migration { version: 31, name: "used_intents", sql: include_str!("../../../migrations/0031_used_intents.sql") },
    Migration { version: 32, name: "org_approvals", sql: include_str!("../../../migrations/0032_org_approvals.sql") },
    Migration { version: 33, name: "tallies", sql: include_str!("../../../migrations/0033_tallies.sql") },
    Migration { version: 34, name: "running_budgets", sql: include_str!("../../../migrations/0034_running_budgets.sql") },
    Migration { version: 35, name: "two_persons", sql: include_str!("../../../migrations/0035_two_persons.sql") },
    Migration { version: 36, name: "key_networks", sql: include_str!("../../../migrations/0036_key_networks.sql") },
    Migration { version: 37, name: "webhooks", sql: include_str!("../../../migrations/0037_webhooks.sql") },
    Migration { version: 38, name: "fair_mails", sql: include_str!("../../../migrations/0038_fair_mails.sql") },
    Migration { version: 40, name: "evidence", sql: include_str!("../../../migrations/0040_evidence.sql") },
    Migration { version: 43, name: "kept_reports", sql: include_str!("../../../migrations/0043_kept_reports.sql") },
    Migration { version: 44, name: "awaited_reports", sql: include_str!("../../../migrations/0044_awaited_reports.sql") },
    Migration { version: 45, name: "role_since", sql: include_str!("../../../migrations/0045_role_since.sql") },
    Migration { version: 46, name: "member_uses", sql: include_str!("../../../migrations/0046_member_uses.sql") },
    Migration { version: 47, name: "pepper", sql: include_str!("../../../migrations/0047_pepper.sql") },
    Migration { version: 48, name: "webhook_rules", sql: include_str!("../../../migrations/0048_webhook_rules.sql") },
    Migration { version: 49, name: "webhook_mails", sql: include_str!("../../../migrations/0049_webhook_mails.sql") },
    Migration { version: 50, name: "webhook_status", sql: include_str!("../../../migrations/0050_webhook_status.sql") },
    Migration { version: 51, name: "connector_tests", sql: include_str!("../../../migrations/0051_connector_tests.sql") },
];

/// What the service's role may do with one table.
#[derive(Debug, Clone, Copy)]
pub struct Grant {
    /// The table.
    pub table: &'static str,
    /// The privileges, as SQL names them.
    pub privileges: &'static str,
}

/// What the service's role may do, table by table. What was sealed it may never change or remove.
#[rustfmt::skip]
pub const GRANTS: &[Grant] = &[
    Grant { table: "org",              privileges: "select, insert, update" },
    Grant { table: "org_name",         privileges: "select, insert, update, delete" },
    Grant { table: "org_head",         privileges: "select, insert, update" },
    Grant { table: "turn",             privileges: "select, insert, delete" },
    Grant { table: "org_settings",     privileges: "select, insert, update" },
    Grant { table: "agent",            privileges: "select, insert, update" },
    Grant { table: "accepted_tool",    privileges: "select, insert, update" },
    Grant { table: "intent_key_set",   privileges: "select, insert, update" },
    Grant { table: "used_intent",      privileges: "select, insert" },
    Grant { table: "api_key",          privileges: "select, insert, update" },
    Grant { table: "api_key_use",      privileges: "select, insert, update" },
    // It is never changed. A table that every node has whole asks for the right to, all the same.
    Grant { table: "api_key_org",      privileges: "select, insert, update" },
    Grant { table: "connector",        privileges: "select, insert, update" },
    Grant { table: "connector_test",   privileges: "select, insert, update" },
    Grant { table: "policy",           privileges: "select, insert, update" },
    Grant { table: "policy_version",   privileges: "select, insert" },
    Grant { table: "policy_active",    privileges: "select, insert, update, delete" },
    Grant { table: "policy_tests",     privileges: "select, insert, update" },
    Grant { table: "policy_activation", privileges: "select, insert" },
    Grant { table: "policy_proposal",  privileges: "select, insert, update" },
    Grant { table: "action",           privileges: "select, insert, update" },
    Grant { table: "idempotency",      privileges: "select, insert, update, delete" },
    Grant { table: "disclosure",       privileges: "select, insert, delete" },
    Grant { table: "kept_report",      privileges: "select, insert, update, delete" },
    Grant { table: "budget_window",    privileges: "select, insert, update, delete" },
    Grant { table: "deed",             privileges: "select, insert" },
    Grant { table: "log_node",         privileges: "select, insert" },
    Grant { table: "closed_log",       privileges: "select, insert" },
    Grant { table: "checkpoint",       privileges: "select, insert" },
    Grant { table: "chain_check",      privileges: "select, insert, update" },
    Grant { table: "event",            privileges: "select, insert" },
    Grant { table: "tally_mark",       privileges: "select, insert, update" },
    Grant { table: "action_tally",     privileges: "select, insert, update" },
    Grant { table: "past_tile",        privileges: "select" },
    Grant { table: "seal_key",         privileges: "select, insert, update" },
    Grant { table: "pepper",           privileges: "select, insert, update" },
    Grant { table: "member",           privileges: "select, insert, update" },
    Grant { table: "member_use",       privileges: "select, insert, update" },
    Grant { table: "invite",           privileges: "select, insert, update" },
    Grant { table: "invite_mail",      privileges: "select, insert, update, delete" },
    Grant { table: "approval_mail",    privileges: "select, insert, update, delete" },
    Grant { table: "webhook_mail",     privileges: "select, insert, update, delete" },
    // Never changed, as `api_key_org`.
    Grant { table: "membership",       privileges: "select, insert, update" },
    Grant { table: "person",           privileges: "select, insert, update" },
    Grant { table: "sign_in_count",    privileges: "select, insert, update, delete" },
    Grant { table: "challenge",        privileges: "select, insert, update, delete" },
    Grant { table: "session",          privileges: "select, insert, update, delete" },
    Grant { table: "mail_job",         privileges: "select, insert, update, delete" },
    Grant { table: "webhook",          privileges: "select, insert, update" },
    Grant { table: "webhook_lane",     privileges: "select, insert, update" },
    Grant { table: "webhook_delivery", privileges: "select, insert, update, delete" },
    Grant { table: "log_reader",       privileges: "select, insert, update" },
    Grant { table: "log_frame",        privileges: "select, insert, delete" },
    Grant { table: "log_gap",          privileges: "select, insert" },
    Grant { table: "schema_migration", privileges: "select" },
];

/// The tables that belong to no org. They are small, and every node of a database that keeps orgs
/// apart has them whole.
pub const OF_NO_ORG: [&str; 14] = [
    "schema_migration",
    "seal_key",
    "pepper",
    "api_key_org",
    "org_name",
    "person",
    "membership",
    "invite_mail",
    "approval_mail",
    "webhook_mail",
    "sign_in_count",
    "challenge",
    "session",
    "mail_job",
];

/// Why a database could not be brought to this build's schema.
#[derive(Debug, thiserror::Error)]
pub enum MigrateError {
    /// The settings name no database.
    #[error(transparent)]
    Settings(#[from] BadSettings),
    /// The database has a migration that this build does not know, or another text of one.
    #[error(
        "the database has a migration {version} that this build does not know; nothing was changed"
    )]
    Unknown {
        /// The migration's number.
        version: i32,
    },
    /// The role of the service is not there.
    #[error("there is no role `{role}`; make it first, with `create role … login`")]
    NoRole {
        /// The role's name.
        role: String,
    },
    /// The role may not do what the schema needs.
    #[error("the role `{role}` lacks a right, and what failed was not changed: {mend}")]
    NoRight {
        /// The role that migrates.
        role: String,
        /// What gives it the right.
        mend: String,
        /// What the database said.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The database is no Citus cluster.
    #[error(
        "the database has no extension `citus`, and nothing was changed; docs/scale.md says how it gets one"
    )]
    NoCitus,
    /// A step failed; those before it stand.
    #[error("could not {attempt}")]
    Failed {
        /// What was attempted.
        attempt: String,
        /// Why it failed.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

/// Applies what is missing, gives the service's role its rights, and returns the names of the
/// migrations that were applied.
///
/// Several may be started at once: one works and the others find nothing left to do.
pub async fn migrate(
    settings: &Settings,
    service_role: &str,
) -> Result<Vec<&'static str>, MigrateError> {
    let (config, tls) = connect::config(settings)?;
    let client =
        connect::dial(&config, tls).await.map_err(|fault| failed("reach the database", fault))?;
    match brought(&client, service_role).await {
        Err(MigrateError::Failed { attempt, source }) => {
            Err(rights::lacking(&client, (attempt, source)).await)
        }
        other => other,
    }
}

async fn brought(client: &Client, role: &str) -> Result<Vec<&'static str>, MigrateError> {
    lock(client).await?;
    run(client, BOOKKEEPING, "make the table of migrations").await?;
    let missing = missing(client).await?;
    for migration in &missing {
        apply(client, migration).await?;
    }
    grant(client, role).await?;
    Ok(missing.iter().map(|migration| migration.name).collect())
}

// A lock of the session: a migration may be several transactions. It is the only lock of this
// kind, and it goes with the connection. It is not waited for inside PostgreSQL, where an index that is
// made beside others would wait for the waiting statement to end.
const LOCK: &str = "select pg_try_advisory_lock(4842631) as mine";
const LOCK_AGAIN: Duration = Duration::from_millis(100);

/// Waits until no other migration runs. From then on nothing may hold up a serving instance.
pub(crate) async fn lock(client: &Client) -> Result<(), MigrateError> {
    let attempt = "wait for other migrations";
    loop {
        let mine = client.query_one(LOCK, &[]).await.and_then(|row| row.try_get("mine"));
        if mine.map_err(|error| failed(attempt, error.into()))? {
            return run(client, "set lock_timeout = '5s'", attempt).await;
        }
        tokio::time::sleep(LOCK_AGAIN).await;
    }
}

const BOOKKEEPING: &str = "
    create table if not exists schema_migration (
        version integer not null,
        name text not null,
        -- SHA-256 of the file.
        digest bytea not null check (octet_length(digest) = 32),
        applied_at timestamptz not null,
        primary key (version)
    )";

async fn missing(client: &Client) -> Result<Vec<Migration>, MigrateError> {
    let attempt = "read the applied migrations";
    let sql = "select version, digest from schema_migration order by version";
    let rows = client.query(sql, &[]).await.map_err(|error| failed(attempt, error.into()))?;
    let applied = applied(&rows).map_err(|fault| failed(attempt, fault))?;
    for (version, digest) in &applied {
        let known = MIGRATIONS.iter().find(|migration| migration.version == *version);
        if known.is_none_or(|migration| migration.digest() != *digest) {
            return Err(MigrateError::Unknown { version: *version });
        }
    }
    let is_missing = |migration: &&Migration| !applied.contains_key(&migration.version);
    Ok(MIGRATIONS.iter().filter(is_missing).copied().collect())
}

async fn apply(client: &Client, migration: &Migration) -> Result<(), MigrateError> {
    let attempt = format!("apply migration {} `{}`", migration.version, migration.name);
    let done = async {
        // PostgreSQL makes no index inside a transaction that instances can write beside.
        let is_apart = migration.sql.contains(" concurrently ");
        if !is_apart {
            distribute::begin(client).await?;
        }
        // One by one: a distributed table takes no two commands at once.
        for statement in statements(migration.sql) {
            client.batch_execute(statement).await?;
        }
        if is_apart {
            distribute::begin(client).await?;
        }
        distribute::whats_new(client).await?;
        let sql = "
            insert into schema_migration (version, name, digest, applied_at)
            values ($1, $2, $3, clock_timestamp())";
        let digest = migration.digest();
        let digest = &digest.as_bytes()[..];
        client.execute(sql, &[&migration.version, &migration.name, &digest]).await?;
        client.batch_execute("commit").await
    };
    // A failed step leaves the connection, and so ends its transaction.
    done.await.map_err(|error| failed(&attempt, error.into()))
}

/// Gives the service's role exactly its rights. The owner of the schema needs none and keeps its
/// own.
async fn grant(client: &Client, role: &str) -> Result<(), MigrateError> {
    let attempt = "give the service's role its rights";
    let sql = "
        select quote_ident(rolname) as quoted, rolname = current_user as owns
        from pg_roles where rolname = $1";
    let found = client.query_opt(sql, &[&role]).await;
    let found = found.map_err(|error| failed(attempt, error.into()))?;
    let Some(row) = found else { return Err(MigrateError::NoRole { role: role.to_owned() }) };
    let (quoted, owns): (String, bool) = (row.get("quoted"), row.get("owns"));
    if owns {
        return Ok(());
    }
    let rights = GRANTS.iter().map(|Grant { table, privileges }| {
        format!("revoke all on {table} from {quoted}; grant {privileges} on {table} to {quoted};")
    });
    distribute::begin(client).await.map_err(|error| failed(attempt, error.into()))?;
    run(client, &format!("{} commit", rights.collect::<String>()), attempt).await
}

/// The statements of a migration, one by one. It has neither block comments nor quotes by dollars.
pub(crate) fn statements(sql: &str) -> Vec<&str> {
    #[derive(Clone, Copy, PartialEq)]
    enum In {
        Code,
        Quote,
        Comment,
    }
    let (mut at, mut start, mut has_code, mut found) = (In::Code, 0, false, Vec::new());
    for (place, sign) in sql.char_indices() {
        let rest = sql.get(place..).unwrap_or_default();
        at = match (at, sign) {
            (In::Code, '-') if rest.starts_with("--") => In::Comment,
            (In::Code, '\'') => In::Quote,
            (In::Quote, '\'') | (In::Comment, '\n') => In::Code,
            (at, _) => at,
        };
        has_code |= at != In::Comment && !sign.is_whitespace();
        if at == In::Code && sign == ';' {
            found.extend(sql.get(start..=place));
            (start, has_code) = (place + 1, false);
        }
    }
    found.extend(has_code.then(|| sql.get(start..)).flatten());
    found
}

async fn run(client: &Client, sql: &str, attempt: &str) -> Result<(), MigrateError> {
    client.batch_execute(sql).await.map_err(|error| failed(attempt, error.into()))
}

fn failed(attempt: &str, fault: Fault) -> MigrateError {
    MigrateError::Failed { attempt: attempt.to_owned(), source: Box::new(fault) }
}
