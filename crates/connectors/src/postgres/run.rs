//! One run of a tool: a transaction that reads, or one that leaves its mark and writes.
//!
//! Until COMMIT is sent a run that goes wrong is certainly not applied, whatever went wrong, since
//! nobody but this code sends one: the connection closes and the server rolls back. From then on
//! only the server's answer tells.

use std::{
    sync::atomic::{AtomicBool, Ordering::Relaxed},
    time::Duration,
};

use futures_util::{
    TryStreamExt,
    future::{try_join4, try_join5},
};
use model::{
    ExecutionErrorCode as Code, Fault, Level, LogTrace, Measured, Outcome, Report, SideEffect,
    Teller,
};
use serde_json::{Map, Value, json};
use tokio::time::{Instant, timeout_at};
use tokio_postgres::{Client, Row, Statement, error::SqlState};
use tool::{Run, Settled};

use super::{
    PostgresTool,
    config::Returns,
    fault::{ConnectError, SessionError, is_stale, of_statement, rolled_back},
    ledger,
    measure::{self, Taken},
    pool::Lease,
    session::{Access, Pace},
    value::{Argument, Cell},
};

/// The most that a result may weigh as the server sends it.
const MAX_RESULT_BYTES: usize = 8 << 20;
/// What comes beside a result: headers, notices, the answers of other statements.
const EXTRA_BYTES: usize = 1 << 20;
const ALL_BYTES: usize = MAX_RESULT_BYTES + EXTRA_BYTES;

/// What a statement answered.
#[derive(Debug)]
struct Answer {
    rows: Vec<Map<String, Value>>,
    /// Rows changed, or rows returned by a query.
    count: u64,
    /// What was measured of the transaction, where evidence is asked for.
    measured: Option<Box<Measured>>,
}

/// Why a run did not succeed.
#[derive(Debug)]
enum Broken {
    Args(String),
    Connect(ConnectError),
    /// Before the statement ran.
    Unrun(tokio_postgres::Error),
    /// Before COMMIT was sent.
    Database(tokio_postgres::Error),
    /// The ledger row could not be written.
    Ledger(tokio_postgres::Error),
    Changed,
    TooManyRows(u64),
    TooManyChanges {
        most: u64,
        found: u64,
    },
    NotOneRow,
    TooLarge,
    OtherTransaction,
    /// COMMIT was sent.
    Commit(tokio_postgres::Error),
    Injected,
    InjectedAfterCommit,
}

impl From<SessionError> for Broken {
    fn from(cause: SessionError) -> Self {
        match cause {
            SessionError::Connect(error) => Self::Connect(error),
            SessionError::Database(error) => Self::Database(error),
        }
    }
}

impl PostgresTool {
    /// Runs the tool once.
    pub(super) async fn run_once(&self, run: &Run<'_>) -> Outcome {
        let deadline = Instant::now() + run.time_limit;
        let commit_sent = AtomicBool::new(false);
        let attempt = async {
            match self.definition.side_effect {
                SideEffect::Read => self.read(run, deadline).await,
                SideEffect::Write | SideEffect::Destructive => {
                    self.write(run, deadline, &commit_sent).await
                }
            }
        };
        match timeout_at(deadline, attempt).await {
            Ok(Ok(answer)) => self.succeeded(answer),
            Ok(Err(Broken::Ledger(error))) if ledger::is_taken(&error) => self.taken(run).await,
            Ok(Err(broken)) => broken.outcome(),
            Err(_) if commit_sent.load(Relaxed) => Outcome::Unknown(Fault::new(
                Code::ToolTimeout,
                "the governed database did not respond to COMMIT in time",
            )),
            Err(_) => Outcome::Failed(Fault::new(
                Code::ToolTimeout,
                "the call timed out and was stopped before COMMIT was sent",
            )),
        }
    }

    async fn read(&self, run: &Run<'_>, deadline: Instant) -> Result<Answer, Broken> {
        let args = self.shape.bind(run.args).map_err(Broken::Args)?;
        let pace = self.pace(deadline);
        let reads = &self.governed.reads;
        let begun = self.governed.begin(reads, Access::ReadOnly, (&pace, ALL_BYTES)).await;
        let (mut lease, _) = begun?;
        let mut answer = self.look_up(&mut lease, args.clone()).await;
        if is_stale_statement(&answer) {
            self.renew(&mut lease, Access::ReadOnly, &pace).await?;
            answer = self.look_up(&mut lease, args).await;
        }
        end(lease, answer).await
    }

