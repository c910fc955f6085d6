//! People, their challenges and sessions, and the mails that wait, in memory.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use gate::AddressBook;
use ledger::StoreDown;
use model::{ChallengeId, Clock, MailJobId, MemberId, OrgId, SessionId, Timestamp, UserId, Uuid};
use people::{
    Address,
    store::{
        Carries, Challenge, Chosen, FRESH, LIVE, Mac, MailJob, MailQueue, NewChallenge, NewSession,
        Opened, PeopleStore, Session, TRIES, Unaddressed, Whose,
    },
};

/// People in memory. Nothing is ever swept out, and a mail is claimed by nobody else.
pub struct MemoryPeople {
    clock: Arc<dyn Clock>,
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    people: BTreeMap<Address, UserId>,
    counts: BTreeMap<Mac, (Timestamp, u32)>,
    challenges: BTreeMap<ChallengeId, Kind>,
    sessions: BTreeMap<SessionId, Open>,
    mails: BTreeMap<MailJobId, ChallengeId>,
    uses: BTreeMap<(OrgId, UserId), Timestamp>,
}

/// A challenge and how it stands.
struct Kind {
    new: NewChallenge,
    user: Option<UserId>,
    expires_at: Timestamp,
    tries: u32,
    is_used: bool,
}

struct Open {
    session: Session,
    mac: Mac,
    has_ended: bool,
}

impl fmt::Debug for MemoryPeople {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryPeople").finish_non_exhaustive()
    }
}

impl Kind {
    fn is_live(&self, now: Timestamp) -> bool {
        !self.is_used && self.expires_at > now
    }
}

impl Open {
    fn is_of(&self, whose: Whose) -> bool {
        let chosen = self.session.chosen.map(|chosen| chosen.org);
        self.session.user == whose.user && whose.org.is_none_or(|org| chosen == Some(org))
    }

    fn is_live(&self, now: Timestamp) -> bool {
        !self.has_ended && self.session.expires_at > now
    }

    /// The session as it stands now.
    fn seen(&self, now: Timestamp) -> Session {
        let is_fresh = now.since(self.session.authenticated_at) < FRESH;
        Session { is_fresh, ..self.session.clone() }
    }
}

impl MemoryPeople {
    /// Nobody yet, at the time of this clock.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, kept: Mutex::default() }
    }

    fn kept(&self) -> (MutexGuard<'_, Kept>, Timestamp) {
        (self.kept.lock().unwrap_or_else(PoisonError::into_inner), self.clock.now())
    }
}

#[async_trait]
impl AddressBook for MemoryPeople {
    async fn addresses(&self, users: &[UserId]) -> Result<BTreeMap<UserId, String>, StoreDown> {
        let found = PeopleStore::addresses(self, users).await?.into_iter();
        Ok(found.map(|(user, address)| (user, address.as_str().to_owned())).collect())
    }

    async fn people_of(&self, addresses: &[String]) -> Result<Vec<UserId>, StoreDown> {
        let (kept, _) = self.kept();
        let known = addresses.iter().filter_map(|address| Address::parse(address).ok());
        Ok(known.filter_map(|address| kept.people.get(&address).copied()).collect())
    }
}

#[async_trait]
impl PeopleStore for MemoryPeople {
    async fn person(&self, address: &Address) -> Result<Option<UserId>, StoreDown> {
        Ok(self.kept().0.people.get(address).copied())
    }

    async fn find_or_create_person(
        &self,
        address: &Address,
        id: UserId,
    ) -> Result<UserId, StoreDown> {
        Ok(*self.kept().0.people.entry(address.clone()).or_insert(id))
    }

    async fn addresses(&self, users: &[UserId]) -> Result<BTreeMap<UserId, Address>, StoreDown> {
        let (kept, _) = self.kept();
        let people = kept.people.iter().filter(|(_, user)| users.contains(user));
        Ok(people.map(|(address, user)| (*user, address.clone())).collect())
    }

    async fn count(&self, subject: &Mac, window: Duration) -> Result<(u32, Duration), StoreDown> {
        let (mut kept, now) = self.kept();
        let (began, count) = kept.counts.entry(*subject).or_insert((now, 0));
        if now.since(*began) >= window {
            (*began, *count) = (now, 0);
        }
        *count += 1;
        Ok((*count, window.saturating_sub(now.since(*began))))
    }

