//! What searches of an org's deeds and of its history have in common: both are narrowed by the actions
//! that they are about.
//!
//! A filter on actions is answered in one of two ways: while few actions pass it, their rows are
//! looked up one by one; once many do, the log is read backwards and most rows pass. Either way the
//! work stays small in a log of millions.

use ledger::StoreDown;
use model::{AgentId, OrgId, Timestamp, Verdict};
use records::{CallFilter, Subject, Window};
use uuid::Uuid;

use crate::{
    PostgresStore,
    database::Call,
    list::words,
    rows::{Cells, bigint, system_time},
};

/// The condition of a filter on an action.
macro_rules! called {
    () => {
        "($2::uuid is null or agent_id = $2)
        and ($3::text is null or tool like $3)
        and ($4::text[] is null or verdict = any($4))
        and ($5::text is null or strpos(tool, $5) > 0)"
    };
}

/// Up to so many actions are few.
const FEW: i64 = 5_000;

/// The actions that pass a filter.
pub(crate) enum Calls {
    /// These, all of them.
    Few(Vec<Uuid>),
    /// More than are worth looking up one by one, or every action.
    Many,
}

/// A search of a log.
pub(crate) struct Search<'a> {
    pub(crate) org: OrgId,
    /// The kinds of rows; `None` for every kind.
    pub(crate) kinds: Option<Vec<&'static str>>,
    pub(crate) agent: Option<AgentId>,
    pub(crate) subject: Option<&'a Subject>,
    /// The text by which a row is known that is about something else than an action.
    pub(crate) mark: fn(&str) -> String,
    pub(crate) calls: &'a CallFilter,
    pub(crate) window: Window,
}

impl<'a> Search<'a> {
    /// A call of this statement with the values that every search takes, `$1` to `$13`: the org, the
    /// first place and the end, kinds, agent, action, the mark of another subject, ids of few actions,
    /// whether many are looked at by the filters that follow, tool, verdicts and text, and the limit.
    pub(crate) fn call(self, sql: &'static str, calls: &'a Calls) -> Call<'a> {
        let (action, other) = match self.subject {
            Some(Subject::Action(action)) => (Some(*action.as_uuid()), None),
            Some(Subject::Other(id)) => (None, Some((self.mark)(id))),
            None => (None, None),
        };
        let (few, many) = match calls {
            Calls::Few(actions) => (Some(actions.as_slice()), false),
            Calls::Many => (None, !self.calls.is_empty()),
        };
        let Window { places: (first, end), limit } = self.window;
        let CallFilter { tool, verdicts, text } = self.calls;
        Call::new(sql)
            .with(*self.org.as_uuid())
            .with(bigint(first))
            .with(bigint(end))
            .with(self.kinds)
            .with(self.agent.map(|id| *id.as_uuid()))
            .with(action)
            .with(other)
            .with(few)
            .with(many)
            .with(tool.as_ref().map(policy::Glob::to_like))
            .with(words(verdicts, Verdict::as_str))
            .with(text.as_deref())
            .with(i64::try_from(limit).unwrap_or(i64::MAX))
    }
}

impl PostgresStore {
    /// The actions that pass, if they are few.
    pub(crate) async fn few_calls(
        &self,
        org: OrgId,
        agent: Option<AgentId>,
        calls: &CallFilter,
    ) -> Result<Calls, StoreDown> {
        let attempt = "look for the actions that a list is about";
        let CallFilter { tool, verdicts, text } = calls;
        let call = Call::new(CALLS)
            .with(*org.as_uuid())
            .with(agent.map(|id| *id.as_uuid()))
            .with(tool.as_ref().map(policy::Glob::to_like))
            .with(words(verdicts, Verdict::as_str))
            .with(text.as_deref())
            .with(FEW + 1);
        let rows = self.reading.ask_planned(attempt, call).await?;
        if i64::try_from(rows.len()).is_ok_and(|count| count > FEW) {
            return Ok(Calls::Many);
        }
        let ids = rows.iter().map(|row| Cells::of("action", row).get("id"));
        ids.collect::<Result<_, _>>().map(Calls::Few).map_err(|fault| fault.down(attempt))
    }

    /// The first place whose moment is not before this one, by a statement that halves
    /// the places: moments follow the order of places.
    pub(crate) async fn first_at(
        &self,
        attempt: &'static str,
        sql: &'static str,
        (org, moment): (OrgId, Timestamp),
    ) -> Result<u64, StoreDown> {
        let call = Call::new(sql).with(*org.as_uuid()).with(system_time(moment));
        let rows = self.reading.ask_one(attempt, call).await?;
        let place = rows.first().map(|row| Cells::of("deed", row).count("place")).transpose();
        place.map(Option::unwrap_or_default).map_err(|fault| fault.down(attempt))
    }
}

const CALLS: &str = concat!(
    "select id from action where org_id = $1 and state = 'sealed' and ",
    called!(),
    " union all select id from action where org_id = $1 and state <> 'sealed' and ",
    called!(),
    " limit $6"
);
