//! The closed lists of attribution.

use std::fmt;

/// Writes a list of words once: as values, as what is stored, and as what is read.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$word_doc:meta])* $variant:ident = $word:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name {
            $($(#[$word_doc])* $variant),+
        }

        impl $name {
            /// The list's values in order.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The word.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }

            /// The value of a word.
            pub fn from_word(word: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|value| value.as_str() == word)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}

words!(/// Why the service wrote a marker.
MarkerKind {
    /// An action's write.
    Act = "act",
    /// The write that takes an action's back.
    Undo = "undo",
    /// The tombstone of an action that must not be applied any more.
    Void = "void",
    /// A beat.
    Heartbeat = "hb",
    /// An Observe session begins.
    ObserveOpen = "obs_open",
    /// An Observe session ends.
    ObserveClose = "obs_close",
    /// The service puts its own tables in order.
    Maintenance = "maint",
});
words!(/// Why a transaction that shows something of ours is not taken for ours.
Forgery {
    /// A message of our prefix that is no marker.
    MarkerUnreadable = "marker_unreadable",
    /// A marker under a key that is none of the connector's.
    KeyUnknown = "key_unknown",
    /// A marker that was not signed by its key.
    MacWrong = "mac_wrong",
    /// A marker of another database cluster.
    OtherSystem = "other_system",
    /// A marker of another transaction.
    OtherTransaction = "other_transaction",
    /// A marker, or an action, of another connector.
    OtherConnector = "other_connector",
    /// More than one true marker.
    SeveralMarkers = "several_markers",
    /// A true marker without its row in the ledger.
    MarkerWithoutLedger = "marker_without_ledger",
    /// A row in the ledger without a marker.
    LedgerWithoutMarker = "ledger_without_marker",
    /// A row in the ledger that says something else than the marker.
    LedgerDiffers = "ledger_differs",
    /// An action that there is not.
    ActionUnknown = "action_unknown",
    /// An action of another org than the ledger says.
    OtherOrg = "other_org",
    /// Another request than the action's.
    OtherRequest = "other_request",
    /// An action whose run was never begun.
    ActionNotBegun = "action_not_begun",
    /// An action that has its transaction already.
    Replayed = "replayed",
});
words!(/// What else stands in a transaction that is ours.
Anomaly {
    /// Messages of our prefix that are not true markers, or more messages than are kept.
    ForeignMarker = "foreign_marker",
});
words!(/// What was done to the ledger, which only grows.
Tampering {
    /// It was emptied.
    Truncated = "truncated",
    /// Rows were taken away.
    Deleted = "deleted",
    /// Rows were changed.
    Updated = "updated",
});

impl MarkerKind {
    /// Whether a row in the ledger goes with it.
    pub const fn has_ledger_row(self) -> bool {
        match self {
            Self::Act | Self::Undo | Self::Void => true,
            Self::Heartbeat | Self::ObserveOpen | Self::ObserveClose | Self::Maintenance => false,
        }
    }
}
