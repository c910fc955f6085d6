//! A log verified while it comes in, part by part: what is kept of a deed that was seen is its
//! digest, its id and nothing else.

use std::collections::{BTreeMap, HashSet};

use base64::{Engine, engine::general_purpose::STANDARD};
use deed::{
    ArchivedDeeds, Body, Checkpoint, Content, KeySet,
    tree::{Frontier, leaf_hash},
    verify::{DeedSummary, Report, Trust, envelopes, verify},
};
use model::{DeedId, Digest, OrgId, Timestamp};
use serde::Serialize;

/// What was read of a log so far.
pub(super) struct Walk {
    trust: Trust,
    /// The service's own checkpoint and, if one was kept from before, that.
    held: Vec<Checkpoint>,
    /// How many deeds the larger of them has.
    most: u64,
    frontier: Frontier,
    digests: Vec<Digest>,
    ids: HashSet<DeedId>,
    /// The last line, which each part begins with again, so that parts are chained like deeds.
    last: Vec<u8>,
    /// Whether that line is a deed, and does not stand for archived ones.
    ends_in_deed: bool,
    /// The org of all deeds.
    org: Option<OrgId>,
    /// The archived deeds, which were not read.
    archived: Vec<ArchivedDeeds>,
    /// The places whose deeds the service does not have, read from files or not.
    away: Vec<(u64, u64)>,
    /// How many amendments of a deed the service has.
    amendments: BTreeMap<u64, u64>,
    /// Of each deed that was amended in a later part the last amendment.
    amended: BTreeMap<u64, Amending>,
    sum: Sum,
}

/// An amendment that came in a later part than what it amends.
struct Amending {
    id: DeedId,
    /// Whether the service has the deed and every amendment of it so far, so that its evidence shows
    /// what this one changes.
    can_be_shown: bool,
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

/// What was not read of a log.
#[derive(Debug, Serialize)]
pub(super) struct LeftOut {
    /// How many deeds are archived.
    pub(super) deeds: u64,
    /// The partitions that they are in.
    partitions: Vec<String>,
    /// How many amended deeds have an amendment that was taken at its word.
    amendments: usize,
}

impl LeftOut {
    /// What a person is told of it.
    pub(super) fn lines(&self) -> Vec<String> {
        let Self { deeds, partitions, amendments } = self;
        let mut lines = Vec::new();
        if *deeds > 0 {
            lines.push(format!(
                "  archived    {deeds}, in {}: none of them was read; `--archived FILE` reads \
                 their dump",
                partitions.join(", ")
            ));
        }
        if *amendments > 0 {
            lines.push(format!(
                "  amendments  {amendments} taken at their word: the service has archived what they \
                 amend, or one before them"
            ));
        }
        lines
    }
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
        let most = held.iter().map(|held| held.tree.size).max().unwrap_or_default();
        Self {
            trust: Trust::from(keys),
            held,
            most,
            frontier: Frontier::new(),
            digests: Vec::new(),
            ids: HashSet::new(),
            last: Vec::new(),
            ends_in_deed: false,
            org: None,
            archived: Vec::new(),
            away: Vec::new(),
            amendments: BTreeMap::new(),
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
        let begins_archived = !self.ends_in_deed && !self.last.is_empty();
        if verified.report().archived.len() != usize::from(begins_archived) {
            let why = "a line of archived deeds does not begin with its `object`";
            return Err(Unfit::Log(why.to_owned()));
        }
        let repeated = usize::from(self.ends_in_deed);
        for deed in verified.deeds().iter().skip(repeated) {
            self.deed(deed)?;
        }
        self.note_amendments(&input, repeated);
        let line = input.trim_ascii_end().rsplit(|byte| *byte == b'\n').next();
        self.last = [line.unwrap_or_default(), b"\n"].concat();
        self.ends_in_deed = true;
        Ok(())
    }

    /// Notes that the service does not have these deeds, whoever else has them.
    pub(super) fn note_away(&mut self, deeds: &ArchivedDeeds) {
        self.away.push((deeds.from, deeds.to));
    }

