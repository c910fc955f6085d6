//! `connector`: makes, changes and lists connectors, and prepares databases for being governed.

use std::{collections::BTreeMap, path::Path, sync::Arc};

use act::Changed;
use admin::{ConnectorEdit, ConnectorError, NewConnector, OrgChange, ToolStanding};
use connectors::{
    Blueprint,
    postgres::{self, Witness},
    rest::{self, Choice},
};
use crypto::{Secret, SystemEntropy, vault::Ring};
use ledger::record::Connector as Row;
use model::{ConnectorId, ConnectorName, OrgId};
use serde_json::Value;
use uuid::Uuid;
use zeroize::Zeroizing;

use super::{accounts, check, lists, org_of, read_text, stem, unread};
use crate::{
    cli::{
        Connector, ConvertDescription, CreateConnector, Described, InOrg, NamedConnector,
        SetupConnector, UpdateConnector,
    },
    core::Core,
    exit::{Exit, Failure},
    print, secrets,
    settings::Settings,
    wire_up::{self, Wired},
};

/// A connector's file, read.
struct Read {
    name: String,
    kind: String,
    config: Value,
    credential: Given,
}

/// A credential's file, read.
#[derive(Default)]
struct Given {
    kind: Option<String>,
    fields: admin::Credential,
}

pub(super) async fn run(wired: &Wired, what: Connector) -> Result<Exit, Failure> {
    let core = &wired.core;
    match what {
        Connector::Create(what) => create(core, what).await,
        Connector::Update(what) => update(core, what).await,
        Connector::Credential { connector, file, org } => {
            let given = given(Some(&file))?;
            let (operator, id) = named(core, org, &connector).await?;
            let given = (given.kind.as_deref(), given.fields);
            told(operator.set_credential(id, given).await, "has a new credential")
        }
        Connector::Disable(NamedConnector { connector, by }) => {
            let (operator, id) = named(core, by.org, &connector).await?;
            told(operator.disable_connector(id, &by.reason).await, "is disabled")
        }
        Connector::Enable(NamedConnector { connector, by }) => {
            let (operator, id) = named(core, by.org, &connector).await?;
            told(operator.enable_connector(id, &by.reason).await, "is enabled")
        }
        Connector::Archive(NamedConnector { connector, by }) => {
            let (operator, id) = named(core, by.org, &connector).await?;
            told(operator.archive_connector(id, &by.reason).await, "is archived")
        }
        Connector::List(what) => lists::connectors(core, what).await,
        Connector::Check(what) => check::connectors(wired, what).await,
        Connector::Setup(what) => setup_by(&wired.deps, what).await,
        Connector::Convert(what) => convert(&what),
    }
}

async fn create(core: &Core, what: CreateConnector) -> Result<Exit, Failure> {
    let org = org_of(core, what.org).await?;
    let Read { name, kind, config, credential } = described(&what.described)?;
    let new = NewConnector {
        credential: credential.fields,
        credential_kind: credential.kind,
        test: what.test,
        ..NewConnector::of(&kind, &name, config)
    };
    let operator = core.operator(org);
    let made = operator.create_connector(new).await;
    let connector = made.map_err(|error| failure(&error))?.object;
    print::line(format!("{} {}", connector.id, connector.name));
    let tools = ToolStanding::of(&connector);
    if !tools.is_empty() {
        print::complaint(shown(tools.len(), tools.iter().map(ToolStanding::shown_bytes).sum()));
    }
    // The connector exists, so what cannot be counted now is no failure of the command.
    let parts = operator.view().not_served(connector.id).await.unwrap_or_default().len();
    if parts > 0 {
        let name = &connector.name;
        print::complaint(format!("not served: {parts}, see `chancery connector check {name}`"));
    }
    Ok(Exit::Ok)
}

/// How much an agent is shown of so many tools.
fn shown(tools: usize, bytes: usize) -> String {
    format!("{tools} tools; an agent that may call all is shown {bytes} bytes")
}

async fn update(core: &Core, what: UpdateConnector) -> Result<Exit, Failure> {
    let config = connectors::read_config(&read_text(&what.file)?).map_err(Failure::malformed)?;
    let name = what.name.unwrap_or_else(|| stem(&what.file));
    let (operator, id) = named(core, what.org, &name).await?;
    let given = given(what.credential.as_deref())?;
    let edit = ConnectorEdit {
        config: Some(config),
        credential: given.fields,
        credential_kind: given.kind,
        pin_tools: true,
        ..ConnectorEdit::default()
    };
    let changed = operator.update_connector(id, edit).await;
    let is_bare = changed.as_ref().is_ok_and(|changed| changed.object.credential.is_empty());
    told(changed, "is updated")?;
    if is_bare {
        print::line("it has no credential: set one with `chancery connector credential`");
    }
    Ok(Exit::Ok)
}

/// Says what became of a connector.
fn told(changed: Result<Changed<Row>, ConnectorError>, became: &str) -> Result<Exit, Failure> {
    let Changed { object, deed } = changed.map_err(|error| failure(&error))?;
    let Row { id, name, revision, .. } = object;
    print::line(format!("{id} {name} {became}, revision {revision}, deed {deed}"));
    Ok(Exit::Ok)
}

/// The connector of the org that goes by this name or id.
async fn named<'a>(
    core: &'a Core,
    org: InOrg,
    named: &str,
) -> Result<(OrgChange<'a>, ConnectorId), Failure> {
    let org = org_of(core, org).await?;
    let found = find(core, org, named).await?;
    Ok((core.operator(org), found.id))
}

