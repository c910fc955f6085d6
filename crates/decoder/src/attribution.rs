//! Which governed action a transaction belongs to.
//!
//! A governed write begins with a row in `service.ledger` and a marker in the log, both in the
//! write's own transaction. The row can be written by the service's own function alone, and the
//! marker's MAC, which holds the transaction's number, by the service alone. [`Claim::of`] reads
//! both and checks everything that the transaction itself can show; [`Claim::judge`] adds what the
//! service knows of the action. Whoever asks loads that between the two.

mod marker;
mod row;
mod words;

use model::{ActionId, ConnectorId, Digest, OrgId};

use crate::{Counts, Frame, SERVICE_SCHEMA};

pub use marker::{Marker, MarkerKey};
pub use words::{Anomaly, Forgery, MarkerKind, Tampering};

use row::LedgerRow;

const LEDGER: &str = "ledger";

/// Where a stream was read, and who may sign there.
#[derive(Debug, Clone, Copy)]
pub struct Site<'a> {
    /// The connector whose database it is.
    pub connector: ConnectorId,
    /// The database cluster's own number, as `pg_control_system()` prints it.
    pub system: &'a str,
    /// The keys that sign the connector's markers; several while the vault's keys change.
    pub keys: &'a [MarkerKey],
}

/// What the service knows of an action.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Known {
    /// Whose action it is.
    pub org: OrgId,
    /// The connector that was to run it.
    pub connector: ConnectorId,
    /// The digest of what was asked.
    pub request_digest: Digest,
    /// Whether its run was ever begun. A frame may be read after its action was sealed, so this is
    /// not whether it runs now.
    pub begun: bool,
    /// Whether another transaction was taken for its run before.
    pub framed: bool,
}

/// What a transaction shows of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Claim {
    /// Nothing of ours.
    None,
    /// It is an action's write, or its tombstone. Whether the action is one remains to be asked.
    Action {
        /// The action.
        action: ActionId,
        /// The org that the ledger row names.
        org: String,
        /// What kind of write.
        kind: MarkerKind,
        /// The digest of what was asked; a tombstone has none.
        request_digest: Option<Digest>,
        /// What else is in the transaction that should not be.
        anomalies: Vec<Anomaly>,
    },
    /// It is the service's own: a beat, the border of an Observe session, maintenance.
    Service {
        /// What kind.
        kind: MarkerKind,
        /// What else is in the transaction that should not be.
        anomalies: Vec<Anomaly>,
    },
    /// It shows something of ours that is not true.
    Forged(Forgery),
    /// It changed what was written in the ledger.
    Tampered(Tampering),
}

/// Whose a transaction is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Attribution {
    /// An action's.
    Action {
        /// The action.
        action: ActionId,
        /// What kind of write.
        kind: MarkerKind,
        /// What else is in the transaction that should not be.
        anomalies: Vec<Anomaly>,
    },
    /// The service's own.
    Service {
        /// What kind.
        kind: MarkerKind,
        /// What else is in the transaction that should not be.
        anomalies: Vec<Anomaly>,
    },
    /// Nobody's that we know: somebody wrote past the service.
    Unattributed,
    /// Somebody's who wanted to pass for us.
    Forged(Forgery),
    /// Somebody's who changed the ledger.
    LedgerTampered(Tampering),
}

impl Attribution {
    /// The word under which it is stored and shown.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Action { .. } => "attributed",
            Self::Service { .. } => "service",
            Self::Unattributed => "unattributed",
            Self::Forged(_) => "forged",
            Self::LedgerTampered(_) => "ledger_tampered",
        }
    }
}

