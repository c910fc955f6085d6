//! The use cases that operator verbs and admin routes share: each one a turn of the ledger with
//! an admin deed. It serves no routes, prints nothing, and runs no tool.
//!
//! Changes of an org are made through [`Admin::change`], which takes somebody who was admitted to
//! make them; [`Admin::view`] is for those who may only look. What touches the whole deployment, such
//! as [`Deployment::create_org`], is made through [`Admin::operate`]. Each change answers with an
//! [`act::Changed`]: the record as it stands now and the deed that says so. What a deed and its
//! event say of a change stands beside the change, in one file.
//!
//! [`Admin::authenticate`] tells whose an API key is.

use std::sync::Arc;

use act::{Act, ActError, By, MayChange, MayOperate, MayOwn, MayView, Reason, Record};
use crypto::{Secret, vault::Ring};
use ledger::{Ledger, Needs, Snapshot};
use model::{Clock, Entropy, KeyId, Mint, OrgId};

mod agent;
mod api_key;
mod archive;
mod authenticate;
mod connector;
mod credential;
mod error;
mod export;
mod input;
mod intent_key;
mod invite;
mod inviting;
mod key;
mod key_use;
mod member;
mod org;
mod policy;
mod recovery;
mod remembered;
mod retention;
mod seal_key;
mod settings;
mod stop;
mod store;

pub use agent::{AgentEdit, NewAgent, Wish};
pub use api_key::{KeyMode, KeyText, KeyTextError};
pub use authenticate::{Caller, KeyHolder};
pub use connector::{
    Candidate, ConnectorCheck, ConnectorEdit, ConnectorTest, ConnectorType, Coverage, CoveredTable,
    CredentialField, CredentialKind, Gaps, KnownTools, Looked, LookedAt, NewConnector, NotServed,
    Prepare, ToolEdit, ToolStanding, ToolState,
};
pub use credential::{Credential, key_id as credential_key_id, open_credential};
pub use error::{
    AuthenticateError, ChangeError, ConnectorError, PolicyError, SealKeyError, UnfitError,
};
pub use intent_key::{MAX_INTENT_KEYS, NewIntentKey};
pub use invite::{INVITED_FOR, Joined, NewInvite};
pub use key::{NewKey, ShownKey};
pub use key_use::{KeyUse, Network, NetworkError};
pub use member::MemberEdit;
pub use org::{CreatedOrg, NewOrg, OPERATOR_ORG};
pub use policy::{
    Activated, Activation, ActivePolicies, BudgetState, Counters, DryCall, DryRun, Expected,
    ExpectedVersion, Failing, History, KnownOrg, Linted, NewPolicy, NewVersion, Page, PolicyEdit,
    ProposalStanding, Tested, Text, Trial, Untested, bounded_effort, diff, lint, recorded_call,
};
pub use remembered::{REMEMBERED_FOR, Remembered};
pub use seal_key::{
    Activation as SealKeyActivation, PUBLISHED_BEFORE, RETIRED_AFTER, Registered, Revocation,
    propose_seal_keys, put_seal_keys, register_seal_keys,
};
pub use settings::{OrgAsRun, OrgEdit};
pub use store::{
    AccountStore, AgentList, AgentPlace, DECISION_EVENTS, DecisionEvent, Inviting, LogBreak,
    LogStanding, Logged, MemberStore, Membership, Orgs, PolicyStore, RetentionStore, SealKeyStore,
    Store, VersionSummary,
};

use crate::authenticate::KnownKey;

/// What administration is made of.
pub struct Parts {
    /// Takes the turns.
    pub ledger: Ledger,
    /// Where accounts, policies and seal keys are read.
    pub store: Arc<dyn Store>,
    /// Says whether a connector's adapter takes a config.
    pub connectors: Arc<dyn ConnectorCheck>,
    /// Randomness for ids and keys.
    pub entropy: Arc<dyn Entropy>,
    /// This process's clock; turns have the store's own time.
    pub clock: Arc<dyn Clock>,
    /// Mixed into the MAC of every API key; a new one ends all of them.
    pub pepper: Secret<Vec<u8>>,
    /// Encrypts the credentials of connectors.
    pub vault: Arc<Ring>,
}

