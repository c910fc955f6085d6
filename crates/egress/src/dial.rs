//! Resolving, judging and dialling one host.

use std::{io, net::SocketAddr, sync::Arc, time::Duration};

use socket2::{SockRef, TcpKeepalive};
use tokio::{
    net::TcpStream,
    time::{Instant, timeout_at},
};

use crate::{
    BadRule, EgressError, PrivateNetworks, Resolver, Rules, SystemResolver,
    error::is_name,
    host::{self, Host},
};

/// Names with more addresses than this are dialled at the first ones only.
const MOST_DIALLED: usize = 8;
/// A peer that vanished without a word is noticed after about half a minute.
const KEEPALIVE: TcpKeepalive = TcpKeepalive::new()
    .with_time(Duration::from_secs(15))
    .with_interval(Duration::from_secs(5))
    .with_retries(3);

/// Opens guarded connections.
#[derive(Debug, Clone)]
pub struct Egress {
    rules: Arc<Rules>,
    resolver: Arc<dyn Resolver>,
}

impl Egress {
    /// An egress under these rules that asks the operating system for addresses.
    pub fn new(rules: Rules) -> Result<Self, BadRule> {
        Self::with_resolver(rules, Arc::new(SystemResolver))
    }

    /// An egress under these rules that asks `resolver` for addresses.
    pub fn with_resolver(rules: Rules, resolver: Arc<dyn Resolver>) -> Result<Self, BadRule> {
        rules.check()?;
        Ok(Self { rules: Arc::new(rules), resolver })
    }

    /// Whether private networks may be reached, which only a development service may.
    pub fn private_networks(&self) -> PrivateNetworks {
        self.rules.private_networks
    }

    /// A connection to the host that was opened within `limit`.
    pub async fn connect(
        &self,
        host: &str,
        port: u16,
        limit: Duration,
    ) -> Result<TcpStream, EgressError> {
        let deadline = Instant::now() + limit;
        let late = |_| EgressError::Unreachable {
            host: host.to_owned(),
            port,
            source: io::ErrorKind::TimedOut.into(),
        };
        let addresses = timeout_at(deadline, self.vet(host, port)).await.map_err(late)??;
        timeout_at(deadline, dial(host, port, &addresses)).await.map_err(late)?
    }

    /// The addresses of the host, all of which may be dialled.
    pub async fn vet(&self, host: &str, port: u16) -> Result<Vec<SocketAddr>, EgressError> {
        let unresolved = |source| EgressError::Unresolved { host: host.to_owned(), source };
        let addresses = match host::parse(host) {
            None => return Err(EgressError::BadHost { host: host.chars().take(64).collect() }),
            Some(Host::Address(address)) => vec![address],
            Some(Host::Name(name)) => {
                self.resolver.resolve(name).await.map_err(|error| unresolved(Some(error)))?
            }
        };
        if addresses.is_empty() {
            return Err(unresolved(None));
        }
        let judged = addresses.iter().try_for_each(|address| self.rules.judge(host, *address));
        judged.inspect_err(noted)?;
        Ok(addresses.into_iter().map(|address| SocketAddr::new(address, port)).collect())
    }
}

/// Puts into the log what the error's text does not tell of a name.
fn noted(refused: &EgressError) {
    let (host, address, what) = match refused {
        EgressError::Forbidden { host, address, what, .. } => (host, address, *what),
        EgressError::OwnDatabase { host, address } => (host, address, "the service's own database"),
        EgressError::BadHost { .. }
        | EgressError::Unresolved { .. }
        | EgressError::Unreachable { .. }
        | EgressError::WrongPeer { .. } => return,
    };
    if is_name(host) {
        tracing::warn!(%host, %address, what, "a name resolves to an address that may not be reached");
    }
}

async fn dial(host: &str, port: u16, addresses: &[SocketAddr]) -> Result<TcpStream, EgressError> {
    let mut last = io::Error::from(io::ErrorKind::AddrNotAvailable);
    for address in addresses.iter().take(MOST_DIALLED) {
        match TcpStream::connect(address).await {
            Ok(stream) => return accept(host, *address, stream),
            Err(error) => last = error,
        }
    }
    Err(EgressError::Unreachable { host: host.to_owned(), port, source: last })
}

fn accept(host: &str, dialled: SocketAddr, stream: TcpStream) -> Result<TcpStream, EgressError> {
    let unreachable =
        |source| EgressError::Unreachable { host: host.to_owned(), port: dialled.port(), source };
    if stream.peer_addr().map_err(unreachable)? != dialled {
        return Err(EgressError::WrongPeer { host: host.to_owned() });
    }
    stream.set_nodelay(true).map_err(unreachable)?;
    SockRef::from(&stream).set_tcp_keepalive(&KEEPALIVE).map_err(unreachable)?;
    Ok(stream)
}

#[cfg(test)]
mod tests {
    use tokio::net::{TcpListener, TcpStream};

    use super::accept;
    use crate::EgressError;

    /// No system is known that connects elsewhere than it was asked to, so that only the comparison
    /// itself is tried.
    #[tokio::test]
    async fn a_connection_to_another_address_than_the_dialled_one_is_refused() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let at = listener.local_addr().unwrap();
        let (mut port, mut address) = (at, at);
        port.set_port(at.port() ^ 1);
        address.set_ip("127.0.0.2".parse().unwrap());
        for other in [port, address, "[::ffff:127.0.0.1]:1".parse().unwrap()] {
            let stream = TcpStream::connect(at).await.unwrap();
            let error = accept("api.example.com", other, stream).unwrap_err();
            assert!(matches!(error, EgressError::WrongPeer { .. }), "{other}: {error}");
            assert!(error.is_refusal() && !error.to_string().contains("127.0.0"), "{error}");
        }
        let stream = TcpStream::connect(at).await.unwrap();
        assert_eq!(accept("api.example.com", at, stream).unwrap().peer_addr().unwrap(), at);
    }
}
