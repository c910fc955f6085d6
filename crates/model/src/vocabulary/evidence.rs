//! What was found about a run, and on whose word.

list!(/// How much evidence a verdict rests on.
Level {
    /// The tool's own report.
    L0 = "L0",
    /// A read-back by a separate reader.
    L1 = "L1",
    /// The database's change log.
    L2 = "L2",
});
list!(/// What the witness found.
Verdict {
    /// Report and evidence agree.
    Verified = "VERIFIED",
    /// Report and evidence differ.
    Mismatch = "MISMATCH",
    /// The evidence does not suffice.
    Unverifiable = "UNVERIFIABLE",
});
list!(/// Where the witness's evidence came from.
WitnessMethod {
    /// The connector's report.
    Reported = "reported",
    /// The edge's report.
    EdgeReported = "edge_reported",
    /// A read-back.
    ReadBack = "read_back",
    /// The change log.
    ChangeLog = "change_log",
    /// The change log against an undo plan.
    UndoFootprint = "undo_footprint",
    /// Nothing.
    None = "none",
});
list!(/// Why the change log can never tell of a run.
LogGap {
    /// Nobody reads the log of this database.
    DecoderOff = "decoder_off",
    /// Reading the log does not get on.
    DecoderStalled = "decoder_stalled",
    /// The slot is gone or the server gave its log up.
    SlotInvalidated = "slot_invalidated",
    /// Somebody else moved the slot past what was read.
    SlotMoved = "slot_moved",
    /// Between the run and now the log begins anew: another server took over, or a backup came back.
    EvidenceGap = "evidence_gap",
    /// What is published was changed while the run was under way.
    PublicationFiltered = "publication_filtered",
    /// The run's row is in the ledger and the log has a transaction without its marker.
    MarkerMissing = "marker_missing",
    /// Several transactions pass for the run's.
    MarkerAmbiguous = "marker_ambiguous",
    /// The run's row is in the ledger and the log has no transaction of it.
    LedgerWithoutFrame = "ledger_without_frame",
});
list!(/// Why the change log does not tell of a table's rows what a witness needs.
TableGap {
    /// There is no such table.
    Absent = "absent",
    /// It is a view, or its rows are kept elsewhere.
    NoTable = "no_table",
    /// What is written to it never reaches the log.
    Unlogged = "unlogged",
    /// Nothing says which of two rows is meant.
    NoKey = "no_key",
    /// Of rows as they were before, it tells keys at most.
    IdentityNotFull = "identity_not_full",
    /// It has virtual generated columns: its updates would fail if its old rows were logged in full.
    VirtualColumns = "virtual_columns",
    /// Another publication has a column list for it, or leaves its generated columns out: its updates
    /// would fail if its old rows were logged in full.
    PublishedInPart = "published_in_part",
    /// The publication leaves it out.
    NotPublished = "not_published",
    /// The publication leaves rows of it out.
    RowsFiltered = "rows_filtered",
    /// The publication leaves columns of it out.
    ColumnsFiltered = "columns_filtered",
});
list!(/// Why the change log does not tell everything of a table.
LogBlind {
    /// It is not published.
    NotPublished = "not_published",
    /// Some of its rows, columns or operations are not published.
    Filtered = "filtered",
    /// It tells keys of old rows at most.
    NoFullIdentity = "no_full_identity",
    /// Its changes do not go through the log: it is unlogged, temporary or foreign.
    Unlogged = "unlogged",
});
list!(/// Why a read-back read nothing.
ReadBackGap {
    /// It took too long.
    Timeout = "readback_timeout",
    /// The reader may not read there.
    Denied = "readback_denied",
    /// The report does not tell the keys of what it reports.
    NoKey = "no_key",
    /// The tool's system has no read-back.
    NotOffered = "readback_not_offered",
    /// What was read is in no form in which it could be compared.
    Unreadable = "readback_unreadable",
    /// The system could not be read, as often as it was tried.
    GaveUp = "witness_gave_up",
});
list!(/// Why a verdict is no better.
WitnessReason {
    /// The edge never reported.
    EdgeLost = "edge_lost",
    /// Nobody can say whether the call was applied.
    OutcomeUnknown = "outcome_unknown",
    /// The call was applied and the report of it is lost.
    ReportLost = "report_lost",
    /// The report says nothing that could be compared.
    NothingReported = "nothing_reported",
    /// More rows were changed than the tool declares.
    RowCountOverLimit = "row_count_over_limit",
    /// A tool that only reads changed rows.
    ReadToolWrote = "read_tool_wrote",
    /// The call needs more evidence than there is.
    RequiredLevelUnmet = "required_level_unmet",
    /// A success was reported and nothing was committed.
    NotCommitted = "not_committed",
    /// A failure was reported and it was committed.
    ReportedFailedButCommitted = "reported_failed_but_committed",
    /// One call was committed more than once.
    CommittedTwice = "committed_twice",
    /// Another number of rows was changed than was reported.
    RowCount = "row_count",
    /// Reported rows were not changed.
    MissingRows = "missing_rows",
    /// What was reported is not there.
    NotThere = "not_there",
    /// Rows were changed that were not reported.
    ExtraRows = "extra_rows",
    /// A table was changed that the tool does not declare.
    UnexpectedTable = "unexpected_table",
    /// An operation was done that the tool does not declare for the table.
    UnexpectedOp = "unexpected_op",
    /// A column was changed that the tool does not declare.
    UnexpectedColumn = "unexpected_column",
    /// Another value stands there than was reported.
    ValueDiffers = "value_differs",
    /// A row was changed that the arguments do not name.
    ScopeExceeded = "scope_exceeded",
    /// A table was emptied.
    TruncateSeen = "truncate_seen",
    /// A read row is of another transaction.
    ChangedSince = "changed_since",
    /// The read-back took too long.
    ReadbackTimeout = "readback_timeout",
    /// The reader may not read there.
    ReadbackDenied = "readback_denied",
    /// The report does not tell the keys of what it reports.
    NoKey = "no_key",
    /// The tool's system has no read-back.
    ReadbackNotOffered = "readback_not_offered",
    /// What was read back does not tell what was to be compared.
    ReadbackUnreadable = "readback_unreadable",
    /// The witness ran out of attempts.
    WitnessGaveUp = "witness_gave_up",
    /// Nobody reads the log of this database.
    DecoderOff = "decoder_off",
    /// Reading the log does not get on.
    DecoderStalled = "decoder_stalled",
    /// The log was not read far enough in time.
    FrameTimeout = "frame_timeout",
    /// The slot is gone or the server gave its log up.
    SlotInvalidated = "slot_invalidated",
    /// Somebody else moved the slot past what was read.
    SlotMoved = "slot_moved",
    /// Between the run and now the log begins anew.
    EvidenceGap = "evidence_gap",
    /// A changed table is not published.
    TableNotPublished = "table_not_published",
    /// Some rows, columns or operations of a changed table are not published.
    PublicationFiltered = "publication_filtered",
    /// A changed table does not tell old rows whole.
    NoFullIdentity = "no_full_identity",
    /// A large value is not told.
    ToastUnresolved = "toast_unresolved",
    /// Not every changed row was kept; counts are compared all the same.
    ImagesTruncated = "images_truncated",
    /// A changed table's changes do not go through the log.
    UnloggedTable = "unlogged_table",
    /// Rows were changed, or may have been, that the log does not tell of.
    UnpublishedWrites = "unpublished_writes",
    /// The server counted more changes than the log tells: rolled back savepoints, perhaps.
    CountDivergence = "count_divergence",
    /// The log's transaction of the run has no marker.
    MarkerMissing = "marker_missing",
    /// Several transactions pass for the run's.
    MarkerAmbiguous = "marker_ambiguous",
    /// The ledger has the run and the log does not.
    LedgerWithoutFrame = "ledger_without_frame",
    /// Rows were changed after the statement had ended, by triggers.
    TriggerEffects = "trigger_effects",
});
list!(/// Who says what happened in an execution.
Attestation {
    /// The service ran the tool itself.
    GatewayExecuted = "gateway_executed",
    /// The agent's edge says so.
    EdgeClaimed = "edge_claimed",
});
