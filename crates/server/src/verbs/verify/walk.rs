//! A log verified while it comes in, part by part: what is kept of a deed that was seen is its
//! digest, its id and nothing else.

use std::collections::{BTreeMap, HashSet};

use base64::{Engine, engine::general_purpose::STANDARD};
use deed::{
    Body, Checkpoint, Content, KeySet,
    tree::{Frontier, leaf_hash},
    verify::{DeedSummary, Report, Trust, envelopes, verify},
};
use model::{DeedId, Digest, Timestamp};
use serde::Serialize;

/// What was read of a log so far.
pub(super) struct Walk {
    trust: Trust,
    /// The service's own checkpoint and, if one was kept from before, that.
    held: Vec<Checkpoint>,
    frontier: Frontier,
    digests: Vec<Digest>,
    ids: HashSet<DeedId>,
    /// The last line, which each part begins with again, so that parts are chained like deeds.
    last: Vec<u8>,
    /// Of each deed that was amended in a later part the last amendment.
    amended: BTreeMap<u64, DeedId>,
    sum: Sum,
}

/// What a log holds.
#[derive(Debug, Default, Serialize)]
pub(super) struct Sum {
    /// How many deeds there are of each kind.
    pub(super) kinds: BTreeMap<&'static str, u64>,
    /// How many of them are tests.
    pub(super) tests: u64,
    /// When the first was sealed.
    pub(super) from: Option<Timestamp>,
    /// When the last was.
    pub(super) to: Option<Timestamp>,
}

/// Why a log does not hold.
#[derive(Debug)]
pub(super) enum Unfit {
    /// A check of the deed format says so.
    Deeds(Box<Report>),
    /// It is not the log that was signed for.
    Log(String),
}

impl Walk {
    /// A walk through the log of these checkpoints, the service's own first.
    pub(super) fn new(keys: KeySet, held: Vec<Checkpoint>) -> Self {
        Self {
            trust: Trust::from(keys),
            held,
            frontier: Frontier::new(),
            digests: Vec::new(),
            ids: HashSet::new(),
            last: Vec::new(),
            amended: BTreeMap::new(),
            sum: Sum::default(),
        }
    }

    /// How many deeds were read, all of which hold.
    pub(super) fn size(&self) -> u64 {
        self.frontier.size()
    }

    /// What the log holds.
    pub(super) fn sum(&self) -> &Sum {
        &self.sum
    }

    /// Takes the next whole lines.
    pub(super) fn part(&mut self, lines: &[u8]) -> Result<(), Unfit> {
        let input = [self.last.as_slice(), lines].concat();
        let verified = verify(&input, &self.trust).map_err(Unfit::Deeds)?;
        let repeated = usize::from(!self.last.is_empty());
        for deed in verified.deeds().iter().skip(repeated) {
            self.deed(deed)?;
        }
        self.note_amendments(&input);
        let line = input.trim_ascii_end().rsplit(|byte| *byte == b'\n').next();
        self.last = [line.unwrap_or_default(), b"\n"].concat();
        Ok(())
    }

    fn deed(&mut self, deed: &DeedSummary) -> Result<(), Unfit> {
        let seq = self.size();
        let unfit = |why: String| Err(Unfit::Log(why));
        if deed.seq != seq {
            return unfit(format!("deed {} came where deed {seq} belongs", deed.seq));
        }
        if let Some(held) = self.held.iter().find(|held| held.log != deed.log) {
            return unfit(format!("deed {seq} is of `{}`, not of `{}`", deed.log, held.log));
        }
        if !self.ids.insert(deed.id) {
            return unfit(format!("the id `{}` stands twice", deed.id));
        }
        self.frontier.push(leaf_hash(deed.digest.as_bytes()));
        self.digests.push(deed.digest);
        *self.sum.kinds.entry(deed.kind).or_default() += 1;
        self.sum.tests += u64::from(!deed.livemode);
        self.sum.from = self.sum.from.or(Some(deed.issued_at));
        self.sum.to = Some(deed.issued_at);
        self.held_to()
    }

    /// The tree is that of each checkpoint of its size.
    pub(super) fn held_to(&self) -> Result<(), Unfit> {
        let mut held = self.held.iter().filter(|held| held.tree.size == self.size());
        match held.find(|held| held.tree.root != self.frontier.root()) {
            None => Ok(()),
            Some(held) => Err(Unfit::Log(format!(
                "the first {} deeds make another root than the checkpoint's",
                held.tree.size
            ))),
        }
    }

    /// An amendment of a deed in the same part was held to it; of another it is noted.
    fn note_amendments(&mut self, input: &[u8]) {
        let bodies = envelopes(input).unwrap_or_default().into_iter().filter_map(|envelope| {
            let payload = STANDARD.decode(envelope.payload).ok()?;
            Body::read(&payload).ok()
        });
        let mut first = None;
        for body in bodies {
            let first = *first.get_or_insert(body.seq);
            if let Content::Amendment(amendment) = &body.content
                && amendment.amends.seq < first
            {
                self.amended.insert(amendment.amends.seq, body.id);
            }
        }
    }

    /// The amendments that were not held to what they amend yet.
    pub(super) fn amendments(&self) -> impl Iterator<Item = DeedId> {
        self.amended.values().copied()
    }

    /// Holds an amendment to what it amends, by the service's evidence for it.
    pub(super) fn evidence(&self, amendment: DeedId, evidence: &[u8]) -> Result<(), Unfit> {
        let verified = verify(evidence, &self.trust).map_err(Unfit::Deeds)?;
        if !verified.deeds().iter().any(|deed| deed.id == amendment) {
            return Err(Unfit::Log(format!("the evidence for `{amendment}` is without it")));
        }
        let other = verified.deeds().iter().find(|deed| {
            let place = usize::try_from(deed.seq).unwrap_or(usize::MAX);
            self.digests.get(place).is_some_and(|digest| *digest != deed.digest)
        });
        other.map_or(Ok(()), |deed| {
            Err(Unfit::Log(format!("the evidence for `{amendment}` has another deed {}", deed.seq)))
        })
    }
}