/// The connector of the org that goes by this name or id.
pub(super) async fn find(core: &Core, org: OrgId, named: &str) -> Result<Row, Failure> {
    let rows = core.stores.accounts.connectors(org).await.map_err(unread)?;
    let id: Option<ConnectorId> = named.parse().ok();
    let is_named = |row: &Row| row.name.as_str() == named || Some(row.id) == id;
    rows.into_iter().find(is_named).ok_or_else(|| {
        Failure::usage(format!("the org has no connector `{named}`: see `chancery connector list`"))
    })
}

pub(super) async fn setup(settings: Settings, what: SetupConnector) -> Result<Exit, Failure> {
    let deps = connectors::Deps {
        egress: wire_up::egress(&settings).await?,
        vault: settings.vault.map_or_else(unused_ring, Ok)?,
        entropy: Arc::new(SystemEntropy::new()),
    };
    setup_by(&deps, what).await
}

async fn setup_by(deps: &connectors::Deps, what: SetupConnector) -> Result<Exit, Failure> {
    let blueprint = blueprint(described(&what.described)?)?;
    let witness = if what.witness { Witness::Wanted } else { Witness::Later };
    let Some(user) = what.apply else {
        let script = connectors::setup_script(&blueprint, witness).map_err(Failure::malformed)?;
        let script = script.ok_or_else(|| Failure::usage(UNPREPARED))?;
        print::line(script.trim_end());
        return Ok(Exit::Ok);
    };
    let password = match &what.password_file {
        Some(file) => read_text(file)?.trim_end_matches(['\r', '\n']).to_owned(),
        None => String::new(),
    };
    let owner = postgres::Owner { user, password: Secret::new(password) };
    let applied = postgres::apply_setup(&blueprint, deps, &owner, witness).await;
    applied.map_err(|error| Failure { exit: Exit::FoundBad, sentence: error.to_string() })?;
    print::line("the governed schema is ready");
    Ok(Exit::Ok)
}

const UNPREPARED: &str = "a connector of this type requires no setup";

/// Prints the file of a connector that is made of an API's description, and lists what is left out.
pub(super) fn convert(what: &ConvertDescription) -> Result<Exit, Failure> {
    let description = read_text(&what.description)?;
    let named = what.operations.iter().map(|operation| Choice::Operation(operation));
    let choices: Vec<_> = named.chain(what.tags.iter().map(|tag| Choice::Tag(tag))).collect();
    let converted = rest::convert(&description, &choices).map_err(Failure::malformed)?;
    let mut config = converted.config;
    if let (Some(url), Some(members)) = (&what.base_url, config.as_object_mut()) {
        members.insert("base_url".to_owned(), url.clone().into());
    }
    for (operation, reason) in converted.left_out {
        print::complaint(format!("skipped: {operation}: {reason}"));
    }
    let (tools, bytes) = (converted.tools, converted.bytes);
    print::complaint(shown(tools, bytes));
    if tools > rest::MOST_TOOLS {
        let most = rest::MOST_TOOLS;
        print::complaint(format!(
            "a connector has at most {most} tools: choose operations with --operation or --tag"
        ));
    }
    print::line(format!("{config:#}"));
    Ok(Exit::Ok)
}

/// Markers are signed by running tools only, so a setup needs no ring that anybody else knows.
fn unused_ring() -> Result<Arc<Ring>, Failure> {
    Ring::parse(&secrets::random_key()).map(Arc::new).map_err(Failure::internal)
}

fn described(what: &Described) -> Result<Read, Failure> {
    let config = connectors::read_config(&read_text(&what.file)?).map_err(Failure::malformed)?;
    let credential = given(what.credential.as_deref())?;
    let name = what.name.clone().unwrap_or_else(|| stem(&what.file));
    Ok(Read { name, kind: what.kind.clone(), config, credential })
}

/// What the file of a credential gives; nothing where there is none.
fn given(file: Option<&Path>) -> Result<Given, Failure> {
    file.map_or_else(|| Ok(Given::default()), |file| credential(&Zeroizing::new(read_text(file)?)))
}

/// The fields of a credential; `kind` among them is no field.
fn credential(text: &str) -> Result<Given, Failure> {
    let value = connectors::read_config(text).map_err(Failure::malformed)?;
    let expected = || Failure::malformed("the credential: expected a mapping of names to strings");
    let fields = value.as_object().ok_or_else(expected)?;
    let field = |(name, value): (&String, &Value)| {
        let value = value.as_str().ok_or_else(expected)?;
        Ok((name.clone(), Secret::new(value.to_owned())))
    };
    let mut fields: admin::Credential = fields.iter().map(field).collect::<Result<_, _>>()?;
    let kind = fields.remove("kind").map(|kind| kind.expose().clone());
    Ok(Given { kind, fields })
}

/// The blueprint of a connector that is not made yet.
fn blueprint(read: Read) -> Result<Blueprint, Failure> {
    let name: Result<ConnectorName, _> = read.name.parse();
    Ok(Blueprint {
        org: OrgId::from_uuid(Uuid::nil()),
        id: ConnectorId::from_uuid(Uuid::nil()),
        name: name.map_err(Failure::usage)?,
        kind: read.kind,
        revision: 0,
        config: read.config,
        credential: connectors::Credential::new(read.credential.fields)
            .of_kind(read.credential.kind),
        tools: BTreeMap::new(),
    })
}

pub(super) fn failure(error: &ConnectorError) -> Failure {
    match error {
        ConnectorError::Change(error) => accounts::failure(error),
        ConnectorError::Unfit(_) | ConnectorError::NotReady(_) | ConnectorError::NoChangeLog(_) => {
            Failure { exit: Exit::FoundBad, sentence: error.to_string() }
        }
        ConnectorError::Vault(_) => Failure::internal(error),
    }
}
