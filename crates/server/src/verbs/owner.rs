//! `owner`: lets a person into an org that nobody is in yet.

use admin::{ChangeError, NewInvite};
use ledger::record::Invite;
use model::{OrgId, Role, UserId, causes};
use people::{Address, Signup, invitation_link};

use super::{accounts::failure, org_of};
use crate::{
    cli,
    exit::{Exit, Failure},
    print,
    settings::Settings,
    wire_up::Wired,
};

pub(super) async fn run(
    wired: &Wired,
    settings: &Settings,
    what: cli::Owner,
) -> Result<Exit, Failure> {
    if settings.signup == Signup::Closed {
        let closed = "SERVICE_SIGNUP is `closed`, so nobody can accept an invitation; set it to \
                      `invite` first";
        return Err(Failure::usage(closed));
    }
    let cli::Owner::Invite { email, org } = what;
    let address = Address::parse(&email).map_err(Failure::usage)?;
    let org = org_of(&wired.core, org).await?;
    let met = wired.people.find_or_create_person(&address).await;
    let user = met.map_err(|error| Failure::internal(causes(&error)))?;
    let invite = invited(wired, org, user).await.map_err(|error| failure(&error))?;
    let link =
        invitation_link(settings.base_url.as_str(), &wired.people.invitation(org, invite.id));
    // The link alone stands on standard output, so that a script can take it from there.
    print::complaint(format!(
        "{}: anyone who opens this link and signs in as {} becomes an owner of {org}; the link \
         expires at {}:",
        invite.id,
        address.as_str(),
        invite.expires_at
    ));
    print::line(link.expose());
    Ok(Exit::Ok)
}

/// The invitation to own the org: a new one, or the one that the person did not accept yet.
pub(crate) async fn invited(
    wired: &Wired,
    org: OrgId,
    user: UserId,
) -> Result<Invite, ChangeError> {
    let new = NewInvite { user, role: Role::Owner, can_approve: true };
    let refused = match wired.core.operator(org).invite(new).await {
        Ok(made) => return Ok(made.object),
        Err(error @ ChangeError::Act(act::ActError::Conflict(_))) => error,
        Err(error) => return Err(error),
    };
    let open = wired.core.stores.accounts.open_invite(org, user).await?;
    open.filter(|invite| invite.role == Role::Owner).ok_or(refused)
}