    /// Takes a line that stands for archived deeds: their part of the tree, and nothing of them.
    pub(super) fn archived(&mut self, deeds: ArchivedDeeds) -> Result<(), Unfit> {
        let (seq, ArchivedDeeds { log, from, to, .. }) = (self.size(), &deeds);
        let unfit = |why: String| Err(Unfit::Log(why));
        if *from != seq {
            return unfit(format!("archived deeds from {from} on came where deed {seq} belongs"));
        }
        if let Some(held) = self.held.iter().find(|held| held.log != *log) {
            return unfit(format!("archived deeds are of `{log}`, not of `{}`", held.log));
        }
        let last = to.saturating_sub(1);
        let divided = |held: &&Checkpoint| (from + 1..*to).contains(&held.tree.size);
        if let Some(held) = self.held.iter().find(divided) {
            let size = held.tree.size;
            return unfit(format!(
                "a checkpoint of {size} deeds cannot be compared: one line represents the \
                 archived deeds {from} to {last}"
            ));
        }
        if *to > self.most {
            return unfit(behind(last, self.most));
        }
        if !deeds.append_to(&mut self.frontier) {
            let why = "another number of subtrees than they take";
            return unfit(format!("archived deeds {from} to {last}: {why}"));
        }
        // The service's checkpoint is held to the tree here, and not by each line again.
        let mut carried = deeds.clone();
        carried.checkpoint = None;
        let line = carried.to_line().map_err(|error| Unfit::Log(error.to_string()))?;
        self.last = format!("{line}\n").into_bytes();
        self.ends_in_deed = false;
        self.archived.push(deeds);
        self.held_to()
    }

    /// What was not read.
    pub(super) fn left_out(&self) -> LeftOut {
        let mut partitions: Vec<_> =
            self.archived.iter().map(|deeds| deeds.partition.clone()).collect();
        partitions.dedup();
        let deeds = self.archived.iter().map(|deeds| deeds.to - deeds.from).sum();
        let unheld = self.amended.values().filter(|amending| !amending.can_be_shown).count();
        LeftOut { deeds, partitions, amendments: unheld }
    }

    /// The digest of the deed at this place, if it was read.
    fn digest(&self, place: u64) -> Option<&Digest> {
        let mut before = 0;
        for deeds in self.archived.iter().filter(|deeds| deeds.from <= place) {
            if place < deeds.to {
                return None;
            }
            before += deeds.to - deeds.from;
        }
        self.digests.get(usize::try_from(place - before).ok()?)
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
        if seq >= self.most {
            return unfit(behind(seq, self.most));
        }
        if self.org.is_some_and(|org| org != deed.org) {
            return unfit(format!("deed {seq} is of another org than those before"));
        }
        if self.sum.to.is_some_and(|before| before > deed.issued_at) {
            return unfit(format!("deed {seq} was issued before one that it follows"));
        }
        if !self.ids.insert(deed.id) {
            return unfit(format!("the id `{}` occurs twice", deed.id));
        }
        self.org = Some(deed.org);
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

    /// An amendment of a deed in the same part was held to it; of another it is noted. The first bodies
    /// were in the part before too.
    fn note_amendments(&mut self, input: &[u8], repeated: usize) {
        let bodies = envelopes(input).unwrap_or_default().into_iter().filter_map(|envelope| {
            let payload = STANDARD.decode(envelope.payload).ok()?;
            Body::read(&payload).ok()
        });
        let mut first = None;
        for (place, body) in bodies.enumerate() {
            let first = *first.get_or_insert(body.seq);
            let Content::Amendment(amendment) = &body.content else { continue };
            if place < repeated {
                continue;
            }
            let amended = amendment.amends.seq;
            let is_here = |seq| self.away.iter().all(|(from, to)| seq < *from || *to <= seq);
            let both_are_here = is_here(body.seq) && is_here(amended);
            let had = self.amendments.entry(amended).or_default();
            *had += u64::from(both_are_here);
            let can_be_shown = both_are_here && *had == u64::from(amendment.n);
            if amended < first {
                self.amended.insert(amended, Amending { id: body.id, can_be_shown });
            }
        }
    }

    /// The amendments that were not held to what they amend yet, and can be, with the places of that.
    pub(super) fn amendments(&self) -> impl Iterator<Item = (u64, DeedId)> {
        let shown = self.amended.iter().filter(|(_, amending)| amending.can_be_shown);
        shown.map(|(amended, amending)| (*amended, amending.id))
    }

    /// Holds an amendment to what it amends, by the service's evidence for both.
    pub(super) fn evidence(
        &self,
        (amended, amendment): (u64, DeedId),
        evidence: &[u8],
    ) -> Result<(), Unfit> {
        let verified = verify(evidence, &self.trust).map_err(Unfit::Deeds)?;
        let deeds = verified.deeds();
        let has_both = deeds.iter().any(|deed| deed.id == amendment)
            && deeds.iter().any(|deed| deed.seq == amended);
        if !has_both {
            let why = "is without it, or without what it amends";
            return Err(Unfit::Log(format!("the evidence for `{amendment}` {why}")));
        }
        let other = deeds
            .iter()
            .find(|deed| self.digest(deed.seq).is_some_and(|digest| *digest != deed.digest));
        other.map_or(Ok(()), |deed| {
            Err(Unfit::Log(format!("the evidence for `{amendment}` has another deed {}", deed.seq)))
        })
    }
}

fn behind(seq: u64, most: u64) -> String {
    format!("deed {seq} comes after the {most} deeds that the service signs for")
}
