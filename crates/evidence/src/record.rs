//! A transaction as a store writes it: in words, without its rows, which are kept beside it.

use decoder::attribution::{Anomaly, Attribution, Forgery, MarkerKind, Tampering};
use model::{ActionId, LogFrame, Timestamp};
use serde::{Deserialize, Serialize};

use crate::StoredFrame;

/// What of a [`StoredFrame`] stands beside its rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Words", into = "Words")]
pub struct FrameRecord(StoredFrame);

/// A record that says what no transaction can be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the record of a transaction does not say whose it is")]
pub struct FrameRecordError;

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Words {
    /// Whose it is; beside it stands what that word needs.
    attribution: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    action: Option<ActionId>,
    /// The kind of marker.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    kind: Option<String>,
    /// Why it is nobody's, or what was done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    why: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    anomalies: Vec<String>,
    claimed: Option<ActionId>,
    xid: u32,
    committed_at: Timestamp,
    frame: LogFrame,
}

impl FrameRecord {
    /// The record of a transaction.
    pub fn of(stored: &StoredFrame) -> Self {
        Self(StoredFrame { images: None, ..stored.clone() })
    }

    /// The transaction with these rows.
    pub fn with(self, images: Option<Vec<u8>>) -> StoredFrame {
        StoredFrame { images, ..self.0 }
    }
}

impl From<FrameRecord> for Words {
    fn from(FrameRecord(stored): FrameRecord) -> Self {
        let StoredFrame { attribution, claimed, xid, committed_at, frame, images: _ } = stored;
        let (mut action, mut kind, mut why, mut anomalies) = (None, None, None, Vec::new());
        match &attribution {
            Attribution::Action { action: own, kind: written, anomalies: seen } => {
                (action, kind, anomalies) = (Some(*own), Some(written.as_str()), words(seen));
            }
            Attribution::Service { kind: written, anomalies: seen } => {
                (kind, anomalies) = (Some(written.as_str()), words(seen));
            }
            Attribution::Unattributed => {}
            Attribution::Forged(forgery) => why = Some(forgery.as_str()),
            Attribution::LedgerTampered(tampering) => why = Some(tampering.as_str()),
        }
        Self {
            attribution: attribution.as_str().to_owned(),
            action,
            kind: kind.map(str::to_owned),
            why: why.map(str::to_owned),
            anomalies,
            claimed,
            xid,
            committed_at,
            frame,
        }
    }
}

impl TryFrom<Words> for FrameRecord {
    type Error = FrameRecordError;

    fn try_from(words: Words) -> Result<Self, FrameRecordError> {
        let attribution = words.attribution().ok_or(FrameRecordError)?;
        let Words { claimed, xid, committed_at, frame, .. } = words;
        Ok(Self(StoredFrame { attribution, claimed, xid, committed_at, frame, images: None }))
    }
}

impl Words {
    fn attribution(&self) -> Option<Attribution> {
        let kind = || self.kind.as_deref().and_then(MarkerKind::from_word);
        let anomalies = || {
            self.anomalies.iter().map(|word| Anomaly::from_word(word)).collect::<Option<Vec<_>>>()
        };
        let why = self.why.as_deref();
        match self.attribution.as_str() {
            "attributed" => Some(Attribution::Action {
                action: self.action?,
                kind: kind()?,
                anomalies: anomalies()?,
            }),
            "service" => Some(Attribution::Service { kind: kind()?, anomalies: anomalies()? }),
            "unattributed" => Some(Attribution::Unattributed),
            "forged" => why.and_then(Forgery::from_word).map(Attribution::Forged),
            "ledger_tampered" => {
                why.and_then(Tampering::from_word).map(Attribution::LedgerTampered)
            }
            _ => None,
        }
    }
}

fn words(anomalies: &[Anomaly]) -> Vec<String> {
    anomalies.iter().map(|anomaly| anomaly.as_str().to_owned()).collect()
}
