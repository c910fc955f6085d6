//! Lists of actions: every filter alone and combined, against a plain filter, page by page.

use std::{cmp::Reverse, time::Duration};

use gate::{ActionPlace, Filter, Page, ShadowDiffers};
use ledger::{
    Changes,
    record::{Action, Agent, Shadow},
};
use model::{
    DecisionOutcome, DeedId, ErrorCode, ExecutionStatus, Level, OrgId, State, Status, Timestamp,
    Verdict,
};
use serde_json::json;

use super::Store;
use crate::{Scribe, SeededEntropy, sample};

const ACTIONS: usize = 240;
const COMBINATIONS: usize = 400;

pub(super) async fn check(store: &dyn Store) {
    let (org, actions) = seed(store).await;
    let dice = SeededEntropy::new(600);
    let choices = Choices::of(&actions);
    let mut filters = choices.each_alone();
    filters.extend((0..COMBINATIONS).map(|_| choices.combined(&dice)));
    let mut let_through = 0;
    for filter in &filters {
        let expected: Vec<_> =
            actions.iter().filter(|action| passes(filter, action)).cloned().collect();
        let_through += usize::from(!expected.is_empty());
        let page = store.list(org, filter, None, ACTIONS + 1).await.unwrap();
        assert_same(&page.actions, &expected, filter);
        assert!(!page.has_more, "{filter:?}");
    }
    assert!(let_through * 3 > filters.len(), "too few combinations let anything through");
    let every = Filter::default();
    let some = Filter { states: vec![State::Sealed], ..Filter::default() };
    for filter in [every, some] {
        pages_join_to_the_whole_list(store, org, &actions, &filter).await;
    }
    let other = Scribe::created(602, store).await;
    let foreign = store.list(other.org, &Filter::default(), None, 10).await.unwrap();
    assert!(foreign.actions.is_empty() && !foreign.has_more);
}

async fn pages_join_to_the_whole_list(
    store: &dyn Store,
    org: OrgId,
    actions: &[Action],
    filter: &Filter,
) {
    let expected: Vec<_> =
        actions.iter().filter(|action| passes(filter, action)).cloned().collect();
    for limit in [1, 7, expected.len(), expected.len() + 1] {
        let mut joined: Vec<Action> = Vec::new();
        loop {
            let after = joined.last().map(place);
            let Page { actions, has_more } = store.list(org, filter, after, limit).await.unwrap();
            assert!(actions.len() == limit || !has_more, "a page that is not the last is full");
            joined.extend(actions);
            if !has_more {
                break;
            }
        }
        assert_same(&joined, &expected, filter);
    }
}

fn assert_same(found: &[Action], expected: &[Action], filter: &Filter) {
    let places = |actions: &[Action]| actions.iter().map(place).collect::<Vec<_>>();
    assert_eq!(places(found), places(expected), "{filter:?}");
    assert!(found == expected, "the rows differ for {filter:?}");
}

fn place(action: &Action) -> ActionPlace {
    ActionPlace { created_at: action.created_at, id: action.id }
}

/// Writes actions of every kind, many in the same millisecond, and returns them newest first.
async fn seed(store: &dyn Store) -> (OrgId, Vec<Action>) {
    let mut scribe = Scribe::created(601, store).await;
    let agents = ["one", "two", "three"].map(|name| scribe.agent(name));
    let start = scribe.now;
    let mut actions = Vec::new();
    for number in 0..ACTIONS {
        scribe.now = start + Duration::from_millis(scribe.dice.roll(40) * 1_000);
        actions.push(odd_action(&scribe, &agents, number));
    }
    scribe.now = start;
    let mut changes: Vec<_> = agents.into_iter().map(Changes::from).collect();
    changes.extend(actions.iter().map(|action| sample::begun(action.clone(), Vec::new())));
    scribe.append(store, changes).await.unwrap();
    actions.sort_by_key(|action| Reverse(place(action)));
    (scribe.org, actions)
}

const TOOLS: [&str; 8] = [
    "shop.read",
    "shop.refund",
    "shop.re%und",
    "shop_refund",
    "mail.send",
    "Shop.Refund",
    "no tool name: 役所 \\",
    "crm.shop.read_all",
];
const ON_BEHALF_OF: [&str; 3] = ["u-1", "U-1", "it's \"u\" %"];
const CODES: [&str; 3] = ["tool_timeout", "refund_gone", "undo_conflict"];

fn odd_action(scribe: &Scribe, agents: &[Agent], number: usize) -> Action {
    let (dice, mint) = (&scribe.dice, scribe.mint());
    let (request, _) = sample::request(&json!({ "number": number }), &mint);
    let mut action = sample::action(dice.pick(agents), request, &mint);
    (*dice.pick(&TOOLS)).clone_into(&mut action.tool);
    action.on_behalf_of = (dice.roll(2) == 0).then(|| (*dice.pick(&ON_BEHALF_OF)).to_owned());
    let deed = mint.id(DeedId::from_uuid);
    action = match dice.roll(6) {
        0 => action,
        1 => sample::denied(&action, deed),
        2 => sample::waiting(&action, mint.now() + Duration::from_hours(24), &mint),
        3 => failed(sample::sealed(&action, deed), dice),
        _ => sample::sealed(&action, deed),
    };
    if let (Some(witness), true) = (&mut action.witness, action.status == Status::Executed) {
        witness.verdict = *dice.pick(&[Verdict::Verified, Verdict::Mismatch]);
        witness.level = *dice.pick(Level::ALL);
    }
    if dice.roll(3) == 0 {
        action.decision.shadow = Some(Shadow {
            outcome: *dice.pick(DecisionOutcome::ALL),
            code: None,
            rule_id: None,
            policy: action.decision.policy,
            policy_version: action.decision.policy_version,
        });
    }
    action
}

