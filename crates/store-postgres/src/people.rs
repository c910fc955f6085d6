//! People, their challenges and sessions. Every moment is the database's,
//! and whatever must happen once happens in one statement.

use std::{collections::BTreeMap, time::Duration};

use async_trait::async_trait;
use gate::AddressBook;
use ledger::StoreDown;
use model::{ChallengeId, MemberId, OrgId, SessionId, Timestamp, UserId};
use people::{
    Address,
    store::{
        Challenge, Chosen, Device, FRESH, LIVE, Mac, NewChallenge, NewSession, Opened, PeopleStore,
        Session, TRIES, Whose,
    },
};
use tokio_postgres::Row;
use uuid::Uuid;

use crate::{PostgresStore, database::Call, fault::Fault, rows::Cells};

#[async_trait]
impl AddressBook for PostgresStore {
    async fn addresses(&self, users: &[UserId]) -> Result<BTreeMap<UserId, String>, StoreDown> {
        let found = PeopleStore::addresses(self, users).await?.into_iter();
        Ok(found.map(|(user, address)| (user, address.as_str().to_owned())).collect())
    }

    async fn people_of(&self, addresses: &[String]) -> Result<Vec<UserId>, StoreDown> {
        let sql = "select user_id from person where address = any($1)";
        self.all("find people", Call::new(sql).with(addresses.to_vec()), user).await
    }
}

#[async_trait]
impl PeopleStore for PostgresStore {
    async fn person(&self, address: &Address) -> Result<Option<UserId>, StoreDown> {
        let sql = "select user_id from person where address = $1";
        self.found("find a person", Call::new(sql).with(address.as_str()), user).await
    }

    async fn find_or_create_person(
        &self,
        address: &Address,
        id: UserId,
    ) -> Result<UserId, StoreDown> {
        let attempt = "find or create a person";
        let sql = "
            insert into person (user_id, address, created_at) values ($1, $2, now())
            on conflict (address) do nothing";
        let call = Call::new(sql).with(*id.as_uuid()).with(address.as_str());
        self.database.ask_one(attempt, call).await?;
        let met = self.person(address).await?;
        met.ok_or_else(|| Fault::Broken("the person is not there".to_owned()).down(attempt))
    }

    async fn addresses(&self, users: &[UserId]) -> Result<BTreeMap<UserId, Address>, StoreDown> {
        let sql = "select user_id, address from person where user_id = any($1)";
        let users: Vec<Uuid> = users.iter().map(|user| *user.as_uuid()).collect();
        let found = self.all("read addresses of people", Call::new(sql).with(users), |row| {
            let cells = Cells::of("person", row);
            let address: &str = cells.get("address")?;
            let address = Address::parse(address).map_err(|why| cells.fault("address", why))?;
            Ok((cells.id("user_id", UserId::from_uuid)?, address))
        });
        Ok(found.await?.into_iter().collect())
    }

    async fn count(&self, subject: &Mac, window: Duration) -> Result<(u32, Duration), StoreDown> {
        let attempt = "count who asks to sign in";
        let sql = "
            with counted as (
                insert into sign_in_count as kept (subject, began_at, count) values ($1, now(), 1)
                on conflict (subject) do update
                set began_at = case when excluded.began_at - kept.began_at >= make_interval(secs => $2)
                        then excluded.began_at else kept.began_at end,
                    count = case when excluded.began_at - kept.began_at >= make_interval(secs => $2)
                        then 1 else least(kept.count, 1000000) + 1 end
                returning count, began_at
            )
            select count, ceil(extract(epoch from began_at - now()) + $2)::bigint as seconds
            from counted";
        let call = Call::new(sql).with(&subject[..]).with(window.as_secs_f64());
        let counted = self.found(attempt, call, |row| {
            let cells = Cells::of("sign_in_count", row);
            let count: i32 = cells.get("count")?;
            let count = u32::try_from(count).map_err(|why| cells.fault("count", why))?;
            Ok((count, Duration::from_secs(cells.count("seconds")?.max(1))))
        });
        counted.await?.ok_or_else(|| Fault::Broken("nothing was counted".to_owned()).down(attempt))
    }

