//! The checks of deeds as a part of their log: order, links, tree, and a checkpoint from before.

use std::collections::{HashMap, HashSet};

use model::{Digest, Mode};

use super::{
    Grade, Link, Trust,
    checks::{CheckId, Checks, ensure},
};
use crate::{
    chain::genesis_digest,
    checkpoint::Checkpoint,
    content::{ActionContent, AmendmentContent, Changes, Content, Execution, Run, Witness},
    honesty,
    tree::{Frontier, TreeHead, leaf_hash},
};

/// Runs every check that concerns the deeds' places in their log.
pub(super) fn check(links: &[Link], trust: &Trust, checks: &mut Checks) {
    checks.shown(Grade::Signed);
    if let Some(first) = links.first().filter(|first| first.body.seq == 0) {
        checks.outcome(CheckId::Prev, starts_right(first));
    }
    if links.len() > 1 {
        checks.shown(Grade::Chained);
        checks.outcome(CheckId::Sequence, pairs(links).try_for_each(next_place));
        checks.outcome(CheckId::Prev, pairs(links).try_for_each(linked));
    }
    check_scattered(links, checks);
    if let Some(known) = &trust.known_checkpoint {
        check_checkpoint(links, known, trust, checks);
    }
    if let Some(expected) = trust.expected_size {
        let size = links.last().map_or(0, |last| last.body.seq + 1);
        checks.outcome(
            CheckId::Size,
            ensure(size == expected, || {
                format!("expected a log of {expected} deeds, the last deed makes it {size}")
            }),
        );
    }
}

/// Runs the checks of deeds of one log that need not follow each other.
pub(super) fn check_scattered(links: &[Link], checks: &mut Checks) {
    if links.len() > 1 {
        checks.outcome(CheckId::Log, pairs(links).try_for_each(one_log));
        checks.outcome(CheckId::Time, pairs(links).try_for_each(not_earlier));
        checks.outcome(CheckId::Unique, unique(links));
    }
    if links.iter().any(|link| matches!(link.body.content, Content::Amendment(_))) {
        checks.outcome(CheckId::Amends, amends(links));
    }
}

fn pairs(links: &[Link]) -> impl Iterator<Item = &[Link; 2]> {
    links.windows(2).filter_map(|pair| pair.try_into().ok())
}

fn starts_right(first: &Link) -> Result<(), String> {
    let genesis = genesis_digest(&first.body.log);
    if first.body.prev == genesis {
        Ok(())
    } else {
        Err("deed 0: `prev` is not the genesis digest of its log".to_owned())
    }
}

fn one_log([before, after]: &[Link; 2]) -> Result<(), String> {
    if (&before.body.log, before.body.org) == (&after.body.log, after.body.org) {
        Ok(())
    } else {
        Err(format!("deed {} is of another log or org than the one before", after.body.seq))
    }
}

fn next_place([before, after]: &[Link; 2]) -> Result<(), String> {
    let (last, next) = (before.body.seq, after.body.seq);
    if next == last + 1 { Ok(()) } else { Err(format!("deed {next} follows deed {last}")) }
}

fn linked([before, after]: &[Link; 2]) -> Result<(), String> {
    if after.body.prev == before.digest {
        Ok(())
    } else {
        Err(format!("deed {}: `prev` is not the digest of the deed before", after.body.seq))
    }
}

fn not_earlier([before, after]: &[Link; 2]) -> Result<(), String> {
    if before.body.issued_at <= after.body.issued_at {
        Ok(())
    } else {
        Err(format!("deed {} was issued before the one that it follows", after.body.seq))
    }
}

fn unique(links: &[Link]) -> Result<(), String> {
    let mut seen = HashSet::new();
    let twice = links.iter().find(|link| !seen.insert(link.body.id));
    twice.map_or(Ok(()), |link| Err(format!("the id `{}` stands twice", link.body.id)))
}

