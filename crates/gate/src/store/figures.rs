//! The store of counts of actions and of counters of budgets.

use std::{collections::BTreeMap, time::Duration};

use async_trait::async_trait;
use ledger::{StoreDown, record::Action};
use model::{ActionId, AgentId, DecisionOutcome, Level, OrgId, State, Status, Timestamp, Verdict};
use policy::Decimal;

use super::actions::Filter;

/// Actions are counted in slots of this length, so that a day of every time zone is made of whole
/// ones. A span begins, ends and is cut at the edges of slots.
pub const SLOT: Duration = Duration::from_mins(15);

/// So many of the newest actions are looked at one by one, where no count is kept of what is asked.
pub const LOOKED_AT: usize = 10_000;

/// When the actions were recorded that are counted, and how that time is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// From here on.
    pub from: Timestamp,
    /// Before this moment.
    pub to: Timestamp,
    /// The length of a part, a number of slots. Parts are laid from the epoch on.
    pub step: Duration,
}

impl Span {
    /// The span of whole parts that holds these moments.
    pub fn around(from: Timestamp, to: Timestamp, step: Duration) -> Self {
        let millis = i64::try_from(step.as_millis()).unwrap_or(i64::MAX).max(1);
        let below = |moment: Timestamp| moment.unix_millis().div_euclid(millis) * millis;
        let (start, last) = (below(from), below(to));
        let end = if last < to.unix_millis() { last.saturating_add(millis) } else { last };
        Self {
            from: Timestamp::from_unix_millis(start),
            to: Timestamp::from_unix_millis(end.max(start)),
            step,
        }
    }

    /// Where each part begins, the oldest first.
    pub fn parts(&self) -> impl Iterator<Item = Timestamp> {
        let (from, to) = (self.from.unix_millis(), self.to.unix_millis());
        let step = usize::try_from(self.step.as_millis()).unwrap_or(usize::MAX).max(1);
        (from..to).step_by(step).map(Timestamp::from_unix_millis)
    }

    /// The part that a moment lies in.
    pub fn part_of(&self, moment: Timestamp) -> Timestamp {
        Self::around(moment, moment, self.step).from
    }
}

/// What actions that are counted together have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Class {
    /// What became of them.
    pub status: Status,
    /// What was decided.
    pub outcome: DecisionOutcome,
    /// What was found of their runs.
    pub verdict: Option<Verdict>,
    /// On how much evidence.
    pub level: Option<Level>,
}

impl Class {
    /// The class of an action.
    pub fn of(action: &Action) -> Self {
        let witness = action.witness.as_ref();
        Self {
            status: action.status,
            outcome: action.decision.outcome,
            verdict: witness.map(|witness| witness.verdict),
            level: witness.map(|witness| witness.level),
        }
    }
}

/// Actions of one class in one part of a span, of which each cost something in one unit or nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tally {
    /// Where the part begins.
    pub at: Timestamp,
    /// The class.
    pub class: Class,
    /// How many there are.
    pub count: u64,
    /// The unit of their cost, and how much it is together.
    pub cost: Option<(String, Decimal)>,
}

/// What was counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Counted {
    /// Every class and part with an action in it.
    pub tallies: Vec<Tally>,
    /// Where the first part begins that was counted to its end: the begin of the span, or later
    /// where there are too many to look at.
    pub from: Timestamp,
    /// Whether what was sealed lately is in it. It may not be for the first minutes of a record that
    /// was not counted before.
    pub is_current: bool,
}

/// Counters of one budget in its window that runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Counters {
    /// What their names begin with, up to a comma.
    pub prefix: String,
    /// When the window began.
    pub window_start: Timestamp,
    /// Those behind this one.
    pub after: Option<String>,
    /// Only those that have reached four fifths of this.
    pub near: Option<Decimal>,
}

/// How far a step of counting came.
#[derive(Debug, Default)]
pub struct CountedUp {
    /// The last org that was come by, where there may be others behind it.
    pub last: Option<OrgId>,
    /// Whether one of them may have deeds that are still to be counted.
    pub has_more: bool,
    /// Why one of them was not counted, where that is so; it keeps nobody else from being counted.
    pub failed: Option<StoreDown>,
}

/// What is told of an agent beside its record.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AgentFigures {
    /// How many of its keys open something.
    pub keys: u64,
    /// Its newest action.
    pub last: Option<ActionId>,
}

impl AgentFigures {
    /// When it acted last.
    pub fn last_at(&self) -> Option<Timestamp> {
        self.last.map(recorded_at)
    }
}

