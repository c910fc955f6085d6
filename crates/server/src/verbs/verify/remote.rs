//! A service as an auditor asks it: over HTTPS or, on this machine, HTTP. Each request has a
//! connection of its own, and no redirect is followed.

use std::{net::IpAddr, sync::Arc, time::Duration};

use bytes::Bytes;
use crypto::Secret;
use egress::{Egress, PrivateNetworks, Rules};
use http::{Request, Response, StatusCode, Uri, header};
use http_body_util::{BodyExt, Empty, Limited};
use hyper::{body::Incoming, client::conn::http1};
use hyper_util::rt::TokioIo;
use model::causes;
use rustls::{ClientConfig, RootCertStore};
use rustls_pki_types::{CertificateDer, ServerName, pem::PemObject};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    time::timeout,
};
use tokio_rustls::TlsConnector;

use crate::exit::Failure;

/// How long a connection may take to be opened, and an answer to begin or to go on.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);
/// The most bytes of an answer that is read whole.
const MOST: usize = 64 * 1024 * 1024;

/// A service.
pub(super) struct Remote {
    egress: Egress,
    tls: Option<TlsConnector>,
    authority: String,
    host: String,
    port: u16,
    path: String,
    key: Secret<String>,
}

/// Why an answer could not be had.
#[derive(Debug, thiserror::Error)]
pub(super) enum RemoteError {
    /// Asking again may help.
    #[error("{0}")]
    Broken(String),
    /// The service said no, and will say it again.
    #[error("the service returned {status}: {body}")]
    Refused {
        /// Its status.
        status: StatusCode,
        /// What it said.
        body: String,
    },
}

impl Remote {
    /// The service at this address, with further authorities to believe as PEM.
    pub(super) fn new(url: &str, key: Secret<String>, ca: Option<&[u8]>) -> Result<Self, Failure> {
        let bad = |why: &str| {
            Failure::usage(format!(
                "`--url`: {why}; expected one such as `https://chancery.example`, \
                 or `http://` for a service on this machine"
            ))
        };
        if key.expose().is_empty() || !key.expose().bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(Failure::usage("the API key is empty or contains invalid characters"));
        }
        let uri: Uri = url.parse().map_err(|_| bad("this is not a valid URL"))?;
        let authority = uri.authority().filter(|it| !it.as_str().contains('@'));
        let authority = authority.ok_or_else(|| bad("this names no host, or contains a user"))?;
        if uri.query().is_some() {
            return Err(bad("the URL of a service must not have a query"));
        }
        let host = authority.host().to_owned();
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        let here = bare == "localhost" || bare.parse().is_ok_and(|ip: IpAddr| ip.is_loopback());
        let (tls, port) = match uri.scheme_str() {
            Some("https") => (Some(connector(ca)?), 443),
            Some("http") if here => (None, 80),
            Some("http") => return Err(bad("a key is not sent unencrypted over a network")),
            _ => return Err(bad("the scheme is not `https`")),
        };
        // Whoever calls the verb names the host, which may be in any network of theirs.
        let rules = Rules { private_networks: PrivateNetworks::Allowed, ..Rules::default() };
        Ok(Self {
            egress: Egress::new(rules).map_err(Failure::internal)?,
            tls,
            authority: authority.to_string(),
            port: authority.port_u16().unwrap_or(port),
            host: bare.to_owned(),
            path: uri.path().trim_end_matches('/').to_owned(),
            key,
        })
    }

    /// The whole of a small answer.
    pub(super) async fn read(&self, path: &str) -> Result<Bytes, RemoteError> {
        let body = Limited::new(self.open(path).await?.into_body(), MOST);
        let read = timeout(PATIENCE, body.collect()).await.map_err(|_| late())?;
        Ok(read.map_err(|error| broken(&*error))?.to_bytes())
    }

    /// An answer of 200 that is yet to be read.
    pub(super) async fn open(&self, path: &str) -> Result<Response<Incoming>, RemoteError> {
        let asked = async {
            let stream = self.egress.connect(&self.host, self.port, PATIENCE).await;
            let stream = stream.map_err(|error| broken(&error))?;
            match &self.tls {
                None => self.send(path, stream).await,
                Some(tls) => {
                    let name = ServerName::try_from(self.host.clone());
                    let name = name.map_err(|error| broken(&error))?;
                    let stream = tls.connect(name, stream).await.map_err(|error| broken(&error))?;
                    self.send(path, stream).await
                }
            }
        };
        let response = timeout(PATIENCE, asked).await.map_err(|_| late())??;
        if response.status() == StatusCode::OK {
            return Ok(response);
        }
        Err(refused(response).await)
    }

    async fn send<S>(&self, path: &str, stream: S) -> Result<Response<Incoming>, RemoteError>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let bearer = format!("Bearer {}", self.key.expose());
        let request = Request::get(format!("{}{path}", self.path))
            .header(header::HOST, &self.authority)
            .header(header::AUTHORIZATION, bearer)
            .body(Empty::<Bytes>::new())
            .map_err(|error| broken(&error))?;
        let (mut sender, connection) =
            http1::handshake(TokioIo::new(stream)).await.map_err(|error| broken(&error))?;
        tokio::spawn(connection);
        sender.send_request(request).await.map_err(|error| broken(&error))
    }
}

fn connector(ca: Option<&[u8]>) -> Result<TlsConnector, Failure> {
    let mut roots = RootCertStore::empty();
    roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
    for certificate in ca.into_iter().flat_map(CertificateDer::pem_slice_iter) {
        let added = certificate.ok().and_then(|it| roots.add(it).ok());
        added.ok_or_else(|| Failure::usage("`--ca`: expected certificates as PEM"))?;
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(Failure::internal)?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(TlsConnector::from(Arc::new(config)))
}

async fn refused(response: Response<Incoming>) -> RemoteError {
    let status = response.status();
    let body = timeout(PATIENCE, Limited::new(response.into_body(), 64 * 1024).collect()).await;
    let body =
        body.ok().and_then(Result::ok).map(http_body_util::Collected::to_bytes).unwrap_or_default();
    // It is printed to a terminal, which must take nothing of it for an order.
    let body = String::from_utf8_lossy(&body);
    let body: String = body.chars().filter(|it| !it.is_control()).take(500).collect();
    if status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS {
        return RemoteError::Broken(format!("the service returned {status}: {body}"));
    }
    RemoteError::Refused { status, body }
}

pub(super) fn broken(error: &(dyn std::error::Error + 'static)) -> RemoteError {
    RemoteError::Broken(causes(error))
}

pub(super) fn late() -> RemoteError {
    RemoteError::Broken(format!("no data was received for {} s", PATIENCE.as_secs()))
}
