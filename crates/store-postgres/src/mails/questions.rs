//! The mails to those who may answer what an action asks.

use std::{
    sync::{Mutex, PoisonError, atomic::AtomicBool},
    time::Duration,
};

use ledger::StoreDown;
use model::{ActionId, ApprovalId, MailJobId, MemberId, OrgId};
use people::{
    Address, LinkedTo,
    store::{Carries, MailJob, Unaddressed},
};
use tokio_postgres::Row;
use uuid::Uuid;

use crate::{PostgresStore, database::Call, fault::Fault, rows::Cells};

// A link that answers nothing any more is not worth a mail, however often it was tried.
const STALE: &str = "delete from approval_mail where expires_at <= now()";

/// So many mails are looked at for one that is worth sending.
const SETTLED_AT_ONCE: usize = 64;

/// The mails that are due, one of each org behind `$4`: the orgs are walked along the index, however
/// many mails each has.
macro_rules! due {
    ($kind:literal, $most:literal) => {
        concat!(
            "
            with recursive waits (org_id) as (
                (select org_id from approval_mail where member_id is ",
            $kind,
            " and org_id > $4
                order by org_id limit 1)
                union all
                select (
                    select org_id from approval_mail
                    where member_id is ",
            $kind,
            " and org_id > waits.org_id
                    order by org_id limit 1)
                from waits where waits.org_id is not null
            )
            select due.id from waits cross join lateral (
                select id from approval_mail
                where org_id = waits.org_id and member_id is ",
            $kind,
            " and run_at <= now()
                    and (lease_until is null or lease_until < now())
                order by run_at limit 1 for update skip locked
            ) as due
            limit ",
            $most
        )
    };
}

