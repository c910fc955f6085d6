//! The mails to the owners of an org about a webhook endpoint that failed for too long.

use std::time::Duration;

use ledger::{StoreDown, record::Webhook};
use model::{MailJobId, MemberId, OrgId, Timestamp, WebhookId};
use people::{
    Address,
    store::{Carries, MailJob},
};
use tokio_postgres::Row;
use uuid::{Builder, Uuid};

use crate::{PostgresStore, database::Call, fault::Fault, rows::Cells};

// What was disabled that long ago is not worth a mail, however often it was tried.
const STALE: &str = "delete from webhook_mail where expires_at <= now()";

/// So many mails are looked at for one that is worth sending.
const MOST_LOOKED_AT: usize = 64;

const CLAIM: &str = "
    update webhook_mail as job
    set lease_until = now() + make_interval(secs => $3), token = job.token + 1,
        attempt = job.attempt + 1, holder = $1
    where job.id in (
        select id from webhook_mail
        where run_at <= now() and (lease_until is null or lease_until < now())
        order by run_at limit $2 for update skip locked)
    returning job.id, job.token, job.attempt, job.org_id, job.webhook_id, job.disabled_at,
        job.member_id, job.expires_at";

const OWNERS: &str = "
    select id from member
    where org_id = $1 and removed_at is null and role = 'owner' order by id";

// Asked of each by itself: it is answered where its org is. Whoever is no owner any more since the mail was
// addressed gets none.
const ENDPOINT: &str = "
    select webhook.record, lane.failing_since, org.record::json ->> 'name' as org_name,
        person.address
    from webhook
        join member on member.org_id = $1 and member.id = $3
        join person on person.user_id = member.user_id
        join org on org.org_id = $1
        left join webhook_lane as lane on lane.org_id = $1 and lane.webhook_id = $2
    where webhook.org_id = $1 and webhook.id = $2 and webhook.deleted_at is null
        and member.removed_at is null and member.role = 'owner'";

/// A row that is claimed.
struct Claimed {
    job: MailJobId,
    token: u64,
    attempt: u32,
    org: OrgId,
    webhook: WebhookId,
    disabled_at: Timestamp,
    /// Whom it is for; nobody as long as the owners were not looked up.
    member: Option<MemberId>,
    expires_at: Timestamp,
}

impl PostgresStore {
    pub(super) async fn claim_webhook_mails(
        &self,
        holder: Uuid,
        most: usize,
        lease: Duration,
    ) -> Result<Vec<MailJob>, StoreDown> {
        let attempt = "claim mails about webhook endpoints";
        let mut jobs = Vec::new();
        // What is not worth a mail holds up nothing that is behind it.
        let mut looked_at = 0;
        while jobs.len() < most && looked_at < most.max(MOST_LOOKED_AT) {
            let claim = Call::new(CLAIM)
                .with(holder)
                .with(i64::try_from(most - jobs.len()).unwrap_or(i64::MAX))
                .with(lease.as_secs_f64());
            let answers = self.database.ask(attempt, &[Call::new(STALE), claim]).await?;
            let rows: Vec<_> = answers.into_iter().flatten().collect();
            if rows.is_empty() {
                break;
            }
            looked_at += rows.len();
            for row in &rows {
                let claimed = claimed(row).map_err(|fault| fault.down(attempt))?;
                let found = match claimed.member {
                    Some(member) => self.mail_to_owner(&claimed, member, attempt).await,
                    None => self.address_owners(&claimed, attempt).await.map(|()| None),
                };
                match found {
                    Ok(job) => jobs.extend(job),
                    // It can be read once the node of its org is back, and is claimed again then.
                    Err(down) if self.database.nodes_behind(attempt, &down).await.is_some() => {}
                    Err(down) => return Err(down),
                }
            }
        }
        Ok(jobs)
    }

