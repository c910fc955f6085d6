//! When keys were last used, gathered in memory and written now and then: a call writes nothing of it.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

use ledger::StoreDown;
use model::{KeyId, OrgId, Timestamp};

use crate::{Admin, ChangeError, OrgView};

/// What was gathered of each org since it was last written.
#[derive(Default)]
pub(crate) struct KeyUses(Mutex<BTreeMap<OrgId, BTreeMap<KeyId, Timestamp>>>);

impl KeyUses {
    /// Keeps the later of what is known of a key and this moment.
    pub(crate) fn note(&self, org: OrgId, key: KeyId, at: Timestamp) {
        let mut uses = self.lock();
        let known = uses.entry(org).or_default().entry(key).or_insert(at);
        *known = (*known).max(at);
    }

    fn take(&self) -> BTreeMap<OrgId, BTreeMap<KeyId, Timestamp>> {
        std::mem::take(&mut *self.lock())
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<OrgId, BTreeMap<KeyId, Timestamp>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Admin {
    /// Writes when keys were last used on this instance since it was last asked to, each key once, and
    /// says how many there were. What could not be written is written the next time.
    pub async fn note_key_uses(&self) -> Result<usize, StoreDown> {
        let (mut noted, mut failed) = (0, None);
        for (org, uses) in self.uses.take() {
            let uses: Vec<_> = uses.into_iter().collect();
            match self.parts.store.note_key_uses(org, &uses).await {
                Ok(()) => noted += uses.len(),
                Err(error) => {
                    for (key, at) in uses {
                        self.uses.note(org, key, at);
                    }
                    failed = failed.or(Some(error));
                }
            }
        }
        failed.map_or(Ok(noted), Err)
    }
}

impl OrgView<'_> {
    /// When these keys were last used, of those that are known to have been. What instances have not
    /// written yet is not seen.
    pub async fn key_uses(
        &self,
        keys: &[KeyId],
    ) -> Result<BTreeMap<KeyId, Timestamp>, ChangeError> {
        Ok(self.admin.parts.store.key_uses(self.org, keys).await?)
    }
}
