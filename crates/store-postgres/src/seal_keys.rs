//! The register of the deployment's public seal keys.

use admin::SealKeyStore;
use async_trait::async_trait;
use crypto::ed25519::PublicKey;
use deed::{Introduction, Purpose, SealKey};
use ledger::StoreDown;
use model::Timestamp;
use tokio_postgres::Row;

use crate::{
    PostgresStore,
    database::Call,
    fault::Fault,
    rows::{Cells, system_time},
};

#[async_trait]
impl SealKeyStore for PostgresStore {
    async fn now(&self) -> Result<Timestamp, StoreDown> {
        Ok(self.pulse().await?.now)
    }

    async fn seal_keys(&self) -> Result<Vec<SealKey>, StoreDown> {
        let attempt = "read the seal keys";
        let sql = "
            select kid, public, purpose, activated_at, retired_at, revoked_at,
                revocation_reason, compromised_since, introduced_by, introduction
            from seal_key order by activated_at, kid collate \"C\"";
        let rows = self.database.ask_one(attempt, Call::new(sql)).await?;
        rows.iter().map(seal_key).collect::<Result<_, _>>().map_err(|fault| fault.down(attempt))
    }

    async fn put_seal_key(&self, key: &SealKey) -> Result<(), StoreDown> {
        let sql = "
            insert into seal_key
                (kid, public, purpose, activated_at, retired_at, revoked_at, revocation_reason,
                 compromised_since, introduced_by, introduction)
            values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
            on conflict (kid) do update
            set public = excluded.public, purpose = excluded.purpose,
                activated_at = excluded.activated_at, retired_at = excluded.retired_at,
                revoked_at = coalesce(seal_key.revoked_at, excluded.revoked_at),
                revocation_reason = coalesce(seal_key.revocation_reason, excluded.revocation_reason),
                compromised_since = coalesce(seal_key.compromised_since, excluded.compromised_since),
                introduced_by = excluded.introduced_by, introduction = excluded.introduction
            where excluded.activated_at <= seal_key.activated_at";
        let introduction = key.introduced_by.as_ref();
        let call = Call::new(sql)
            .with(key.kid().to_string())
            .with(&key.public.as_bytes()[..])
            .with(key.purpose.as_str())
            .with(system_time(key.activated_at))
            .with(key.retired_at.map(system_time))
            .with(key.revoked_at.map(system_time))
            .with(key.revocation_reason.as_ref().map(deed::Word::as_str))
            .with(key.compromised_since.map(system_time))
            .with(introduction.map(|word| word.kid.as_str()))
            .with(introduction.map(|word| word.signature.as_str()));
        self.database.ask_one("register a seal key", call).await.map(|_| ())
    }
}

fn seal_key(row: &Row) -> Result<SealKey, Fault> {
    let cells = Cells::of("seal_key", row);
    let purpose = match cells.get("purpose")? {
        "deed" => Purpose::Deed,
        "checkpoint" => Purpose::Checkpoint,
        other => return Err(cells.fault("purpose", other)),
    };
    let reason: Option<&str> = cells.get("revocation_reason")?;
    let reason = reason.map(str::parse).transpose();
    let introduced_by = match (cells.get("introduced_by")?, cells.get("introduction")?) {
        (Some(kid), Some(signature)) => Some(introduction(&cells, kid, signature)?),
        (None, _) | (_, None) => None,
    };
    Ok(SealKey {
        public: PublicKey::from_bytes(cells.get("public")?)
            .map_err(|error| cells.fault("public", error))?,
        purpose,
        activated_at: cells.moment("activated_at")?,
        retired_at: cells.moment_if_any("retired_at")?,
        revoked_at: cells.moment_if_any("revoked_at")?,
        revocation_reason: reason.map_err(|error| cells.fault("revocation_reason", error))?,
        compromised_since: cells.moment_if_any("compromised_since")?,
        introduced_by,
    })
}

fn introduction(cells: &Cells<'_>, kid: &str, signature: String) -> Result<Introduction, Fault> {
    let kid = kid.parse().map_err(|error| cells.fault("introduced_by", error))?;
    Ok(Introduction { kid, signature })
}
