//! `check`: looks at the record of a live service and at everything that it needs. Changes
//! nothing.
//!
//! The record comes first, each invariant on a line; then seal keys and checkpoints as a start
//! would look at them; then the governed systems.

mod report;

use connectors::{Blueprint, CheckLine, CheckState};
use ledger::record::Connector;
use model::causes;
use serde_json::{Value, json};

use super::{connector, load, org_of, orgs, unread};
use crate::{
    cli,
    exit::{Exit, Failure},
    print,
    settings::{self, Environment, Settings},
    telemetry,
    wire_up::{
        Admitted, Standing, Wired, deployment_secrets::Pepper, open_store, standing,
        store_settings, wire_up_with,
    },
};
use report::{Report, System};

/// Looks at everything and prints what it found. Whatever keeps it from looking ends in 2, a control
/// database that does not answer in 6.
pub(super) async fn run(
    config: Option<&std::path::Path>,
    what: cli::Check,
) -> Result<Exit, Failure> {
    let settings = load(config)?;
    telemetry::start(settings.env, settings::LogLevel::quiet());
    let report = look(&settings).await.map_err(|failure| match failure.exit {
        Exit::Unavailable => failure,
        _ => Failure::usage(failure.sentence),
    })?;
    if what.json {
        print::line(report.json().to_string());
    } else {
        report.lines().into_iter().for_each(print::line);
    }
    Ok(report.exit())
}

async fn look(settings: &Settings) -> Result<Report, Failure> {
    let (Some(database), Some(vault)) = (&settings.database, &settings.vault) else {
        let sentence = "a check requires `SERVICE_DATABASE_URL` and `SERVICE_VAULT_KEY`";
        return Err(Failure::usage(sentence));
    };
    let store = open_store(settings, database).await?;
    let found = store_postgres::look(&store_settings(database), &vault.key_ids()).await;
    let found = found.map_err(|error| Failure::internal(causes(&error)))?;
    let mut report = Report::of(found);
    let parts = store.parts().await.map_err(|error| Failure::internal(causes(&error)))?;
    report.away = parts.into_iter().filter(|part| part.is_away).collect();
    // A start would register a new key; a check leaves that to it.
    match standing(settings, store.as_ref()).await? {
        Standing::Known => {}
        Standing::New => {
            let sentence = "the seal key file has a key that the next start will register";
            report.not_started(CheckState::Advice, sentence.to_owned());
            return Ok(report);
        }
        Standing::Refused(sentence) => {
            report.not_started(CheckState::Fail, sentence);
            return Ok(report);
        }
    }
    if let Some(pepper) = &settings.pepper
        && Pepper::of(&store, pepper).await? == Pepper::New
    {
        let sentence = "the next start will record a mark of the pepper, which identifies it from \
                        then on";
        report.not_started(CheckState::Advice, sentence.to_owned());
        return Ok(report);
    }
    match wire_up_with(settings, Admitted::to_serve()).await {
        Ok(wired) => {
            report.mail = Some(mail(&wired, settings.env).await);
            for org in orgs(&wired.core).await?.found {
                let connectors = wired.core.stores.accounts.connectors(org.id).await;
                let connectors = connectors.map_err(unread)?;
                for connector in connectors.into_iter().filter(|row| row.archived_at.is_none()) {
                    report.systems.push(system(&wired, connector).await);
                }
            }
        }
        Err(failure) => report.not_started(CheckState::Fail, failure.sentence),
    }
    Ok(report)
}

/// Whether mails would be taken now.
async fn mail(wired: &Wired, env: Environment) -> CheckLine {
    let (state, detail) = match (&wired.post, env) {
        (Some(post), _) => match post.check().await {
            Ok(()) => (CheckState::Pass, String::new()),
            Err(error) => (CheckState::Fail, format!("{error}; {MAIL}")),
        },
        (None, Environment::Prod) => (CheckState::Advice, NO_MAIL.to_owned()),
        (None, Environment::Dev) => (CheckState::Pass, NO_MAIL.to_owned()),
    };
    CheckLine { name: "mail".to_owned(), state, detail }
}

const MAIL: &str =
    "nobody receives mail, and nobody can sign in; see \"Mail cannot be sent\" in docs/runbook.md";
const NO_MAIL: &str =
    "`SERVICE_MAIL_SMTP` is not set: nobody receives mail, and nobody can sign in";

/// Looks at the connectors of an org alone and prints what was found.
pub(super) async fn connectors(wired: &Wired, what: cli::CheckConnector) -> Result<Exit, Failure> {
    let org = org_of(&wired.core, what.org).await?;
    let rows = match &what.connector {
        Some(named) => vec![connector::find(&wired.core, org, named).await?],
        None => wired.core.stores.accounts.connectors(org).await.map_err(unread)?,
    };
    let mut systems = Vec::new();
    for row in rows.into_iter().filter(|row| row.archived_at.is_none()) {
        systems.push(system(wired, row).await);
    }
    if what.json {
        print::line(
            json!({ "object": "list", "data": report::systems_json(&systems) }).to_string(),
        );
    } else {
        report::lines_of(&systems).into_iter().for_each(print::line);
    }
    Ok(report::exit_of(&systems))
}

/// What the connector's adapter finds in the governed system.
async fn system(wired: &Wired, connector: Connector) -> System {
    let (org, id, name) = (connector.org, connector.id, connector.name.to_string());
    System { org, id, name, lines: lines(wired, connector).await }
}

async fn lines(wired: &Wired, connector: Connector) -> Vec<CheckLine> {
    let failed = |name: &str, detail: String| {
        vec![CheckLine { name: name.to_owned(), state: CheckState::Fail, detail }]
    };
    let receiver = connectors::receiver(&connector.kind, &connector.config);
    let fields = match admin::open_credential(&wired.deps.vault, &connector, &receiver) {
        Ok(fields) => fields,
        Err(error) => {
            return failed(&of_credential(&receiver), format!("{error}; {UNBOUND}"));
        }
    };
    let kept = (!fields.is_empty()).then(|| CheckLine {
        name: of_credential(&receiver),
        state: CheckState::Pass,
        detail: String::new(),
    });
    let blueprint = Blueprint {
        org: connector.org,
        id: connector.id,
        name: connector.name,
        kind: connector.kind,
        revision: connector.revision.into(),
        config: connector.config,
        credential: connectors::Credential::new(fields)
            .of_kind(connector.credential_set.map(|set| set.kind)),
        tools: connector.tools,
    };
    match connectors::check(&blueprint, &wired.deps).await {
        Ok(lines) => kept.into_iter().chain(lines).collect(),
        Err(error) => failed("connector", error.to_string()),
    }
}

/// What to do about a credential that does not open.
const UNBOUND: &str = "start a service of this version, which binds credentials that an earlier \
                       version stored, or set the credential again";

/// The credential by whom it is for.
fn of_credential(receiver: &Value) -> String {
    let text = |part: &str| receiver.get(part).and_then(Value::as_str).unwrap_or_default();
    let port = receiver.get("port").and_then(Value::as_u64).unwrap_or_default();
    let database = Some(text("database")).filter(|database| !database.is_empty());
    let database = database.map(|database| format!("/{database}")).unwrap_or_default();
    format!("credential for {}:{port}{database}", text("host"))
}
