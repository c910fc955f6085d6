//! Whether the secrets that a process was started with are those that the record was written with.

use std::time::Duration;

use ledger::StoreDown;
use model::Timestamp;
use tokio_postgres::Row;

use crate::{
    PostgresStore,
    database::Call,
    fault::Fault,
    rows::{Cells, system_time},
};

/// A MAC of a fixed text under the pepper, by which the pepper is recognised.
pub type PepperMac = [u8; 32];

/// How many secrets are encrypted under the keys of a ring, and how many under others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SealedSecrets {
    /// Fields of connectors' credentials under a key of the ring.
    pub known_credentials: u64,
    /// Those under no key of the ring.
    pub unknown_credentials: u64,
    /// The present secrets of webhook endpoints under no key of the ring.
    pub unknown_webhook_secrets: u64,
    /// The orgs of which none was counted: they cannot be reached.
    pub unreached_orgs: u64,
}

impl SealedSecrets {
    fn add(&mut self, row: &Row) -> Result<(), Fault> {
        let cells = Cells::of("connector", row);
        self.known_credentials += cells.count("known_credentials")?;
        self.unknown_credentials += cells.count("unknown_credentials")?;
        self.unknown_webhook_secrets += cells.count("unknown_webhook_secrets")?;
        Ok(())
    }
}

/// How long the count may take, of however many orgs.
const COUNTED_WITHIN: Duration = Duration::from_secs(30);

const PEPPER: &str = "select mac from pepper where id = 1";

impl PostgresStore {
    /// The MAC of this database's pepper; `None` before a process noted it.
    pub async fn pepper(&self) -> Result<Option<PepperMac>, StoreDown> {
        let attempt = "read the mark of the pepper";
        let rows = self.database.ask_one(attempt, Call::new(PEPPER)).await?;
        rows.first().map(mac).transpose().map_err(|fault| fault.down(attempt))
    }

    /// Whether any API key was ever made.
    pub async fn has_api_keys(&self) -> Result<bool, StoreDown> {
        let attempt = "look for an API key";
        let sql = "select exists (select from api_key_org) as found";
        let rows = self.database.ask_one(attempt, Call::new(sql)).await?;
        let found = rows.first().map(|row| Cells::of("api_key_org", row).get("found")).transpose();
        Ok(found.map_err(|fault| fault.down(attempt))?.unwrap_or_default())
    }

    /// Notes the MAC where none is noted yet, and returns the one that stands: of several processes
    /// that start at once, the first one's.
    pub async fn note_pepper(
        &self,
        mac: &PepperMac,
        now: Timestamp,
    ) -> Result<PepperMac, StoreDown> {
        let sql = "insert into pepper (id, mac, noted_at) values (1, $1, $2)
            on conflict (id) do nothing";
        let call = Call::new(sql).with(&mac[..]).with(system_time(now));
        let attempt = "note the mark of the pepper";
        self.database.ask_one(attempt, call).await?;
        let stands = self.pepper().await?;
        stands.ok_or_else(|| Fault::Broken("no row".to_owned()).down(attempt))
    }

    /// Puts this MAC in the place of the one that was noted.
    pub async fn replace_pepper(&self, mac: &PepperMac, now: Timestamp) -> Result<(), StoreDown> {
        let sql = "insert into pepper (id, mac, noted_at) values (1, $1, $2)
            on conflict (id) do update set mac = excluded.mac, noted_at = excluded.noted_at";
        let call = Call::new(sql).with(&mac[..]).with(system_time(now));
        self.database.ask_one("replace the mark of the pepper", call).await.map(|_| ())
    }

    /// How many secrets of every org that can be reached are under these keys of the vault, by their
    /// ids, and how many are not.
    pub async fn sealed_secrets(&self, key_ids: &[Vec<u8>]) -> Result<SealedSecrets, StoreDown> {
        let attempt = "count the secrets under the vault's keys";
        let sql = "
            select count(*) filter (where is_credential and is_known) as known_credentials,
                count(*) filter (where is_credential and not is_known) as unknown_credentials,
                count(*) filter (where not is_credential and not is_known)
                    as unknown_webhook_secrets
            from (
                select true as is_credential,
                    substring(decode(field.value, 'base64') from 2 for 8) = any ($2::bytea[])
                        as is_known
                from connector as c
                cross join jsonb_each_text(c.record::jsonb -> 'credential') as field
                where ($1::uuid[] is null or c.org_id = any($1))
                union all
                select false,
                    substring(decode(w.record::jsonb ->> 'secret', 'base64') from 2 for 8)
                        = any ($2::bytea[])
                from webhook as w
                where ($1::uuid[] is null or w.org_id = any($1)) and w.deleted_at is null
            ) as sealed_secret";
        let question = |orgs| Call::new(sql).with(orgs).with(key_ids);
        let reached =
            self.reading.ask_every_org_at_leisure(attempt, question, COUNTED_WITHIN).await?;
        let unreached_orgs = reached.unreached.len() as u64;
        let mut counted = SealedSecrets { unreached_orgs, ..SealedSecrets::default() };
        for row in &reached.rows {
            counted.add(row).map_err(|fault| fault.down(attempt))?;
        }
        Ok(counted)
    }
}

fn mac(row: &Row) -> Result<PepperMac, Fault> {
    Cells::of("pepper", row).bytes("mac")
}
