//! The governed schema: the script that sets it up, and its application.
//!
//! The script is for a database administrator to read first. Applied from here, passwords travel
//! as SCRAM verifiers, so that no log of the server ever holds one.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    sync::Arc,
    time::Duration,
};

use crypto::Secret;
use model::{Fault, RowOp};
use postgres_protocol::password::scram_sha_256;
use tokio::time::{sleep, timeout};
use tokio_postgres::{Client, Error, error::SqlState};

use super::{
    CONN_PASSWORD, DECODER_PASSWORD, READ_PASSWORD, config,
    config::Config,
    fault::{ConnectError, of_statement, sentence},
    governed::target,
    quote,
    session::Login,
    template::filled,
};
use crate::{Blueprint, BuildError, Credential, Deps};

/// The script may have to wait for locks on the governed tables.
const SETUP_LIMIT: Duration = Duration::from_mins(1);
/// How often a script may meet another one, and how long it then waits.
const MOST_MET: u32 = 20;
const BEHIND_ANOTHER: Duration = Duration::from_millis(100);
const TEMPLATE: &str = include_str!("setup.sql");
const WITNESS: &str = include_str!("witness.sql");

/// Who applies the script: the database's owner with CREATEROLE, or a superuser.
#[derive(Debug, Clone)]
pub struct Owner {
    /// The role.
    pub user: String,
    /// Its password.
    pub password: Secret<String>,
}

/// Whether the database is prepared for reading its change log too, which takes a role that may give
/// REPLICATION.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Witness {
    /// It is.
    Wanted,
    /// Somebody else may do that later.
    Later,
}

/// Why the governed schema could not be set up.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// The config is wrong, or the credential lacks a field.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// The database could not be reached.
    #[error("the governed database could not be reached: {}", .0.message)]
    Connect(Fault),
    /// The database refused the script; nothing was changed.
    #[error("the governed database refused the setup: {0}")]
    Refused(String),
}

/// The script that sets up the governed schema, with psql variables for the passwords.
pub fn setup_sql(blueprint: &Blueprint, witness: Witness) -> Result<String, BuildError> {
    let config = read(blueprint)?;
    Ok(script(&config, witness, |field| {
        let asked = field != DECODER_PASSWORD || blueprint.credential.field(field).is_some();
        asked.then(|| format!(":'{field}'"))
    }))
}

/// Sets up the governed schema in one transaction.
pub async fn apply_setup(
    blueprint: &Blueprint,
    deps: &Deps,
    owner: &Owner,
    witness: Witness,
) -> Result<(), SetupError> {
    let config = read(blueprint)?;
    credential_is_whole(&config, &blueprint.credential)?;
    let script = script(&config, witness, |field| {
        let password = blueprint.credential.field(field)?;
        Some(format!("'{}'", scram_sha_256(password.expose().as_bytes())))
    });
    let login = Login { user: owner.user.clone(), password: Some(owner.password.clone()) };
    let target = Arc::new(target(&config, deps)?);
    let session =
        target.open_any(&login).await.map_err(|error| SetupError::Connect(error.fault()))?;
    let applied = timeout(SETUP_LIMIT, run(&session.client, &script)).await;
    let late = |_| SetupError::Connect(ConnectError::Late.fault());
    applied.map_err(late)?.map_err(|error| match error.as_db_error() {
        Some(said) => SetupError::Refused(sentence(said)),
        None => SetupError::Connect(of_statement(&error)),
    })
}

/// Runs the script, once more where another one changed the same role or table at the same moment: roles
/// are those of the whole server, whose databases may be set up side by side.
async fn run(client: &Client, script: &str) -> Result<(), Error> {
    let mut met = 0;
    loop {
        let Err(error) = client.batch_execute(script).await else { return Ok(()) };
        if met == MOST_MET || !met_another(&error) {
            return Err(error);
        }
        met += 1;
        client.batch_execute("rollback").await?;
        sleep(BEHIND_ANOTHER).await;
    }
}

fn met_another(error: &Error) -> bool {
    let Some(said) = error.as_db_error() else { return false };
    // The server has no code of its own for rows of its catalogue.
    *said.code() == SqlState::T_R_DEADLOCK_DETECTED
        || *said.code() == SqlState::INTERNAL_ERROR
            && said.message().starts_with("tuple concurrently")
}

fn read(blueprint: &Blueprint) -> Result<Config, BuildError> {
    config::read(&blueprint.name, &blueprint.config)
        .map(|(config, _)| config)
        .map_err(|findings| BuildError::Config { findings })
}

/// Fails with the first field that the roles of the config need and the credential lacks.
pub(super) fn credential_is_whole(
    config: &Config,
    credential: &Credential,
) -> Result<(), BuildError> {
    let read = config.read_user.as_ref().map(|_| READ_PASSWORD);
    let mut needed = [CONN_PASSWORD].into_iter().chain(read);
    match needed.find(|field| credential.field(field).is_none()) {
        Some(field) => Err(BuildError::Credential { field }),
        None => Ok(()),
    }
}

