//! A connection pool, and how statements are sent and their rows read within the deadline.

use std::time::Duration;

use deadpool_postgres::{
    Hook, HookError, Manager, ManagerConfig, Object, Pool, QueueMode, RecyclingMethod, Runtime,
};
use futures_util::future::try_join_all;
use ledger::StoreDown;
use tokio::{
    runtime::Handle,
    time::{Instant, timeout, timeout_at},
};
use tokio_postgres::{NoTls, Row, Statement, types::ToSql};

use crate::{
    BadSettings, Settings,
    connect::{self, Tls},
    fault::Fault,
    nodes::NodeCache,
    pipeline::{self, Answers, Failed},
    weighed::{Weighed, Weight},
};

/// A value of a statement.
pub(crate) type Value<'a> = Box<dyn ToSql + Sync + Send + 'a>;

/// A statement and its values.
pub(crate) struct Call<'a> {
    pub(crate) sql: &'static str,
    values: Vec<Value<'a>>,
}

impl<'a> Call<'a> {
    /// The statement without values.
    pub(crate) fn new(sql: &'static str) -> Self {
        Self { sql, values: Vec::new() }
    }

    /// Returns this call with one more value.
    pub(crate) fn with(mut self, value: impl ToSql + Sync + Send + 'a) -> Self {
        self.values.push(Box::new(value));
        self
    }

    /// Returns this call with these additional values.
    pub(crate) fn with_all(mut self, values: impl IntoIterator<Item = Value<'a>>) -> Self {
        self.values.extend(values);
        self
    }

    /// The values in the form that the driver takes; each adds its size to this weight.
    pub(crate) fn weighed<'w>(&'w self, weight: &'w Weight) -> Vec<Weighed<'w>> {
        self.values.iter().map(|value| Weighed { value: &**value, weight }).collect()
    }
}

/// The purpose of a pool. The pools share no connections, so that no number of searches delays a turn, a
/// lease or a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PoolKind {
    /// Turns, leases, sweeps, keys and health.
    Turns,
    /// Lists, searches, exports and walks.
    Reading,
}

/// A pool of connections.
pub(crate) struct Database {
    pool: Pool,
    deadline: Duration,
    pub(crate) nodes: NodeCache,
}

/// A connection with its statements prepared: nothing of the calls has been sent yet.
pub(crate) struct Session {
    client: Object,
    statements: Vec<Statement>,
    until: Instant,
    deadline: Duration,
}

/// Why the calls of a session have no response.
pub(crate) enum Unanswered {
    Failed(Failed),
    /// No call was sent.
    Unsent(Fault),
    /// All calls were sent, and the deadline passed.
    Late(Fault),
}

impl Database {
    pub(crate) fn new(settings: &Settings, share: PoolKind) -> Result<Self, BadSettings> {
        let (mut config, tls) = connect::config(settings)?;
        let first = connect::limit_sessions(&mut config, settings.plans, share);
        let most = match share {
            PoolKind::Turns => settings.pool_size,
            PoolKind::Reading => settings.reading_pool_size,
        };
        // The driver notices a connection that the server closed; a test query would cost every call a
        // round trip.
        let recycling = ManagerConfig { recycling_method: RecyclingMethod::Fast };
        let manager = match tls {
            Tls::Plain => Manager::from_config(config, NoTls, recycling),
            Tls::Rustls(connector) => Manager::from_config(config, connector, recycling),
        };
        // The last used connection is used next: it has the prepared statements, and idle ones need not be
        // kept warm.
        let pool = Pool::builder(manager).max_size(most).queue_mode(QueueMode::Lifo);
        let pool = pool.runtime(Runtime::Tokio1);
        let pool = match first {
            Some(sql) => pool.post_create(Hook::async_fn(move |client, _| {
                Box::pin(async move { client.batch_execute(sql).await.map_err(HookError::Backend) })
            })),
            None => pool,
        };
        let pool = pool.build().map_err(|error| BadSettings::Pool(error.to_string()))?;
        Ok(Self { pool, deadline: settings.deadline, nodes: NodeCache::default() })
    }

    pub(crate) fn pool(&self) -> crate::Pool {
        let status = self.pool.status();
        let in_use = status.size.saturating_sub(status.available);
        let (idle, most, waiting) = (status.available, status.max_size, status.waiting);
        crate::Pool { idle, in_use, most, waiting }
    }

