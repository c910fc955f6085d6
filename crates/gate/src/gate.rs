//! The Gate itself: what it is made of and how a submission goes through it.

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use crypto::json::Canonical;
use ledger::{
    Ledger, Spawn, StoreDown,
    record::{Action, UsedIntent},
};
use model::{ActionId, Clock, Mode, OrgId};
use tokio::sync::{Semaphore, oneshot};

use crate::{
    approvals::AddressBook,
    begin::{Begin, BeginOutcome, Permitted},
    carry_out::Finished,
    case::request_digest,
    late::Awaited,
    limits::Limits,
    points::{injected, pass},
    ports::{ChangeLog, Pause, Toolbox},
    resolve::invalid,
    store::{ActionDetail, ActionPlace, ActionStore, Filter, HeldLease, IntentFilter, Page},
    submission::{Rejection, Submission, SubmitError},
    takeovers::AskedConnectors,
    vouch::KnownKeys,
};

/// How often a call is decided anew because its tool had to be sought or asked.
const ANEW: usize = 5;

/// What a Gate is made of.
pub struct Parts {
    /// Decides and records.
    pub ledger: Ledger,
    /// Reads what was recorded.
    pub store: Arc<dyn ActionStore>,
    /// Knows the addresses of people.
    pub people: Arc<dyn AddressBook>,
    /// Finds tools.
    pub toolbox: Arc<dyn Toolbox>,
    /// Tells what the change logs of governed databases have.
    pub log: Arc<dyn ChangeLog>,
    /// Starts what outlives its request.
    pub spawn: Arc<dyn Spawn>,
    /// Waits before something is tried again.
    pub pause: Arc<dyn Pause>,
    /// Times runs; only differences count.
    pub clock: Arc<dyn Clock>,
    /// The name of this instance, for leases.
    pub instance: String,
    /// The base URL that signed intents must be for.
    pub audience: Arc<str>,
    /// The bounds that settings give.
    pub limits: Limits,
}

/// Decides actions and carries them out.
#[derive(Clone)]
pub struct Gate {
    pub(crate) parts: Arc<Parts>,
    // The actions that this instance runs now.
    held: Arc<Mutex<HashMap<ActionId, HeldLease>>>,
    pub(crate) asked: Arc<AskedConnectors>,
    pub(crate) readers: Arc<Semaphore>,
    pub(crate) awaited: Arc<Awaited>,
    vouchers: Arc<KnownKeys>,
}

impl fmt::Debug for Parts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Parts").field("instance", &self.instance).finish_non_exhaustive()
    }
}

impl fmt::Debug for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gate").field("parts", &self.parts).finish_non_exhaustive()
    }
}

/// A lease that is renewed until this is dropped, however its task ends: one whose run nobody
/// carries out any more must run out.
pub(crate) struct Held {
    all: Arc<Mutex<HashMap<ActionId, HeldLease>>>,
    lease: Option<HeldLease>,
}

impl Drop for Held {
    fn drop(&mut self) {
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        // This instance may have taken the action over anew meanwhile, under another token.
        if let Some(lease) = &self.lease
            && all.get(&lease.action) == Some(lease)
        {
            all.remove(&lease.action);
        }
    }
}

/// What a submission came to.
#[derive(Debug)]
pub enum Submitted {
    /// The same call was sent before; this is its action as it stands now.
    Replayed(Arc<Action>),
    /// Refused, waiting for a person, or authorised for the agent's edge.
    Decided(Arc<Action>),
    /// The tool runs now.
    Running(Running),
}

/// An action whose tool runs. Dropping this does not stop it.
#[derive(Debug)]
pub struct Running {
    /// The action as it began.
    pub action: Arc<Action>,
    /// Where it is told how the action stands once its caller has nothing more to wait for.
    pub done: oneshot::Receiver<Finished>,
}

impl Gate {
    /// A Gate of these parts.
    pub fn new(parts: Parts) -> Self {
        Self {
            readers: Arc::new(Semaphore::new(parts.limits.readers)),
            parts: Arc::new(parts),
            held: Arc::default(),
            asked: Arc::default(),
            awaited: Arc::default(),
            vouchers: Arc::default(),
        }
    }

    /// The ledger that the Gate records in.
    pub fn ledger(&self) -> &Ledger {
        &self.parts.ledger
    }

    /// The bounds that the Gate keeps.
    pub fn limits(&self) -> &Limits {
        &self.parts.limits
    }

