//! The checks of deeds as a part of their log: order, links, tree, and a checkpoint from before.

use std::collections::{HashMap, HashSet};

use model::{Digest, Mode};

use super::{
    archived::{Roots, beside, vouched_for},
    checks::{CheckId, ensure},
    findings::{Findings, Unmet},
    link::{Link, Stretch},
    report::ArchivedSummary,
    trust::Trust,
};
use crate::{
    archived::ArchivedDeeds,
    checkpoint::Checkpoint,
    content::{ActionContent, AmendmentContent, Changes, Content, Execution, Run, Witness},
    honesty,
    text::LogOrigin,
    tree::{Frontier, TreeHead, leaf_hash},
};

/// Runs every check that concerns the deeds' places in their log, and returns what is archived of it.
pub(super) fn check(
    links: &[Link],
    archived: &[(usize, ArchivedDeeds)],
    trust: &Trust,
    found: &mut Findings,
) -> Vec<ArchivedSummary> {
    let stretches = Stretch::of(links, archived);
    let begins = links.first().filter(|first| first.body.seq == 0);
    if stretches.len() > 1 {
        found.run(CheckId::Sequence, || {
            pairs(&stretches).try_for_each(|[before, after]| after.stands_behind(before))
        });
    }
    if stretches.len() > 1 || begins.is_some() {
        found.run(CheckId::Prev, || {
            begins.map_or(Ok(()), Link::starts_right)?;
            pairs(&stretches).try_for_each(|[before, after]| after.names(before))
        });
    }
    check_scattered(links, archived, found);
    let roots = (!archived.is_empty()).then(|| Roots::of(&stretches, archived, (trust, found)));
    let roots = roots.flatten();
    let mut vouched = 0;
    if !archived.is_empty() {
        let beside = || beside(links, archived, trust, roots.as_ref());
        vouched = found.run(CheckId::Archived, beside).unwrap_or_default();
    }
    if let Some(note) = &trust.known_checkpoint {
        let log = Lines { links, archived, roots: roots.as_ref() };
        vouched = check_checkpoint(&log, (note, vouched), trust, found);
    }
    if let Some(expected) = trust.expected_size {
        found.run(CheckId::Size, || {
            let size = stretches.last().map_or(0, Stretch::end);
            ensure(size == expected, || {
                format!("expected a log of {expected} deeds, the last deed makes it {size}")
            })
        });
    }
    archived.iter().map(|(_, deeds)| ArchivedSummary::of(deeds, vouched)).collect()
}

/// Runs the checks of deeds of one log that need not follow each other, and of which some may be
/// archived.
pub(super) fn check_scattered(
    links: &[Link],
    archived: &[(usize, ArchivedDeeds)],
    found: &mut Findings,
) {
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
        found.run(CheckId::Amends, || amends(links, archived));
    }
}

fn pairs<T>(items: &[T]) -> impl Iterator<Item = &[T; 2]> {
    items.windows(2).filter_map(|pair| pair.try_into().ok())
}

fn unique(links: &[Link]) -> Result<(), String> {
    let mut seen = HashSet::new();
    let twice = links.iter().find(|link| !seen.insert(link.body.id));
    twice.map_or(Ok(()), |link| Err(format!("the id `{}` appears twice", link.body.id)))
}

/// An amendment whose deed is not among these is taken at its word, and so is one where an amendment
/// before it is archived: what it changes is not known then.
fn amends(links: &[Link], archived: &[(usize, ArchivedDeeds)]) -> Result<(), String> {
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
                    let between =
                        |(_, deeds): &(usize, ArchivedDeeds)| named < deeds.from && deeds.to <= seq;
                    let view = views.get_mut(&named);
                    let is_next = view.as_ref().is_none_or(|view| view.amended + 1 == amendment.n);
                    if is_next || !archived.iter().any(between) {
                        follow(&amendment.changes, view).map_err(fault)?;
                    }
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
    /// The number of the last amendment.
    amended: u32,
}

impl View {
    fn of(action: &ActionContent) -> Option<Self> {
        let Run { execution, witness } = action.ending.run()?.clone();
        Some(Self { mode: action.mode, execution, witness, amended: 0 })
    }
}

/// Takes the changes into the action's present view, which must stay honest.
fn follow(changes: &Changes, view: Option<&mut View>) -> Result<(), String> {
    let view = view.ok_or_else(|| "that action did not run".to_owned())?;
    view.amended += 1;
    view.execution = changes.execution.clone().unwrap_or_else(|| view.execution.clone());
    view.witness = changes.witness.clone().unwrap_or_else(|| view.witness.clone());
    honesty::attested(view.mode, &view.execution)
        .and_then(|()| honesty::check_run(Some(&view.execution), Some(&view.witness)))
        .map_err(|fault| fault.to_string())
}

/// The lines of a log, and the tree that they make where some of them stand for archived deeds.
struct Lines<'a> {
    links: &'a [Link],
    archived: &'a [(usize, ArchivedDeeds)],
    roots: Option<&'a Roots>,
}

/// Holds the lines to a checkpoint that was kept, and returns the size of the largest tree that a
/// checkpoint vouches for now.
fn check_checkpoint(
    lines: &Lines<'_>,
    (note, vouched): (&str, u64),
    trust: &Trust,
    found: &mut Findings,
) -> u64 {
    let known = found.run(CheckId::Checkpoint, || known(note, trust));
    let Some(Checkpoint { log, tree }) = known else { return vouched };
    let mut now = vouched;
    let held = found.run(CheckId::Root, || {
        lines.hold_to(&log, &tree)?;
        now = now.max(tree.size);
        vouched_for(lines.archived, now)
    });
    // A checkpoint of an empty log vouches for no deed.
    if held.is_some() && tree.size > 0 {
        found.vouched();
    }
    now
}

impl Lines<'_> {
    /// Compares the tree with that of a checkpoint.
    fn hold_to(&self, log: &LogOrigin, tree: &TreeHead) -> Result<(), Unmet> {
        let Self { links, archived, roots } = self;
        let Some(first) = links.first() else { return Ok(()) };
        ensure(first.body.log == *log, || {
            format!("the checkpoint is of `{log}`, the deeds of `{}`", first.body.log)
        })?;
        let open = |why: &str| Err(Unmet::Open(why.to_owned()));
        let begins = archived.first().filter(|(place, _)| *place == 0);
        let begin = begins.map_or(first.body.seq, |(_, deeds)| deeds.from);
        let is_deed_alone = links.len() == 1 && archived.is_empty();
        if begin != 0 || is_deed_alone && tree.size != 1 {
            return open("the checkpoint can only be compared with a log from its first deed on");
        }
        match roots {
            Some(roots) => roots.compare(tree),
            None if archived.is_empty() => Ok(compare(links.iter().map(|link| link.digest), tree)?),
            None => open("the lines make no tree"),
        }
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
