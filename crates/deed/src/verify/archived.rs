//! The tree of a log of which a part is archived: its roots where checkpoints speak of them, and which
//! archived deeds these vouch for.

use std::collections::{BTreeMap, BTreeSet};

use model::Digest;

use super::{
    checks::{CheckId, ensure},
    findings::{Findings, Unmet},
    link::{Link, Stretch},
    segment::known,
    trust::Trust,
};
use crate::{
    archived::ArchivedDeeds,
    checkpoint::Checkpoint,
    tree::{Frontier, TreeHead, leaf_hash},
};

/// The roots of a log's tree, as its deeds and the subtrees over its archived ones make it.
pub(super) struct Roots {
    /// The roots of the trees of which a checkpoint speaks, where a line ends there.
    at: BTreeMap<u64, Digest>,
    /// How many deeds the whole tree has.
    size: u64,
}

impl Roots {
    /// The roots; none where the lines make no tree: they begin with another place than the first, or
    /// leave one out.
    pub(super) fn of(
        stretches: &[Stretch<'_>],
        archived: &[(usize, ArchivedDeeds)],
        (trust, found): (&Trust, &Findings),
    ) -> Option<Self> {
        let begins = stretches.first().is_some_and(|first| first.from() == 0);
        if !begins || found.is_at_fault(CheckId::Sequence) {
            return None;
        }
        let kept = trust.known_checkpoint.as_ref().and_then(|note| known(note, trust).ok());
        let heads = signed(archived, trust).map(|(_, head)| head).chain(kept);
        let sizes: BTreeSet<_> = heads.map(|head| head.tree.size).collect();
        let mut tree = Frontier::new();
        let mut at = BTreeMap::from([(0, tree.root())]);
        for stretch in stretches {
            match stretch {
                Stretch::Deed(link) => drop(tree.push(leaf_hash(link.digest.as_bytes()))),
                Stretch::Archived(deeds) => deeds.append_to(&mut tree).then_some(())?,
            }
            if sizes.contains(&tree.size()) {
                at.insert(tree.size(), tree.root());
            }
        }
        Some(Self { at, size: tree.size() })
    }

    /// Holds the tree to a checkpoint.
    pub(super) fn compare(&self, known: &TreeHead) -> Result<(), Unmet> {
        let size = known.size;
        if size > self.size {
            let here = self.size;
            let why = format!("the checkpoint has {size} deeds, here are {here}: the tail is cut");
            return Err(Unmet::Fails(why));
        }
        let Some(root) = self.at.get(&size) else {
            return Err(Unmet::Open(format!(
                "the checkpoint of {size} deeds ends among archived ones; read the log out with \
                 `known_size={size}`"
            )));
        };
        Ok(ensure(*root == known.root, || {
            format!("the first {size} deeds make another root than the checkpoint's")
        })?)
    }
}

/// The archived parts that have a checkpoint beside them which a trusted key signed. Any other vouches
/// for nothing, and is left aside: the keys may be older than it is.
fn signed<'a>(
    archived: &'a [(usize, ArchivedDeeds)],
    trust: &'a Trust,
) -> impl Iterator<Item = (&'a ArchivedDeeds, Checkpoint)> {
    archived.iter().filter_map(|(_, deeds)| {
        let note = deeds.checkpoint.as_ref()?;
        Some((deeds, known(note, trust).ok()?))
    })
}

/// Holds what is archived to the log and to the checkpoints beside it, and returns the size of the
/// largest tree that one of them vouches for.
pub(super) fn beside(
    links: &[Link],
    archived: &[(usize, ArchivedDeeds)],
    trust: &Trust,
    roots: Option<&Roots>,
) -> Result<u64, String> {
    for (_, deeds) in archived {
        let named = format!("deeds {} to {}", deeds.from, deeds.to - 1);
        let is_of = links.first().is_none_or(|first| first.body.log == deeds.log);
        ensure(is_of, || format!("{named} are archived of `{}`", deeds.log))?;
        ensure(deeds.has_its_subtrees(), || {
            format!("{named}: another number of subtrees than they take")
        })?;
    }
    let mut vouched = 0;
    for (deeds, Checkpoint { log, tree }) in signed(archived, trust) {
        ensure(log == deeds.log && tree.size >= deeds.to, || {
            format!("the checkpoint of the archived deeds is of {} deeds of `{log}`", tree.size)
        })?;
        if let Some(root) = roots.and_then(|roots| roots.at.get(&tree.size)) {
            ensure(*root == tree.root, || {
                let size = tree.size;
                format!(
                    "the first {size} deeds make another root than the checkpoint of the archived \
                     deeds"
                )
            })?;
            vouched = vouched.max(tree.size);
        }
    }
    Ok(vouched)
}

/// All that is archived must be vouched for by a checkpoint beside it, or by the one that was kept:
/// nothing leads from the deeds of a smaller one to those behind the archived part.
pub(super) fn vouched_for(archived: &[(usize, ArchivedDeeds)], vouched: u64) -> Result<(), Unmet> {
    match archived.iter().find(|(_, deeds)| deeds.to > vouched) {
        None => Ok(()),
        Some((_, ArchivedDeeds { from, to, .. })) => Err(Unmet::Open(format!(
            "no checkpoint vouches for deeds {from} to {}, which are archived: read the log out to \
             its end",
            to - 1
        ))),
    }
}
