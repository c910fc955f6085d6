//! Reads the input's outer form: one deed or lines of deeds, each in API form or bare DSSE, or a
//! file of evidence.

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::Value;

use super::progress::Progress;
use crate::{
    archived::ArchivedDeeds,
    body::Body,
    dsse::{Envelope, EnvelopeSignature},
    evidence::EvidenceForm,
    exact,
    form::ApiForm,
    parallel,
    text::TextError,
};

/// One deed as it came in: the frame's parts, nothing of which has been checked.
#[derive(Debug)]
pub(super) struct Item {
    pub(super) payload: Vec<u8>,
    pub(super) payload_type: String,
    pub(super) key_id: String,
    pub(super) signature: Vec<u8>,
    /// The API form, when it came in one.
    pub(super) form: Option<ApiForm>,
    /// What opens the deed's commitments, in base64.
    pub(super) disclosures: Vec<String>,
}

/// What came in.
#[derive(Debug)]
pub(super) enum Input {
    /// Deeds in the order of their log, and those that are archived, each with how many deeds stand
    /// before them.
    Deeds(Vec<Item>, Vec<(usize, ArchivedDeeds)>),
    /// A file of evidence, and the deeds in it.
    Evidence(Box<EvidenceForm>, Vec<Item>),
}

/// What the input is, with at least one deed, or says why it is nothing of the kind.
pub(super) fn read(input: &[u8], tell: &mut dyn FnMut(Progress)) -> Result<Input, String> {
    let text = std::str::from_utf8(input).map_err(|_| "the input is not UTF-8".to_owned())?;
    // A first line that is an envelope by itself leaves nothing else for the input to be.
    let is_lines = text.lines().next().and_then(plain_envelope).is_some();
    if !is_lines && let Ok(value) = crypto::json::parse(text.as_bytes()) {
        let evidence = value.get("object").is_some_and(|object| object == "evidence");
        if ArchivedDeeds::is_meant(&value) {
            return Err(NO_DEED.to_owned());
        }
        let alone = |item| Input::Deeds(vec![item], Vec::new());
        return if evidence { read_evidence(value) } else { item(value).map(alone) };
    }
    let blank = |line: &str| line.trim_matches([' ', '\t', '\r']).is_empty();
    let lines: Vec<_> = text.lines().enumerate().filter(|(_, line)| !blank(line)).collect();
    let read = |(number, text): &(usize, &str)| {
        line(text).map_err(|why| format!("line {}: {why}", number + 1))
    };
    let all = lines.len();
    let part = |part: &[_]| part.iter().map(read).collect::<Result<Vec<_>, _>>();
    let parts = parallel::blocks(&lines, part, |done| tell(Progress::Read { done, all }));
    let parts = parts.into_iter().collect::<Result<Vec<_>, _>>()?;
    let (mut items, mut archived) = (Vec::with_capacity(all), Vec::new());
    for line in parts.into_iter().flatten() {
        match line {
            Line::Deed(item) => items.push(*item),
            Line::Archived(deeds) => archived.push((items.len(), *deeds)),
        }
    }
    match (items.is_empty(), archived.is_empty()) {
        (false, _) => Ok(Input::Deeds(items, archived)),
        (true, false) => Err(NO_DEED.to_owned()),
        (true, true) => Err("the input is empty".to_owned()),
    }
}

const NO_DEED: &str = "all deeds of the input are archived, and nothing is here to be verified";

/// One line of several.
enum Line {
    Deed(Box<Item>),
    Archived(Box<ArchivedDeeds>),
}

/// The deeds of anything that the verifier reads as DSSE envelopes, unchecked.
pub fn envelopes(input: &[u8]) -> Result<Vec<Envelope>, String> {
    let items = match read(input, &mut |_| {})? {
        Input::Deeds(items, _) | Input::Evidence(_, items) => items,
    };
    let envelope = |item: Item| {
        let keyid = item.key_id.parse().map_err(|error: TextError| error.to_string())?;
        Ok(Envelope {
            payload: STANDARD.encode(item.payload),
            payload_type: item.payload_type,
            signatures: vec![EnvelopeSignature { keyid, sig: STANDARD.encode(item.signature) }],
        })
    };
    items.into_iter().map(envelope).collect()
}