impl Claim {
    /// What the frame shows of itself at this site.
    pub fn of(frame: &Frame, site: &Site<'_>) -> Self {
        let ledger = frame.counts_of(SERVICE_SCHEMA, LEDGER);
        let (mut valid, mut wrong) = (Vec::new(), Vec::new());
        for message in &frame.messages {
            let checked = Marker::read(message.content.as_deref())
                .and_then(|marker| marker.checked(frame.xid, site));
            match checked {
                Ok(marker) => valid.push(marker),
                Err(why) => wrong.push(why),
            }
        }
        let maintained = valid.iter().any(|marker| marker.kind == MarkerKind::Maintenance);
        if let Some(tampering) = tampering(ledger).filter(|_| !maintained) {
            return Self::Tampered(tampering);
        }
        let unread = u64::try_from(frame.messages.len()).unwrap_or(u64::MAX) < frame.message_count;
        let anomalies =
            if wrong.is_empty() && !unread { vec![] } else { vec![Anomaly::ForeignMarker] };
        match (valid.as_slice(), wrong.first()) {
            ([marker], _) => of_one(frame, marker, ledger, anomalies),
            ([], None) if ledger.inserts > 0 => Self::Forged(Forgery::LedgerWithoutMarker),
            ([], None) => Self::None,
            ([], Some(why)) => Self::Forged(*why),
            ([_, ..], _) => Self::Forged(Forgery::SeveralMarkers),
        }
    }

    /// The action of which [`Claim::judge`] has to know.
    pub fn action(&self) -> Option<ActionId> {
        match self {
            Self::Action { action, .. } => Some(*action),
            Self::None | Self::Service { .. } | Self::Forged(_) | Self::Tampered(_) => None,
        }
    }

    /// Whose the transaction is, with what is known of the action that it names: nothing, if there
    /// is no such action.
    pub fn judge(self, connector: ConnectorId, known: Option<&Known>) -> Attribution {
        match self {
            Self::None => Attribution::Unattributed,
            Self::Service { kind, anomalies } => Attribution::Service { kind, anomalies },
            Self::Forged(why) => Attribution::Forged(why),
            Self::Tampered(how) => Attribution::LedgerTampered(how),
            Self::Action { action, org, kind, request_digest, anomalies } => {
                let Some(known) = known else {
                    return Attribution::Forged(Forgery::ActionUnknown);
                };
                let said = (org.as_str(), request_digest);
                match contradiction(connector, known, said) {
                    Some(why) => Attribution::Forged(why),
                    None => Attribution::Action { action, kind, anomalies },
                }
            }
        }
    }
}

/// What of the ledger was changed that only grows.
fn tampering(ledger: Counts) -> Option<Tampering> {
    [
        (ledger.truncates, Tampering::Truncated),
        (ledger.deletes, Tampering::Deleted),
        (ledger.updates, Tampering::Updated),
    ]
    .into_iter()
    .find_map(|(count, how)| (count > 0).then_some(how))
}

fn of_one(frame: &Frame, marker: &Marker, ledger: Counts, anomalies: Vec<Anomaly>) -> Claim {
    let kind = marker.kind;
    if !kind.has_ledger_row() {
        // Maintenance puts the ledger in order, whatever that takes; nothing else of this sort has
        // anything to write there.
        return if ledger.inserts > 0 && kind != MarkerKind::Maintenance {
            Claim::Forged(Forgery::LedgerDiffers)
        } else {
            Claim::Service { kind, anomalies }
        };
    }
    let rows: Vec<LedgerRow<'_>> = frame.own_changes.iter().filter_map(LedgerRow::of).collect();
    let row = match (rows.as_slice(), ledger.inserts) {
        ([row], 1) => row,
        (_, 0) => return Claim::Forged(Forgery::MarkerWithoutLedger),
        (_, _) => return Claim::Forged(Forgery::LedgerDiffers),
    };
    match (marker.action, row.org) {
        (Some(action), Some(org)) if row.agrees_with(marker) => {
            let (org, request_digest) = (org.to_owned(), marker.request_digest);
            Claim::Action { action, org, kind, request_digest, anomalies }
        }
        (_, _) => Claim::Forged(Forgery::LedgerDiffers),
    }
}

/// What the transaction says of its action and is not so.
fn contradiction(
    connector: ConnectorId,
    known: &Known,
    (org, request_digest): (&str, Option<Digest>),
) -> Option<Forgery> {
    if known.connector != connector {
        Some(Forgery::OtherConnector)
    } else if org.parse() != Ok(known.org) {
        Some(Forgery::OtherOrg)
    } else if request_digest.is_some_and(|digest| digest != known.request_digest) {
        Some(Forgery::OtherRequest)
    } else if !known.begun {
        Some(Forgery::ActionNotBegun)
    } else if known.framed {
        Some(Forgery::Replayed)
    } else {
        None
    }
}