pub(crate) const CLAIM: &str = concat!(
    "
    update approval_mail as job
    set lease_until = now() + make_interval(secs => $3), token = job.token + 1,
        attempt = job.attempt + 1, holder = $1
    where job.id in (",
    due!("not null", "$2"),
    ")
    returning job.id, job.token, job.attempt, job.org_id, job.action_id, job.approval_id,
        job.member_id, job.expires_at"
);

pub(crate) const CLAIM_UNADDRESSED: &str = concat!(
    "
    update approval_mail as job
    set lease_until = now() + make_interval(secs => $3), token = job.token + 1,
        attempt = job.attempt + 1, holder = $1
    where job.id in (",
    due!("null", "$2"),
    ")
    returning job.id, job.token, job.org_id, job.approval_id"
);

/// How far an instance's rounds through the orgs are: each org with mails has its turn before another
/// has its next.
#[derive(Debug, Default)]
pub(crate) struct Rounds {
    addressed: Round,
    unaddressed: Round,
    /// Whether mails about endpoints come before those about questions next time.
    pub(super) is_endpoints: AtomicBool,
}

/// The last org that had its turn.
#[derive(Debug, Default)]
struct Round(Mutex<Uuid>);

impl Round {
    fn last(&self) -> Uuid {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn goes_on_behind(&self, org: Uuid) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = org;
    }
}

// Asked of each by itself: it is answered where its org is. Whoever may answer no more since the mail was
// addressed gets none.
const QUESTION: &str = "
    select asked.tool, asked.record::json #>> '{agent,name}' as agent_name,
        asked.record::json #>> '{approval,assurance}' is distinct from 'session' as may_decide,
        org.record::json ->> 'name' as org_name, person.address
    from only action as asked
        join member on member.org_id = $1 and member.id = $3
        join person on person.user_id = member.user_id
        join org on org.org_id = $1
    where asked.org_id = $1 and asked.id = $2 and asked.state = 'pending_approval'
        and member.removed_at is null and member.can_approve";

/// A mail to a member that is claimed.
struct Claimed {
    job: MailJobId,
    token: u64,
    attempt: u32,
    action: ActionId,
    to: LinkedTo,
    expires_at: model::Timestamp,
}

impl PostgresStore {
    pub(super) async fn claim_questions(
        &self,
        holder: Uuid,
        most: usize,
        lease: Duration,
    ) -> Result<Vec<MailJob>, StoreDown> {
        let attempt = "claim mails about questions";
        self.database.ask_one(attempt, Call::new(STALE)).await?;
        let mut jobs = Vec::new();
        // What is settled by now goes without a mail, and holds up nothing that is behind it; nor does
        // very much of it hold up whoever claims.
        let mut looked_at = 0;
        while jobs.len() < most && looked_at < most.max(SETTLED_AT_ONCE) {
            let claim = (CLAIM, &self.rounds.addressed);
            let rows = self.claim_round(attempt, claim, (holder, most - jobs.len(), lease)).await?;
            if rows.is_empty() {
                break;
            }
            looked_at += rows.len();
            for row in &rows {
                let claimed = claimed(row).map_err(|fault| fault.down(attempt))?;
                match self.worth_a_mail(&claimed, attempt).await {
                    Ok(job) => jobs.extend(job),
                    // It can be read once the node of its org is back, and is claimed again then.
                    Err(down) if self.database.nodes_behind(attempt, &down).await.is_some() => {}
                    Err(down) => return Err(down),
                }
            }
        }
        Ok(jobs)
    }

    /// Claims up to so many, one of each org, of the orgs that come next in the round; where none is
    /// behind it any more, the round begins anew.
    async fn claim_round(
        &self,
        attempt: &'static str,
        (sql, round): (&'static str, &Round),
        (holder, most, lease): (Uuid, usize, Duration),
    ) -> Result<Vec<Row>, StoreDown> {
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        let mut last = round.last();
        loop {
            let claim = Call::new(sql).with(holder).with(most).with(lease.as_secs_f64()).with(last);
            let rows = self.database.ask_one(attempt, claim).await?;
            let orgs = rows.iter().map(|row| Cells::of("approval_mail", row).get::<Uuid>("org_id"));
            let orgs: Result<Vec<_>, _> = orgs.collect();
            let furthest = orgs.map_err(|fault| fault.down(attempt))?.into_iter().max();
            if let Some(org) = furthest {
                round.goes_on_behind(org);
            }
            if furthest.is_some() || last.is_nil() {
                return Ok(rows);
            }
            last = Uuid::nil();
        }
    }

    /// The mail with what it says, as long as the question waits and the member may answer; else it
    /// is removed.
    async fn worth_a_mail(
        &self,
        claimed: &Claimed,
        attempt: &'static str,
    ) -> Result<Option<MailJob>, StoreDown> {
        let asked = Call::new(QUESTION)
            .with(*claimed.to.org.as_uuid())
            .with(*claimed.action.as_uuid())
            .with(*claimed.to.member.as_uuid());
        let found = self.database.ask_one(attempt, asked).await?;
        if let Some(asked) = found.first() {
            return question(claimed, asked).map(Some).map_err(|fault| fault.down(attempt));
        }
        let sql = "delete from approval_mail where id = $1 and token = $2 returning id";
        let token = i64::try_from(claimed.token).unwrap_or(i64::MAX);
        self.is_done(attempt, Call::new(sql).with(*claimed.job.as_uuid()).with(token)).await?;
        Ok(None)
    }

    pub(super) async fn claim_question(
        &self,
        holder: Uuid,
        lease: Duration,
    ) -> Result<Option<Unaddressed>, StoreDown> {
        let attempt = "claim a question to write about";
        let claim = (CLAIM_UNADDRESSED, &self.rounds.unaddressed);
        let rows = self.claim_round(attempt, claim, (holder, 1, lease)).await?;
        let read = |row: &Row| {
            let cells = Cells::of("approval_mail", row);
            Ok(Unaddressed {
                id: cells.id("id", MailJobId::from_uuid)?,
                token: cells.count("token")?,
                org: cells.id("org_id", OrgId::from_uuid)?,
                approval: cells.id("approval_id", ApprovalId::from_uuid)?,
            })
        };
        rows.first().map(read).transpose().map_err(|fault: Fault| fault.down(attempt))
    }

    /// Puts the mails to these members in the place of the question, in one transaction: a claim that
    /// was lost meanwhile finds the row under another token and changes nothing.
    pub(super) async fn address_question(
        &self,
        question: &Unaddressed,
        to: &[(MailJobId, MemberId)],
    ) -> Result<bool, StoreDown> {
        let (jobs, members): (Vec<_>, Vec<_>) =
            to.iter().map(|(job, member)| (*job.as_uuid(), *member.as_uuid())).unzip();
        let token = i64::try_from(question.token).unwrap_or(i64::MAX);
        let held = |sql| Call::new(sql).with(*question.id.as_uuid()).with(token);
        let lock = held("select id from approval_mail where id = $1 and token = $2 for update");
        let insert = held(
            "insert into approval_mail
                (id, org_id, action_id, approval_id, member_id, run_at, expires_at, attempt, token)
            select new.id, whole.org_id, whole.action_id, whole.approval_id, new.member, whole.run_at,
                whole.expires_at, 0, 0
            from approval_mail as whole cross join unnest($3::uuid[], $4::uuid[]) as new (id, member)
            where whole.id = $1 and whole.token = $2
            on conflict (approval_id, member_id) do nothing",
        );
        let insert = insert.with(jobs).with(members);
        let delete = held("delete from approval_mail where id = $1 and token = $2 returning id");
        let calls = [Call::new("begin"), lock, insert, delete, Call::new("commit")];
        let answers = self.database.ask("write to those who are asked", &calls).await?;
        Ok(answers.get(3).is_some_and(|rows| !rows.is_empty()))
    }
}

fn claimed(row: &Row) -> Result<Claimed, Fault> {
    let cells = Cells::of("approval_mail", row);
    let attempt: i32 = cells.get("attempt")?;
    Ok(Claimed {
        job: cells.id("id", MailJobId::from_uuid)?,
        token: cells.count("token")?,
        attempt: u32::try_from(attempt).map_err(|why| cells.fault("attempt", why))?,
        action: cells.id("action_id", ActionId::from_uuid)?,
        to: LinkedTo {
            org: cells.id("org_id", OrgId::from_uuid)?,
            approval: cells.id("approval_id", ApprovalId::from_uuid)?,
            member: cells.id("member_id", MemberId::from_uuid)?,
        },
        expires_at: cells.moment("expires_at")?,
    })
}

fn question(claimed: &Claimed, asked: &Row) -> Result<MailJob, Fault> {
    let asked = Cells::of("action", asked);
    let address: &str = asked.get("address")?;
    Ok(MailJob {
        id: claimed.job,
        token: claimed.token,
        attempt: claimed.attempt,
        carries: Carries::Question {
            to: claimed.to,
            org_name: asked.get("org_name")?,
            agent_name: asked.get("agent_name")?,
            tool: asked.get("tool")?,
            may_decide: asked.get("may_decide")?,
        },
        expires_at: claimed.expires_at,
        to: Address::parse(address).map_err(|why| asked.fault("address", why))?,
    })
}