    async fn look_up(&self, lease: &mut Lease, args: Vec<Argument>) -> Result<Answer, Broken> {
        let statement = self.prepared(lease).await?;
        self.execute(&lease.session.client, &statement, args).await
    }

    /// Begins the transaction again, in which the statement is prepared anew.
    async fn renew(
        &self,
        lease: &mut Lease,
        access: Access,
        pace: &Pace<'_>,
    ) -> Result<Option<String>, Broken> {
        Ok(lease.session.begin_anew(&self.shape.text, (access, pace, ALL_BYTES)).await?)
    }

    async fn write(
        &self,
        run: &Run<'_>,
        deadline: Instant,
        commit_sent: &AtomicBool,
    ) -> Result<Answer, Broken> {
        let args = self.shape.bind(run.args).map_err(Broken::Args)?;
        let pace = self.pace(deadline);
        let writes = &self.governed.writes;
        let begun = self.governed.begin(writes, Access::ReadWrite, (&pace, ALL_BYTES)).await;
        let (mut lease, xid) = begun?;
        if let Some(elsewhere) = self.elsewhere(run, &lease) {
            return end(lease, Err(Broken::Connect(elsewhere))).await;
        }
        let mut changed = self.change(&mut lease, run, (args.clone(), xid)).await;
        if is_stale_statement(&changed) {
            let xid = self.renew(&mut lease, Access::ReadWrite, &pace).await?;
            changed = self.change(&mut lease, run, (args, xid)).await;
        }
        let Ok(mut answer) = changed else { return end(lease, changed).await };
        commit_sent.store(true, Relaxed);
        lease.session.commit().await.map_err(Broken::Commit)?;
        failpoint::hit("connector.committed").map_err(|_| Broken::InjectedAfterCommit)?;
        if let Some(measured) = answer.measured.as_mut().filter(|_| run.level == Level::L2) {
            measured.trace.until = lease.session.log_place().await;
        }
        lease.give_back();
        Ok(answer)
    }

    /// Why the write may not run at the place that the connection leads to: what became of it there
    /// could not be found out by the place that was recorded.
    fn elsewhere(&self, run: &Run<'_>, lease: &Lease) -> Option<ConnectError> {
        match run.place {
            Some(place) if place == self.governed.note_place(lease) => None,
            Some(_) => Some(ConnectError::Moved),
            None => Some(ConnectError::NotMet),
        }
    }

    /// The ledger row, the statement, and the proof that both stand in the transaction that the
    /// marker names. All three are sent at once: inside a transaction, what follows an error fails.
    async fn change(
        &self,
        lease: &mut Lease,
        run: &Run<'_>,
        (args, xid): (Vec<Argument>, Option<String>),
    ) -> Result<Answer, Broken> {
        let xid = xid.unwrap_or_default();
        let statement = self.prepared(lease).await?;
        let session = &lease.session;
        let entry =
            ledger::Entry { org: run.org, action: run.action, xid: &xid, system: session.system() };
        let call = (self.definition.name.as_str(), run.request_digest);
        let recorded = async {
            let signer = self.governed.signer();
            let row = ledger::begin_action(&session.client, &entry, call, signer);
            unless_aborted(row).await.map_err(Broken::Ledger)
        };
        let measures = run.level > Level::L0;
        let before = async {
            if !measures {
                return Ok(measure::Before::default());
            }
            measure::before(&session.client).await.map_err(Broken::Database)
        };
        let measure = async {
            if !measures {
                return Ok(None);
            }
            let taken = self.measure(&session.client, &statement).await;
            taken.map(Some).map_err(Broken::Database)
        };
        let proof = async {
            let rows = unless_aborted(session.client.query_typed(CURRENT_XID, &[])).await;
            rows.and_then(|rows| rows.first().map(|row| row.try_get(0)).transpose())
                .map_err(Broken::Database)
        };
        let executed = self.execute(&session.client, &statement, args);
        let done = try_join5(before, recorded, executed, measure, proof).await;
        let (before, (), mut answer, told, now) = done?;
        let now: Option<Option<String>> = now;
        if now.flatten().as_ref() != Some(&xid) {
            return Err(Broken::OtherTransaction);
        }
        let most = self.most_changes;
        if answer.count > most {
            return Err(Broken::TooManyChanges { most, found: answer.count });
        }
        if let Some([counted, named, target]) = told {
            let taken =
                Taken::of(&before, (&counted, &named, &target)).map_err(Broken::Database)?;
            let trace = LogTrace { system: session.system().to_owned(), xid, until: None };
            let seen = (&statement, answer.rows.as_slice(), run.args);
            answer.measured = Some(Box::new(self.measured(taken, trace, seen)));
        }
        failpoint::hit("connector.before_commit").map_err(|_| Broken::Injected)?;
        Ok(answer)
    }

