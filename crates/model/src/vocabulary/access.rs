//! How an agent stands, and what keys and members may do.

use crate::{Machine, Move};

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

impl AgentStatus {
    /// What moves an agent. It is told by marks of its row, of which the highest counts.
    pub const MACHINE: Machine = Machine {
        name: "agent `status`",
        about: "Determined by three marks; the first that is set counts: archived, stopped, \
                suspended. Removing one shows the next. A Stop of the whole org is a mark of the \
                org and no state of its agents.",
        states: Self::WORDS,
        moves: &[
            Move::begins(Self::Active.as_str(), "it is made"),
            Move::goes(
                Self::Active.as_str(),
                Self::Suspended.as_str(),
                "it is suspended or it expires",
            ),
            Move::goes(
                Self::Suspended.as_str(),
                Self::Active.as_str(),
                "it is resumed, the time it was suspended for has passed, or it is given a later end",
            ),
            Move::goes(Self::Active.as_str(), Self::Stopped.as_str(), "a person stops it"),
            Move::goes(Self::Suspended.as_str(), Self::Stopped.as_str(), "a person stops it"),
            Move::goes(Self::Stopped.as_str(), Self::Active.as_str(), "a person starts it"),
            Move::goes(
                Self::Stopped.as_str(),
                Self::Suspended.as_str(),
                "a person starts it while it is suspended or after it has expired",
            ),
            Move::goes(Self::Active.as_str(), Self::Archived.as_str(), "it is archived"),
            Move::goes(Self::Suspended.as_str(), Self::Archived.as_str(), "it is archived"),
            Move::goes(Self::Stopped.as_str(), Self::Archived.as_str(), "it is archived"),
        ],
    };
}

impl Role {
    /// Whether whoever has this role may do what takes that one: each role holds those below it.
    pub fn is_at_least(self, least: Self) -> bool {
        match least {
            Self::Viewer => true,
            Self::Admin => matches!(self, Self::Admin | Self::Owner),
            Self::Owner => self == Self::Owner,
        }
    }
}
