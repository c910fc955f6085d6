//! What can lead a list to its actions: one filter and its values.

use gate::Filter;
use model::{DecisionOutcome, Level, State, Verdict};

use super::sql;

/// One way to the actions of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Driver {
    /// All of them.
    Newest,
    /// Those of an agent.
    Agent(String),
    /// Those of these tools.
    Tools(Vec<String>),
    /// Those on behalf of this reference.
    OnBehalfOf(String),
    /// Those decided in one of these ways.
    Decided(Vec<String>),
    /// Those in one of these states, none of them `sealed`.
    Unsealed(Vec<String>),
    /// Those with one of these pairs of verdict and level.
    Witnessed(Vec<String>, Vec<String>),
    /// Those whose shadow decision differs.
    ShadowDiffers,
    /// Those of these tools, and those with these error codes.
    Named(Vec<String>, Vec<String>),
}

/// The drivers that a filter has.
pub(super) struct Drivers {
    /// Those with values that the filter tells.
    pub(super) plain: Vec<Driver>,
    /// Whether names must be looked up for another.
    pub(super) by_name: bool,
}

impl Drivers {
    /// The drivers of this filter.
    pub(super) fn of(filter: &Filter) -> Self {
        let literal = filter.tool.as_ref().and_then(policy::Glob::literal);
        let evidence = !filter.verdicts.is_empty() || !filter.levels.is_empty();
        let unsealed = !filter.states.is_empty() && !filter.states.contains(&State::Sealed);
        let decided = !filter.decisions.is_empty();
        let drivers = [
            filter.agent.map(|id| Driver::Agent(id.as_uuid().to_string())),
            literal.map(|name| Driver::Tools(vec![name.to_owned()])),
            filter.on_behalf_of.clone().map(Driver::OnBehalfOf),
            decided.then(|| Driver::Decided(texts(&filter.decisions, DecisionOutcome::as_str))),
            unsealed.then(|| Driver::Unsealed(texts(&filter.states, State::as_str))),
            evidence.then(|| witnessed(filter)),
            filter.shadow_differs.map(|_| Driver::ShadowDiffers),
        ];
        let by_name = filter.text.is_some() || (filter.tool.is_some() && literal.is_none());
        Self { plain: drivers.into_iter().flatten().collect(), by_name }
    }

    /// The driver when there is nothing to choose.
    pub(super) fn only(&self) -> Option<&Driver> {
        match (self.plain.as_slice(), self.by_name) {
            ([], false) => Some(&Driver::Newest),
            ([driver], false) => Some(driver),
            (_, _) => None,
        }
    }
}

impl Driver {
    /// The statements that go by it.
    pub(super) fn sql(&self) -> &'static sql::Statements {
        match self {
            Self::Newest => &sql::ALL,
            Self::Agent(_) => &sql::OF_AGENT,
            Self::Tools(_) => &sql::OF_TOOLS,
            Self::OnBehalfOf(_) => &sql::ON_BEHALF_OF,
            Self::Decided(_) => &sql::DECIDED,
            Self::Unsealed(_) => &sql::UNSEALED,
            Self::Witnessed(..) => &sql::WITNESSED,
            Self::ShadowDiffers => &sql::SHADOW_DIFFERS,
            Self::Named(..) => &sql::NAMED,
        }
    }

    /// Its values, and the second ones that go with them.
    pub(super) fn values(&self) -> (Vec<String>, Vec<String>) {
        match self {
            // One empty value, for the statement goes once for each.
            Self::Newest | Self::ShadowDiffers => (vec![String::new()], Vec::new()),
            Self::Agent(value) | Self::OnBehalfOf(value) => (vec![value.clone()], Vec::new()),
            Self::Tools(values) | Self::Decided(values) | Self::Unsealed(values) => {
                (values.clone(), Vec::new())
            }
            Self::Witnessed(values, others) | Self::Named(values, others) => {
                (values.clone(), others.clone())
            }
        }
    }

    /// Whether there is not one value to look for.
    pub(super) fn finds_nothing(&self) -> bool {
        let (values, others) = self.values();
        values.is_empty() && others.is_empty()
    }
}

/// Every pair of the verdicts and levels that are let through.
fn witnessed(filter: &Filter) -> Driver {
    fn or_all<T: Copy>(wanted: &[T], all: &[T]) -> Vec<T> {
        if wanted.is_empty() { all.to_vec() } else { wanted.to_vec() }
    }
    let levels = texts(&or_all(&filter.levels, Level::ALL), Level::as_str);
    let verdicts = texts(&or_all(&filter.verdicts, Verdict::ALL), Verdict::as_str);
    let pairs =
        verdicts.iter().flat_map(|verdict| levels.iter().map(move |level| (verdict, level)));
    let (verdicts, levels) = pairs.map(|(verdict, level)| (verdict.clone(), level.clone())).unzip();
    Driver::Witnessed(verdicts, levels)
}

/// The words of the values, each once.
fn texts<T: Copy>(values: &[T], word: fn(T) -> &'static str) -> Vec<String> {
    let words: std::collections::BTreeSet<_> = values.iter().map(|value| word(*value)).collect();
    words.into_iter().map(str::to_owned).collect()
}
