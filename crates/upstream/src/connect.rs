//! Connections for requests: guarded by egress, and under TLS where the address says so.

use std::{
    future::Future,
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use egress::{Egress, EgressError, PrivateNetworks};
use http::{Uri, uri::Scheme};
use hyper_util::{
    client::legacy::connect::{Connected, Connection},
    rt::TokioIo,
};
use rustls::ClientConfig;
use rustls_pki_types::ServerName;
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    time::{Instant, timeout_at},
};
use tokio_rustls::TlsConnector;
use tower::Service;

use crate::address::{dialled, port};

/// Opens the connections of one client.
#[derive(Debug, Clone)]
pub(crate) struct Connector {
    pub(crate) egress: Egress,
    pub(crate) tls: Arc<ClientConfig>,
    pub(crate) limit: Duration,
}

/// Why there is no connection.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConnectError {
    /// It was not allowed, or did not come about.
    #[error(transparent)]
    Egress(#[from] EgressError),
    /// It would have been without protection.
    #[error("an address that begins with `http://` is allowed only in development")]
    Insecure,
    /// TLS did not come about.
    #[error("the TLS handshake failed")]
    Tls(#[source] io::Error),
    /// It took too long.
    #[error("the connection was not ready in time")]
    Late,
}

impl Connector {
    async fn open(self, to: Uri) -> Result<TokioIo<Stream>, ConnectError> {
        let secure = to.scheme() == Some(&Scheme::HTTPS);
        if !secure && self.egress.private_networks() == PrivateNetworks::Refused {
            return Err(ConnectError::Insecure);
        }
        let deadline = Instant::now() + self.limit;
        let host = dialled(&to);
        let stream = self.egress.connect(host, port(&to), self.limit).await?;
        if !secure {
            return Ok(TokioIo::new(Stream(Box::new(stream))));
        }
        let name = ServerName::try_from(host.to_owned());
        let name = name.map_err(|error| ConnectError::Tls(io::Error::other(error)))?;
        let handshake = TlsConnector::from(Arc::clone(&self.tls)).connect(name, stream);
        let stream = timeout_at(deadline, handshake).await.map_err(|_| ConnectError::Late)?;
        Ok(TokioIo::new(Stream(Box::new(stream.map_err(ConnectError::Tls)?))))
    }
}

impl Service<Uri> for Connector {
    type Response = TokioIo<Stream>;
    type Error = ConnectError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, ConnectError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), ConnectError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, to: Uri) -> Self::Future {
        Box::pin(self.clone().open(to))
    }
}

trait Duplex: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Duplex for T {}

/// An open connection, under TLS or, in development, without.
pub(crate) struct Stream(Box<dyn Duplex>);

impl Connection for Stream {
    fn connected(&self) -> Connected {
        Connected::new()
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, buffer)
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}
