//! Changes of what was signed: bodies, disclosures with their commitments, lists and checkpoints,
//! signed again with the private keys of RFC 8032, 7.1, tests 1 (deeds) and 2 (checkpoints).

use base64::{Engine, engine::general_purpose::STANDARD};
use crypto::ed25519::SigningKey;
use deed::tree::Tree;
use model::Digest;
use serde_json::{Value, json};

use super::super::random::Random;
use super::{text, tree::Words};

pub(super) const DEED_TYPE: &str = "application/vnd.service.deed.v1+json";
const LIST_TYPE: &str = "application/vnd.service.evidence.v1+json";
const SEEDS: [&str; 2] = [
    "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
    "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
];
/// What stands in the place of a disclosed value.
const VALUES: &[&str] = &[
    "1",
    " 1",
    "1 ",
    "\n1",
    "1,2",
    "NaN",
    "1e999",
    "01",
    "-0",
    "\"\\ud800\"",
    "\"\\u0000\"",
    "\"\u{1}\"",
    "[",
    "{\"a\":1,\"a\":2}",
    "\"\u{e9}\"",
    "null",
    "\"]\"",
    "tru",
    "[1]]",
    "{}",
    "\u{a0}1",
    "-Infinity",
];

/// Signs with the published test keys.
pub(super) struct Signer {
    deeds: SigningKey,
    checkpoints: SigningKey,
}

impl Signer {
    /// The signer whose public keys the vectors' key set has.
    pub(super) fn rfc8032() -> Self {
        let [deeds, checkpoints] = SEEDS.map(|seed| {
            let byte = |at: usize| {
                let pair = seed.get(at * 2..at * 2 + 2).unwrap();
                u8::from_str_radix(pair, 16).unwrap()
            };
            SigningKey::from_seed(&std::array::from_fn(byte)).unwrap()
        });
        Self { deeds, checkpoints }
    }

    fn signature(&self, kind: &str, payload: &[u8]) -> Value {
        json!(STANDARD.encode(self.deeds.sign(&deed::pae(kind, payload))))
    }

    /// A note over these three lines.
    fn note(&self, lines: [&str; 3]) -> String {
        let text = lines.map(|line| line.to_owned() + "\n").concat();
        let public = self.checkpoints.public().as_bytes();
        let id = crypto::sha256([lines[0].as_bytes(), b"\n\x01", public].concat());
        let stamp = [&id.as_bytes()[..4], &self.checkpoints.sign(text.as_bytes())].concat();
        format!("{text}\n\u{2014} {} {}\n", lines[0], STANDARD.encode(stamp))
    }

    /// A checkpoint of the log that begins with these deeds, of a size near theirs.
    pub(super) fn checkpoint(&self, forms: &[Value], random: &mut Random) -> Option<String> {
        let payloads: Vec<_> = forms.iter().filter_map(payload).collect();
        let tree = Tree::of(payloads.iter().map(crypto::sha256));
        let size = (payloads.len() as u64 + 1).checked_sub(random.below(3) as u64)?;
        let root = tree.root_at(size).unwrap_or_else(|| crypto::sha256("none"));
        let body: Value = serde_json::from_slice(payloads.first()?).ok()?;
        let root = STANDARD.encode(root.as_bytes());
        Some(self.note([body["log"].as_str()?, &size.to_string(), &root]))
    }

    /// The note with one line changed and signed again.
    pub(super) fn changed_note(&self, note: &str, random: &mut Random) -> String {
        let lines: Vec<_> = note.lines().map(str::to_owned).collect();
        let mut lines: [String; 3] =
            std::array::from_fn(|n| lines.get(n).cloned().unwrap_or_default());
        let mut bytes = lines[random.below(3)].clone().into_bytes();
        text::change(&mut bytes, random);
        let changed = String::from_utf8_lossy(&bytes).into_owned();
        let sizes =
            ["0", "1", "2", "3", "5", "6", "7", "8", "07", "9007199254740991", "9007199254740992"];
        match random.below(4) {
            0 => lines[0] = changed,
            1 | 2 => lines[1] = (*random.pick(&sizes)).to_owned(),
            _ => lines[2] = changed,
        }
        self.note([&lines[0], &lines[1], &lines[2]])
    }
}

/// What changes of signed deeds need.
pub(super) struct Change<'a> {
    pub(super) words: &'a Words,
    pub(super) signer: &'a Signer,
}