    async fn put_challenge(&self, new: &NewChallenge) -> Result<(), StoreDown> {
        let user = new.user.map(|user| *user.as_uuid());
        // One after the other for each person, so that two at once do not both see room for one;
        // the row is locked as long as its transaction.
        let alone =
            Call::new("select user_id from person where user_id = $1 for update").with(user);
        let sql = "
            with live as (
                select count(*) as live from challenge
                where user_id = $2 and used_at is null and expires_at > now()
            ), asked as (
                insert into challenge as made (id, user_id, salt, browser, tries, created_at,
                    expires_at, next, again)
                select $1, case when live < $7 then $2::uuid end, $3, $4, 0, now(),
                    now() + make_interval(secs => $5), $8, $9
                from live
                returning made.id, made.user_id
            )
            insert into mail_job (id, challenge_id, run_at, attempt, token)
            select $6, id, now(), 0, 0 from asked where user_id is not null";
        let call = Call::new(sql)
            .with(*new.id.as_uuid())
            .with(user)
            .with(&new.salt[..])
            .with(&new.browser[..])
            .with(new.lives.as_secs_f64())
            .with(*new.job.as_uuid())
            .with(i64::from(LIVE))
            .with(new.next.as_deref())
            .with(new.again.map(|session| *session.as_uuid()));
        let begin = Call::new("begin isolation level read committed");
        let calls = [begin, alone, call, Call::new("commit")];
        self.database.ask("keep a challenge", &calls).await.map(drop)
    }

    async fn challenge(&self, id: ChallengeId) -> Result<Option<Challenge>, StoreDown> {
        let sql = "select id, salt, browser from challenge where id = $1";
        self.found("read a challenge", Call::new(sql).with(*id.as_uuid()), |row| {
            let cells = Cells::of("challenge", row);
            Ok(Challenge {
                id: cells.id("id", ChallengeId::from_uuid)?,
                salt: cells.bytes("salt")?,
                browser: cells.bytes("browser")?,
            })
        })
        .await
    }

    async fn consume_attempt(&self, id: ChallengeId) -> Result<bool, StoreDown> {
        let sql = "
            update challenge set tries = tries + 1
            where id = $1 and tries < $2 and used_at is null and expires_at > now()
            returning id";
        let most = i32::try_from(TRIES).unwrap_or(i32::MAX);
        self.is_done("take a try", Call::new(sql).with(*id.as_uuid()).with(most)).await
    }

    async fn open(
        &self,
        challenge: ChallengeId,
        new: &NewSession,
    ) -> Result<Option<Opened>, StoreDown> {
        let sql = "
            with used as (
                update challenge set used_at = now()
                where id = $1 and user_id is not null and used_at is null and expires_at > now()
                returning user_id, next, again
            ), fresh as (
                update session set mac = $3, authenticated_at = now(), last_seen_at = now()
                from used
                where session.id = used.again and session.user_id = used.user_id
                    and session.ended_at is null and session.expires_at > now()
                returning session.*
            ), opened as (
                insert into session
                    (id, user_id, mac, created_at, authenticated_at, last_seen_at, expires_at,
                     network, browser)
                select $2, user_id, $3, now(), now(), now(), now() + make_interval(secs => $4), $5,
                    $6
                from used where again is null
                returning session.*
            )
            select id, session.user_id, created_at, authenticated_at, last_seen_at, expires_at,
                network, browser, chosen_org, chosen_role, chosen_member, true as is_fresh, used.next
            from (select * from fresh union all select * from opened) as session, used";
        let call = Call::new(sql)
            .with(*challenge.as_uuid())
            .with(*new.id.as_uuid())
            .with(&new.mac[..])
            .with(new.lives.as_secs_f64())
            .with(new.device.network.as_str())
            .with(new.device.browser.as_str());
        self.found("open a session", call, |row| {
            let next = Cells::of("challenge", row).get("next")?;
            Ok(Opened { session: session(row)?, next })
        })
        .await
    }

