//! The secrets that sign deliveries, as receivers are shown them and as stores keep them.

use base64::{Engine, engine::general_purpose::STANDARD};
use crypto::{
    Secret,
    vault::{Ring, VaultError},
};
use model::{Entropy, OrgId, WebhookId};

const PREFIX: &str = "whsec_";
const LEN: usize = 32;
/// What Standard Webhooks lets a secret be.
const LENGTHS: std::ops::RangeInclusive<usize> = 24..=64;

/// A secret that signs deliveries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SigningSecret(Secret<Vec<u8>>);

impl SigningSecret {
    /// A new secret.
    pub fn new(entropy: &dyn Entropy) -> Self {
        let mut bytes = vec![0; LEN];
        entropy.fill(&mut bytes);
        Self(Secret::new(bytes))
    }

    /// Reads a secret in its text form, `whsec_` and base64 of 24 to 64 bytes.
    pub fn parse(text: &str) -> Option<Self> {
        let bytes = STANDARD.decode(text.strip_prefix(PREFIX)?).ok()?;
        LENGTHS.contains(&bytes.len()).then(|| Self(Secret::new(bytes)))
    }

    /// The text form, which its owner is shown once.
    pub fn text(&self) -> Secret<String> {
        Secret::new(format!("{PREFIX}{}", STANDARD.encode(self.0.expose())))
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        self.0.expose()
    }

    /// The secret as it is kept for this endpoint, and opens for no other.
    pub(crate) fn seal(
        &self,
        vault: &Ring,
        (org, webhook): (OrgId, WebhookId),
        entropy: &dyn Entropy,
    ) -> Result<String, VaultError> {
        let sealed = vault.seal(&context(org, webhook), self.bytes(), entropy)?;
        Ok(STANDARD.encode(sealed))
    }

    pub(crate) fn open(
        vault: &Ring,
        (org, webhook): (OrgId, WebhookId),
        sealed: &str,
    ) -> Result<Self, VaultError> {
        let sealed = STANDARD.decode(sealed).map_err(|_| VaultError::Refused)?;
        vault.open(&context(org, webhook), &sealed).map(Self)
    }
}

/// Whether what is kept is under the key that the ring encrypts with.
pub(crate) fn is_under_first_key(vault: &Ring, sealed: &str) -> bool {
    let sealed = STANDARD.decode(sealed).unwrap_or_default();
    Ring::key_id_of(&sealed).is_some_and(|id| id == vault.first_key_id())
}

/// The ids have a fixed length, so no two endpoints share a context.
fn context(org: OrgId, webhook: WebhookId) -> Vec<u8> {
    format!("service.webhook.v1/{org}/{webhook}").into_bytes()
}
