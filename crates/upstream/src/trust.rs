//! Whom a client believes, and who it is itself.

use std::{fmt, sync::Arc};

use crypto::Secret;
use rustls::{ClientConfig, RootCertStore, crypto::ring};
use rustls_pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject};

/// Whom a client believes, and who it is itself. A server's certificate is always verified whole,
/// its name included.
#[derive(Debug, Clone, Default)]
pub struct Trust {
    /// The authorities, as PEM; the public ones where there are none.
    pub authorities: Option<String>,
    /// The certificate that the client shows, where it has one.
    pub identity: Option<Identity>,
}

/// A client's certificate.
#[derive(Clone)]
pub struct Identity {
    /// The certificate and those between it and its authority, as PEM.
    pub certificates: String,
    /// Its private key, as PEM.
    pub key: Secret<String>,
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Identity").finish_non_exhaustive()
    }
}

/// What is wrong with a client's certificates.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TrustError {
    /// The authorities are no certificates.
    #[error("the authorities: expected one or more certificates as PEM")]
    Authorities,
    /// The client's certificates are none.
    #[error("the client's certificate: expected one or more certificates as PEM")]
    Certificates,
    /// The client's key is none.
    #[error("the client's key: expected a private key as PEM, without a password")]
    Key,
    /// The client's certificate and key are of no use together.
    #[error("the client's certificate and its key do not belong together")]
    Pair,
}

impl Trust {
    /// The settings of TLS.
    pub(crate) fn config(&self) -> Result<Arc<ClientConfig>, TrustError> {
        let provider = Arc::new(ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|_| TrustError::Pair)?
            .with_root_certificates(self.roots()?);
        let mut config = match &self.identity {
            None => builder.with_no_client_auth(),
            Some(identity) => {
                let certificates =
                    certificates(&identity.certificates).ok_or(TrustError::Certificates)?;
                let key = PrivateKeyDer::from_pem_slice(identity.key.expose().as_bytes())
                    .map_err(|_| TrustError::Key)?;
                builder.with_client_auth_cert(certificates, key).map_err(|_| TrustError::Pair)?
            }
        };
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Arc::new(config))
    }

    fn roots(&self) -> Result<RootCertStore, TrustError> {
        let Some(pem) = &self.authorities else {
            return Ok(webpki_roots::TLS_SERVER_ROOTS.iter().cloned().collect());
        };
        let mut roots = RootCertStore::empty();
        for certificate in certificates(pem).ok_or(TrustError::Authorities)? {
            roots.add(certificate).map_err(|_| TrustError::Authorities)?;
        }
        Ok(roots)
    }
}

/// The certificates of the text; nothing where it holds none, or anything else.
fn certificates(pem: &str) -> Option<Vec<CertificateDer<'static>>> {
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem.as_bytes()).collect();
    found.ok().filter(|found| !found.is_empty())
}