    async fn choose(
        &self,
        (had, given): (&Mac, &Mac),
        chosen: Chosen,
    ) -> Result<Option<Session>, StoreDown> {
        let sql = "
            with moved as (
                update session
                set mac = $2, chosen_org = $3, chosen_role = $4, chosen_member = $5,
                    last_seen_at = now()
                where mac = $1 and ended_at is null and expires_at > now()
                returning id, user_id, created_at, authenticated_at, last_seen_at, expires_at,
                    network, browser, chosen_org, chosen_role, chosen_member
            )
            select moved.*, authenticated_at + make_interval(secs => $6) > now() as is_fresh
            from moved";
        let call = Call::new(sql)
            .with(&had[..])
            .with(&given[..])
            .with(*chosen.org.as_uuid())
            .with(chosen.role.as_str())
            .with(chosen.member.map(|member| *member.as_uuid()))
            .with(FRESH.as_secs_f64());
        self.found("choose a session's org", call, session).await
    }

    async fn enter(&self, mac: &Mac, chosen: Chosen) -> Result<Option<Session>, StoreDown> {
        let sql = "
            with moved as (
                update session
                set chosen_org = $2, chosen_role = $3, chosen_member = $4, last_seen_at = now()
                where mac = $1 and ended_at is null and expires_at > now() and chosen_org is null
                returning id, user_id, created_at, authenticated_at, last_seen_at, expires_at,
                    network, browser, chosen_org, chosen_role, chosen_member
            )
            select moved.*, authenticated_at + make_interval(secs => $5) > now() as is_fresh
            from moved";
        let call = Call::new(sql)
            .with(&mac[..])
            .with(*chosen.org.as_uuid())
            .with(chosen.role.as_str())
            .with(chosen.member.map(|member| *member.as_uuid()))
            .with(FRESH.as_secs_f64());
        self.found("put a session into an org", call, session).await
    }

    async fn session(&self, mac: &Mac, idle: Duration) -> Result<Option<Session>, StoreDown> {
        let sql = "
            select id, user_id, created_at, authenticated_at, last_seen_at, expires_at, network,
                browser, chosen_org, chosen_role, chosen_member,
                authenticated_at + make_interval(secs => $3) > now() as is_fresh
            from session
            where mac = $1 and ended_at is null and expires_at > now()
                and last_seen_at + make_interval(secs => $2) > now()";
        let call = Call::new(sql).with(&mac[..]).with(idle.as_secs_f64()).with(FRESH.as_secs_f64());
        self.found("read a session", call, session).await
    }

    async fn touch(&self, id: SessionId) -> Result<(), StoreDown> {
        let sql = "
            update session set last_seen_at = greatest(last_seen_at, now())
            where id = $1 and ended_at is null";
        let call = Call::new(sql).with(*id.as_uuid());
        self.database.ask_one("note that a session is used", call).await.map(drop)
    }

    async fn note_use(&self, org: OrgId, user: UserId) -> Result<(), StoreDown> {
        let sql = "
            insert into member_use (org_id, user_id, used_at) values ($1, $2, now())
            on conflict (org_id, user_id)
            do update set used_at = greatest(member_use.used_at, excluded.used_at)";
        let call = Call::new(sql).with(*org.as_uuid()).with(*user.as_uuid());
        self.database.ask_one("note that somebody is in an org", call).await.map(drop)
    }

    async fn uses(
        &self,
        org: OrgId,
        users: &[UserId],
    ) -> Result<BTreeMap<UserId, Timestamp>, StoreDown> {
        let sql = "
            select user_id, used_at from member_use where org_id = $1 and user_id = any($2::uuid[])";
        let users: Vec<Uuid> = users.iter().map(|user| *user.as_uuid()).collect();
        let call = Call::new(sql).with(*org.as_uuid()).with(users);
        let used = self.all("read when people were in an org", call, |row| {
            Ok((user(row)?, Cells::of("member_use", row).moment("used_at")?))
        });
        Ok(used.await?.into_iter().collect())
    }