/// An amendment whose deed is not among these is taken at its word.
fn amends(links: &[Link]) -> Result<(), String> {
    let mut first: HashMap<u64, &Link> = HashMap::new();
    let mut views: HashMap<u64, View> = HashMap::new();
    links.iter().try_for_each(|link| {
        let seq = link.body.seq;
        match &link.body.content {
            Content::Action(action) => {
                views.extend(View::of(action).map(|view| (seq, view)));
            }
            Content::Amendment(amendment) => {
                let named = amendment.amends.seq;
                if let Some(amended) = first.get(&named) {
                    let fault = |why| format!("deed {seq} amends deed {named}: {why}");
                    names(link, amendment, amended).map_err(fault)?;
                    follow(&amendment.changes, views.get_mut(&named)).map_err(fault)?;
                }
            }
            Content::Admin(_) => {}
        }
        first.insert(seq, link);
        Ok(())
    })
}

fn names(link: &Link, amendment: &AmendmentContent, amended: &Link) -> Result<(), String> {
    let named = (amendment.amends.id, amendment.amends.digest);
    ensure(named == (amended.body.id, amended.digest), || {
        "it names another deed there".to_owned()
    })?;
    ensure(link.body.subject == amended.body.subject, || "it is about something else".to_owned())
}

/// An action's run as its deed and the amendments so far tell it.
struct View {
    mode: Mode,
    execution: Execution,
    witness: Witness,
}

impl View {
    fn of(action: &ActionContent) -> Option<Self> {
        let Run { execution, witness } = action.ending.run()?.clone();
        Some(Self { mode: action.mode, execution, witness })
    }
}

/// Takes the changes into the action's present view, which must stay honest.
fn follow(changes: &Changes, view: Option<&mut View>) -> Result<(), String> {
    let view = view.ok_or_else(|| "that action did not run".to_owned())?;
    view.execution = changes.execution.clone().unwrap_or_else(|| view.execution.clone());
    view.witness = changes.witness.clone().unwrap_or_else(|| view.witness.clone());
    honesty::attested(view.mode, &view.execution)
        .and_then(|()| honesty::check_run(Some(&view.execution), Some(&view.witness)))
        .map_err(|fault| fault.to_string())
}

fn check_checkpoint(links: &[Link], signed: &str, trust: &Trust, checks: &mut Checks) {
    let Some(keys) = &trust.keys else {
        return checks.undecided(CheckId::Checkpoint, "no keys were given");
    };
    let known = match Checkpoint::open_with(signed, keys) {
        Ok(known) => known,
        Err(error) => return checks.fail(CheckId::Checkpoint, error.to_string()),
    };
    checks.pass(CheckId::Checkpoint);
    let Some(first) = links.first() else { return };
    if first.body.log != known.log {
        let why =
            format!("the checkpoint is of `{}`, the deeds of `{}`", known.log, first.body.log);
        return checks.fail(CheckId::Root, why);
    }
    if first.body.seq != 0 || links.len() == 1 && known.tree.size != 1 {
        let why = "the checkpoint can only be compared with a log from its first deed on";
        return checks.undecided(CheckId::Root, why);
    }
    match compare(links.iter().map(|link| link.digest), &known.tree) {
        Ok(()) => {
            checks.pass(CheckId::Root);
            // A checkpoint of an empty log vouches for no deed.
            if known.tree.size > 0 {
                checks.shown(Grade::Checkpointed);
            }
        }
        Err(why) => checks.fail(CheckId::Root, why),
    }
}

fn compare(digests: impl Iterator<Item = Digest>, known: &TreeHead) -> Result<(), String> {
    let mut frontier = Frontier::new();
    let most = usize::try_from(known.size).unwrap_or(usize::MAX);
    for digest in digests.take(most) {
        frontier.push(leaf_hash(digest.as_bytes()));
    }
    if frontier.size() < known.size {
        let (size, cut) = (frontier.size(), known.size);
        return Err(format!("the checkpoint has {cut} deeds, here are {size}: the tail is cut"));
    }
    if frontier.root() == known.root {
        Ok(())
    } else {
        Err(format!("the first {} deeds make another root than the checkpoint's", known.size))
    }
}