    /// Takes a call through its stages up to the turn that decides it, and starts the run if one
    /// was permitted.
    pub async fn submit(&self, sent: Submission) -> Result<Submitted, SubmitError> {
        let args = self.admissible(&sent)?;
        let request_digest = request_digest(&sent.call.tool, &args);
        if let Some(earlier) = self.repeated(&sent, request_digest).await? {
            return Ok(Submitted::Replayed(Arc::new(earlier)));
        }
        let resolved = self.resolve(&sent).await?;
        let begin = Begin::new(sent, (resolved, args, request_digest), &self.parts);
        injected("gate.parsed")?;
        let org = begin.org();
        match self.enter(begin).await? {
            BeginOutcome::Rejected(rejection) => Err(rejection.into()),
            BeginOutcome::Repeat(action) => self.replay(org, action).await,
            // What was looked into, judged or counted once is not again.
            BeginOutcome::ToLookInto(..) | BeginOutcome::ToVouch(..) | BeginOutcome::ToCount(_) => {
                Err(ledger::LedgerError::Fault.into())
            }
            BeginOutcome::ToSeek(_) => Err(SubmitError::ToolUnavailable),
            BeginOutcome::Decided(action) => {
                pass("edge.authorized");
                Ok(Submitted::Decided(action))
            }
            BeginOutcome::Permitted(permitted) => Ok(Submitted::Running(self.start(*permitted))),
        }
    }

    /// Has the call decided. A turn waits for nobody outside the record, so tools are sought and asked
    /// between two of them; the next decides anew, on what holds by then.
    async fn enter(&self, begin: Begin) -> Result<BeginOutcome, SubmitError> {
        let org = begin.org();
        let mut outcome = self.parts.ledger.enter(org, self.vouched(begin)).await?;
        for _ in 0..ANEW {
            let begin = match outcome {
                BeginOutcome::ToVouch(begin, key) => {
                    self.vouchers.learn(&key);
                    *begin
                }
                BeginOutcome::ToSeek(begin) => self.sought(*begin).await?,
                BeginOutcome::ToLookInto(begin, wanted) => {
                    begin.looked_into(wanted, &self.parts).await?
                }
                BeginOutcome::ToCount(begin) => {
                    let has_one_member = self.parts.store.has_one_member(org).await?;
                    begin.counted(has_one_member)
                }
                decided => return Ok(decided),
            };
            outcome = self.parts.ledger.enter(org, self.vouched(begin)).await?;
        }
        Ok(outcome)
    }

    /// The call with its intent judged, where the key that it names is known.
    fn vouched(&self, begin: Begin) -> Begin {
        match begin.unknown_kid().and_then(|kid| self.vouchers.get(&kid)) {
            Some(key) => begin.vouched(&key),
            None => begin,
        }
    }

    /// Checks what needs neither tool nor snapshot, and returns the arguments in the one form that
    /// is digested, recorded and run.
    fn admissible(&self, sent: &Submission) -> Result<Canonical, SubmitError> {
        let limit = self.parts.limits.max_args_bytes;
        if !sent.call.args.is_object() {
            return Err(invalid("args", "expected a JSON object"));
        }
        let args = Canonical::new(Arc::clone(&sent.call.args));
        let size = args.text().len();
        if size > limit {
            let sentence = format!("expected at most {limit} bytes, got {size}");
            return Err(invalid("args", sentence));
        }
        if sent.call.facts.mode == Mode::Gateway && sent.edge.is_some() {
            let sentence = "only proxy mode takes `connector_type` and `tool_digest`";
            return Err(invalid("connector_type", sentence));
        }
        Ok(args)
    }

    /// The action that the call's idempotency key names already.
    async fn repeated(
        &self,
        call: &Submission,
        request: model::Digest,
    ) -> Result<Option<Action>, SubmitError> {
        let Some(key) = &call.idempotency_key else { return Ok(None) };
        let Some(earlier) =
            self.parts.store.idempotency_key(call.org, call.call.agent.id, key).await?
        else {
            return Ok(None);
        };
        if earlier.fingerprint != call.fingerprint(request) {
            return Err(Rejection::DifferentRequest(earlier.action).into());
        }
        Ok(self.parts.store.action(call.org, earlier.action).await?)
    }

    async fn replay(&self, org: OrgId, id: ActionId) -> Result<Submitted, SubmitError> {
        match self.parts.store.action(org, id).await? {
            Some(action) => Ok(Submitted::Replayed(Arc::new(action))),
            // The key's row and the action's are one transaction, so this cannot be.
            None => Err(ledger::LedgerError::Fault.into()),
        }
    }

