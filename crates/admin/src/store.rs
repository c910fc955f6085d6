//! What administration reads beside its turns.

use async_trait::async_trait;
use ledger::{
    StoreDown,
    record::{Agent, ApiKey, Connector, Org, Policy, PolicyVersion},
};
use model::{AgentId, ConnectorId, KeyId, OrgId, PolicyId, PolicyVersionId};

/// Where accounts are read.
#[async_trait]
pub trait AccountStore: Send + Sync {
    /// Returns an API key of any org; the key's id is part of its text.
    async fn api_key(&self, id: KeyId) -> Result<Option<ApiKey>, StoreDown>;

    /// Returns an org.
    async fn org(&self, id: OrgId) -> Result<Option<Org>, StoreDown>;

    /// Returns every org, oldest first.
    async fn orgs(&self) -> Result<Vec<Org>, StoreDown>;

    /// Returns an agent of the org.
    async fn agent(&self, org: OrgId, id: AgentId) -> Result<Option<Agent>, StoreDown>;

    /// Returns every agent of the org, oldest first.
    async fn agents(&self, org: OrgId) -> Result<Vec<Agent>, StoreDown>;

    /// Returns every connector of the org, oldest first.
    async fn connectors(&self, org: OrgId) -> Result<Vec<Connector>, StoreDown>;

    /// Returns a connector of the org.
    async fn connector(&self, org: OrgId, id: ConnectorId) -> Result<Option<Connector>, StoreDown>;
}

/// Where policies are read.
#[async_trait]
pub trait PolicyStore: Send + Sync {
    /// Returns every policy of the org, oldest first.
    async fn policies(&self, org: OrgId) -> Result<Vec<Policy>, StoreDown>;

    /// Returns a policy version of the org.
    async fn policy_version(
        &self,
        org: OrgId,
        id: PolicyVersionId,
    ) -> Result<Option<PolicyVersion>, StoreDown>;

    /// Returns the version of the policy with the highest number.
    async fn latest_policy_version(
        &self,
        org: OrgId,
        policy: PolicyId,
    ) -> Result<Option<PolicyVersion>, StoreDown>;
}

/// Where the seal keys of this deployment are kept. They are public and belong to no org.
#[async_trait]
pub trait SealKeyStore: Send + Sync {
    /// Returns every seal key ever registered, oldest first.
    async fn seal_keys(&self) -> Result<Vec<deed::SealKey>, StoreDown>;

    /// Adds a key, or replaces the row of the key with this thumbprint.
    async fn put_seal_key(&self, key: &deed::SealKey) -> Result<(), StoreDown>;
}

/// Everything that administration reads.
pub trait Store: AccountStore + PolicyStore + SealKeyStore {}

impl<S: AccountStore + PolicyStore + SealKeyStore> Store for S {}
