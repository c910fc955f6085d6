//! How letters leave, as the settings say it.

use std::{fs, path::Path, sync::Arc};

use crypto::Secret;
use egress::{Egress, PrivateNetworks, Rules};
use mail::{Authorities, Limits, Login, Outbox, Protection, Relay, Sender, Smtp};
use people::{Address, mail::Mailer};
use zeroize::Zeroizing;

use crate::{
    clock::SystemClock,
    exit::Failure,
    settings::{Mail, MailTls, Settings, SmtpServer},
};

/// Who letters in an outbox come from, when nobody says.
const NOBODY: &str = "chancery@localhost";

/// The way that letters leave by; nothing where the settings name none.
pub(super) fn mailer(
    settings: &Settings,
    egress: &Egress,
) -> Result<Option<Arc<dyn Mailer>>, Failure> {
    let place = settings.base_url.host();
    let sender =
        |from: &Address| Sender::new(from, place, Arc::new(SystemClock)).map_err(Failure::internal);
    match &settings.mail {
        Mail::Off => Ok(None),
        Mail::Outbox { folder, from } => {
            let from = from.clone().map_or_else(|| Address::parse(NOBODY), Ok);
            let sender = sender(&from.map_err(Failure::internal)?)?;
            let outbox = Outbox::open(folder, sender);
            Ok(Some(Arc::new(outbox.map_err(|error| unusable("OUTBOX", folder, &error))?)))
        }
        Mail::Smtp(server) => {
            let relay = relay(server, place)?;
            let egress = if server.is_local() { to_this_machine()? } else { egress.clone() };
            Ok(Some(Arc::new(Smtp::new(relay, egress, sender(&server.from)?))))
        }
    }
}

/// The way to a server of letters that the operator runs on this machine. Connectors and webhooks
/// never go it.
fn to_this_machine() -> Result<Egress, Failure> {
    let rules = Rules { private_networks: PrivateNetworks::Allowed, ..Rules::default() };
    Egress::new(rules).map_err(Failure::internal)
}

fn relay(server: &SmtpServer, hello: &str) -> Result<Relay, Failure> {
    let (host, port) = server.at.parts();
    let authorities = match &server.ca_file {
        None => Authorities::default(),
        Some(file) => Authorities::own(&text("CA_FILE", file)?)
            .map_err(|error| unusable("CA_FILE", file, &error))?,
    };
    let login = match &server.login {
        None => None,
        Some((user, file)) => {
            let password =
                Secret::new(Zeroizing::new(text("PASSWORD_FILE", file)?).trim_end().to_owned());
            Some(Login { user: user.clone(), password })
        }
    };
    let protection = match server.tls {
        MailTls::StartTls => Protection::StartTls(authorities),
        MailTls::Implicit => Protection::Implicit(authorities),
        MailTls::None => Protection::Loopback,
    };
    let limits = Limits::default();
    Ok(Relay { host: host.to_owned(), port, protection, login, hello: hello.to_owned(), limits })
}

fn text(setting: &str, file: &Path) -> Result<String, Failure> {
    fs::read_to_string(file).map_err(|error| unusable(setting, file, &error))
}

fn unusable(setting: &str, path: &Path, error: &dyn std::error::Error) -> Failure {
    Failure::usage(format!("`SERVICE_MAIL_{setting}`: `{}`: {error}", path.display()))
}
