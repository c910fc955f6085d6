//! Letters by SMTP: one connection for each, under TLS, within its time.
//!
//! A letter is taken once the server has said yes to its last line. A 5xx about the letter refuses
//! it for good; everything else may be otherwise the next time. What a server says beside its code
//! may name people and is not told on.

mod authorities;
mod stream;

use std::{future::Future, io, net::IpAddr, time::Duration};

use async_trait::async_trait;
use crypto::Secret;
use egress::Egress;
use lettre::{
    Address as Path,
    transport::smtp::{
        Error,
        authentication::{Credentials, Mechanism},
        client::{AsyncSmtpConnection, AsyncTokioStream},
        commands::{Data, Mail, Rcpt},
        extension::ClientId,
    },
};
use model::causes;
use people::mail::{Letter, MailError, Mailer};
use rustls_pki_types::ServerName;
use tokio::{net::TcpStream, time::timeout};
use tokio_rustls::client::TlsStream;

pub use authorities::{Authorities, AuthoritiesError};
use stream::Lines;

use crate::{Sender, message::Composed};

/// How long a server may take to say goodbye, beyond the limit for the whole.
const GOODBYE: Duration = Duration::from_secs(1);

/// A server that takes letters, and how it is spoken to.
#[derive(Debug, Clone)]
pub struct Relay {
    /// Its name, which its certificate must have, or its address.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// What protects the connection.
    pub protection: Protection,
    /// Whom we are to it.
    pub login: Option<Login>,
    /// What this service calls itself to it.
    pub hello: String,
    /// How long it may take.
    pub limits: Limits,
}

/// What protects a connection.
#[derive(Debug, Clone)]
pub enum Protection {
    /// TLS from the first byte.
    Implicit(Authorities),
    /// TLS from the first command on; a server that has none gets no letter.
    StartTls(Authorities),
    /// Nothing: a server on this machine.
    Loopback,
}

/// A user and the password.
#[derive(Debug, Clone)]
pub struct Login {
    /// The user.
    pub user: String,
    /// The password.
    pub password: Secret<String>,
}

/// How long a server may take.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// To be connected to.
    pub connect: Duration,
    /// To answer one command.
    pub command: Duration,
    /// For all of it, but for a goodbye of a second.
    pub whole: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            command: Duration::from_secs(15),
            // Below the time for which whoever sends has a letter to themselves.
            whole: Duration::from_secs(18),
        }
    }
}

/// Letters by SMTP.
#[derive(Debug)]
pub struct Smtp {
    relay: Relay,
    egress: Egress,
    sender: Sender,
}

impl Smtp {
    /// Letters of this sender by this server.
    pub fn new(relay: Relay, egress: Egress, sender: Sender) -> Self {
        Self { relay, egress, sender }
    }

    /// Hands the letter over; the connection, once the letter is the server's.
    async fn hand_over(&self, letter: &Composed) -> Result<AsyncSmtpConnection, MailError> {
        let mut connection = self.admitted(letter.envelope.from().cloned()).await?;
        for to in letter.envelope.to() {
            let to = Rcpt::new(Path::clone(to), Vec::new());
            self.within("the recipient", connection.command(to)).await?;
        }
        self.within("the letter", connection.command(Data)).await?;
        self.within("the letter", connection.message(&letter.bytes)).await?;
        Ok(connection)
    }

    /// A connection on which the server has taken our login and the sender of a letter.
    async fn admitted(&self, from: Option<Path>) -> Result<AsyncSmtpConnection, MailError> {
        let mut connection = self.connected().await?;
        if let Some(login) = &self.relay.login {
            let password = login.password.expose().clone();
            let credentials = Credentials::new(login.user.clone(), password);
            let mechanisms = [Mechanism::Plain, Mechanism::Login];
            let answer = connection.auth(&mechanisms, &credentials);
            // A password that is wrong is the operator's to mend, and no fault of the letter.
            self.within("the login", answer).await.map_err(not_the_letter)?;
        }
        let from = Mail::new(from, Vec::new());
        // A server that will not have our sender, or wants a login, takes no letter of anybody.
        self.within("the sender", connection.command(from)).await.map_err(not_the_letter)?;
        Ok(connection)
    }