fn failed(mut action: Action, dice: &SeededEntropy) -> Action {
    let code: ErrorCode = dice.pick(&CODES).parse().unwrap();
    action.status = Status::Failed;
    if let Some(execution) = &mut action.execution {
        (execution.status, execution.error_code) = (ExecutionStatus::Failed, Some(code));
    }
    action
}

/// The values that filters are made of: such as occur, and such as do not.
struct Choices {
    agents: Vec<model::AgentId>,
    moments: Vec<Timestamp>,
}

const GLOBS: [&str; 12] = [
    "shop.read",
    "shop.*",
    "*refund",
    "*",
    "shop.re%und",
    "shop_refund",
    "*.re*",
    "sh*p.*d",
    "nope.*",
    "*役所*",
    "*\\",
    "*_all",
];
const TEXTS: [&str; 8] = ["refund", "Refund", "re%", "_", "undo", "out", "役所 \\", "nothing"];

impl Choices {
    fn of(actions: &[Action]) -> Self {
        let mut agents: Vec<_> = actions.iter().map(|action| action.agent.id).collect();
        agents.sort();
        agents.dedup();
        agents.push(model::AgentId::from_uuid(uuid::Uuid::nil()));
        let mut moments: Vec<_> = actions.iter().map(|action| action.created_at).collect();
        moments.sort();
        moments.dedup();
        Self { agents, moments }
    }

    fn each_alone(&self) -> Vec<Filter> {
        let every = Filter::default;
        let mut filters = vec![every()];
        filters.push(Filter { shadow_differs: Some(ShadowDiffers), ..every() });
        filters.extend(self.agents.iter().map(|id| Filter { agent: Some(*id), ..every() }));
        filters.extend(GLOBS.map(|text| Filter { tool: Some(glob(text)), ..every() }));
        filters.extend(State::ALL.iter().map(|one| Filter { states: vec![*one], ..every() }));
        filters.extend(
            DecisionOutcome::ALL.iter().map(|one| Filter { decisions: vec![*one], ..every() }),
        );
        filters.extend(Verdict::ALL.iter().map(|one| Filter { verdicts: vec![*one], ..every() }));
        filters.extend(Level::ALL.iter().map(|one| Filter { levels: vec![*one], ..every() }));
        filters.extend(
            ON_BEHALF_OF.map(|text| Filter { on_behalf_of: Some(text.to_owned()), ..every() }),
        );
        filters.extend(TEXTS.map(|text| Filter { text: Some(text.to_owned()), ..every() }));
        for moment in self.moments.iter().step_by(9) {
            filters.push(Filter { from: Some(*moment), ..every() });
            filters.push(Filter { to: Some(*moment), ..every() });
        }
        filters
    }

    fn combined(&self, dice: &SeededEntropy) -> Filter {
        let asked = |chance| dice.roll(chance) == 0;
        let moment = || *dice.pick(&self.moments);
        Filter {
            agent: asked(5).then(|| *dice.pick(&self.agents)),
            tool: asked(3).then(|| glob(dice.pick::<&str>(&GLOBS))),
            states: some(dice, State::ALL),
            decisions: some(dice, DecisionOutcome::ALL),
            verdicts: some(dice, Verdict::ALL),
            levels: some(dice, Level::ALL),
            on_behalf_of: asked(8).then(|| (*dice.pick(&ON_BEHALF_OF)).to_owned()),
            from: asked(4).then(moment),
            to: asked(4).then(moment),
            text: asked(5).then(|| (*dice.pick(&TEXTS)).to_owned()),
            shadow_differs: asked(6).then_some(ShadowDiffers),
        }
    }
}

fn glob(text: &str) -> policy::Glob {
    policy::Glob::parse(text).unwrap()
}

/// Returns mostly nothing, which lets everything through, and now and then several values.
fn some<T: Copy>(dice: &SeededEntropy, all: &[T]) -> Vec<T> {
    if dice.roll(4) > 0 {
        return Vec::new();
    }
    all.iter().copied().filter(|_| dice.roll(3) > 0).collect()
}

/// The filters as the specification says them, one by one.
fn passes(filter: &Filter, action: &Action) -> bool {
    let witness = action.witness.as_ref();
    let code = action.execution.as_ref().and_then(|execution| execution.error_code.as_ref());
    let shadow = action.decision.shadow.as_ref();
    let checks = [
        filter.agent.is_none_or(|agent| agent == action.agent.id),
        filter.tool.as_ref().is_none_or(|glob| glob.is_match(&action.tool)),
        filter.states.is_empty() || filter.states.contains(&action.state),
        filter.decisions.is_empty() || filter.decisions.contains(&action.decision.outcome),
        filter.verdicts.is_empty()
            || witness.is_some_and(|witness| filter.verdicts.contains(&witness.verdict)),
        filter.levels.is_empty()
            || witness.is_some_and(|witness| filter.levels.contains(&witness.level)),
        filter.on_behalf_of.is_none() || filter.on_behalf_of == action.on_behalf_of,
        filter.from.is_none_or(|from| action.created_at >= from),
        filter.to.is_none_or(|to| action.created_at < to),
        filter.text.as_ref().is_none_or(|text| {
            action.tool.contains(text.as_str())
                || code.is_some_and(|code| code.as_str().contains(text.as_str()))
        }),
        filter.shadow_differs.is_none()
            || shadow.is_some_and(|shadow| shadow.outcome != action.decision.outcome),
    ];
    checks.into_iter().all(|passes| passes)
}
