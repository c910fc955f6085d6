//! Evidence in one file: deeds of one log, proofs that they are in it, and a signed list.
//!
//! An inclusion proof cannot show that something is absent, so the list is signed: it says that
//! these deeds and every amendment of them up to a size of the log are here. Leaving one out makes
//! the list a signed lie.

use base64::{Engine, engine::general_purpose::STANDARD};
use model::{DeedId, Digest, OrgId, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    body::{Body, BodyError},
    canonical,
    checkpoint::Checkpoint,
    commitment::Disclosure,
    dsse::{DEED_TYPE, Envelope},
    seal::{SealError, Sealer},
    text::{LogOrigin, Thumbprint},
    tree::{TlogProof, TreeHead},
};

/// The payload type of the signed list.
pub const EVIDENCE_TYPE: &str = "application/vnd.service.evidence.v1+json";

/// One deed to be shown.
#[derive(Debug, Clone)]
pub struct Exhibit {
    /// The exact signed bytes.
    pub body: String,
    /// The signature.
    pub signature: [u8; 64],
    /// The path from the deed's leaf to the root of the checkpoint.
    pub path: Vec<Digest>,
    /// What opens its commitments.
    pub disclosures: Vec<Disclosure>,
    /// The signed intent that it names, where it names one and that is to be shown.
    pub intent: Option<ShownIntent>,
}

/// A signed intent, with what it takes to check it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownIntent {
    /// The compact JWS as the agent sent it.
    pub jws: String,
    /// The 32 bytes of the agent's public key, in base64url.
    pub public_key: String,
}

/// What goes into one file of evidence.
#[derive(Debug, Clone)]
pub struct Exhibits {
    /// The deeds, with every amendment of them, in the order of the log.
    pub deeds: Vec<Exhibit>,
    /// The log's checkpoint that the paths lead to, as a signed note.
    pub checkpoint: String,
    /// Proofs that the checkpoint's tree begins with smaller ones, by their sizes.
    pub consistency: Vec<(u64, Vec<Digest>)>,
}

impl Sealer {
    /// The text of a file of evidence, its list signed with the key of this moment.
    ///
    /// ```
    #[doc = include_str!("doc/shop.md")]
    /// let deeds = sealer.seal_all(&mut log, vec![stopped(), stopped(), stopped()], org, at)?;
    /// let tree = Tree::of(deeds.iter().map(|deed| deed.digest));
    /// let exhibit = Exhibit {
    ///     body: deeds[1].body.clone(),
    ///     signature: deeds[1].signature,
    ///     path: inclusion(&tree, 1, 3).ok_or("no such place")?,
    ///     disclosures: Vec::new(),
    ///     intent: None,
    /// };
    /// let (deeds, checkpoint) = (vec![exhibit], sealer.checkpoint(&log, at)?);
    /// let file = sealer.evidence(&Exhibits { deeds, checkpoint, consistency: Vec::new() }, at)?;
    /// assert_eq!(verify(file.as_bytes(), &trust)?.deeds().len(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn evidence(&self, exhibits: &Exhibits, at: Timestamp) -> Result<String, SealError> {
        let registered = self.registered();
        let checkpoint = Checkpoint::open_with(&exhibits.checkpoint, &registered)?;
        let bodies = exhibits
            .deeds
            .iter()
            .map(|exhibit| Body::read(exhibit.body.as_bytes()))
            .collect::<Result<Vec<_>, _>>()?;
        let first = bodies.first().ok_or(SealError::NoExhibits)?;
        let manifest = self.sign(EVIDENCE_TYPE, at, |kid| {
            let list = List {
                format: EvidenceFormat::V1,
                org: first.org,
                log: checkpoint.log.clone(),
                issued_at: at,
                key_id: kid.clone(),
                as_of: AsOf { size: checkpoint.tree.size, root: checkpoint.tree.root },
                deeds: bodies.iter().zip(&exhibits.deeds).map(Listed::of).collect(),
            };
            Ok(list.write()?)
        })?;
        let form = EvidenceForm {
            object: EvidenceObject::Evidence,
            format: EvidenceFormat::V1,
            deeds: bodies.iter().zip(&exhibits.deeds).map(envelope).collect(),
            proofs: bodies.iter().zip(&exhibits.deeds).map(|pair| proof(pair, exhibits)).collect(),
            consistency: exhibits.consistency.iter().map(ConsistencyForm::of).collect(),
            keys: serde_json::from_str(&registered.to_json()).map_err(shape)?,
            disclosures: bodies.iter().zip(&exhibits.deeds).filter_map(disclosed).collect(),
            intents: bodies.iter().zip(&exhibits.deeds).filter_map(intent).collect(),
            manifest,
        };
        let mut file = serde_json::to_value(&form).map_err(shape)?;
        // Who knows nothing of intents can read a file that has none.
        if let Some(members) = file.as_object_mut().filter(|_| form.intents.is_empty()) {
            members.remove("intents");
        }
        Ok(file.to_string())
    }
}

