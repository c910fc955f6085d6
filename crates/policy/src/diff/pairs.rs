//! Which ends of two versions can be told apart by a call.
//!
//! Rules that stand in both versions in the same order say the same of the same calls. A call that
//! the versions decide differently therefore ends, in one of them, at a rule that is not among
//! these, or at a default that changed.

use std::collections::HashSet;

use super::end::End;
use crate::{
    document::{Document, Rule},
    glob::Glob,
    prove::essence,
};

/// The most rules of one version that are lined up one by one with those of the other; more of them
/// in one changed stretch count as changed.
const MOST_LINED_UP: usize = 2_000;

/// The pairs of ends of which one at least changed and that calls may share.
pub(super) fn pairs<'p>(
    before: &'p Document,
    after: &'p Document,
) -> impl Iterator<Item = (End<'p>, End<'p>)> {
    let (kept_before, kept_after) = kept(&before.rules, &after.rules);
    let is_default_kept = before.default.outcome == after.default.outcome;
    let ones = ends(&before.rules, &kept_before, is_default_kept.into());
    let others = ends(&after.rules, &kept_after, is_default_kept.into());
    // What changed on one side is looked at first, against everything on the other.
    ones.into_iter().flat_map(move |(one, one_kept)| {
        let others = others.clone().into_iter();
        others.filter_map(move |(other, other_kept)| {
            let both_kept = one_kept == Kept::Yes && other_kept == Kept::Yes;
            (!both_kept && may_meet(&one, &other)).then_some((one, other))
        })
    })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kept {
    Yes,
    No,
}

impl From<bool> for Kept {
    fn from(is_kept: bool) -> Self {
        if is_kept { Self::Yes } else { Self::No }
    }
}

fn ends<'p>(rules: &'p [Rule], kept: &HashSet<usize>, default: Kept) -> Vec<(End<'p>, Kept)> {
    let mut ends = Vec::new();
    for (place, rule) in rules.iter().enumerate() {
        let is_kept = Kept::from(kept.contains(&place));
        ends.push((End::Decides(place, rule), is_kept));
        if rule.when.is_some() {
            ends.push((End::Fails(place, rule), is_kept));
        }
    }
    ends.push((End::Default, default));
    ends
}

/// Whether the patterns of both may cover one tool.
fn may_meet(one: &End<'_>, other: &End<'_>) -> bool {
    let (Some(one), Some(other)) = (rule(one), rule(other)) else { return true };
    one.globs.iter().any(|glob| other.globs.iter().any(|another| glob.overlaps(another)))
}

fn rule<'p>(end: &End<'p>) -> Option<&'p Rule> {
    match end {
        End::Decides(_, rule) | End::Fails(_, rule) => Some(rule),
        End::Default => None,
    }
}

/// The places of the rules that both versions have in the same order.
fn kept(before: &[Rule], after: &[Rule]) -> (HashSet<usize>, HashSet<usize>) {
    let before: Vec<String> = before.iter().map(saying).collect();
    let after: Vec<String> = after.iter().map(saying).collect();
    let start = before.iter().zip(&after).take_while(|(one, other)| one == other).count();
    let rest = before.len().min(after.len()) - start;
    let end = before
        .iter()
        .rev()
        .zip(after.iter().rev())
        .take(rest)
        .take_while(|(one, other)| one == other)
        .count();
    let mut both: Vec<(usize, usize)> = (0..start).map(|place| (place, place)).collect();
    both.extend((1..=end).map(|back| (before.len() - back, after.len() - back)));
    let middles = (before.get(start..before.len() - end), after.get(start..after.len() - end));
    if let (Some(one), Some(other)) = middles
        && one.len().max(other.len()) <= MOST_LINED_UP
    {
        let lined_up = common(one, other);
        both.extend(lined_up.into_iter().map(|(one, other)| (start + one, start + other)));
    }
    both.into_iter().unzip()
}

/// What a rule does, without its id, its reason and who approves.
fn saying(rule: &Rule) -> String {
    let globs: Vec<&str> = rule.globs.iter().map(Glob::as_str).collect();
    let when = rule.when.as_ref().map(|when| essence(when.expr()));
    format!("{} {globs:?} {when:?}", rule.outcome.as_str())
}

/// The longest common subsequence, as pairs of places.
fn common(one: &[String], other: &[String]) -> Vec<(usize, usize)> {
    let width = other.len() + 1;
    let mut lengths = vec![0_u16; (one.len() + 1) * width];
    let at = |lengths: &[u16], row: usize, column: usize| {
        lengths.get(row * width + column).copied().unwrap_or_default()
    };
    for (row, left) in one.iter().enumerate().rev() {
        for (column, right) in other.iter().enumerate().rev() {
            let best = if left == right {
                at(&lengths, row + 1, column + 1) + 1
            } else {
                at(&lengths, row + 1, column).max(at(&lengths, row, column + 1))
            };
            lengths.get_mut(row * width + column).into_iter().for_each(|place| *place = best);
        }
    }
    let (mut row, mut column, mut pairs) = (0, 0, Vec::new());
    while let (Some(left), Some(right)) = (one.get(row), other.get(column)) {
        if left == right {
            pairs.push((row, column));
            (row, column) = (row + 1, column + 1);
        } else if at(&lengths, row + 1, column) >= at(&lengths, row, column + 1) {
            row += 1;
        } else {
            column += 1;
        }
    }
    pairs
}
