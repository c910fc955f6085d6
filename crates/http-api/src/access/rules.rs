//! The rules, each the maker of its caller, and what a credential must be for them.

use act::{By, MayView};
use model::{OrgId, Role, Scope};
use web::ApiError;

use super::{
    callers::{
        Admin, AgentCaller, Anyone, Canceller, IntentChecker, Leaver, MemberEditor, Owner, Reader,
        Remover, Viewer, Visitor,
    },
    principal::{AgentKey, OrgKey, Person, Principal, Seat},
};
use crate::catalogue::changes;

/// A rule over our principals.
pub type Access<C> = web::Access<Principal, C>;

/// Admits everybody and looks at no credential.
pub const PUBLIC: Access<Anyone> = Access::anyone("PUBLIC", "anybody", || Anyone);

/// Admits everybody but pages of other sites, and looks at no credential: for signing in.
pub const SIGNING_IN: Access<Anyone> =
    Access::anyone("SIGNING_IN", "anybody, but no page of another site", || Anyone);

/// Admits agents that may send actions.
pub const AGENT_EXECUTE: Access<AgentCaller> =
    Access::holder("AGENT_EXECUTE", "agent key with `actions:execute`", |holder| {
        agent(holder, Scope::ActionsExecute).map(AgentCaller)
    });

/// Admits agents that may send actions, and admins, to check what signs their intents.
pub const INTENT_CHECKERS: Access<IntentChecker> = Access::holder(
    "INTENT_CHECKERS",
    "agent key with `actions:execute`, org key with `admin`, or session of an admin",
    |holder| match holder {
        holder @ Principal::Agent(_) => {
            agent(holder, Scope::ActionsExecute).map(IntentChecker::Agent)
        }
        holder @ (Principal::Org(_) | Principal::Person(_)) => {
            admin(holder, |person| member(person, Role::Admin)).map(IntentChecker::Admin)
        }
    },
);

/// Admits agents to their own actions, and org keys and members to all.
pub const ACTION_READERS: Access<Reader> = Access::holder(
    "ACTION_READERS",
    "agent key with `actions:read` (its own actions), org key with `admin` or `admin:read`, or session",
    reader,
);

/// Admits the same callers as [`ACTION_READERS`] to the live stream.
pub const STREAM_READERS: Access<Reader> = Access::holder(
    "STREAM_READERS",
    "agent key with `actions:read` (its own events), org key with `admin` or `admin:read`, or session",
    reader,
);

/// Admits the acting agent, admins and org keys to cancel.
pub const CANCELLERS: Access<Canceller> = Access::holder(
    "CANCELLERS",
    "agent key with `actions:execute` (its own actions), org key with `admin`, or session of an admin",
    |holder| match holder {
        Principal::Org(key) => changing(key).map(Canceller::Org),
        Principal::Person(person) => {
            person.seat_as(Role::Admin).map(|seat| Canceller::Member(seat.org, seat.member))
        }
        holder @ Principal::Agent(_) => agent(holder, Scope::ActionsExecute).map(Canceller::Agent),
    },
);

/// Admits those who may read the org's settings.
pub const VIEWERS: Access<Viewer> =
    Access::holder("VIEWERS", "org key with `admin` or `admin:read`, or session", |holder| {
        viewer(holder, Role::Viewer)
    });

/// Admits those who may change the org's settings.
pub const ADMINS: Access<Admin> =
    Access::holder("ADMINS", "org key with `admin`, or session of an admin", |holder| {
        admin(holder, |person| member(person, Role::Admin))
    });

/// Admits those who may change what gives others power; a session is to be fresh.
pub const FRESH_ADMINS: Access<Admin> = Access::holder(
    "FRESH_ADMINS",
    "org key with `admin`, or fresh session of an admin",
    |holder| {
        admin(holder, |person| person.must_be_fresh().and_then(|()| member(person, Role::Admin)))
    },
);

/// Admits those who may start a stopped org: org keys with `admin`, and of its members owners alone,
/// whose session is fresh.
pub const STARTERS: Access<Admin> =
    Access::holder("STARTERS", "org key with `admin`, or fresh session of an owner", |holder| {
        admin(holder, |person| person.must_be_fresh().and_then(|()| member(person, Role::Owner)))
    });

/// Admits owners by their session, and no key.
pub const OWNERS: Access<Owner> =
    Access::holder("OWNERS", "session of an owner", |holder| person(holder)?.as_owner());

/// Admits owners whose session is fresh, and no key.
pub const FRESH_OWNERS: Access<Owner> =
    Access::holder("FRESH_OWNERS", "fresh session of an owner", |holder| {
        let person = person(holder)?;
        let owner = person.as_owner()?;
        person.must_be_fresh()?;
        Ok(owner)
    });

/// Admits owners whose session is fresh to change what anybody may do, and admins to let a viewer decide
/// no more what waits for a person.
pub const MEMBER_EDITORS: Access<MemberEditor> = Access::holder(
    "MEMBER_EDITORS",
    "fresh session: an owner's, or an admin's to take `can_approve` from a viewer",
    |holder| {
        let person = person(holder)?;
        let seat = person.seat_as(Role::Admin)?;
        person.must_be_fresh()?;
        let by = By::Member { member: seat.member, user: person.session.user };
        Ok(match seat.role {
            Role::Owner => MemberEditor::Owner(Owner { org: seat.org, by }),
            Role::Admin | Role::Viewer => MemberEditor::Admin(Admin { org: seat.org, by }),
        })
    },
);

