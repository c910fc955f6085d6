//! Searches the ways in which goals can be met for a call that the evaluator confirms, or shows that
//! there is none.

use super::{
    cube::Cube,
    goal::{Goal, Step, Way},
    split::ways,
    witness,
};
use crate::{call::Call, catalog::KnownTool, document::Rule, effort::Effort};

/// The most cubes that one question may look at.
const MAX_CUBES: usize = 4_096;

/// What the evaluator says of a call that a cube led to.
pub(crate) enum Judgement<'p> {
    /// It is what was asked for.
    Yes,
    /// It is not, because this rule took it; calls that pass the rule may be.
    TakenBy(&'p Rule),
    /// It is not.
    No,
}

/// What came of a question.
#[derive(Debug)]
pub(crate) enum Answer<'p> {
    /// There is such a call.
    Example(Box<Call>),
    /// There is none; these rules took those there would have been.
    Never(Vec<&'p Rule>),
    /// Neither was shown.
    NotProven,
}

/// Answers questions, all of them together within a bound of work.
pub(crate) struct Prover<'p> {
    tools: &'p [KnownTool],
    cubes: usize,
    effort: Effort,
}

/// What came of the calls that a cube led to.
enum Tried<'p> {
    Yes(Box<Call>),
    TakenBy(&'p Rule),
    No,
}

/// One point of the search: what is known, and what is still to be met.
struct Node<'p> {
    cube: Cube<'p>,
    goals: Vec<Goal<'p>>,
    /// How many of the rules that took a call are among the goals already.
    passed: usize,
}

impl<'p> Prover<'p> {
    /// A prover that looks at so many cubes in all, for as long as the effort lasts.
    pub(crate) fn new(tools: &'p [KnownTool], cubes: usize, effort: &Effort) -> Self {
        Self { tools, cubes, effort: effort.clone() }
    }

    /// Whether the work was ended; every answer is then that nothing is proven.
    pub(crate) fn is_ended(&self) -> bool {
        self.effort.check().is_err()
    }

    /// A call that meets the goals and that the judge confirms, when there is one.
    pub(crate) fn ask(
        &mut self,
        goals: Vec<Goal<'p>>,
        judge: impl Fn(&Call) -> Judgement<'p>,
    ) -> Answer<'p> {
        let mut left = MAX_CUBES.min(self.cubes);
        let mut open = vec![Node { cube: Cube::default(), goals, passed: 0 }];
        let mut takers: Vec<&'p Rule> = Vec::new();
        let mut is_certain = true;
        while let Some(node) = open.pop() {
            let Some(rest) = left.checked_sub(1).filter(|_| !self.is_ended()) else {
                return Answer::NotProven;
            };
            left = rest;
            self.cubes = self.cubes.saturating_sub(1);
            let Some(mut leaf) = settle(node, &mut open) else { continue };
            if leaf.passed < takers.len() {
                let more = takers.get(leaf.passed..).unwrap_or_default();
                leaf.goals.extend(more.iter().map(|rule| Goal::Passes(rule)));
                leaf.passed = takers.len();
                open.push(leaf);
                continue;
            }
            match self.try_out(&leaf.cube, &takers, &judge) {
                Tried::Yes(sample) => return Answer::Example(sample),
                Tried::TakenBy(rule) => {
                    takers.push(rule);
                    open.push(leaf);
                }
                Tried::No => is_certain = false,
            }
        }
        if is_certain { Answer::Never(takers) } else { Answer::NotProven }
    }

    /// What comes of the calls that the cube leads to: the best that any of them gives.
    fn try_out(
        &self,
        cube: &Cube<'p>,
        takers: &[&'p Rule],
        judge: &impl Fn(&Call) -> Judgement<'p>,
    ) -> Tried<'p> {
        let mut taker = None;
        for sample in witness::samples(cube, self.tools) {
            if self.is_ended() {
                return Tried::No;
            }
            match judge(&sample) {
                Judgement::Yes => return Tried::Yes(Box::new(sample)),
                // A rule that was to be passed took it: the call does not lie in the cube.
                Judgement::TakenBy(rule) => {
                    let is_new = !takers.iter().any(|known| std::ptr::eq(*known, rule));
                    taker = taker.or(is_new.then_some(rule));
                }
                Judgement::No => {}
            }
        }
        taker.map_or(Tried::No, Tried::TakenBy)
    }
}

/// Meets every goal that can be met in one way only; where one can be met in several, opens a node
/// for each and returns nothing.
fn settle<'p>(node: Node<'p>, open: &mut Vec<Node<'p>>) -> Option<Node<'p>> {
    let Node { mut cube, mut goals, passed } = node;
    // Goals with several ways are set aside until the others have narrowed the cube.
    let mut aside: Vec<Goal<'p>> = Vec::new();
    loop {
        let Some(goal) = goals.pop() else {
            let Some(goal) = aside.pop() else { return Some(Node { cube, goals, passed }) };
            let mut left: Vec<(Cube<'p>, Vec<Goal<'p>>)> =
                ways(&goal, &cube).into_iter().filter_map(|way| apply(&cube, way)).collect();
            if left.len() == 1 {
                (cube, goals) = left.pop()?;
                continue;
            }
            // The first way is looked at first.
            open.extend(left.into_iter().rev().map(|(cube, own)| Node {
                cube,
                goals: aside.iter().cloned().chain(own).collect(),
                passed,
            }));
            return None;
        };
        let mut found = ways(&goal, &cube);
        if found.len() > 1 {
            aside.push(goal);
            continue;
        }
        let (next, own) = apply(&cube, found.pop()?)?;
        cube = next;
        goals.extend(own);
    }
}

/// The cube with what the way needs, and the goals that are left; nothing when nothing is.
fn apply<'p>(cube: &Cube<'p>, way: Way<'p>) -> Option<(Cube<'p>, Vec<Goal<'p>>)> {
    let mut cube = cube.clone();
    let mut goals = Vec::new();
    for step in way {
        match step {
            Step::Goal(goal) => goals.push(goal),
            Step::Limit(term, limit) => {
                if !cube.add(&term, limit) {
                    return None;
                }
            }
            Step::Element(list) => cube.lists.push(list),
            Step::Hint(text) => cube.hints.push(text),
        }
    }
    Some((cube, goals))
}
