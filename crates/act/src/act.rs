//! A change as a request to the ledger of its org: who may ask for it, and how it is decided.

use ledger::{Entry, Ledger, Needs, Request, Snapshot};
use model::{Mint, OrgId, Scope};

use crate::{ActError, By, Reason, Record};

/// A change to an org that exists.
#[derive(Debug, Clone)]
pub struct Act<F> {
    by: By,
    reason: Option<Reason>,
    needs: Needs,
    scopes: &'static [Scope],
    decide: F,
}

impl<F> Act<F> {
    /// A change that is decided so, for no reason that is told, with what every turn knows.
    ///
    /// The decision is asked again when a turn is lost to another instance, so it takes nothing
    /// from outside but what it was made with. An error leaves the org as it stands.
    pub fn new<T, E>(by: By, decide: F) -> Self
    where
        F: Fn(&Snapshot, &mut Record<'_>) -> Result<T, E> + Send + 'static,
    {
        Self { by, reason: None, needs: Needs::default(), scopes: &[Scope::Admin], decide }
    }

    /// The same change for this reason, to which its deeds commit.
    pub fn because(self, reason: impl Into<Option<Reason>>) -> Self {
        Self { reason: reason.into(), ..self }
    }

    /// The same change, decided on a snapshot in which these rows are known.
    pub fn needing(self, needs: Needs) -> Self {
        Self { needs, ..self }
    }

    /// What the service records of somebody who read, for which a key that may only read is enough.
    pub fn of_a_reader(self) -> Self {
        Self { scopes: &[Scope::Admin, Scope::AdminRead], ..self }
    }

    /// Has the change decided in a turn of the org, and answers once the turn is durable.
    pub async fn enter<T, E>(self, ledger: &Ledger, org: OrgId) -> Result<T, E>
    where
        F: Fn(&Snapshot, &mut Record<'_>) -> Result<T, E> + Send + 'static,
        T: Send + 'static,
        E: From<ActError> + Send + 'static,
    {
        ledger.enter(org, self).await.map_err(ActError::from)?
    }

    /// Has the change decided in a turn that opens another log of the org ([`Record::open_log`]),
    /// even where no other turn is taken because the present log is not the one that was signed
    /// for.
    pub async fn enter_opening_log<T, E>(self, ledger: &Ledger, org: OrgId) -> Result<T, E>
    where
        F: Fn(&Snapshot, &mut Record<'_>) -> Result<T, E> + Send + 'static,
        T: Send + 'static,
        E: From<ActError> + Send + 'static,
    {
        ledger.open_log(org, self).await.map_err(ActError::from)?
    }

    /// A key may have been revoked since it was authenticated; the turn knows.
    fn is_allowed(&self, at: &Snapshot) -> Result<(), ActError> {
        at.org().ok_or(ActError::NotFound("org"))?;
        match self.by {
            By::Operator | By::Service => Ok(()),
            By::OrgKey(id) => at
                .key(id)
                .filter(|key| key.is_valid(at.now()))
                .filter(|key| key.scopes.iter().any(|scope| self.scopes.contains(scope)))
                .map(|_| ())
                .ok_or(ActError::NotAllowed),
        }
    }
}

impl<F, T, E> Request for Act<F>
where
    F: Fn(&Snapshot, &mut Record<'_>) -> Result<T, E> + Send + 'static,
    T: Send + 'static,
    E: From<ActError> + Send + 'static,
{
    type Answer = Result<T, E>;

    fn needs(&self, _: &Snapshot) -> Needs {
        let mut needs = self.needs.clone();
        if let By::OrgKey(id) = self.by {
            needs.keys.insert(id);
        }
        needs
    }

    fn decide(&self, at: &Snapshot, mint: &Mint<'_>) -> (Entry, Self::Answer) {
        let mut record = Record::new(self.by, self.reason.clone(), mint);
        let allowed = self.is_allowed(at).map_err(E::from);
        match allowed.and_then(|()| (self.decide)(at, &mut record)) {
            Ok(done) => (record.into_entry(), Ok(done)),
            Err(error) => (Entry::nothing(), Err(error)),
        }
    }
}
