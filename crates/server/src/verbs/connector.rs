//! `connector`: makes connectors, and prepares databases for being governed.

use std::{collections::BTreeMap, sync::Arc};

use admin::{ConnectorError, NewConnector};
use connectors::{Blueprint, postgres};
use crypto::{Secret, SystemEntropy, vault::Ring};
use model::{ConnectorId, ConnectorName, OrgId};
use serde_json::Value;
use uuid::Uuid;
use zeroize::Zeroizing;

use super::{accounts, org_of, read_text, stem};
use crate::{
    cli::{CreateConnector, Described, SetupConnector},
    core::Core,
    exit::{Exit, Failure},
    print, secrets,
    settings::Settings,
    wire_up,
};

/// A connector's file, read.
struct Read {
    name: String,
    kind: String,
    config: Value,
    credential: admin::Credential,
}

pub(super) async fn create(core: &Core, what: CreateConnector) -> Result<Exit, Failure> {
    let org = org_of(core, what.org).await?;
    let Read { name, kind, config, credential } = described(&what.described)?;
    let new = NewConnector { name, kind, config, credential, test: what.test };
    let made = core.operator(org).create_connector(new).await;
    let connector = made.map_err(|error| failure(&error))?.object;
    print::line(format!("{} {}", connector.id, connector.name));
    Ok(Exit::Ok)
}

pub(super) async fn setup(settings: Settings, what: SetupConnector) -> Result<Exit, Failure> {
    let blueprint = blueprint(described(&what.described)?)?;
    let Some(user) = what.apply else {
        print::line(postgres::setup_sql(&blueprint).map_err(Failure::malformed)?.trim_end());
        return Ok(Exit::Ok);
    };
    let password = match &what.password_file {
        Some(file) => read_text(file)?.trim_end_matches(['\r', '\n']).to_owned(),
        None => String::new(),
    };
    let superuser = postgres::Superuser { user, password: Secret::new(password) };
    let deps = connectors::Deps {
        egress: wire_up::egress(&settings).await?,
        vault: settings.vault.map_or_else(unused_ring, Ok)?,
        entropy: Arc::new(SystemEntropy::new()),
    };
    postgres::apply_setup(&blueprint, &deps, &superuser).await.map_err(Failure::internal)?;
    print::line("the governed schema stands");
    Ok(Exit::Ok)
}

/// Markers are signed by running tools only, so a setup needs no ring that anybody else knows.
fn unused_ring() -> Result<Arc<Ring>, Failure> {
    Ring::parse(&secrets::random_key()).map(Arc::new).map_err(Failure::internal)
}

fn described(what: &Described) -> Result<Read, Failure> {
    let config = connectors::read_config(&read_text(&what.file)?).map_err(Failure::malformed)?;
    let credential = match &what.credential {
        Some(file) => credential(&Zeroizing::new(read_text(file)?))?,
        None => BTreeMap::new(),
    };
    let name = what.name.clone().unwrap_or_else(|| stem(&what.file));
    Ok(Read { name, kind: what.kind.clone(), config, credential })
}

fn credential(text: &str) -> Result<admin::Credential, Failure> {
    let value = connectors::read_config(text).map_err(Failure::malformed)?;
    let expected = || Failure::malformed("the credential: expected a mapping of names to texts");
    let fields = value.as_object().ok_or_else(expected)?;
    let field = |(name, value): (&String, &Value)| {
        let value = value.as_str().ok_or_else(expected)?;
        Ok((name.clone(), Secret::new(value.to_owned())))
    };
    fields.iter().map(field).collect()
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
        credential: connectors::Credential::new(read.credential),
        tools: BTreeMap::new(),
    })
}

fn failure(error: &ConnectorError) -> Failure {
    match error {
        ConnectorError::Change(error) => accounts::failure(error),
        ConnectorError::Unfit(_) => Failure { exit: Exit::FoundBad, sentence: error.to_string() },
        ConnectorError::Vault(_) => Failure::internal(error),
    }
}