impl Change<'_> {
    /// Changes one of the forms, and makes the rest follow it mostly.
    pub(super) fn forms(&self, forms: &mut [Value], random: &mut Random) {
        if forms.is_empty() {
            return;
        }
        let place = random.below(forms.len());
        if forms[place].get("manifest").is_some() {
            return self.evidence(&mut forms[place], random);
        }
        let disclosed = forms[place]["disclosures"].as_array().is_some_and(|list| !list.is_empty());
        if disclosed && random.chance(15) {
            self.disclosure(&mut forms[place], random);
        } else if random.chance(10) {
            self.exchange(forms, place, random);
        } else {
            self.body(&mut forms[place], random);
        }
        if random.chance(60) {
            self.relink(forms, place);
        }
    }

    fn evidence(&self, file: &mut Value, random: &mut Random) {
        let deeds = file["deeds"].as_array().map_or(0, Vec::len);
        if file["intents"].as_array().is_some_and(|list| !list.is_empty()) && random.chance(60) {
            return self.intent(file, random);
        }
        if deeds == 0 || random.chance(40) {
            let Some(mut list) = payload(&file["manifest"]).and_then(|text| read(&text)) else {
                return;
            };
            self.words.change(&mut list, random);
            return self.put(
                &mut file["manifest"],
                (LIST_TYPE, list.to_string().as_bytes()),
                random,
            );
        }
        let place = random.below(deeds);
        self.body(&mut file["deeds"][place], random);
        if random.chance(70) {
            self.list(file, place, random);
        }
    }

    /// Makes the list of a file name the deed at this place as it is.
    pub(super) fn list(&self, file: &mut Value, place: usize, random: &mut Random) {
        let (Some(text), Some(mut list)) = (
            payload(&file["deeds"][place]),
            payload(&file["manifest"]).and_then(|text| read(&text)),
        ) else {
            return;
        };
        if list["deeds"].get(place).is_some() {
            list["deeds"][place]["digest"] = json!(crypto::sha256(&text));
            self.put(&mut file["manifest"], (LIST_TYPE, list.to_string().as_bytes()), random);
        }
    }

    fn body(&self, form: &mut Value, random: &mut Random) {
        let Some(mut text) = payload(form) else { return self.words.change(form, random) };
        match read(&text) {
            Some(mut body) if random.chance(90) => {
                if random.chance(65) {
                    self.words.reword(&mut body, random);
                } else {
                    self.words.change(&mut body, random);
                }
                text = body.to_string().into_bytes();
            }
            _ => text::change(&mut text, random),
        }
        self.put(form, (DEED_TYPE, &text), random);
    }

    /// Gives a deed what stands at the same place of another.
    fn exchange(&self, forms: &mut [Value], place: usize, random: &mut Random) {
        let other = &forms[random.below(forms.len())];
        let [from, to] =
            [other, &forms[place]].map(|form| payload(form).and_then(|text| read(&text)));
        let (Some(from), Some(mut to)) = (from, to) else { return };
        let at = Words::place(&from, random);
        if let (Some(new), Some(old)) = (from.pointer(&at), to.pointer_mut(&at)) {
            *old = new.clone();
        }
        self.put(&mut forms[place], (DEED_TYPE, to.to_string().as_bytes()), random);
    }

    /// Puts another value under a commitment, and commits to it mostly.
    fn disclosure(&self, form: &mut Value, random: &mut Random) {
        let Some(list) = form["disclosures"].as_array() else { return };
        let place = random.below(list.len());
        let text = list[place].as_str().and_then(|text| STANDARD.decode(text).ok());
        let Some(text) = text.and_then(|text| String::from_utf8(text).ok()) else { return };
        let Some((head, _)) = text.match_indices("\",").nth(1).map(|(at, _)| text.split_at(at + 2))
        else {
            return;
        };
        let value = *random.pick(VALUES);
        let changed = format!("{head}{value}]");
        let path = head.split('"').nth(3).unwrap_or_default().replace('.', "/");
        form["disclosures"][place] = json!(STANDARD.encode(&changed));
        let Some(mut body) = payload(form).and_then(|text| read(&text)) else { return };
        if let Some(at) = body.pointer_mut(&format!("/{path}")) {
            *at = json!({ "commit": crypto::sha256(&changed), "size": value.len() });
        }
        if random.chance(80) {
            self.put(form, (DEED_TYPE, body.to_string().as_bytes()), random);
        }
    }

    /// Puts the payload into the form; it is signed, and the form repeats it, in most cases.
    pub(super) fn put(
        &self,
        form: &mut Value,
        (kind, payload): (&str, &[u8]),
        random: &mut Random,
    ) {
        form["payload"] = json!(STANDARD.encode(payload));
        if random.chance(92) {
            let signature = self.signer.signature(kind, payload);
            match form.pointer_mut("/signatures/0/sig") {
                Some(at) => *at = signature,
                None => form["signature"]["value"] = signature,
            }
        }
        if form.get("object").is_some() && random.chance(92) {
            repeat(form, payload);
        }
        if random.chance(3) {
            self.words.change(form, random);
        }
    }

    /// Makes every deed after this one name the one before.
    fn relink(&self, forms: &mut [Value], from: usize) {
        for place in from + 1..forms.len() {
            let Some(before) = payload(&forms[place - 1]) else { return };
            let Some(mut body) = payload(&forms[place]).and_then(|text| read(&text)) else {
                return;
            };
            body["prev"] = json!(crypto::sha256(&before));
            let named = body.pointer("/amendment/amends/seq").and_then(Value::as_u64);
            let amended =
                named.and_then(|seq| usize::try_from(seq).ok()).filter(|seq| *seq < place);
            if let Some(digest) = amended.and_then(|seq| payload(&forms[seq])).map(crypto::sha256) {
                body["amendment"]["amends"]["digest"] = json!(digest);
            }
            let text = body.to_string().into_bytes();
            let form = &mut forms[place];
            form["payload"] = json!(STANDARD.encode(&text));
            let signature = self.signer.signature(DEED_TYPE, &text);
            if form.get("object").is_some() {
                form["signature"]["value"] = signature;
                repeat(form, &text);
            } else {
                form["signatures"][0]["sig"] = signature;
            }
        }
    }
}

/// Makes an API form repeat what its payload says.
fn repeat(form: &mut Value, payload: &[u8]) {
    let digest: Digest = crypto::sha256(payload);
    form["digest"] = json!(digest);
    if let Some(body) = read(payload) {
        form["id"] = body["id"].clone();
        form["kind"] = body["kind"].clone();
        form["log"] = json!({ "origin": body["log"], "index": body["seq"] });
        form["body"] = body;
    }
}

pub(super) fn payload(form: &Value) -> Option<Vec<u8>> {
    STANDARD.decode(form.get("payload")?.as_str()?).ok()
}

pub(super) fn read(text: &[u8]) -> Option<Value> {
    serde_json::from_slice::<Value>(text).ok().filter(Value::is_object)
}
