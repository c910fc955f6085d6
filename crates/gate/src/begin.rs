//! The first turn of an action: everything that decides whether it runs, in one place and order.

mod asking;
mod context;
mod estimate;
mod record;
mod undecided;

use intent::Key;
use ledger::{Entry, Needs, Request, Snapshot};
use model::{ActionId, Mint};

use crate::{
    decide::{Verdict, asks_people, budgets, decide},
    permit::AfterTurn,
    resolve::Absence,
    resolved::Resolved,
    submission::Rejection,
};

use asking::Wanted;
pub(crate) use undecided::UndecidedCall;

/// Why a turn recorded nothing.
pub(crate) enum NotRecorded {
    /// The call is wrong, or its sender's key does not hold.
    Rejected(Box<Rejection>),
    /// The idempotency key names this action already.
    Repeat(ActionId),
    /// The call cannot be decided without this.
    Lacks(Box<UndecidedCall>, Missing),
}

/// What must be fetched before a call can be decided. The org's other calls would wait for it inside
/// the turn, so it is fetched outside, and the call stands as if it had not come yet.
pub(crate) enum Missing {
    /// The agent's key that the call's intent is to be verified with.
    IntentKey(Key),
    /// The tool, which a connector may serve that has come or changed.
    Tool(Absence),
    /// What a person who looks at the call shall know: what is usual, and if this says so what the
    /// call would do.
    Context(Wanted),
    /// How the org asks people, and whether it has one member: who may answer hangs on that.
    Members,
}

/// Why a step ends the turn before anything is recorded.
enum EarlyEnd {
    Rejected(Rejection),
    Repeat(ActionId),
    Lacks(Missing),
}

impl EarlyEnd {
    /// Hands the call back where something must be fetched for it.
    fn of(self, call: &UndecidedCall) -> NotRecorded {
        match self {
            Self::Rejected(rejection) => NotRecorded::Rejected(Box::new(rejection)),
            Self::Repeat(action) => NotRecorded::Repeat(action),
            Self::Lacks(missing) => NotRecorded::Lacks(Box::new(call.clone()), missing),
        }
    }
}

impl From<Rejection> for EarlyEnd {
    fn from(rejection: Rejection) -> Self {
        Self::Rejected(rejection)
    }
}

impl From<Missing> for EarlyEnd {
    fn from(missing: Missing) -> Self {
        Self::Lacks(missing)
    }
}

impl Request for UndecidedCall {
    type Answer = Result<AfterTurn, NotRecorded>;

    fn needs(&self, snapshot: &Snapshot) -> Needs {
        let mut needs = Needs::default();
        needs.agents.insert(self.agent());
        needs.keys.insert(self.key);
        if let Some(key) = &self.idempotency_key {
            needs.idempotency_keys.insert((self.agent(), key.clone()));
        }
        if self.intent.is_sent() {
            needs.intent_keys.insert(self.agent());
        }
        needs.idempotency_keys.extend(self.intent.nonce().map(|nonce| (self.agent(), nonce)));
        if matches!(self.case.resolved(), Resolved::AtEdge { .. }) {
            needs.accepted_tools.insert((self.agent(), self.case.call().tool.clone()));
        }
        needs.budgets.extend(budgets(&self.case, snapshot));
        if asks_people(&self.case, snapshot) {
            needs.settings.insert(self.org);
        }
        needs
    }

    fn decide(&self, snapshot: &Snapshot, mint: &Mint<'_>) -> (Entry, Self::Answer) {
        match self.verdict(snapshot) {
            Ok(verdict) => {
                let (entry, after) = self.record(verdict, snapshot, mint);
                (entry, Ok(after))
            }
            Err(ending) => (Entry::nothing(), Err(ending.of(self))),
        }
    }
}

impl UndecidedCall {
    /// Takes the steps of a decision. Their order gives nothing away: a repeat comes first, since it
    /// changes nothing; a key that is not valid learns nothing about the org; only then is there a
    /// decision, and it is recorded whatever it is.
    fn verdict(&self, snapshot: &Snapshot) -> Result<Verdict, EarlyEnd> {
        self.is_first(snapshot)?;
        self.has_intent_key(snapshot)?;
        self.is_admitted(snapshot)?;
        self.has_tool(snapshot)?;
        let verdict = decide(&self.case, snapshot).ok_or(Rejection::PolicyUnavailable)?;
        self.has_context(&verdict, snapshot)?;
        self.has_terms(&verdict, snapshot)?;
        Ok(verdict)
    }

    fn is_first(&self, snapshot: &Snapshot) -> Result<(), EarlyEnd> {
        let key = self.idempotency_key.as_ref();
        match key.and_then(|key| snapshot.idempotency_key(self.agent(), key)) {
            None => Ok(()),
            Some(earlier) if earlier.fingerprint == self.fingerprint => {
                Err(EarlyEnd::Repeat(earlier.action))
            }
            Some(earlier) => Err(Rejection::DifferentRequest(earlier.action).into()),
        }
    }

    fn has_intent_key(&self, snapshot: &Snapshot) -> Result<(), Missing> {
        self.missing_intent_key(snapshot).map_or(Ok(()), |key| Err(Missing::IntentKey(key)))
    }

    fn is_admitted(&self, snapshot: &Snapshot) -> Result<(), Rejection> {
        self.rejection(snapshot).map_or(Ok(()), Err)
    }

    fn has_tool(&self, snapshot: &Snapshot) -> Result<(), Missing> {
        self.doubt(snapshot).map_or(Ok(()), |absence| Err(Missing::Tool(absence)))
    }

    fn has_context(&self, verdict: &Verdict, snapshot: &Snapshot) -> Result<(), Missing> {
        let wanted = self.lacks(verdict, snapshot.now());
        wanted.map_or(Ok(()), |wanted| Err(Missing::Context(wanted)))
    }

    fn has_terms(&self, verdict: &Verdict, snapshot: &Snapshot) -> Result<(), Missing> {
        if self.lacks_terms(verdict, snapshot) { Err(Missing::Members) } else { Ok(()) }
    }
}
