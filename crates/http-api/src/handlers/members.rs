//! The people of an org: who they are there, and how they go.

use std::{collections::BTreeMap, sync::Arc};

use act::{By, MayView};
use ledger::record::Member;
use model::{MemberId, Role, Timestamp, UserId};
use people::Address;
use web::{Call, List, Param, Reply};

use crate::{
    access::{MemberEditor, Remover, Viewer},
    app::App,
    refusal::{Answer, CallError},
    wire::{
        members::{MemberInUse, MemberView, member_edit, removal},
        policies::WithDeed,
    },
};

/// The parameters of the list of members.
pub(crate) const LIST: &[Param] = &[Param::One("limit"), Param::One("cursor")];

/// `GET /v1/members`
pub(crate) async fn list(app: Arc<App>, caller: Viewer, call: Call) -> Answer {
    let listed = List { name: "members", org: caller.org(), agent: None };
    let page = app.cursors.page::<(Timestamp, MemberId)>(listed, &call.query)?;
    let found = app.admin.view(&caller).members(page.after, page.limit).await?;
    let users: Vec<UserId> = found.items.iter().map(|member| member.user).collect();
    let addresses = addresses(&app, &caller, &users).await?;
    let seen = app.sign_in.people.uses(caller.org(), &users).await?;
    let part = (&*found.items, found.has_more);
    let position = |member: &Member| (member.joined_at, member.id);
    Ok(Reply::ok(&page.of_part(part, position, |member| MemberInUse {
        member: MemberView::of(member, addresses.get(&member.user)),
        last_active_at: seen.get(&member.user).copied(),
    })))
}

/// `GET /v1/members/{id}`
pub(crate) async fn show(app: Arc<App>, caller: Viewer, call: Call) -> Answer {
    let member = app.admin.view(&caller).member(call.param("id")?).await?;
    let addresses = addresses(&app, &caller, &[member.user]).await?;
    let seen = app.sign_in.people.uses(caller.org(), &[member.user]).await?;
    Ok(Reply::ok(&MemberInUse {
        member: MemberView::of(&member, addresses.get(&member.user)),
        last_active_at: seen.get(&member.user).copied(),
    }))
}

/// `POST /v1/members/{id}`
pub(crate) async fn update(app: Arc<App>, caller: MemberEditor, call: Call) -> Answer {
    let (id, edit) = (call.param("id")?, member_edit(&call)?);
    let made = match caller {
        MemberEditor::Owner(owner) => app.admin.own(&owner).update_member(id, edit).await?,
        MemberEditor::Admin(admin) => app.admin.change(&admin).update_viewer(id, edit).await?,
    };
    app.sign_in.remembered.forget_all();
    Ok(Reply::ok(&WithDeed::of(MemberView::of(&made.object, None), made.deed)))
}

/// `DELETE /v1/members/{id}`
pub(crate) async fn remove(app: Arc<App>, caller: Remover, call: Call) -> Answer {
    let (id, expected) = (call.param("id")?, removal(&call)?);
    let gone = match caller {
        Remover::Oneself(member) if member.is(id) => app.admin.leave(&member, expected).await?,
        Remover::Oneself(member) => return Err(member.is_no_owner().into()),
        Remover::Owner(owner) => app.admin.own(&owner).remove_member(id, expected).await?,
    };
    app.sign_in.people.end_in(gone.object.org, gone.object.user).await?;
    app.sign_in.remembered.forget_all();
    Ok(Reply::ok(&WithDeed::of(MemberView::of(&gone.object, None), gone.deed)))
}

/// The addresses of these people, where the reader may know them: an admin, an owner or a key.
async fn addresses(
    app: &App,
    caller: &Viewer,
    users: &[UserId],
) -> Result<BTreeMap<UserId, Address>, CallError> {
    let may_know = match caller.by() {
        By::Member { member, .. } => {
            app.admin.view(caller).member(member).await?.role != Role::Viewer
        }
        By::OrgKey(_) | By::Operator => true,
        By::Person(_) | By::Service => false,
    };
    if may_know { Ok(app.sign_in.people.addresses(users).await?) } else { Ok(BTreeMap::new()) }
}