/// When an action was recorded: its id begins with that moment.
pub(crate) fn recorded_at(action: ActionId) -> Timestamp {
    let millis = i64::try_from(action.as_uuid().as_u128() >> 80);
    millis.map_or(Timestamp::EPOCH, Timestamp::from_unix_millis)
}

/// How a counter stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CounterState {
    /// The place of its budget among those that were asked for.
    pub asked: usize,
    /// Its name.
    pub key: String,
    /// What all calls took that count.
    pub taken: Decimal,
    /// The part of it that calls took which have not ended; they may give it back.
    pub reserved: Decimal,
}

/// What waits for people.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Waiting {
    /// How many calls there are.
    pub count: u64,
    /// Those that expire first, the first to expire first.
    pub first: Vec<Action>,
}

/// Where numbers are read.
#[async_trait]
pub trait FigureStore: Send + Sync {
    /// The actions that the filter lets through and the span holds, counted. What the filter says
    /// of time is not looked at.
    async fn counted(&self, org: OrgId, filter: &Filter, span: Span) -> Result<Counted, StoreDown>;

    /// Brings the counts that are kept of up to `orgs` orgs behind this one further, by up to `deeds`
    /// deeds of each.
    async fn count_up(
        &self,
        after: Option<OrgId>,
        orgs: usize,
        deeds: usize,
    ) -> Result<CountedUp, StoreDown>;

    /// Up to `limit` agents of the org that acted last, the latest first, each with the action.
    async fn last_to_act(
        &self,
        org: OrgId,
        limit: usize,
    ) -> Result<Vec<(AgentId, ActionId)>, StoreDown>;

    /// What is to be told of these agents of the org beside their records, at this moment.
    async fn of_agents(
        &self,
        org: OrgId,
        agents: &[AgentId],
        now: Timestamp,
    ) -> Result<BTreeMap<AgentId, AgentFigures>, StoreDown>;

    /// Up to `limit` counters in the order in which they are asked for and then by name, byte by
    /// byte.
    async fn counters(
        &self,
        org: OrgId,
        asked: &[Counters],
        limit: usize,
    ) -> Result<Vec<CounterState>, StoreDown>;

    /// The calls that wait for people now: how many there are, and up to `limit` that expire first.
    async fn waiting(&self, org: OrgId, limit: usize) -> Result<Waiting, StoreDown>;
}

/// Whether counts are kept of what the filter asks for.
pub fn is_kept(filter: &Filter) -> bool {
    let Filter {
        agent: _,
        tool,
        states: _,
        decisions: _,
        verdicts: _,
        levels: _,
        on_behalf_of,
        from: _,
        to: _,
        text,
        shadow_differs,
    } = filter;
    tool.is_none() && on_behalf_of.is_none() && text.is_none() && shadow_differs.is_none()
}

/// Whether an action of this state and class passes what the filter says of those.
pub fn lets_through(filter: &Filter, state: State, class: Class) -> bool {
    fn any<T: PartialEq>(wanted: &[T], value: Option<T>) -> bool {
        wanted.is_empty() || value.is_some_and(|value| wanted.contains(&value))
    }
    any(&filter.states, Some(state))
        && any(&filter.decisions, Some(class.outcome))
        && any(&filter.verdicts, class.verdict)
        && any(&filter.levels, class.level)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        Timestamp::parse_rfc3339(text).unwrap()
    }

    #[test]
    fn a_span_is_widened_to_whole_parts_and_cut_into_them() {
        let hour = Duration::from_hours(1);
        let span = Span::around(at("2026-10-01T10:20:00Z"), at("2026-10-01T12:00:00.001Z"), hour);
        assert_eq!(span.from, at("2026-10-01T10:00:00Z"));
        assert_eq!(span.to, at("2026-10-01T13:00:00Z"));
        let parts: Vec<_> = span.parts().collect();
        let due = ["2026-10-01T10:00:00Z", "2026-10-01T11:00:00Z", "2026-10-01T12:00:00Z"];
        assert_eq!(parts, due.map(at));
        assert_eq!(span.part_of(at("2026-10-01T11:59:59.999Z")), at(due[1]));
        let whole = Span::around(span.from, span.to, hour);
        assert_eq!(whole, span);
        let old = Span::around(at("1969-12-31T23:50:00Z"), at("1969-12-31T23:50:00Z"), hour);
        assert_eq!(old.from, at("1969-12-31T23:00:00Z"));
    }
}