    async fn sessions(
        &self,
        whose: Whose,
        idle: Duration,
        below: Option<SessionId>,
        limit: usize,
    ) -> Result<Vec<Session>, StoreDown> {
        let sql = "
            select id, user_id, created_at, authenticated_at, last_seen_at, expires_at, network,
                browser, chosen_org, chosen_role, chosen_member,
                authenticated_at + make_interval(secs => $5) > now() as is_fresh
            from session
            where user_id = $1 and id < $3 and ended_at is null and expires_at > now()
                and ($6::uuid is null or chosen_org = $6)
                and last_seen_at + make_interval(secs => $2) > now()
            order by id desc limit $4";
        let call = Call::new(sql)
            .with(*whose.user.as_uuid())
            .with(idle.as_secs_f64())
            .with(below.map_or(Uuid::max(), |id| *id.as_uuid()))
            .with(i64::try_from(limit).unwrap_or(i64::MAX))
            .with(FRESH.as_secs_f64())
            .with(whose.org.map(|org| *org.as_uuid()));
        self.all("list a person's sessions", call, session).await
    }

    async fn person_of(&self, org: OrgId, id: SessionId) -> Result<Option<UserId>, StoreDown> {
        let sql = "
            select user_id from session
            where chosen_org = $1 and id = $2 and ended_at is null and expires_at > now()";
        let call = Call::new(sql).with(*org.as_uuid()).with(*id.as_uuid());
        self.found("read whose a session is", call, user).await
    }

    async fn end(&self, whose: Whose, id: SessionId) -> Result<bool, StoreDown> {
        let sql = "
            update session set ended_at = now()
            where user_id = $1 and id = $2 and ended_at is null and expires_at > now()
                and ($3::uuid is null or chosen_org = $3)
            returning id";
        let call = Call::new(sql)
            .with(*whose.user.as_uuid())
            .with(*id.as_uuid())
            .with(whose.org.map(|org| *org.as_uuid()));
        self.is_done("end a session", call).await
    }

    async fn end_in(&self, org: OrgId, user: UserId) -> Result<u64, StoreDown> {
        let sql = "
            update session set ended_at = now()
            where user_id = $1 and chosen_org = $2 and ended_at is null and expires_at > now()
            returning id";
        let call = Call::new(sql).with(*user.as_uuid()).with(*org.as_uuid());
        let ended = self.database.ask_one("end a person's sessions in an org", call).await?;
        Ok(ended.len() as u64)
    }

    async fn end_others(&self, user: UserId, but: SessionId) -> Result<u64, StoreDown> {
        let sql = "
            update session set ended_at = now()
            where user_id = $1 and id <> $2 and ended_at is null and expires_at > now()
            returning id";
        let call = Call::new(sql).with(*user.as_uuid()).with(*but.as_uuid());
        let ended = self.database.ask_one("end a person's other sessions", call).await?;
        Ok(ended.len() as u64)
    }
}

impl PostgresStore {
    /// Whether the statement changed a row, which it returns.
    pub(crate) async fn is_done(
        &self,
        attempt: &'static str,
        call: Call<'_>,
    ) -> Result<bool, StoreDown> {
        Ok(!self.database.ask_one(attempt, call).await?.is_empty())
    }
}

fn user(row: &Row) -> Result<UserId, Fault> {
    Cells::of("person", row).id("user_id", UserId::from_uuid)
}

fn session(row: &Row) -> Result<Session, Fault> {
    let cells = Cells::of("session", row);
    Ok(Session {
        id: cells.id("id", SessionId::from_uuid)?,
        user: cells.id("user_id", UserId::from_uuid)?,
        created_at: cells.moment("created_at")?,
        authenticated_at: cells.moment("authenticated_at")?,
        last_seen_at: cells.moment("last_seen_at")?,
        expires_at: cells.moment("expires_at")?,
        is_fresh: cells.get("is_fresh")?,
        chosen: chosen(&cells)?,
        device: Device { network: cells.get("network")?, browser: cells.get("browser")? },
    })
}

fn chosen(cells: &Cells<'_>) -> Result<Option<Chosen>, Fault> {
    let org = cells.id_if_any("chosen_org", OrgId::from_uuid)?;
    let role: Option<&str> = cells.get("chosen_role")?;
    let (Some(org), Some(role)) = (org, role) else { return Ok(None) };
    let role = role.parse().map_err(|why| cells.fault("chosen_role", why))?;
    let member = cells.id_if_any("chosen_member", MemberId::from_uuid)?;
    Ok(Some(Chosen { org, member, role }))
}
