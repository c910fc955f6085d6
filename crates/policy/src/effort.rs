//! How much work somebody waits for. It knows no threads and no clock: long work asks it between
//! two calls, or between two steps of a search, whether to go on.

use std::sync::{
    Arc, OnceLock,
    atomic::{AtomicU64, Ordering::Relaxed},
};

/// An end to the work that many decisions together may take, and a way to end it sooner. Clones
/// speak of the same work.
///
/// A step is what a decision's own bound counts: a node of an expression, a turn of a loop, 64
/// bytes that are read. Every call takes at least one. A proof is bounded by the cubes that it
/// looks at, and of an effort asks only whether anybody still waits.
///
/// ```
/// use policy::{Effort, EffortError, Policy, STARTER, read_suite};
///
/// let policy = Policy::compile(STARTER)?;
/// let suite = read_suite(
///     "{ now: 2026-10-01T12:00:00Z, agents: { bot: {} }, calls: { any: { tool: a.b } },
///        cases: [{ agent: bot, call: any, steps: [{ repeat: 100, expect: {} }] }] }",
/// )?;
/// assert!(suite.run_within(&policy, &Effort::of_steps(100_000)).is_ok());
/// assert_eq!(suite.run_within(&policy, &Effort::of_steps(99)), Err(EffortError::TooMuch));
/// # Ok::<(), policy::DocumentError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Effort(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    left: AtomicU64,
    ended: OnceLock<EffortError>,
}

/// Why work ended before it was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum EffortError {
    /// It takes more steps than there were.
    #[error("it takes more steps than are allowed")]
    TooMuch,
    /// Nobody waits for it.
    #[error("no client waits for it any longer")]
    Stopped,
}

impl Effort {
    /// As much as it takes.
    pub fn unbounded() -> Self {
        Self::of_steps(u64::MAX)
    }

    /// So many steps.
    pub fn of_steps(steps: u64) -> Self {
        Self(Arc::new(Shared { left: AtomicU64::new(steps), ended: OnceLock::new() }))
    }

    /// Ends the work where it next asks.
    pub fn stop(&self) {
        // Where it has ended already, the first reason stays.
        let _ = self.0.ended.set(EffortError::Stopped);
    }

    /// The steps that are left.
    pub fn steps_left(&self) -> u64 {
        self.0.left.load(Relaxed)
    }

    /// Fails once the work was ended.
    pub(crate) fn check(&self) -> Result<(), EffortError> {
        self.0.ended.get().map_or(Ok(()), |reason| Err(*reason))
    }

    /// Takes the steps that a call took, or all that are left and ends the work.
    pub(crate) fn spend(&self, steps: usize) {
        let steps = u64::try_from(steps).unwrap_or(u64::MAX);
        let before =
            self.0.left.fetch_update(Relaxed, Relaxed, |left| Some(left.saturating_sub(steps)));
        if before.is_ok_and(|left| left < steps) {
            let _ = self.0.ended.set(EffortError::TooMuch);
        }
    }
}

#[cfg(all(test, feature = "prover"))]
mod tests {
    use super::*;
    use crate::{Policy, STARTER, Unknown, diff_within, lint_within, parse, read_suite};

    #[test]
    fn work_ends_where_its_steps_or_its_callers_end() {
        let (policy, document) = (Policy::compile(STARTER).unwrap(), parse(STARTER).unwrap());
        let suite = "{ now: 2026-10-01T12:00:00Z, agents: { bot: {} }, calls: { a: { tool: a.b } }, \
                     cases: [{ agent: bot, call: a, steps: [{ repeat: 50, expect: {} }] }] }";
        let suite = read_suite(suite).unwrap();
        let whole = Effort::unbounded();
        assert_eq!(suite.run_within(&policy, &whole).unwrap(), suite.run(&policy));
        let needed = u64::MAX - whole.steps_left();
        assert!(needed >= 50, "{needed}");
        assert!(suite.run_within(&policy, &Effort::of_steps(needed)).is_ok());
        let short = Effort::of_steps(needed - 1);
        assert_eq!(suite.run_within(&policy, &short), Err(EffortError::TooMuch));
        let stopped = Effort::of_steps(needed);
        stopped.clone().stop();
        assert_eq!(suite.run_within(&policy, &stopped), Err(EffortError::Stopped));
        assert_eq!(stopped.steps_left(), needed, "no call was decided");
        let judged = lint_within(&document, &Unknown, &Unknown, &stopped);
        assert_eq!(judged, Err(EffortError::Stopped));
        let compared = diff_within(&policy, &policy, &Unknown, &stopped);
        assert_eq!(compared, Err(EffortError::Stopped));
    }
}