fn read_evidence(mut value: Value) -> Result<Input, String> {
    // Where no deed came with its intent, the member is left out.
    if let Some(members) = value.as_object_mut() {
        members.entry("intents").or_insert_with(|| Value::Array(Vec::new()));
    }
    let form: EvidenceForm = exact::from_value(value)
        .map_err(|error| format!("expected a file of evidence: {error}"))?;
    let items = form.deeds.iter().map(framed).collect::<Result<Vec<_>, _>>()?;
    if items.is_empty() {
        return Err("a file of evidence has at least one deed".to_owned());
    }
    let items = with_disclosures(&form, items);
    Ok(Input::Evidence(Box::new(form), items))
}

/// Gives each deed what opens its commitments. What is left over is found later.
fn with_disclosures(form: &EvidenceForm, items: Vec<Item>) -> Vec<Item> {
    let mut opened = form.disclosures.clone();
    let mut take = |item: &Item| {
        let id = Body::read(&item.payload).ok()?.id;
        let place = opened.iter().position(|entry| entry.deed == id)?;
        Some(opened.remove(place).disclosures)
    };
    let items = items.into_iter();
    items.map(|item| Item { disclosures: take(&item).unwrap_or_default(), ..item }).collect()
}

fn line(text: &str) -> Result<Line, String> {
    let deed = |item| Line::Deed(Box::new(item));
    if let Some(envelope) = plain_envelope(text) {
        return framed(&envelope).map(deed);
    }
    let value = crypto::json::parse(text.as_bytes()).map_err(|error| error.to_string())?;
    if ArchivedDeeds::is_meant(&value) {
        let archived = ArchivedDeeds::from_value(value)?;
        return Ok(Line::Archived(Box::new(archived)));
    }
    item(value).map(deed)
}

/// Reads an envelope fast where its type alone is as strict as the parser: an envelope has texts
/// only, so NUL and lists in the place of objects are all that it would let through.
fn plain_envelope(text: &str) -> Option<Envelope> {
    let lists = text.matches('[').take(2).count();
    let envelope: Envelope = serde_json::from_str(text).ok().filter(|_| lists == 1)?;
    (!envelope.payload_type.contains('\0')).then_some(envelope)
}

fn item(value: Value) -> Result<Item, String> {
    if value.get("object").is_some() {
        let form: ApiForm = exact::from_value(value)
            .map_err(|error| format!("expected a deed in its API form: {error}"))?;
        return Ok(Item {
            payload: base64("payload", &form.payload)?,
            payload_type: form.payload_type.clone(),
            key_id: form.signature.key_id.clone(),
            signature: base64("signature.value", &form.signature.value)?,
            disclosures: form.disclosures.clone(),
            form: Some(form),
        });
    }
    let envelope: Envelope = exact::from_value(value)
        .map_err(|error| format!("expected a deed in its API form or a DSSE envelope: {error}"))?;
    framed(&envelope)
}

/// The parts of an envelope with one signature.
pub(super) fn framed(envelope: &Envelope) -> Result<Item, String> {
    let [EnvelopeSignature { keyid, sig }] = envelope.signatures.as_slice() else {
        return Err("expected a DSSE envelope with one signature".to_owned());
    };
    Ok(Item {
        payload: base64("payload", &envelope.payload)?,
        payload_type: envelope.payload_type.clone(),
        key_id: keyid.to_string(),
        signature: base64("sig", sig)?,
        form: None,
        disclosures: Vec::new(),
    })
}

fn base64(member: &str, text: &str) -> Result<Vec<u8>, String> {
    STANDARD.decode(text).map_err(|error| format!("`{member}` is no base64: {error}"))
}