/// Admits owners whose session is fresh to remove anybody, and everybody else to leave.
pub const REMOVERS: Access<Remover> =
    Access::holder("REMOVERS", "fresh session: an owner's, or one's own to leave", |holder| {
        let person = person(holder)?;
        let seat = person.seat_as(Role::Viewer)?;
        person.must_be_fresh()?;
        let leaver = Leaver { seat, user: person.session.user };
        Ok(match seat.role {
            Role::Owner => Remover::Owner(Owner { org: seat.org, by: leaver.by() }),
            Role::Admin | Role::Viewer => Remover::Oneself(leaver),
        })
    });

/// Admits those who may read what admins alone may know.
pub const ADMIN_READERS: Access<Viewer> = Access::holder(
    "ADMIN_READERS",
    "org key with `admin` or `admin:read`, or session of an admin",
    |holder| viewer(holder, Role::Admin),
);

/// Admits admins and owners by their session, and no key.
pub const SESSION_ADMINS: Access<Admin> =
    Access::holder("SESSION_ADMINS", "session of an admin", |holder| {
        let (org, by) = member(&person(holder)?, Role::Admin)?;
        Ok(Admin { org, by })
    });

/// Admits admins and owners whose session is fresh, and no key.
pub const FRESH_SESSION_ADMINS: Access<Admin> =
    Access::holder("FRESH_SESSION_ADMINS", "fresh session of an admin", |holder| {
        let person = person(holder)?;
        let (org, by) = member(&person, Role::Admin)?;
        person.must_be_fresh()?;
        Ok(Admin { org, by })
    });

/// Admits whoever is signed in, in an org or in none.
pub const SIGNED_IN: Access<Person> = Access::holder("SIGNED_IN", "session", person);

/// Admits to the Console whoever is signed in, in the org of their session.
pub const VISITORS: Access<Visitor> = Access::holder("VISITORS", "session with an org", |holder| {
    let person = person(holder)?;
    let seat = person.seat_as(Role::Viewer)?;
    Ok(Visitor { person, seat })
});

/// A caller that reads: an org key, or a person whose role is no less than this.
fn viewer(holder: Principal, least: Role) -> Result<Viewer, ApiError> {
    let (org, by) = match holder {
        Principal::Org(OrgKey { org, key, .. }) => (org, By::OrgKey(key)),
        Principal::Person(person) => member(&person, least)?,
        Principal::Agent(_) => return Err(ApiError::insufficient_scope(Scope::Admin)),
    };
    Ok(Viewer { org, by })
}

impl Person {
    /// The person as an owner of the org that the session is for, however old their sign-in is.
    pub(crate) fn as_owner(&self) -> Result<Owner, ApiError> {
        let (org, by) = member(self, Role::Owner)?;
        Ok(Owner { org, by })
    }
}

pub(super) fn agent(holder: Principal, scope: Scope) -> Result<AgentKey, ApiError> {
    match holder {
        Principal::Agent(key) if key.scopes.contains(&scope) => Ok(key),
        Principal::Agent(_) | Principal::Org(_) | Principal::Person(_) => {
            Err(ApiError::insufficient_scope(scope))
        }
    }
}

fn admin(
    holder: Principal,
    by_session: impl FnOnce(&Person) -> Result<(OrgId, By), ApiError>,
) -> Result<Admin, ApiError> {
    let (org, by) = match holder {
        Principal::Org(key) => changing(key).map(|key| (key.org, By::OrgKey(key.key)))?,
        Principal::Person(person) => by_session(&person)?,
        Principal::Agent(_) => return Err(ApiError::insufficient_scope(Scope::Admin)),
    };
    Ok(Admin { org, by })
}

fn changing(key: OrgKey) -> Result<OrgKey, ApiError> {
    if key.scope == Scope::Admin {
        Ok(key)
    } else {
        Err(ApiError::insufficient_scope(Scope::Admin))
    }
}

fn reader(holder: Principal) -> Result<Reader, ApiError> {
    match holder {
        Principal::Org(key) => Ok(Reader::Org(key)),
        Principal::Person(person) => {
            let seat = person.seat_as(Role::Viewer)?;
            Ok(Reader::Member(seat.org, person.session.user))
        }
        holder @ Principal::Agent(_) => agent(holder, Scope::ActionsRead).map(Reader::Agent),
    }
}

pub(super) fn person(holder: Principal) -> Result<Person, ApiError> {
    match holder {
        Principal::Person(person) => Ok(*person),
        Principal::Org(_) => {
            let message = "this requires a person's session; an org key is not accepted";
            Err(ApiError::new(changes::PERSON_REQUIRED, message))
        }
        Principal::Agent(_) => {
            let message = "this requires a person's session; an agent key is not accepted";
            Err(ApiError::insufficient_scope(Scope::Admin).saying(message))
        }
    }
}

fn member(person: &Person, least: Role) -> Result<(OrgId, By), ApiError> {
    let Seat { org, member, .. } = person.seat_as(least)?;
    Ok((org, By::Member { member, user: person.session.user }))
}
