//! The connections of one role: a few, opened when needed, reused when a transaction ended well.

use std::{
    collections::VecDeque,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::{Instant, timeout},
};

use super::{
    fault::{ConnectError, SessionError},
    session::{Access, Login, Pace, Session, Target},
};

/// The connections of one role.
pub(super) struct Pool {
    target: Arc<Target>,
    login: Login,
    size: usize,
    places: Arc<Semaphore>,
    // Those that rest, since when; the one that has rested longest is in front.
    idle: Mutex<VecDeque<(Instant, Session)>>,
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool").field("user", &self.login.user).finish_non_exhaustive()
    }
}

/// A connection inside a transaction, which closes unless it is given back.
#[derive(Debug)]
pub(super) struct Lease {
    pub(super) session: Session,
    pool: Arc<Pool>,
    _permit: OwnedSemaphorePermit,
}

impl Pool {
    /// A pool without connections.
    pub(super) fn new(target: Arc<Target>, login: Login, size: usize) -> Self {
        let places = Arc::new(Semaphore::new(size));
        Self { target, login, size, places, idle: Mutex::default() }
    }

    /// A connection in a fresh transaction, and the transaction's number if it may write.
    ///
    /// A kept connection may have died unnoticed; nothing has been asked of it yet, so the next
    /// one is tried, and at last a new one.
    pub(super) async fn begin(
        self: &Arc<Self>,
        access: Access,
        pace: &Pace<'_>,
        bytes: usize,
    ) -> Result<(Lease, Option<String>), SessionError> {
        let permit = timeout(self.target.limit, self.places.clone().acquire_owned()).await;
        let Ok(Ok(permit)) = permit else {
            return Err(SessionError::Connect(ConnectError::Busy(self.size)));
        };
        let lease = |session| Lease { session, pool: self.clone(), _permit: permit };
        while let Some(mut session) = self.kept() {
            match session.begin(access, pace, bytes).await {
                Ok(number) => return Ok((lease(session), number)),
                // A pooler that shares this connection shares the next one as well.
                Err(shared @ SessionError::Connect(_)) => return Err(shared),
                Err(SessionError::Database(_)) => {}
            }
        }
        let mut session = self.open().await.map_err(SessionError::Connect)?;
        let number = session.begin(access, pace, bytes).await?;
        Ok((lease(session), number))
    }

    /// A new connection.
    pub(super) async fn open(&self) -> Result<Session, ConnectError> {
        self.target.open(&self.login).await
    }

    fn kept(&self) -> Option<Session> {
        let mut idle = self.idle();
        let resting = std::iter::from_fn(|| idle.pop_back());
        resting.map(|(_, session)| session).find(|session| !session.is_closed())
    }

    /// Keeps a connection, and closes those that a quieter time has not needed.
    fn keep(&self, session: Session) {
        let mut idle = self.idle();
        idle.push_back((Instant::now(), session));
        while idle.front().is_some_and(|(since, _)| since.elapsed() >= IDLE_FOR) {
            idle.pop_front();
        }
    }

    fn idle(&self) -> MutexGuard<'_, VecDeque<(Instant, Session)>> {
        // The list is whole between any two statements.
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Lease {
    /// Keeps the connection for the next call, if it is fit for one; its transaction has ended.
    pub(super) fn give_back(self) {
        if !self.session.is_busy() && !self.session.is_retired() {
            self.pool.keep(self.session);
        }
    }

    /// Rolls back and keeps the connection, if the server still answers; otherwise it closes,
    /// which rolls back as well.
    pub(super) async fn roll_back(mut self) {
        if self.end().await {
            self.give_back();
        }
    }

    /// Rolls back; whether the server still answers.
    pub(super) async fn end(&mut self) -> bool {
        matches!(timeout(ROLLBACK_LIMIT, self.session.rollback()).await, Ok(Ok(())))
    }
}

/// For how long a connection that nobody uses is kept.
const IDLE_FOR: Duration = Duration::from_mins(5);
const ROLLBACK_LIMIT: Duration = Duration::from_secs(1);