/// The administration of every org.
pub struct Admin {
    parts: Parts,
    keys: Remembered<KeyId, Arc<KnownKey>>,
    uses: key_use::KeyUses,
}

impl std::fmt::Debug for Parts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Parts").finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Admin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Admin").finish_non_exhaustive()
    }
}

impl Admin {
    /// The administration over these parts.
    pub fn new(parts: Parts) -> Self {
        Self { parts, keys: Remembered::default(), uses: key_use::KeyUses::default() }
    }

    /// What this caller may see of their org.
    pub fn view(&self, caller: &impl MayView) -> OrgView<'_> {
        OrgView { admin: self, org: caller.org() }
    }

    /// What this caller may change of their org.
    pub fn change(&self, caller: &impl MayChange) -> OrgChange<'_> {
        OrgChange { admin: self, org: caller.org(), by: caller.by() }
    }

    /// What this caller may change of their org that is its owners'.
    pub fn own(&self, caller: &impl MayOwn) -> OrgOwn<'_> {
        OrgOwn { change: self.change(caller) }
    }

    /// What whoever runs the deployment may change of it.
    pub fn operate(&self, _: &impl MayOperate) -> Deployment<'_> {
        Deployment { admin: self }
    }

    fn mint(&self) -> Mint<'_> {
        Mint::new(self.parts.clock.now(), self.parts.entropy.as_ref())
    }
}

/// What somebody may see of an org: nothing here takes a turn that changes anything.
#[derive(Debug, Clone, Copy)]
pub struct OrgView<'a> {
    admin: &'a Admin,
    org: OrgId,
}

/// What somebody may change of an org; each change is a turn.
#[derive(Debug, Clone, Copy)]
pub struct OrgChange<'a> {
    admin: &'a Admin,
    org: OrgId,
    by: By,
}

/// What an owner may change of an org, and no key; each change is a turn.
#[derive(Debug, Clone, Copy)]
pub struct OrgOwn<'a> {
    change: OrgChange<'a>,
}

impl OrgOwn<'_> {
    /// Has a change decided in a turn of the org, if whoever asks owns it then.
    async fn turn<F, T>(&self, needs: Needs, decide: F) -> Result<T, ChangeError>
    where
        F: Fn(&Snapshot, &mut Record<'_>) -> Result<T, ChangeError> + Send + 'static,
        T: Send + 'static,
    {
        let OrgChange { admin, org, by } = self.change;
        Act::new(by, decide).of_an_owner().needing(needs).enter(&admin.parts.ledger, org).await
    }
}

/// What may be changed of the whole deployment: its orgs, its seal keys, what it keeps.
#[derive(Debug, Clone, Copy)]
pub struct Deployment<'a> {
    admin: &'a Admin,
}

impl<'a> Deployment<'a> {
    /// What the operator may change of this org.
    pub fn org(&self, org: OrgId) -> OrgChange<'a> {
        OrgChange { admin: self.admin, org, by: By::Operator }
    }

    /// What the operator may change of this org that is otherwise its owners'.
    pub fn own(&self, org: OrgId) -> OrgOwn<'a> {
        OrgOwn { change: self.org(org) }
    }
}

impl<'a> OrgChange<'a> {
    /// What the same caller may see.
    pub fn view(&self) -> OrgView<'a> {
        OrgView { admin: self.admin, org: self.org }
    }

    /// Has a change decided in a turn of the org.
    async fn turn<F, T, E>(&self, needs: Needs, reason: Option<Reason>, decide: F) -> Result<T, E>
    where
        F: Fn(&Snapshot, &mut Record<'_>) -> Result<T, E> + Send + 'static,
        T: Send + 'static,
        E: From<ActError> + Send + 'static,
    {
        let act = Act::new(self.by, decide).because(reason).needing(needs);
        act.enter(&self.admin.parts.ledger, self.org).await
    }
}

#[cfg(test)]
mod tests;
