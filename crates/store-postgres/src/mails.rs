//! The mails that wait: of sign-ins, of invitations, about webhook endpoints, and of questions. Every moment
//! is the database's.

pub(crate) mod questions;
mod webhooks;

pub(crate) use questions::Rounds;

use std::{sync::atomic::Ordering::Relaxed, time::Duration};

use async_trait::async_trait;
use ledger::StoreDown;
use model::{ChallengeId, InviteId, MailJobId, MemberId, OrgId};
use people::{
    Address,
    store::{Carries, MailJob, MailQueue, Unaddressed},
};
use tokio_postgres::Row;
use uuid::Uuid;

use crate::{PostgresStore, database::Call, fault::Fault, rows::Cells};

#[async_trait]
impl MailQueue for PostgresStore {
    async fn claim(
        &self,
        holder: Uuid,
        most: usize,
        lease: Duration,
    ) -> Result<Vec<MailJob>, StoreDown> {
        let attempt = "claim mails";
        // What nobody can use any more is not worth a mail, however often it was tried.
        let stale = "
            delete from mail_job using challenge
            where challenge.id = mail_job.challenge_id and mail_job.run_at <= now()
                and (challenge.expires_at <= now() or challenge.used_at is not null)";
        let sql = "
            update mail_job as job
            set lease_until = now() + make_interval(secs => $3), token = job.token + 1,
                attempt = job.attempt + 1, holder = $1
            from challenge join person on person.user_id = challenge.user_id
            where challenge.id = job.challenge_id and job.id in (
                select id from mail_job
                where run_at <= now() and (lease_until is null or lease_until < now())
                order by run_at limit $2 for update skip locked)
            returning job.id, job.token, job.attempt, job.challenge_id, challenge.salt,
                challenge.expires_at, person.address";
        let claim = Call::new(sql)
            .with(holder)
            .with(i64::try_from(most).unwrap_or(i64::MAX))
            .with(lease.as_secs_f64());
        let answers = self.database.ask(attempt, &[Call::new(stale), claim]).await?;
        let jobs = answers.iter().flatten().map(mail_job).collect::<Result<Vec<_>, _>>();
        let mut jobs = jobs.map_err(|fault| fault.down(attempt))?;
        // Who signs in waits in front of a screen; who is invited does not.
        if jobs.len() < most {
            jobs.extend(self.claim_invitations(holder, most - jobs.len(), lease).await?);
        }
        if jobs.len() >= most {
            return Ok(jobs);
        }
        // Agents ask as often as they like; that holds up no person's mail. Of theirs and of those about
        // endpoints, which may fail all together, neither waits until nothing of the other is left.
        let is_endpoints = self.rounds.is_endpoints.fetch_xor(true, Relaxed);
        for is_endpoints in [is_endpoints, !is_endpoints] {
            let left = most.saturating_sub(jobs.len());
            if left == 0 {
                break;
            }
            jobs.extend(if is_endpoints {
                self.claim_webhook_mails(holder, left, lease).await?
            } else {
                self.claim_questions(holder, left, lease).await?
            });
        }
        Ok(jobs)
    }

    async fn claim_unaddressed(
        &self,
        holder: Uuid,
        lease: Duration,
    ) -> Result<Option<Unaddressed>, StoreDown> {
        self.claim_question(holder, lease).await
    }

    async fn address(
        &self,
        question: &Unaddressed,
        to: &[(MailJobId, MemberId)],
    ) -> Result<bool, StoreDown> {
        self.address_question(question, to).await
    }

    async fn finish(&self, job: &MailJob) -> Result<bool, StoreDown> {
        let sql = match job.carries {
            Carries::SignIn { .. } => {
                "delete from mail_job where id = $1 and token = $2 returning id"
            }
            Carries::Invitation { .. } => {
                "delete from invite_mail where id = $1 and token = $2 returning id"
            }
            Carries::Question { .. } => {
                "delete from approval_mail where id = $1 and token = $2 returning id"
            }
            Carries::WebhookDisabled { .. } => {
                "delete from webhook_mail where id = $1 and token = $2 returning id"
            }
        };
        self.is_done("end a mail", held(sql, job)).await
    }

    async fn put_off(&self, job: &MailJob, wait: Duration) -> Result<bool, StoreDown> {
        let sql = match job.carries {
            Carries::SignIn { .. } => {
                "update mail_job set run_at = now() + make_interval(secs => $3), lease_until = null
                where id = $1 and token = $2
                returning id"
            }
            Carries::Invitation { .. } => {
                "update invite_mail
                set run_at = now() + make_interval(secs => $3), lease_until = null
                where id = $1 and token = $2
                returning id"
            }
            Carries::Question { .. } => {
                "update approval_mail
                set run_at = now() + make_interval(secs => $3), lease_until = null
                where id = $1 and token = $2
                returning id"
            }
            Carries::WebhookDisabled { .. } => {
                "update webhook_mail
                set run_at = now() + make_interval(secs => $3), lease_until = null
                where id = $1 and token = $2
                returning id"
            }
        };
        self.is_done("let a mail wait", held(sql, job).with(wait.as_secs_f64())).await
    }

