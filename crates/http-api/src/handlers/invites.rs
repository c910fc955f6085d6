//! Invitations to an org, and how people accept them.

use std::sync::Arc;

use act::MayView;
use admin::{ChangeError, Joined};
use crypto::Secret;
use http::StatusCode;
use ledger::record::Invite;
use model::{InviteId, Timestamp, UserId};
use people::{Address, SignedIn};
use web::{ApiError, Call, List, Param, Reply, see_other};

use super::sessions;
use crate::{
    access::{Admin, Person, Viewer},
    app::App,
    refusal::{Answer, CallError},
    wire::{
        members::{InviteView, JoinedView, accepted, invite_new},
        next::{JoinPage, orgs_page},
        policies::WithDeed,
    },
};

/// The parameters of the list of invitations.
pub(crate) const LIST: &[Param] = &[Param::One("limit"), Param::One("cursor")];

/// `GET /v1/invites`
pub(crate) async fn list(app: Arc<App>, caller: Viewer, call: Call) -> Answer {
    let listed = List { name: "invites", org: caller.org(), agent: None };
    let page = app.cursors.page::<(Timestamp, InviteId)>(listed, &call.query)?;
    let found = app.admin.view(&caller).invites(page.after, page.limit).await?;
    let users: Vec<UserId> = found.items.iter().map(|invite| invite.user).collect();
    let addresses = app.sign_in.people.addresses(&users).await?;
    let (part, now) = ((&*found.items, found.has_more), app.clock.now());
    let position = |invite: &Invite| (invite.created_at, invite.id);
    let view = |invite| InviteView::of(invite, addresses.get(&invite.user), now);
    Ok(Reply::ok(&page.of_part(part, position, view)))
}

/// `POST /v1/invites`
pub(crate) async fn create(app: Arc<App>, caller: Admin, call: Call) -> Answer {
    let asked = invite_new(&call)?;
    app.sign_in.takes_people()?;
    let change = app.admin.change(&caller);
    change.may_invite().await?;
    let user = app.sign_in.people.find_or_create_person(&asked.address).await?;
    let made = change.invite(asked.of(user)).await?;
    let view = InviteView::of(&made.object, Some(&asked.address), app.clock.now());
    Ok(Reply::json(StatusCode::CREATED, &WithDeed::of(view, made.deed)))
}

/// `DELETE /v1/invites/{id}`
pub(crate) async fn revoke(app: Arc<App>, caller: Admin, call: Call) -> Answer {
    let ended = app.admin.change(&caller).revoke_invite(call.param("id")?).await?;
    let address = address(&app, &ended.object).await?;
    let view = InviteView::of(&ended.object, address.as_ref(), app.clock.now());
    Ok(Reply::ok(&WithDeed::of(view, ended.deed)))
}

/// `POST /v1/invites/{id}/resend`
pub(crate) async fn resend(app: Arc<App>, caller: Admin, call: Call) -> Answer {
    app.sign_in.takes_people()?;
    let sent = app.admin.change(&caller).resend_invite(call.param("id")?).await?;
    let address = address(&app, &sent).await?;
    let view = InviteView::of(&sent, address.as_ref(), app.clock.now());
    Ok(Reply::json(StatusCode::ACCEPTED, &view))
}

/// `POST /v1/invites/accept`
pub(crate) async fn accept(app: Arc<App>, caller: Person, call: Call) -> Answer {
    let (token, next) = accepted(&call)?;
    let joined = join(&app, &token, caller.session.user).await?;
    let entered = sessions::enter(&app, &caller, (&joined.member, sessions::token(&call)?)).await?;
    if call.is_form() {
        let next = next.as_deref();
        let page = if entered { next.unwrap_or("/app").to_owned() } else { orgs_page(next) };
        return Ok(see_other(&page)?);
    }
    Ok(Reply::ok(&JoinedView::from(joined)))
}

/// Makes somebody who has just signed in on the page of an invitation the member that it asks for, in
/// whose org they go on. Where that fails they are signed in all the same, and go on to the page of the
/// invitation, which says why.
pub(super) async fn joined_on_the_way(
    app: &App,
    signed_in: SignedIn,
) -> Result<SignedIn, CallError> {
    let page = signed_in.next.as_deref().and_then(JoinPage::of);
    // Who shows once more who they are works in an org, and is asked before they join another.
    let is_new = signed_in.session.created_at == signed_in.session.authenticated_at;
    let Some(page) = page.filter(|_| is_new) else { return Ok(signed_in) };
    match join(app, &page.invite, signed_in.session.user).await.map_err(ApiError::from) {
        Ok(Joined { member, .. }) => {
            sessions::seated_as(app, SignedIn { next: page.next, ..signed_in }, &member).await
        }
        Err(refused) => {
            if refused.status().is_server_error() {
                tracing::warn!(error = %refused, "a person could not join an org by a sign-in");
            }
            let next = Some(format!("{}&problem={}", page.path(), refused.code()));
            Ok(SignedIn { next, ..signed_in })
        }
    }
}

async fn join(app: &App, token: &Secret<String>, user: UserId) -> Result<Joined, CallError> {
    app.sign_in.takes_people()?;
    let invited = app.sign_in.people.invited(token).ok_or(ChangeError::InviteGone)?;
    Ok(app.admin.accept_invite(invited, user).await?)
}

async fn address(app: &App, invite: &Invite) -> Result<Option<Address>, CallError> {
    Ok(app.sign_in.people.address(invite.user).await?)
}
