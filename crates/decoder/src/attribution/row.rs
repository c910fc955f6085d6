//! The row that a governed write puts into the ledger.

use crate::{Change, Edit, SERVICE_SCHEMA, Value};

use super::{LEDGER, Marker};

/// A row of `service.ledger`, as far as it is compared. What is no text is missing.
#[derive(Debug, Clone, Copy)]
pub(super) struct LedgerRow<'a> {
    action: Option<&'a str>,
    attempt: Option<&'a str>,
    kind: Option<&'a str>,
    request_digest: Option<&'a str>,
    xid: Option<&'a str>,
    nonce: Option<&'a str>,
    mac: Option<&'a str>,
    /// The org that it names.
    pub(super) org: Option<&'a str>,
}

impl<'a> LedgerRow<'a> {
    /// The row, if the change is a new one in the ledger.
    pub(super) fn of(change: &'a Change) -> Option<Self> {
        let table = &change.relation.table;
        let Edit::Insert { .. } = &change.edit else { return None };
        if table.schema != SERVICE_SCHEMA || table.name != LEDGER {
            return None;
        }
        let text = |column| change.after(column).and_then(Value::as_text);
        Some(Self {
            action: text("action_id"),
            attempt: text("attempt"),
            kind: text("kind"),
            request_digest: text("request_digest"),
            xid: text("xid"),
            nonce: text("nonce"),
            mac: text("mac"),
            org: text("org"),
        })
    }

    /// Whether the row says what the marker says.
    pub(super) fn agrees_with(&self, marker: &Marker) -> bool {
        let digest = marker.request_digest.map(|digest| digest.to_string());
        self.action.map(str::to_owned) == marker.action.map(|action| action.to_string())
            && self.attempt == Some(marker.attempt.to_string().as_str())
            && self.kind == Some(marker.kind.as_str())
            && self.request_digest == digest.as_deref()
            && self.xid == Some(marker.xid.as_str())
            && self.nonce == Some(marker.nonce.as_str())
            && self.mac == Some(marker.mac.as_str())
    }
}