    /// Runs a permitted action in a task of its own.
    pub(crate) fn start(&self, permitted: Permitted) -> Running {
        let (told, done) = oneshot::channel();
        let action = Arc::clone(&permitted.action);
        let gate = self.clone();
        let task = async move {
            gate.carry_out(permitted, told).await;
        };
        self.parts.spawn.spawn(Box::pin(task));
        Running { action, done }
    }

    /// An action of the org.
    pub async fn action(&self, org: OrgId, id: ActionId) -> Result<Option<Action>, StoreDown> {
        self.parts.store.action(org, id).await
    }

    /// An action of the org with everything that is shown of it.
    pub async fn detail(
        &self,
        org: OrgId,
        id: ActionId,
    ) -> Result<Option<ActionDetail>, StoreDown> {
        self.parts.store.detail(org, id).await
    }

    /// A page of the org's actions, newest first.
    pub async fn list(
        &self,
        org: OrgId,
        filter: &Filter,
        after: Option<ActionPlace>,
        limit: usize,
    ) -> Result<Page, StoreDown> {
        self.parts.store.list(org, filter, after, limit).await
    }

    /// Up to `limit` of the org's intents that were used behind this action's, the newest first.
    pub async fn used_intents(
        &self,
        org: OrgId,
        filter: &IntentFilter,
        after: Option<ActionId>,
        limit: usize,
    ) -> Result<Vec<UsedIntent>, StoreDown> {
        self.parts.store.used_intents(org, filter, after, limit).await
    }

    /// Moves the ends of the leases that this instance holds, and returns how many it lost: it
    /// lets go of them, and their runs will be refused when they come to seal.
    pub async fn renew_leases(&self) -> Result<usize, StoreDown> {
        let held: Vec<_> = self.held().values().cloned().collect();
        if held.is_empty() {
            return Ok(0);
        }
        let lost = self.parts.store.renew(&held).await?.lost;
        let mut now_held = self.held();
        // What this instance itself took over anew meanwhile, it holds under another token.
        let lost = lost.iter().filter(|lost| now_held.get(&lost.action) == Some(lost));
        let lost: Vec<_> = lost.map(|lease| lease.action).collect();
        for action in &lost {
            now_held.remove(action);
            tracing::warn!(%action, "a lease ran out before it was renewed");
        }
        Ok(lost.len())
    }

    /// Ends the leases that this instance holds, so that others end its runs at once; returns how
    /// many there were. Only for an instance that will not go on.
    pub async fn hand_back_leases(&self) -> Result<usize, StoreDown> {
        let held: Vec<_> = self.held().drain().map(|(_, lease)| lease).collect();
        if !held.is_empty() {
            self.parts.store.hand_back(&held).await?;
        }
        Ok(held.len())
    }

    /// Forgets the tools that nobody has asked for in this time, and says of how many connectors.
    pub fn let_go_of_tools(&self, idle: Duration) -> usize {
        self.parts.toolbox.let_go(idle)
    }

    /// Keeps the action's lease from running out as long as the task holds what this returns.
    pub(crate) fn hold(&self, action: &Action) -> Held {
        let lease = action.lease.clone();
        let lease = lease.map(|lease| HeldLease { org: action.org, action: action.id, lease });
        if let Some(lease) = &lease {
            self.held().insert(lease.action, lease.clone());
        }
        Held { all: Arc::clone(&self.held), lease }
    }

    fn held(&self) -> std::sync::MutexGuard<'_, HashMap<ActionId, HeldLease>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use ledger::record::Lease;
    use model::Uuid;

    use super::*;

    #[test]
    fn whoever_held_an_action_before_lets_go_of_its_own_lease_alone() {
        let all: Arc<Mutex<HashMap<ActionId, HeldLease>>> = Arc::default();
        let hold = |token| {
            let lease = Lease { holder: "one".to_owned(), token };
            let (org, action) =
                (OrgId::from_uuid(Uuid::from_u128(1)), ActionId::from_uuid(Uuid::from_u128(2)));
            let lease = HeldLease { org, action, lease };
            all.lock().unwrap().insert(action, lease.clone());
            Held { all: Arc::clone(&all), lease: Some(lease) }
        };
        let (first, second) = (hold(1), hold(2));
        drop(first);
        assert_eq!(all.lock().unwrap().len(), 1, "the second one's is renewed on");
        drop(second);
        assert!(all.lock().unwrap().is_empty());
    }
}