    /// Puts a mail to each owner in the place of the row of the turn, in one transaction: a claim that was
    /// lost meanwhile finds that row under another token and changes nothing.
    async fn address_owners(
        &self,
        whole: &Claimed,
        attempt: &'static str,
    ) -> Result<(), StoreDown> {
        let call = Call::new(OWNERS).with(*whole.org.as_uuid());
        let id = |row: &Row| Cells::of("member", row).id("id", MemberId::from_uuid);
        let owners = self.all(attempt, call, id).await?;
        let jobs: Vec<_> = owners.iter().map(|owner| job_of(whole.job, *owner)).collect();
        let owners: Vec<_> = owners.iter().map(|owner| *owner.as_uuid()).collect();
        let lock =
            whole.held("select id from webhook_mail where id = $1 and token = $2 for update");
        let insert = whole.held(
            "insert into webhook_mail
                (id, org_id, webhook_id, disabled_at, member_id, run_at, expires_at, attempt, token)
            select new.id, whole.org_id, whole.webhook_id, whole.disabled_at, new.member,
                whole.run_at, whole.expires_at, 0, 0
            from webhook_mail as whole cross join unnest($3::uuid[], $4::uuid[]) as new (id, member)
            where whole.id = $1 and whole.token = $2
            on conflict (webhook_id, disabled_at, member_id) do nothing",
        );
        let insert = insert.with(jobs).with(owners);
        let delete = whole.held("delete from webhook_mail where id = $1 and token = $2");
        let calls = [Call::new("begin"), lock, insert, delete, Call::new("commit")];
        self.database.ask(attempt, &calls).await.map(drop)
    }

    /// The mail with what it says, as long as the endpoint is disabled since then and the member is an owner;
    /// else it is removed.
    async fn mail_to_owner(
        &self,
        claimed: &Claimed,
        member: MemberId,
        attempt: &'static str,
    ) -> Result<Option<MailJob>, StoreDown> {
        let asked = Call::new(ENDPOINT)
            .with(*claimed.org.as_uuid())
            .with(*claimed.webhook.as_uuid())
            .with(*member.as_uuid());
        let found = self.database.ask_one(attempt, asked).await?;
        let mail = found.first().map(|row| mail(claimed, row)).transpose();
        // What cannot be read stays claimed, and holds up what is behind it once for each lease.
        let mail = mail.map_err(|fault| fault.down(attempt))?.flatten();
        if mail.is_none() {
            let delete = "delete from webhook_mail where id = $1 and token = $2 returning id";
            self.is_done(attempt, claimed.held(delete)).await?;
        }
        Ok(mail)
    }
}

impl Claimed {
    fn held(&self, sql: &'static str) -> Call<'static> {
        let token = i64::try_from(self.token).unwrap_or(i64::MAX);
        Call::new(sql).with(*self.job.as_uuid()).with(token)
    }
}

/// The job of the mail to one owner: the same however often the owners are looked up.
fn job_of(whole: MailJobId, owner: MemberId) -> Uuid {
    let of = [*whole.as_uuid().as_bytes(), *owner.as_uuid().as_bytes()].concat();
    let (digest, mut bytes) = (crypto::sha256(&of), [0; 16]);
    bytes.iter_mut().zip(digest.as_bytes()).for_each(|(byte, of)| *byte = *of);
    Builder::from_custom_bytes(bytes).into_uuid()
}

fn claimed(row: &Row) -> Result<Claimed, Fault> {
    let cells = Cells::of("webhook_mail", row);
    let attempt: i32 = cells.get("attempt")?;
    Ok(Claimed {
        job: cells.id("id", MailJobId::from_uuid)?,
        token: cells.count("token")?,
        attempt: u32::try_from(attempt).map_err(|why| cells.fault("attempt", why))?,
        org: cells.id("org_id", OrgId::from_uuid)?,
        webhook: cells.id("webhook_id", WebhookId::from_uuid)?,
        disabled_at: cells.moment("disabled_at")?,
        member: cells.id_if_any("member_id", MemberId::from_uuid)?,
        expires_at: cells.moment("expires_at")?,
    })
}

fn mail(claimed: &Claimed, row: &Row) -> Result<Option<MailJob>, Fault> {
    let cells = Cells::of("webhook", row);
    let webhook: Webhook = cells.json("record")?;
    let is_meant = webhook.disabled.is_some_and(|it| it.is_failed && it.at == claimed.disabled_at);
    if !is_meant {
        return Ok(None);
    }
    let address: &str = cells.get("address")?;
    Ok(Some(MailJob {
        id: claimed.job,
        token: claimed.token,
        attempt: claimed.attempt,
        carries: Carries::WebhookDisabled {
            webhook: claimed.webhook,
            org_name: cells.get("org_name")?,
            origin: webhook.origin(),
            failing_since: cells.moment_if_any("failing_since")?,
            disabled_at: claimed.disabled_at,
        },
        expires_at: claimed.expires_at,
        to: Address::parse(address).map_err(|why| cells.fault("address", why))?,
    }))
}
