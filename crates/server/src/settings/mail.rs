//! How letters leave: by a server, into a folder, or not at all.

use std::{net::IpAddr, path::PathBuf};

use people::Address;

use super::{parse::HostPort, reader::Reader};

/// How letters leave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mail {
    /// They do not.
    Off,
    /// Into a folder on a developer's machine.
    Outbox {
        /// The folder.
        folder: PathBuf,
        /// Who they come from, if it is said.
        from: Option<Address>,
    },
    /// By a server.
    Smtp(SmtpServer),
}

/// A server that takes letters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SmtpServer {
    /// Where it is.
    pub at: HostPort,
    /// What protects the connection.
    pub tls: MailTls,
    /// The file with the authorities that alone are believed.
    pub ca_file: Option<PathBuf>,
    /// The user, and the file with the password.
    pub login: Option<(String, PathBuf)>,
    /// Who letters come from.
    pub from: Address,
}

impl SmtpServer {
    /// Whether it is named as one on this machine.
    pub fn is_local(&self) -> bool {
        let (host, _) = self.at.parts();
        host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
    }
}

/// What protects the connection to a server that takes letters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MailTls {
    /// TLS from the first command on.
    #[default]
    StartTls,
    /// TLS from the first byte.
    Implicit,
    /// Nothing.
    None,
}

impl std::str::FromStr for MailTls {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        match text {
            "starttls" => Ok(Self::StartTls),
            "implicit" => Ok(Self::Implicit),
            "none" => Ok(Self::None),
            _ => Err(()),
        }
    }
}

/// What is said, row by row.
struct Said {
    from: Option<Address>,
    smtp: Option<HostPort>,
    tls: MailTls,
    ca_file: Option<PathBuf>,
    user: Option<String>,
    password_file: Option<PathBuf>,
    outbox: Option<PathBuf>,
}

impl Mail {
    pub(super) fn read(reader: &mut Reader<'_>) -> Self {
        let path = |text: &str| Some(PathBuf::from(text));
        let before = reader.problems.len();
        let said = Said {
            from: reader.optional("SERVICE_MAIL_FROM", |text| Address::parse(text).ok()),
            smtp: reader.optional("SERVICE_MAIL_SMTP", HostPort::parse),
            tls: reader.word("SERVICE_MAIL_TLS"),
            ca_file: reader.optional("SERVICE_MAIL_CA_FILE", path),
            user: reader.optional("SERVICE_MAIL_USER", line),
            password_file: reader.optional("SERVICE_MAIL_PASSWORD_FILE", path),
            outbox: reader.optional("SERVICE_MAIL_OUTBOX", path),
        };
        // What is wrong in itself has been told, and would be told here a second time.
        if reader.problems.len() > before {
            return Self::Off;
        }
        said.together().unwrap_or_else(|(setting, sentence)| {
            reader.problem(setting, None, sentence);
            Self::Off
        })
    }
}

impl Said {
    /// What the rows make together, or the one that does not fit the others.
    fn together(self) -> Result<Mail, (&'static str, &'static str)> {
        let Self { from, smtp, tls, ca_file, user, password_file, outbox } = self;
        let Some(at) = smtp else {
            return Ok(match outbox {
                Some(folder) => Mail::Outbox { folder, from },
                None => Mail::Off,
            });
        };
        if outbox.is_some() {
            let sentence = "mail goes either there or to `SERVICE_MAIL_SMTP`; set one of them";
            return Err(("SERVICE_MAIL_OUTBOX", sentence));
        }
        let missing = "`SERVICE_MAIL_SMTP` requires the address that mail is sent from";
        let from = from.ok_or(("SERVICE_MAIL_FROM", missing))?;
        let login = match (user, password_file) {
            (Some(user), Some(file)) => Some((user, file)),
            (None, None) => None,
            (Some(_), None) => {
                return Err((
                    "SERVICE_MAIL_PASSWORD_FILE",
                    "`SERVICE_MAIL_USER` requires a password",
                ));
            }
            (None, Some(_)) => {
                return Err(("SERVICE_MAIL_USER", "`SERVICE_MAIL_PASSWORD_FILE` requires a user"));
            }
        };
        Ok(Mail::Smtp(SmtpServer { at, tls, ca_file, login, from }))
    }
}

/// The text, if it is one line that says something.
fn line(text: &str) -> Option<String> {
    let fits = (1..=256).contains(&text.len()) && !text.chars().any(char::is_control);
    fits.then(|| text.to_owned())
}
