//! The TLS of one connector: full verification against its own certificates or the public roots.

use std::sync::Arc;

use rustls::{ClientConfig, RootCertStore, crypto::ring};
use rustls_pki_types::{CertificateDer, pem::PemObject};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::config::{Tls, TlsMode};
use crate::Finding;

/// How connections are protected; nothing when the config disables it.
pub(super) fn connector(tls: &Tls) -> Result<Option<MakeRustlsConnect>, Finding> {
    let bad = |message: String| Finding::new("/tls/ca_pem", message);
    match tls.mode {
        TlsMode::Disable => Ok(None),
        TlsMode::VerifyFull => {
            let roots = roots(tls.ca_pem.as_deref()).map_err(bad)?;
            let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
                .with_safe_default_protocol_versions()
                .map_err(|error| bad(error.to_string()))?
                .with_root_certificates(roots)
                .with_no_client_auth();
            Ok(Some(MakeRustlsConnect::new(config)))
        }
    }
}

fn roots(pem: Option<&str>) -> Result<RootCertStore, String> {
    let Some(pem) = pem else {
        return Ok(webpki_roots::TLS_SERVER_ROOTS.iter().cloned().collect());
    };
    let expected = "expected one or more certificates as PEM";
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(pem.as_bytes()) {
        let certificate = certificate.map_err(|_| expected.to_owned())?;
        roots.add(certificate).map_err(|error| format!("{expected}: {error}"))?;
    }
    if roots.is_empty() { Err(expected.to_owned()) } else { Ok(roots) }
}
