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
list!(/// Who says what happened in an execution.
Attestation {
    /// The service ran the tool itself.
    GatewayExecuted = "gateway_executed",
    /// The agent's edge says so.
    EdgeClaimed = "edge_claimed",
});
