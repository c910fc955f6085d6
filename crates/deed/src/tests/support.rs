//! Logs to work on: fixed keys, a fixed clock, bytes that never repeat.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use base64::{Engine, engine::general_purpose::STANDARD};
use model::{Entropy, Mint, OrgId, Timestamp};
use serde_json::Value;

use crate::{
    Amended, Body, ChainHead, Disclosure, Draft, KeySet, Purpose, SealError, SealKey, SealKeys,
    Sealed, Sealer, ShownIntent, api_form,
    specimen::{self, Specimen},
    verify::{CheckId, CheckStatus, Report, Trust},
};

/// The seeds of RFC 8032, section 7.1, tests 1 and 2.
pub(super) const DEED_SEED: &str =
    "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60";
pub(super) const CHECKPOINT_SEED: &str =
    "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb";

/// Distinct bytes that are the same in every run.
#[derive(Default)]
pub(super) struct Counting(AtomicU64);

impl From<u64> for Counting {
    fn from(start: u64) -> Self {
        Self(AtomicU64::new(start))
    }
}

impl Entropy for Counting {
    fn fill(&self, buffer: &mut [u8]) {
        let count = self.0.fetch_add(1, Ordering::Relaxed).to_be_bytes();
        let bytes = crypto::sha256(count);
        for (to, from) in buffer.iter_mut().zip(bytes.as_bytes().iter().cycle()) {
            *to = *from;
        }
    }
}

pub(super) fn moment() -> Timestamp {
    "2026-10-01T12:00:00.000Z".parse().unwrap()
}

pub(super) fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<_> = text.chars().map(|c| c.to_digit(16).unwrap()).collect();
    digits.chunks(2).map(|pair| u8::try_from(pair[0] * 16 + pair[1]).unwrap()).collect()
}

pub(super) fn key_file(seeds: &[(Purpose, &str)]) -> String {
    let block = |(purpose, seed): &(Purpose, &str)| {
        let der = hex(&format!("302e020100300506032b657004220420{seed}"));
        format!(
            "purpose: {}\n-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----\n",
            purpose.as_str(),
            STANDARD.encode(der)
        )
    };
    seeds.iter().map(block).collect()
}

pub(super) fn private_keys() -> SealKeys {
    let file = key_file(&[(Purpose::Deed, DEED_SEED), (Purpose::Checkpoint, CHECKPOINT_SEED)]);
    SealKeys::from_pem(&file).unwrap()
}

/// The published keys, active since an hour before [`moment`].
pub(super) fn public_keys() -> Vec<SealKey> {
    let since = moment().before(Duration::from_hours(1));
    private_keys()
        .keys()
        .map(|(purpose, key)| SealKey::new(*key.public(), purpose, since))
        .collect()
}

pub(super) fn key_set() -> KeySet {
    KeySet::new(public_keys()).unwrap()
}

pub(super) fn sealer() -> Sealer {
    Sealer::new(private_keys(), key_set())
}

/// One log, and what a reader of it would get.
pub(super) struct Log {
    pub(super) sealer: Sealer,
    pub(super) head: ChainHead,
    pub(super) org: OrgId,
    pub(super) entropy: Counting,
    pub(super) forms: Vec<Value>,
    pub(super) sealed: Vec<Sealed>,
    pub(super) opened: Vec<Vec<Disclosure>>,
    pub(super) intents: Vec<Option<ShownIntent>>,
}

impl Log {
    pub(super) fn new() -> Self {
        let entropy = Counting::default();
        let mint = Mint::new(moment(), &entropy);
        let (log, org) = (specimen::log(&mint).unwrap(), specimen::org(&mint));
        let head = ChainHead::genesis(log);
        let (forms, sealed, opened, intents) = (vec![], vec![], vec![], vec![]);
        Self { sealer: sealer(), head, org, entropy, forms, sealed, opened, intents }
    }

    /// A log of admin deeds, one a second.
    pub(super) fn of(deeds: u64) -> Self {
        let mut log = Self::new();
        for _ in 0..deeds {
            log.seal(specimen::admin).unwrap();
        }
        log
    }

    pub(super) fn now(&self) -> Timestamp {
        moment() + Duration::from_secs(self.head.size())
    }

    pub(super) fn seal(
        &mut self,
        make: impl FnOnce(&Mint<'_>) -> Specimen,
    ) -> Result<Sealed, SealError> {
        let (draft, disclosures) = make(&Mint::new(self.now(), &self.entropy));
        let at = self.now();
        let sealed = self.sealer.seal(&mut self.head, draft, self.org, at)?;
        self.forms.push(api_form(&sealed.body, &sealed.signature, &disclosures).unwrap());
        self.sealed.push(sealed.clone());
        self.opened.push(disclosures);
        self.intents.push(None);
        Ok(sealed)
    }

    /// Seals an action that was changed after it was made.
    pub(super) fn seal_action(
        &mut self,
        change: impl FnOnce(&mut Draft),
    ) -> Result<Sealed, SealError> {
        self.seal(|mint| {
            let (mut draft, _) = specimen::action(mint).unwrap();
            change(&mut draft);
            (draft, vec![])
        })
    }

    pub(super) fn checkpoint(&self) -> String {
        self.sealer.checkpoint(&self.head, self.now()).unwrap()
    }

    pub(super) fn lines(&self) -> String {
        lines(&self.forms)
    }
}

/// An amendment of this deed by late evidence.
pub(super) fn amendment_of(deed: &Sealed) -> impl Fn(&Mint<'_>) -> Specimen + use<> {
    let amends = Amended { id: deed.id, digest: deed.digest, seq: deed.seq };
    let subject = Body::read(deed.body.as_bytes()).unwrap().subject;
    move |mint| specimen::amendment(mint, amends, subject.clone()).unwrap()
}

pub(super) fn lines(forms: &[Value]) -> String {
    forms.iter().map(|form| form.to_string() + "\n").collect()
}

pub(super) fn trust() -> Trust {
    Trust { keys: Some(key_set()), ..Trust::default() }
}

/// The checks that did not pass.
pub(super) fn faults(report: &Report) -> Vec<CheckId> {
    let bad = report.checks.iter().filter(|check| check.status != CheckStatus::Passed);
    bad.map(|check| check.id).collect()
}