    /// The rows of each statement. The statements are sent together. Each is a transaction of its own, and a
    /// later one sees at least what an earlier one saw. After a deadlock, which rolled the transaction back,
    /// it is sent once more.
    pub(crate) async fn ask(
        &self,
        attempt: &'static str,
        calls: &[Call<'_>],
    ) -> Result<Answers, StoreDown> {
        let asked = match self.asked(calls).await {
            Err(fault) if fault.is_deadlock() && is_one_transaction(calls) => {
                self.asked(calls).await
            }
            asked => asked,
        };
        asked.map_err(|fault| fault.down(attempt))
    }

    async fn asked(&self, calls: &[Call<'_>]) -> Result<Answers, Fault> {
        let session = self.session(calls).await?;
        session.send(calls).await.map_err(Unanswered::fault)
    }

    /// The rows of one statement.
    pub(crate) async fn ask_one(
        &self,
        attempt: &'static str,
        call: Call<'_>,
    ) -> Result<Vec<Row>, StoreDown> {
        let answers = self.ask(attempt, &[call]).await?;
        Ok(answers.into_iter().flatten().collect())
    }

    /// The rows of a query with a custom plan for its values: a filter that is not used is then not a part
    /// of the plan.
    pub(crate) async fn ask_planned(
        &self,
        attempt: &'static str,
        query: Call<'_>,
    ) -> Result<Vec<Row>, StoreDown> {
        let calls = [
            Call::new("begin isolation level read committed read only"),
            Call::new("set local plan_cache_mode = force_custom_plan"),
            query,
            Call::new("commit"),
        ];
        let answers = self.ask(attempt, &calls).await?;
        Ok(answers.into_iter().nth(2).unwrap_or_default())
    }

    /// The rows of statements that change rows, each with a custom plan and in a transaction of its own.
    pub(crate) async fn change_planned(
        &self,
        attempt: &'static str,
        changes: Vec<Call<'_>>,
    ) -> Result<Answers, StoreDown> {
        let calls = changes.into_iter().flat_map(|change| {
            [
                Call::new("begin isolation level read committed"),
                Call::new("set local plan_cache_mode = force_custom_plan"),
                change,
                Call::new("commit"),
            ]
        });
        let answers = self.ask(attempt, &calls.collect::<Vec<_>>()).await?;
        Ok(answers.into_iter().skip(2).step_by(4).collect())
    }

    /// The rows of a background query with a `statement_timeout` of its own.
    pub(crate) async fn query_with_timeout(
        &self,
        attempt: &'static str,
        query: Call<'_>,
        limit: Duration,
    ) -> Result<Vec<Row>, StoreDown> {
        let calls = [
            Call::new("begin isolation level read committed read only"),
            Call::new("select set_config('statement_timeout', $1, true)")
                .with(limit.as_millis().to_string()),
            query,
            Call::new("commit"),
        ];
        let mut session = self.session(&calls).await.map_err(|fault| fault.down(attempt))?;
        (session.until, session.deadline) = (session.until + limit, limit);
        let answers = session.send(&calls).await;
        let answers = answers.map_err(|unanswered| unanswered.fault().down(attempt))?;
        Ok(answers.into_iter().nth(2).unwrap_or_default())
    }

    /// A connection for one caller over several calls.
    pub(crate) async fn pinned(&self) -> Result<PinnedConnection, Fault> {
        let client = self.client(Instant::now() + self.deadline).await?;
        Ok(PinnedConnection {
            client: Some(client),
            deadline: self.deadline,
            weight: Weight::default(),
        })
    }

    /// A connection with these calls prepared.
    pub(crate) async fn session(&self, calls: &[Call<'_>]) -> Result<Session, Fault> {
        let until = Instant::now() + self.deadline;
        let client = self.client(until).await?;
        // Statements that are not prepared on this connection yet are prepared in one round trip.
        let prepared = try_join_all(calls.iter().map(|call| client.prepare_cached(call.sql)));
        let Ok(statements) = timeout_at(until, prepared).await else {
            abandon(client);
            return Err(Fault::Late(self.deadline));
        };
        Ok(Session { statements: statements?, client, until, deadline: self.deadline })
    }

    /// Waits for one connection for at most this long. A server that does not respond in time is tried
    /// again; one that refuses is not.
    pub(crate) async fn reach(&self, limit: Duration) -> Result<(), Fault> {
        let last = Instant::now() + limit;
        loop {
            let until = Instant::now() + self.deadline;
            match self.client(until).await {
                Ok(_) => return Ok(()),
                Err(fault) if Instant::now() < until || until > last => return Err(fault),
                Err(_) => {}
            }
        }
    }

    async fn client(&self, until: Instant) -> Result<Object, Fault> {
        match timeout_at(until, self.pool.get()).await {
            Ok(client) => Ok(client?),
            Err(_) => Err(Fault::Unreachable(format!("none came free within {:?}", self.deadline))),
        }
    }
}

impl Session {
    /// Sends the calls that the session was prepared for, and returns their rows.
    pub(crate) async fn send(self, calls: &[Call<'_>]) -> Result<Answers, Unanswered> {
        let weight = Weight::default();
        let sent = pipeline::send(&self.client, &self.statements, calls, &weight);
        let answered = timeout_at(self.until, sent).await;
        match answered {
            Ok(Ok(answers)) => {
                if weight.is_heavy() {
                    abandon(self.client);
                }
                Ok(answers)
            }
            Ok(Err(failed)) => {
                if failed.reach == pipeline::Reach::CutOff {
                    abandon(self.client);
                }
                Err(Unanswered::Failed(failed))
            }
            Err(_) => {
                abandon(self.client);
                Err(Unanswered::Late(Fault::Late(self.deadline)))
            }
        }
    }
}

impl Unanswered {
    /// The cause.
    pub(crate) fn fault(self) -> Fault {
        match self {
            Self::Failed(failed) => failed.error.into(),
            Self::Late(fault) | Self::Unsent(fault) => fault,
        }
    }
}

/// A connection for several calls, with a transaction that may stay open between them.
pub(crate) struct PinnedConnection {
    // Invariant: `Some` until the last calls.
    client: Option<Object>,
    deadline: Duration,
    weight: Weight,
}

impl PinnedConnection {
    /// Sends these calls and returns their rows.
    pub(crate) async fn ask(&self, calls: &[Call<'_>]) -> Result<Answers, Unanswered> {
        let Some(client) = &self.client else { return Err(Unanswered::Unsent(ended())) };
        let until = Instant::now() + self.deadline;
        let prepared = try_join_all(calls.iter().map(|call| client.prepare_cached(call.sql)));
        let Ok(statements) = timeout_at(until, prepared).await else {
            return Err(Unanswered::Unsent(Fault::Late(self.deadline)));
        };
        let statements = statements.map_err(|error| Unanswered::Unsent(error.into()))?;
        match timeout_at(until, pipeline::send(client, &statements, calls, &self.weight)).await {
            Ok(answered) => answered.map_err(Unanswered::Failed),
            Err(_) => Err(Unanswered::Late(Fault::Late(self.deadline))),
        }
    }

    /// Sends the calls that end the transaction, and returns the connection to the pool.
    pub(crate) async fn end(mut self, calls: &[Call<'_>]) -> Result<Answers, Unanswered> {
        let answered = self.ask(calls).await;
        let client = self.client.take();
        // After any failure the connection may be about to close.
        if let Some(client) = client.filter(|_| answered.is_err() || self.weight.is_heavy()) {
            abandon(client);
        }
        answered
    }
}

impl Drop for PinnedConnection {
    /// Ends a transaction that is still open, while nobody waits for it.
    fn drop(&mut self) {
        let Some(client) = self.client.take() else { return };
        let Ok(runtime) = Handle::try_current() else { return abandon(client) };
        let deadline = self.deadline;
        runtime.spawn(async move {
            let ended = timeout(deadline, client.batch_execute("rollback")).await;
            if !matches!(ended, Ok(Ok(()))) {
                abandon(client);
            }
        });
    }
}

fn ended() -> Fault {
    Fault::Broken("its calls have ended".to_owned())
}

/// Whether calls are rolled back as one.
fn is_one_transaction(calls: &[Call<'_>]) -> bool {
    let commits = calls.iter().filter(|call| call.sql == "commit").count();
    match calls {
        [_] => true,
        [first, .., last] => first.sql.starts_with("begin") && last.sql == "commit" && commits == 1,
        [] => false,
    }
}

/// Closes a connection that may still be busy or inside a transaction, or whose buffers are large.
fn abandon(client: Object) {
    drop(Object::take(client));
}
