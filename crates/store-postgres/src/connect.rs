//! From an address to a connection: TLS where the address asks for it, and the time limits that
//! every session of the service has.

use std::{sync::Arc, time::Duration};

use rustls::{ClientConfig, RootCertStore};
use rustls_pki_types::{CertificateDer, pem::PemObject};
use tokio_postgres::{Client, Config, NoTls, config::SslMode};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::{Plans, Settings, database::PoolKind, fault::Fault};

/// Settings that no connection can be made of.
#[derive(Debug, thiserror::Error)]
pub enum BadSettings {
    /// The address is none. It may hold a password, so it is not repeated.
    #[error(
        "the database address: expected one such as `postgres://user:password@host:5432/database`, with `sslmode=disable`, `prefer`, `require` or `verify-full`"
    )]
    Url,
    /// The extra certificates cannot be read.
    #[error("the certificates of the database's authority: expected PEM blocks of certificates")]
    CaPem,
    /// The pool or its TLS cannot be made.
    #[error("the database pool could not be made: {0}")]
    Pool(String),
}

/// What encrypts a connection.
#[derive(Clone)]
pub(crate) enum Tls {
    Plain,
    Rustls(MakeRustlsConnect),
}

/// The limits of every session. No statement of the service runs long and no transaction stays
/// open between round trips, so what exceeds these is a fault and must not hold locks.
///
/// Statements are planned once, as far as [`Plans`] says so, which costs less than planning each
/// time; they must then not be planned for the tables as they happen to be, which may be empty. Every statement here finds its
/// rows by an index, however many there are, so the ways that go through whole tables are off.
/// Just-in-time compilation only pays for queries that are never asked.
const SESSION: &str = "-c statement_timeout=5000 -c lock_timeout=2000 \
     -c idle_in_transaction_session_timeout=3000 -c tcp_user_timeout=5000 \
     -c default_transaction_isolation=read\\ committed -c timezone=UTC \
     -c random_page_cost=1.1 -c enable_seqscan=off -c enable_hashjoin=off \
     -c enable_mergejoin=off -c jit=off";
/// What is only read is given up by the server itself, so that nobody's search goes on there once
/// its connection was given to another.
const READING: &str = "-c statement_timeout=1000";
const GENERIC: &str = "-c plan_cache_mode=force_generic_plan";
/// Citus sends a statement to one node if the plan is made for its values, and makes a plan for all
/// values of hardly any.
const DETECTED: &str = "
    select set_config('plan_cache_mode', 'auto', false)
    from pg_extension where extname = 'citus'";
const TCP_TIMEOUT: Duration = Duration::from_secs(5);

/// The address and the encryption that the settings name.
pub(crate) fn config(settings: &Settings) -> Result<(Config, Tls), BadSettings> {
    // Certificates are always checked where TLS is required, so the two modes are one here.
    let url = settings.url.expose().replace("sslmode=verify-full", "sslmode=require");
    let mut config: Config = url.parse().map_err(|_| BadSettings::Url)?;
    if config.get_hosts().is_empty() {
        return Err(BadSettings::Url);
    }
    let tls = match config.get_ssl_mode() {
        SslMode::Require => Tls::Rustls(MakeRustlsConnect::new(client_config(settings)?)),
        _ => Tls::Plain,
    };
    if config.get_application_name().is_none() {
        config.application_name("chancery");
    }
    config.connect_timeout(settings.deadline).tcp_user_timeout(TCP_TIMEOUT);
    Ok((config, tls))
}

/// Limits what every session of this address may hold up, and says what it asks first of all. What
/// the address says itself comes last and counts.
pub(crate) fn limit_sessions(
    config: &mut Config,
    plans: Plans,
    share: PoolKind,
) -> Option<&'static str> {
    let own = config.get_options().unwrap_or_default().to_owned();
    let planned = match plans {
        Plans::Detect | Plans::Generic => GENERIC,
        Plans::Auto => "",
    };
    let shorter = match share {
        PoolKind::Turns => "",
        PoolKind::Reading => READING,
    };
    config.options(format!("{SESSION} {shorter} {planned} {own}"));
    (plans == Plans::Detect && !own.contains("plan_cache_mode")).then_some(DETECTED)
}

/// A connection of its own; it ends when the client is dropped.
pub(crate) async fn dial(config: &Config, tls: Tls) -> Result<Client, Fault> {
    match tls {
        Tls::Plain => {
            let (client, connection) = config.connect(NoTls).await?;
            tokio::spawn(connection);
            Ok(client)
        }
        Tls::Rustls(connector) => {
            let (client, connection) = config.connect(connector).await?;
            tokio::spawn(connection);
            Ok(client)
        }
    }
}

fn client_config(settings: &Settings) -> Result<ClientConfig, BadSettings> {
    let mut roots = RootCertStore::empty();
    roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
    for certificate in settings.ca_pem.iter().flat_map(|pem| certificates(pem)) {
        let certificate = certificate.map_err(|_| BadSettings::CaPem)?;
        roots.add(certificate).map_err(|_| BadSettings::CaPem)?;
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| BadSettings::Pool(error.to_string()))?;
    Ok(config.with_root_certificates(roots).with_no_client_auth())
}

/// The certificates of a PEM text; a text without any is an error too.
fn certificates(pem: &str) -> Vec<Result<CertificateDer<'static>, rustls_pki_types::pem::Error>> {
    let found: Vec<_> = CertificateDer::pem_slice_iter(pem.as_bytes()).collect();
    if found.is_empty() { vec![Err(rustls_pki_types::pem::Error::NoItemsFound)] } else { found }
}