/// The script; `password` gives the SQL literal of one field, or leaves that role as it is.
fn script(config: &Config, witness: Witness, password: impl Fn(&str) -> Option<String>) -> String {
    let read = config.read_user.as_deref();
    let decoder = (witness == Witness::Wanted).then_some(config.decoder_user.as_str());
    let logins = [Some(config.user.as_str()), read];
    let logins: Vec<String> = logins.into_iter().flatten().map(quote).collect();
    let path: Vec<String> = config.search_path.iter().map(|name| quote(name)).collect();
    let roles = [
        (CONN_PASSWORD, Some(config.user.as_str())),
        (READ_PASSWORD, read),
        (DECODER_PASSWORD, decoder),
    ];
    let mut passwords = String::new();
    for (field, user) in roles {
        if let (Some(user), Some(literal)) = (user, password(field)) {
            // Writing to a string cannot fail.
            let _ = writeln!(passwords, "alter role {} password {literal};", quote(user));
        }
    }
    let tables: Vec<String> =
        tables(config, &needs(config)).iter().map(|table| literal(&table_name(table))).collect();
    // This part has places of its own.
    let template = TEMPLATE.replace("{witness}\n", decoder.map_or("", |_| WITNESS));
    let values = [
        ("{tables}", &*tables.join(", ")),
        ("{path}", &path.join(", ")),
        ("{logins}", &logins.join(", ")),
        ("{owner}", &config.owner),
        ("{conn}", &config.user),
        ("{read}", read.unwrap_or_default()),
        ("{decoder}", &config.decoder_user),
        ("{grants}\n", &grants(config)),
        ("{passwords}\n", &passwords),
    ];
    filled(&template, &values)
}

/// What the tools need of one table.
#[derive(Default)]
pub(super) struct Need {
    pub(super) operations: BTreeSet<&'static str>,
    /// The columns that updates may set; nothing means that no update was declared.
    pub(super) update: Option<Columns>,
}

pub(super) enum Columns {
    All,
    Some(BTreeSet<String>),
}

pub(super) fn needs(config: &Config) -> BTreeMap<&str, Need> {
    let mut needs: BTreeMap<&str, Need> = BTreeMap::new();
    for footprint in config.tools.iter().filter_map(|tool| tool.footprint.as_ref()) {
        for (table, operations) in &footprint.tables {
            let need = needs.entry(table).or_default();
            for operation in operations {
                match operation {
                    RowOp::Insert => need.operations.insert("insert"),
                    RowOp::Delete => need.operations.insert("delete"),
                    RowOp::Update => {
                        let columns = footprint.columns.as_ref();
                        need.may_update(columns.and_then(|columns| columns.get(table)));
                        true
                    }
                };
            }
        }
    }
    needs
}

impl Need {
    fn may_update(&mut self, columns: Option<&Vec<String>>) {
        match (&mut self.update, columns) {
            (_, None) => self.update = Some(Columns::All),
            (None, Some(columns)) => {
                self.update = Some(Columns::Some(columns.iter().cloned().collect()));
            }
            (Some(Columns::Some(known)), Some(columns)) => known.extend(columns.iter().cloned()),
            (Some(Columns::All), Some(_)) => {}
        }
    }
}

fn grants(config: &Config) -> String {
    let conn = quote(&config.user);
    let readers: Vec<String> = [Some(&config.user), config.read_user.as_ref()]
        .into_iter()
        .flatten()
        .map(|u| quote(u))
        .collect();
    let readers = readers.join(", ");
    let needs = needs(config);
    let tables = tables(config, &needs);
    let schemas: BTreeSet<&str> = tables
        .iter()
        .filter_map(|table| table.split_once('.').map(|(schema, _)| schema))
        .chain(config.search_path.iter().map(String::as_str))
        .collect();
    let mut out = String::new();
    // Writing to a string cannot fail.
    for schema in schemas {
        let _ = writeln!(out, "grant usage on schema {} to {readers};", quote(schema));
    }
    for table in tables {
        let name = table_name(table);
        let _ = writeln!(out, "revoke all on {name} from {readers};");
        let _ = writeln!(out, "grant select on {name} to {readers};");
        let Some(need) = needs.get(table) else { continue };
        for operation in &need.operations {
            let _ = writeln!(out, "grant {operation} on {name} to {conn};");
        }
        match &need.update {
            None => {}
            Some(Columns::All) => {
                let _ = writeln!(out, "grant update on {name} to {conn};");
            }
            Some(Columns::Some(columns)) => {
                let columns: Vec<String> = columns.iter().map(|column| quote(column)).collect();
                let _ = writeln!(out, "grant update ({}) on {name} to {conn};", columns.join(", "));
            }
        }
        if need.operations.contains("insert") {
            out.push_str(&SEQUENCES.replace("{table}", &name).replace("{conn}", &conn));
        }
    }
    out
}

/// Every table that tools read or write.
pub(super) fn tables<'a>(config: &'a Config, needs: &BTreeMap<&'a str, Need>) -> BTreeSet<&'a str> {
    config.read_tables.iter().map(String::as_str).chain(needs.keys().copied()).collect()
}

fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

pub(super) fn table_name(table: &str) -> String {
    table.split('.').map(quote).collect::<Vec<_>>().join(".")
}

/// A table whose keys come from a sequence of its own needs that too.
const SEQUENCES: &str = r"do $do$
declare
    owned regclass;
begin
    for owned in
        select d.objid::regclass from pg_depend d join pg_class c on c.oid = d.objid
        where d.refobjid = '{table}'::regclass and c.relkind = 'S' and d.deptype in ('a', 'i')
    loop
        execute format('grant usage on sequence %s to {conn}', owned);
    end loop;
end
$do$;
";
