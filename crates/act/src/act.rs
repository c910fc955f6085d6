//! A change as a request to the ledger of its org: who may ask for it, and how it is decided.

use ledger::{Entry, Ledger, Needs, Request, Snapshot};
use model::{Mint, OrgId, Role, Scope};

use crate::{ActError, By, Reason, Record};

/// A change to an org that exists.
#[derive(Debug, Clone)]
pub struct Act<F> {
    by: By,
    reason: Option<Reason>,
    needs: Needs,
    right: Right,
    decide: F,
}

/// What somebody must be allowed for a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Right {
    /// None: the decision alone says who may.
    Nothing,
    /// To read.
    Read,
    /// To change the org.
    Change,
    /// What owners alone may, and no key.
    Own,
}

impl Right {
    fn is_of_key(self, scope: Scope) -> bool {
        match self {
            Self::Nothing => true,
            Self::Read => matches!(scope, Scope::Admin | Scope::AdminRead),
            Self::Change => scope == Scope::Admin,
            Self::Own => false,
        }
    }

    fn is_of_role(self, role: Role) -> bool {
        match self {
            Self::Nothing | Self::Read => true,
            Self::Change => role.is_at_least(Role::Admin),
            Self::Own => role.is_at_least(Role::Owner),
        }
    }
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
        Self { by, reason: None, needs: Needs::default(), right: Right::Change, decide }
    }

    /// The same change for this reason, to which its deeds commit.
    pub fn because(self, reason: impl Into<Option<Reason>>) -> Self {
        Self { reason: reason.into(), ..self }
    }

    /// The same change, decided on a snapshot in which these rows are known.
    pub fn needing(self, needs: Needs) -> Self {
        Self { needs, ..self }
    }

    /// What the service records of somebody who read, for which a key or a member that may only
    /// read is enough.
    pub fn of_a_reader(self) -> Self {
        Self { right: Right::Read, ..self }
    }

    /// The same change, of which the decision alone says who may make it.
    pub fn of_anybody(self) -> Self {
        Self { right: Right::Nothing, ..self }
    }

    /// The same change, which owners alone may make, and no key.
    pub fn of_an_owner(self) -> Self {
        Self { right: Right::Own, ..self }
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

    /// A key may have been revoked, and a member removed, since they were authenticated; the turn
    /// knows.
    fn is_allowed(&self, at: &Snapshot) -> Result<(), ActError> {
        at.org().ok_or(ActError::NotFound("org"))?;
        let is_allowed = match self.by {
            By::Operator | By::Service => true,
            By::Person(_) => self.right == Right::Nothing,
            By::OrgKey(id) => at
                .key(id)
                .filter(|key| key.is_valid(at.now()))
                .is_some_and(|key| key.scopes.iter().any(|scope| self.right.is_of_key(*scope))),
            By::Member { member, user } => {
                let member = at.member(member).filter(|row| row.is_live() && row.user == user);
                if member.is_some_and(|member| !self.right.is_of_role(member.role)) {
                    return Err(ActError::RoleRequired);
                }
                member.is_some()
            }
        };
        if is_allowed { Ok(()) } else { Err(ActError::NotAllowed) }
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
        match self.by {
            By::OrgKey(id) => drop(needs.keys.insert(id)),
            By::Member { member, .. } => drop(needs.members.insert(member)),
            By::Operator | By::Service | By::Person(_) => {}
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
