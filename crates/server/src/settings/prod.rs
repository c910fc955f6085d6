//! What prod refuses. Each check is one row of a table and returns every problem that it finds.

use std::{fs, os::unix::fs::PermissionsExt, path::PathBuf};

use super::{
    Environment, Mail, MailTls, PrivateNetworks, Problem, Settings, SmtpServer,
    parse::{Database, Reach, Tls},
    sources::Layers,
    table::{self, Care},
};

type Check = fn(&Settings, &Layers) -> Vec<Problem>;

#[rustfmt::skip]
const CHECKS: &[Check] = &[
    base_url_is_https,
    vault_key_and_pepper_are_there,
    private_networks_are_closed,
    change_logs_are_read,
    databases_are_encrypted,
    secrets_are_outside_the_file,
    secret_files_are_the_services_own,
    letters_are_sent_and_protected,
];

/// Returns everything that prod refuses in these settings.
pub(super) fn refusals(settings: &Settings, layers: &Layers) -> Vec<Problem> {
    debug_assert_eq!(settings.env, Environment::Prod);
    CHECKS.iter().flat_map(|check| check(settings, layers)).collect()
}

fn problem(setting: &str, sentence: &str) -> Problem {
    Problem { setting: setting.to_owned(), origin: None, sentence: sentence.to_owned() }
}

fn base_url_is_https(settings: &Settings, _: &Layers) -> Vec<Problem> {
    let plain = !settings.base_url.is_https();
    Vec::from_iter(plain.then(|| problem("SERVICE_BASE_URL", "prod requires an https URL")))
}

fn vault_key_and_pepper_are_there(settings: &Settings, layers: &Layers) -> Vec<Problem> {
    // A value that is there and wrong has been refused as such already.
    let unsaid = |name| table::find(name).is_some_and(|row| layers.find(row).is_none());
    let missing = [
        ("SERVICE_VAULT_KEY", settings.vault.is_none()),
        ("SERVICE_API_KEY_PEPPER", settings.pepper.is_none()),
    ];
    missing
        .into_iter()
        .filter(|(name, missing)| *missing && unsaid(name))
        .map(|(name, _)| problem(name, "prod requires this secret"))
        .collect()
}

fn private_networks_are_closed(settings: &Settings, _: &Layers) -> Vec<Problem> {
    match settings.private_networks {
        PrivateNetworks::Refused => Vec::new(),
        PrivateNetworks::Allowed => {
            vec![problem("SERVICE_ALLOW_PRIVATE_NETWORKS", "prod accepts only `false`")]
        }
    }
}

fn change_logs_are_read(settings: &Settings, _: &Layers) -> Vec<Problem> {
    let is_held = settings.decoder.paused;
    Vec::from_iter(is_held.then(|| problem("SERVICE_DECODER_PAUSE", "prod accepts only `false`")))
}

/// A file that is not there is told where it is read.
fn secret_files_are_the_services_own(settings: &Settings, _: &Layers) -> Vec<Problem> {
    let mode = |file: &PathBuf| Some(fs::metadata(file).ok()?.permissions().mode());
    let is_open = |file: &PathBuf| mode(file).is_some_and(|mode| mode & 7 != 0);
    let password = match &settings.mail {
        Mail::Smtp(SmtpServer { login: Some((_, file)), .. }) => Some(file),
        Mail::Smtp(_) | Mail::Outbox { .. } | Mail::Off => None,
    };
    let sentence = "prod requires a file that is not readable by every user of the machine; run \
                    `chmod 600` on it";
    [
        ("SERVICE_SEAL_KEY_FILE", settings.seal_key_file.as_ref()),
        ("SERVICE_MAIL_PASSWORD_FILE", password),
    ]
    .into_iter()
    .filter(|(_, file)| file.is_some_and(is_open))
    .map(|(name, _)| problem(name, sentence))
    .collect()
}

fn letters_are_sent_and_protected(settings: &Settings, _: &Layers) -> Vec<Problem> {
    let found = match &settings.mail {
        Mail::Outbox { .. } => (
            "SERVICE_MAIL_OUTBOX",
            "prod sends mail through a server: set `SERVICE_MAIL_SMTP` instead",
        ),
        Mail::Smtp(server) if server.tls == MailTls::None && !server.is_local() => (
            "SERVICE_MAIL_TLS",
            "prod requires `starttls` or `implicit`, except for a server on this machine, named \
             `localhost` or by a loopback address",
        ),
        Mail::Smtp(_) | Mail::Off => return Vec::new(),
    };
    vec![problem(found.0, found.1)]
}

fn databases_are_encrypted(settings: &Settings, _: &Layers) -> Vec<Problem> {
    let is_open = |database: &Database| match (database.reach, database.tls) {
        (Reach::Remote, Tls::Optional) => true,
        (Reach::Remote, Tls::Required) | (Reach::Local, Tls::Optional | Tls::Required) => false,
    };
    [
        ("SERVICE_DATABASE_URL", &settings.database),
        ("SERVICE_MIGRATE_DATABASE_URL", &settings.migrate_database),
    ]
    .into_iter()
    .filter(|(_, database)| database.as_ref().is_some_and(is_open))
    .map(|(name, _)| {
        problem(
            name,
            "prod requires `sslmode=require` or `sslmode=verify-full` for a remote database",
        )
    })
    .collect()
}

fn secrets_are_outside_the_file(_: &Settings, layers: &Layers) -> Vec<Problem> {
    let secrets = table::SERVER.iter().filter(|row| row.care == Care::Secret);
    secrets
        .filter_map(|row| {
            let found = layers.in_file(&row.file_path())?;
            let sentence = "prod reads secrets from the environment, never from the file";
            Some(Problem { origin: Some(found.origin), ..problem(row.name, sentence) })
        })
        .collect()
}
