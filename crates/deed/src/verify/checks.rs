//! The list of checks, and what one check may come to.

use serde::{Serialize, Serializer};

/// Defines the list: each check's name and what it asserts.
macro_rules! checks {
    ($($variant:ident = $name:literal, $asserts:literal;)+) => {
        /// One check of the verifier. A later version may have more of them.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum CheckId {
            $(#[doc = $asserts] $variant),+
        }

        impl CheckId {
            /// Every check, in the order in which they run.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The check's name.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $name),+ }
            }

            /// What the check asserts, as a sentence.
            pub const fn asserts(self) -> &'static str {
                match self { $(Self::$variant => $asserts),+ }
            }
        }
    };
}

checks! {
    Input = "input", "The input is a deed in a form that the verifier reads.";
    Type = "type", "The payload's type is that of a deed.";
    Canonical = "canonical", "The payload is strict JSON in RFC 8785 form and inside the profile.";
    Shape = "shape", "The payload has the members of its kind, and no others.";
    Honesty = "honesty", "The deed claims nothing that the honesty rules forbid.";
    KeyId = "key_id", "The frame names the key that the signed body names.";
    Form = "form", "The members of the API form repeat the payload and the frame.";
    Digest = "digest", "The digest of the API form is the payload's.";
    Key = "key", "The key is among those that are trusted.";
    Window = "window", "The key was made for deeds and was in its time when the deed was issued.";
    Revoked = "revoked", "The key was not revoked.";
    Signature = "signature", "The signature is the key's over the payload and its type.";
    Disclosures = "disclosures", "Each disclosure opens the commitment at its place.";
    Log = "log", "All deeds are of one log and one org.";
    Sequence = "sequence", "The places in the log follow each other without a gap.";
    Prev = "prev", "Each deed names the digest of the previous one; the first one of a log, the genesis digest.";
    Time = "time", "No deed is issued before the one that it follows.";
    Unique = "unique", "No deed id occurs twice.";
    Amends = "amends", "An amendment names the deed that it amends as it is, and what it leaves is honest.";
    Archived = "archived", "Archived deeds have their places in the log, and no signed checkpoint given with them is of another tree.";
    Intents = "intents", "Each signed intent is the one that its deed names, and of the call that the deed records.";
    Checkpoint = "checkpoint", "The known checkpoint is signed by a trusted checkpoint key.";
    Root = "root", "The known checkpoint is of this log, and the deeds make its root.";
    Manifest = "manifest", "The signed list of a file of evidence names exactly its deeds.";
    Inclusion = "inclusion", "Each deed of the evidence is in the tree of the list's checkpoint.";
    Size = "size", "The log has as many deeds as expected.";
}

impl Serialize for CheckId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// What a check came to, the best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckStatus {
    /// It holds.
    Passed,
    /// It could not be decided.
    Undecided,
    /// It does not hold.
    Failed,
}

/// What one check came to over all deeds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Check {
    /// Which check.
    pub id: CheckId,
    /// What it came to where it was worst.
    pub status: CheckStatus,
    /// Why, the first time that it was worst; empty where it passed.
    pub detail: String,
}

/// An error with the sentence unless the condition holds.
pub(super) fn ensure(holds: bool, why: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(why()) }
}
