//! The checks of a file of evidence: its signed list, its proofs, and a checkpoint from before.

use std::borrow::Cow;

use super::{
    checks::{CheckId, ensure},
    deed,
    findings::{Account, Findings, Unmet},
    input::{self, Item},
    intents,
    link::Link,
    required::CheckSet,
    segment,
    trust::Trust,
};
use crate::{
    checkpoint::Checkpoint,
    content::Content,
    dsse,
    evidence::{EVIDENCE_TYPE, EvidenceForm, List, Listed},
    keys::{KeySet, Purpose, SealKey},
    tree::TlogProof,
};

/// Runs every check of a file of evidence and returns the deeds that could be read.
pub(super) fn check(
    form: &EvidenceForm,
    items: &[Item],
    trust: &Trust,
    (account, found): (&mut Account, &mut Findings),
) -> Vec<Link> {
    let Some(keys) = keys(form, trust, account) else { return Vec::new() };
    let links = deed::each(items, Some(&keys), account, &mut |_| {});
    if !form.disclosures.is_empty() {
        found.run(CheckId::Disclosures, || none_left(form, &links));
    }
    if links.len() == items.len() {
        segment::check_scattered(&links, &[], found);
        // What an intent says is held to what the disclosures open.
        let disclosures = CheckId::Disclosures;
        if !account.is_at_fault(disclosures) && !found.is_at_fault(disclosures) {
            intents::check(form, &links, found);
        }
        let file = File { form, keys: &keys, links: &links, trust };
        if let Some(list) = file.check_list(found) {
            found.run(CheckId::Inclusion, || file.included(&list));
            file.check_known(&list, found);
        }
    }
    links
}

/// The keys to check with: the trusted ones, or the file's own, which leave open whose
/// they are.
fn keys<'a>(
    form: &EvidenceForm,
    trust: &'a Trust,
    account: &mut Account,
) -> Option<Cow<'a, KeySet>> {
    if let Some(keys) = &trust.keys {
        return Some(Cow::Borrowed(keys));
    }
    let (mut found, own) = (Findings::default(), KeySet::parse(form.keys.to_string().as_bytes()));
    // They serve to find what is broken; what they vouch for could be anybody's.
    let why = "no keys were given, and the file's own prove nothing";
    found.run(CheckId::Key, || match &own {
        Ok(_) => Err::<(), _>(Unmet::Open(why.to_owned())),
        Err(error) => Err(Unmet::Fails(error.to_string())),
    });
    account.settle(CheckSet::default(), found);
    own.ok().map(Cow::Owned)
}

/// Each list of disclosures is for one deed of the file.
fn none_left(form: &EvidenceForm, links: &[Link]) -> Result<(), String> {
    let mut deeds: Vec<_> = links.iter().map(|link| link.body.id).collect();
    form.disclosures.iter().try_for_each(|entry| {
        let place = deeds.iter().position(|id| *id == entry.deed);
        place.map(|place| deeds.swap_remove(place)).map(drop).ok_or_else(|| {
            format!("what opens `{}` is for no deed of the file, or there twice", entry.deed)
        })
    })
}

/// A file of evidence whose deeds could be read.
struct File<'a> {
    form: &'a EvidenceForm,
    keys: &'a KeySet,
    links: &'a [Link],
    trust: &'a Trust,
}

