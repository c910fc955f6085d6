//! How an agent stands, and what keys and members may do.

list!(/// How an agent stands; the highest that holds wins.
AgentStatus {
    /// Gone for good.
    Archived = "archived",
    /// Stopped by a person.
    Stopped = "stopped",
    /// Suspended for a time.
    Suspended = "suspended",
    /// Free to act.
    Active = "active",
});
list!(/// Why an agent is suspended.
SuspensionCause {
    /// Somebody decided so.
    Person = "person",
});
list!(/// What a Stop makes of approvals that are waited for.
PendingApprovals {
    /// They are void, and what waited ends as denied.
    Void = "void",
    /// They go on waiting.
    Keep = "keep",
});
list!(/// Whether an agent's calls must be signed.
IntentMode {
    /// A signature is ignored.
    Off = "off",
    /// A signature is checked when there is one.
    Optional = "optional",
    /// A signature must be there.
    Required = "required",
});
list!(/// What an API key may do.
Scope {
    /// Read actions and deeds.
    ActionsRead = "actions:read",
    /// Send and report actions.
    ActionsExecute = "actions:execute",
    /// Read and change the org.
    Admin = "admin",
    /// Read whatever the org's admins read, and change nothing.
    AdminRead = "admin:read",
});
list!(/// What a member may do.
Role {
    /// Read.
    Viewer = "viewer",
    /// Read and change.
    Admin = "admin",
    /// Everything.
    Owner = "owner",
});
