//! The checks of a file of evidence: its signed list, its proofs, and a checkpoint from before.

use super::{
    Grade, Link, Trust, check_each,
    checks::{CheckId, Checks, ensure},
    deed, input,
    input::Item,
    segment,
};
use crate::{
    body::Body,
    checkpoint::Checkpoint,
    content::Content,
    dsse,
    evidence::{EVIDENCE_TYPE, EvidenceForm, List, Listed},
    keys::{KeySet, Purpose},
    tree::TlogProof,
};

/// Runs every check of a file of evidence and returns the deeds that could be read.
pub(super) fn check(
    form: &EvidenceForm,
    items: Vec<Item>,
    trust: &Trust,
    checks: &mut Checks,
) -> Vec<Link> {
    let keys = match &trust.keys {
        Some(keys) => keys.clone(),
        None => match KeySet::parse(form.keys.to_string().as_bytes()) {
            Ok(keys) => {
                // They serve to find what is broken; what they vouch for could be anybody's.
                checks.undecided(
                    CheckId::Key,
                    "no keys were given, and the file's own prove nothing",
                );
                keys
            }
            Err(error) => {
                checks.fail(CheckId::Key, error.to_string());
                return Vec::new();
            }
        },
    };
    let items = with_disclosures(form, items, checks);
    let links = check_each(&items, Some(&keys), checks);
    if links.len() == items.len() {
        checks.shown(Grade::Signed);
        segment::check_scattered(&links, checks);
        let file = File { form, keys: &keys, links: &links, trust };
        if let Some(list) = file.check_list(checks) {
            checks.outcome(CheckId::Inclusion, file.included(&list));
            file.check_known(&list, checks);
        }
    }
    links
}

/// Gives each deed what opens its commitments.
fn with_disclosures(form: &EvidenceForm, items: Vec<Item>, checks: &mut Checks) -> Vec<Item> {
    let mut opened = form.disclosures.clone();
    let mut take = |item: &Item| {
        let id = Body::read(&item.payload).ok()?.id;
        let place = opened.iter().position(|entry| entry.deed == id)?;
        Some(opened.remove(place).disclosures)
    };
    let items = items
        .into_iter()
        .map(|item| Item { disclosures: take(&item).unwrap_or_default(), ..item })
        .collect();
    if let Some(left) = opened.first() {
        let why = format!("what opens `{}` is for no deed of the file, or there twice", left.deed);
        checks.fail(CheckId::Disclosures, why);
    }
    items
}

/// A file of evidence whose deeds could be read.
struct File<'a> {
    form: &'a EvidenceForm,
    keys: &'a KeySet,
    links: &'a [Link],
    trust: &'a Trust,
}

impl File<'_> {
    /// Returns the list if it is signed and names exactly the deeds of the file.
    fn check_list(&self, checks: &mut Checks) -> Option<List> {
        let read = input::framed(&self.form.manifest)
            .and_then(|item| Ok((List::read(&item.payload).map_err(|e| e.to_string())?, item)));
        let (list, item) = match read {
            Ok(read) => read,
            Err(why) => {
                checks.fail(CheckId::Manifest, why);
                return None;
            }
        };
        let outcome = match deed::known(Some(self.keys), &list.key_id) {
            Ok(_) => self.signed(&list, &item).and_then(|()| self.complete(&list)),
            Err(why) => {
                checks.undecided(CheckId::Manifest, why);
                return None;
            }
        };
        let holds = outcome.is_ok();
        checks.outcome(CheckId::Manifest, outcome);
        holds.then_some(list)
    }

    fn signed(&self, list: &List, item: &Item) -> Result<(), String> {
        let key = deed::known(Some(self.keys), &list.key_id)?;
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
        ensure(of_one_log, || "a deed is not of the list's log as it stood".to_owned())?;
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
            format!("amendment {} of `{}` is here without the one before", last.n, last.amends.id)
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
            let holds = proof.index == link.body.seq && proof.shows(&link.digest, &checkpoint);
            ensure(holds, || named("the proof does not lead to the root".to_owned()))
        })
    }

    /// The tree of the list begins with the one of the known checkpoint, and has the known size.
    fn check_known(&self, list: &List, checks: &mut Checks) {
        if let Some(expected) = self.trust.expected_size {
            checks.outcome(
                CheckId::Size,
                ensure(list.as_of.size == expected, || {
                    format!(
                        "expected a log of {expected} deeds, the list's has {}",
                        list.as_of.size
                    )
                }),
            );
        }
        let Some(note) = &self.trust.known_checkpoint else { return };
        let Some(keys) = &self.trust.keys else {
            return checks.undecided(CheckId::Checkpoint, "no keys were given");
        };
        let known = match Checkpoint::open_with(note, keys) {
            Ok(known) => known,
            Err(error) => return checks.fail(CheckId::Checkpoint, error.to_string()),
        };
        checks.pass(CheckId::Checkpoint);
        let now = list.checkpoint();
        let proof = self.form.consistency.iter().find(|entry| entry.from == known.tree.size);
        let path = match proof {
            Some(entry) => entry.path.as_slice(),
            None if known.tree.size == now.tree.size => &[],
            None => {
                let why = "the file has no proof from the known checkpoint to its own";
                return checks.undecided(CheckId::Root, why);
            }
        };
        if now.grew_from(&known, path) {
            checks.pass(CheckId::Root);
            checks.shown(Grade::Checkpointed);
        } else {
            checks.fail(CheckId::Root, "the log did not grow from the known checkpoint");
        }
    }
}

fn listed(link: &Link) -> Listed {
    Listed { id: link.body.id, seq: link.body.seq, digest: link.digest }
}
