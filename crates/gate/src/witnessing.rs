//! Gets the evidence that a call needs: a read-back of what was reported, or what the change log tells.
//!
//! The run has ended by then, whatever becomes of its evidence. What is not there at once is waited for
//! by an action that is `witnessing`: its report is kept, so that any instance can go on where this one
//! is gone. What cannot be had in time is told as such, and nothing is verified without it; what comes
//! later still, [`crate::late`] is about.

use std::{sync::Arc, time::Duration};

use ledger::record::Action;
use model::{Level, LogAnswer, LogGap, Lsn, Outcome, ReadBack, ReadBackGap, SideEffect};
use tool::{Reading, Settled, Tool};

use crate::{
    gate::Gate, observed::Observed, points::pass, ports::Sought, reported::Reported, teller::Teller,
};

/// How long to wait before evidence is asked for again that nobody answered for, at first and at most.
const FIRST_REST: Duration = Duration::from_millis(500);
const LONGEST_REST: Duration = Duration::from_secs(30);

/// What one question for the evidence came to.
pub(crate) enum Answered {
    /// It is in.
    Whole(Observed),
    /// It may still come: this is all there is by now.
    NotYet(Observed),
    /// Nobody could be asked.
    Silence,
}

/// Whom the governed system's own part of the evidence is asked of.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Of<'a> {
    /// The tool that ran.
    Tool(&'a Arc<dyn Tool>),
    /// Whoever serves the action's tool now.
    Whoever,
}

impl Gate {
    /// The evidence that the action's call needs of its run, as far as it is there at once; nothing
    /// where it has to be waited for.
    pub(crate) async fn evidence_at_once(
        &self,
        action: &Action,
        tool: &Arc<dyn Tool>,
        reported: &mut Reported,
    ) -> Option<Observed> {
        let limits = &self.parts.limits;
        let patience = match action.required_level {
            Level::L0 => return Some(Observed::Nothing),
            Level::L1 => limits.inline_budget.min(limits.readback_timeout),
            Level::L2 => Duration::ZERO,
        };
        if action.side_effect == Some(SideEffect::Read) {
            return Some(Observed::Nothing);
        }
        match self.asked(action, Of::Tool(tool), (reported, patience)).await {
            // Only the caller's patience is over.
            Answered::Whole(Observed::ReadBack(ReadBack::Unread(ReadBackGap::Timeout)))
            | Answered::NotYet(_)
            | Answered::Silence => None,
            Answered::Whole(observed) => Some(observed),
        }
    }

    /// The evidence of a run whose report is lost, as far as it is there now: the change log has the run's
    /// transaction all the same. Whoever ends lost runs waits for none; what comes later amends the deed.
    pub(crate) async fn evidence_now(&self, action: &Action, reported: &mut Reported) -> Observed {
        if action.side_effect == Some(SideEffect::Read) {
            return Observed::Nothing;
        }
        match self.asked(action, Of::Whoever, (reported, Duration::ZERO)).await {
            Answered::Whole(observed) | Answered::NotYet(observed) => observed,
            Answered::Silence => given_up(action.required_level),
        }
    }

    /// Asks for the evidence so often at most. An outcome that was unknown is known once the change
    /// log tells it.
    pub(crate) async fn evidence(
        &self,
        action: &Action,
        of: Of<'_>,
        (reported, attempts): (&mut Reported, u32),
    ) -> Observed {
        let mut left = given_up(action.required_level);
        for attempt in 1..=attempts {
            pass("witness.claimed");
            let answered = {
                let _place = self.place_to_read(action.required_level).await;
                let patience = self.parts.limits.readback_timeout;
                self.asked(action, of, (reported, patience)).await
            };
            match answered {
                Answered::Whole(observed) => return observed,
                Answered::NotYet(so_far) => left = so_far,
                Answered::Silence if attempt < attempts => {
                    self.parts.pause.pause(rest(attempt)).await;
                }
                Answered::Silence => {}
            }
        }
        pass("witness.last_attempt");
        left
    }

