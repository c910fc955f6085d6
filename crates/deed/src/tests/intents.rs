//! Signed intents in files of evidence: what an agent signed, and what its deed says of that.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use crypto::ed25519::SigningKey;
use model::Mint;
use serde_json::{Value, json};

use super::{
    evidence::evidence,
    support::{Log, faults, hex, trust},
};
use crate::{
    Actor, Content, Disclosure, Draft, Jws, Path, ShownIntent, Tool, specimen, thumbprint,
    verify::{CheckId, IntentShown, Report, Trust, Verdict, examine},
};

/// The seed of RFC 8032, section 7.1, test 3.
const AGENT_SEED: &str = "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7";

fn agent_key() -> SigningKey {
    SigningKey::from_seed(&hex(AGENT_SEED).try_into().unwrap()).unwrap()
}

pub(super) fn encode(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// An intent in the making, and what its deed is going to say of it.
pub(super) struct Wording {
    pub(super) header: Value,
    pub(super) claims: Value,
    /// The payload where it is not just the claims.
    pub(super) payload: Option<String>,
    pub(super) signature: Option<[u8; 64]>,
    pub(super) public_key: String,
    /// What the deed names.
    pub(super) key_id: String,
    pub(super) alg: &'static str,
    /// What becomes of the text before the deed names its digest.
    pub(super) written: fn(String) -> String,
}

impl Wording {
    fn of(draft: &Draft, opened: &[Disclosure]) -> Self {
        let (Content::Action(action), Actor::Agent(agent)) = (&draft.content, &draft.actor) else {
            panic!("no action by an agent");
        };
        let value = |path: Path| -> Value {
            let found = opened.iter().find(|open| *open.path() == path);
            found.map_or(Value::Null, |open| open.value().parse().unwrap())
        };
        let tool = match &action.tool {
            Tool::Named(name) => json!(name.to_string()),
            Tool::NoName(_) => value(Path::TOOL),
        };
        let call = json!({ "args": value(Path::REQUEST), "tool": tool });
        let now = action.received_at.unix_millis() / 1000;
        let kid = thumbprint(agent_key().public()).to_string();
        Self {
            header: json!({ "alg": "Ed25519", "kid": kid, "typ": "service-intent+jwt" }),
            claims: json!({
                "aud": "https://specimen.example",
                "sub": agent,
                "tool": tool,
                "req": crypto::sha256(crypto::json::canonical(&call)),
                "mode": action.mode,
                "obo": value(Path::ON_BEHALF_OF),
                "ses": value(Path::SESSION),
                "idem": null,
                "iat": now,
                "exp": now + 60,
                "jti": "Zm9ydHktdHdvIHJhbmRvbSBieXRlcw",
            }),
            payload: None,
            signature: None,
            public_key: encode(agent_key().public().as_bytes()),
            key_id: kid,
            alg: "Ed25519",
            written: |text| text,
        }
    }

    pub(super) fn claim(&mut self, name: &str, value: impl Into<Value>) {
        self.claims[name] = value.into();
    }

    /// When the call came in, in Unix seconds.
    pub(super) fn now(&self) -> i64 {
        self.claims["exp"].as_i64().unwrap() - 60
    }

    fn text(&self) -> String {
        let payload = self.payload.clone().unwrap_or_else(|| self.claims.to_string());
        let signed = format!("{}.{}", encode(self.header.to_string()), encode(payload));
        let signature = self.signature.unwrap_or_else(|| agent_key().sign(signed.as_bytes()));
        (self.written)(format!("{signed}.{}", encode(signature)))
    }
}

/// Seals an action that was changed after it was made, and that its agent signed so.
pub(super) fn seal_signed(
    log: &mut Log,
    change: impl FnOnce(&mut Draft, &mut Vec<Disclosure>, &Mint<'_>),
    word: impl FnOnce(&mut Wording),
) {
    let mut intent = None;
    log.seal(|mint| {
        let (mut draft, mut opened) = specimen::action(mint).unwrap();
        change(&mut draft, &mut opened, mint);
        let mut wording = Wording::of(&draft, &opened);
        word(&mut wording);
        let (jws, public_key) = (wording.text(), wording.public_key.clone());
        if let Content::Action(action) = &mut draft.content {
            action.intent.jws = Some(Jws {
                alg: wording.alg.parse().unwrap(),
                digest: crypto::sha256(&jws),
                key_id: wording.key_id.parse().unwrap(),
            });
        }
        intent = Some(ShownIntent { jws, public_key });
        (draft, opened)
    })
    .unwrap();
    *log.intents.last_mut().unwrap() = intent;
}

/// A file of evidence of one action that its agent signed so.
pub(super) fn worded(word: impl FnOnce(&mut Wording)) -> Value {
    let mut log = Log::new();
    seal_signed(&mut log, |_, _, _| {}, word);
    evidence(&log, &[0], &[])
}

/// The places of the deeds whose intents are named and not shown.
pub(super) fn not_shown(report: &Report) -> Vec<u64> {
    let hidden = report.deeds.iter().filter(|deed| deed.intent == Some(IntentShown::NotShown));
    hidden.map(|deed| deed.seq).collect()
}

fn check(form: &Value, trust: &Trust) -> Report {
    examine(form.to_string().as_bytes(), trust)
}

#[test]
fn an_intent_in_evidence_is_checked_and_the_report_says_that_it_was_shown() {
    let report = check(&worded(|_| {}), &trust());
    assert_eq!(report.verdict, Verdict::Valid, "{report}");
    assert!(report.checks.iter().any(|check| check.id == CheckId::Intents));
    assert_eq!(report.deeds[0].intent, Some(IntentShown::Shown));
    let wrong = check(&worded(|intent| intent.claim("tool", "shop.delete")), &trust());
    assert_eq!((wrong.verdict, faults(&wrong)), (Verdict::Invalid, vec![CheckId::Intents]));
    assert_eq!(
        wrong.to_string(),
        "invalid: `intents`: deed 0: the intent's `tool` is not that of the call in the deed"
    );
}

#[test]
fn without_intents_a_file_has_no_such_member_and_names_what_it_does_not_show() {
    let mut log = Log::of(1);
    seal_signed(&mut log, |_, _, _| {}, |_| {});
    let unsigned = evidence(&log, &[0], &[]);
    assert!(unsigned.get("intents").is_none(), "who knows nothing of intents can read it");
    assert_eq!(check(&unsigned, &trust()).deeds[0].intent, None);
    log.intents[1] = None;
    let report = check(&evidence(&log, &[1], &[]), &trust());
    assert_eq!((report.verdict, not_shown(&report)), (Verdict::Valid, vec![1]));
    assert!(report.checks.iter().all(|check| check.id != CheckId::Intents));
    let alone = check(&log.forms[1], &trust());
    assert_eq!((alone.verdict, not_shown(&alone)), (Verdict::Valid, vec![1]));
}

#[test]
fn an_intent_that_holds_shows_nothing_where_the_seal_key_is_not_trusted() {
    let file = worded(|_| {});
    let report = check(&file, &Trust::default());
    assert_eq!((report.verdict, faults(&report)), (Verdict::Undecidable, vec![CheckId::Key]));
}
