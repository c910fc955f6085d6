//! What is recorded: the kinds of deeds and what happens.

list!(/// What a deed records.
DeedKind {
    /// One action's end.
    Action = "action",
    /// One change to the org.
    Admin = "admin",
    /// What became known of an action later.
    Amendment = "amendment",
});
list!(/// What happened, in the words of streams, webhooks and admin deeds.
EventType {
    /// An action was recorded and runs or may run.
    ActionCreated = "action.created",
    /// An action waits for a person.
    ActionPendingApproval = "action.pending_approval",
    /// An action was refused.
    ActionDenied = "action.denied",
    /// An action was cancelled.
    ActionCancelled = "action.cancelled",
    /// An action has its verdict.
    ActionWitnessed = "action.witnessed",
    /// An action was undone by another.
    ActionUndone = "action.undone",
    /// A person is asked whether an action may run.
    ApprovalRequested = "approval.requested",
    /// Somebody said yes, and more people must.
    ApprovalAnswered = "approval.answered",
    /// Enough people said yes.
    ApprovalApproved = "approval.approved",
    /// A person said no.
    ApprovalDenied = "approval.denied",
    /// Nobody answered in time.
    ApprovalExpired = "approval.expired",
    /// The action that people were asked about was cancelled.
    ApprovalCancelled = "approval.cancelled",
    /// What people were asked was taken away.
    ApprovalVoided = "approval.voided",
    /// A deed was sealed.
    DeedSealed = "deed.sealed",
    /// It became known of an action, after its deed was sealed, what that deed does not say.
    DeedAmended = "deed.amended",
    /// An agent was made.
    AgentCreated = "agent.created",
    /// What an agent was made with changed.
    AgentUpdated = "agent.updated",
    /// An agent was stopped.
    AgentStopped = "agent.stopped",
    /// An agent was started again.
    AgentStarted = "agent.started",
    /// An agent was suspended for a time, or until it is resumed.
    AgentSuspended = "agent.suspended",
    /// A suspension was lifted.
    AgentResumed = "agent.resumed",
    /// An agent was archived, and its keys revoked.
    AgentArchived = "agent.archived",
    /// An agent key was made.
    AgentKeyCreated = "agent_key.created",
    /// An agent key was replaced by another, beside which it lives on for a while.
    AgentKeyRolled = "agent_key.rolled",
    /// An agent key was revoked.
    AgentKeyRevoked = "agent_key.revoked",
    /// An org key was made.
    ApiKeyCreated = "api_key.created",
    /// An org key was replaced by another, beside which it lives on for a while.
    ApiKeyRolled = "api_key.rolled",
    /// An org key was revoked.
    ApiKeyRevoked = "api_key.revoked",
    /// Somebody joined the org.
    MemberAdded = "member.added",
    /// What a member may do changed.
    MemberUpdated = "member.updated",
    /// A member was removed, or left.
    MemberRemoved = "member.removed",
    /// An owner ended a session of another member.
    SessionRevoked = "session.revoked",
    /// Somebody was asked to join the org.
    InviteCreated = "invite.created",
    /// An invitation was taken back.
    InviteRevoked = "invite.revoked",
    /// An org was made.
    OrgCreated = "org.created",
    /// An org's settings changed.
    OrgUpdated = "org.updated",
    /// Every agent of the org was stopped.
    OrgStopped = "org.stopped",
    /// The org was started again.
    OrgStarted = "org.started",
    /// An agent got a key that its intents are signed with.
    IntentKeyAdded = "intent_key.added",
    /// An intent key was revoked.
    IntentKeyRevoked = "intent_key.revoked",
    /// A policy was made.
    PolicyCreated = "policy.created",
    /// A policy's name or description changed.
    PolicyUpdated = "policy.updated",
    /// A policy was archived.
    PolicyArchived = "policy.archived",
    /// The tests of a policy changed.
    PolicyTestsUpdated = "policy.tests_updated",
    /// A policy got a version.
    PolicyVersionCreated = "policy.version_created",
    /// A policy version became the enforced or the shadow one.
    PolicyActivated = "policy.activated",
    /// Somebody proposed that a policy version become active, which waits for a second person.
    PolicyActivationProposed = "policy.activation_proposed",
    /// A proposed activation was rejected or taken back.
    PolicyActivationRejected = "policy.activation_rejected",
    /// No policy version is the shadow one any more.
    PolicyShadowEnded = "policy.shadow_ended",
    /// A connector was made.
    ConnectorCreated = "connector.created",
    /// A connector's config changed.
    ConnectorUpdated = "connector.updated",
    /// A connector was not made, or its config or credential not changed, as somebody asked for: the
    /// governed system or its adapter refused it.
    ConnectorChangeRefused = "connector.change_refused",
    /// A connector may run calls.
    ConnectorEnabled = "connector.enabled",
    /// A connector refuses calls.
    ConnectorDisabled = "connector.disabled",
    /// A connector was archived, and its credential removed.
    ConnectorArchived = "connector.archived",
    /// A connector got a credential.
    ConnectorCredentialSet = "connector.credential_set",
    /// A connector's credential was removed.
    ConnectorCredentialRemoved = "connector.credential_removed",
    /// A connector's credential, unchanged, was encrypted under another key of the vault.
    ConnectorCredentialReencrypted = "connector.credential_reencrypted",
    /// The change log of a connector's database is to be read as evidence.
    ConnectorWitnessEnabled = "connector.witness_enabled",
    /// The change log of a connector's database is not to be read any more.
    ConnectorWitnessDisabled = "connector.witness_disabled",
    /// A new slot is to be made in place of one that the change log cannot be read through any more.
    ConnectorSlotRecreated = "connector.slot_recreated",
    /// A slot keeps more of a governed database's log from being removed than it may.
    WitnessSlotLagging = "witness.slot_lagging",
    /// Nothing of a change log was read for too long.
    WitnessSlotStalled = "witness.slot_stalled",
    /// A change log is read again as it should be.
    WitnessSlotRecovered = "witness.slot_recovered",
    /// A change log was not read without a break, or cannot be read on.
    WitnessSlotInvalidated = "witness.slot_invalidated",
    /// Somebody changed governed tables past the service.
    WitnessUnattributedWrite = "witness.unattributed_write",
    /// Somebody wrote what passes for the service's, or changed what the service wrote.
    WitnessForgedMarker = "witness.forged_marker",
    /// What is said of a tool beyond its definition changed.
    ToolUpdated = "tool.updated",
    /// A tool's definition was accepted in place of another, or as a new one.
    ToolPinned = "tool.pinned",
    /// A tool's definition was found to be another than the one that was accepted.
    ToolChanged = "tool.changed",
    /// Payloads were removed that had been kept long enough.
    RetentionPruned = "retention.pruned",
    /// A log of deeds began.
    LogStarted = "log.started",
    /// A log of deeds began in place of one that lost deeds.
    LogRecovered = "log.recovered",
    /// The history of an org was read out.
    LedgerExported = "ledger.exported",
    /// A log of deeds was checked and is as it was sealed.
    ChainCheckPassed = "chain.check_passed",
    /// A log of deeds is not as it was sealed.
    ChainBroken = "chain.broken",
    /// A seal key was registered.
    SealKeyRegistered = "seal_key.registered",
    /// A seal key is to count for nothing new.
    SealKeyRetired = "seal_key.retired",
    /// A seal key counts for nothing any more.
    SealKeyRevoked = "seal_key.revoked",
    /// A webhook endpoint was made.
    WebhookCreated = "webhook.created",
    /// What a webhook endpoint was made with changed.
    WebhookUpdated = "webhook.updated",
    /// Events are posted to a webhook endpoint again.
    WebhookEnabled = "webhook.enabled",
    /// Nothing is posted to a webhook endpoint any more, because somebody said so or because it failed
    /// for too long.
    WebhookDisabled = "webhook.disabled",
    /// A webhook endpoint was deleted, and its secret with it.
    WebhookDeleted = "webhook.deleted",
    /// A webhook endpoint got another secret.
    WebhookSecretRolled = "webhook.secret_rolled",
    /// The secret of a webhook endpoint, unchanged, was encrypted under another key of the vault.
    WebhookSecretReencrypted = "webhook.secret_reencrypted",
    /// Somebody tries whether a webhook endpoint receives.
    WebhookPing = "webhook.ping",
    /// An event was posted to a webhook endpoint as often as it may be, and never taken.
    WebhookDeliveryDead = "webhook.delivery_dead",
});

/// The event types that interfaces name and that cannot happen yet. Filters take them, so that
/// whoever asks for them today need not ask again.
#[rustfmt::skip]
pub const COMING_EVENT_TYPES: &[&str] = &[
    "approval.reminded",
    "agent_key.expiring",
    "invite.accepted",
    "connector.degraded", "connector.recovered",
    "budget.near", "budget.exhausted", "budget.reset",
    "anomaly.opened", "anomaly.acknowledged", "anomaly.resolved",
    "observe.started", "observe.ended", "observe.sealed", "observe.gap",
    "chain.checkpoint",
    "pack.sealed", "pack.shared",
    "seal_key.activated",
];
