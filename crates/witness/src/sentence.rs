//! What each reason means for the verdict, and its sentence for people.

use model::{Level, Outcome, Verdict, WitnessReason as Reason};

use crate::Found;

/// The verdict that a reason alone leads to.
pub(crate) fn verdict(reason: Reason) -> Verdict {
    told(reason).0
}

/// The reason as a sentence.
pub(crate) fn sentence(reason: Reason) -> &'static str {
    told(reason).1
}

/// The finding as one sentence.
pub(crate) fn summary(
    (level, outcome): (Level, &Outcome),
    worst: Option<Reason>,
    found: &Found,
) -> String {
    let Some(worst) = worst else {
        let has_failed = matches!(outcome, Outcome::Failed(_));
        return match level {
            Level::L2 if has_failed => "The call failed, and the database committed nothing of it.",
            Level::L0 => "The report is consistent with itself and with what the tool declares.",
            Level::L1 if !found.fields.is_empty() => {
                "The API, asked once more, says what was reported in every field that is compared."
            }
            Level::L1 => "A separate reader found every reported row as it was reported.",
            Level::L2 => "The database committed what was reported and nothing else.",
        }
        .to_owned();
    };
    let fields = found.fields.iter().filter(|field| field.reason == Some(worst));
    let places: Vec<_> = fields.map(|field| format!("`{}`", field.place)).collect();
    if !places.is_empty() {
        return format!("{} That is at {}.", sentence(worst), places.join(", "));
    }
    let named: Vec<_> = found.rows.iter().filter(|row| row.reason == Some(worst)).collect();
    match named.first() {
        Some(first) if named.len() == 1 => format!("{} It is in {}.", sentence(worst), first.table),
        Some(first) => {
            format!("{} There are {} such rows in {}.", sentence(worst), named.len(), first.table)
        }
        None => sentence(worst).to_owned(),
    }
}

#[rustfmt::skip]
fn told(reason: Reason) -> (Verdict, &'static str) {
    use Verdict::{Mismatch, Unverifiable};
    match reason {
        Reason::EdgeLost | Reason::OutcomeUnknown => (Unverifiable, "Nobody can say whether the call was applied."),
        Reason::ReportLost => (Unverifiable, "The call was applied and the tool's report of it is lost."),
        Reason::NothingReported => (Unverifiable, "The report says nothing that could be compared."),
        Reason::RowCountOverLimit => (Mismatch, "More rows were changed than the tool declares."),
        Reason::ReadToolWrote => (Mismatch, "A tool that only reads changed rows."),
        Reason::RequiredLevelUnmet => (Unverifiable, "The call needs more evidence than there is."),
        Reason::NotCommitted => (Mismatch, "The tool reported a success and the database committed nothing."),
        Reason::ReportedFailedButCommitted => (Mismatch, "The tool reported a failure and the database committed the call."),
        Reason::CommittedTwice => (Mismatch, "The database committed the call more than once."),
        Reason::RowCount => (Mismatch, "The database changed another number of rows than was reported."),
        Reason::MissingRows => (Mismatch, "A reported row was not changed."),
        Reason::NotThere => (Mismatch, "What was reported is not there."),
        Reason::ExtraRows => (Mismatch, "A row was changed that was not reported."),
        Reason::UnexpectedTable => (Mismatch, "A table was changed that the tool does not declare."),
        Reason::UnexpectedOp => (Mismatch, "Rows were changed in a way that the tool does not declare."),
        Reason::UnexpectedColumn => (Mismatch, "A column was changed that the tool does not declare."),
        Reason::ValueDiffers => (Mismatch, "The value is not the one that was reported."),
        Reason::ScopeExceeded => (Mismatch, "A row was changed that the arguments do not name."),
        Reason::TruncateSeen => (Mismatch, "A table was emptied."),
        Reason::ChangedSince => (Unverifiable, "A reported row was changed by another transaction before it could be read."),
        Reason::ReadbackTimeout => (Unverifiable, "What was reported could not be read in time."),
        Reason::ReadbackDenied => (Unverifiable, "The reader may not read what was reported."),
        Reason::NoKey => (Unverifiable, "The report does not contain the keys of what it reports."),
        Reason::ReadbackNotOffered => (Unverifiable, "There is nothing that a separate reader could read."),
        Reason::ReadbackUnreadable => (Unverifiable, "The values to compare were not in what was read back."),
        Reason::WitnessGaveUp => (Unverifiable, "The evidence could not be had, as often as it was tried."),
        Reason::DecoderOff => (Unverifiable, "Nobody reads the change log of this database."),
        Reason::DecoderStalled => (Unverifiable, "Reading the change log does not get on."),
        Reason::FrameTimeout => (Unverifiable, "The change log was not read far enough in time."),
        Reason::SlotInvalidated => (Unverifiable, "The slot in the change log is gone."),
        Reason::SlotMoved => (Unverifiable, "Somebody else moved the slot past changes that were not read."),
        Reason::EvidenceGap => (Unverifiable, "The change log has a gap where the call ran."),
        Reason::TableNotPublished => (Unverifiable, "A changed table is not published."),
        Reason::PublicationFiltered => (Unverifiable, "Not everything of a changed table is published."),
        Reason::NoFullIdentity => (Unverifiable, "A changed table does not log its old rows completely."),
        Reason::ToastUnresolved => (Unverifiable, "A value is missing from the evidence."),
        Reason::ImagesTruncated => (Unverifiable, "More rows were changed than are kept of one transaction."),
        Reason::UnloggedTable => (Unverifiable, "A changed table's changes do not go through the log."),
        Reason::UnpublishedWrites => (Unverifiable, "Rows were changed, or may have been changed, that the log does not show."),
        Reason::CountDivergence => (Unverifiable, "The server counted other changes than the evidence shows."),
        Reason::MarkerMissing => (Unverifiable, "The transaction in the log lacks the service's marker."),
        Reason::MarkerAmbiguous => (Unverifiable, "Several transactions in the log pass for the call's."),
        Reason::LedgerWithoutFrame => (Unverifiable, "The ledger has the call and the change log does not."),
        Reason::TriggerEffects => (Unverifiable, "Rows were changed after the statement had ended."),
    }
}