    /// A place among those who read back at once; whoever waits for a log keeps nobody from anything.
    async fn place_to_read(&self, level: Level) -> Option<tokio::sync::SemaphorePermit<'_>> {
        match level {
            // Nobody closes it, so that an error cannot be.
            Level::L1 => self.readers.acquire().await.ok(),
            Level::L0 | Level::L2 => None,
        }
    }

    /// Asks for the evidence once.
    async fn asked(
        &self,
        action: &Action,
        of: Of<'_>,
        (reported, patience): (&mut Reported, Duration),
    ) -> Answered {
        match action.required_level {
            Level::L0 => Answered::Whole(Observed::Nothing),
            Level::L1 => self.read_back(action, of, (reported, patience)).await,
            Level::L2 => self.read_log(action, of, (reported, patience)).await,
        }
    }

    /// What a separate reader finds.
    async fn read_back(
        &self,
        action: &Action,
        of: Of<'_>,
        (reported, patience): (&Reported, Duration),
    ) -> Answered {
        let Some(claim) = reported.claim() else {
            return Answered::Whole(Observed::Nothing);
        };
        match self.asked_of(action, of).await {
            Teller::Tool(tool) => match tool.read_back(claim, patience).await {
                Reading::Done(read) => Answered::Whole(Observed::ReadBack(read)),
                Reading::Unreachable => Answered::Silence,
            },
            Teller::Nobody => {
                let unread = ReadBack::Unread(ReadBackGap::NotOffered);
                Answered::Whole(Observed::ReadBack(unread))
            }
            Teller::Away => Answered::Silence,
        }
    }

    /// What the log tells of the run, and what that makes of its outcome.
    pub(crate) async fn read_log(
        &self,
        action: &Action,
        of: Of<'_>,
        (reported, patience): (&mut Reported, Duration),
    ) -> Answered {
        let Some(connector) = action.connector.as_ref().and_then(|connector| connector.id) else {
            let untold = LogAnswer::Untold(LogGap::DecoderOff);
            return Answered::Whole(Observed::ChangeLog(untold));
        };
        let sought = Sought {
            org: action.org,
            connector,
            action: action.id,
            trace: reported.measured().map(|measured| measured.trace.clone()),
            begun_at: action.execution.as_ref().and_then(|execution| execution.started_at),
        };
        let failed = matches!(reported.outcome, Outcome::Failed(_));
        // What certainly failed leaves nothing that would be worth waiting for.
        let patience_at_first = if failed { Duration::ZERO } else { patience };
        let Ok(mut answer) = self.parts.log.told(&sought, patience_at_first).await else {
            return Answered::Silence;
        };
        if let (LogAnswer::NotYet { read_to }, true) = (&answer, failed) {
            if let Some(last) = self.behind_a_failure(action, of, *read_to).await {
                return Answered::Whole(Observed::LastOfLog(last));
            }
            if !patience.is_zero() {
                let Ok(told) = self.parts.log.told(&sought, patience).await else {
                    return Answered::Silence;
                };
                answer = told;
            }
        }
        match (&answer, &reported.outcome) {
            (LogAnswer::NotYet { .. }, _) => {
                return Answered::NotYet(Observed::ChangeLog(answer));
            }
            (LogAnswer::Committed(_), Outcome::Unknown(_)) => reported.outcome = Outcome::Applied,
            (
                LogAnswer::NeverCommitted { .. },
                Outcome::Succeeded { .. } | Outcome::Applied | Outcome::Unknown(_),
            ) => {
                return self.never_committed(action, of, (reported, answer)).await;
            }
            (_, _) => {}
        }
        Answered::Whole(Observed::ChangeLog(answer))
    }

    /// What is told of a run that certainly failed and that the log, read so far, does not have. The ledger
    /// of the governed database keeps it from ever being committed from now on. Nothing where it has the
    /// run's row: then it was committed, whatever it says, and the log is going to tell of it.
    async fn behind_a_failure(
        &self,
        action: &Action,
        of: Of<'_>,
        read_to: Option<Lsn>,
    ) -> Option<LogAnswer> {
        let teller = self.asked_of(action, of).await;
        match self.settled(action, &teller).await {
            Settled::Applied => None,
            Settled::NotApplied => Some(match read_to {
                Some(read_to) => LogAnswer::NeverCommitted { read_to },
                None => LogAnswer::NotYet { read_to },
            }),
            Settled::Unknowable | Settled::Unreachable => Some(LogAnswer::NotYet { read_to }),
        }
    }

    /// The ledger in the governed database has the last word of a run that the log does not have: a
    /// row that stands there was committed, whatever the log lacks. Where it cannot be asked now, it may be
    /// asked again.
    async fn never_committed(
        &self,
        action: &Action,
        of: Of<'_>,
        (reported, answer): (&mut Reported, LogAnswer),
    ) -> Answered {
        let teller = self.asked_of(action, of).await;
        let answer = match self.settled(action, &teller).await {
            Settled::Applied => LogAnswer::Untold(LogGap::LedgerWithoutFrame),
            Settled::Unknowable => LogAnswer::Untold(LogGap::EvidenceGap),
            Settled::Unreachable => return Answered::Silence,
            Settled::NotApplied => {
                if let Outcome::Unknown(fault) = &reported.outcome {
                    reported.outcome = Outcome::Failed(fault.clone());
                }
                answer
            }
        };
        Answered::Whole(Observed::ChangeLog(answer))
    }

    async fn asked_of(&self, action: &Action, of: Of<'_>) -> Teller {
        match of {
            Of::Tool(tool) => Teller::Tool(Arc::clone(tool)),
            Of::Whoever => self.teller(action).await.unwrap_or(Teller::Away),
        }
    }
}

/// What is told of evidence that nobody answered for.
fn given_up(level: Level) -> Observed {
    match level {
        Level::L1 => Observed::ReadBack(ReadBack::Unread(ReadBackGap::GaveUp)),
        Level::L0 | Level::L2 => Observed::GaveUp,
    }
}

/// How long to wait behind so many questions that nobody answered.
fn rest(attempt: u32) -> Duration {
    let doublings = attempt.saturating_sub(1).min(8);
    FIRST_REST.saturating_mul(1 << doublings).min(LONGEST_REST)
}