    /// What the server tells of the transaction, once nothing in it waits for the commit.
    async fn measure(
        &self,
        client: &Client,
        statement: &Statement,
    ) -> Result<[Vec<Row>; 3], tokio_postgres::Error> {
        let footprint = self.definition.footprint.clone().unwrap_or_default();
        let ((), counted, named, target) = try_join4(
            unless_aborted(measure::nothing_deferred(client)),
            unless_aborted(measure::counted(client, &self.governed.publication)),
            unless_aborted(measure::named(client, &footprint)),
            unless_aborted(measure::target(client, statement, self.reports.as_ref())),
        )
        .await?;
        Ok([counted, named, target])
    }

    /// The statement as this connection has it; it must still be the one that was accepted.
    async fn prepared(&self, lease: &mut Lease) -> Result<Statement, Broken> {
        let statement = lease.session.prepared(&self.shape.text).await.map_err(Broken::Unrun)?;
        if self.note(&statement) { Ok(statement) } else { Err(Broken::Changed) }
    }

    async fn execute(
        &self,
        client: &Client,
        statement: &Statement,
        args: Vec<Argument>,
    ) -> Result<Answer, Broken> {
        // It is answered once the statement is bound, and none of it has run until then.
        let bound = unless_aborted(client.query_raw(statement, args)).await;
        let stream = bound.map_err(Broken::Unrun)?;
        let mut stream = Box::pin(stream);
        let (mut rows, mut bytes) = (Vec::new(), 0);
        while let Some(row) = stream.try_next().await.map_err(Broken::Database)? {
            bytes += row.raw_size_bytes();
            if bytes > MAX_RESULT_BYTES {
                return Err(Broken::TooLarge);
            }
            if self.returns == Returns::Count {
                continue;
            }
            if rows.len() >= self.max_rows {
                return Err(Broken::TooManyRows(self.max_rows as u64));
            }
            rows.push(object(&row).map_err(Broken::Database)?);
        }
        if self.returns == Returns::Row && rows.len() > 1 {
            return Err(Broken::NotOneRow);
        }
        let count = stream.rows_affected().unwrap_or_default();
        Ok(Answer { rows, count, measured: None })
    }

    /// Slow statements end as a certain failure while the call still has time to say so.
    fn pace(&self, deadline: Instant) -> Pace<'_> {
        let left = deadline.saturating_duration_since(Instant::now());
        let statement = self.governed.statement_limit.min(left * 4 / 5);
        Pace {
            statement,
            lock: self.governed.lock_limit.min(statement),
            idle: left + Duration::from_secs(1),
            search_path: &self.governed.search_path,
        }
    }

    fn succeeded(&self, answer: Answer) -> Outcome {
        let rows_changed = match self.definition.side_effect {
            SideEffect::Read => None,
            SideEffect::Write | SideEffect::Destructive => match &answer.measured {
                Some(measured) => self.rows_told(measured, answer.count),
                None => Some(answer.count),
            },
        };
        let report = Report { rows_changed, measured: answer.measured };
        let result = match self.returns {
            Returns::Rows => json!({"rows": answer.rows}),
            Returns::Row => answer.rows.into_iter().next().map_or(Value::Null, Value::Object),
            Returns::Count => json!({"count": answer.count}),
        };
        Outcome::Succeeded { result, report }
    }

    /// The number of changed rows that the answer tells: what a query returns is no such number,
    /// unless the tool says that it is.
    fn rows_told(&self, measured: &Measured, count: u64) -> Option<u64> {
        match &measured.rows {
            Some(rows) if rows.teller == Teller::Function => Some(rows.rows.len() as u64),
            Some(_) => Some(count),
            None => self.changes_rows().then_some(count),
        }
    }

    /// The ledger has a row of this action already: somebody settled it, or ran it.
    async fn taken(&self, run: &Run<'_>) -> Outcome {
        let gone = |message: &str| Fault::new(Code::InstanceLost, message);
        match self.governed.settle(run.org, run.action, run.place).await {
            Settled::NotApplied => Outcome::Failed(gone("the action was abandoned before it ran")),
            Settled::Applied => {
                Outcome::Unknown(gone("the action was already applied; its response was lost"))
            }
            Settled::Unknowable | Settled::Unreachable => {
                Outcome::Unknown(gone("the action may already have been applied"))
            }
        }
    }
}

