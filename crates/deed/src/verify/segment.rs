//! The checks of deeds as a part of their log: order, links, tree, and a checkpoint from before.

use std::collections::{HashMap, HashSet};

use model::{Digest, Mode};

use super::{
    checks::{CheckId, ensure},
    findings::{Findings, Unmet},
    link::Link,
    trust::Trust,
};
use crate::{
    checkpoint::Checkpoint,
    content::{ActionContent, AmendmentContent, Changes, Content, Execution, Run, Witness},
    honesty,
    tree::{Frontier, TreeHead, leaf_hash},
};

/// Runs every check that concerns the deeds' places in their log.
pub(super) fn check(links: &[Link], trust: &Trust, found: &mut Findings) {
    let begins = links.first().filter(|first| first.body.seq == 0);
    if links.len() > 1 {
        found.run(CheckId::Sequence, || {
            pairs(links).try_for_each(|[before, after]| after.stands_after(before.body.seq))
        });
    }
    if links.len() > 1 || begins.is_some() {
        found.run(CheckId::Prev, || {
            begins.map_or(Ok(()), Link::starts_right)?;
            pairs(links).try_for_each(|[before, after]| after.names(&before.digest))
        });
    }
    check_scattered(links, found);
    if let Some(known) = &trust.known_checkpoint {
        check_checkpoint(links, known, trust, found);
    }
    if let Some(expected) = trust.expected_size {
        found.run(CheckId::Size, || {
            let size = links.last().map_or(0, |last| last.body.seq + 1);
            ensure(size == expected, || {
                format!("expected a log of {expected} deeds, the last deed makes it {size}")
            })
        });
    }
}

/// Runs the checks of deeds of one log that need not follow each other.
pub(super) fn check_scattered(links: &[Link], found: &mut Findings) {
    if links.len() > 1 {
        found.run(CheckId::Log, || {
            pairs(links)
                .try_for_each(|[before, after]| after.is_of(&before.body.log, before.body.org))
        });
        found.run(CheckId::Time, || {
            pairs(links)
                .try_for_each(|[before, after]| after.is_issued_since(before.body.issued_at))
        });
        found.run(CheckId::Unique, || unique(links));
    }
    if links.iter().any(|link| matches!(link.body.content, Content::Amendment(_))) {
        found.run(CheckId::Amends, || amends(links));
    }
}

fn pairs(links: &[Link]) -> impl Iterator<Item = &[Link; 2]> {
    links.windows(2).filter_map(|pair| pair.try_into().ok())
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

fn check_checkpoint(links: &[Link], note: &str, trust: &Trust, found: &mut Findings) {
    let known = found.run(CheckId::Checkpoint, || known(note, trust));
    let (Some(known), Some(first)) = (known, links.first()) else { return };
    let held = found.run(CheckId::Root, || {
        ensure(first.body.log == known.log, || {
            format!("the checkpoint is of `{}`, the deeds of `{}`", known.log, first.body.log)
        })?;
        if first.body.seq != 0 || links.len() == 1 && known.tree.size != 1 {
            let why = "the checkpoint can only be compared with a log from its first deed on";
            return Err(Unmet::Open(why.to_owned()));
        }
        Ok(compare(links.iter().map(|link| link.digest), &known.tree)?)
    });
    // A checkpoint of an empty log vouches for no deed.
    if held.is_some() && known.tree.size > 0 {
        found.vouched();
    }
}

/// The known checkpoint if a trusted key signed it.
pub(super) fn known(note: &str, trust: &Trust) -> Result<Checkpoint, Unmet> {
    let without = || Unmet::Open("no keys were given".to_owned());
    let keys = trust.keys.as_ref().ok_or_else(without)?;
    Ok(Checkpoint::open_with(note, keys).map_err(|error| error.to_string())?)
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
