//! Whose certificates are believed.

use std::{fmt, sync::Arc};

use lettre::transport::smtp::client::{Certificate, CertificateStore, TlsParameters};
use rustls::{ClientConfig, RootCertStore, crypto::ring};
use rustls_pki_types::{CertificateDer, pem::PemObject};
use tokio_rustls::TlsConnector;

/// Whose certificates are believed: the public authorities', or those of one's own alone.
#[derive(Clone, Default)]
pub struct Authorities(Option<Vec<CertificateDer<'static>>>);

/// A text that is no certificates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected one or more certificates of authorities as PEM")]
pub struct AuthoritiesError;

impl fmt::Debug for Authorities {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let own = self.0.as_ref().map(Vec::len);
        f.debug_struct("Authorities").field("own", &own).finish()
    }
}

impl Authorities {
    /// One's own authorities, and no other.
    pub fn own(pem: &str) -> Result<Self, AuthoritiesError> {
        let found = CertificateDer::pem_slice_iter(pem.as_bytes()).collect::<Result<Vec<_>, _>>();
        let found = found.map_err(|_| AuthoritiesError)?;
        let mut roots = RootCertStore::empty();
        let added = found.iter().try_for_each(|it| roots.add(it.clone()));
        if added.is_err() || found.is_empty() {
            return Err(AuthoritiesError);
        }
        Ok(Self(Some(found)))
    }

    /// For a connection that is under TLS from its first byte.
    pub(super) fn connector(&self) -> Result<TlsConnector, String> {
        let mut roots = RootCertStore::empty();
        match &self.0 {
            None => roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned()),
            Some(own) => drop(roots.add_parsable_certificates(own.iter().cloned())),
        }
        let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?
            .with_root_certificates(roots)
            .with_no_client_auth();
        Ok(TlsConnector::from(Arc::new(config)))
    }

    /// For a connection that changes to TLS.
    pub(super) fn parameters(&self, host: &str) -> Result<TlsParameters, String> {
        let mut builder = TlsParameters::builder(host.to_owned());
        match &self.0 {
            None => builder = builder.certificate_store(CertificateStore::WebpkiRoots),
            Some(own) => {
                builder = builder.certificate_store(CertificateStore::None);
                for certificate in own {
                    let read = Certificate::from_der(certificate.to_vec());
                    builder = builder.add_root_certificate(read.map_err(|it| it.to_string())?);
                }
            }
        }
        builder.build().map_err(|error| error.to_string())
    }
}