    async fn put_challenge(&self, new: &NewChallenge) -> Result<(), StoreDown> {
        let (mut kept, now) = self.kept();
        let live = kept.challenges.values().filter(|it| it.user == new.user && it.is_live(now));
        let user = new.user.filter(|_| live.count() < LIVE as usize);
        let expires_at = now + new.lives;
        let kind = Kind { new: new.clone(), user, expires_at, tries: 0, is_used: false };
        kept.challenges.insert(new.id, kind);
        if user.is_some() {
            kept.mails.insert(new.job, new.id);
        }
        Ok(())
    }

    async fn challenge(&self, id: ChallengeId) -> Result<Option<Challenge>, StoreDown> {
        let (kept, _) = self.kept();
        let shown = |it: &Kind| Challenge { id, salt: it.new.salt, browser: it.new.browser };
        Ok(kept.challenges.get(&id).map(shown))
    }

    async fn consume_attempt(&self, id: ChallengeId) -> Result<bool, StoreDown> {
        let (mut kept, now) = self.kept();
        let Some(found) = kept.challenges.get_mut(&id) else { return Ok(false) };
        let is_left = found.tries < TRIES && found.is_live(now);
        found.tries += u32::from(is_left);
        Ok(is_left)
    }

    async fn open(
        &self,
        challenge: ChallengeId,
        new: &NewSession,
    ) -> Result<Option<Opened>, StoreDown> {
        let (mut guard, now) = self.kept();
        let kept = &mut *guard;
        let live = kept.challenges.get_mut(&challenge).filter(|it| it.is_live(now));
        let Some((found, user)) = live.and_then(|it| it.user.map(|user| (it, user))) else {
            return Ok(None);
        };
        found.is_used = true;
        let next = found.new.next.clone();
        if let Some(again) = found.new.again {
            let Some(open) = kept.sessions.get_mut(&again).filter(|it| it.is_live(now)) else {
                return Ok(None);
            };
            open.mac = new.mac;
            (open.session.authenticated_at, open.session.last_seen_at) = (now, now);
            return Ok(Some(Opened { session: open.seen(now), next }));
        }
        let session = Session {
            id: new.id,
            user,
            created_at: now,
            authenticated_at: now,
            last_seen_at: now,
            expires_at: now + new.lives,
            is_fresh: true,
            chosen: None,
            device: new.device.clone(),
        };
        let open = Open { session: session.clone(), mac: new.mac, has_ended: false };
        kept.sessions.insert(new.id, open);
        Ok(Some(Opened { session, next }))
    }

    async fn choose(
        &self,
        (had, given): (&Mac, &Mac),
        chosen: Chosen,
    ) -> Result<Option<Session>, StoreDown> {
        let (mut kept, now) = self.kept();
        let mut live = kept.sessions.values_mut().filter(|it| it.is_live(now));
        let Some(open) = live.find(|it| it.mac == *had) else { return Ok(None) };
        (open.mac, open.session.chosen, open.session.last_seen_at) = (*given, Some(chosen), now);
        Ok(Some(open.seen(now)))
    }

    async fn enter(&self, mac: &Mac, chosen: Chosen) -> Result<Option<Session>, StoreDown> {
        let (mut kept, now) = self.kept();
        let mut live = kept.sessions.values_mut().filter(|it| it.is_live(now));
        let is_meant = |it: &&mut Open| it.mac == *mac && it.session.chosen.is_none();
        let Some(open) = live.find(is_meant) else { return Ok(None) };
        (open.session.chosen, open.session.last_seen_at) = (Some(chosen), now);
        Ok(Some(open.seen(now)))
    }

    async fn session(&self, mac: &Mac, idle: Duration) -> Result<Option<Session>, StoreDown> {
        let (kept, now) = self.kept();
        let in_use = |it: &&Open| now.since(it.session.last_seen_at) < idle;
        let mut live = kept.sessions.values().filter(|it| it.is_live(now)).filter(in_use);
        Ok(live.find(|it| it.mac == *mac).map(|it| it.seen(now)))
    }

    async fn touch(&self, id: SessionId) -> Result<(), StoreDown> {
        let (mut kept, now) = self.kept();
        if let Some(open) = kept.sessions.get_mut(&id) {
            open.session.last_seen_at = open.session.last_seen_at.max(now);
        }
        Ok(())
    }

    async fn note_use(&self, org: OrgId, user: UserId) -> Result<(), StoreDown> {
        let (mut kept, now) = self.kept();
        kept.uses.insert((org, user), now);
        Ok(())
    }