fn shape(error: serde_json::Error) -> BodyError {
    BodyError::Shape(error.to_string())
}

fn envelope((body, exhibit): (&Body, &Exhibit)) -> Envelope {
    Envelope::new(DEED_TYPE, &exhibit.body, (&body.key_id, &exhibit.signature))
}

fn proof((body, exhibit): (&Body, &Exhibit), exhibits: &Exhibits) -> String {
    let (path, checkpoint) = (exhibit.path.clone(), exhibits.checkpoint.clone());
    TlogProof { index: body.seq, path, checkpoint }.to_text()
}

fn disclosed((body, exhibit): (&Body, &Exhibit)) -> Option<DisclosedForm> {
    let texts = exhibit.disclosures.iter().map(|open| STANDARD.encode(open.text()));
    let form = DisclosedForm { deed: body.id, disclosures: texts.collect() };
    (!form.disclosures.is_empty()).then_some(form)
}

fn intent((body, exhibit): (&Body, &Exhibit)) -> Option<IntentForm> {
    let ShownIntent { jws, public_key } = exhibit.intent.clone()?;
    Some(IntentForm { deed: body.id, jws, public_key })
}

/// A file of evidence as it is written, but for `intents`, which is left out where there are none.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct EvidenceForm {
    pub(crate) object: EvidenceObject,
    pub(crate) format: EvidenceFormat,
    pub(crate) deeds: Vec<Envelope>,
    pub(crate) proofs: Vec<String>,
    pub(crate) consistency: Vec<ConsistencyForm>,
    pub(crate) keys: Value,
    pub(crate) disclosures: Vec<DisclosedForm>,
    pub(crate) intents: Vec<IntentForm>,
    pub(crate) manifest: Envelope,
}

/// The word that a file of evidence begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum EvidenceObject {
    Evidence,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum EvidenceFormat {
    #[serde(rename = "service.evidence.v1")]
    V1,
}

/// That the tree begins with a smaller one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ConsistencyForm {
    pub(crate) from: u64,
    pub(crate) path: Vec<Digest>,
}

impl ConsistencyForm {
    fn of((from, path): &(u64, Vec<Digest>)) -> Self {
        Self { from: *from, path: path.clone() }
    }
}

/// What opens the commitments of one deed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct DisclosedForm {
    pub(crate) deed: DeedId,
    pub(crate) disclosures: Vec<String>,
}

/// The signed intent that one deed names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct IntentForm {
    pub(crate) deed: DeedId,
    pub(crate) jws: String,
    pub(crate) public_key: String,
}

/// The signed list of a file of evidence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct List {
    pub(crate) as_of: AsOf,
    pub(crate) deeds: Vec<Listed>,
    pub(crate) format: EvidenceFormat,
    pub(crate) issued_at: Timestamp,
    pub(crate) key_id: Thumbprint,
    pub(crate) log: LogOrigin,
    pub(crate) org: OrgId,
}

/// The tree that the list speaks of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct AsOf {
    pub(crate) root: Digest,
    pub(crate) size: u64,
}

/// One deed of the list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Listed {
    pub(crate) digest: Digest,
    pub(crate) id: DeedId,
    pub(crate) seq: u64,
}

impl Listed {
    fn of((body, exhibit): (&Body, &Exhibit)) -> Self {
        Self { id: body.id, seq: body.seq, digest: crypto::sha256(&exhibit.body) }
    }
}

impl List {
    fn write(&self) -> Result<String, BodyError> {
        canonical::write(self)
    }

    /// The log and tree that the list speaks of.
    pub(crate) fn checkpoint(&self) -> Checkpoint {
        let tree = TreeHead { size: self.as_of.size, root: self.as_of.root };
        Checkpoint { log: self.log.clone(), tree }
    }

    /// Reads exactly what the sealer writes.
    pub(crate) fn read(bytes: &[u8]) -> Result<Self, BodyError> {
        let value =
            crypto::json::parse(bytes).map_err(|error| BodyError::Json(error.to_string()))?;
        let list: Self = serde_json::from_value(value).map_err(shape)?;
        if list.write()?.as_bytes() == bytes { Ok(list) } else { Err(BodyError::NotCanonical) }
    }
}
