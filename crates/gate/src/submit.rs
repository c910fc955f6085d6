//! A submission from the first check to its start: its tool is found, a turn decides it, and a run that
//! was permitted begins.

use std::sync::Arc;

use crypto::json::Canonical;
use ledger::{LedgerError, record::Action};
use model::{ActionId, Digest, Mode, OrgId};

use crate::{
    begin::{Missing, NotRecorded, UndecidedCall},
    carry_out::Running,
    case::request_digest,
    gate::Gate,
    permit::AfterTurn,
    points::{injected, pass},
    submission::{Rejection, Submission, SubmitError},
};

/// How often a call is decided again after something that it lacked was fetched.
const FETCHES: usize = 5;

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

/// What the turn of a call led to.
enum Entered {
    Recorded(AfterTurn),
    Repeat(ActionId),
}

impl Gate {
    /// Takes a call through its stages up to the turn that decides it, and starts the run if one
    /// was permitted.
    pub async fn submit(&self, sent: Submission) -> Result<Submitted, SubmitError> {
        let args = self.admissible(&sent)?;
        let request_digest = request_digest(&sent.call.tool, &args);
        if let Some(earlier) = self.repeated(&sent, request_digest).await? {
            return Ok(Submitted::Replayed(Arc::new(earlier)));
        }
        let resolved = self.resolve(&sent).await?;
        let call = UndecidedCall::new(sent, (resolved, args, request_digest), &self.parts);
        injected("gate.parsed")?;
        let org = call.org();
        match self.enter(call).await? {
            Entered::Repeat(action) => self.replay(org, action).await,
            Entered::Recorded(AfterTurn::Done(action)) => {
                pass("edge.authorized");
                Ok(Submitted::Decided(action))
            }
            Entered::Recorded(AfterTurn::Run(permitted)) => {
                Ok(Submitted::Running(self.start(*permitted)))
            }
        }
    }

    /// Has the call decided. A turn waits for nobody outside the record, so what a call lacks is
    /// fetched between two of them; the next decides on what holds by then.
    async fn enter(&self, call: UndecidedCall) -> Result<Entered, SubmitError> {
        let (org, mut call, mut fetches) = (call.org(), self.with_known_key(call), 0..FETCHES);
        loop {
            let (lacking, missing) = match self.parts.ledger.enter(org, call).await? {
                Ok(after) => return Ok(Entered::Recorded(after)),
                Err(NotRecorded::Repeat(action)) => return Ok(Entered::Repeat(action)),
                Err(NotRecorded::Rejected(rejection)) => return Err((*rejection).into()),
                Err(NotRecorded::Lacks(call, missing)) => (*call, missing),
            };
            if fetches.next().is_none() {
                return Err(match missing {
                    Missing::Tool(_) => SubmitError::ToolUnavailable,
                    // What was fetched once is not missing again.
                    Missing::IntentKey(_) | Missing::Members | Missing::Context(_) => {
                        LedgerError::Fault.into()
                    }
                });
            }
            call = self.with_known_key(self.fetched(lacking, missing).await?);
        }
    }

    /// The call with what it lacked.
    async fn fetched(
        &self,
        call: UndecidedCall,
        missing: Missing,
    ) -> Result<UndecidedCall, SubmitError> {
        let org = call.org();
        match missing {
            Missing::IntentKey(key) => {
                self.known_keys.learn(&key);
                Ok(call)
            }
            Missing::Tool(absence) => {
                let found = self.resolve_anew(org, call.call()).await?;
                Ok(call.resolved_anew(found, absence))
            }
            Missing::Context(wanted) => Ok(call.looked_into(wanted, &self.parts).await?),
            Missing::Members => Ok(call.counted(self.parts.store.has_one_member(org).await?)),
        }
    }

    /// The call with its intent verified, where the key that it names is known.
    fn with_known_key(&self, call: UndecidedCall) -> UndecidedCall {
        match call.unknown_kid().and_then(|kid| self.known_keys.get(&kid)) {
            Some(key) => call.verified_with(&key),
            None => call,
        }
    }

    /// Checks what needs neither tool nor snapshot, and returns the arguments in the one form that
    /// is digested, recorded and run.
    fn admissible(&self, sent: &Submission) -> Result<Canonical, SubmitError> {
        let limit = self.parts.limits.max_args_bytes;
        if !sent.call.args.is_object() {
            return Err(SubmitError::invalid("args", "expected a JSON object"));
        }
        let args = Canonical::new(Arc::clone(&sent.call.args));
        let size = args.text().len();
        if size > limit {
            let sentence = format!("expected at most {limit} bytes, got {size}");
            return Err(SubmitError::invalid("args", sentence));
        }
        if sent.call.facts.mode == Mode::Gateway && sent.edge.is_some() {
            let sentence = "`connector_type` and `tool_digest` are accepted only in proxy mode";
            return Err(SubmitError::invalid("connector_type", sentence));
        }
        Ok(args)
    }

    /// The action that the call's idempotency key names already.
    async fn repeated(
        &self,
        call: &Submission,
        request: Digest,
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
            None => Err(LedgerError::Fault.into()),
        }
    }
}