    async fn uses(
        &self,
        org: OrgId,
        users: &[UserId],
    ) -> Result<BTreeMap<UserId, Timestamp>, StoreDown> {
        let (kept, _) = self.kept();
        let used = |user: &UserId| Some((*user, *kept.uses.get(&(org, *user))?));
        Ok(users.iter().filter_map(used).collect())
    }

    async fn sessions(
        &self,
        whose: Whose,
        idle: Duration,
        below: Option<SessionId>,
        limit: usize,
    ) -> Result<Vec<Session>, StoreDown> {
        let (kept, now) = self.kept();
        let listed = |it: &&Open| {
            let in_use = now.since(it.session.last_seen_at) < idle;
            let is_below = below.is_none_or(|below| it.session.id < below);
            it.is_of(whose) && it.is_live(now) && in_use && is_below
        };
        let newest = kept.sessions.values().rev().filter(listed);
        Ok(newest.take(limit).map(|it| it.seen(now)).collect())
    }

    async fn person_of(&self, org: OrgId, id: SessionId) -> Result<Option<UserId>, StoreDown> {
        let (kept, now) = self.kept();
        let found = kept.sessions.get(&id).filter(|it| it.is_live(now));
        let user = found.map(|it| it.session.user);
        Ok(user
            .filter(|user| found.is_some_and(|it| it.is_of(Whose { user: *user, org: Some(org) }))))
    }

    async fn end(&self, whose: Whose, id: SessionId) -> Result<bool, StoreDown> {
        let (mut kept, now) = self.kept();
        let found = kept.sessions.get_mut(&id).filter(|it| it.is_live(now));
        let Some(open) = found.filter(|it| it.is_of(whose)) else { return Ok(false) };
        open.has_ended = true;
        Ok(true)
    }

    async fn end_in(&self, org: OrgId, user: UserId) -> Result<u64, StoreDown> {
        let (mut kept, now) = self.kept();
        let is_there = |it: &&mut Open| {
            it.session.user == user && it.session.chosen.is_some_and(|chosen| chosen.org == org)
        };
        let mut ended = 0;
        for open in kept.sessions.values_mut().filter(|it| it.is_live(now)).filter(is_there) {
            open.has_ended = true;
            ended += 1;
        }
        Ok(ended)
    }

    async fn end_others(&self, user: UserId, but: SessionId) -> Result<u64, StoreDown> {
        let (mut kept, now) = self.kept();
        let is_other = |it: &&mut Open| it.session.user == user && it.session.id != but;
        let mut ended = 0;
        for open in kept.sessions.values_mut().filter(|it| it.is_live(now)).filter(is_other) {
            open.has_ended = true;
            ended += 1;
        }
        Ok(ended)
    }
}

#[async_trait]
impl MailQueue for MemoryPeople {
    async fn claim(&self, _: Uuid, most: usize, _: Duration) -> Result<Vec<MailJob>, StoreDown> {
        let (kept, now) = self.kept();
        let job = |(id, challenge): (&MailJobId, &ChallengeId)| {
            let found = kept.challenges.get(challenge).filter(|it| it.is_live(now))?;
            let of = |(address, id): (&Address, &UserId)| {
                (Some(*id) == found.user).then(|| address.clone())
            };
            Some(MailJob {
                id: *id,
                token: 1,
                attempt: 1,
                carries: Carries::SignIn { challenge: *challenge, salt: found.new.salt },
                expires_at: found.expires_at,
                to: kept.people.iter().find_map(of)?,
            })
        };
        Ok(kept.mails.iter().filter_map(job).take(most).collect())
    }

    async fn claim_unaddressed(
        &self,
        _: Uuid,
        _: Duration,
    ) -> Result<Option<Unaddressed>, StoreDown> {
        // What turns have mailed is not kept in memory.
        Ok(None)
    }

    async fn address(
        &self,
        _: &Unaddressed,
        _: &[(MailJobId, MemberId)],
    ) -> Result<bool, StoreDown> {
        Ok(false)
    }

    async fn finish(&self, job: &MailJob) -> Result<bool, StoreDown> {
        Ok(self.kept().0.mails.remove(&job.id).is_some())
    }

    async fn put_off(&self, job: &MailJob, _: Duration) -> Result<bool, StoreDown> {
        Ok(self.kept().0.mails.contains_key(&job.id))
    }

    async fn sweep_out(&self, _: usize) -> Result<usize, StoreDown> {
        Ok(0)
    }
}
