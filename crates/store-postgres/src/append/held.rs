//! A head that is held from the reading of the base to the turn that is decided on it, so that
//! instances that write the same org take turns instead of undoing each other's work.
//!
//! The lock is that of the head's own row: whoever else wants to move the head waits in the
//! database's queue, and then finds that it has moved. PostgreSQL ends a session that holds it for
//! [`Settings::hold`](crate::Settings::hold) without a statement, so that a process that was stopped
//! holds nobody up for longer.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use ledger::{AppendError, HeldHead, HeldOrg, Loaded, Needs, StoreDown, Turn, TurnLock};
use model::{OrgId, Timestamp};
use tokio::sync::OwnedSemaphorePermit;
use tokio_postgres::error::SqlState;

use super::{ATTEMPT, BEGIN, error, injected, sent, store_time};
use crate::{
    PostgresStore,
    database::{Call, PinnedConnection, Unanswered},
    fault::Fault,
    ledger_store::{base, base_calls, loaded, loads},
    pipeline::Reach,
};

const HOLD: &str = "hold the head of an org";
const LIMITS: &str = "
    select set_config('lock_timeout', $1, true),
        set_config('idle_in_transaction_session_timeout', $2, true)";
const LOCK: &str = "select from org_head where org_id = $1 for no key update";

const TURN_LOCK: &str = "wait for the turn lock of an org";
// Two orgs of one number wait for each other at times, which does no harm.
const TAKE_TURN_LOCK: &str = "select pg_advisory_xact_lock(hashtextextended($1::uuid::text, 0))";

/// An open transaction that has locked the org's head.
struct Held {
    connection: PinnedConnection,
    org: OrgId,
    lease: Duration,
}

impl PostgresStore {
    /// Waits for the head, behind whoever asked for it before, and reads the base and these rows.
    pub(crate) async fn hold_head(
        &self,
        org: OrgId,
        needs: &Needs,
    ) -> Result<Option<HeldOrg>, StoreDown> {
        let connection = self.database.pinned().await.map_err(|fault| fault.down(HOLD))?;
        // The head is waited for behind whoever asked before.
        let mut calls = vec![Call::new(BEGIN), self.limits(self.hold * 2)];
        calls.push(Call::new(LOCK).with(*org.as_uuid()));
        let of_base = base_calls(org);
        let (before, of_rows) = (calls.len(), calls.len() + of_base.len());
        calls.extend(of_base);
        calls.extend(loads(*org.as_uuid(), needs));
        let answers = match connection.ask(&calls).await {
            Ok(answers) => answers,
            Err(unanswered) if is_busy(&unanswered) => return Ok(None),
            Err(unanswered) => return Err(unanswered.fault().down(HOLD)),
        };
        let part = |range: std::ops::Range<usize>| answers.get(range).unwrap_or_default();
        let (base, now) = base(org, part(before..of_rows)).map_err(|fault| fault.down(HOLD))?;
        let loaded =
            loaded(needs, part(of_rows..answers.len())).map_err(|fault| fault.down(HOLD))?;
        let head = Box::new(Held { connection, org, lease: self.lease });
        Ok(base.map(|base| HeldOrg { base: Some(base), now, loaded, head }))
    }

    /// Waits for the turn lock of the org: an advisory lock in a transaction of its own, so that turns are
    /// committed in the meantime. The number of such transactions is limited, because the owner of a turn
    /// lock needs a connection for the head as well.
    pub(crate) async fn take_turn_lock(
        &self,
        org: OrgId,
    ) -> Result<Option<Box<dyn TurnLock>>, StoreDown> {
        let Ok(place) = Arc::clone(&self.turn_locks).try_acquire_owned() else { return Ok(None) };
        let connection = self.database.pinned().await.map_err(|fault| fault.down(TURN_LOCK))?;
        let take = Call::new(TAKE_TURN_LOCK).with(*org.as_uuid());
        // Without the turn lock, the row lock of the head still gives order.
        match connection.ask(&[Call::new(BEGIN), self.limits(self.hold), take]).await {
            Ok(_) => Ok(Some(Box::new(HeldTurnLock { _connection: connection, _place: place }))),
            Err(unanswered) if is_busy(&unanswered) => Ok(None),
            Err(unanswered) => Err(unanswered.fault().down(TURN_LOCK)),
        }
    }

    /// Limits this transaction's waits for a lock, and its time without a statement.
    fn limits(&self, wait: Duration) -> Call<'static> {
        let millis = |span: Duration| span.as_millis().to_string();
        Call::new(LIMITS).with(millis(wait)).with(millis(self.hold))
    }
}

/// An open transaction with the turn lock of the org.
struct HeldTurnLock {
    _connection: PinnedConnection,
    // Released after the connection.
    _place: OwnedSemaphorePermit,
}

impl TurnLock for HeldTurnLock {}

/// Whether what was to be locked did not come free in time.
fn is_busy(unanswered: &Unanswered) -> bool {
    let Unanswered::Failed(failed) = unanswered else { return false };
    failed.error.code() == Some(&SqlState::LOCK_NOT_AVAILABLE)
}

#[async_trait]
impl HeldHead for Held {
    async fn load(&self, needs: &Needs) -> Result<Loaded, StoreDown> {
        let attempt = "load rows for a turn";
        let answered = self.connection.ask(&loads(*self.org.as_uuid(), needs)).await;
        let answers = answered.map_err(|unanswered| unanswered.fault().down(attempt))?;
        loaded(needs, &answers).map_err(|fault| fault.down(attempt))
    }

    async fn append(self: Box<Self>, turn: &Turn) -> Result<Timestamp, AppendError> {
        let Self { connection, lease, .. } = *self;
        let (calls, guards) = sent(turn, (None, lease))?;
        failpoint::hit("append.unsent").map_err(injected)?;
        let answered = connection.end(&calls).await;
        let answers = answered.map_err(|unanswered| {
            if is_gone(&unanswered) { AppendError::Lost } else { error(unanswered, &guards) }
        })?;
        failpoint::hit("append.unanswered")
            .map_err(|point| AppendError::InDoubt(injected(point)))?;
        store_time(&answers).map_err(|fault| AppendError::InDoubt(fault.down(ATTEMPT)))
    }
}

/// Whether the connection had ended before anything of the turn was sent: the head was held for too
/// long, and somebody else has it.
fn is_gone(unanswered: &Unanswered) -> bool {
    match unanswered {
        Unanswered::Failed(failed) => failed.reach == Reach::CutOff && failed.error.is_closed(),
        Unanswered::Unsent(fault) => matches!(fault, Fault::Broken(_)),
        Unanswered::Late(_) => false,
    }
}