    async fn sweep_out(&self, limit: usize) -> Result<usize, StoreDown> {
        let attempt = "sweep out what ended";
        let most = i64::try_from(limit).unwrap_or(i64::MAX);
        let calls = [
            "delete from challenge where id in (
                select id from challenge where expires_at < now() - interval '1 day'
                order by expires_at limit $1)
            returning id",
            "delete from session where id in (
                select id from session where expires_at < now() - interval '1 day'
                order by expires_at limit $1)
            returning id",
            "delete from sign_in_count where subject in (
                select subject from sign_in_count where began_at < now() - interval '1 day'
                limit $1)
            returning subject",
            "delete from approval_mail where id in (
                select id from approval_mail where expires_at < now() - interval '1 day'
                order by expires_at limit $1)
            returning id",
            "delete from webhook_mail where id in (
                select id from webhook_mail where expires_at < now() - interval '1 day'
                order by expires_at limit $1)
            returning id",
        ];
        let calls = calls.map(|sql| Call::new(sql).with(most));
        let answers = self.database.ask(attempt, &calls).await?;
        Ok(answers.iter().map(Vec::len).max().unwrap_or_default())
    }
}

const CLAIM_INVITATIONS: &str = "
    update invite_mail as job
    set lease_until = now() + make_interval(secs => $3), token = job.token + 1,
        attempt = job.attempt + 1, holder = $1
    where job.id in (
        select id from invite_mail
        where run_at <= now() and (lease_until is null or lease_until < now())
        order by run_at limit $2 for update skip locked)
    returning job.id, job.token, job.attempt, job.org_id, job.invite_id";

// Asked of each by itself: it is answered where its org is.
const INVITATION: &str = "
    select invite.role, invite.expires_at, person.address, org.record::json ->> 'name' as name
    from invite join person on person.user_id = invite.user_id
        join org on org.org_id = $1
    where invite.org_id = $1 and invite.id = $2
        and invite.closed_at is null and invite.expires_at > now()";

impl PostgresStore {
    async fn claim_invitations(
        &self,
        holder: Uuid,
        most: usize,
        lease: Duration,
    ) -> Result<Vec<MailJob>, StoreDown> {
        let attempt = "claim mails of invitations";
        let claim = Call::new(CLAIM_INVITATIONS)
            .with(holder)
            .with(i64::try_from(most).unwrap_or(i64::MAX))
            .with(lease.as_secs_f64());
        let mut jobs = Vec::new();
        for row in self.database.ask_one(attempt, claim).await? {
            let (org, invite) = invited(&row).map_err(|fault| fault.down(attempt))?;
            let asked = Call::new(INVITATION).with(*org.as_uuid()).with(*invite.as_uuid());
            let found = self.database.ask_one(attempt, asked).await?;
            if let Some(asked) = found.first() {
                let job = invitation(&row, asked, (org, invite));
                jobs.push(job.map_err(|fault| fault.down(attempt))?);
            } else {
                // What nobody can use any more is not worth a mail.
                let sql = "delete from invite_mail where invite_id = $1 returning id";
                self.is_done(attempt, Call::new(sql).with(*invite.as_uuid())).await?;
            }
        }
        Ok(jobs)
    }
}

fn invited(row: &Row) -> Result<(OrgId, InviteId), Fault> {
    let cells = Cells::of("invite_mail", row);
    Ok((cells.id("org_id", OrgId::from_uuid)?, cells.id("invite_id", InviteId::from_uuid)?))
}

fn invitation(row: &Row, asked: &Row, (org, invite): (OrgId, InviteId)) -> Result<MailJob, Fault> {
    let (cells, asked) = (Cells::of("invite_mail", row), Cells::of("invite", asked));
    let attempt: i32 = cells.get("attempt")?;
    let address: &str = asked.get("address")?;
    Ok(MailJob {
        id: cells.id("id", MailJobId::from_uuid)?,
        token: cells.count("token")?,
        attempt: u32::try_from(attempt).map_err(|why| cells.fault("attempt", why))?,
        carries: Carries::Invitation {
            org,
            invite,
            org_name: asked.get("name")?,
            role: asked.word("role")?,
        },
        expires_at: asked.moment("expires_at")?,
        to: Address::parse(address).map_err(|why| asked.fault("address", why))?,
    })
}

fn held(sql: &'static str, job: &MailJob) -> Call<'static> {
    Call::new(sql).with(*job.id.as_uuid()).with(i64::try_from(job.token).unwrap_or(i64::MAX))
}

fn mail_job(row: &Row) -> Result<MailJob, Fault> {
    let cells = Cells::of("mail_job", row);
    let attempt: i32 = cells.get("attempt")?;
    let address: &str = cells.get("address")?;
    Ok(MailJob {
        id: cells.id("id", MailJobId::from_uuid)?,
        token: cells.count("token")?,
        attempt: u32::try_from(attempt).map_err(|why| cells.fault("attempt", why))?,
        carries: Carries::SignIn {
            challenge: cells.id("challenge_id", ChallengeId::from_uuid)?,
            salt: cells.bytes("salt")?,
        },
        expires_at: cells.moment("expires_at")?,
        to: Address::parse(address).map_err(|why| cells.fault("address", why))?,
    })
}