impl File<'_> {
    /// The list if it is signed and names exactly the deeds of the file.
    fn check_list(&self, found: &mut Findings) -> Option<List> {
        found.run(CheckId::Manifest, || {
            let item = input::framed(&self.form.manifest)?;
            let list = List::read(&item.payload).map_err(|error| error.to_string())?;
            let key = deed::known(Some(self.keys), &list.key_id).map_err(Unmet::Open)?;
            signed(&list, &item, key)?;
            self.complete(&list)?;
            Ok::<_, Unmet>(list)
        })
    }

    fn complete(&self, list: &List) -> Result<(), String> {
        let here: Vec<_> = self.links.iter().map(listed).collect();
        ensure(list.deeds == here, || "the list names other deeds than the file has".to_owned())?;
        ensure(self.links.is_sorted_by_key(|link| link.body.seq), || {
            "the deeds are not in the order of their log".to_owned()
        })?;
        let of_one_log = self.links.iter().all(|link| {
            (&link.body.log, link.body.org) == (&list.log, list.org)
                && link.body.seq < list.as_of.size
        });
        ensure(of_one_log, || {
            "a deed is not part of the list's log at the size of its \
                               checkpoint"
                .to_owned()
        })?;
        self.links.iter().try_for_each(|link| self.amendment_follows(link))
    }

    /// An amendment's forerunners are there, so that none in the middle is left out.
    fn amendment_follows(&self, link: &Link) -> Result<(), String> {
        let Content::Amendment(last) = &link.body.content else { return Ok(()) };
        let here = |n: u32| {
            self.links.iter().any(|other| match &other.body.content {
                Content::Amendment(other) => other.amends.id == last.amends.id && other.n == n,
                Content::Action(_) | Content::Admin(_) => false,
            })
        };
        ensure(last.n <= 1 || here(last.n - 1), || {
            format!(
                "amendment {} of `{}` is here without the previous \
                 amendment",
                last.n, last.amends.id
            )
        })
    }

    /// Each deed has a proof under a signed checkpoint of the list's tree.
    fn included(&self, list: &List) -> Result<(), String> {
        ensure(self.form.proofs.len() == self.links.len(), || {
            "expected one proof for each deed".to_owned()
        })?;
        let as_of = list.checkpoint();
        self.links.iter().zip(&self.form.proofs).try_for_each(|(link, text)| {
            let named = |why: String| format!("deed {}: {why}", link.body.seq);
            let proof = TlogProof::parse(text).map_err(|error| named(error.to_string()))?;
            let checkpoint = Checkpoint::open_with(&proof.checkpoint, self.keys)
                .map_err(|error| named(error.to_string()))?;
            ensure(checkpoint == as_of, || {
                named("the proof is of another tree than the list".to_owned())
            })?;
            let holds = proof.index == link.body.seq && proof.shows(&link.digest, &checkpoint.tree);
            ensure(holds, || named("the proof does not lead to the root".to_owned()))
        })
    }

    /// The tree of the list begins with the one of the known checkpoint, and has the known size.
    fn check_known(&self, list: &List, found: &mut Findings) {
        if let Some(expected) = self.trust.expected_size {
            found.run(CheckId::Size, || {
                let size = list.as_of.size;
                ensure(size == expected, || {
                    format!("expected a log of {expected} deeds, the list's has {size}")
                })
            });
        }
        let Some(note) = &self.trust.known_checkpoint else { return };
        let known = found.run(CheckId::Checkpoint, || segment::known(note, self.trust));
        let Some(known) = known else { return };
        if found.run(CheckId::Root, || self.grew(list, &known)).is_some() {
            found.vouched();
        }
    }

    fn grew(&self, list: &List, known: &Checkpoint) -> Result<(), Unmet> {
        let now = list.checkpoint();
        let proof = self.form.consistency.iter().find(|entry| entry.from == known.tree.size);
        let path = match proof {
            Some(entry) => entry.path.as_slice(),
            None if known.tree.size == now.tree.size => &[],
            None => {
                let why = "the file has no proof from the known checkpoint to its own";
                return Err(Unmet::Open(why.to_owned()));
            }
        };
        Ok(ensure(now.grew_from(known, path), || {
            "the log did not grow from the known checkpoint".to_owned()
        })?)
    }
}

fn signed(list: &List, item: &Item, key: &SealKey) -> Result<(), String> {
    ensure(item.payload_type == EVIDENCE_TYPE, || {
        format!("expected a list of type `{EVIDENCE_TYPE}`, got `{}`", item.payload_type)
    })?;
    ensure(item.key_id == list.key_id.as_str(), || {
        "the frame of the list names another key than the list".to_owned()
    })?;
    key.admits(Purpose::Deed, list.issued_at).map_err(|fault| fault.to_string())?;
    let signed = dsse::pae(&item.payload_type, &item.payload);
    ensure(key.public.verifies(&signed, &item.signature), || {
        format!("the list's signature is not that of `{}`", list.key_id)
    })
}

fn listed(link: &Link) -> Listed {
    Listed { id: link.body.id, seq: link.body.seq, digest: link.digest }
}
