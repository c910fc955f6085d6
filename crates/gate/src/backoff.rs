//! The connectors that are asked what became of lost runs. Each is asked by one sweep at a time, and one
//! that did not answer is left alone for a while.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use model::{OrgId, Timestamp};

/// How long a connector without an answer rests, at first and at most. The lease of what it was
/// asked for lasts longer than the first rest.
const FIRST_REST: Duration = Duration::from_secs(5);
const LONGEST_REST: Duration = Duration::from_secs(30);

/// An org's connector, by its name.
pub(crate) type Named = (OrgId, String);

/// The connectors that are being asked, and those that rest.
#[derive(Debug, Default)]
pub(crate) struct AskedConnectors(Mutex<HashMap<Named, Standing>>);

#[derive(Debug, Clone, Copy)]
enum Standing {
    Busy,
    Rests { since: Timestamp, silences: u32 },
}

impl Standing {
    fn is_free(self, now: Timestamp) -> bool {
        match self {
            Self::Busy => false,
            Self::Rests { since, silences } => {
                let rest = FIRST_REST.saturating_mul(1 << silences.saturating_sub(1).min(8));
                // A clock that was set back must not lengthen a rest.
                now < since || now.since(since) >= rest.min(LONGEST_REST)
            }
        }
    }
}

impl AskedConnectors {
    /// Whether nobody asks the connector and it does not rest.
    pub(crate) fn is_free(&self, named: &Named, now: Timestamp) -> bool {
        self.lock().get(named).is_none_or(|state| state.is_free(now))
    }

    /// Begins to ask a connector, if it is free.
    pub(crate) fn begin(&self, named: Named, now: Timestamp) -> Option<Asking<'_>> {
        let mut states = self.lock();
        let silences = match states.get(&named) {
            Some(state) if !state.is_free(now) => return None,
            Some(Standing::Rests { silences, .. }) => *silences,
            Some(Standing::Busy) | None => 0,
        };
        states.insert(named.clone(), Standing::Busy);
        Some(Asking { asked: self, named, silences, rests: None })
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Named, Standing>> {
        // The map is whole between any two statements, so a panic elsewhere harms nothing here.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A connector while it is asked. Whatever ends this, others may ask it again.
pub(crate) struct Asking<'a> {
    asked: &'a AskedConnectors,
    named: Named,
    silences: u32,
    rests: Option<Standing>,
}

impl Asking<'_> {
    pub(crate) fn rest(&mut self, since: Timestamp) {
        let silences = self.silences.saturating_add(1);
        self.rests = Some(Standing::Rests { since, silences });
    }
}

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        let mut states = self.asked.lock();
        match self.rests {
            Some(rests) => states.insert(self.named.clone(), rests),
            None => states.remove(&self.named),
        };
    }
}