    /// A connection that may carry a letter.
    async fn connected(&self) -> Result<AsyncSmtpConnection, MailError> {
        let Relay { host, port, limits, .. } = &self.relay;
        let stream = self.egress.connect(host, *port, limits.connect).await;
        let stream = stream.map_err(|error| MailError::TryAgain(causes(&error)))?;
        let peer = stream.peer_addr().map_err(|error| MailError::TryAgain(error.to_string()))?;
        match &self.relay.protection {
            Protection::Implicit(authorities) => {
                let stream = self.secured(authorities, stream).await?;
                self.greeted(Box::new(Lines::new(stream, peer))).await
            }
            Protection::StartTls(authorities) => {
                let parameters = authorities.parameters(host).map_err(MailError::TryAgain)?;
                let mut connection = self.greeted(Box::new(Lines::new(stream, peer))).await?;
                let hello = self.hello();
                let change = connection.starttls(parameters, &hello);
                self.within("STARTTLS", change).await.map_err(not_the_letter)?;
                Ok(connection)
            }
            Protection::Loopback if peer.ip().is_loopback() => {
                self.greeted(Box::new(Lines::new(stream, peer))).await
            }
            Protection::Loopback => Err(MailError::TryAgain(
                "the server is on another machine, where mail is sent only with TLS".to_owned(),
            )),
        }
    }

    async fn secured(
        &self,
        authorities: &Authorities,
        stream: TcpStream,
    ) -> Result<TlsStream<TcpStream>, MailError> {
        let later = |error: io::Error| MailError::TryAgain(format!("TLS: {error}"));
        let connector = authorities.connector().map_err(MailError::TryAgain)?;
        let name = ServerName::try_from(self.relay.host.clone());
        let name = name.map_err(|error| later(io::Error::other(error)))?;
        let answer = timeout(self.relay.limits.connect, connector.connect(name, stream)).await;
        answer.map_err(|_| late("TLS"))?.map_err(later)
    }

    async fn greeted(
        &self,
        stream: Box<dyn AsyncTokioStream>,
    ) -> Result<AsyncSmtpConnection, MailError> {
        let hello = self.hello();
        let answer = AsyncSmtpConnection::connect_with_transport(stream, &hello);
        self.within("the greeting", answer).await.map_err(not_the_letter)
    }

    fn hello(&self) -> ClientId {
        let name = self.relay.hello.trim_start_matches('[').trim_end_matches(']');
        match name.parse() {
            Ok(IpAddr::V4(address)) => ClientId::Ipv4(address),
            Ok(IpAddr::V6(address)) => ClientId::Ipv6(address),
            Err(_) => ClientId::Domain(name.to_owned()),
        }
    }

    /// What the server answers to one command, in time.
    async fn within<T>(
        &self,
        what: &str,
        answer: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, MailError> {
        match timeout(self.relay.limits.command, answer).await {
            Ok(answer) => answer.map_err(|error| judged(what, &error)),
            Err(_) => Err(late(what)),
        }
    }
}

#[async_trait]
impl Mailer for Smtp {
    async fn send(&self, letter: &Letter) -> Result<(), MailError> {
        let letter = self.sender.compose(letter)?;
        let handed = timeout(self.relay.limits.whole, self.hand_over(&letter)).await;
        let mut connection = handed.map_err(|_| late("the whole"))??;
        // It has been taken, whether the server says goodbye or not.
        drop(timeout(GOODBYE, connection.quit()).await);
        Ok(())
    }

    async fn check(&self) -> Result<(), MailError> {
        let admitted = self.admitted(Some(self.sender.address().clone()));
        let admitted = timeout(self.relay.limits.whole, admitted).await;
        let mut connection = admitted.map_err(|_| late("the whole"))??;
        drop(timeout(GOODBYE, connection.quit()).await);
        Ok(())
    }
}

fn judged(what: &str, error: &Error) -> MailError {
    match error.status() {
        Some(code) if error.is_permanent() => {
            MailError::Refused(format!("{what}: the server returned {code}"))
        }
        Some(code) => MailError::TryAgain(format!("{what}: the server returned {code}")),
        // What could not be read is not shown: it may be about the person.
        None if error.is_response() => MailError::TryAgain(format!(
            "{what}: the response was incomplete or was not valid SMTP"
        )),
        None => MailError::TryAgain(format!("{what}: {}", causes(error))),
    }
}

/// A no that is about us or the server, and not about the letter.
fn not_the_letter(error: MailError) -> MailError {
    match error {
        MailError::TryAgain(why) | MailError::Refused(why) => MailError::TryAgain(why),
    }
}

fn late(what: &str) -> MailError {
    MailError::TryAgain(format!("{what}: the server took too long"))
}