/// The answer to a statement that was sent with others, unless it is refused because an earlier one
/// failed. The answer of that one has come as well, and it is the one that says why.
pub(super) async fn unless_aborted<T>(
    asked: impl Future<Output = Result<T, tokio_postgres::Error>>,
) -> Result<T, tokio_postgres::Error> {
    match asked.await {
        Err(error) if error.code() == Some(&SqlState::IN_FAILED_SQL_TRANSACTION) => {
            std::future::pending().await
        }
        told => told,
    }
}

fn is_stale_statement(answer: &Result<Answer, Broken>) -> bool {
    matches!(answer, Err(Broken::Unrun(error)) if is_stale(error))
}

/// Ends a transaction that changed nothing, or must not. A connection that was cut because too much
/// came in only says that it broke.
async fn end(lease: Lease, answer: Result<Answer, Broken>) -> Result<Answer, Broken> {
    let overrun = lease.session.is_overrun();
    lease.roll_back().await;
    if overrun { Err(Broken::TooLarge) } else { answer }
}

/// A row as an object of its columns.
pub(super) fn object(
    row: &tokio_postgres::Row,
) -> Result<Map<String, Value>, tokio_postgres::Error> {
    let cell = |(at, column): (usize, &tokio_postgres::Column)| {
        let Cell(value) = row.try_get(at)?;
        Ok((column.name().to_owned(), value))
    };
    row.columns().iter().enumerate().map(cell).collect()
}

impl Broken {
    fn outcome(self) -> Outcome {
        let fault = match self {
            Self::Args(message) => Fault::new(Code::ToolError, message),
            Self::Connect(error) => error.fault(),
            Self::Unrun(error) | Self::Database(error) => of_statement(&error),
            Self::Ledger(error) => {
                let fault = of_statement(&error);
                let message = format!("the ledger row was not written: {}", fault.message);
                Fault { message, ..fault }
            }
            Self::Changed => Fault::new(
                Code::ConnectorMisconfigured,
                "the types of the statement in the governed database are no longer those with which the tool was accepted",
            ),
            Self::TooManyRows(most) => {
                Fault::new(Code::ResultTooLarge, format!("expected at most {most} rows"))
            }
            Self::TooManyChanges { most, found } => Fault::new(
                Code::ToolError,
                format!(
                    "the statement changed {found} rows, at most {most} are allowed; rolled back"
                ),
            ),
            Self::NotOneRow => Fault::new(Code::ResultInvalid, "expected at most one row"),
            Self::TooLarge => Fault::new(
                Code::ResultTooLarge,
                format!("expected a result of at most {MAX_RESULT_BYTES} bytes"),
            ),
            Self::Injected => Fault::new(Code::ToolError, "stopped before COMMIT"),
            // A statement that ends our transaction may have committed part of the work.
            Self::OtherTransaction => {
                let message = "the statement ended its transaction";
                return Outcome::Unknown(Fault::new(Code::ToolError, message));
            }
            Self::Commit(error) if rolled_back(&error) => of_statement(&error),
            Self::Commit(_) | Self::InjectedAfterCommit => {
                let message = "the response of the governed database to COMMIT was lost";
                return Outcome::Unknown(Fault::new(Code::ConnectorUnreachable, message));
            }
        };
        Outcome::Failed(fault)
    }
}

const CURRENT_XID: &str = "
    select pg_catalog.pg_current_xact_id_if_assigned()::text";
