//! Rows before and after, which are kept encrypted and apart from what a transaction is known by.
//!
//! They are the governed database's own data. What they are encrypted with, and for which transaction of
//! which log, are bound to each other: rows that are put beside another transaction do not open.

use std::sync::Arc;

use crypto::vault::{Ring, VaultError};
use model::{Entropy, LogFrame, LogSource, RowChange};

use crate::{Of, StoredFrame};

/// Encrypts rows, and opens them again.
#[derive(Clone)]
pub struct Images {
    /// The ring.
    pub vault: Arc<Ring>,
    /// Randomness for nonces.
    pub entropy: Arc<dyn Entropy>,
}

impl std::fmt::Debug for Images {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Images").finish_non_exhaustive()
    }
}

impl Images {
    /// The transaction without its rows, and these as they are kept; nothing where there are none.
    pub(crate) fn seal(
        &self,
        of: Of,
        mut frame: LogFrame,
    ) -> Result<(LogFrame, Option<Vec<u8>>), VaultError> {
        let changes = std::mem::take(&mut frame.changes);
        if changes.is_empty() {
            return Ok((frame, None));
        }
        // Texts and nulls by name: nothing of it can fail to be written as JSON.
        let plain = serde_json::to_vec(&changes).map_err(|_| VaultError::Refused)?;
        let context = context(of, &frame.source);
        let sealed = self.vault.seal(&context, &plain, &*self.entropy)?;
        Ok((frame, Some(sealed)))
    }

    /// The transaction with its rows as far as they are kept and open: of rows that do not, it is as of
    /// rows that were never kept.
    pub fn open(&self, of: Of, stored: &StoredFrame) -> LogFrame {
        let mut frame = stored.frame.clone();
        if let Some(changes) = stored.images.as_deref().and_then(|sealed| {
            let opened = self.vault.open(&context(of, &frame.source), sealed).ok()?;
            serde_json::from_slice::<Vec<RowChange>>(opened.expose()).ok()
        }) {
            frame.changes = changes;
        }
        frame
    }
}

fn context(of: Of, source: &LogSource) -> Vec<u8> {
    let (Of { org, connector }, LogSource { epoch, commit_lsn, digest, .. }) = (of, source);
    format!("service.evidence.images.v1 {org} {connector} {epoch} {commit_lsn} {digest}")
        .into_bytes()
}
